"""The shipped study files: `jaxonline run NAME` runs a file, and `jaxonline new NAME` writes a copy to edit.

The command line imports this module when it starts, so this module may only import fast modules.
"""

from pathlib import Path

from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.store.files import write_atomically

EXAMPLES_FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = tuple(sorted(path.stem for path in EXAMPLES_FOLDER.glob("*.toml")))
EXTRA_FILES = {"own-data": {"my_data.csv": "my_data.csv", "my_learner.py": "my_learner.py.txt"}}


def example_path(name: str) -> Path:
    """Return the path of a shipped study file; raises ValueError for an unknown name."""
    if name not in EXAMPLES:
        suggestion = did_you_mean(name, EXAMPLES)
        raise ArgumentError("name", f"must be one of {', '.join(EXAMPLES)} (got {name!r}){suggestion}")
    return EXAMPLES_FOLDER / f"{name}.toml"


def write_study_template(name: str, out: str | None = None) -> list[Path]:
    """Write a copy of a shipped study file, and the files that it needs; return their paths.

    The default of `out` is NAME.toml. Raises ValueError for an unknown name or suffix, and FileExistsError if a file
    exists.
    """
    shipped, path = example_path(name), Path(f"{name}.toml" if out is None else out)
    if path.suffix != ".toml":
        raise ArgumentError("out", f"must end in .toml (got '{path}')")
    sources = {path: shipped}
    sources |= {path.parent / file: EXAMPLES_FOLDER / source for file, source in EXTRA_FILES.get(name, {}).items()}
    for file in sources:
        if file.exists():
            raise FileExistsError(f"{file}: exists already; give another name with --out")
    return [write_atomically(file, source.read_text(encoding="utf-8")) for file, source in sources.items()]
