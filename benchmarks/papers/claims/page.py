"""Page of the site with all claims and notes, from the verdicts in `results/claims.json`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.claims import errata
from benchmarks.papers.claims.erratum import KINDS
from benchmarks.papers.claims.registry import all_claims
from benchmarks.papers.claims.report import markdown_errata, markdown_table

RESULTS = Path(__file__).parents[1] / "results" / "claims.json"
_PAGE = """# What five papers claim, checked

`python -m benchmarks.papers verify` checks all claims in two to ten minutes on two cores, prints the table with second
moments, their exact values and the papers' bounds, and exits with 1 if a verdict is not the expected one. This page has
the verdicts of `python -m benchmarks.papers verify --json benchmarks/papers/results/claims.json`.

## The papers

{legend}
[Places in the code](papers.md) lists their sections, equations and theorems. In the table below, the letters stand for
the papers.

## The claims

*Printed* is the statement of the paper, *corrected* the right one, *improved* goes beyond the paper. A *control* is a
planted error, which the check must find; it belongs to no paper. A check with the word *mathematics* uses no code of
this package, so it tests the statement, not the package. E1, E2, ... are the notes below.

*Bias* is in units of the target, with the half-width of its interval; for a bound it is
value / bound - 1. *Detectable* is the minimum detectable bias, which is found with probability 0.999 or more. The
false-alarm rate of each row is at most 1e-9. No interval relies on the central limit theorem. Intervals of the methods
*kurtosis*, *second moment* and *bernstein* assume the kurtosis, the second moment or the range of the claim, which the
rows of `python -m benchmarks.papers verify --json` contain.

{table}
## Notes on the papers

These are notes for readers of the formulas. Most are small, and the last class is no error. There are {counts}.

{classes}
No row above is about {without}. `python -m benchmarks.papers reproduce multikernel` prints the table of E17 with
both kinds of forecasters.
The printed formulas, as functions, are in [the modules printed_\\*](../claims/__init__.py).

{errata}"""


def claims_page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of claims in Markdown: the papers, the table of checked claims, and the notes.

    `rows` are those of `Row.as_dict`, or of the file of `python -m benchmarks.papers verify --json`.
    """
    with_rows = {claim.erratum for claim in all_claims()}
    without = [f"E{one.number}" for one in errata.ERRATA if one.number not in with_rows]
    return _PAGE.format(
        legend=errata.legend(),
        table=markdown_table(rows),
        counts=errata.count_by_kind(),
        classes="".join(f"* **{kind}**: {meaning}\n" for kind, meaning in KINDS.items()),
        without=f"{', '.join(without[:-1])} and {without[-1]}",
        errata=markdown_errata(),
    )


def stored_rows() -> list[dict[str, Any]]:
    """Return the rows of `results/claims.json`."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))
