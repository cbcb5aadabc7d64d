"""What may have been meant by a name that is not there."""

import difflib
from collections.abc import Iterable
from typing import Any


def did_you_mean(value: Any, options: Iterable[str]) -> str:
    """A suggestion for what is misspelt: "; did you mean ...?", or nothing.

    Example:
        >>> from jaxonline.parameters.suggest import did_you_mean
        >>> did_you_mean("variace", ["variance", "multikernel"]), did_you_mean("x", ["variance"])
        ("; did you mean 'variance'?", '')
    """
    near = difflib.get_close_matches(value, list(options), 1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""
