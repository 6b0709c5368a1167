"""Measurements of speed and memory; ``python -m benchmarks`` prints docs/benchmarks.md."""
