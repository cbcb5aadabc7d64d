"""How programs are compiled that run for a shorter time than they are compiled.

XLA builds the loops of a CPU with MLIR and lets LLVM optimise them in up to 32 parts. All of that takes longer than it
saves in a program that is called a few times; without it a program is compiled in a sixth of the time.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax

# What else makes compilation faster, as far as the installed compiler knows of it.
_PLAIN = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


@functools.cache
def plainly(platform: str, optimised: bool = False) -> dict[str, Any]:
    """Options of `jax.jit` for a program that is compiled as fast as can be; on a CPU, as elsewhere there is no need.

    Args:
        platform: of the devices, as "cpu".
        optimised: whether LLVM optimises it all the same, because it is called more than a few dozen times.
    """
    if platform != "cpu":
        return {}
    known = {name: value for name, value in _PLAIN.items() if _is_known({name: value})}
    return {"xla_backend_optimization_level": int(optimised)} | known


def _is_known(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile(compiler_options=options)
    except jax.errors.JaxRuntimeError:
        return False
    return True


def in_one_program(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` as one program, compiled as fast as can be; each operation by itself would be a program.

    Args:
        function: a pytree, or a function, of which there should be one for all calls that are alike.
        *args: arrays, or pytrees of them.
    """
    is_plain = jax.tree_util.all_leaves([function])
    return _calling(jax.default_backend())(jax.tree_util.Partial(function) if is_plain else function, *args)


@functools.cache
def _calling(platform: str) -> Callable[..., Any]:
    return jax.jit(lambda function, *args: function(*args), compiler_options=plainly(platform))
