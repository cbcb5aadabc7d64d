"""Check the declared shapes and dtypes of an environment against what it returns."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.game.traits import EnvironmentTraits, traits_of
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.types import PyTree


def format_spec(spec: PyTree) -> str:
    """Format shapes and dtypes, such as "float32[3]"."""
    leaves = [f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(spec)]
    return ", ".join(leaves) or "nothing"


def check_environment_specs(environment: Any) -> None:
    """Check the shapes, dtypes and traits that an environment declares; raise TypeError if they are invalid."""
    name = type(environment).__name__
    for field in ("instance_spec", "outcome_spec"):
        leaves = jax.tree.leaves(spec := getattr(environment, field))
        if not all(hasattr(leaf, "shape") and hasattr(leaf, "dtype") for leaf in leaves):
            raise TypeError(f"{name}.{field}: must be of jax.ShapeDtypeStruct(shape, dtype) (got {check.quote(spec)})")
    traits = traits_of(environment, EnvironmentTraits)
    for trait in ("oblivious", "deterministic", "rewards"):
        check.instance(f"{name}.traits.{trait}", getattr(traits, trait), (bool, np.bool_), "True or False")


def check_spec(method: str, kind: str, declared: PyTree, returned: PyTree) -> None:
    """Check that a method returns an "instance" or "outcome" of the declared structure, shapes and dtypes."""
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(specs)] for specs in (declared, returned)]
    if kinds[0] != kinds[1] or jax.tree.structure(declared) != jax.tree.structure(returned):
        raise ValueError(
            f"{method}: must return an {kind} as in {kind}_spec, {format_spec(declared)} (got {format_spec(returned)})"
        )


def check_instance(environment: Any) -> None:
    """Check the first instance of an environment, without computing anything.

    Raises:
        TypeError: `instance` does not return an instance and a state.
        ValueError: the instance differs from `instance_spec`.
    """
    key, name = jax.eval_shape(lambda: jax.random.key(0)), f"{type(environment).__name__}.instance"
    returned = jax.eval_shape(lambda key: environment.instance(key, environment.init(key), jnp.int32(1)), key)
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise ArgumentTypeError(name, f"must return an instance and the next state (got {format_spec(returned)})")
    check_spec(name, "instance", environment.instance_spec, returned[0])
