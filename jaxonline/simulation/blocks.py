"""Fixed blocks of runs: the unit of compilation, distribution and reproducibility.

A block is `width` runs vmapped together. The program of one block is the same whatever the number of devices, so
that the numbers of a run depend on its key, its index and the width of its block, and on nothing else: not on the
number of devices, not on the order of the blocks, not on which other blocks are played. (Automatic sharding, or
another width, changes the last bits of float32.)

Several devices play a block each, in one program that is partitioned. The cores of a CPU are one device, which is
given blocks by as many threads: the program of one device is compiled sooner than one that is partitioned.
"""

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from jaxonline._xla.compile_options import is_debugging
from jaxonline._xla.threads import side_by_side, usable_cores
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError

AXIS = "blocks"
THREADS = 32  # of a CPU that is one device: XLA has it work on so many programs at a time, and no more
T = TypeVar("T")
U = TypeVar("U")


def default_mesh(devices: Sequence[Any] | None = None) -> Mesh:
    """A one-dimensional mesh over `devices` (all local devices when None)."""
    return Mesh(np.array(jax.local_devices() if devices is None else list(devices)), (AXIS,))


def check_mesh(mesh: Mesh) -> Mesh:
    """Check that a mesh has the single axis "blocks".

    Raises:
        ValueError: if it has other axes.
    """
    check.instance("mesh", mesh, Mesh, f"a jax.sharding.Mesh with the axis {AXIS!r}")
    if mesh.axis_names != (AXIS,):
        raise ArgumentError("mesh", f"must have the single axis {AXIS!r} (got the axes {mesh.axis_names})")
    return mesh


def threads(mesh: Mesh, n_blocks: int) -> int:
    """How many threads play so many blocks: one for each core of a CPU that is one device, otherwise a single one.

    The small operations of a round keep only one core busy.
    """
    one_cpu = mesh.devices.size == 1 and mesh.devices.flat[0].platform == "cpu" and not is_debugging()
    return max(1, min(usable_cores(), n_blocks, THREADS)) if one_cpu else 1


def default_width(n_runs: int, backend: str) -> int:
    """Runs per block: wide on an accelerator, 512 on a CPU, and never wider than the study."""
    widest = 512 if backend == "cpu" else 16_384
    return min(n_runs, widest)


def waves(blocks: Sequence[int], mesh: Mesh) -> Iterator[tuple[np.ndarray, int]]:
    """The blocks in groups of one per device: `(indices, how many of them count)`.

    The last group is filled up with copies of its last block, so that every group is the same program.
    """
    size = mesh.devices.size
    for start in range(0, len(blocks), size):
        wave = np.asarray(blocks[start : start + size], np.int32)
        yield np.concatenate([wave, np.repeat(wave[-1:], size - len(wave))]), len(wave)


def pipelined(launch: Callable[[T], U], items: Iterable[T], at_once: int = 1) -> Iterator[U]:
    """`launch(item)` for every item; a result is handed out when the next one has been launched.

    What jax launches runs on the device while the host works on the result before it.

    Args:
        launch: what returns arrays.
        items: of several devices, or one after the other for one.
        at_once: how many are launched at a time, by threads, where the device has so many cores.
    """
    if at_once > 1:
        yield from side_by_side(lambda item: jax.block_until_ready(launch(item)), items, at_once)
        return
    pending: deque[U] = deque()
    for item in items:
        pending.append(launch(item))
        if len(pending) > 1:
            yield pending.popleft()
    yield from pending


def item_keys(key: jax.Array, block: jax.Array, width: int) -> jax.Array:
    """The keys of the items of one block: item `i` of the whole study has the key `fold_in(key, i)`."""
    items = block * jnp.asarray(width, block.dtype) + jnp.arange(width, dtype=block.dtype)
    return jax.vmap(lambda item: jax.random.fold_in(key, item))(items)


def on_every_device(tree: T, mesh: Mesh) -> T:
    """The arrays of a pytree on every device, once: a program called with others copies them at each call."""
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))


def specs(tree: T, mesh: Mesh, *, blockwise: bool = False) -> T:
    """Shapes, dtypes and devices of arrays without the numbers, of which a program can be made.

    Args:
        tree: of anything with a shape and a dtype.
        mesh: where the arrays will be.
        blockwise: whether each device has an entry of the leading axis, as `over_blocks` returns it, and not all.
    """
    place = NamedSharding(mesh, PartitionSpec(AXIS) if blockwise else PartitionSpec())

    def spec(leaf):
        weak = getattr(leaf, "weak_type", False)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place, weak_type=weak)

    return jax.tree.map(spec, tree)


def over_blocks(block_fn: Callable[..., Any], mesh: Mesh, n_shared: int, n_blockwise: int) -> Callable[..., Any]:
    """Run `block_fn(*shared, *blockwise)` once per device.

    The first `n_shared` arguments go to every device as they are; each of the next `n_blockwise` arguments has a
    leading axis of one entry per device, which `block_fn` does not see. Results get that leading axis.
    """

    def on_device(*args):
        own = jax.tree.map(lambda a: a[0], args[n_shared:])
        out = block_fn(*args[:n_shared], *own)
        return jax.tree.map(lambda a: jnp.expand_dims(a, 0), out)

    in_specs = (PartitionSpec(),) * n_shared + (PartitionSpec(AXIS),) * n_blockwise
    return jax.shard_map(on_device, mesh=mesh, in_specs=in_specs, out_specs=PartitionSpec(AXIS), check_vma=False)


def shapes_of(mesh: Mesh, function: Callable[..., Any], *args: Any) -> PyTree:
    """`jax.eval_shape(function, *args)` within a program of `over_blocks`, which needs not trace it again."""
    out = jax.eval_shape(_in_block(function, mesh, len(args)), *args)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), out)


@functools.cache  # one for each function, so that jax knows it again
def _in_block(function: Callable[..., Any], mesh: Mesh, n_args: int) -> Callable[..., Any]:
    return over_blocks(function, mesh, n_shared=n_args, n_blockwise=0)
