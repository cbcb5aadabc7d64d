"""What may have been meant by a name that is not there."""

import difflib
from collections.abc import Iterable
from typing import Any


def meant(value: Any, options: Iterable[str]) -> str:
    """A suggestion for what is misspelt: "; did you mean ...?", or nothing.

    Example:
        >>> from jaxonline.parameters.suggest import meant
        >>> meant("variace", ["variance", "multikernel"]), meant("x", ["variance"])
        ("; did you mean 'variance'?", '')
    """
    near = difflib.get_close_matches(value, list(options), 1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""
