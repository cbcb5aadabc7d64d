"""What the machine can do at most of the things that workloads are made of, a second."""

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp

from benchmarks._timing import at_once
from jaxonline._xla.threads import run_parallel
from jaxonline.random.threefry import inlined
from jaxonline.simulation.blocks import default_mesh, map_blocks

LANES, STEPS = 64, 200


def on_cpu() -> bool:
    """Other devices are only busy with larger arrays."""
    return jax.default_backend() == "cpu"


def measured() -> dict[str, float]:
    """By the names of `RESOURCES`, all devices together: the best of three."""
    return {
        "words": _drawn(lambda key: jax.random.bits(key, (LANES,))),
        "normals": _drawn(lambda key: jax.random.normal(key, (LANES,))),
        "bytes": _bytes(),
        "products": _products(),
    }


def _drawn(draw: Callable) -> float:
    """Numbers in a loop in which nothing else is done, each block of runs on a device, as a study has them."""

    width = 512 if on_cpu() else 65_536

    def run(key):
        def step(t, total):
            drawn = draw(jax.random.fold_in(key, t))
            return total + (drawn if drawn.dtype == jnp.float32 else (drawn >> 31).astype(jnp.float32))

        return jax.lax.fori_loop(0, STEPS, step, jnp.zeros(LANES))

    def block(index):
        keys = jax.vmap(lambda i: inlined(jax.random.fold_in(jax.random.key(0), i)))(index * width + jnp.arange(width))
        return jax.vmap(run)(keys)

    return _rate(_on_all(block), width * LANES * STEPS)


def _bytes() -> float:
    """Of reading and writing arrays that no cache holds."""
    size = 2**25 if on_cpu() else 2**28
    return _rate(
        _on_all(lambda index: jax.lax.fori_loop(0, 8, lambda _, a: a + 1.0, jnp.full(size, index * 1.0))), 64 * size
    )


def _products() -> float:
    """Of float64 matrix products."""
    n = 768 if on_cpu() else 4096
    with jax.enable_x64(True):

        def block(index):
            a = jnp.full((n, n), 1e-3 * (index + 1), jnp.float64)
            return jax.lax.fori_loop(0, 8, lambda _, b: a @ b * 0.5, a)

        return _rate(_on_all(block), 8 * 2 * n**3)


def _on_all(block: Callable) -> Callable[[], None]:
    """A block on each device, or by each thread on the cores of a CPU."""
    mesh = default_mesh()
    indices = jnp.arange(mesh.devices.size, dtype=jnp.int32)
    program = jax.jit(map_blocks(block, mesh, 0, 1)).lower(indices).compile()

    def play() -> None:
        jobs = [lambda: program(indices)] * (at_once() // mesh.devices.size)
        run_parallel(jobs, len(jobs))

    return play


def _rate(play: Callable[[], None], work: float) -> float:
    play()
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        play()
        seconds.append(time.perf_counter() - began)
    return at_once() * work / min(seconds)


if __name__ == "__main__":
    for name, value in measured().items():
        print(f"{name}: {value:.3g} a second")
