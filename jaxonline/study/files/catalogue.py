"""Everything that a study file can name, collected from the packages: what it is, what it takes, and a line on it.

A kind is a protocol: a class with init, predict and update is a learner. A class of no kind is named where a
constructor asks for that class (the storage of a kernel learner, the law of a series).
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

from jaxonline.environments import DataStream
from jaxonline.feedback.noise import NoiseAdversary, NoiseLaw
from jaxonline.game.protocols import Comparator, Environment, Feedback, HindsightComparator, Learner, Measure
from jaxonline.game.regret import Regret
from jaxonline.kernels import Kernel
from jaxonline.learners import Combiner
from jaxonline.losses import Loss
from jaxonline.parameters.signatures import Parameter, members_of, parameters_of
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.study.files.data import data_stream
from jaxonline.study.files.docstrings import documented_parameters, first_line

PACKAGES = (
    "learners", "environments", "feedback", "feedback.noise", "losses", "estimators", "estimators.dictionary",
    "kernels", "kernels.radial", "comparators", "bounds", "simulation.measures", "game.regret", "claims",
    "environments.adversaries",
)  # fmt: skip
PROTOCOLS: dict[str, type] = {  # by kind; a class is of the first kind whose protocol it satisfies
    "learner": Learner, "combiner": Combiner, "environment": Environment, "adversary": NoiseAdversary,
    "feedback": Feedback, "noise": NoiseLaw, "comparator": Comparator, "hindsight comparator": HindsightComparator,
    "measure": Measure, "regret": Regret, "loss": Loss,
}  # fmt: skip
HEADINGS = {
    "learner": "Learners", "combiner": "Combiners: weights of experts", "environment": "Environments",
    "feedback": "Feedback: what a learner may ask", "noise": "Laws of noise", "adversary": "Adversaries",
    "loss": "Losses", "regret": "Notions of regret", "estimator": "Estimators of gradients", "kernel": "Kernels",
    "comparator": "Comparators", "bound": "Bounds", "measure": "Measures", "step size": "Step sizes",
    "schedule": "Schedules (optax)", "optimizer": "Optimizers (optax)", "projection": "Projections (optax)",
    "part": "Parts that some of these take",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A component that a study file can name.

    Attributes:
        name: as it is written: of a class, or CLASS.METHOD for another constructor, or of a function.
        kind: a key of `HEADINGS`.
        make: what is called.
        product: the class of the object that it makes, None for bounds and functions of optax.
        line: the first line of its docstring.
        parameters: what it takes.
        package: where Python has it.
        open_ended: whether it takes options that are not named.
    """

    name: str
    kind: str
    make: Callable[..., Any]
    product: type | None
    line: str
    parameters: tuple[Parameter, ...]
    package: str
    open_ended: bool = False


@functools.cache
def catalogue() -> dict[str, Entry]:
    """Every entry by name, those of a kind together."""
    data = _entry("data", "environment", data_stream, DataStream, "study.files.data")
    entries = [*_package_entries(), *_optax_entries(), data]
    order = list(HEADINGS)
    return {entry.name: entry for entry in sorted(entries, key=lambda e: (order.index(e.kind), e.name.lower()))}


def find_entry(name: str) -> Entry:
    """The entry of that name, in capitals or not.

    Raises:
        ValueError: there is none.
    """
    entries = catalogue()
    alike = [known for known in entries if known.lower() == name.lower()]
    if name not in entries and len(alike) != 1:
        parts = [known for known in entries if name.lower() in known.lower()]
        parts = parts or [known for known, entry in entries.items() if name.lower() in entry.line.lower()]
        suggestion = (
            f"; did you mean one of {', '.join(parts[:12])}?"
            if len(parts) > 1
            else did_you_mean(name, parts or entries)
        )
        suggestion = suggestion or (f"; did you mean {parts[0]!r}?" if parts else "")
        raise ValueError(f"name: no learner, game or other object has this name (got {name!r}){suggestion}")
    return entries[name if name in entries else alike[0]]


@functools.cache
def entries_of(kinds: tuple[Any, ...]) -> dict[str, Entry]:
    """The entries that may stand where a component of these kinds is asked for."""

    def fits(entry: Entry, kind: Any) -> bool:
        made = entry.product
        if isinstance(kind, type):
            protocol = getattr(kind, "_is_protocol", False)
            return made is not None and (_satisfies(made, kind) if protocol else issubclass(made, kind))
        return entry.kind == kind or (made is not None and kind == f"`{made.__name__}`")

    return {name: entry for name, entry in catalogue().items() if any(fits(entry, kind) for kind in kinds)}


def _satisfies(product: type, protocol: type) -> bool:
    fields = getattr(product, "__dataclass_fields__", {})
    return all(hasattr(product, name) or name in fields for name in members_of(protocol))


def kind_of(value: type) -> str:
    """The kind of a class."""
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
            of: Any = (
                _class_entries if inspect.isclass(value) else _function_entries if inspect.isfunction(value) else None
            )
            if of is not None and name not in seen:
                entries = list(of(name, value, package))
                seen |= {entry.name for entry in entries}
                yield from entries


def _exports(module: types.ModuleType) -> list[tuple[str, Any]]:
    """`__all__` or, of a module without, all that is public and defined there."""
    own = [n for n, v in vars(module).items() if n[0] != "_" and getattr(v, "__module__", "") == module.__name__]
    return [(name, getattr(module, name)) for name in getattr(module, "__all__", own)]


def _entry(name: str, kind: str, make: Any, product: type | None, package: str, *owners: type) -> Entry:
    variable = any(each.kind is each.VAR_KEYWORD for each in inspect.signature(make).parameters.values())
    parameters = documented_parameters(make, *owners)
    return Entry(name, kind, make, product, first_line(make), parameters, package, variable)


def _class_entries(name: str, value: type, package: str) -> Iterator[Entry]:
    """The class, if it is one that users construct, and its other constructors."""
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
    """A function that makes a component, or a bound."""
    if package == "bounds":
        yield _entry(name, "bound", value, None, package)
    elif package != "claims":
        product = typing.get_type_hints(value).get("return")
        made = next(iter(typing.get_args(product)), product)
        if isinstance(made, type) and is_component(made):
            yield _entry(name, kind_of(made), value, made, package)


def is_component(value: type) -> bool:
    """Whether a class is a struct that users construct: neither a protocol, nor abstract, nor a tuple."""
    return bool(
        getattr(value, "__dataclass_params__", None) is not None and not getattr(value, "_is_protocol", False)
        and not inspect.isabstract(value) and value.__module__.startswith("jaxonline.")
    )  # fmt: skip


def _optax_entries() -> Iterator[Entry]:
    """Optimisers, whose learning rate is 1 here; schedules; and projections that have a radius."""
    import optax

    modules = {"optimizer": optax, "schedule": optax.schedules, "projection": optax.projections}
    for kind, module in modules.items():
        for name in sorted(vars(module)):
            value: Any = getattr(module, name)
            if not inspect.isfunction(value) or name.startswith("_"):
                continue
            arguments = list(inspect.signature(value).parameters)
            wanted = {
                "optimizer": arguments[:1] == ["learning_rate"] and _needs_only_a_rate(value),
                "schedule": name.endswith(("schedule", "decay")), "projection": arguments == ["tree", "scale"],
            }  # fmt: skip
            parameters = () if kind == "projection" else _plain_parameters(value)
            if wanted[kind] and not any(each.required and each.in_python_only for each in parameters):
                make = {"projection": lambda value=value: value, "optimizer": functools.partial(value, 1.0)}
                yield Entry(name, kind, make.get(kind, value), None, first_line(value), parameters, "optax")


def user_entry(name: str, value: Callable[..., Any]) -> Entry:
    """What is known of a class or a function of the user's: its annotations; a parameter without one takes anything."""
    return _entry(name, "part", value, value if isinstance(value, type) else None, "")


def _plain_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of a function of optax that a file can give."""
    given = [each for each in parameters_of(function) if each.name != "learning_rate"]
    return tuple(each for each in given if each.required or each.takes & {"number", "integer", "flag", "array"})


def _needs_only_a_rate(make: Callable[..., Any]) -> bool:
    """Whether an optimiser of optax needs nothing but a learning rate, and is not about to be removed."""
    try:
        with warnings.catch_warnings(action="error"):
            return hasattr(make(1.0), "update") and not make.__name__.startswith("scale_by")
    except (Warning, TypeError, ValueError):
        return False
