"""Pages of the site with all claims and notes, from the verdicts in `results/claims.json`, and with the places."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.claims.notes import KINDS, NOTES, PAPERS, count_by_kind
from benchmarks.papers.claims.places import PLACES, claims_at, defining_file, named_tests
from benchmarks.papers.claims.registry import all_claims
from benchmarks.papers.claims.report import as_text, markdown_table, to_markdown

RESULTS = Path(__file__).parents[1] / "results" / "claims.json"
_UP = "../../../"  # from the folder of the pages, benchmarks/papers/docs, to the root of the repository
_CLAIMS = """# What five papers claim, checked

`python -m benchmarks.papers verify` checks all claims in two to ten minutes on two cores, prints the table with second
moments, their exact values and the papers' bounds, and exits with 1 if a verdict is not the expected one. This page has
the verdicts of `python -m benchmarks.papers verify --json benchmarks/papers/results/claims.json`.

## The papers

{papers}
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

{kinds}
No row above is about {without}. `python -m benchmarks.papers reproduce multikernel` prints the table of E17 with
both kinds of forecasters.
The printed formulas, as functions named printed_\\*, are beside [the claims](../claims/__init__.py).

{notes}"""
_PLACES = """# Where is each paper in the code?

[Claims](claims.md) explains the claims and the notes E1 to E{n_notes}. A study (`papers.studies`) shows the \
statements of its row in simulations. A test compares the code of its row with an independent program. \
[Further experiments](further-experiments.md) reports experiments whose code has been deleted.
"""


def claims_page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of claims in Markdown: the papers, the table of checked claims, and the notes.

    `rows` are those of `Row.as_dict`, or of the file of `python -m benchmarks.papers verify --json`.
    """
    with_rows = {claim.note for claim in all_claims()}
    without = [f"E{note.number}" for note in NOTES if note.number not in with_rows]
    return _CLAIMS.format(
        papers="".join(f"* **{letter}**: {paper}\n" for letter, paper in PAPERS.items()),
        table=markdown_table(rows),
        counts=count_by_kind(),
        kinds="".join(f"* **{name}**: {kind.meaning}\n" for name, kind in KINDS.items()),
        without=f"{', '.join(without[:-1])} and {without[-1]}",
        notes=notes_table(),
    )


def notes_table() -> str:
    """Return the notes as a table in Markdown."""
    lines = []
    for note in NOTES:
        texts = map(as_text, (note.printed, note.right, note.note))
        lines.append([f"E{note.number}", f"{note.paper}, {note.place}", note.kind, *texts])
    return to_markdown(["", "paper", "class", "printed", "right", "note"], lines)


def papers_page() -> str:
    """Return the page of places in Markdown."""
    page = _PLACES.format(n_notes=len(NOTES))
    for letter, places in PLACES.items():
        lines = []
        for place in places:
            code = ", ".join(f"[`{name}`]({_UP}{defining_file(name).as_posix()})" for name in place.names)
            claims = [as_text(name) for name in dict.fromkeys(claim.name for claim in claims_at(letter, place))]
            tests = [f"[`{name}`]({_UP}tests/{file})" for file, name in named_tests(place)]
            shown = "; ".join(claims + tests) or (as_text(f"not shown, because {place.reason}") if place.reason else "")
            lines.append((place.where, as_text(place.what), code or "not in the code", shown))
        page += f"\n## {letter}: {PAPERS[letter].title}\n\n{PAPERS[letter]}.\n\n"
        page += to_markdown(("place", "what", "in the code", "claims and tests"), lines)
    return page


def stored_rows() -> list[dict[str, Any]]:
    """Return the rows of `results/claims.json`."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))
