"""Gradient descent, exponentiated gradient, online Newton steps and step sizes."""
