"""Simulated error rates of intervals, bands and rankings: `python -m benchmarks.intervals` writes docs/intervals.md."""
