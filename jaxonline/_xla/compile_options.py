"""How programs are compiled, where that takes as long as what they do.

XLA builds the loops of a CPU with MLIR and lets LLVM optimise them in up to 32 parts. The loops that it builds without
MLIR are as fast, and are there in two thirds of the time. In a program that is called a few times, optimisation takes
longer than it saves, too: without it a program is compiled in a sixth of the time.

It shares out each longer loop to the cores, and waits for them. Where each core has a block of its own to play, these
have other work to do, and a round is up to a third slower for it.

What users set in XLA_FLAGS is theirs, and is not set here.

Each operation carries the lines of code that it comes from through all of compilation. Lines of this package are left
out, as those of jax are: what remains are the user's, and it is less to carry.
"""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax.extend.source_info_util import register_exclusion
from jax.sharding import Mesh

from jaxonline._xla.matmul_precision import exact_products
from jaxonline._xla.threads import usable_cores

register_exclusion(f"{Path(__file__).parents[1]}{os.sep}")

# What makes compilation faster, as far as the installed compiler knows of it.
WITHOUT_MLIR = {"xla_cpu_use_fusion_emitters": False}
_FAST_COMPILE = WITHOUT_MLIR | {"xla_cpu_parallel_codegen_split_count": 1}
# What keeps every loop on one core. With two of them it is faster for a program that has both, too.
_ONE_CORE_PER_LOOP = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
_FEW_CORES = 2
# Loops in the widest registers, if the machine has them: not faster for everybody.
_WIDE_VECTORS = {"xla_cpu_prefer_vector_width": 512}
# Matrix products that take in what they are subtracted from.
_FUSED_PRODUCTS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}


class Program:
    """A function of arrays and a mesh, compiled for the platform of the mesh: on a CPU, without MLIR.

    Loops stay on one core, unless there are more than two for each program that is called at a time.

    Args:
        function: with the keyword argument `mesh`.
        with_mlir: of the first argument, whether it is compiled with MLIR all the same, and for the widest registers,
            because loops as it has them are faster by more than it takes.
        **options: of `jax.jit`.
    """

    def __init__(self, function: Callable[..., Any], with_mlir: Callable[[Any], bool] | None = None, **options: Any):
        self._function, self._with_mlir, self._options = exact_products()(function), with_mlir, options
        self._compiled: dict[tuple[bool, bool, bool, bool], Any] = {}

    def _of(self, first: Any, mesh: Mesh) -> Any:
        on_cpu = mesh.devices.flat[0].platform == "cpu"
        quick = on_cpu and not (self._with_mlir is not None and self._with_mlir(first))
        unshared = on_cpu and usable_cores() <= _FEW_CORES * mesh.devices.size
        kind = on_cpu, quick, unshared, is_debugging()
        if kind not in self._compiled:
            options = (WITHOUT_MLIR if quick else _WIDE_VECTORS) | (_ONE_CORE_PER_LOOP if unshared else {})
            options = supported_options(options) if on_cpu else {}
            more = dict(self._options)
            if is_debugging():  # jax calls with the same arrays again to see where a NaN comes from
                more.pop("donate_argnames", None)
            self._compiled[kind] = jax.jit(self._function, compiler_options=options, **more)
        return self._compiled[kind]

    def __call__(self, *args: Any, mesh: Mesh, **static: Any) -> Any:
        return self._of(args[0], mesh)(*args, mesh=mesh, **static)

    def trace(self, *args: Any, mesh: Mesh, **static: Any) -> Any:
        """The program of such arguments, traced; calls take what is lowered and compiled of it."""
        return self._of(args[0], mesh).trace(*args, mesh=mesh, **static)


def has_host_callbacks(jaxpr: Any) -> bool:
    """Whether a traced program calls Python while it runs, as `jax.pure_callback` and `jax.debug.print` do."""
    for operation in jaxpr.eqns:
        if "callback" in operation.primitive.name or operation.primitive.name == "debug_print":
            return True
        inner = jax.tree.leaves(list(operation.params.values()), is_leaf=lambda each: hasattr(each, "eqns"))
        if any(has_host_callbacks(each) for each in inner if hasattr(each, "eqns")):
            return True
    return False


def is_debugging() -> bool:
    """Whether jax is set to look into programs, which asks for plain calls from one thread."""
    return any(getattr(jax.config, name) for name in ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit"))


@functools.cache
def fast_compile_options(platform: str, optimised: bool = False) -> dict[str, Any]:
    """Options of `jax.jit` for a program that is compiled as fast as can be; on a CPU, as elsewhere there is no need.

    Args:
        platform: of the devices, as "cpu".
        optimised: whether LLVM optimises it all the same, because it is called more than a few dozen times.
    """
    if platform != "cpu":
        return {}
    return {"xla_backend_optimization_level": int(optimised)} | supported_options(_FAST_COMPILE)


@functools.cache
def matmul_options(platform: str) -> dict[str, Any]:
    """Options of `jax.jit` for a long loop of products of small float64 matrices, one of as many as there are cores.

    Args:
        platform: of the device, as "cpu"; others have no such options.
    """
    return supported_options(_FUSED_PRODUCTS | _WIDE_VECTORS | _ONE_CORE_PER_LOOP) if platform == "cpu" else {}


def supported_options(options: dict[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in options.items() if name not in os.environ.get("XLA_FLAGS", "")}
    every = (
        _FAST_COMPILE | _ONE_CORE_PER_LOOP | _WIDE_VECTORS | _FUSED_PRODUCTS | options
    )  # asked for once, whatever programs there will be
    if _are_supported(tuple(sorted(every.items()))):
        return options
    return {name: value for name, value in options.items() if _are_supported(((name, value),))}


@functools.cache
def _are_supported(options: tuple[tuple[str, Any], ...]) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile(compiler_options=dict(options))
    except jax.errors.JaxRuntimeError:
        return False
    return True


def jit_with_options(options: Callable[[str], dict[str, Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator like `jax.jit`, for a function of arrays.

    Args:
        options: of the compiler, for the platform that is the default one at a call, as `fast_compile_options`.
    """

    def decorate(function):
        exact = exact_products()(function)
        of = functools.cache(lambda platform: jax.jit(exact, compiler_options=options(platform)))
        return functools.wraps(function)(lambda *args: of(jax.default_backend())(*args))

    return decorate


def run_compiled(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` as one program, compiled as fast as can be; each operation by itself would be a program.

    Args:
        function: a pytree, or a function, of which there should be one for all calls that are alike.
        *args: arrays, or pytrees of them.
    """
    is_plain = jax.tree_util.all_leaves([function])
    return _call(jax.tree_util.Partial(function) if is_plain else function, *args)


@jit_with_options(fast_compile_options)
def _call(function, *args):
    return function(*args)
