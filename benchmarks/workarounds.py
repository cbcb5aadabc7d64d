"""The gain of each compiler workaround of `jaxonline._xla` and `jaxonline.random`, in small programs.

    python -m benchmarks.workarounds [--repeats N] [--json FILE]

Programs with and without the workaround take turns in one process. If the ratio (time without / time with) is about 1,
the workaround can be removed.
"""

import argparse
import functools
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._timing import side_by_side
from jaxonline import random
from jaxonline._xla import compile_options
from jaxonline._xla.barriers import compute_once, materialise, opaque_one
from jaxonline._xla.loop_bounds import batch_max
from jaxonline._xla.threads import run_parallel, usable_cores
from jaxonline.linalg.triangular import cholesky_and_inverse
from jaxonline.random.threefry import fused_key

RUNS, ROUNDS, D = 512, 300, 20

Work = Callable[[], Any]


def _loop(
    body: Callable[..., Any], state: Any, inlined: bool = True, options: dict[str, Any] = compile_options.WITHOUT_MLIR
) -> Work:
    """Compile a loop of rounds `body(key, t, state)` for a block of runs; by default without MLIR, as `simulate`."""
    options = compile_options.supported_options(options) if jax.default_backend() == "cpu" else {}
    keys = jax.random.split(jax.random.key(0), RUNS)
    keys = jax.vmap(random.inlined)(keys) if inlined else keys

    def rounds(keys, state):
        def one(t, state):
            return jax.vmap(lambda key, state: body(jax.random.fold_in(key, t), t, state))(keys, state)

        return jax.lax.fori_loop(0, ROUNDS, one, state)

    program = jax.jit(rounds, compiler_options=options).lower(keys, state).compile()
    return lambda: jax.block_until_ready(program(keys, state))


def _single_number() -> tuple[Work, Work]:
    def body(draw, key, t, s):
        return 0.9 * s + draw(fused_key(key))

    start = jnp.zeros((RUNS, D))
    once = functools.partial(compute_once, jax.random.normal)
    return _loop(functools.partial(body, once), start), _loop(functools.partial(body, jax.random.normal), start)


def _vector() -> tuple[Work, Work]:
    def body(draw, key, t, s):
        return 0.9 * s + draw(key)

    def together(key):
        return random.stack_draws(jax.random.normal, [key], (D,))[0]

    start = jnp.zeros((RUNS, D))
    return tuple(
        _loop(functools.partial(body, draw), start) for draw in (together, lambda key: random.normal(key, (D,)))
    )  # type: ignore[return-value]


def _generator() -> tuple[Work, Work]:
    def body(key, t, s):
        return 0.9 * s + jax.random.uniform(key, (D,))

    start = jnp.zeros((RUNS, D))
    return _loop(body, start), _loop(body, start, inlined=False)


def _permutation() -> tuple[Work, Work]:
    def body(draw, key, t, s):
        return s + draw(key, 2000)[:1].astype(jnp.float32)

    keys, start = jax.vmap(random.inlined)(jax.random.split(jax.random.key(0), 64)), jnp.zeros((64, 1))
    programs = [
        jax.jit(jax.vmap(lambda key, s, draw=draw: body(draw, key, 0, s))).lower(keys, start).compile()
        for draw in (random.permutation, jax.random.permutation)
    ]
    return tuple(lambda program=program: jax.block_until_ready(program(keys, start)) for program in programs)  # type: ignore[return-value]


def _row_of_a_table() -> tuple[Work, Work]:
    """A small loop like this one gains nothing; rounds of `NoisyKernel` are up to a fifth slower without it."""
    table = jnp.asarray(np.random.default_rng(0).normal(size=(1000, 8)), jnp.float32)

    def body(read, key, t, carry):
        order, rows, total = carry
        x = read(table[order[t]])
        values = sum(x[k] * rows[:, k] for k in range(8))
        return order, rows, total + jnp.sum(jnp.prod(values, axis=0))  # type: ignore[arg-type]

    orders = jnp.asarray(np.random.default_rng(1).integers(0, 1000, (RUNS, ROUNDS)), jnp.int32)
    start = orders, jnp.ones((RUNS, 4, 8, 48)), jnp.zeros(RUNS)
    return _loop(functools.partial(body, materialise), start), _loop(functools.partial(body, lambda x: x), start)


def _read_and_changed() -> tuple[Work, Work]:
    def body(one, key, t, carry):
        state, total = carry
        y = jnp.sum(state[::16])
        update_key = jax.random.fold_in(key, one(y))
        place = random.randint(update_key, (), 0, 2048)
        return state.at[place].add(random.uniform(update_key)), total + y

    start = jnp.zeros((RUNS, 2048)), jnp.zeros(RUNS)
    ordered, unordered = functools.partial(body, opaque_one), functools.partial(body, lambda y: 1)
    return _loop(ordered, start), _loop(unordered, start)


def _loop_bound() -> tuple[Work, Work]:
    def body(bound, key, t, s):
        n = bound(random.randint(key, (), 0, 12))
        return jax.lax.fori_loop(0, n, lambda j, s: s.at[j].add(0.1), s)

    start = jnp.zeros((RUNS, 16))
    return _loop(functools.partial(body, batch_max), start), _loop(functools.partial(body, lambda n: n), start)


def _small_program(A: jax.Array) -> jax.Array:
    return sum(jnp.exp(jnp.sin(A * k)) @ jnp.tanh(A + k) for k in range(12)) * 1e-3  # type: ignore[return-value]


def _compilation() -> tuple[Work, Work]:
    options = compile_options.fast_compile_options("cpu")
    counter = iter(range(10**6))

    def compiled(options):
        k = next(counter)  # a new program each time, so that no cache has it
        jax.jit(lambda A: _small_program(A + k), compiler_options=options).lower(jnp.eye(8)).compile()

    return lambda: compiled(options), lambda: compiled(None)


def _matmul() -> tuple[Work, Work]:
    def steps(P, G):
        return jax.lax.fori_loop(0, 50, lambda _, P: P - G @ (jnp.swapaxes(G, 1, 2) @ P), P)

    with jax.enable_x64(True):
        P = jnp.asarray(np.random.default_rng(0).normal(size=(12, 100, 100)), jnp.float64)
        G = 1e-2 * P[:, :, :32]
        programs = [
            jax.jit(steps, compiler_options=options).lower(P, G).compile()
            for options in (compile_options.matmul_options("cpu"), None)
        ]

    def run(program):
        with jax.enable_x64(True):
            jax.block_until_ready(program(P, G))

    return tuple(functools.partial(run, program) for program in programs)  # type: ignore[return-value]


def _without_mlir() -> tuple[Work, Work]:
    options = compile_options.supported_options(compile_options.WITHOUT_MLIR)
    counter = iter(range(10**6))

    def compiled(options):
        k = next(counter)
        jax.jit(lambda A: cholesky_and_inverse(A + k), compiler_options=options).lower(jnp.eye(16)).compile()

    return lambda: compiled(options), lambda: compiled(None)


def _long_vectors() -> tuple[Work, Work]:
    def body(key, t, w):
        return 0.9 * w + 0.1  # written over w

    start = jnp.zeros((RUNS, 10 * D))
    return _loop(body, start, options={}), _loop(body, start)


def _threads() -> tuple[Work, Work]:
    program = jax.jit(lambda x: jax.lax.fori_loop(0, 3000, lambda _, x: jnp.sin(x) + 0.1, x)).lower(jnp.ones(999))
    program = program.compile()
    jobs = [lambda: program(jnp.ones(999))] * 4
    return lambda: run_parallel(jobs), lambda: run_parallel(jobs, n_threads=1)


WORKAROUNDS: dict[str, Callable[[], tuple[Work, Work]]] = {
    "compute_once: a single number added to a vector": _single_number,
    "random.stack_draws: vectors of 20 normal numbers": _vector,
    "random.inlined: threefry, 20 uniform numbers": _generator,
    "random.permutation: sort of one 64-bit number": _permutation,
    "materialise: a row of a table": _row_of_a_table,
    "opaque_one: an array that is read and changed": _read_and_changed,
    "largest: loops of different lengths": _loop_bound,
    "fast_compile_options: compilation": _compilation,
    "Program: compilation without MLIR": _without_mlir,
    "Program: long vectors with MLIR": _long_vectors,
    "matmul_options: products of float64": _matmul,
    f"run_parallel: jobs on {usable_cores()} cores": _threads,
}


def measure(name: str, repeats: int) -> dict[str, Any]:
    """Measure median seconds of both programs, and the median ratio over turns."""
    start_time = time.perf_counter()
    with_it, without_it = WORKAROUNDS[name]()
    rates = side_by_side(
        {"with": lambda: with_it() is None or 1.0, "without": lambda: without_it() is None or 1.0}, repeats, {}
    )
    seconds = {side: [1 / rate for rate in values] for side, values in rates.items()}
    ratio = statistics.median(b / a for a, b in zip(seconds["with"], seconds["without"], strict=True))
    medians = {side: statistics.median(values) for side, values in seconds.items()}
    return {"workaround": name, **medians, "ratio": ratio, "wall": time.perf_counter() - start_time}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print(f"{'workaround':50} {'with':>10} {'without':>10}   ratio")
    for name in WORKAROUNDS:
        row = measure(name, options.repeats)
        rows.append(row)
        print(f"{name:50} {row['with']:8.4f} s {row['without']:8.4f} s {row['ratio']:7.2f}", flush=True)
    if options.json is not None:
        machine = f"{jax.default_backend()} x {usable_cores()}, {platform.machine()}, jax {jax.__version__}"
        options.json.write_text(json.dumps({"machine": machine, "workarounds": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
