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
    """Return a call without arguments as a row."""
    return Row(call, error, text, "")


def rows(name: str, call: Callable[[Any], Any], error: Any, *wrong: Any) -> Iterator[Row]:
    """Yield the same call with each wrong value of an argument."""
    for value in wrong:
        text = quote(value)[:30]
        yield Row(lambda value=value: call(value), error, name, f"{type(value).__name__} {text}")


def number(name: str, call: Callable[[Any], Any], *outside: float, optional: bool = False) -> Iterator[Row]:
    """An argument that is one finite number."""
    yield from rows(name, call, TypeError, *NOT_NUMBERS, *(() if optional else (None,)))
    yield from rows(name, call, ValueError, np.nan, np.inf, np.ones(3), np.zeros((0,)), *outside)


def positive(name: str, call: Callable[[Any], Any], **options: Any) -> Iterator[Row]:
    """An argument above 0."""
    yield from number(name, call, 0.0, -1.0, -np.inf, **options)


def count(name: str, call: Callable[[Any], Any], least: int = 1, optional: bool = False) -> Iterator[Row]:
    """An argument that is an integer of at least `least`."""
    yield from rows(name, call, TypeError, 1.5, "3", True, np.nan, np.ones(2), [3], *(() if optional else (None,)))
    yield from rows(name, call, ValueError, least - 1, -3)


def option(name: str, call: Callable[[Any], Any], misspelt: str, optional: bool = False) -> Iterator[Row]:
    """An argument that is one of a few strings."""
    yield from rows(name, call, (ValueError, TypeError), misspelt, "", 3, ["l1"], *(() if optional else (None,)))


def vector(name: str, call: Callable[[Any], Any], *outside: Any) -> Iterator[Row]:
    """An argument that is a finite vector that is not empty."""
    yield from rows(name, call, TypeError, MASKED, np.array([1j, 0.0]), ["a", "b"], [1.0, None], [[1.0], [1.0, 2.0]])
    yield from rows(name, call, TypeError, np.array([True, False]), [True, False])
    yield from rows(name, call, ValueError, [np.nan, 1.0], [np.inf, 1.0], [], np.ones((2, 2, 2)), *outside)


def thing(name: str, call: Callable[[Any], Any], *wrong: Any) -> Iterator[Row]:
    """An argument that is an object of one kind, with further `wrong` values."""
    yield from rows(name, call, TypeError, None, "gauss", 3.0, [1], np.ones((50, 50)), *wrong)


def innermost(error: Exception) -> str:
    """Return the file that raised the error."""
    return traceback.extract_tb(error.__traceback__)[-1].filename


def check(group: list[Row]) -> None:
    """Check that every call raises its error from the package itself, in a few lines that name the argument."""
    wrong = [f"{bad.text} = {bad.value}: {fault}" for bad in group if (fault := _fault(bad))]
    assert not wrong, "\n".join(wrong)


def _fault(bad: Row) -> str | None:
    """Return the fault of the outcome of a bad call, or None."""
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
