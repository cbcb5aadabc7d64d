"""Errors of arguments, which carry the argument's name."""


class _OfArgument(Exception):
    """An error of one argument.

    Attributes:
        argument: the name of the argument, as the user writes it.
        problem: what is wrong with it, without its name.
    """

    def __init__(self, argument: str, problem: str):
        super().__init__(argument, problem)
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return f"{self.argument}: {self.problem}"


class ArgumentError(_OfArgument, ValueError):
    """An argument has a value that is not allowed.

    Args:
        argument: the name of the argument.
        problem: the rest of the message, "must be above 0 (got -1)".

    Example:
        >>> from jaxonline.parameters.errors import ArgumentError
        >>> error = ArgumentError("step_size", "must be above 0 (got -1)")
        >>> str(error), error.argument
        ('step_size: must be above 0 (got -1)', 'step_size')
    """


class ArgumentTypeError(_OfArgument, TypeError):
    """An argument has a type that is not allowed; the arguments are those of `ArgumentError`."""


class ArgumentOSError(_OfArgument, OSError):
    """An argument names a file or folder that cannot be used; the arguments are those of `ArgumentError`."""
