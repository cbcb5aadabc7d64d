"""Bandit learners: learners that pull one arm in each round and observe only the loss of this arm."""
