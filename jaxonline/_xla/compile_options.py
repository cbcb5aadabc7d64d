"""Compiler options for short compile times and fast loops on a CPU.

`python -m benchmarks.workarounds` measures the gain of each option in the jobs of the benchmark suite. Options that the
user sets in XLA_FLAGS are not set here. Source locations of this package, like those of jax, are excluded from the
metadata of operations, which makes compilation faster and leaves the user's locations.
"""

import functools
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax.extend.source_info_util import register_exclusion
from jax.sharding import Mesh

from jaxonline._xla.barriers import exact_products
from jaxonline._xla.threads import usable_cores

register_exclusion(f"{Path(__file__).parents[1]}{os.sep}")

# LLVM compiles a program in one part, and does not optimise: this pays for programs that are called a few times.
_FAST_COMPILE = {"xla_cpu_parallel_codegen_split_count": 1}
# XLA splits each longer loop over the cores and waits for them. If each core plays a block of its own, this is slower;
# on machines with at most _FEW_CORES it is also slower for a single program.
_ONE_CORE_PER_LOOP = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
_FEW_CORES = 2
# Loops use the widest registers of the machine.
_WIDE_VECTORS = {"xla_cpu_prefer_vector_width": 512}
# Matrix products are fused with the subtraction that follows.
_FUSED_PRODUCTS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}


class Program:
    """A jitted function of arrays and a mesh, compiled for the platform of the mesh.

    Loops stay on one core unless there are more than two cores per program that runs at the same time.

    Args:
        function: function with the keyword argument `mesh`.
        **options: options of `jax.jit`.
    """

    def __init__(self, function: Callable[..., Any], **options: Any):
        self._function, self._options = exact_products()(function), options
        self._compiled: dict[tuple[bool, bool, bool], Any] = {}

    def _for(self, mesh: Mesh) -> Any:
        on_cpu = mesh.devices.flat[0].platform == "cpu"
        unshared = on_cpu and usable_cores() <= _FEW_CORES * mesh.devices.size
        kind = on_cpu, unshared, is_debugging()
        if kind not in self._compiled:
            options = supported_options(_WIDE_VECTORS | (_ONE_CORE_PER_LOOP if unshared else {})) if on_cpu else {}
            more = dict(self._options)
            if is_debugging():  # jax repeats the call with the same arrays to locate a NaN
                more.pop("donate_argnames", None)
            self._compiled[kind] = jax.jit(self._function, compiler_options=options, **more)
        return self._compiled[kind]

    def __call__(self, *args: Any, mesh: Mesh, **static: Any) -> Any:
        return self._for(mesh)(*args, mesh=mesh, **static)

    def trace(self, *args: Any, mesh: Mesh, **static: Any) -> Any:
        """Trace the function for these arguments; calls reuse the programs that are compiled from the trace."""
        return self._for(mesh).trace(*args, mesh=mesh, **static)


def has_host_callbacks(jaxpr: Any) -> bool:
    """Whether a traced program calls Python at run time, like `jax.pure_callback` and `jax.debug.print`."""
    for operation in jaxpr.eqns:
        if "callback" in operation.primitive.name or operation.primitive.name == "debug_print":
            return True
        inner = jax.tree.leaves(list(operation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns"))
        if any(has_host_callbacks(leaf) for leaf in inner if hasattr(leaf, "eqns")):
            return True
    return False


def is_debugging() -> bool:
    """Whether a debugging option of jax is set, which requires calls from one thread."""
    return any(getattr(jax.config, name) for name in ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit"))


@functools.cache
def fast_compile_options(platform: str, optimised: bool = False) -> dict[str, Any]:
    """Compiler options for the shortest compile time on a CPU; empty for other platforms.

    Args:
        platform: platform of the devices, such as "cpu".
        optimised: whether LLVM optimises; the longer compilation is worth it for programs with more than a few dozen
            calls.
    """
    if platform != "cpu":
        return {}
    return {"xla_backend_optimization_level": int(optimised)} | supported_options(_FAST_COMPILE)


@functools.cache
def matmul_options(platform: str) -> dict[str, Any]:
    """Compiler options for long loops of products of small float64 matrices, one loop per core; empty without a CPU."""
    return supported_options(_FUSED_PRODUCTS | _WIDE_VECTORS | _ONE_CORE_PER_LOOP) if platform == "cpu" else {}


def supported_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options that XLA_FLAGS does not set; warns about each option that the installed compiler does not know."""
    options = {name: value for name, value in options.items() if name not in os.environ.get("XLA_FLAGS", "")}
    return {name: value for name, value in options.items() if _is_supported(name, value)}


@functools.cache
def _is_supported(name: str, value: Any) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile(compiler_options={name: value})
    except jax.errors.JaxRuntimeError:
        message = f"jax {jax.__version__} has no compiler option {name!r}; programs may be slower than measured"
        warnings.warn(message, UserWarning, stacklevel=2)
        return False
    return True


def jit_with_options(options: Callable[[str], dict[str, Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator like `jax.jit`, with compiler `options` of the default platform at the time of the call."""

    def decorate(function):
        exact = exact_products()(function)
        compile_for = functools.cache(lambda platform: jax.jit(exact, compiler_options=options(platform)))
        return functools.wraps(function)(lambda *args: compile_for(jax.default_backend())(*args))

    return decorate


def run_compiled(function: Callable[..., Any], *args: Any) -> Any:
    """Compute `function(*args)` as one program with `fast_compile_options`, instead of a program per operation.

    Args:
        function: a pytree or a function; pass the same function again to reuse the program.
        *args: pytrees of arrays.
    """
    is_plain = jax.tree_util.all_leaves([function])
    return _call(jax.tree_util.Partial(function) if is_plain else function, *args)


@jit_with_options(fast_compile_options)
def _call(function, *args):
    return function(*args)
