"""Citations in BibTeX: the papers about the methods that a result uses, and this package.

The modules of methods declare their papers; `references.bib` has the BibTeX entries.
"""

import dataclasses
import functools
import importlib
import re
import types
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from jaxonline.parameters import check
from jaxonline.parameters.citations import REFERENCES, method_names
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.results import Result, Standings
from jaxonline.simulation.planning import versions
from jaxonline.store.files import write_atomically

for _package in ("bounds", "comparators", "environments.adversaries", "estimators", "learners"):
    importlib.import_module(f"jaxonline.{_package}")  # declares the papers of its methods
METHODS = REFERENCES


@functools.cache
def entries() -> dict[str, str]:
    """Return the BibTeX text of every entry of `references.bib`, by key.

    Example:
        >>> from jaxonline.citing import entries
        >>> print(entries()["agrawal2012analysis"].splitlines()[0])
        @inproceedings{agrawal2012analysis,
    """
    text = resources.files("jaxonline").joinpath("references.bib").read_text(encoding="utf-8")
    texts = (entry.strip() for entry in re.split(r"^(?=@)", text, flags=re.MULTILINE) if entry.strip())
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in texts}


@dataclasses.dataclass(frozen=True, repr=False)
class Bibliography:
    """BibTeX entries of papers; `print` shows them as a BibTeX file.

    Attributes:
        uses: for each entry's key, the names of the methods for which the entry is cited; empty for the package itself.
        without: names of the given objects that have no known paper, such as your own learners.
    """

    uses: Mapping[str, tuple[str, ...]]
    without: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The BibTeX keys of all entries; the key of this package is the first."""
        return tuple(self.uses)

    def save(self, path: str | Path) -> Path:
        """Write the entries to a BibTeX file."""
        return write_atomically(Path(path), f"{self}\n")

    def __str__(self) -> str:
        parts = []
        for key, names in self.uses.items():
            remark = f"% {', '.join(names)}\n" if names else ""
            parts.append(remark + (entries()[key] if key in entries() else _package_entry()))
        parts += [f"% no paper is known of: {', '.join(self.without)}"] if self.without else []
        return "\n\n".join(parts)

    __repr__ = __str__


def cite(*things: Any) -> Bibliography:
    """Return the BibTeX entries of the papers about the given methods, and of this package.

    The methods of a result are those that `Result.meta` declares: its learners with their estimators, and environments
    from papers; and its interval. Methods that are used inside functions, and optax optimizers, are not cited.

    Args:
        *things: results, standings, learners, estimators, bounds, or their names; without arguments, only the entry of
            the package is returned.

    Raises:
        TypeError: an argument is not one of the objects listed above.
        ValueError: a name is not the name of a method of this package.

    Example:
        >>> import jaxonline as jo
        >>> jo.cite(jo.learners.UCB1(), jo.bounds.lai_robbins).keys
        ('jaxonline', 'auer2002finite', 'lai1985asymptotically')
        >>> print(jo.cite("Perceptron"))  # doctest: +ELLIPSIS
        @software{jaxonline,
        ...
        % Perceptron
        @article{rosenblatt1958perceptron,
          author = {Rosenblatt, Frank},
        ...
    """
    uses: dict[str, dict[str, None]] = {}
    without: dict[str, None] = {}
    for thing in things:
        for names in _methods(thing):
            known = [name for name in names if name in METHODS]
            for name in known:
                for key in METHODS[name]:
                    uses.setdefault(key, {})[name] = None
            if names and not known:
                without[names[0]] = None
    cited = {key: tuple(uses[key]) for key in sorted(uses)}
    return Bibliography({"jaxonline": (), **cited}, tuple(without))


def _methods(thing: Any) -> Iterator[list[str]]:
    """Yield one list of method names for each learner of a result and for its game, or one for any other object."""
    if isinstance(thing, Standings):
        for result in thing.results.values():
            yield from _methods(result)
    elif isinstance(thing, Result):
        declared = thing.meta.get("methods", {"game": [], "learners": {name: [name] for name in thing.learners}})
        yield from declared["learners"].values()
        yield [name for name in declared["game"] if name in METHODS]
        yield [name for name in method_names(thing.interval) if name in METHODS]
    elif isinstance(thing, str):
        if thing not in METHODS:
            suggestion = did_you_mean(thing, METHODS)
            raise ArgumentError("things", f"must name a method of this package (got {thing!r}){suggestion}")
        yield [thing]
    elif isinstance(thing, type | types.FunctionType):
        yield [thing.__name__]
    else:
        is_method = dataclasses.is_dataclass(thing) or (hasattr(thing, "update") and not isinstance(thing, Mapping))
        expected = "a result, a learner, an estimator, a bound, or the name of one"
        yield method_names(check.instance("things", thing, is_method, expected))


def _package_entry() -> str:
    version = versions().get("jaxonline")
    fields = {
        "author": "{The jaxonline authors}",
        "title": "jaxonline: The laboratory for online learning under limited information",
        **({"version": version} if version else {}),
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@software{{jaxonline,\n{lines}\n}}"
