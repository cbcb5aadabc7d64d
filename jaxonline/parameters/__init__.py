"""Structs, checks of arguments, and errors that name the argument."""
