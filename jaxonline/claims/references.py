"""The papers of the methods of this package, as their files declare them. The entries are in `references.bib`."""

import functools
import importlib
import re
from importlib import resources

from jaxonline.parameters.citations import REFERENCES

# by letter, as docstrings, claims and errata have it
OF_LETTER = {
    "A": "cesabianchi2010online", "B": "cesabianchi2010learning", "C": "cesabianchi2010efficient",
    "D": "rokhlin2025random",
}  # fmt: skip
for _package in ("bounds", "environments.adversaries", "estimators", "learners"):  # their files fill METHODS
    importlib.import_module(f"jaxonline.{_package}")
METHODS = REFERENCES


@functools.cache
def entries() -> dict[str, str]:
    """Every entry of `references.bib` by its key.

    Example:
        >>> from jaxonline.claims.references import entries
        >>> print(entries()["agrawal2012analysis"].splitlines()[0])
        @inproceedings{agrawal2012analysis,
    """
    text = resources.files("jaxonline.claims").joinpath("references.bib").read_text(encoding="utf-8")
    found = (each.strip() for each in re.split(r"^(?=@)", text, flags=re.MULTILINE) if each.strip())
    return {each.partition("{")[2].partition(",")[0]: each for each in found}
