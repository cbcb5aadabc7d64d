"""Conversion of games and learners to study files."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxonline.game import Entrant, Game
from jaxonline.parameters.closures import intern_functions
from jaxonline.parameters.signatures import Parameter
from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import catalogue, entries_of
from jaxonline.study.files.models import to_toml
from jaxonline.study.files.reading import format_key

MAX_NUMBERS = 2000  # in an array of a file


def study_to_toml(
    game: Game,
    learners: Mapping[str, Any],
    *,
    rounds: int,
    runs: int,
    title: str = "",
    seed: int = 0,
    comparator: Any = None,
    measures: Sequence[Any] = (),
    record_at: Any = 40,
    remark: str = "",
) -> str:
    """Write a game and learners as the TOML text of a study file.

    Args:
        game: the game.
        learners: learners, or `Entrant`s, by name.
        rounds: the horizon.
        runs: number of runs of each learner.
        title: title of the study.
        seed: seed of all random numbers.
        comparator: comparator of the regret.
        measures: further quantities to record.
        record_at: number of recorded rounds, or a list of the recorded rounds.
        remark: comment at the top of the file.

    Raises:
        ValueError: an object has no name in study files (a function, a class outside of the catalogue), or an array is
            too large.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.study.files.writing import study_to_toml
        >>> game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> print(study_to_toml(game, {"a": jo.learners.UCB1(4.0)}, rounds=50, runs=9, comparator=jo.BestArm()))
        rounds = 50
        runs = 9
        comparator = "BestArm"
        <BLANKLINE>
        [game]
        environment = { type = "BernoulliArms", means = [0.2, 0.8] }
        feedback = "Bandit"
        loss = "ArmLoss"
        <BLANKLINE>
        [learners.a]
        type = "UCB1"
        exploration = 4.0
        <BLANKLINE>
    """
    top: dict[str, Any] = {"title": title} if title else {}
    top |= {"rounds": rounds, "runs": runs} | ({"seed": seed} if seed else {})
    top |= {"record_at": record_at} if record_at != keys.STUDY["record_at"].default else {}
    top |= {"comparator": _component_to_toml(comparator, rounds)} if comparator is not None else {}
    top |= {"measures": [_component_to_toml(measure, rounds) for measure in measures]} if measures else {}
    defaults = {name: to_toml(parameter.default) for name, parameter in keys.GAME.items() if not parameter.required}
    tables = {"game": {
        name: _argument_to_toml(getattr(game, name), parameter, rounds) for name, parameter in keys.GAME.items()
        if name not in defaults or to_toml(getattr(game, name)) != defaults[name]
    }}  # fmt: skip
    for name, item in learners.items():
        learner = item.learner if isinstance(item, Entrant) else item
        form = _component_to_toml(learner, rounds)
        feedback = {"feedback": _component_to_toml(item.feedback, rounds)} if isinstance(item, Entrant) else {}
        tables[format_key(("learners", name))] = ({"type": form} if isinstance(form, str) else form) | feedback
    lines = [f"# {line}" for line in remark.splitlines()] + [
        f"{key} = {_format_toml(value)}" for key, value in top.items()
    ]
    for header, table in tables.items():
        lines += ["", f"[{header}]", *(f"{format_key((key,))} = {_format_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _component_to_toml(value: Any, rounds: int) -> Any:
    """Convert a component to its name, or to a table of those arguments that differ from the defaults."""
    entry = catalogue().get(type(value).__name__)
    if entry is None or entry.product is not type(value) or not dataclasses.is_dataclass(value):
        raise ValueError(f"{type(value).__name__}: has no name in study files, so the study cannot be written as one")
    table = {"type": entry.name}
    for parameter in entry.parameters:
        argument = getattr(value, parameter.name)
        horizon = "horizon" in parameter.takes and np.ndim(argument) == 0 and float(np.asarray(argument)) == rounds
        if not horizon and (parameter.required or not _equals_default(argument, parameter.default)):
            table[parameter.name] = _argument_to_toml(argument, parameter, rounds)
    return entry.name if len(table) == 1 else table


def _equals_default(value: Any, default: Any) -> bool:
    return value is default or (to_toml(value) == to_toml(default) and to_toml(value) != "the default")


def _argument_to_toml(value: Any, parameter: Parameter, rounds: int) -> Any:
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        if np.size(value) > MAX_NUMBERS:
            problem = f"{parameter.name}: too large for a study file (got {np.size(value):,} numbers)"
            raise ValueError(f"{problem}; write them to a data file")
        return _array_to_toml(np.asarray(value))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_argument_to_toml(item, parameter, rounds) for item in value]
    if dataclasses.is_dataclass(value):
        return _component_to_toml(value, rounds)
    for name, entry in entries_of(parameter.kinds).items():
        plain_one = entry.package == "optax" and not any(own_parameter.required for own_parameter in entry.parameters)
        if plain_one and intern_functions(entry.make()) is intern_functions(value):
            return name
    raise ValueError(f"{parameter.name}: its value has no name in study files, so the study cannot be written as one")


def _array_to_toml(array: np.ndarray) -> Any:
    """Convert an array to (lists of) numbers, with the fewest digits that identify each number."""
    if array.ndim:
        return [_array_to_toml(row) for row in array]
    if array.dtype == bool:  # a mask: 0 and 1
        return int(array)
    return float(str(array)) if np.issubdtype(array.dtype, np.floating) else array.item()


def _format_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{format_key((key,))} = {_format_toml(item)}' for key, item in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_toml, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
