"""Learners that see k attributes of each instance: AER, AERR and the Baseline of paper C."""
