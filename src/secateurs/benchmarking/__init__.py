"""Benchmarks of methods on many data sets and ensembles, with ranks, tests, tables and figures."""

from secateurs.benchmarking._benchmark import benchmark
from secateurs.benchmarking._benchmark_result import Benchmark

__all__ = ["Benchmark", "benchmark"]
