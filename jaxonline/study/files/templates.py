"""Templates for new study files: the shipped examples, and the ready studies in the form of files.

The command line imports this module when it starts, so this module may only import fast modules.
"""

from pathlib import Path

from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.store.output_paths import write_text
from jaxonline.study.ready import STUDY_GROUPS, load_study

SCHEMA = "study.schema.json"  # a new file refers to it in the first line
EXAMPLES = {
    "noisy-measurements": "linear prediction from noisy medical measurements",
    "noisy-kernels": "kernels on noisy instances",
    "bandits": "bandits: only the loss of the pulled arm is observed",
    "experts": "prediction with expert advice and a choice of the learning rate",
    "few-attributes": "few observed attributes of each instance, and costly labels",
    "own-data": "your own CSV file, and your own learner",
}
EXTRA_FILES = {"own-data": {"my_data.csv": "my_data.csv", "my_learner.py": "my_learner.py.txt"}}
READY_EXAMPLES = {"quickstart": "noisy-measurements"}  # ready studies that equal an example
EXAMPLES_FOLDER = Path(__file__).parents[1] / "examples"


def example_text(name: str) -> str:
    """Return the text of an example study file; raises ValueError for an unknown name."""
    if name not in EXAMPLES:
        raise ArgumentError(
            "name", f"must be one of {', '.join(EXAMPLES)} (got {name!r}){did_you_mean(name, EXAMPLES)}"
        )
    return _read_example(f"{name}.toml")


def _read_example(file: str) -> str:
    return (EXAMPLES_FOLDER / file).read_text(encoding="utf-8")


def write_study_template(name: str, out: str | None = None, source: str | None = None) -> list[Path]:
    """Write an example study file, or a ready study (`source`), and the files that it needs.

    The default of `out` is NAME.toml. Raises ValueError for an unknown name or suffix, and FileExistsError if a file
    exists (except the schema).
    """
    if source in READY_EXAMPLES:
        name = READY_EXAMPLES[source]
    text = example_text(name) if source is None or source in READY_EXAMPLES else _ready_text(source)
    path = Path(f"{source or name}.toml" if out is None else out)
    if path.suffix != ".toml":
        raise ArgumentError("out", f"must end in .toml (got '{path}')")
    files = {path: text if text.startswith("#:schema") else f"#:schema {SCHEMA}\n{text}"}
    files |= {path.parent / file: _read_example(shipped) for file, shipped in EXTRA_FILES.get(name, {}).items()}
    for file in files:
        if file.exists():
            raise FileExistsError(f"{file}: exists already; give another name with --out")
    from jaxonline.study.files.schema import write_schema  # seconds of imports

    schema = write_schema(path.parent / SCHEMA)
    return [*(write_text(file, content) for file, content in files.items()), schema]


def _ready_text(name: str) -> str:
    known = (*READY_EXAMPLES, *STUDY_GROUPS["play"])
    if name not in STUDY_GROUPS["play"]:
        raise ArgumentError("from", f"must be one of {', '.join(known)} (got {name!r}){did_you_mean(name, known)}")
    from jaxonline.study.files.writing import study_to_toml

    study = load_study(STUDY_GROUPS["play"][name])()
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
