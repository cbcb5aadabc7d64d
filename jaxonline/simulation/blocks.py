"""Blocks of a fixed number of runs: each block is computed by one call of a compiled program on one device.

A block is `width` runs vmapped together. All blocks use the same compiled program, on any number of devices. The
numbers of a run therefore depend only on its key, its index and the width of its block. (Automatic sharding, or another
width, changes the last bits of float32.)

If there are several devices, one partitioned program plays one block on each device. All cores of a CPU are one device.
One thread per core gives blocks to this device, because a program for one device compiles faster than a partitioned
program.
"""

import functools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxonline._xla.compile_options import is_debugging
from jaxonline._xla.threads import map_in_threads, usable_cores
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import PyTree

MESH_AXIS = "blocks"
MAX_BLOCK_SIZE = 2**20  # runs
MIN_CPU_WIDTH, MAX_CPU_WIDTH, ACCELERATOR_WIDTH = 8, 128, 16_384  # runs per block by default
MAX_BLOCK_NUMBERS = 8192  # of the instances and outcomes of a round, in a block wider than MIN_CPU_WIDTH
MAX_RUNS = 10**9  # of one study; the indices of the runs are in memory
MAX_THREADS = 32  # XLA runs at most so many programs at a time on a CPU that is one device
T = TypeVar("T")
U = TypeVar("U")


def default_mesh(devices: Sequence[Any] | None = None) -> Mesh:
    """Return a one-dimensional mesh over `devices` (all local devices when None)."""
    return Mesh(np.array(jax.local_devices() if devices is None else list(devices)), (MESH_AXIS,))


def check_mesh(mesh: Mesh) -> Mesh:
    """Check that a mesh has the single axis "blocks"; raise ValueError if it has other axes."""
    check.instance("mesh", mesh, Mesh, f"a jax.sharding.Mesh with the axis {MESH_AXIS!r}")
    if mesh.axis_names != (MESH_AXIS,):
        raise ArgumentError("mesh", f"must have the single axis {MESH_AXIS!r} (got the axes {mesh.axis_names})")
    return mesh


def thread_count(mesh: Mesh, n_blocks: int) -> int:
    """Return the number of threads that play blocks: one per core if a CPU is the only device, otherwise 1.

    A CPU needs several threads, since the small operations of a round keep only one core busy.
    """
    one_cpu = mesh.devices.size == 1 and mesh.devices.flat[0].platform == "cpu" and not is_debugging()
    return max(1, min(usable_cores(), n_blocks, MAX_THREADS)) if one_cpu else 1


def default_width(specs: PyTree, n_runs: int, backend: str) -> int:
    """Return the default number of runs per block, at most `n_runs`.

    On a CPU it is the largest power of two, from 8 to 128, with at most 8,192 numbers in the instances and outcomes of
    one round of a block (`specs` has their shapes). A wider block saves little time on one core, and leaves more cores
    idle (`python -m benchmarks.widths`). On an accelerator it is 16,384, which was not measured.

    Another width rounds the last bits of the numbers differently. So it depends neither on the learners (another
    learner in the study must not change the numbers of the others), nor on the number of cores.
    """
    if backend != "cpu":
        return min(n_runs, ACCELERATOR_WIDTH)
    run_numbers = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(specs))
    width = MAX_CPU_WIDTH
    while width > MIN_CPU_WIDTH and width * run_numbers > MAX_BLOCK_NUMBERS:
        width //= 2
    return min(n_runs, width)


def waves(blocks: Sequence[int], mesh: Mesh) -> Iterator[tuple[np.ndarray, int]]:
    """Group blocks into waves with one block per device; yields pairs (indices of blocks, number of real blocks).

    The last wave is padded with copies of its last block ("not real"), so that all waves use the same program.
    """
    size = mesh.devices.size
    for start in range(0, len(blocks), size):
        wave = np.asarray(blocks[start : start + size], np.int32)
        yield np.concatenate([wave, np.repeat(wave[-1:], size - len(wave))]), len(wave)


def pipeline(launch: Callable[[T], U], items: Iterable[T], at_once: int = 1) -> Iterator[U]:
    """Yield `launch(item)` for every item; an item is yielded after the launch of the next, so the device stays busy.

    If `at_once` is above 1 (a CPU is the only device), as many threads launch items.
    """
    if at_once > 1:
        yield from map_in_threads(lambda item: jax.block_until_ready(launch(item)), items, at_once)
        return
    pending: deque[U] = deque()
    for item in items:
        pending.append(launch(item))
        if len(pending) > 1:
            yield pending.popleft()
    yield from pending


def item_keys(key: jax.Array, block: jax.Array, width: int) -> jax.Array:
    """Return the keys of the items (runs) of one block: item `i` of the study has the key `fold_in(key, i)`."""
    items = block * jnp.asarray(width, block.dtype) + jnp.arange(width, dtype=block.dtype)
    return jax.vmap(lambda item: jax.random.fold_in(key, item))(items)


def replicate(tree: T, mesh: Mesh) -> T:
    """Copy the arrays of a pytree to every device once; otherwise each call of a program copies them again."""
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))


def array_specs(tree: T, mesh: Mesh, *, blockwise: bool = False) -> T:
    """Return shapes, dtypes and shardings of arrays for tracing; `blockwise`: arrays are results of `map_blocks`."""
    sharding = NamedSharding(mesh, PartitionSpec(MESH_AXIS) if blockwise else PartitionSpec())

    def spec(leaf):
        weak = getattr(leaf, "weak_type", False)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=weak)

    return jax.tree.map(spec, tree)


def map_blocks(block_fn: Callable[..., Any], mesh: Mesh, n_shared: int, n_blockwise: int) -> Callable[..., Any]:
    """Return a function that runs `block_fn(*shared, *blockwise)` once per device.

    All devices get the first `n_shared` arguments. The next `n_blockwise` arguments and the results have a leading axis
    with one entry per device, which `block_fn` does not see.
    """

    def on_device(*args):
        own = jax.tree.map(lambda a: a[0], args[n_shared:])
        out = block_fn(*args[:n_shared], *own)
        return jax.tree.map(lambda a: jnp.expand_dims(a, 0), out)

    in_specs = (PartitionSpec(),) * n_shared + (PartitionSpec(MESH_AXIS),) * n_blockwise
    return jax.shard_map(on_device, mesh=mesh, in_specs=in_specs, out_specs=PartitionSpec(MESH_AXIS), check_vma=False)


def shapes_of(mesh: Mesh, function: Callable[..., Any], *args: Any) -> PyTree:
    """Return `jax.eval_shape(function, *args)`, traced inside `map_blocks`, so that a later call reuses the trace."""
    out = jax.eval_shape(_block_function(function, mesh, len(args)), *args)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), out)


@functools.cache  # the same object for the same function, so that jax reuses its trace
def _block_function(function: Callable[..., Any], mesh: Mesh, n_args: int) -> Callable[..., Any]:
    return map_blocks(function, mesh, n_shared=n_args, n_blockwise=0)
