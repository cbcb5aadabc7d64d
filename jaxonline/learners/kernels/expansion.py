"""A hypothesis w = sum alpha_i Psi~_i made of noisy feature vectors, kept small.

An estimate Psi~ of level n is a number times x~(1) (x) ... (x) x~(n), so the part of w at level n is a tensor with d^n
entries. At low levels that is less than what the copies themselves would take: the tensor is kept and the copies are
forgotten, and a prediction costs d^n however many terms there are. Deeper levels D + 1, D + 2, ... are rare. Their
copies are stored, packed in chunks of D + 1 rows, one feature after the other, so that storage and work follow the
number of copies and not the largest number of them.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from jaxonline.linalg.ordering import materialise
from jaxonline.linalg.ragged import batch_max
from jaxonline.parameters.struct import static, struct

_TOGETHER = 16  # chunks in two registers; S is a multiple of it, since what is left over is slow
_UNROLLED = 16  # sums over this many coordinates are written out, so that the compiler vectorises over the others


class Feature(NamedTuple):
    """A feature vector Psi~ = scale beta_n^(1/2) v(1) (x) ... (x) v(n), as the expansion needs it.

    Attributes:
        level: n.
        log_beta: the logarithm of beta_n, the kernel's coefficient.
        scale: sign and what is left of the size; 0 for an estimate of 0.
        factors: v(1), ..., v(n) in the first n rows, 0 in the others [deepest, d].
    """

    level: Int[Array, ""]
    log_beta: Float[Array, ""]
    scale: Float[Array, ""]
    factors: Float[Array, "deepest d"]


@struct
class Expansion:
    """The hypothesis w.

    Attributes:
        tensors: the parts of w at the levels 0, ..., D, the n-th of shape (d,) * n, times beta_n^(1/2).
        rows: the factors of deeper features, packed in S chunks [D + 1, d, S], times beta_n^(1/n).
        level: of the feature that a chunk belongs to, 0 where a chunk is not used [S].
        place: of the chunk in its feature, from 0 [S].
        coefficient: of the feature in its last chunk, 0 in the others [S].
        used: how many chunks are, `room` at most.
        squared_norm: |w|^2, by recurrence.
        overflow: whether a feature did not find room, and is missing.
        room: how many chunks may be used; S is this or a little more.
        deepest: the largest level.
    """

    tensors: tuple[Float[Array, "..."], ...]
    rows: Float[Array, "chunk d S"]
    level: Int[Array, "S"]
    place: Int[Array, "S"]
    coefficient: Float[Array, "S"]
    used: Int[Array, ""]
    squared_norm: Float[Array, ""]
    overflow: Bool[Array, ""]
    room: int = static()
    deepest: int = static()

    @property
    def longest(self) -> int:
        """The largest number of chunks of a feature."""
        return max(1, chunks_of(self.deepest, len(self.tensors) - 1))


def chunks_of(level: int, tensor_levels: int) -> int:
    """The number of chunks that a feature of this level takes."""
    return -(-level // (tensor_levels + 1)) if level > tensor_levels else 0


def empty(dimension: int, tensor_levels: int, n_chunks: int, deepest: int, dtype: jnp.dtype) -> Expansion:
    """w = 0, with tensors up to the level D = `tensor_levels` and room for `n_chunks` chunks of deeper features."""
    small = jnp.int8 if deepest < 128 else jnp.int32
    size = -(-n_chunks // _TOGETHER) * _TOGETHER
    return Expansion(
        tuple(jnp.zeros((dimension,) * n, dtype) for n in range(tensor_levels + 1)),
        jnp.zeros((tensor_levels + 1, dimension, size), dtype),
        jnp.zeros(size, small),
        jnp.zeros(size, small),
        jnp.zeros(size, dtype),
        jnp.int32(0),
        jnp.zeros((), dtype),
        jnp.zeros((), bool),
        n_chunks,
        deepest,
    )


def polynomial(w: Expansion, x: Float[Array, "d"]) -> Float[Array, ""]:
    """The sum over n of the n-th part of w at x (x) ... (x) x, which is <w, Psi(x)> up to e^log_clean(x)."""
    x = materialise(x)
    value = w.tensors[-1]
    for tensor in reversed(w.tensors[:-1]):
        value = tensor + _contracted(value, x, axis=0)
    return value + _sum_of_deep(w, _contracted(w.rows, x, axis=1))


def shallow(tensors: tuple[Float[Array, "..."], ...], psi: Feature) -> Float[Array, ""]:
    """<w, Psi~> for an estimate of a level with a tensor, 0 for a deeper one."""
    value = jnp.zeros_like(psi.scale)
    for n, tensor in enumerate(tensors):
        for j in range(n):
            tensor = _contracted(tensor, psi.factors[j], axis=0)
        value = jnp.where(psi.level == n, tensor, value)
    return psi.scale * value


def deep(w: Expansion, psi: Feature) -> Float[Array, ""]:
    """<w, Psi~> for an estimate of a level without a tensor."""
    places = jnp.minimum(w.place.astype(jnp.int32), w.longest - 1)
    own = _taken(_in_chunks(len(w.tensors), w.longest, psi.factors), places)
    same = w.level == psi.level.astype(w.level.dtype)
    values = _summed(w.rows * own, axis=1)
    return psi.scale * _sum_of_deep(w, jnp.where(same, values, jnp.zeros_like(values)))


def squared_norm(psi: Feature) -> Float[Array, ""]:
    """|Psi~|^2."""
    used = jnp.arange(psi.factors.shape[0], dtype=jnp.int32) < psi.level
    lengths = _summed(psi.factors**2, axis=1) * _share(psi)
    return psi.scale**2 * _alone(psi) * jnp.prod(jnp.where(used, lengths, jnp.ones_like(lengths)))


def add(
    w: Expansion, alpha: Float[Array, ""], psi: Feature, product: Float[Array, ""], norm: Float[Array, ""],
    reserved: "Reserved",
) -> Expansion:  # fmt: skip
    """w + alpha Psi~, where `product` = <w, Psi~>; of a deep one the rows are there already, and `norm` is |Psi~|^2.

    Of the factors only those matter that tensors look at.
    """
    share = _share(psi)
    outer = alpha * psi.scale * _alone(psi)
    tensors = []
    for n, tensor in enumerate(w.tensors):
        if n > 0:
            outer = jnp.multiply.outer(outer, psi.factors[n - 1] * share)
        tensors.append(tensor + jnp.where(psi.level == n, outer, jnp.zeros_like(outer)))
    norm = jnp.where(psi.level > len(w.tensors) - 1, norm, squared_norm(psi))
    at_slot = jnp.arange(w.coefficient.shape[0], dtype=jnp.int32) == reserved.last
    return dataclasses.replace(
        w,
        tensors=tuple(tensors),
        level=reserved.level,
        place=reserved.place,
        coefficient=jnp.where(at_slot, alpha * psi.scale, w.coefficient),
        used=reserved.used,
        squared_norm=w.squared_norm + 2.0 * alpha * product + alpha**2 * norm,
        overflow=reserved.overflow,
    )


class Reserved(NamedTuple):
    """Where the rows of a deep feature go: known from its level, before it is estimated.

    Attributes:
        level, place, used, overflow: of the `Expansion` that has it.
        own: which chunks are its own [S].
        last: the last of them, which takes the coefficient, -1 where there is none.
    """

    level: Int[Array, "S"]
    place: Int[Array, "S"]
    used: Int[Array, ""]
    overflow: Bool[Array, ""]
    own: Bool[Array, "S"]
    last: Int[Array, ""]

    @classmethod
    def of(cls, w: Expansion, level: Int[Array, ""]) -> "Reserved":
        """Chunks for a feature of this level; none for a level with a tensor."""
        chunk, size = len(w.tensors), w.level.shape[0]
        n_chunks = jnp.where(level >= chunk, (level + (chunk - 1)) // chunk, 0)
        fits = w.used + n_chunks <= w.room
        n_chunks = jnp.where(fits, n_chunks, 0)
        used = w.used + n_chunks
        slot = jnp.arange(size, dtype=jnp.int32)
        own = (slot >= w.used) & (slot < used)
        return cls(
            jnp.where(own, level.astype(w.level.dtype), w.level),
            jnp.where(own, (slot - w.used).astype(w.place.dtype), w.place),
            used,
            w.overflow | ~fits,
            own,
            jnp.where(n_chunks > 0, used - 1, -1),
        )

    def rows(self, w: Expansion, psi: Feature) -> Float[Array, "chunk d S"]:
        """The rows of the feature in its chunks, 0 in the others."""
        rows = _taken(_in_chunks(len(w.tensors), w.longest, psi.factors * _share(psi)), self.place.astype(jnp.int32))
        return jnp.where(self.own, rows, jnp.zeros_like(rows))


def shrink(w: Expansion, factor: Float[Array, ""]) -> Expansion:
    """factor w."""
    return dataclasses.replace(
        w,
        tensors=tuple(factor * tensor for tensor in w.tensors),
        coefficient=factor * w.coefficient,
        squared_norm=factor**2 * w.squared_norm,
    )


def project_to_ball(w: Expansion, radius: Float[ArrayLike, ""]) -> Expansion:
    """w, scaled back to the ball |w| <= radius where it is outside."""
    norm = jnp.sqrt(jnp.maximum(w.squared_norm, jnp.finfo(w.squared_norm.dtype).tiny))
    return shrink(w, jnp.minimum(jnp.asarray(radius, norm.dtype) / norm, jnp.ones_like(norm)))


def mark_overflow(w: Expansion, overflow: Bool[Array, ""]) -> Expansion:
    """w with a note that something did not find room."""
    return dataclasses.replace(w, overflow=w.overflow | overflow)


def _contracted(tensor: Float[Array, "..."], v: Float[Array, "d"], axis: int) -> Float[Array, "..."]:
    """The sum over an axis with the weights `v`: a matrix product for one run, but many small ones are far slower."""
    if len(v) > _UNROLLED:
        return jnp.sum(tensor * jnp.expand_dims(v, [k for k in range(tensor.ndim) if k != axis]), axis)
    parts = [v[k] * jax.lax.index_in_dim(tensor, k, axis, keepdims=False) for k in range(len(v))]
    return functools.reduce(jnp.add, parts)


def _summed(terms: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """The sum over an axis of coordinates; written out where they are few, which is faster for a batch of runs."""
    if terms.shape[axis] > _UNROLLED:
        return jnp.sum(terms, axis=axis)
    parts = [jax.lax.index_in_dim(terms, k, axis, keepdims=False) for k in range(terms.shape[axis])]
    return functools.reduce(jnp.add, parts)


def _share(psi: Feature) -> Float[Array, ""]:
    """The part of beta_n that each of the n factors bears, so that neither beta_n nor their product leaves float32."""
    return jnp.exp(psi.log_beta / jnp.maximum(psi.level, 1).astype(psi.log_beta.dtype))


def _alone(psi: Feature) -> Float[Array, ""]:
    """beta_0, where there is no factor to bear it; 1 at other levels."""
    return jnp.where(psi.level == 0, jnp.exp(psi.log_beta), jnp.ones_like(psi.log_beta))


def _in_chunks(chunk: int, longest: int, factors: Float[Array, "deepest d"]) -> Float[Array, "chunk d longest"]:
    """The rows of a feature as chunks."""
    d = factors.shape[1]
    rows = jnp.pad(factors, ((0, longest * chunk - factors.shape[0]), (0, 0)))
    return rows.reshape(longest, chunk, d).transpose(1, 2, 0)


def _taken(chunks: Float[Array, "chunk d longest"], places: Int[Array, "S"]) -> Float[Array, "chunk d S"]:
    """The chunk for each place; selected, where there are few, since a gather takes three times as long."""
    if chunks.shape[2] > _UNROLLED:
        return chunks[:, :, places]
    taken = jnp.broadcast_to(chunks[:, :, :1], (*chunks.shape[:2], len(places)))
    for place in range(1, chunks.shape[2]):
        taken = jnp.where(places == place, chunks[:, :, place, None], taken)
    return taken


@jax.jit  # traced once for all calls that are alike
def _sum_of_deep(w: Expansion, values: Float[Array, "chunk S"]) -> Float[Array, ""]:
    """The sum over deep features of the coefficient times the product of the values of its rows."""
    place, level = w.place.astype(jnp.int32), w.level.astype(jnp.int32)
    ones = jnp.ones_like(w.coefficient)
    of_chunk = functools.reduce(
        jnp.multiply, [jnp.where(place * len(values) + row < level, values[row], ones) for row in range(len(values))]
    )

    def some(k, seen):
        total, product = seen  # of the features that are complete, and of the chunks so far of one that is not
        cut = functools.partial(jax.lax.dynamic_slice_in_dim, start_index=k * _TOGETHER, slice_size=_TOGETHER)
        first = cut(w.place) == 0
        for value, begins, coefficient in zip(cut(of_chunk), first, cut(w.coefficient), strict=True):
            product = value * jnp.where(begins, jnp.ones_like(product), product)
            total = total + coefficient * product
        return total, product

    pieces = batch_max((w.used + _TOGETHER - 1) // _TOGETHER)
    one = jnp.ones((), values.dtype)
    return jax.lax.fori_loop(jnp.int32(0), pieces, some, (0.0 * one, one))[0]
