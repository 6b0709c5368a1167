"""Where work runs: executors, and how votes reach them."""
