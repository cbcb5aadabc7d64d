"""Bad calls: what a user may get wrong, and what must come of it."""

import traceback
from collections.abc import Callable, Iterator
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
    yield from rows(name, call, TypeError, None, "gauss", 3.0, [1], *wrong)


def innermost(error: Exception) -> str:
    """The file that raised."""
    return traceback.extract_tb(error.__traceback__)[-1].filename


def check(bad: Row) -> None:
    """It raises what it must, from the package's own checks, in a few lines that name the argument."""
    with pytest.raises(bad.error) as caught:
        bad.call()
    said, raised_in = str(caught.value), innermost(caught.value)
    assert Path(raised_in).is_relative_to(PACKAGE), f"raised in {raised_in}: {said}"
    assert bad.says in said, f"does not name {bad.says}: {said}"
    assert said.count("\n") < 3, f"is long: {said}"
    assert len(said) < 500, f"is long: {said}"


def names(table: list[Row]) -> list[str]:
    """Names of the rows, by which pytest calls them."""
    return [f"{i}-{bad.says}-{bad.given}" for i, bad in enumerate(table)]
