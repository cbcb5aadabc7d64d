"""Limits of the machine: random words, normal numbers, bytes and products a second."""

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp

from benchmarks._timing import parallel_blocks
from jaxonline._xla.threads import run_parallel
from jaxonline.random.threefry import inlined
from jaxonline.simulation.blocks import default_mesh, map_blocks

LANES, STEPS = 64, 200


def is_cpu() -> bool:
    """Whether jax uses a CPU; other devices need larger arrays."""
    return jax.default_backend() == "cpu"


def measure_limits() -> dict[str, float]:
    """Measure the limits of all devices together, by the names of `RESOURCES`: the best of three."""
    return {
        "words": _draw_rate(lambda key: jax.random.bits(key, (LANES,))),
        "normals": _draw_rate(lambda key: jax.random.normal(key, (LANES,))),
        "bytes": _byte_rate(),
        "products": _product_rate(),
    }


def _draw_rate(draw: Callable) -> float:
    """Random numbers a second, in a loop that only draws, with a block of runs on each device as in a study."""
    width = 512 if is_cpu() else 65_536

    def run(key):
        def step(t, total):
            number = draw(jax.random.fold_in(key, t))
            return total + (number if number.dtype == jnp.float32 else (number >> 31).astype(jnp.float32))

        return jax.lax.fori_loop(0, STEPS, step, jnp.zeros(LANES))

    def block(index):
        keys = jax.vmap(lambda i: inlined(jax.random.fold_in(jax.random.key(0), i)))(index * width + jnp.arange(width))
        return jax.vmap(run)(keys)

    return _rate(_on_all_devices(block), width * LANES * STEPS)


def _byte_rate() -> float:
    """Bytes a second, reading and writing arrays that are larger than the caches."""
    size = 2**25 if is_cpu() else 2**28
    return _rate(
        _on_all_devices(lambda index: jax.lax.fori_loop(0, 8, lambda _, a: a + 1.0, jnp.full(size, index * 1.0))),
        64 * size,
    )


def _product_rate() -> float:
    """Float64 operations a second in matrix products."""
    n = 768 if is_cpu() else 4096
    with jax.enable_x64(True):

        def block(index):
            a = jnp.full((n, n), 1e-3 * (index + 1), jnp.float64)
            return jax.lax.fori_loop(0, 8, lambda _, b: a @ b * 0.5, a)

        return _rate(_on_all_devices(block), 8 * 2 * n**3)


def _on_all_devices(block: Callable) -> Callable[[], None]:
    """Run a block on each device, or in each thread of a CPU."""
    mesh = default_mesh()
    indices = jnp.arange(mesh.devices.size, dtype=jnp.int32)
    program = jax.jit(map_blocks(block, mesh, 0, 1)).lower(indices).compile()

    def play() -> None:
        jobs = [lambda: program(indices)] * (parallel_blocks() // mesh.devices.size)
        run_parallel(jobs, len(jobs))

    return play


def _rate(play: Callable[[], None], work: float) -> float:
    play()
    seconds = []
    for _ in range(3):
        start_time = time.perf_counter()
        play()
        seconds.append(time.perf_counter() - start_time)
    return parallel_blocks() * work / min(seconds)


if __name__ == "__main__":
    for name, value in measure_limits().items():
        print(f"{name}: {value:.3g} a second")
