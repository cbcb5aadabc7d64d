"""Triangular products, ragged loops, compensated sums, elementary functions: for algorithms of every package."""
