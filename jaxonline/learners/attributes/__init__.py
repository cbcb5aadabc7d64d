"""Learners that see k attributes of each instance (paper C): AER, AERR and the Baseline."""
