"""Benchmark suites: the same learners in many games, run by `jaxonline benchmark NAME`."""
