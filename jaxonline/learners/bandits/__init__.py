"""Bandit learners: they pull one arm in each round and observe only its loss."""
