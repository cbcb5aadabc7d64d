"""Learners of prediction sets: thresholds of scores that cover a given fraction of the outcomes."""
