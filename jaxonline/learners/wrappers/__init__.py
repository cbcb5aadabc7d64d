"""Learners that wrap other learners."""
