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
from jaxonline.results.statistics.means import LEAST_RUNS

PAGE = Path(__file__).parents[2] / "docs" / "intervals.md"
SECTIONS = {"means": means, "rankings": rankings, "curves": curves, "stopping": stopping, "games": games}
INTRODUCTION = f"""# How often are intervals, bands, rankings and stopping rules wrong?

The tables show percentages of simulated studies, of {STUDIES:,} studies if the text does not say otherwise. All
levels are 95 %, so 5 % should be wrong; of {STUDIES:,} studies with this error rate, 3.6 to 6.4 % are wrong.

In "8.2/8.8/58", 8.2 % of the studies are wrong without a warning, 8.8 % are wrong, and 58 % emit a
`SkewedRunsWarning`. A number alone is the percentage of wrong studies, where no study warns. With at least
{LEAST_RUNS} runs, a number with "!" is more than three standard errors above 5 %.
`python -m benchmarks.intervals` writes this page, and a test checks some lines.

| law of the runs | what it is |
| --- | --- |
| bimodal | normal with the variance 1, and 6 more with probability 0.3 |
| spikes 10% | the same, and 10 more with probability 0.1 |
| spikes 5% | the same, and 20 more with probability 0.05 |
| spikes 8% | normal with the standard deviation 0.2, and 3 more with probability 0.08 |
| events 2% | 1 with probability 0.02, else 0 |
| rare 2% | uniform with the variance 1, and 50 more with probability 0.02 |
| rare 0.4% | the same with probability 0.004 |
| Poisson | mean 0.3 |
| t | 3 degrees of freedom |
| lognormal | sigma 1.5 |
| Pareto | index 2.5 |

*Laws. Each is shifted to the mean that a section names. An event with probability q is missing from all of n runs with
probability (1 - q)^n. Then the runs cannot show it, and no warning is possible.*
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
