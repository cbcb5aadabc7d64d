"""The page docs/intervals.md: its introduction, and one section per module of this package.

To add a section, write a module with the title `TITLE` and the function `section() -> str`, which returns the text
below the title, and add the module to `SECTIONS`.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.intervals import curves, means, quantiles, rankings, sequential, stopping
from benchmarks.intervals.distributions import STUDIES
from jaxonline.parameters import check

PAGE = Path(__file__).parents[2] / "docs" / "intervals.md"
SECTIONS = {
    "means": means,
    "stopping": stopping,
    "curves": curves,
    "quantiles": quantiles,
    "rankings": rankings,
    "sequential": sequential,
}
INTRODUCTION = f"""# How often do the intervals cover?

The tables show the percentage of simulated studies in which the 95 % interval contains the true value: of {STUDIES:,}
studies, if the text does not say otherwise. "Too low" is the percentage in which the whole interval lies below the true
value, which makes a regret look too small. With a correct interval, 95 % of the entries of {STUDIES:,} studies lie
between 93.6 and 96.4. `python -m benchmarks.intervals` writes this page, and a test checks it.
"""


def write_page(names: Iterable[str] = ()) -> None:
    """Simulate the named sections, or all, and write the page; other sections keep their text."""
    new = {SECTIONS[check.choice("section", name, SECTIONS)].TITLE: SECTIONS[name].section() for name in names}
    texts = sections_of(PAGE.read_text()) | new if new else {of.TITLE: of.section() for of in SECTIONS.values()}
    parts = [f"## {of.TITLE}\n\n{texts[of.TITLE].strip()}\n" for of in SECTIONS.values() if of.TITLE in texts]
    PAGE.write_text("\n".join([INTRODUCTION, *parts]))


def sections_of(page: str) -> dict[str, str]:
    """Return the sections of a page by their titles."""
    return dict(part.split("\n", 1) for part in re.split(r"(?m)^## ", page)[1:])
