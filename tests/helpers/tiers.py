"""Two tiers of a parametrised test: some cases in `make test`, the others in `make test-all`."""

from collections.abc import Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], *short: Any) -> list[Any]:
    """The cases, of which those not named in `short` are long."""
    cases = list(cases)
    missing = [case for case in short if case not in cases]
    if missing:
        raise ValueError(f"there is no case {missing[0]!r} among {cases}")
    long = (case if isinstance(case, tuple) else (case,) for case in cases)
    marked = (pytest.param(*values, marks=pytest.mark.long) for values in long)
    return [case if case in short else param for case, param in zip(cases, marked, strict=True)]
