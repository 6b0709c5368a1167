"""What is kept of an ensemble's score after pruning: every method, on many data sets."""
