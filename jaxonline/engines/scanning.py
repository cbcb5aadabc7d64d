"""Arrays and loops that the engines share."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from jaxonline.parameters import check
from jaxonline.parameters.dtypes import working_dtype


def cast_to(dtype: str, **trees: Any) -> tuple[Any, ...]:
    """Arguments by name, their leaves as arrays of the dtype "float64" or "float32"."""
    to = working_dtype(dtype)
    for name, leaf in ((name, leaf) for name, tree in trees.items() for leaf in jax.tree.leaves(tree)):
        check.fits_dtype(name, leaf, to)
    return tuple(jax.tree.map(lambda leaf: jnp.asarray(leaf, to), tree) for tree in trees.values())


def scan_first(step, state, rows, outputs, n):
    """`jax.lax.scan` over the first n of the rows (all if None), which may be traced; other outputs stay as given."""

    def at(t, carry):
        state, filled = carry
        row = jax.tree.map(lambda of: jax.lax.dynamic_index_in_dim(of, t, keepdims=False), rows)
        state, output = step(state, row)
        put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=t, axis=0)
        return state, jax.tree.map(put, filled, output)

    n_rows = len(jax.tree.leaves(outputs)[0])
    return jax.lax.fori_loop(0, n_rows if n is None else n, at, (state, outputs))
