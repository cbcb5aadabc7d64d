"""Workarounds for compilers: `python -m benchmarks.workarounds` shows what each of them gains."""
