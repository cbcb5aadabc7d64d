"""Gradient descent and its relatives."""
