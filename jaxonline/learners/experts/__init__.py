"""Prediction with expert advice: combiners, which weigh experts by their losses, and learners built on them."""
