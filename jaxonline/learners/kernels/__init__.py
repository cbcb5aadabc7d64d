"""Learners in a reproducing kernel Hilbert space."""
