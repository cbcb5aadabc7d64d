"""Suites: the same learners in many games, and who is better where, each one command `jaxonline benchmark`."""
