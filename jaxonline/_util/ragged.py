"""A random number of calls of one function, with work in proportion to that number even under vmap.

A loop with a random number of iterations, vmapped over runs, makes every run wait for the longest one. Here the calls
of all runs are laid out in one list, run after run, and computed in pieces of fixed size: the padding is one piece at
most. Three runs that make 2, 0 and 3 calls, with room for 4 each and pieces of 2:

    run 0    0 1 . .                run    0 0 | 2 2 | 2 .       a loop over three pieces, each a vmap of the function;
    run 1    . . . .   -- list -->  j      0 1 | 0 1 | 2 .       then every run takes its part of the list back,
    run 2    0 1 2 .                piece   1     2     3        with zeros where it made no call

What vmap makes of a loop is replaced by `custom_vmap`, once for every level of vmap around it. Each level either knows
that the number is the same for all it maps over, or makes a list:

    no vmap                              one_by_one     a loop of `number` iterations
    vmap, the number is the same         all_at_once    each call becomes one call for all of the batch (`together`)
    vmap, the number is theirs           in_pieces      the list above (`many_runs`)
    vmap of the second line, with
      a number for each                  many_runs      the same list, of the larger calls (a sweep inside of runs)
    vmap of the third line               many_runs      a batch of batches is one batch: one longer list

A function with a rule of its own must not close over what is mapped, since the rule could not see it. Therefore the
function is first traced (`make_jaxpr`), and what it closes over becomes arguments: the constants `consts` below.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array, Int, PyTree

from jaxonline._util import check


def ragged_map(
    function: Callable[[Int[Array, ""]], PyTree], number: Int[Array, ""], capacity: int, share: float = 1.0
) -> PyTree:
    """`function(j)` for j = 0, ..., number - 1, stacked, with zeros up to `capacity` (and no call beyond it).

    Args:
        function: of an int32; it may close over anything.
        number: how many calls.
        capacity: length of the leading axis of the result, at least 1.
        share: under vmap, the calls of a piece for each run, above 0: about what a run needs, or less.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline._util.ragged import ragged_map
        >>> jax.vmap(lambda n: ragged_map(lambda j: n * 10 + j, n, 4))(jnp.array([0, 3, 1])).tolist()
        [[0, 0, 0, 0], [30, 31, 32, 0], [10, 0, 0, 0]]
    """
    check.count("capacity", capacity)
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(jnp.int32(0))

    def call(consts: Sequence[Array], j: Int[Array, ""]) -> tuple[Array, ...]:
        return tuple(jaxpr_as_fun(ClosedJaxpr(closed.jaxpr, consts))(j))

    calls = _Calls(call, capacity, share, jax.tree.leaves(shapes))
    number = jnp.clip(jnp.asarray(number, jnp.int32), 0, capacity)
    return jax.tree.unflatten(jax.tree.structure(shapes), calls.run(calls.one_by_one)(number, *closed.consts))


class _Calls:
    """The calls of one run, or of runs that make the same number of them: `call(consts, j)`."""

    def __init__(self, call: Callable, capacity: int, share: float, shapes: Sequence[jax.ShapeDtypeStruct]):
        self.call, self.capacity, self.share, self.shapes = call, capacity, share, shapes

    def run(self, unbatched: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
        """`unbatched`, a function of the number and the constants; under vmap, a list of the calls of all runs."""
        run = custom_vmap(unbatched)

        @run.def_vmap
        def rule(size, batched, number, *consts):
            if batched[0]:
                stacked = self.many_runs(size, tuple(batched[1:]))(number, *consts)
            else:  # nothing is ragged: the runs make each call together, if a further vmap comes, too
                together = self.together(size, tuple(batched[1:]))
                stacked = together.run(together.all_at_once)(number, *consts)
                stacked = tuple(jnp.swapaxes(s, 0, 1) for s in stacked)
            return stacked, (True,) * len(stacked)

        return run

    def one_by_one(self, number: Array, *consts: Array) -> tuple[Array, ...]:
        def body(j, stacked):
            return tuple(s.at[j].set(v) for s, v in zip(stacked, self.call(consts, j), strict=True))

        empty = tuple(jnp.zeros((self.capacity, *s.shape), s.dtype) for s in self.shapes)
        return jax.lax.fori_loop(jnp.int32(0), number, body, empty)

    def all_at_once(self, number: Array, *consts: Array) -> tuple[Array, ...]:
        j = jnp.arange(self.capacity, dtype=jnp.int32)
        return tuple(_masked(j < number, value) for value in jax.vmap(lambda j: self.call(consts, j))(j))

    def together(self, size: int, batched: tuple[bool, ...]) -> "_Calls":
        """The calls of `size` runs that make the same number of them, as one call each."""
        call = jax.vmap(self.call, in_axes=(tuple(0 if b else None for b in batched), None))
        shapes = [jax.ShapeDtypeStruct((size, *s.shape), s.dtype) for s in self.shapes]
        return _Calls(call, self.capacity, self.share, shapes)

    def many_runs(self, size: int, batched: tuple[bool, ...]) -> Callable[..., tuple[Array, ...]]:
        """The same of `size` runs; the constants marked in `batched` have one entry a run."""

        @custom_vmap
        def run(number, *consts):
            return self.in_pieces(size, batched, number, consts)

        @run.def_vmap
        def rule(outer, outer_batched, number, *consts):  # a batch of batches is one batch
            def merged(inside, outside, leaf):
                if not inside and not outside:
                    return leaf
                leaf = leaf if outside else jnp.broadcast_to(leaf, (outer, *leaf.shape))
                leaf = leaf if inside else jnp.repeat(leaf[:, None], size, axis=1)
                return leaf.reshape(outer * size, *leaf.shape[2:])

            number = merged(True, outer_batched[0], number)
            consts = [merged(*each) for each in zip(batched, outer_batched[1:], consts, strict=True)]
            either = tuple(a or b for a, b in zip(batched, outer_batched[1:], strict=True))
            stacked = self.many_runs(outer * size, either)(number, *consts)
            return tuple(s.reshape(outer, size, *s.shape[1:]) for s in stacked), (True,) * len(stacked)

        return run

    def in_pieces(self, size: int, batched: tuple[bool, ...], number: Array, consts: Sequence[Array]) -> tuple:
        """The calls of all runs, one after the other, in pieces of fixed size."""
        piece = max(1, min(round(self.share * size), size * self.capacity))
        ends = jnp.cumsum(number, dtype=jnp.int32)
        starts = ends - number
        in_axes = (tuple(0 if b else None for b in batched), 0)
        method = (
            "compare_all" if size <= 512 else "scan_unrolled"
        )  # no loop: its iterations would cost more than the search

        def next_piece(k, listed):
            places = k * piece + jnp.arange(piece, dtype=jnp.int32)
            run = jnp.minimum(jnp.searchsorted(ends, places, side="right", method=method), size - 1).astype(jnp.int32)
            own = tuple(c[run] if b else c for c, b in zip(consts, batched, strict=True))
            values = jax.vmap(self.call, in_axes=in_axes)(own, places - starts[run])
            return tuple(
                jax.lax.dynamic_update_slice_in_dim(whole, part, k * piece, 0)
                for whole, part in zip(listed, values, strict=True)
            )

        room = size * self.capacity + piece
        listed = tuple(jnp.zeros((room, *s.shape), s.dtype) for s in self.shapes)
        n_pieces = (ends[-1] + piece - 1) // piece
        listed = jax.lax.fori_loop(jnp.int32(0), n_pieces, next_piece, listed)
        j = jnp.arange(self.capacity, dtype=jnp.int32)
        return tuple(_masked(j[None, :] < number[:, None], whole[starts[:, None] + j[None, :]]) for whole in listed)


def _masked(mask: Array, values: Array) -> Array:
    return jnp.where(mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim)), values, jnp.zeros_like(values))
