"""The parts of an HTML page of results, as keyword arguments."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from jaxonline.results.report.tables import Table


class PageParts(TypedDict, total=False):
    """Keyword arguments of `results.report.page.html_page`, which describes them, without the figures."""

    sentences: Sequence[str]
    results: Mapping[str, Any] | None
    bounds: Mapping[str, Mapping[str, np.ndarray]] | None
    tables: Mapping[str, Table] | Sequence[Table]
    configuration: str
    commands: Sequence[str]
    about: Mapping[str, Any] | None
