"""Pages of the five papers, section by section: code, claims and errata.

The sources are the map in `benchmarks.papers.claims.papers`, the verdicts in docs/claims.md, the errata in
`benchmarks.papers.claims.errata`, and the figures and tables in docs/gallery.md and docs/attributes.md.
"""

import functools
import importlib
import re
from pathlib import Path

from api import entries
from sources import place_of

from benchmarks.papers.claims.errata import ERRATA, PAPERS, Erratum
from benchmarks.papers.claims.papers import PLACES, Place, claims_at, defining_file
from benchmarks.papers.claims.registry import Claim, all_claims
from benchmarks.papers.claims.report import as_text

DOCS = Path(__file__).resolve().parents[1]
# the studies of the gallery that belong to a paper
STUDIES = {
    "A": ("noisy-kernels", "impossibility", "variance", "adaptive"),
    "B": ("quickstart", "gaussian-noise", "radial-kernels", "adaptive"),
    "C": ("attributes",),
    "D": ("multikernel", "multikernel-rates"),
    "E": ("mistakes", "experts", "perceptron", "bandits"),
}


def pages() -> dict[str, str]:
    """Return the pages by name."""
    index = [
        "# Five papers",
        "",
        "For each section of a paper: its code, its claims and the notes on it.",
        "",
    ]
    index += [f"* [{letter}]({letter}.md): {paper}" for letter, paper in PAPERS.items()]
    index += ["", "```{toctree}", ":hidden:", "", *PAPERS, "```", ""]
    return {"index": "\n".join(index)} | {letter: paper_page(letter) for letter in PAPERS}


def paper_page(letter: str) -> str:
    """Return the page of a paper."""
    paper = PAPERS[letter]
    lines = [f"# {letter}: {paper.title}", "", f"{paper}.", ""]
    shown: set[int] = set()
    for place in PLACES[letter]:
        errata = _errata_of(letter, place)
        shown |= {erratum.number for erratum in errata}
        lines += _place(letter, place, errata)
    rest = [erratum for erratum in ERRATA if erratum.paper == letter and erratum.number not in shown]
    if rest:
        lines += ["## Other notes", "", *(line for erratum in rest for line in _erratum(erratum))]
    lines += ["## Reproduced figures and tables", ""]
    for name in STUDIES[letter]:
        lines += [_gallery_section(name), ""]
    return "\n".join(lines) + "\n"


def _place(letter: str, place: Place, errata: list[Erratum]) -> list[str]:
    where = place.where[0].upper() + place.where[1:]
    lines = [f"## {where}: {as_text(place.what)}", ""]
    for name in place.names.split():
        lines.append(
            f"* {_reference(name)}, in [{defining_file(name).as_posix()}](../{defining_file(name).as_posix()})"
        )
    lines += [] if place.names else ["Not in the code."]
    lines += ["", f"Not shown, because {as_text(place.reason)}."] if place.reason else []
    lines += [line for erratum in errata for line in ("", *_erratum(erratum))]
    claims = claims_at(letter, place)
    if claims:
        lines += ["", "| claim | form | bias | detectable | verdict |", "| --- | --- | ---: | ---: | --- |"]
        for claim in claims:
            cells = verdicts()[_key(claim)]
            lines.append(f"| {_link(claim)} | {' | '.join((claim.form, *cells))} |")
    return [*lines, ""]


def _reference(name: str) -> str:
    """Return a name with a link to its documentation, or to its source if it is not public."""
    home, _, last = f"jaxonline.{name}".rpartition(".")
    value = getattr(importlib.import_module(home), last, None)
    entry = entries().get(id(value))
    return f"{{py:obj}}`{name} <{entry.full}>`" if entry else f"[`{name}`](../{defining_file(name).as_posix()})"


def _errata_of(letter: str, place: Place) -> list[Erratum]:
    """Return the errata of a place and of its claims."""
    keys = {key.strip().lower() for key in place.where.split(",")}
    numbers = {claim.erratum for claim in claims_at(letter, place)}
    here = {each.number for each in ERRATA if keys & set(re.split(r", | and ", each.place.lower()))}
    return [each for each in ERRATA if each.paper == letter and each.number in numbers | here]


def _erratum(each: Erratum) -> list[str]:
    note = f" {as_text(each.note)}." if each.note else ""
    return ["```{admonition} " + f"E{each.number}, {each.place} ({each.kind})", ":class: warning",
            f"Printed: {as_text(each.printed)}.", "", f"Right: {as_text(each.right)}.{note}", "```", ""]  # fmt: skip


def _gallery_section(name: str) -> str:
    """Return the section of a study in the gallery, without its code."""
    text = (DOCS / "gallery.md").read_text()
    section = next(part for part in re.split(r"^(?=### )", text, flags=re.MULTILINE) if _names(part, name))
    section = re.sub(r"^```.*?^```\n", "", section.split("\n## ")[0], flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\]\((?!http|#)([^)]+)\)", r"](../docs/\1)", section).strip()


def _names(section: str, name: str) -> bool:
    program = r"(jaxonline( run)?|python -m benchmarks\.papers reproduce)"
    return re.search(rf"^    {program} {name}\b", section, re.MULTILINE) is not None


# ---------------------------------------------------------------------------------------------------------------------
# Claims


def _key(claim: Claim) -> tuple[str, str, str]:
    return as_text(claim.name), claim.paper, claim.form


def _link(claim: Claim) -> str:
    """Return the name of a claim with a link to the code that checks it."""
    file, line = place_of(claim.check.func)  # type: ignore[attr-defined]
    return f"[{as_text(claim.name)}](source:{file}#line-{line})"


@functools.cache
def verdicts() -> dict[tuple[str, str, str], tuple[str, str, str]]:
    """Return the bias, the detectable bias and the verdict of each row of docs/claims.md."""
    cells_by_claim = {}
    for line in (DOCS / "claims.md").read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 7:
            cells_by_claim[tuple(cells[:3])] = tuple(cells[4:])
    return cells_by_claim


def claims_with_code(text: str) -> str:
    """Return the page of claims with a link to the code in each row."""
    links = {f"| {as_text(claim.name)} | {claim.paper} | {claim.form} |": claim for claim in all_claims()}
    lines = text.splitlines()
    for i, line in enumerate(lines):
        start = next((start for start in links if line.startswith(start)), None)
        if start:
            claim = links.pop(start)
            lines[i] = line.replace(f"| {as_text(claim.name)} |", f"| {_link(claim)} |", 1)
    if links:
        raise ValueError(f"docs/claims.md has no row for {', '.join(links)}")
    return "\n".join(lines) + "\n"
