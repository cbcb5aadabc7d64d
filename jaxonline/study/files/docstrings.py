"""Sentences of docstrings, for people: a line on a class or a function, and a sentence on each argument."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import docstring_parser

from jaxonline.parameters.signatures import Parameter, parameters_of


def first_line(value: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


@functools.cache
def argument_sentences(value: Any) -> dict[str, str]:
    """What a docstring says of each argument.

    Example:
        >>> from jaxonline.study.files.docstrings import argument_sentences
        >>> def step(eta, n):
        ...     '''A step.
        ...
        ...     Args:
        ...         eta: the rate,
        ...             a number.
        ...         n: how many.
        ...     '''
        >>> argument_sentences(step)
        {'eta': 'the rate, a number.', 'n': 'how many.'}
    """
    doc = docstring_parser.parse(inspect.getdoc(value) or "", docstring_parser.DocstringStyle.GOOGLE)
    return {each.arg_name: " ".join((each.description or "").split()) for each in doc.params}


def documented_parameters(make: Callable[..., Any], *owners: type) -> tuple[Parameter, ...]:
    """The parameters that a study file can give, described by the docstring or by that of the owning class."""
    sentences: dict[str, str] = {}
    for value in (*owners, make):
        sentences |= argument_sentences(value)
    return tuple(
        parameter._replace(description=sentences.get(parameter.name, ""))
        for parameter in parameters_of(make)
        if not parameter.python_only
    )
