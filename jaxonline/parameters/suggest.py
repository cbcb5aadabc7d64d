"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable
from typing import Any


def did_you_mean(value: Any, options: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the closest option, or "" without a close one.

    Example:
        >>> from jaxonline.parameters.suggest import did_you_mean
        >>> did_you_mean("variace", ["variance", "multikernel"]), did_you_mean("x", ["variance"])
        ("; did you mean 'variance'?", '')
    """
    matches = difflib.get_close_matches(value, list(options), 1) if isinstance(value, str) else []
    return f"; did you mean {matches[0]!r}?" if matches else ""
