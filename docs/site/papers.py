"""Pages of the papers that are generated: places in the code, and claims with their verdicts and notes."""

from benchmarks.papers.claims.page import claims_page, papers_page, stored_rows

FOLDER = "benchmarks/papers/docs"
SOURCES = {  # links to the sources of these pages become links to the pages
    "benchmarks/papers/claims/places.py": f"{FOLDER}/papers.md",
    "benchmarks/papers/results/claims.json": f"{FOLDER}/claims.md",
}


def pages() -> dict[str, str]:
    """Return the pages by file."""
    return {f"{FOLDER}/papers.md": papers_page(), f"{FOLDER}/claims.md": claims_page(stored_rows())}
