"""Compile options, optimisation barriers and threads: what works around the compiler. Private."""
