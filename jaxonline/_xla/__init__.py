"""Workarounds for compilers; `python -m benchmarks.workarounds` measures the gain of each workaround."""
