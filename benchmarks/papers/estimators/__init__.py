"""Estimators, feedback and games of which only remarks of the papers need checks."""
