"""Learners that play an arm and see its loss only."""
