"""Where work runs: executors, shards of predictions, and checkpoints of stopped runs."""
