"""Bad calls: what a user may get wrong, and what must come of it."""

import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import jaxonline as jo

PACKAGE = Path(jo.__file__).parent
MASKED = np.ma.masked_array([1.0, -999.0], [False, True])
NOT_NUMBERS = ("1", 1j, True, {}, object(), [0.5], MASKED, np.array(["a"]), float)


class Row(NamedTuple):
    """A bad call, the error that must come of it, and what its message must say."""

    call: Callable[[], Any]
    error: type[Exception] | tuple[type[Exception], ...]
    says: str
    given: str


def row(call: Callable[[], Any], error: Any, says: str) -> Row:
    """A call with the one wrong argument that is in it."""
    return Row(call, error, says, "")


def rows(name: str, call: Callable[[Any], Any], error: Any, *wrong: Any) -> Iterator[Row]:
    """The same call with one wrong argument after the other."""
    for value in wrong:
        given = value.__name__ if isinstance(value, type) else " ".join(str(value).split())[:30]
        yield Row(lambda value=value: call(value), error, name, f"{type(value).__name__} {given}")


def number(name: str, call: Callable[[Any], Any], *outside: float, optional: bool = False) -> Iterator[Row]:
    """An argument that is one finite number."""
    yield from rows(name, call, TypeError, *NOT_NUMBERS, *(() if optional else (None,)))
    yield from rows(name, call, ValueError, np.nan, np.inf, np.ones(3), np.zeros((0,)), *outside)


def positive(name: str, call: Callable[[Any], Any], **options: Any) -> Iterator[Row]:
    """An argument above 0."""
    yield from number(name, call, 0.0, -1.0, -np.inf, **options)


def count(name: str, call: Callable[[Any], Any], least: int = 1, optional: bool = False) -> Iterator[Row]:
    """An argument that is an integer of at least so much."""
    yield from rows(name, call, TypeError, 1.5, "3", True, np.nan, np.ones(2), [3], *(() if optional else (None,)))
    yield from rows(name, call, ValueError, least - 1, -3)


def option(name: str, call: Callable[[Any], Any], misspelt: str, optional: bool = False) -> Iterator[Row]:
    """An argument that is one of a few words."""
    yield from rows(name, call, (ValueError, TypeError), misspelt, "", 3, ["l1"], *(() if optional else (None,)))


def vector(name: str, call: Callable[[Any], Any], *outside: Any) -> Iterator[Row]:
    """An argument that is a finite vector with an entry."""
    yield from rows(name, call, TypeError, MASKED, np.array([1j, 0.0]), ["a", "b"], [1.0, None], [[1.0], [1.0, 2.0]])
    yield from rows(name, call, TypeError, np.array([True, False]), [True, False])
    yield from rows(name, call, ValueError, [np.nan, 1.0], [np.inf, 1.0], [], np.ones((2, 2, 2)), *outside)


def thing(name: str, call: Callable[[Any], Any], *wrong: Any) -> Iterator[Row]:
    """An argument that is an object of a kind; what is `wrong` comes besides what no object is."""
    yield from rows(name, call, TypeError, None, "gauss", 3.0, [1], np.ones((50, 50)), *wrong)


def innermost(error: Exception) -> str:
    """The file that raised."""
    return traceback.extract_tb(error.__traceback__)[-1].filename


def check(group: list[Row]) -> None:
    """Every call raises what it must, from the package's own checks, in a few lines that name the argument."""
    wrong = [f"{bad.says} = {bad.given}: {fault}" for bad in group if (fault := _fault(bad))]
    assert not wrong, "\n".join(wrong)


def _fault(bad: Row) -> str | None:
    """What is wrong with what comes of a bad call, or None."""
    try:
        found = bad.call()
    except Exception as error:
        said = str(error)
        faults = {
            f"{type(error).__name__}: {said}": not isinstance(error, bad.error),
            f"raised in {innermost(error)}: {said}": not Path(innermost(error)).is_relative_to(PACKAGE),
            f"does not name {bad.says}: {said}": bad.says not in said,
            f"is long: {said}": said.count("\n") >= 3 or len(said) >= 500,
        }
        return next((fault for fault, there in faults.items() if there), None)
    return f"accepted: {found!r}"[:300]


def grouped(table: Iterable[Row]) -> list[Any]:
    """The rows of a table as parameters of a test: those of an argument together."""
    groups = (list(group) for _, group in itertools.groupby(table, lambda bad: bad.says))
    return [pytest.param(group, id=f"{i}-{group[0].says}") for i, group in enumerate(groups)]
