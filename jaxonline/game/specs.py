"""What an environment declares of its instances and outcomes, and whether it keeps to that."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from jaxonline.game.traits import EnvironmentTraits, traits_of
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError


def said(spec: PyTree) -> str:
    """Shapes and dtypes in a few words."""
    leaves = [f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(spec)]
    return ", ".join(leaves) or "nothing"


def check_declared(environment: Any) -> None:
    """Check that an environment declares shapes and dtypes, and that its traits are what they must be.

    Raises:
        TypeError: it does not.
    """
    name = type(environment).__name__
    for each in ("instance_spec", "outcome_spec"):
        leaves = jax.tree.leaves(spec := getattr(environment, each))
        if not all(hasattr(leaf, "shape") and hasattr(leaf, "dtype") for leaf in leaves):
            raise TypeError(f"{name}.{each}: must be of jax.ShapeDtypeStruct(shape, dtype) (got {check.quote(spec)})")
    traits = traits_of(environment, EnvironmentTraits)
    for trait in ("oblivious", "deterministic"):
        check.instance(f"{name}.traits.{trait}", getattr(traits, trait), (bool, np.bool_), "True or False")


def check_spec(method: str, what: str, declared: PyTree, returned: PyTree) -> None:
    """Check that a method returns an "instance" or an "outcome" as it is declared.

    Raises:
        ValueError: another structure, shape or dtype.
    """
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(each)] for each in (declared, returned)]
    if kinds[0] != kinds[1] or jax.tree.structure(declared) != jax.tree.structure(returned):
        raise ValueError(
            f"{method}: must return an {what} as {what}_spec declares it, {said(declared)} (got {said(returned)})"
        )


def try_instance(environment: Any) -> None:
    """Ask an environment for an instance, without computing anything.

    Raises:
        TypeError: `instance` does not return an instance and a state.
        ValueError: an instance that is not as it is declared.
    """
    key, name = jax.eval_shape(lambda: jax.random.key(0)), f"{type(environment).__name__}.instance"
    returned = jax.eval_shape(lambda key: environment.instance(key, environment.init(key), jnp.int32(1)), key)
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise ArgumentTypeError(name, f"must return an instance and the next state (got {said(returned)})")
    check_spec(name, "instance", environment.instance_spec, returned[0])
