"""Invalid calls of every public class and function, generated from the declared types and ranges of the parameters.

A valid call is recorded while the example of the docstring runs. An invalid call replaces one argument by a value that
the declaration excludes. Left out are protocols, records and oracles, which the library makes, and `jo.random`, which
raises the errors of `jax.random`.
"""

import doctest
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
from bad_calls import MASKED, PACKAGE, innermost

import jaxonline as jo
from jaxonline.parameters.signatures import Parameter, exported_names, parameters_of


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("this object cannot be printed")


CYCLE: list[Any] = [1.0]
CYCLE.append(CYCLE)
UNPRINTABLE = Unprintable()
ANYTHING = "anything"
EMPTY = np.zeros(0)
ONES = np.ones(3)
OTHERS = {  # a component of each kind, and a struct of no kind
    "learner": jo.learners.Perceptron(), "combiner": jo.learners.EWA(0.5), "comparator": jo.BestArm(),
    "feedback": jo.FullInformation(), "noise": jo.noise.gaussian(0.1), "law": jo.estimators.Geometric(2.0),
    "measure": jo.Mistakes(), "interval": jo.intervals.Student(), "delay": jo.delays.UniformDelay(2),
    "environment": jo.environments.BernoulliArms([0.5]), "stranger": jo.learners.Storage(1, 2, 2, 2, 2),
}  # fmt: skip
FUNCTIONS = (  # components that are functions, too
    jo.losses.Hinge(), jo.estimators.TwoCopies(), jo.kernels.Gaussian(1.0), jo.kernels.Linear(), jo.kernels.Cauchy(1.0),
)  # fmt: skip
ALLOWED = {  # values that are valid although the declaration does not mention them
    ("environments.DataStream", "X"): (None,),  # a game without instances
    ("Delayed", "delay"): (ONES,),
    ("tune", "learner"): (OTHERS["learner"],),
    ("struct", "cls"): (type,),
    ("simulate", "measures"): (EMPTY,),
    ("tune", "measures"): (EMPTY,),
    ("verify.unbiased", "range"): (list,),  # not used by the method of the example
    ("bandit_game", "means"): (np.ndarray, list),
}
VALID = {  # arguments of classmethods whose docstring has no example
    "n_arms": 3, "n_experts": 3, "n_rounds": 20, "n_switches": 1, "delta": 0.1, "gap": 0.5, "c": 6.0,
}  # fmt: skip
MADE_BY_THE_LIBRARY = ("Verification", "Bound")  # records, besides named tuples and oracles

# values, and the declared types that allow them
VALUES: tuple[tuple[Any, set[str]], ...] = (
    (None, {"nothing"}),
    ("no such name", {"text"}),
    (b"bytes", set()),
    (1j, set()),
    (True, {"flag"}),
    (UNPRINTABLE, set()),
    ({}, {"table", "components"}),
    ([], {"components", "texts"}),
    ([0.5], {"array"}),
    (CYCLE, set()),
    ([CYCLE, CYCLE], set()),
    (lambda value: value, {"function"}),
    (float, set()),
    (np.array(["a"]), set()),
    (MASKED, set()),
    (np.array([1j, 0.0]), set()),
    ([1.0, None], set()),
    ([[1.0], [1.0, 2.0]], set()),
    (np.nan, set()),
    (np.full(3, np.nan), set()),
    (EMPTY, set()),
    (np.array([True, False]), set()),
    (np.inf, {"infinity"}),
    (-np.inf, set()),
    (1.5, {"number", "array"}),
    (ONES, {"array"}),
    (10**400, {"integer", "seed"}),
)


class Done(BaseException):
    """Ends an example whose call is recorded."""


class Recorded(NamedTuple):
    """The arguments of a valid call by name, and whether float64 was enabled."""

    arguments: dict[str, Any]
    x64: bool


class Call(NamedTuple):
    """A public class, classmethod or function, and a valid call."""

    name: str
    function: Callable[..., Any]
    recorded: Recorded

    def __call__(self, **changes: Any) -> Any:
        arguments, positional, named = self.recorded.arguments | changes, [], {}
        for parameter in inspect.signature(self.function).parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += arguments.get(parameter.name, ())
            elif parameter.kind is parameter.VAR_KEYWORD:
                named |= arguments.get(parameter.name, {})
            elif parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = arguments[parameter.name]
            else:
                positional.append(arguments[parameter.name])
        with jax.enable_x64(self.recorded.x64):
            result = self.function(*positional, **named)
            if hasattr(result, "fit"):  # scikit-learn's estimators check their parameters here
                result.fit(np.eye(3), np.array([0.0, 1.0, 1.0]))
        return result


def public_callables() -> dict[str, Callable[..., Any]]:
    """Return the public classes, classmethods and functions whose docstring has an example, by name."""
    packages = [name for name in jo.__all__ if hasattr(getattr(jo, name), "__path__") and name != "random"]
    modules = ["jaxonline", *(f"jaxonline.{name}" for name in packages)]
    found: dict[int, tuple[str, Any]] = {}
    for path in modules:
        module = importlib.import_module(path)
        for name in exported_names(module):
            value = getattr(module, name)
            names = _functions_of(value) if inspect.ismodule(value) else {"": value}
            for inner, function in names.items():
                if _is_documented(function):
                    found.setdefault(id(function), (f"{path}.{name}{inner}".removeprefix("jaxonline."), function))
    callables = dict(found.values())
    for name, value in list(callables.items()):
        if isinstance(value, type):
            for key, method in vars(value).items():
                if isinstance(method, classmethod) and not key.startswith("_"):
                    callables[f"{name}.{key}"] = getattr(value, key)
    return callables


def _functions_of(module: ModuleType) -> dict[str, Any]:
    own = {key: value for key, value in vars(module).items() if inspect.getmodule(value) is module}
    return {f".{key}": value for key, value in own.items() if not key.startswith("_")}


def _is_documented(value: Any) -> bool:
    """Return whether a value is a class or function of the package with an example, and neither protocol nor record."""
    if not callable(value) or not str(getattr(value, "__module__", "")).startswith("jaxonline"):
        return False
    is_record = isinstance(value, type) and (
        issubclass(value, tuple | Exception)
        or value.__name__.endswith("Oracle")
        or value.__name__ in MADE_BY_THE_LIBRARY
    )
    return ">>>" in (value.__doc__ or "") and not getattr(value, "_is_protocol", False) and not is_record


def recorded_calls(callables: dict[str, Callable[..., Any]]) -> Iterator[Call]:
    """Yield a valid call of each function, recorded while the examples of the docstrings run."""
    codes = {id(_code(function)): name for name, function in callables.items()}  # equal dataclasses have equal code
    recorded: dict[str, Recorded] = {}
    wanted = ""

    def record(frame: FrameType, event: str, _: Any) -> None:
        name = codes.get(id(frame.f_code)) if event == "call" else None
        if name is None or name in recorded:
            return
        function = callables[name]
        if isinstance(function, type) and type(frame.f_locals.get("self")) is not function:
            return
        names = inspect.signature(function).parameters
        arguments = {key: frame.f_locals[key] for key in names if key in frame.f_locals}
        recorded[name] = Recorded(arguments, jax.config.jax_enable_x64)  # type: ignore[attr-defined]
        if name == wanted:
            raise Done

    for wanted, function in callables.items():
        if wanted not in recorded:
            _run_example(wanted, function, record)
        names = inspect.signature(function).parameters
        if wanted not in recorded and inspect.ismethod(function) and names.keys() <= VALID.keys():
            recorded[wanted] = Recorded({name: VALID[name] for name in names}, False)
        if wanted in recorded:
            yield Call(wanted, function, recorded[wanted])


def _code(function: Callable[..., Any]) -> Any:
    inner = inspect.unwrap(function.__init__ if isinstance(function, type) else function)  # type: ignore[misc]
    return getattr(getattr(inner, "__func__", inner), "__code__", None)


def _run_example(name: str, function: Callable[..., Any], record: Callable[..., None]) -> None:
    owner = getattr(function, "__self__", None) if inspect.ismethod(function) else None
    space: dict[str, Any] = dict(vars(sys.modules[function.__module__]))
    for text in (function.__doc__, owner.__doc__ if owner is not None else None):
        for example in doctest.DocTestParser().get_examples(text or ""):
            if example.exc_msg is None:
                sys.setprofile(record)
                try:
                    exec(compile(example.source, name, "single", dont_inherit=True), space)
                except (Done, ModuleNotFoundError):  # the package of an extra is not installed
                    return
                finally:
                    sys.setprofile(None)


def invalid_values(call: Call, parameter: Parameter) -> Iterator[Any]:
    allowed = ALLOWED.get((call.name, parameter.name), ())
    for value in (*_excluded_values(parameter), *_outside(parameter, call.recorded.arguments[parameter.name])):
        if not any(value is one or (isinstance(one, type) and type(value) is one) for one in allowed):
            yield value
    if ANYTHING not in parameter.takes:
        yield from (value for value in _other_components(parameter) if not any(value is one for one in allowed))
        if hasattr(valid := call.recorded.arguments[parameter.name], "__dataclass_fields__"):
            yield type(valid)


def _other_components(parameter: Parameter) -> Iterator[Any]:
    """Yield components of other kinds; where a function is also valid, only those that are no functions."""
    classes = tuple(kind for kind in parameter.kinds if isinstance(kind, type))
    takes_functions = "function" in parameter.takes or {"loss", "schedule"} & {*parameter.kinds}
    functions = [] if takes_functions else [("function", value) for value in FUNCTIONS]
    for kind, value in (*OTHERS.items(), *functions):
        if kind not in parameter.kinds and not isinstance(value, classes):
            yield [value] if "components" in parameter.takes else value


def _excluded_values(parameter: Parameter) -> Iterator[Any]:
    takes = {"integer" if kind == "horizon" else kind for kind in parameter.takes}
    if parameter.or_infinity:
        takes.add("infinity")
    if "schedule" in parameter.kinds:
        takes.add("function")
    if ANYTHING in takes:
        if parameter.convert is not None:
            yield from (UNPRINTABLE, float)
        return
    for value, allowed in VALUES:
        if not takes & allowed:
            yield value


def _outside(parameter: Parameter, valid: Any) -> Iterator[Any]:
    """Yield numbers outside the limits, or arrays like a valid one with entries outside, another shape or dtype."""
    if "array" in parameter.takes and isinstance(valid, list | tuple | np.ndarray | jax.Array) and np.size(valid) > 1:
        if np.asarray(valid).dtype.kind not in "biuf":  # names of classes
            return
        array = np.array(valid, float)
        yield from (np.append(array.ravel()[1:], np.nan).reshape(array.shape), array[:0], array + 1j)
        if "number" not in parameter.takes:
            yield array[None]
    if parameter.takes & {"number", "integer", "array"}:
        limits, is_integer = parameter.limits, "integer" in parameter.takes
        step = 1 if is_integer else 1e-3
        below = None if limits.ge is None else limits.ge - step
        above = None if limits.le is None else limits.le + step
        for number in (limits.gt, limits.lt, below, above):
            if number is not None:
                number = int(number) if is_integer else float(number)
                yield np.full(np.shape(valid), number) if "array" in parameter.takes else number


def fault_of(call: Call, parameter: str, value: Any) -> str:
    """Return "" if an invalid call raises an error that names the argument, otherwise the kind of the fault."""
    try:
        with warnings.catch_warnings(action="ignore"):
            call(**{parameter: value})
    except (ValueError, TypeError, OSError) as error:
        if not Path(innermost(error)).is_relative_to(PACKAGE):
            return "fails deep inside"
        return "" if re.search(rf"\b{parameter}\b", str(error)) else "does not name the argument"
    except Exception:
        return "fails deep inside"
    return "accepted"


def parameters(call: Call) -> list[Parameter]:
    return [item for item in parameters_of(call.function) if item.name in call.recorded.arguments]
