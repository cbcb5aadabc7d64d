"""Exceptions for invalid arguments; each exception has the name of the argument as an attribute."""

from jaxonline.parameters.printable import replace_controls


class _ErrorOfArgument(Exception):
    """Base of the errors: holds the name of an argument as the user writes it, and the message without this name."""

    def __init__(self, argument: str, problem: str):
        super().__init__(argument, problem)
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return replace_controls(f"{self.argument}: {self.problem}")


class ArgumentError(_ErrorOfArgument, ValueError):
    """An argument has an invalid value.

    Args:
        argument: the name of the argument.
        problem: the message after the name of the argument, such as "must be above 0 (got -1)".

    Example:
        >>> from jaxonline.parameters.errors import ArgumentError
        >>> error = ArgumentError("step_size", "must be above 0 (got -1)")
        >>> str(error), error.argument
        ('step_size: must be above 0 (got -1)', 'step_size')
    """


class ArgumentTypeError(_ErrorOfArgument, TypeError):
    """An argument has an invalid type; this exception is constructed like `ArgumentError`."""


class ArgumentOSError(_ErrorOfArgument, OSError):
    """An argument names a file or folder that cannot be used; this exception is constructed like `ArgumentError`."""
