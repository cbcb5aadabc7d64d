"""Calls with a wrong argument, and the errors that they must raise."""

import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import jaxonline as jo
from jaxonline.parameters.check import quote

PACKAGE = Path(jo.__file__).parent
MASKED = np.ma.masked_array([1.0, -999.0], [False, True])
NOT_NUMBERS = ("1", 1j, True, {}, object(), [0.5], MASKED, np.array(["a"]), float)


class Row(NamedTuple):
    """A bad call, its error, a text in the message (the argument), and the wrong value."""

    call: Callable[[], Any]
    error: type[Exception] | tuple[type[Exception], ...]
    text: str
    value: str


def row(call: Callable[[], Any], error: Any, text: str) -> Row:
    return Row(call, error, text, "")


def rows(name: str, call: Callable[[Any], Any], error: Any, *wrong: Any) -> Iterator[Row]:
    """Yield the same call with each wrong value of an argument."""
    for value in wrong:
        text = quote(value)[:30]
        yield Row(lambda value=value: call(value), error, name, f"{type(value).__name__} {text}")


def innermost(error: Exception) -> str:
    return traceback.extract_tb(error.__traceback__)[-1].filename


def check(group: list[Row]) -> None:
    """Check that every call raises its error from the package itself, in a few lines that name the argument."""
    wrong = [f"{bad.text} = {bad.value}: {fault}" for bad in group if (fault := _fault(bad))]
    assert not wrong, "\n".join(wrong)


def _fault(bad: Row) -> str | None:
    try:
        result = bad.call()
    except Exception as error:
        message = str(error)
        faults = {
            f"{type(error).__name__}: {message}": not isinstance(error, bad.error),
            f"raised in {innermost(error)}: {message}": not Path(innermost(error)).is_relative_to(PACKAGE),
            f"does not name {bad.text}: {message}": bad.text not in message,
            f"is long: {message}": message.count("\n") >= 3 or len(message) >= 500,
        }
        return next((fault for fault, occurs in faults.items() if occurs), None)
    return f"accepted: {result!r}"[:300]


def grouped(table: Iterable[Row]) -> list[Any]:
    """Return the rows of a table as parameters of a test, one for each argument."""
    groups = (list(group) for _, group in itertools.groupby(table, lambda bad: bad.text))
    return [pytest.param(group, id=f"{i}-{group[0].text}") for i, group in enumerate(groups)]
