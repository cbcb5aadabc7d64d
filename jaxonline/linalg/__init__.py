"""Triangular products, ragged loops, elementary functions."""
