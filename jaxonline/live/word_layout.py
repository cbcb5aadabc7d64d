"""The arrays of a pytree side by side in one array of 32-bit words.

Reading one array from a device takes as long as reading a few numbers of it, so small arrays are read together.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxonline.parameters.types import PyTree

MAX_PACKED_BYTES = 4096  # copying a larger array takes longer than reading it on its own


class Packed(NamedTuple):
    """Rows of a pytree: the small arrays in `words` [rows, n], the others in `arrays`, each [rows, ...]."""

    words: Any
    arrays: list[Any]


class WordPlace(NamedTuple):
    """The place of a leaf in a row of words, which is indexed like a row of numbers of the leaf's dtype."""

    leaf: int
    shape: tuple[int, ...]
    columns: int | slice


class WordLayout:
    """The places of the leaves of a pytree in a row of words.

    A boolean takes a word, and a number of 64 bits two. Large arrays and arrays of other dtypes are not packed.

    Args:
        specs: pytree of `jax.ShapeDtypeStruct`, without the axis of rows.
    """

    def __init__(self, specs: PyTree):
        leaves, self._structure = jax.tree.flatten(specs)
        self._places: dict[np.dtype, list[WordPlace]] = {}
        self._packed: list[int] = []  # in the order of the words
        n_words = 0
        # numbers of 64 bits come first, and a row has an even number of words, so that they are aligned
        for index in sorted(range(len(leaves)), key=lambda index: -leaves[index].dtype.itemsize):
            shape, dtype = leaves[index].shape, leaves[index].dtype
            is_boolean = dtype.kind == "b"
            step = 4 if is_boolean else 1  # the first byte of a word is the boolean
            first = 4 * n_words // dtype.itemsize
            stop = first + step * leaves[index].size
            if (dtype.itemsize in (4, 8) or is_boolean) and (stop - first) * dtype.itemsize <= MAX_PACKED_BYTES:
                place = WordPlace(index, shape, slice(first, stop, step) if shape else first)
                self._places.setdefault(dtype, []).append(place)
                self._packed.append(index)
                n_words = stop * dtype.itemsize // 4
        self._padding = n_words % 2
        self._others = sorted(set(range(len(leaves))) - set(self._packed))
        self._empty: list[Any] = [None] * len(leaves)

    def pack(self, rows: PyTree) -> Packed:
        """Pack rows of the pytree inside a compiled program."""
        leaves = jax.tree.leaves(rows)
        parts = [_to_words(leaves[index]) for index in self._packed]
        parts.append(jnp.zeros((len(leaves[0]), self._padding), jnp.uint32))
        return Packed(jnp.concatenate(parts, axis=1), [leaves[index] for index in self._others])

    def read(self, packed: Packed, rows: int | slice) -> PyTree:
        """Return one row or several rows of the pytree on the host, as views; a scalar of one row is a NumPy scalar."""
        leaves = self._empty.copy()
        for dtype, places in self._places.items():
            numbers = packed.words.view(dtype)
            for leaf, shape, columns in places:
                part = numbers[rows, columns]
                leaves[leaf] = part.reshape(*part.shape[:-1], *shape) if len(shape) > 1 else part
        for leaf, array in zip(self._others, packed.arrays, strict=True):
            leaves[leaf] = array[rows]
        return self._structure.unflatten(leaves)


def _to_words(rows: Array) -> Array:
    words = rows.astype(jnp.uint32) if rows.dtype == bool else jax.lax.bitcast_convert_type(rows, jnp.uint32)
    return words.reshape(len(rows), -1)
