"""Benchmark of all methods on many data sets: the score of ensembles after pruning."""
