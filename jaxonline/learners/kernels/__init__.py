"""Kernel learners: for clean data, for noisy data, and for dictionaries of kernels."""
