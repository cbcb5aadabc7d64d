"""What a constructor takes, read from its signature and its docstring: types, ranges, choices, defaults, words.

The docstring is the one source of ranges: "above 0", "at least 1", "from 0 to 1". A test constructs everything with
values outside of what is read here, and expects errors.
"""

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxonline.parameters import check

_NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?(?:/\d+)?)(?![\d.]*[\w^]|\s*/\s*\(|\s+[a-z]\b(?!\s*to\b))"
_LIMITS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_RANGE = re.compile(rf"\b(?:from|between) {_NUMBER}(?:, [^,;]*,)? (?:to|and) (below )?{_NUMBER}")
_QUOTED = re.compile(r'"([^"]+)"')
# what stands where the annotation says nothing: by the parameter's name
PLACES = {
    "environment": ("environment",), "feedback": ("feedback",), "regret": ("regret",), "loss": ("loss",),
    "estimator": ("estimator",), "combiner": ("combiner",), "learner": ("learner",), "adversary": ("adversary",),
    "noise": ("noise",), "label_noise": ("noise",), "law": ("noise",), "step_size": ("step size", "schedule"),
    "exploration": ("step size", "schedule"),
    "schedule": ("schedule",), "optimizer": ("optimizer",), "projection": ("projection",),
}  # fmt: skip


class Limits(NamedTuple):
    """Where a number must lie: above `gt`, at least `ge`, below `lt`, at most `le`."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    @property
    def words(self) -> str:
        """As in "above 0 and at most 1"; empty where there are none."""
        given = {key: value for key, value in self._asdict().items() if value is not None}
        return " and ".join(f"{_LIMITS[key]} {in_digits(value)}" for key, value in given.items())

    def broken_by(self, value: float) -> bool:
        """Whether a number lies outside."""
        wrong = (
            self.gt is not None and value <= self.gt, self.ge is not None and value < self.ge,
            self.lt is not None and value >= self.lt, self.le is not None and value > self.le,
        )  # fmt: skip
        return any(wrong)


def in_digits(value: float) -> str:
    """A number in words: 100,000 and not 1e+05."""
    whole = 1000 <= abs(value) < 1e15 and value == round(value)
    return f"{value:,.0f}" if whole else f"{float(value):g}" if abs(value) < 1e300 else check.shown(value)


class Parameter(NamedTuple):
    """A parameter of a constructor.

    Attributes:
        name: of the parameter.
        takes: of "number", "integer", "flag", "text", "texts", "array", "seed", "horizon", "component", "components" (a
            list of them), "function", "nothing" (None), "anything".
        kinds: what a component may be: kinds of the catalogue, or classes.
        limits: of numbers.
        choices: of texts; empty where any will do.
        required: whether there is no default.
        default: what it is where it is not given.
        words: what the docstring says.
    """

    name: str
    takes: frozenset[str]
    kinds: tuple[Any, ...] = ()
    limits: Limits = Limits()
    choices: tuple[str, ...] = ()
    required: bool = True
    default: Any = None
    words: str = ""

    @property
    def in_python_only(self) -> bool:
        """Whether it is a function, which a file can only take from a module of the user's."""
        return self.takes - {"nothing"} in ({"function"}, {"anything"}) and not self.kinds


def parameters_of(make: Callable[..., Any], words: Mapping[str, str]) -> tuple[Parameter, ...]:
    """The parameters of a class, a classmethod or a function, with what a docstring says of them (`said_of`)."""
    try:
        found = inspect.signature(make, eval_str=True).parameters.values()
    except NameError:  # what only a type checker imports
        found = inspect.signature(make).parameters.values()
    named = [each for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return tuple(_parameter(each, words.get(each.name, "")) for each in named if not _hidden(each, words))


def said_of(doc: str) -> dict[str, str]:
    """What a docstring says of each argument, under "Args:" or, if there is none, where it says what it raises.

    Example:
        >>> from jaxonline.study.files.parameters import said_of
        >>> said_of("A step.\\n\\nArgs:\\n    eta: the rate,\\n        above 0.\\n    n: how many.")
        {'eta': 'the rate, above 0.', 'n': 'how many.'}
    """
    found: dict[str, str] = {}
    section = re.search(r"^(?:Args|Attributes):\n((?:[ ].*\n?|\n)+)", inspect.cleandoc(doc), flags=re.MULTILINE)
    if section is None:
        return dict(re.findall(r"`(\w+)` is not ([^,;.]*)", doc))
    name = ""
    for line in inspect.cleandoc(section[1]).splitlines():
        start = re.match(r"(\w+): (.*)", line)
        if start is not None:
            name, found[start[1]] = start[1], start[2].strip()
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found


def limits_in(words: str) -> Limits:
    """The range that a sentence states.

    Example:
        >>> from jaxonline.study.files.parameters import limits_in
        >>> limits_in("gamma from 0 to 1: p = ...").words, limits_in("k, even, at least 2, at most 2 d").words
        ('at least 0 and at most 1', 'at least 2')
    """
    said = re.split(r"\.\s|\bnot below\b", re.sub(r"\bin \[0, 1\]", "from 0 to 1", words))[0]
    found: dict[str, float] = {}
    for start, below, end in _RANGE.findall(said):
        strict = "between" in said
        found |= {"gt" if strict else "ge": _value(start), "lt" if below or strict else "le": _value(end)}
    for key, word in _LIMITS.items():
        stated = re.search(rf"\b{word} {_NUMBER}", said)
        if stated is not None:
            found.setdefault(key, _value(stated[1]))
    return Limits(**found)


def _value(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def _hidden(parameter: inspect.Parameter, words: Mapping[str, str]) -> bool:
    """Whether a docstring that speaks of the others leaves it out."""
    return bool(words) and parameter.name not in words and parameter.default is None


def _parameter(given: inspect.Parameter, words: str) -> Parameter:
    takes, kinds = _of_annotation(given.annotation)
    default = None if given.default is given.empty else given.default
    if given.annotation in (Any, given.empty) or (not kinds and "function" in takes):
        takes, kinds = _of_words(given.name, words, default, takes)
    texts = _QUOTED.findall(words) if takes - {"nothing"} == {"text"} and "e.g." not in words else []
    if given.name == "n_rounds" and takes & {"number", "integer"}:
        takes |= {"horizon"}
    if given.default is None:
        takes |= {"nothing"}
    numeric = takes & {"number", "integer", "array"}
    limits = limits_in(words) if numeric else Limits()
    if "integer" in numeric:  # "the first for which the rest is below 1e-20"
        limits = Limits(*(each if each is None or each == round(each) else None for each in limits))
    if "step size" in kinds and numeric and limits == Limits():
        limits = Limits(gt=0.0)
    choices = tuple(dict.fromkeys(texts)) if len(set(texts)) > 1 else ()  # one is an example
    required = given.default is given.empty and not takes & {"horizon", "nothing"}
    return Parameter(given.name, frozenset(takes), kinds, limits, choices, required, default, words)


def _of_annotation(annotation: Any) -> tuple[set[str], tuple[Any, ...]]:
    """What an annotation lets in, and the classes among it."""
    plain = {bool: "flag", int: "integer", float: "number", str: "text", type(None): "nothing", list: "array"}
    if isinstance(annotation, type) and annotation in plain:
        return {plain[annotation]}, ()
    shape = getattr(annotation, "dim_str", None)  # of jaxtyping
    if shape is not None:
        if "Key" in str(annotation):
            return {"seed"}, ()
        return {"number", "array"} if shape == "..." else {"number" if shape == "" else "array"}, ()
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list and arguments == (str,):
        return {"texts"}, ()
    if origin in (typing.Union, types.UnionType):
        return _of_union(arguments)
    if origin in (list, tuple) or str(annotation).startswith(("collections.abc.Sequence", "typing.Sequence")):
        kinds = _of_annotation(arguments[0])[1] if arguments else ()
        return ({"components"}, kinds) if kinds else ({"array"}, ())
    if isinstance(annotation, type) and annotation.__module__.startswith("jaxonline"):
        return {"component"}, (annotation,)
    if annotation is np.ndarray:
        return {"array"}, ()
    return (set() if annotation in (Any, inspect.Parameter.empty) else {"function"}), ()


def _of_union(arguments: tuple[Any, ...]) -> tuple[set[str], tuple[Any, ...]]:
    if complex in arguments:  # ArrayLike: here always a number
        return {"number"} | {"nothing" for each in arguments if each is type(None)}, ()
    takes: set[str] = set()
    kinds: tuple[Any, ...] = ()
    for each in arguments:
        own, classes = _of_annotation(each)
        if each is not np.number and "Array" not in getattr(each, "__name__", ""):
            takes, kinds = takes | own, kinds + classes
        elif getattr(each, "dim_str", None) is not None:
            takes |= own
    if "integer" in takes and "array" not in takes:
        takes -= {"number"}
    if {"array", "function"} <= takes:  # an array of jax has no shape here
        takes -= {"function"}
    return takes, kinds


def _of_words(name: str, words: str, default: Any, takes: set[str]) -> tuple[set[str], tuple[Any, ...]]:
    """Of a parameter that may be anything, what its name, its words and its default say."""
    kinds = PLACES.get(name, ())
    if name == "combiner" and "any learner" in words:
        kinds = ("combiner", "learner")
    if name == "learner" and "or a combiner" in words:
        kinds = ("learner", "combiner")
    if not kinds and isinstance(default, object) and type(default).__module__.startswith("jaxonline."):
        kinds = (type(default),)
    if not kinds:
        kinds = tuple(f"`{each}`" for each in re.findall(r"`(\w+)`", words) if each[0].isupper())
    found = {"component"} if kinds else set()
    if "step size" in kinds or (kinds and limits_in(words) != Limits()):
        found |= {"number"}
    if not kinds and not takes - {"nothing"} and re.search(r"\[[^\]]*\]", words):
        found |= {"array"}
    return found or (takes - {"nothing"}) or {"anything"}, kinds
