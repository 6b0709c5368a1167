"""Benchmarks: many data sets, ensembles and methods; ranks, tests, tables and figures."""

from secateurs.benchmarking._benchmark import benchmark
from secateurs.benchmarking._benchmark_result import Benchmark

__all__ = ["Benchmark", "benchmark"]
