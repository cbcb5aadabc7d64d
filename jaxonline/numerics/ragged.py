"""Loops with a random number of calls per run, whose work under vmap is proportional to the total number of calls.

A vmapped loop with a random number of iterations makes every run wait for the run with the longest loop. Here the calls
of all runs form one list, run after run, which is computed in chunks of fixed size, so that the padding is at most one
chunk. For three runs that make 2, 0 and 3 calls, with a capacity of 4 and chunks of 2:

    run 0    0 1 . .                run    0 0 | 2 2 | 2 .       a loop over three chunks, each a vmap of the function;
    run 1    . . . .   -- list -->  j      0 1 | 0 1 | 2 .       then the list is split by run,
    run 2    0 1 2 .                chunk  1     2     3         padded with zeros

`ragged_map` returns the results of each run, and `ragged_add` adds the results to a state of the run. `batch_max`
returns the largest number of iterations of all runs, so that the runs share one loop.

`custom_vmap` defines the batching rule for each level of vmap:

    no vmap                              run_loop        a loop of `number` iterations
    vmap, equal numbers                  run_batched     each call becomes one call of the batch (`merge_batch`)
    vmap, a number per run               run_in_chunks   the list above (`batch_runs`)
    vmap of the second line, with
      a number per run                   batch_runs      the same list, of the larger calls (a sweep inside of runs)
    vmap of the third line               batch_runs      a batch of batches is one batch: one longer list

A function with a batching rule must not close over batched values, which the rule would not see. Therefore the function
is traced (`make_jaxpr`), and the values that the function closes over become arguments, the constants `consts`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array, Int

from jaxonline._xla.barriers import batch_max as batch_max
from jaxonline.numerics.elementwise import RunEnds, chunk_size
from jaxonline.parameters import check
from jaxonline.parameters.types import PyTree


def ragged_map(
    function: Callable[[Int[Array, ""]], PyTree], number: Int[Array, ""], capacity: int, share: float = 1.0
) -> PyTree:
    """Stack `function(j)` for j = 0, ..., number - 1, padded with zeros to `capacity` (the largest number of calls).

    Args:
        function: function of an int32, which may close over anything.
        number: number of calls.
        capacity: length of the leading axis of the result.
        share: calls per run in a chunk under vmap; choose at most about the number of calls that a run needs.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.numerics.ragged import ragged_map
        >>> jax.vmap(lambda n: ragged_map(lambda j: n * 10 + j, n, 4))(jnp.array([0, 3, 1])).tolist()
        [[0, 0, 0, 0], [30, 31, 32, 0], [10, 0, 0, 0]]
    """
    check.count("capacity", capacity)
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(jnp.int32(0))

    def call(consts: Sequence[Array], j: Int[Array, ""]) -> tuple[Array, ...]:
        return tuple(jaxpr_as_fun(ClosedJaxpr(closed.jaxpr, consts))(j))

    calls = _Calls(call, capacity, share, jax.tree.leaves(shapes))
    number = jnp.clip(jnp.asarray(number, jnp.int32), 0, capacity)
    return jax.tree.unflatten(jax.tree.structure(shapes), calls.run(calls.run_loop)(number, *closed.consts))


class Increment(NamedTuple):
    """Increment of an array of the state by one call.

    Attributes:
        part: numbers to add, with the shape of the array or of one of its rows.
        row: index of the row, not negative; an index beyond the last row adds nothing. None adds to the whole array.
    """

    part: Array
    row: Int[Array, ""] | None = None


def ragged_add(
    function: Callable[[Int[Array, ""], PyTree], PyTree], number: Int[Array, ""], state: PyTree, share: float = 1.0
) -> PyTree:
    """Add to a state the increments `function(j, state)` for j = 0, ..., number - 1.

    Args:
        function: function of an int32 and the state (which may lack the increments of other calls), returns an
            `Increment` per array. This function may close over anything.
        number: number of calls.
        state: arrays.
        share: calls per run in a chunk under vmap, as for `ragged_map`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.numerics.ragged import Increment, ragged_add
        >>> add = lambda n, state: ragged_add(lambda j, _: Increment(10 + j, j), n, state)
        >>> jax.vmap(add)(jnp.array([2, 0]), jnp.array([[1, 2, 3], [4, 5, 6]])).tolist()
        [[11, 13, 3], [4, 5, 6]]
    """
    leaves, structure = jax.tree.flatten(state)

    def added(j: Int[Array, ""], *leaves: Array) -> list[Increment]:
        return structure.flatten_up_to(function(j, structure.unflatten(leaves)))

    closed, shapes = jax.make_jaxpr(added, return_shape=True)(jnp.int32(0), *leaves)

    def call(consts: Sequence[Array], j: Int[Array, ""]) -> list[Increment]:
        own, others = consts[: len(leaves)], consts[len(leaves) :]
        return jax.tree.unflatten(jax.tree.structure(shapes), jaxpr_as_fun(ClosedJaxpr(closed.jaxpr, others))(j, *own))

    additions = _Additions(
        call, _UNLIMITED_CALLS, share, [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
    )
    number = jnp.maximum(jnp.asarray(number, jnp.int32), 0)
    return structure.unflatten(additions.run(additions.run_loop)(number, *leaves, *closed.consts))


_UNLIMITED_CALLS = 2**31 - 1  # increments need no storage per call


class _Calls:
    """Calls `call(consts, j)` of one run, or of runs with the same number of calls."""

    def __init__(self, call: Callable, capacity: int, share: float, shapes: Sequence[jax.ShapeDtypeStruct]):
        self.call, self.capacity, self.share, self.shapes = call, capacity, share, shapes

    def run(self, unbatched: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
        """Run `unbatched`, a function of the number and the constants; under vmap, run all calls as one list."""
        run = custom_vmap(unbatched)

        @run.def_vmap
        def rule(size, batched, number, *consts):
            if batched[0]:
                stacked = self.batch_runs(size, tuple(batched[1:]))(number, *consts)
            else:  # an equal number of calls: each call becomes one call of the batch, also under a further vmap
                merged = self.merge_batch(size, tuple(batched[1:]))
                stacked = merged.run(merged.run_batched)(number, *consts)
                stacked = tuple(jnp.swapaxes(s, 0, 1) for s in stacked)
            return stacked, (True,) * len(stacked)

        return run

    def run_loop(self, number: Array, *consts: Array) -> tuple[Array, ...]:
        def body(j, stacked):
            return tuple(s.at[j].set(v) for s, v in zip(stacked, self.call(consts, j), strict=True))

        empty = tuple(jnp.zeros((self.capacity, *s.shape), s.dtype) for s in self.shapes)
        return jax.lax.fori_loop(jnp.int32(0), number, body, empty)

    def run_batched(self, number: Array, *consts: Array) -> tuple[Array, ...]:
        j = jnp.arange(self.capacity, dtype=jnp.int32)
        return tuple(_masked(j < number, value) for value in jax.vmap(lambda j: self.call(consts, j))(j))

    def merge_batch(self, size: int, batched: tuple[bool, ...]) -> "_Calls":
        """Merge the calls j of `size` runs with the same number of calls into one call for each j."""
        call = jax.vmap(self.call, in_axes=(tuple(0 if b else None for b in batched), None))
        shapes = [jax.ShapeDtypeStruct((size, *s.shape), s.dtype) for s in self.shapes]
        return type(self)(call, self.capacity, self.share, shapes)

    def batch_runs(self, size: int, batched: tuple[bool, ...]) -> Callable[..., tuple[Array, ...]]:
        """Run the calls of `size` runs; the constants marked in `batched` have an entry per run."""

        @custom_vmap
        def run(number, *consts):
            return self.run_in_chunks(size, batched, number, consts)

        @run.def_vmap
        def rule(outer, outer_batched, number, *consts):  # a batch of batches is one batch
            def merged(inside, outside, leaf):
                if not inside and not outside:
                    return leaf
                leaf = leaf if outside else jnp.broadcast_to(leaf, (outer, *leaf.shape))
                leaf = leaf if inside else jnp.repeat(leaf[:, None], size, axis=1)
                return leaf.reshape(outer * size, *leaf.shape[2:])

            number = merged(True, outer_batched[0], number)
            consts = [merged(*flags) for flags in zip(batched, outer_batched[1:], consts, strict=True)]
            either = tuple(a or b for a, b in zip(batched, outer_batched[1:], strict=True))
            stacked = self.batch_runs(outer * size, either)(number, *consts)
            return tuple(s.reshape(outer, size, *s.shape[1:]) for s in stacked), (True,) * len(stacked)

        return run

    def run_in_chunks(self, size: int, batched: tuple[bool, ...], number: Array, consts: Sequence[Array]) -> tuple:
        """Run the calls of all runs, in chunks of fixed size."""
        chunk = chunk_size(self.share, size, size * self.capacity)
        ends = RunEnds.from_counts(number)
        starts = ends.per_run() - number
        in_axes = (tuple(0 if b else None for b in batched), 0)

        def run_chunk(k, results):
            places = k * chunk + jnp.arange(chunk, dtype=jnp.int32)
            run = jnp.minimum(ends.find_runs(places), size - 1)
            row = run.astype(jnp.uint32)  # jax adds a check of negative indices for int32
            own = tuple(c[row] if b else c for c, b in zip(self.visible_consts(results, consts), batched, strict=True))
            j = places - starts[row]
            return self.store_chunk(
                results, jax.vmap(self.call, in_axes=in_axes)(own, j), run, j, places < ends.total()
            )

        n_chunks = jax.lax.div(ends.total() + (chunk - 1), jnp.int32(chunk))
        return self.split_by_run(
            size, jax.lax.fori_loop(jnp.int32(0), n_chunks, run_chunk, self.initial_results(size, consts))
        )

    def visible_consts(self, results: tuple[Array, ...], consts: Sequence[Array]) -> Sequence[Array]:
        """Constants that a chunk of calls sees."""
        return consts

    def initial_results(self, size: int, consts: Sequence[Array]) -> tuple[Array, ...]:
        """Results before the first chunk, one run after the other."""
        return tuple(jnp.zeros((size * self.capacity, *s.shape), s.dtype) for s in self.shapes)

    def store_chunk(
        self, results: tuple[Array, ...], values: tuple[Array, ...], run: Array, j: Array, real: Array
    ) -> tuple[Array, ...]:
        """Store the results of a chunk, the calls `j` of the runs, unless they are padding."""
        beyond = results[0].shape[0] + jnp.arange(len(run), dtype=jnp.int32)
        places = jnp.where(real, run * self.capacity + j, beyond)
        options = {"mode": "drop", "indices_are_sorted": True, "unique_indices": True}
        return tuple(whole.at[places].set(part, **options) for whole, part in zip(results, values, strict=True))

    def split_by_run(self, size: int, results: tuple[Array, ...]) -> tuple[Array, ...]:
        """Split the results by run."""
        return tuple(whole.reshape(size, self.capacity, *whole.shape[1:]) for whole in results)


class _Additions(_Calls):
    """Calls that add to the state of their run; the states are the first constants."""

    def run(self, unbatched: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
        run = custom_vmap(unbatched)

        @run.def_vmap
        def rule(size, batched, number, *consts):
            mapped = tuple(own or i <= len(self.shapes) for i, own in enumerate(batched))  # always number and states
            number, *consts = (
                jnp.broadcast_to(leaf, (size, *leaf.shape)) if wanted and not own else leaf
                for leaf, own, wanted in zip((number, *consts), batched, mapped, strict=True)
            )
            stacked = self.batch_runs(size, mapped[1:])(number, *consts)
            return stacked, (True,) * len(stacked)

        return run

    def run_loop(self, number: Array, *consts: Array) -> tuple[Array, ...]:
        states, others = consts[: len(self.shapes)], consts[len(self.shapes) :]

        def body(j, states):
            one_run, own = jax.tree.map(lambda leaf: leaf[None], (states, self.call((*states, *others), j)))
            return tuple(s[0] for s in self.store_chunk(one_run, own, jnp.zeros(1, jnp.int32), j, jnp.ones(1, bool)))

        return jax.lax.fori_loop(jnp.int32(0), number, body, tuple(states))

    def visible_consts(self, results: tuple[Array, ...], consts: Sequence[Array]) -> Sequence[Array]:
        return (*results, *consts[len(self.shapes) :])

    def initial_results(self, size: int, consts: Sequence[Array]) -> tuple[Array, ...]:
        return tuple(consts[: len(self.shapes)])

    def store_chunk(
        self, results: tuple[Array, ...], values: Sequence[Increment], run: Array, j: Array, real: Array
    ) -> tuple[Array, ...]:
        run = jnp.where(real, run, len(results[0]))
        return tuple(_scatter_add(whole, run, each) for whole, each in zip(results, values, strict=True))

    def split_by_run(self, size: int, results: tuple[Array, ...]) -> tuple[Array, ...]:
        return results


def _scatter_add(whole: Array, run: Array, added: Increment) -> Array:
    """Add the increments of calls of the runs `run` to the states of all runs; an unknown run adds nothing."""
    if added.row is None:
        return whole.at[run].add(added.part, mode="drop")
    size, length, *rest = whole.shape
    inside = (run < size) & (added.row < length)
    places = jnp.where(inside, run * length + added.row, size * length)
    return whole.reshape(size * length, *rest).at[places].add(added.part, mode="drop").reshape(whole.shape)


def _masked(mask: Array, values: Array) -> Array:
    return jnp.where(mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim)), values, jnp.zeros_like(values))
