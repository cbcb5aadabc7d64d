"""Everything that a study file can name, found in the rooms of the facade: what it is, what it takes, and a line on it.

A kind is what a thing can do: a learner has init, predict and update, whoever wrote it. What is of no kind is named by
its class, where a constructor asks for that class (the storage of a kernel learner, the law of a series).
"""

import functools
import importlib
import inspect
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jaxonline.environments import DataStream
from jaxonline.parameters.suggest import meant
from jaxonline.study.files.data import data_stream
from jaxonline.study.files.parameters import Parameter, parameters_of, said_of

ROOMS = (
    "learners", "environments", "feedback", "feedback.noise", "losses", "estimators", "estimators.dictionary",
    "kernels", "kernels.radial", "comparators", "bounds", "simulation.measures", "game.regret", "claims",
    "environments.adversaries",
)  # fmt: skip
# by what a class must have; the first that fits
KINDS = {
    "learner": ("init", "predict", "update"),
    "combiner": ("init", "weights", "update"),
    "environment": ("init", "instance", "answer"),
    "adversary": ("init", "sample", "observe"),
    "feedback": ("open",),
    "noise": ("sample", "covariance_at"),
    "comparator": ("best_loss", "statistic"),
    "hindsight comparator": ("best_losses",),
    "measure": ("init", "add", "read"),
    "regret": ("learner_on_copies", "comparator_on_copies", "on_expected_outcomes"),
    "loss": ("gradient", "__call__"),
}
HEADINGS = {
    "learner": "Learners", "combiner": "Combiners: weights of experts", "environment": "Environments",
    "feedback": "Feedback: what a learner may ask", "noise": "Laws of noise", "adversary": "Adversaries",
    "loss": "Losses", "regret": "Notions of regret", "estimator": "Estimators of gradients", "kernel": "Kernels",
    "comparator": "Comparators", "bound": "Bounds", "measure": "Measures", "step size": "Step sizes",
    "schedule": "Schedules (optax)", "optimizer": "Optimizers (optax)", "projection": "Projections (optax)",
    "part": "Parts that some of these take",
}  # fmt: skip


class Entry(NamedTuple):
    """A thing that a study file can name.

    Attributes:
        name: as it is written: of a class, or CLASS.METHOD for another way to make one, or of a function.
        kind: a key of `HEADINGS`.
        make: what is called.
        product: the class of what it makes, None for bounds and functions of optax.
        line: the first line of its docstring.
        parameters: what it takes.
        room: where Python has it.
        open_ended: whether it takes options that are not named.
    """

    name: str
    kind: str
    make: Callable[..., Any]
    product: type | None
    line: str
    parameters: tuple[Parameter, ...]
    room: str
    open_ended: bool = False


@functools.cache
def catalogue() -> dict[str, Entry]:
    """Every entry by name, those of a kind together."""
    entries = [*_of_rooms(), *_of_optax(), _own_data()]
    order = list(HEADINGS)
    return {each.name: each for each in sorted(entries, key=lambda each: (order.index(each.kind), each.name.lower()))}


def named(name: str) -> Entry:
    """The entry of that name, in capitals or not.

    Raises:
        ValueError: there is none.
    """
    entries = catalogue()
    alike = [each for each in entries if each.lower() == name.lower()]
    if name not in entries and len(alike) != 1:
        raise ValueError(f"there is nothing called {name!r}{meant(name, entries)}")
    return entries[name if name in entries else alike[0]]


@functools.cache
def fitting(kinds: tuple[Any, ...]) -> dict[str, Entry]:
    """The entries that may stand where a component of these kinds is asked for."""

    def fits(entry: Entry, kind: Any) -> bool:
        if isinstance(kind, type):
            protocol = getattr(kind, "_is_protocol", False)
            made = entry.product
            return made is not None and (_has_all(made, kind) if protocol else issubclass(made, kind))
        if kind.startswith("`"):
            return entry.product is not None and entry.product.__name__ == kind.strip("`")
        return entry.kind == kind

    return {name: each for name, each in catalogue().items() if any(fits(each, kind) for kind in kinds)}


def _has_all(product: type, protocol: type) -> bool:
    members = [name for name in vars(protocol) if not name.startswith("_")] or ["__call__"]
    return all(hasattr(product, name) for name in members)


def _of_rooms() -> Iterator[Entry]:
    seen: set[str] = set()
    for room in ROOMS:
        module = importlib.import_module(f"jaxonline.{room}")
        for name, value in _offered(module):
            if name in seen or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            entries = list(_of_class(name, value, room) if inspect.isclass(value) else _of_function(name, value, room))
            seen |= {each.name for each in entries}
            yield from entries


def _offered(module: types.ModuleType) -> list[tuple[str, Any]]:
    """What a room offers: `__all__` or, of a module without, all that is public and defined there."""
    names = getattr(module, "__all__", None)
    if names is None:
        own = [name for name in vars(module) if not name.startswith("_")]
        names = [name for name in own if getattr(vars(module)[name], "__module__", "") == module.__name__]
    return [(name, getattr(module, name)) for name in names]


def _of_class(name: str, value: type, room: str) -> Iterator[Entry]:
    """The class, if it is one that users construct, and its other constructors."""
    if not is_component(value):
        return
    kind, line = kind_of(value), _first_line(value)
    yield Entry(name, kind, value, value, line, parameters_of(value, said_of(value.__doc__ or "")), room)
    for method, maker in vars(value).items():
        if isinstance(maker, classmethod) and not method.startswith("_"):
            make: Any = getattr(value, method)
            if str(inspect.signature(make).return_annotation).strip("'\"") == value.__name__:
                open_ended = any(each.kind is each.VAR_KEYWORD for each in inspect.signature(make).parameters.values())
                words = said_of(value.__doc__ or "") | said_of(make.__doc__ or "")
                yield Entry(
                    f"{name}.{method}", kind, make, value, _first_line(make), parameters_of(make, words), room,
                    open_ended,
                )  # fmt: skip


def _of_function(name: str, value: Callable[..., Any], room: str) -> Iterator[Entry]:
    """A function that makes a component, or a bound."""
    product = typing.get_type_hints(value).get("return") if room != "bounds" else None
    made = typing.get_args(product)[:1] or (product,)
    if room == "bounds":
        kind, product = "bound", None
    elif (
        room != "claims"
        and isinstance(made[0], type)
        and made[0].__module__.startswith("jaxonline.")
        and is_component(made[0])
    ):
        kind, product = kind_of(made[0]), made[0]
    else:
        return
    yield Entry(
        name, kind, value, product, _first_line(value), parameters_of(value, said_of(value.__doc__ or "")), room
    )


def is_component(value: type) -> bool:
    """Whether a class is a struct that users construct: neither a protocol, nor abstract, nor a tuple."""
    fields = "__dataclass_fields__" in vars(value) or getattr(value, "__dataclass_params__", None) is not None
    return bool(
        fields and not getattr(value, "_is_protocol", False) and not inspect.isabstract(value)
        and not issubclass(value, tuple) and value.__module__.startswith("jaxonline.")
    )  # fmt: skip


def kind_of(value: type) -> str:
    """What kind of thing a class is."""
    from jaxonline.kernels import Kernel

    if issubclass(value, Kernel):
        return "kernel"
    call: Any = getattr(value, "__call__", None)  # noqa: B004
    arguments = list(inspect.signature(call).parameters)[1:] if inspect.isfunction(call) else []
    if arguments[:3] == ["key", "w", "oracle"] or arguments[:2] == ["t", "dtype"]:
        return "estimator" if arguments[0] == "key" else "step size"
    kinds = (kind for kind, methods in KINDS.items() if all(hasattr(value, method) for method in methods))
    return next(kinds, "part").removeprefix("hindsight ")


def _of_optax() -> Iterator[Entry]:
    """Optimisers, whose learning rate is 1 here; schedules; and projections that have a radius."""
    import optax

    modules = {"optimizer": optax, "schedule": optax.schedules, "projection": optax.projections}
    for kind, module in modules.items():
        for name in sorted(vars(module)):
            value: Any = getattr(module, name)
            if not inspect.isfunction(value) or name.startswith("_"):
                continue
            arguments = list(inspect.signature(value).parameters)
            if kind == "optimizer" and (arguments[:1] != ["learning_rate"] or not _is_made_of_a_rate(value)):
                continue
            if kind == "schedule" and not name.endswith(("schedule", "decay")):
                continue
            if kind == "projection" and arguments != ["tree", "scale"]:
                continue
            parameters = () if kind == "projection" else _plain_parameters(value)
            if any(each.required and each.in_python_only for each in parameters):
                continue
            makes = {"projection": _constant(value), "optimizer": functools.partial(value, 1.0), "schedule": value}
            yield Entry(name, kind, makes[kind], None, _first_line(value), parameters, "optax")


def _own_data() -> Entry:
    """`data_stream`, which is told in what folder files are by who reads the study file."""
    found = parameters_of(data_stream, said_of(data_stream.__doc__ or ""))
    parameters = tuple(each for each in found if each.name != "folder")
    return Entry(
        "data", "environment", data_stream, DataStream, _first_line(data_stream), parameters, "study.files.data"
    )


def own_entry(name: str, value: Callable[..., Any]) -> Entry:
    """What is known of a class or a function of the user's: the parameters, by signature and docstring."""
    named = inspect.signature(value).parameters.values()
    open_ended = any(each.kind is each.VAR_KEYWORD for each in named)
    words = said_of(value.__doc__ or "")
    parameters = parameters_of(value, words) if all(each.name in words for each in named) else parameters_of(value, {})
    product = value if isinstance(value, type) else None
    return Entry(name, "part", value, product, _first_line(value), parameters, "", open_ended)


def _plain_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of a function of optax that a file can give."""
    found = [each for each in parameters_of(function, {}) if each.name != "learning_rate"]
    return tuple(each for each in found if each.required or each.takes & {"number", "integer", "flag", "array"})


def _is_made_of_a_rate(make: Callable[..., Any]) -> bool:
    """Whether an optimiser of optax needs nothing but a learning rate, and is not about to be removed."""
    try:
        with warnings.catch_warnings(action="error"):
            return hasattr(make(1.0), "update") and not make.__name__.startswith("scale_by")
    except (Warning, TypeError, ValueError):
        return False


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]
