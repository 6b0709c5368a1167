"""Measure speed and memory; ``python -m benchmarks`` prints docs/benchmarks.md."""
