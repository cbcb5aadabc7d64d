"""Structs, argument checks, and errors that name the argument."""
