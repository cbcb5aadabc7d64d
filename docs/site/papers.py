"""Pages of the papers that are generated: places in the code, and claims with their verdicts and notes."""

import re
from pathlib import Path

from sources import place_of

from benchmarks.papers.claims.page import RESULTS, claims_page, papers_page, stored_rows
from benchmarks.papers.claims.places import __file__ as places_file
from benchmarks.papers.claims.registry import Claim, all_claims
from benchmarks.papers.claims.report import as_text

ROOT = Path(__file__).resolve().parents[2]
PLACES, CLAIMS = "benchmarks/papers/docs/papers.md", "benchmarks/papers/docs/claims.md"
# links to the sources of these pages become links to the pages
SOURCES = {Path(places_file).relative_to(ROOT).as_posix(): PLACES, RESULTS.relative_to(ROOT).as_posix(): CLAIMS}


def pages() -> dict[str, str]:
    """Return the pages by file; the site has no pages of tests, so their names have no links."""
    places = re.sub(r"\[(`\w+`)\]\([./]*tests/[^)]*\)", r"\1", papers_page())
    return {PLACES: places, CLAIMS: link_claims(claims_page(stored_rows()))}


def link_claims(text: str) -> str:
    """Return the page of claims with a link to the code in each row.

    Raises:
        ValueError: a claim has no row.
    """
    links = {f"| {as_text(claim.name)} | {claim.paper} | {claim.form} |": claim for claim in all_claims()}
    lines = text.splitlines()
    for i, line in enumerate(lines):
        start = next((start for start in links if line.startswith(start)), None)
        if start:
            claim = links.pop(start)
            lines[i] = line.replace(f"| {as_text(claim.name)} |", f"| {_link(claim)} |", 1)
    if links:
        raise ValueError(f"benchmarks/papers/results/claims.json has no row for {', '.join(links)}")
    return "\n".join(lines) + "\n"


def _link(claim: Claim) -> str:
    """Return the name of a claim with a link to the code that checks it."""
    file, line = place_of(claim.function)
    return f"[{as_text(claim.name)}](source:{file}#line-{line})"
