"""Evaluation of pruned ensembles: scores by size, budgets, latency and alternatives."""
