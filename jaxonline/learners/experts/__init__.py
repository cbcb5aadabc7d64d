"""Combiners of experts: from the experts' losses to their weights."""
