"""Experts: combiners, from the experts' losses to their weights; learners that are made of them; learners that vote."""
