"""The shipped study files: `jaxonline run NAME` runs a file, and `jaxonline new NAME` writes a copy to edit.

The command line imports this module when it starts, so this module may only import fast modules.
"""

from pathlib import Path

from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.store.output_paths import write_text

SCHEMA = "study.schema.json"  # a new file refers to it in the first line
EXAMPLES = {
    "quickstart": "linear prediction from noisy medical measurements",
    "noisy-kernels": "kernels on noisy instances",
    "few-attributes": "few observed attributes of each instance, and costly labels",
    "own-data": "your own CSV file, and your own learner",
    "bandits": "bandits: only the loss of the pulled arm is observed",
    "delayed": "bandits whose losses arrive late",
    "best-arm": "identification of the best arm",
    "sets": "sets of arms (semi-bandits)",
    "duels": "duelling bandits",
    "contextual": "contextual bandits: arms with features",
    "experts": "prediction with expert advice",
    "tracking": "experts that are good one after the other",
    "mistakes": "mistakes of halving and weighted majority",
    "sparse": "mistakes of Winnow with few relevant attributes",
    "perceptron": "mistakes of the perceptron and its variants",
    "convex": "gradient descent, Adam and the online Newton step",
    "strongly-convex": "strongly convex losses: a regret of order ln T",
    "delayed-gradient": "gradient descent with labels that arrive late",
    "adaptive": "an adversary that reacts to the predictions",
}
EXTRA_FILES = {"own-data": {"my_data.csv": "my_data.csv", "my_learner.py": "my_learner.py.txt"}}
EXAMPLES_FOLDER = Path(__file__).parents[1] / "examples"


def example_path(name: str) -> Path:
    """Return the path of a shipped study file; raises ValueError for an unknown name."""
    if name not in EXAMPLES:
        raise ArgumentError(
            "name", f"must be one of {', '.join(EXAMPLES)} (got {name!r}){did_you_mean(name, EXAMPLES)}"
        )
    return EXAMPLES_FOLDER / f"{name}.toml"


def write_study_template(name: str, out: str | None = None) -> list[Path]:
    """Write a copy of a shipped study file, and the files that it needs.

    The default of `out` is NAME.toml. Raises ValueError for an unknown name or suffix, and FileExistsError if a file
    exists (except the schema).
    """
    shipped, path = example_path(name), Path(f"{name}.toml" if out is None else out)
    if path.suffix != ".toml":
        raise ArgumentError("out", f"must end in .toml (got '{path}')")
    sources = {path: shipped}
    sources |= {path.parent / file: EXAMPLES_FOLDER / source for file, source in EXTRA_FILES.get(name, {}).items()}
    for file in sources:
        if file.exists():
            raise FileExistsError(f"{file}: exists already; give another name with --out")
    from jaxonline.study.files.schema import write_schema  # seconds of imports

    schema = write_schema(path.parent / SCHEMA)
    return [*(write_text(file, source.read_text(encoding="utf-8")) for file, source in sources.items()), schema]
