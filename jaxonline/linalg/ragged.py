"""A random number of calls of one function, with work in proportion to that number even under vmap.

A loop with a random number of iterations, vmapped over runs, makes every run wait for the longest one. Here the calls
of all runs are laid out in one list, run after run, and computed in pieces of fixed size: the padding is one chunk at
most. Three runs that make 2, 0 and 3 calls, with room for 4 each and pieces of 2:

    run 0    0 1 . .                run    0 0 | 2 2 | 2 .       a loop over three pieces, each a vmap of the function;
    run 1    . . . .   -- list -->  j      0 1 | 0 1 | 2 .       then every run takes its part of the list back,
    run 2    0 1 2 .                chunk   1     2     3        with zeros where it made no call

`ragged_map` gives every run its own results, and `ragged_add` adds what calls bring to a state of the run. `largest` is
for loops that all runs share.

What vmap makes of a loop is replaced by `custom_vmap`, once for every level of vmap around it. Each level either knows
that the number is the same for all it maps over, or makes a list:

    no vmap                              run_loop     a loop of `number` iterations
    vmap, the number is the same         run_batched    each call becomes one call for all of the batch (`together`)
    vmap, the number is theirs           run_in_chunks      the list above (`batch_runs`)
    vmap of the second line, with
      a number for each                  batch_runs      the same list, of the larger calls (a sweep inside of runs)
    vmap of the third line               batch_runs      a batch of batches is one batch: one longer list

A function with a rule of its own must not close over what is mapped, since the rule could not see it. Therefore the
function is first traced (`make_jaxpr`), and what it closes over becomes arguments: the constants `consts` below.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array, Int, PyTree

from jaxonline._xla.loop_bounds import batch_max as batch_max
from jaxonline.linalg.prefix_sums import RunEnds, chunk_size
from jaxonline.parameters import check


def ragged_map(
    function: Callable[[Int[Array, ""]], PyTree], number: Int[Array, ""], capacity: int, share: float = 1.0
) -> PyTree:
    """`function(j)` for j = 0, ..., number - 1, stacked, with zeros up to `capacity` (and no call beyond it).

    Args:
        function: of an int32; it may close over anything.
        number: how many calls.
        capacity: length of the leading axis of the result, at least 1.
        share: under vmap, the calls of a chunk for each run, above 0: about what a run needs, or less.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.linalg.ragged import ragged_map
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
    """What a call adds to an array of the state.

    Attributes:
        part: the numbers; of the shape of the array, or of a row of it.
        row: which row, not negative; beyond the last one nothing is added. None for the whole array.
    """

    part: Array
    row: Int[Array, ""] | None = None


def ragged_add(
    function: Callable[[Int[Array, ""], PyTree], PyTree], number: Int[Array, ""], state: PyTree, share: float = 1.0
) -> PyTree:
    """The state and all that `function(j, state)` adds to it, j = 0, ..., number - 1.

    Args:
        function: of an int32 and the state (which may lack the increments of other calls); an `Increment` per array.
            It may close over anything.
        number: how many calls.
        state: arrays.
        share: as for `ragged_map`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.linalg.ragged import Increment, ragged_add
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


_UNLIMITED_CALLS = 2**31 - 1  # calls that add to a state need no room of their own


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
                stacked = self.batch_runs(size, tuple(batched[1:]))(number, *consts)
            else:  # nothing is ragged: the runs make each call together, if a further vmap comes, too
                together = self.merge_batch(size, tuple(batched[1:]))
                stacked = together.run(together.run_batched)(number, *consts)
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
        """The calls of `size` runs that make the same number of them, as one call each."""
        call = jax.vmap(self.call, in_axes=(tuple(0 if b else None for b in batched), None))
        shapes = [jax.ShapeDtypeStruct((size, *s.shape), s.dtype) for s in self.shapes]
        return type(self)(call, self.capacity, self.share, shapes)

    def batch_runs(self, size: int, batched: tuple[bool, ...]) -> Callable[..., tuple[Array, ...]]:
        """The same of `size` runs; the constants marked in `batched` have one entry a run."""

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
            consts = [merged(*each) for each in zip(batched, outer_batched[1:], consts, strict=True)]
            either = tuple(a or b for a, b in zip(batched, outer_batched[1:], strict=True))
            stacked = self.batch_runs(outer * size, either)(number, *consts)
            return tuple(s.reshape(outer, size, *s.shape[1:]) for s in stacked), (True,) * len(stacked)

        return run

    def run_in_chunks(self, size: int, batched: tuple[bool, ...], number: Array, consts: Sequence[Array]) -> tuple:
        """The calls of all runs, one after the other, in pieces of fixed size."""
        chunk = chunk_size(self.share, size, size * self.capacity)
        ends = RunEnds.from_counts(number)
        starts = ends.per_run() - number
        in_axes = (tuple(0 if b else None for b in batched), 0)

        def run_chunk(k, results):
            places = k * chunk + jnp.arange(chunk, dtype=jnp.int32)
            run = jnp.minimum(ends.find_runs(places), size - 1)
            row = run.astype(jnp.uint32)  # an index that may be negative is looked at first
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
        """The constants, of which a call sees those of its run."""
        del results
        return consts

    def initial_results(self, size: int, consts: Sequence[Array]) -> tuple[Array, ...]:
        """What is results before the first chunk: the results of all runs, one run after the other."""
        del consts
        return tuple(jnp.zeros((size * self.capacity, *s.shape), s.dtype) for s in self.shapes)

    def store_chunk(
        self, results: tuple[Array, ...], values: tuple[Array, ...], run: Array, j: Array, real: Array
    ) -> tuple[Array, ...]:
        """The same with one more chunk: the calls `j` of the runs, as far as they are real."""
        beyond = results[0].shape[0] + jnp.arange(len(run), dtype=jnp.int32)
        places = jnp.where(real, run * self.capacity + j, beyond)
        options = {"mode": "drop", "indices_are_sorted": True, "unique_indices": True}
        return tuple(whole.at[places].set(part, **options) for whole, part in zip(results, values, strict=True))

    def split_by_run(self, size: int, results: tuple[Array, ...]) -> tuple[Array, ...]:
        """Of every run the part that is its own."""
        return tuple(whole.reshape(size, self.capacity, *whole.shape[1:]) for whole in results)


class _Additions(_Calls):
    """Calls that add to the state of their run; the states come first among the constants."""

    def run(self, unbatched: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
        run = custom_vmap(unbatched)

        @run.def_vmap
        def rule(size, batched, number, *consts):
            mapped = tuple(own or i <= len(self.shapes) for i, own in enumerate(batched))  # number and states: always
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
        del size
        return tuple(consts[: len(self.shapes)])

    def store_chunk(
        self, results: tuple[Array, ...], values: Sequence[Increment], run: Array, j: Array, real: Array
    ) -> tuple[Array, ...]:
        del j
        run = jnp.where(real, run, len(results[0]))
        return tuple(_scatter_add(whole, run, each) for whole, each in zip(results, values, strict=True))

    def split_by_run(self, size: int, results: tuple[Array, ...]) -> tuple[Array, ...]:
        return results


def _scatter_add(whole: Array, run: Array, added: Increment) -> Array:
    """The states of all runs, with what calls of the runs `run` have added; nothing where there is no such run."""
    if added.row is None:
        return whole.at[run].add(added.part, mode="drop")
    size, length, *rest = whole.shape
    inside = (run < size) & (added.row < length)
    places = jnp.where(inside, run * length + added.row, size * length)
    return whole.reshape(size * length, *rest).at[places].add(added.part, mode="drop").reshape(whole.shape)


def _masked(mask: Array, values: Array) -> Array:
    return jnp.where(mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim)), values, jnp.zeros_like(values))
