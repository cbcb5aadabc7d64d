"""What to cite: the papers of the methods that a result used, and this package, in BibTeX."""

import dataclasses
import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxonline.claims.references import METHODS, entries
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.results import Result, Standings
from jaxonline.simulation.metadata import versions
from jaxonline.store.output_paths import write_text

_CALLED = re.compile(r"\w+(?=\()")  # in the words of a result, classes with their arguments


@dataclasses.dataclass(frozen=True, repr=False)
class Bibliography:
    """Entries of BibTeX; it prints as the file.

    Attributes:
        uses: by key, the names of the methods that the entry is cited for; of the package itself none.
        without: learners and others that were given of which no paper is known here, such as your own.
    """

    uses: Mapping[str, tuple[str, ...]]
    without: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Of all entries, the package first."""
        return tuple(self.uses)

    def save(self, path: str | Path) -> Path:
        """Write the file."""
        return write_text(Path(path), f"{self}\n")

    def __str__(self) -> str:
        parts = []
        for key, names in self.uses.items():
            remark = f"% {', '.join(names)}\n" if names else ""
            parts.append(remark + (entries()[key] if key in entries() else _package()))
        parts += [f"% no paper is known of: {', '.join(self.without)}"] if self.without else []
        return "\n\n".join(parts)

    __repr__ = __str__


def cite(*things: Any) -> Bibliography:
    """BibTeX of the papers whose methods were used, and of this package.

    Of a result these are its learners with their estimators, and environments that are of a paper, as far as
    `Result.meta` names them: what is in a function of yours is not seen, and optimizers of optax are not named.

    Args:
        *things: results, what `benchmark` found, learners, estimators, bounds, or names of any of these; none for the
            entry of the package alone.

    Raises:
        TypeError: something else.
        ValueError: a name that is not known.

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
        for words in _told(thing):
            names = _CALLED.findall(words)
            arguments = (name for name in METHODS if "=" in name and re.search(rf"\b{name}\b", words))
            known = [name for name in (*names, *arguments) if name in METHODS]
            for name in known:
                for key in METHODS[name]:
                    uses.setdefault(key, {})[name] = None
            if names and not known:
                without[names[0]] = None
    cited = {key: tuple(uses[key]) for key in sorted(uses)}
    return Bibliography({"jaxonline": (), **cited}, tuple(without))


def _told(thing: Any) -> Iterator[str]:
    """What a thing says of its methods, each in words such as a result has: "UCB1(exploration=2.0)"."""
    if isinstance(thing, Standings):
        for result in thing.results.values():
            yield from _told(result)
    elif isinstance(thing, Result):
        yield from thing.meta.get("learners", {}).values()
        environment = thing.meta.get("game", "")
        yield from (f"{name}()" for name in dict.fromkeys(_CALLED.findall(environment)) if name in METHODS)
    elif isinstance(thing, str):
        if thing not in METHODS:
            raise ArgumentError(
                "things", f"must name a method of this package (got {thing!r}){did_you_mean(thing, METHODS)}"
            )
        yield f"{thing}()"
    elif isinstance(thing, type | types.FunctionType):
        yield f"{thing.__name__}()"
    else:
        own = dataclasses.is_dataclass(thing) or hasattr(thing, "update")
        wanted = "a result, a learner, an estimator, a bound, or the name of one"
        yield short_repr(check.instance("things", thing, own, wanted))


def _package() -> str:
    """The entry of this package."""
    version = versions().get("jaxonline")
    fields = {
        "author": "{The jaxonline authors}",
        "title": "jaxonline: The laboratory for online learning under limited information",
        **({"version": version} if version else {}),
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@software{{jaxonline,\n{lines}\n}}"
