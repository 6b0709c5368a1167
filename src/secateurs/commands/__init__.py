"""The commands of `secateurs`, one file each; heavy imports stay inside the functions."""
