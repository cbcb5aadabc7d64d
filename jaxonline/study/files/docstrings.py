"""Sentences from docstrings, for display: the first line, and one sentence for each argument."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import docstring_parser

from jaxonline.parameters.signatures import Parameter, parameters_of


def first_line(value: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


@functools.cache
def argument_sentences(value: Any) -> dict[str, str]:
    """Return the sentence of each argument in a docstring.

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
    return {argument.arg_name: " ".join((argument.description or "").split()) for argument in doc.params}


def documented_parameters(make: Callable[..., Any], *owners: type) -> tuple[Parameter, ...]:
    """Return the parameters that a study file can set, with sentences from the docstring of the function or class."""
    sentences: dict[str, str] = {}
    for value in (*owners, make):
        sentences |= argument_sentences(value)
    return tuple(
        parameter._replace(description=sentences.get(parameter.name, ""))
        for parameter in parameters_of(make)
        if not parameter.python_only
    )
