"""The page docs/intervals.md: its introduction, and one section per module of this package.

To add a section, write a module with the title `TITLE` and the function `section() -> str`, which returns the text
below the title, and add the module to `SECTIONS`.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.intervals import curves, games, means, rankings, stopping
from benchmarks.intervals.laws import STUDIES
from jaxonline.parameters import check

PAGE = Path(__file__).parents[2] / "docs" / "intervals.md"
SECTIONS = {"means": means, "rankings": rankings, "curves": curves, "stopping": stopping, "games": games}
INTRODUCTION = f"""# How often are intervals, bands, rankings and stopping rules wrong?

The tables show percentages of simulated studies, of {STUDIES:,} studies if the text does not say otherwise. All
levels are 95 %, so 5 % should be wrong; of {STUDIES:,} studies with this error rate, 3.6 to 6.4 % are wrong. A number
such as "7.5 (80)" means that 7.5 % of the studies are wrong, and that 80 % emit a `SkewedRunsWarning`.

The laws are those of the runs. Their means are known, and each law is shifted to the mean that the section names.
"Uniform" has the mean 0 and the variance 1, and so has "normal"; 0.2 normal has the standard deviation 0.2. An event
with probability q is missing from all of n runs with probability (1 - q)^n. Then the runs cannot show it, and no
warning is possible. `python -m benchmarks.intervals` writes this page, and a test checks some lines.
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
