"""A study from a file: a game, learners, sizes, seed; it runs as every study does, and makes a report."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import ValidationError

from jaxonline.game import Entrant
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.simulation.sweeps import as_team
from jaxonline.study.comparison import Comparison
from jaxonline.study.files import keys
from jaxonline.study.files.builder import Builder
from jaxonline.study.files.key_lines import KeyPath
from jaxonline.study.files.progress_line import ProgressLine, ShownPrecision
from jaxonline.study.files.reading import SourceFile, read_source
from jaxonline.study.files.reporting import build_report
from jaxonline.study.files.study_reader import StudyReader
from jaxonline.study.study import Context, Report
from jaxonline.study.tuning import BestOf


class StudyFile(NamedTuple):
    """A study that was read from a file (`load_study_file`).

    Attributes:
        source: the file.
        title: of the study.
        comparison: game, learners, comparator and steps.
        options: of `Comparison.play`, and so of `simulate`.
        seed: of all randomness.
        promised: bounds by learner's name in the file.
        families: of every entry of the file, the names of its learners in the result.
        resolved: the configuration with all grids expanded and all defaults filled in.
    """

    source: SourceFile
    title: str
    comparison: Comparison
    options: dict[str, Any]
    seed: int
    promised: dict[str, Any]
    families: dict[str, tuple[str, ...]]
    resolved: dict[str, Any]

    def run(self, context: Context) -> Report:
        """Play the study, with the seed of the file."""
        options = dict(self.options)
        if options["precision"] is not None and isinstance(context.progress, ProgressLine):
            options["precision"] = ShownPrecision.of(options["precision"], context.progress.show_width)
        with _errors_at_arguments(self.source):
            found = self.comparison.run(dataclasses.replace(context, seed=self.seed), **options)
        return build_report(found.result, self.title, self.bounds_on(found.etas), found.tuned)

    def watch(self) -> ProgressLine:
        """The progress of this study."""
        if isinstance(self.comparison.tune, BestOf):  # which plays more
            return ProgressLine()
        rounds = sum(map(len, self.families.values())) * self.options["n_rounds"]
        return ProgressLine(rounds, self.options["n_runs"] if self.options["precision"] is None else None)

    def bounds_on(self, etas: Mapping[str, float]) -> dict[str, tuple[Any, Any]]:
        """Of every learner with a bound: the bound, and its step."""
        steps: dict[str, Any] = {}
        for learner, eta in etas.items():
            steps[learner] = InverseSqrt(eta)
        if self.comparison.tune is None:
            for name, item in self.comparison.learners.items():
                for team_name, learner in _named_learners(name, item):
                    steps[team_name] = getattr(learner, "step_size", None)
        return {
            name: (bound, steps.get(name)) for entry, bound in self.promised.items() for name in self.families[entry]
        }

    def check(self) -> None:
        """Check that every learner can play the game, and every measure be counted; nothing is computed.

        Raises:
            StudyFileError: one cannot.
        """
        game, tune = self.comparison.game, self.comparison.tune
        entries = {name: entry for entry, names in self.families.items() for name in names}
        for name, item in self.comparison.learners.items():
            entry = entries.get(name) or next(e for n, e in entries.items() if n.startswith(f"{name}["))
            at: KeyPath = ("learners", entry)
            with _errors_at_key(self.source, at):
                team = as_team(game, name, item if tune is None else item(InverseSqrt(1.0)))
            for i, measure in enumerate(self.options["measures"]):
                with _errors_at_key(self.source, ("measures", i)):
                    measure.init(team.record)


@contextlib.contextmanager
def _errors_at_key(source: SourceFile, at: KeyPath) -> Iterator[None]:
    """What is wrong inside is said of a key."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError) as error:
        raise source.error_at(at, str(error)) from error


@contextlib.contextmanager
def _errors_at_arguments(source: SourceFile) -> Iterator[None]:
    """What `simulate` says of an argument is said of the key of that name."""
    try:
        yield
    except (ArgumentError, ArgumentTypeError) as error:
        if error.argument not in source.data:
            raise
        raise source.error_at((error.argument,), error.problem) from error


def _named_learners(name: str, item: Any) -> Iterator[tuple[str, Any]]:
    learner = item.learner if isinstance(item, Entrant) else item
    if hasattr(learner, "labels"):
        yield from ((f"{name}[{label}]", each) for label, each in zip(learner.labels, learner.learners, strict=True))
    else:
        yield name, learner


def load_study_file(path: str | os.PathLike[str], **overrides: Any) -> StudyFile:
    """Read a study file, check all of it, and make its objects; nothing is played.

    Args:
        path: of a .toml or .json file (`docs/study-files.md`).
        overrides: top-level keys to set instead of those of the file, such as `runs=4`.

    Raises:
        StudyFileError: something is wrong: in which line, with which key.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.study import Context, load_study_file
        >>> text = '''
        ... rounds = 20
        ... runs = 4
        ... comparator = "BestArm"
        ... [game]
        ... environment = { type = "BernoulliArms", means = [0.2, 0.8] }
        ... feedback = "Bandit"
        ... loss = "ArmLoss"
        ... [learners.explore]
        ... type = "EpsilonGreedy"
        ... epsilon = [0.1, 0.2]
        ... '''
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "study.toml"
        ...     _ = file.write_text(text)
        ...     study = load_study_file(file)
        >>> list(study.run(Context()).results["result"].learners)
        ['explore[epsilon=0.1]', 'explore[epsilon=0.2]']
    """
    source = read_source(path)
    for key, value in overrides.items():
        _check_override(key, value)
        if key in source.data:  # a wrong value of the file is an error, also where another one replaces it
            Builder(source, 1).value(keys.STUDY[key], source.data[key], (key,))
        other = {"runs": "precision", "precision": "runs"}.get(key)
        source.data.pop(other, None) if other and value is not None else None
        source.data[key] = value
    return StudyFile(**StudyReader(source).parts())


def _check_override(key: str, value: Any) -> None:
    """Check a number, flag or text that stands for the one of the file: what is wrong is not said of the file."""
    check.choice("overrides", key, keys.STUDY)
    try:
        if not keys.STUDY[key].takes & {"table", "component", "components"}:
            Builder(SourceFile(Path(), {}), 1).table({key: value}, (keys.STUDY[key],))
    except ValidationError as error:
        raise ArgumentError(key, error.errors(include_url=False)[0]["msg"]) from None
