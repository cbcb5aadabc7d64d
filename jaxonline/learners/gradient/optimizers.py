"""Optimisers: optax transformations of the gradient."""

import inspect
from typing import Annotated, Any

import optax

from jaxonline.parameters import check
from jaxonline.parameters.closures import build_cached, intern_functions
from jaxonline.parameters.types import Component, Convert


def as_optimizer(optimizer: Any, name: str = "optimizer") -> optax.GradientTransformation:
    """Return the optax transformation, or what a given factory returns; equal transformations become one object."""
    transformation = build_cached(optimizer) if _is_factory(optimizer) else optimizer
    is_optax = isinstance(transformation, optax.GradientTransformation)
    check.instance(name, optimizer, is_optax, "an optax GradientTransformation, or a function that returns one")
    return intern_functions(transformation)


def _is_factory(value: Any) -> bool:
    """Whether a value is a function that can be called without arguments."""
    if not inspect.isroutine(value):
        return False
    parameters = inspect.signature(value).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


Optimizer = Annotated[Any, Component("optimizer"), Convert(as_optimizer)]
"""An optax transformation, or a function without arguments that returns one."""
