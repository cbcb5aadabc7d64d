"""Pages with all claims and notes (`claims_page`), and with the places of the papers (`papers_page`).

`python -m benchmarks.papers.claims.page claims > docs/claims.md` checks all claims, and
`python -m benchmarks.papers.claims.page papers > docs/papers.md` writes the list of places.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.papers.claims.notes import KINDS, NOTES, PAPERS, count_by_kind
from benchmarks.papers.claims.places import PLACES, claims_at, defining_file, named_tests
from benchmarks.papers.claims.registry import all_claims, exit_code, run_claims
from benchmarks.papers.claims.report import as_text, markdown_table, to_markdown

_CLAIMS = """# What five papers claim, checked

Made by `python -m benchmarks.papers.claims.page claims > docs/claims.md`. `python -m benchmarks.papers verify` checks
all claims in one to ten minutes on two cores,
prints the table with second moments, their exact values and the papers' bounds, and exits with 1 if a
verdict is not the expected one.

## The papers

{papers}
[papers.md](papers.md) lists sections, equations and theorems with their places in the code.

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

Notes for readers of the formulas. Most are small, and the last class is no error. There are {counts}.

{kinds}
No row above is about {without}. `python -m benchmarks.papers reproduce multikernel` prints the table of E17 with
both kinds of forecasters.
The printed formulas, as functions named printed_\\*, are beside [the claims](../benchmarks/papers/claims).

{notes}"""
_PLACES = """# Where is each paper in the code?

`python -m benchmarks.papers.claims.page papers > docs/papers.md` generates this page. [claims.md](claims.md) explains \
the claims and the notes E1 to E{n_notes}. A study (`study.ready`) shows the statements of its row in simulations. A \
test compares the code of its row with an independent program. [Further experiments](further-experiments.md) reports \
experiments whose code has been deleted.
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
            code = ", ".join(f"[`{name}`](../{defining_file(name).as_posix()})" for name in place.names)
            claims = [as_text(name) for name in dict.fromkeys(claim.name for claim in claims_at(letter, place))]
            tests = [f"[`{name}`](../tests/{file})" for file, name in named_tests(place)]
            shown = "; ".join(claims + tests) or (as_text(f"not shown, because {place.reason}") if place.reason else "")
            lines.append((place.where, as_text(place.what), code or "not in the code", shown))
        page += f"\n## {letter}\n\n{PAPERS[letter]}.\n\n"
        page += to_markdown(("place", "what", "in the code", "claims and tests"), lines)
    return page


if __name__ == "__main__":
    if sys.argv[1:] == ["papers"]:
        print(papers_page(), end="")
    else:
        checked = run_claims()
        print(claims_page([row.as_dict() for row in checked]), end="")
        raise SystemExit(exit_code(checked))
