"""Places in the papers, with the code, studies, tests and claims for them; `places.toml` contains the list."""

import importlib
import importlib.util
import inspect
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers.claims.registry import Claim, all_claims


class Place(NamedTuple):
    """A place in a paper, a summary of its content, and the names of the code and tests for it.

    Attributes:
        where: sections, equations, theorems and algorithms, separated by commas.
        what: the content of the place.
        names: dotted paths below `jaxonline`, or below `benchmarks` for `papers.`; studies show the place.
        reason: why no claim, no study and no test shows the place.
        tests: tests that show the place, each as file::function below tests/.
    """

    where: str
    what: str
    names: Sequence[str] = ()
    reason: str = ""
    tests: Sequence[str] = ()

    @property
    def keys(self) -> set[str]:
        """The parts of `where` in lower case."""
        return {key.strip().lower() for key in self.where.split(",")}


def _read_places() -> dict[str, list[Place]]:
    data = tomllib.loads(Path(__file__).with_name("places.toml").read_text(encoding="utf-8"))
    return {letter: [Place(**place) for place in places] for letter, places in data.items()}


PLACES = _read_places()


def claims_at(letter: str, place: Place) -> list[Claim]:
    """Return the claims, in all forms, whose attribute `paper` ends with the given place of the paper."""
    matches = []
    for claim in all_claims():
        source, *places = [part.strip() for part in claim.paper.split(",")]
        last = places[-1] if places else source
        if last.lower() in place.keys and source in (letter, last):
            matches.append(claim)
    return matches


def named_tests(place: Place) -> list[tuple[str, str]]:
    """Return the files below tests/ and the functions of the tests that show a place."""
    return [(file, name) for file, _, name in (test.partition("::") for test in place.tests)]


def studies_of(place: Place) -> list[str]:
    """Return the names of a place that are studies, their modules, or functions with one of their figures or tables."""
    return [name for name in place.names if name.startswith("papers.studies.")]


def defining_file(name: str) -> Path:
    """Return the file that defines a name (for a package, its folder), relative to the root of the repository."""
    parent, _, last = (f"benchmarks.{name}" if name.startswith("papers.") else f"jaxonline.{name}").rpartition(".")
    module = importlib.import_module(parent)
    spec = importlib.util.find_spec(f"{parent}.{last}") if hasattr(module, "__path__") else None
    file = Path(str(spec.origin) if spec is not None else inspect.getfile(inspect.unwrap(getattr(module, last))))
    file = file.relative_to(Path(__file__).parents[3])
    return file.parent if file.name == "__init__.py" else file
