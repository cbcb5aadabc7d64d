"""Catalogue of all components that a study file can name, collected from the packages.

The kind of a class is its base class, or the protocol that it satisfies. A class that
satisfies no protocol can be named where a constructor requires this class (storage of a kernel learner,
distribution of a series).
"""

import dataclasses
import functools
import importlib
import inspect
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from jaxonline.bounds.theorem import Bound
from jaxonline.environments import DataStream
from jaxonline.feedback.delays import Delay
from jaxonline.feedback.noise import NoiseAdversary, NoiseLaw
from jaxonline.game.roles import Comparator, Environment, Feedback, HindsightComparator, Learner, Measure
from jaxonline.kernels import Kernel
from jaxonline.learners import Combiner
from jaxonline.losses import Loss
from jaxonline.parameters.errors import did_you_mean
from jaxonline.parameters.signatures import Parameter, exported_names, members_of, parameters_of
from jaxonline.study.files.data import data_stream
from jaxonline.study.files.docstrings import documented_parameters, first_line

PACKAGES = (
    "learners", "environments", "feedback", "feedback.noise", "losses",
    "estimators", "kernels", "comparators", "bounds",
    "simulation.measures", "feedback.delays",
    "environments.adversaries",
)  # fmt: skip
PROTOCOLS: dict[str, type] = {  # a class has the first kind whose protocol it satisfies
    "learner": Learner, "combiner": Combiner, "environment": Environment, "adversary": NoiseAdversary,
    "feedback": Feedback, "delay": Delay, "noise": NoiseLaw, "comparator": Comparator,
    "hindsight comparator": HindsightComparator,
    "measure": Measure, "loss": Loss,
}  # fmt: skip
HEADINGS = {
    "learner": "Learners", "combiner": "Combiners: weights of experts", "environment": "Environments",
    "feedback": "Feedback: what a learner observes", "noise": "Noise distributions", "delay": "Delays of answers",
    "adversary": "Adversaries",
    "loss": "Losses", "estimator": "Estimators of gradients", "kernel": "Kernels",
    "comparator": "Comparators", "bound": "Bounds", "measure": "Measures", "step size": "Step sizes",
    "schedule": "Schedules (optax)", "optimizer": "Optimizers (optax)", "projection": "Projections (optax)",
    "part": "Parts of other components",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A component that a study file can name."""

    name: str  # of the class or function; CLASS.METHOD for another constructor
    kind: str  # a key of HEADINGS
    make: Callable[..., Any]
    product: type | None  # class of the objects; None for bounds that are numbers and functions of optax
    line: str  # first line of the docstring
    parameters: tuple[Parameter, ...]
    package: str  # where it is defined
    open_ended: bool = False  # whether it takes further options


@functools.cache
def catalogue() -> dict[str, Entry]:
    """Return all entries of the catalogue by name, sorted by kind."""
    data = _entry("data", "environment", data_stream, DataStream, "study.files.data")
    entries = [*_package_entries(), *_optax_entries(), data]
    order = list(HEADINGS)
    return {entry.name: entry for entry in sorted(entries, key=lambda e: (order.index(e.kind), e.name.lower()))}


def find_entry(name: str) -> Entry:
    """Return the catalogue entry of a name, ignoring case; raises ValueError for an unknown name."""
    entries = catalogue()
    matches = [known for known in entries if known.lower() == name.lower()]
    if name not in entries and len(matches) != 1:
        similar = [known for known in entries if name.lower() in known.lower()]
        similar = similar or [known for known, entry in entries.items() if name.lower() in entry.line.lower()]
        suggestion = did_you_mean(name, similar or entries)
        if len(similar) > 1 or (similar and not suggestion):
            suggestion = f"; did you mean one of {', '.join(similar[:12])}?"
        raise ValueError(f"name: no learner, game or other object has this name (got {name!r}){suggestion}")
    return entries[name if name in entries else matches[0]]


@functools.cache
def entries_of(kinds: tuple[Any, ...]) -> dict[str, Entry]:
    """Return the catalogue entries that may be used where a component of these kinds is required."""

    def fits(entry: Entry, kind: Any) -> bool:
        made = entry.product
        if isinstance(kind, type):
            return made is not None and _satisfies(made, kind)
        return entry.kind == kind or (made is not None and kind == f"`{made.__name__}`")

    return {name: entry for name, entry in catalogue().items() if any(fits(entry, kind) for kind in kinds)}


def _satisfies(product: type, protocol: type) -> bool:
    if not getattr(protocol, "_is_protocol", False):
        return issubclass(product, protocol)
    fields = getattr(product, "__dataclass_fields__", {})
    return all(hasattr(product, name) or name in fields for name in members_of(protocol))


def kind_of(value: type) -> str:
    """Return the kind of a class, such as "learner"."""
    call: Any = getattr(value, "__call__", None)  # noqa: B004
    arguments = list(inspect.signature(call).parameters)[1:] if inspect.isfunction(call) else []
    if issubclass(value, Kernel):
        return "kernel"
    if arguments[:3] == ["key", "w", "oracle"]:
        return "estimator"
    if arguments[:2] == ["t", "dtype"]:
        return "step size"
    kinds = (kind for kind, protocol in PROTOCOLS.items() if _satisfies(value, protocol))
    return next(kinds, "part").removeprefix("hindsight ")


def _package_entries() -> Iterator[Entry]:
    seen: set[str] = set()
    for package in PACKAGES:
        for name, value in _exports(importlib.import_module(f"jaxonline.{package}")):
            make_entries: Any = (
                _class_entries if inspect.isclass(value) else _function_entries if inspect.isfunction(value) else None
            )
            if make_entries is not None and name not in seen:
                entries = list(make_entries(name, value, package))
                seen |= {entry.name for entry in entries}
                yield from entries


def _exports(module: types.ModuleType) -> list[tuple[str, Any]]:
    return [(name, getattr(module, name)) for name in exported_names(module)]


def _entry(name: str, kind: str, make: Any, product: type | None, package: str, *owners: type) -> Entry:
    variable = any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(make).parameters.values())
    parameters = documented_parameters(make, *owners)
    return Entry(name, kind, make, product, first_line(make), parameters, package, variable)


def _class_entries(name: str, value: type, package: str) -> Iterator[Entry]:
    """Yield the catalogue entries of a class that users construct: the class, and its other constructors."""
    if not is_component(value):
        return
    kind = kind_of(value)
    yield _entry(name, kind, value, value, package)
    for method, maker in vars(value).items():
        if isinstance(maker, classmethod) and not method.startswith("_"):
            make: Any = getattr(value, method)
            if str(inspect.signature(make).return_annotation).strip("'\"") in (value.__name__, "Self"):
                yield _entry(f"{name}.{method}", kind, make, value, package, value)


def _function_entries(name: str, value: Callable[..., Any], package: str) -> Iterator[Entry]:
    """Yield the catalogue entry of a function that returns a component or a bound."""
    product = typing.get_type_hints(value).get("return")
    if package == "bounds":
        record = product is Bound or (isinstance(product, type) and issubclass(product, tuple))
        yield _entry(name, "bound", value, product if record else None, package)
        return
    made = next(iter(typing.get_args(product)), product)
    if isinstance(made, type) and is_component(made):
        yield _entry(name, kind_of(made), value, made, package)


def is_component(value: type) -> bool:
    """Return whether users construct a class: it must be a struct, and neither abstract nor a protocol."""
    return bool(
        getattr(value, "__dataclass_params__", None) is not None and not getattr(value, "_is_protocol", False)
        and not inspect.isabstract(value) and value.__module__.startswith("jaxonline.")
    )  # fmt: skip


def _optax_entries() -> Iterator[Entry]:
    """Yield the catalogue entries of optax: optimizers (with learning rate 1), schedules, projections with a radius."""
    import optax

    modules = {"optimizer": optax, "schedule": optax.schedules, "projection": optax.projections}
    for kind, module in modules.items():
        for name in sorted(vars(module)):
            value: Any = getattr(module, name)
            if not inspect.isfunction(value) or name.startswith("_"):
                continue
            arguments = list(inspect.signature(value).parameters)
            is_listed = {
                "optimizer": arguments[:1] == ["learning_rate"] and _needs_only_a_rate(value),
                "schedule": name.endswith(("schedule", "decay")), "projection": arguments == ["tree", "scale"],
            }  # fmt: skip
            parameters = () if kind == "projection" else _plain_parameters(value)
            if is_listed[kind] and not any(parameter.required and parameter.in_python_only for parameter in parameters):
                make = {"projection": lambda value=value: value, "optimizer": functools.partial(value, 1.0)}
                yield Entry(name, kind, make.get(kind, value), None, first_line(value), parameters, "optax")


def user_entry(name: str, value: Callable[..., Any]) -> Entry:
    """Return an entry for a class or function of the user; a parameter without annotation takes anything."""
    return _entry(name, "part", value, value if isinstance(value, type) else None, "")


def _plain_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    given = [parameter for parameter in parameters_of(function) if parameter.name != "learning_rate"]
    return tuple(
        parameter
        for parameter in given
        if parameter.required or parameter.takes & {"number", "integer", "flag", "array"}
    )


def _needs_only_a_rate(make: Callable[..., Any]) -> bool:
    """Return whether an optax optimizer needs only a learning rate and is not deprecated."""
    try:
        with warnings.catch_warnings(action="error"):
            return hasattr(make(1.0), "update") and not make.__name__.startswith("scale_by")
    except (Warning, TypeError, ValueError):
        return False
