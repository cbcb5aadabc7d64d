"""Papers about the methods of this package, as their modules declare them; `references.bib` has the BibTeX entries."""

import functools
import importlib
import re
from importlib import resources

from jaxonline.parameters.citations import REFERENCES

# By letter, as in docstrings, claims and errata.
KEYS_BY_LETTER = {
    "A": "cesabianchi2010online", "B": "cesabianchi2010learning", "C": "cesabianchi2010efficient",
    "D": "rokhlin2025random",
}  # fmt: skip
for _package in (
    "bounds",
    "comparators",
    "environments.adversaries",
    "estimators",
    "learners",
):  # their files fill METHODS
    importlib.import_module(f"jaxonline.{_package}")
METHODS = REFERENCES


@functools.cache
def entries() -> dict[str, str]:
    """Return the BibTeX text of every entry of `references.bib`, by key.

    Example:
        >>> from jaxonline.claims.references import entries
        >>> print(entries()["agrawal2012analysis"].splitlines()[0])
        @inproceedings{agrawal2012analysis,
    """
    text = resources.files("jaxonline.claims").joinpath("references.bib").read_text(encoding="utf-8")
    texts = (entry.strip() for entry in re.split(r"^(?=@)", text, flags=re.MULTILINE) if entry.strip())
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in texts}
