"""Types of parameters: ranges that are declared once, and conversions of arguments to numbers."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge, Gt, Interval, Lt, MinLen
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError

if TYPE_CHECKING:
    PyTree: TypeAlias = Any  # type checkers do not know the type of jaxtyping's name, an error in their strict modes
else:
    from jaxtyping import PyTree as PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Computation in float64 if the user asks for it, without changing JAX's configuration.


ENABLE_X64_HINT = "put the call in `with jax.enable_x64(True):`, or set JAX_ENABLE_X64=1 before Python starts"


def require_float64(name: str, dtype: np.dtype, allow_float32: bool) -> None:
    """Raise ValueError if the dtype of instances is not float64 and `allow_float32` is False."""
    if dtype != np.float64 and not allow_float32:
        hint = f"{ENABLE_X64_HINT}, and build the environment there, or accept the drift with allow_float32=True"
        raise ValueError(f"instances: must be float64 for {name} (got {dtype}); {hint}")


# ---------------------------------------------------------------------------------------------------------------------
# Types of parameters: annotations that state which values an argument takes.
#
# The range of an argument is declared only once, in its annotation. Five parts of the library read the annotation with
# `parameters.signatures`: `struct` and `validate_arguments`, which check values, study files with their schema, the
# command line, and the documentation. Ranges are the constraints of `annotated-types`. The classes of this module
# declare other facts about an argument, which `annotated-types` cannot express.
#
# Example:
#     >>> from typing import Annotated
#     >>> import jaxonline as jo
#     >>> from annotated_types import Interval
#     >>> from jaxonline.parameters.types import Count, Number
#     >>> @jo.struct
#     ... class Decay:
#     ...     rate: Annotated[Number, Interval(gt=0.0, lt=1.0)]
#     ...     every: Count = jo.static(default=1)
#     >>> Decay(rate=2.0)
#     Traceback (most recent call last):
#         ...
#     jaxonline.parameters.errors.ArgumentError: rate: must be above 0 and below 1 (got 2)


class Declaration:
    """Base of facts about an argument: `declares` has fields of a `parameters.signatures.Parameter`."""

    declares: Any


class Component(Declaration):
    """The argument is an object of one of the named kinds of components: "learner", "loss", "noise", ...

    Args:
        kinds: names of kinds, or class names in backquotes.
        number: whether the argument may also be a number.
    """

    def __init__(self, *kinds: str, number: bool = False):
        self.declares = {"takes": {"component", "number"} if number else {"component"}, "kinds": kinds}


class Takes(Declaration):
    """The argument is a function with the given arguments, as in `Annotated[Callable, Takes("(w, radius)")]`."""

    def __init__(self, arguments: str):
        self.declares = {"takes": {"function"}, "arguments": arguments, "constrained": True}


class Horizon(Declaration):
    """The argument is a number of rounds; if a study file omits it, the number of rounds of the study is used."""

    declares: ClassVar[Any] = {"takes": {"horizon"}}


class OrInfinity(Declaration):
    """The argument may also be infinity."""

    declares: ClassVar[Any] = {"or_infinity": True}


class PythonOnly(Declaration):
    """A study file cannot set the argument."""

    declares: ClassVar[Any] = {"python_only": True}


class Shape(Declaration):
    """The argument is a finite, nonempty array with the named dimensions, as in `Shape("K", "d")`."""

    def __init__(self, *dimensions: str):
        self.declares = {"takes": {"array"}, "dimensions": len(dimensions), "constrained": True}


class Convert(Declaration):
    """`struct` replaces the value by `function(value, name)`, which checks it."""

    def __init__(self, function: Callable[[Any, str], Any]):
        self.declares = {"convert": function}


Number = Float[ArrayLike, ""]  # one finite number; a leaf, which can be swept
Numbers = Float[ArrayLike, "..."]  # a number, or an array of numbers of any shape
Positive = Annotated[Number, Gt(0)]
NonNegative = Annotated[Number, Ge(0)]
Probability = Annotated[Number, Interval(ge=0, le=1)]
PositiveProbability = Annotated[Number, Interval(gt=0, le=1)]
Scale = Annotated[Number, Interval(ge=1e-12, le=1e12)]  # its square and the inverse of its square do not overflow
PositiveFloat = Annotated[float, Gt(0)]  # of a function that computes with NumPy
NonNegativeFloat = Annotated[float, Ge(0)]
PositiveOrInfinity = Annotated[float, Gt(0), OrInfinity()]
OpenUnitFloat = Annotated[float, Interval(gt=0, lt=1)]
FiniteFloat = Annotated[float, Ge(-math.inf)]
Count = Annotated[int, Ge(1)]
NonNegativeInt = Annotated[int, Ge(0)]
CountFrom2 = Annotated[int, Ge(2)]
Rounds = Annotated[int, Ge(1), Horizon()]
Horizons = Annotated[Numbers, Ge(1), Horizon()]  # one number of rounds, or several
Seed = Annotated[int, Ge(0), Lt(2**32)]
RandomKey = int | Key[Array, ""]
Text = Annotated[str, MinLen(1)]
Vector = Annotated[Any, Shape("d")]  # a list or an array of finite numbers


# ---------------------------------------------------------------------------------------------------------------------
# Conversion of arguments to numbers: to floating-point arrays inside of jit, and to Python floats on the host.


def as_floating(a: ArrayLike) -> Array:
    """Return `a` as a floating-point array; integers get the default floating dtype."""
    a = jnp.asarray(a)
    return a if jnp.issubdtype(a.dtype, jnp.floating) else a.astype(jnp.result_type(float))


def host_float(name: str, value: ArrayLike) -> float:
    """Return an argument as a float, for computations on the host (series, quadratures)."""
    if check.concrete_array(value) is None:
        raise ArgumentTypeError(name, f"must be a known number here (computed outside jit) (got {check.quote(value)})")
    return float(check.number(name, value))


def jax_array(name: str, value: Any, *, ndim: int = 1, ge: float | None = None, le: float | None = None) -> Array:
    """Return a finite array as a JAX array; JAX arrays keep their dtype, other values get the default float dtype."""
    entries = check.array(name, value, ndim=ndim, ge=ge, le=le)
    dtype = value.dtype if isinstance(value, jax.Array) else jnp.result_type(float)
    check.fits_dtype(name, entries, dtype)
    return jnp.asarray(entries, dtype)


JaxVector = Annotated[Any, Shape("d"), Convert(lambda value, name: jax_array(name, value))]  # becomes an array of jax


def exp(a: float) -> float:
    """Return e^a as a Python float; inf if e^a overflows."""
    return math.exp(a) if a < 709.0 else math.inf
