"""Casts and loops that the engines share."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxonline.parameters import check
from jaxonline.parameters.types import PyTree, working_dtype


def cast_to(dtype: str, **trees: Any) -> tuple[Any, ...]:
    """Cast the leaves of named arguments to the dtype "float64" or "float32"."""
    target = working_dtype(dtype)
    for name, leaf in ((name, leaf) for name, tree in trees.items() for leaf in jax.tree.leaves(tree)):
        check.fits_dtype(name, leaf, target)
    return tuple(jax.tree.map(lambda leaf: jnp.asarray(leaf, target), tree) for tree in trees.values())


def scan_first(
    step: Callable[[PyTree, PyTree], tuple[PyTree, PyTree]], state: PyTree, rows: PyTree, outputs: PyTree, n: Any
) -> tuple[PyTree, PyTree]:
    """`jax.lax.scan` over the first n rows (all if None; n may be traced); later `outputs` stay as given."""

    def body(t, carry):
        state, filled = carry
        row = jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, t, keepdims=False), rows)
        state, output = step(state, row)
        put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=t, axis=0)
        return state, jax.tree.map(put, filled, output)

    n_rows = len(jax.tree.leaves(outputs)[0])
    return jax.lax.fori_loop(0, n_rows if n is None else n, body, (state, outputs))
