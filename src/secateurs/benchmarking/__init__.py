"""Benchmarks: many data sets, ensembles and methods; ranks, tests, tables and figures."""
