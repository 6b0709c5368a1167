"""Where work runs: executors, shards of votes, and what a stopped run goes on from."""
