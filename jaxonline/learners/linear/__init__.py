"""Linear classifiers and forecasters."""
