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
    return [case if case in short else _long(case) for case in cases]


def _long(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
