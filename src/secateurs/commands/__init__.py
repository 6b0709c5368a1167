"""The subcommands of `secateurs`, which import heavy packages inside functions only."""
