"""Studies that are read from a file."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from pydantic_core import ValidationError

from jaxonline.game import WithFeedback
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
    """A study read from a file (`load_study_file`)."""

    source: SourceFile
    title: str
    comparison: Comparison
    options: dict[str, Any]  # of Comparison.play, and so of simulate
    seed: int
    promised: dict[str, Any]  # bounds by entry of the file
    families: dict[str, tuple[str, ...]]  # names of the learners in the result, by entry of the file
    resolved: dict[str, Any]  # the configuration with expanded grids and all defaults

    def run(self, context: Context) -> Report:
        """Run the study with the seed of the file."""
        options = dict(self.options)
        if options["precision"] is not None and isinstance(context.progress, ProgressLine):
            options["precision"] = ShownPrecision.of(options["precision"], context.progress.show_width)
        rules = [options.pop(name) for name in ("precision", "until")]
        options["stop"] = next((rule for rule in rules if rule is not None), None)
        with _errors_at_arguments(self.source):
            played = self.comparison.run(dataclasses.replace(context, seed=self.seed), **options)
        return build_report(played.result, self.title, self.bounds_on(played.etas), played.tuned)

    def watch(self) -> ProgressLine:
        """Return a progress display for this study."""
        if isinstance(self.comparison.tune, BestOf):  # which has further runs
            return ProgressLine()
        rounds = sum(map(len, self.families.values())) * self.options["n_rounds"]
        return ProgressLine(rounds, None if {"precision", "until"} & set(self.resolved) else self.options["n_runs"])

    def bounds_on(self, etas: Mapping[str, float]) -> dict[str, tuple[Any, Any]]:
        """Return, for each learner with a regret bound, the bound and the learner's step."""
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
        """Check, without simulating, that every learner fits the game and the measures; raises StudyFileError."""
        game, tune = self.comparison.game, self.comparison.tune
        entries = {name: entry for entry, names in self.families.items() for name in names}
        items: Mapping[str, Any] = self.comparison.learners  # functions of a step if `tune` is given, else learners
        for name, item in items.items():
            entry = entries.get(name) or next(e for n, e in entries.items() if n.startswith(f"{name}["))
            at: KeyPath = ("learners", entry)
            with _errors_at_key(self.source, at):
                team = as_team(game, name, item if tune is None else item(InverseSqrt(1.0)))
            for i, measure in enumerate(self.options["measures"]):
                with _errors_at_key(self.source, ("measures", i)):
                    measure.init(team.record)


@contextlib.contextmanager
def _errors_at_key(source: SourceFile, at: KeyPath) -> Iterator[None]:
    """Context manager: the message of an error inside the context names the key."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError) as error:
        of_learner = getattr(error, "argument", "").startswith("learners[")  # whose key names the learner already
        raise source.error_at(at, error.problem if of_learner else str(error)) from error  # type: ignore[union-attr]


@contextlib.contextmanager
def _errors_at_arguments(source: SourceFile) -> Iterator[None]:
    """Context manager: an error of an argument of `simulate` names the key with the argument's name."""
    try:
        yield
    except (ArgumentError, ArgumentTypeError) as error:
        if error.argument not in source.data:
            raise
        raise source.error_at((error.argument,), error.problem) from error


def _named_learners(name: str, item: Any) -> Iterator[tuple[str, Any]]:
    learner = item.learner if isinstance(item, WithFeedback) else item
    if hasattr(learner, "labels"):
        yield from (
            (f"{name}[{label}]", member) for label, member in zip(learner.labels, learner.learners, strict=True)
        )
    else:
        yield name, learner


def load_study_file(path: str | os.PathLike[str], **overrides: Unpack[keys.KeyOverrides]) -> StudyFile:
    """Read and check a study file, and build its objects, without running the study.

    Args:
        path: path of a .toml or .json file (`docs/study-files.md`), or the name of a shipped study, such as "bandits".
        overrides: values of top-level keys that replace the values in the file, such as `runs=4`.

    Raises:
        StudyFileError: the file is invalid; the message contains line and key.

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
        if key in source.data:  # the value in the file must be valid even if it is replaced
            Builder(source, 1).value(keys.STUDY[key], source.data[key], (key,))
        for other in set(keys.SIZES) - {key} if key in keys.SIZES and value is not None else ():
            source.data.pop(other, None)
        source.data[key] = value
    return StudyFile(**StudyReader(source).parts())


def _check_override(key: str, value: Any) -> None:
    """Check an override of a key; errors do not name a line, since the override is not in the file."""
    check.choice("overrides", key, keys.STUDY)
    try:
        if not keys.STUDY[key].takes & {"table", "component", "components"}:
            Builder(SourceFile(Path(), {}), 1).table({key: value}, (keys.STUDY[key],))
    except ValidationError as error:
        raise ArgumentError(key, error.errors(include_url=False)[0]["msg"]) from None
