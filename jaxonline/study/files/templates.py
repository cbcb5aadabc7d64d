"""New study files: the examples that are shipped, and ready studies written out as files.

Imported by the command line at once: nothing here takes long.
"""

from pathlib import Path

from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.store.output_paths import write_text
from jaxonline.study.ready import STUDY_GROUPS, load_study

SCHEMA = "study.schema.json"  # beside a new file, whose first line names it
EXAMPLES = {
    "noisy-measurements": "linear prediction when every medical measurement is noisy",
    "noisy-kernels": "kernels on noisy instances",
    "bandits": "arms of which one sees only the loss of the one pulled",
    "experts": "following experts, with a choice of the learning rate",
    "few-attributes": "a few attributes of each instance, and labels that cost",
    "own-data": "your own CSV file, and your own learner",
}
EXTRA_FILES = {"own-data": {"my_data.csv": "my_data.csv", "my_learner.py": "my_learner.py.txt"}}
READY_EXAMPLES = {"quickstart": "noisy-measurements"}  # a ready study that is such a file
EXAMPLES_FOLDER = Path(__file__).parents[1] / "examples"


def example_text(name: str) -> str:
    """The text of an example.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in EXAMPLES:
        raise ArgumentError(
            "name", f"must be one of {', '.join(EXAMPLES)} (got {name!r}){did_you_mean(name, EXAMPLES)}"
        )
    return _read_example(f"{name}.toml")


def _read_example(file: str) -> str:
    return (EXAMPLES_FOLDER / file).read_text(encoding="utf-8")


def write_study_template(name: str, out: str | None = None, source: str | None = None) -> list[Path]:
    """Write an example, and the files that it needs beside it, where none of them is yet.

    Args:
        name: of the example.
        out: the file; NAME.toml by default.
        source: a ready study instead of an example.

    Raises:
        ValueError: there is no such example or ready study, or the file does not end in .toml.
        FileExistsError: a file is there; the schema beside it is replaced.
    """
    if source in READY_EXAMPLES:
        name = READY_EXAMPLES[source]
    text = example_text(name) if source is None or source in READY_EXAMPLES else _ready_text(source)
    path = Path(f"{source or name}.toml" if out is None else out)
    if path.suffix != ".toml":
        raise ArgumentError("out", f"must end in .toml (got '{path}')")
    files = {path: text if text.startswith("#:schema") else f"#:schema {SCHEMA}\n{text}"}
    files |= {path.parent / file: _read_example(shipped) for file, shipped in EXTRA_FILES.get(name, {}).items()}
    for each in files:
        if each.exists():
            raise FileExistsError(f"{each}: exists already; give another name with --out")
    from jaxonline.study.files.schema import write_schema  # seconds of imports

    schema = write_schema(path.parent / SCHEMA)
    return [*(write_text(file, content) for file, content in files.items()), schema]


def _ready_text(name: str) -> str:
    """A classical game, with its defaults, as a file."""
    known = (*READY_EXAMPLES, *STUDY_GROUPS["play"])
    if name not in STUDY_GROUPS["play"]:
        raise ArgumentError("from", f"must be one of {', '.join(known)} (got {name!r}){did_you_mean(name, known)}")
    from jaxonline.study.files.writing import study_to_toml

    study = load_study(name)()
    if not hasattr(study, "setting"):
        raise ArgumentError(
            "from", f"must be a study of learners in one game (got {name!r}, which cannot be written as a file)"
        )
    setting, record_at = study.setting(), study._record_at()
    return study_to_toml(
        setting.game, setting.learners, rounds=study.rounds, runs=study.runs, title=study.title.rstrip("."),
        comparator=setting.comparator, measures=setting.measures, record_at=record_at,
        remark=f"The study of `jaxonline play {name}`, without its bounds (`jaxonline list bounds`).",
    )  # fmt: skip
