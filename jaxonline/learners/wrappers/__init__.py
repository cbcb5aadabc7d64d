"""Learners made of other learners."""
