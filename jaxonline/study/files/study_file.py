"""Studies that are read from a file."""

import dataclasses
import functools
import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic
from pydantic import Field

from jaxonline.bounds.theorem import Bound
from jaxonline.game import Game, WithFeedback
from jaxonline.learners import Constant, InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import did_you_mean
from jaxonline.results import Result
from jaxonline.results.quantities import default_quantity
from jaxonline.results.report.summary import horizon_table, notes_of
from jaxonline.results.report.tables import Table
from jaxonline.results.tuned import Tuned
from jaxonline.simulation import Precision, UntilDecided, sweep
from jaxonline.study.files.builder import Builder
from jaxonline.study.files.catalogue import as_entry
from jaxonline.study.files.source import KeyPath, SourceFile, read_source
from jaxonline.study.study import Context, Report, best_step, first_error, folder_name, ignore_skewness_warnings

STOPPING_RULES = {"precision": Precision, "until": UntilDecided}
MAX_TITLE, MAX_NAME = 500, 200  # letters
MOST_RUNS = 100_000  # by default, if a stopping rule decides how many runs there are
Size = Annotated[int, Field(ge=1, le=10**9)]
Keys = dict[str, Any]


class StudyKeys(pydantic.BaseModel):
    """The keys of a study file, with their types and descriptions (`jaxonline list study`)."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    title: str = Field("", max_length=MAX_TITLE, description="title of the study, at most 500 letters.")
    rounds: Size = Field(description="number of rounds of a run (the horizon).")
    runs: Size | None = Field(None, description="number of runs of each learner, unless precision or until is given.")
    precision: Keys | None = Field(None, description="instead of runs: keys of jo.Precision, and most_runs.")
    until: Keys | None = Field(None, description="instead of runs: keys of jo.UntilDecided, and most_runs.")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of all random numbers.")
    record_at: int | list[int] = Field(40, description="number of recorded rounds, or a list of the recorded rounds.")
    spacing: Literal["linear", "log"] = Field("linear", description="spacing of the recorded rounds: linear or log.")
    game: Keys = Field(description="the game: environment, feedback, loss and pseudo, as in jo.Game.")
    learners: Keys = Field(min_length=1, description="type and parameters by name; a list of values: several learners.")
    comparator: Any = Field(None, description="comparator of the regret; without a comparator, losses are compared.")
    bounds: Keys = Field({}, description="regret bounds of theorems, by learner.")
    measures: list[Any] = Field([], description="further quantities to record.")
    tune: float | Keys | None = Field(None, description="eta of steps eta / sqrt(t): one, one by learner, or best_of.")
    block_size: Size | None = Field(None, description="number of runs computed together; it changes the last bits.")


class StudyFile(NamedTuple):
    """A study read from a file (`load_study_file`)."""

    source: SourceFile
    keys: StudyKeys
    game: Game
    learners: dict[str, Any]  # as in `simulate`
    members: dict[str, Any]  # learners by their names in the result, without their feedback
    families: dict[str, tuple[str, ...]]  # names of the learners in the result, by entry of the file
    bounds: dict[str, Any]  # regret bounds by entry of the file
    options: dict[str, Any]  # of `simulate`
    etas: list[float]  # candidates of the steps, if these are chosen

    def run(self, context: Context) -> Report:
        """Run the study with the seed of the file, in a context with any seed.

        Raises:
            StudyFileError: a learner or the comparator does not fit the game, or a number does not fit the study.
        """
        context = dataclasses.replace(context, seed=self.keys.seed)
        steps = {name: getattr(learner, "step_size", None) for name, learner in self.members.items()}
        tuned: dict[str, Tuned] = {}
        try:
            if not self.etas:
                result = context.simulate(self.game, self.learners, **self.options)
            else:
                sizes = {"n_runs": self.options["n_runs"], "n_rounds": max(self.keys.rounds // 4, 1)}
                with context.parts(len(self.learners) + 1) as part:
                    for name, learner in self.learners.items():
                        tuned[name] = best_step(self.game, learner, self.etas, part(f"steps of {name}"), **sizes)
                        steps[name] = InverseSqrt(tuned[name].choice["step_size.eta"])
                    learners = {name: search.learner for name, search in tuned.items()}
                    result = part("best").simulate(self.game, learners, **self.options)
        except (ValueError, TypeError, ArithmeticError) as error:
            at = self._key_of(getattr(error, "argument", ""))
            if not at:
                raise
            raise self.source.error(at, error.problem) from error  # type: ignore[union-attr]
        bounds = {
            name: bound_curve(bound, steps[name], result.rounds)
            for entry, bound in self.bounds.items()
            for name in self.families[entry]
        }
        return study_report(result, self.keys.title, bounds, tuned)

    def _key_of(self, argument: str) -> KeyPath:
        """Return the key of an argument of `simulate`; () if the error is not about the file."""
        name, _, item = argument.partition("[")
        if name in ("n_runs", "stop"):
            name = next((rule for rule in STOPPING_RULES if getattr(self.keys, rule)), "runs")
        item = item.rstrip("]").strip("'\"")
        entry = next((entry for entry, names in self.families.items() if item in (entry, *names)), None)
        return () if name not in self.source.data else (name, entry) if name == "learners" and entry else (name,)


def load_study_file(path: str | os.PathLike[str], **overrides: Any) -> StudyFile:
    """Read a study file and build its objects, without running the study.

    Args:
        path: path of a .toml file (`docs/study-files.md`), or the name of a shipped study, such as "bandits".
        overrides: values of top-level keys that replace the values in the file, such as `runs=4`.

    Raises:
        StudyFileError: the file is invalid; the message contains line and key.
        ArgumentError: a value in `overrides` is invalid.

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
    source = read_source(str(check.path("path", path)))
    replaced = STOPPING_RULES if "runs" in overrides else ()
    data = {key: value for key, value in source.data.items() if key not in replaced} | overrides
    try:
        keys = StudyKeys(**data)
    except pydantic.ValidationError as errors:
        error: Any = first_error(errors, StudyKeys.model_fields)
        if error.argument in overrides:
            raise error from None
        raise source.error((error.argument,), error.problem) from None
    given = [name for name in ("runs", *STOPPING_RULES) if getattr(keys, name) is not None]
    if len(given) != 1:
        words = f"must be left out beside {given[0]}" if given else "or precision or until must be given (got none)"
        raise source.error((given[1] if given else "runs",), words)
    return _Reader(source, keys).read()


class _Reader:
    """Builds the objects of a study file from its keys."""

    def __init__(self, source: SourceFile, keys: StudyKeys):
        self.source, self.keys, self.builder = source, keys, Builder(source, keys.rounds)

    def read(self) -> StudyFile:
        keys, build = self.keys, self.builder.build
        game = self.builder.call(as_entry("game", Game), keys.game, ("game",))
        options = {"n_runs": keys.runs, "n_rounds": keys.rounds, "record_at": keys.record_at, "spacing": keys.spacing,
                   "block_size": keys.block_size, **self.stopping_rule()}  # fmt: skip
        options["comparator"] = None if keys.comparator is None else build(keys.comparator, ("comparator",))
        options["measures"] = [build(measure, ("measures", i)) for i, measure in enumerate(keys.measures)]
        learners, members, families = {}, {}, {}
        steps, etas = self.steps()
        for name, table in keys.learners.items():
            if len(name) > MAX_NAME:
                words = f"must have names of at most {MAX_NAME} letters (got {len(name):,})"
                raise self.source.error(("learners",), words)
            built, entries = self.learner(name, table, steps.get(name), separate=bool(etas))
            if set(built) & set(members):
                raise self.source.error(("learners", name), f"must have a name of its own (got {', '.join(built)})")
            learners, members, families[name] = learners | entries, members | built, tuple(built)
        bounds = {}
        for name, bound in keys.bounds.items():
            if name not in families:
                raise self.source.error(("bounds", name), f"must name a learner{did_you_mean(name, families)}")
            bounds[name] = build(bound, ("bounds", name))
            self.check_arms(("bounds", name), bound, game)
        return StudyFile(self.source, keys, game, learners, members, families, bounds, options, etas)

    def check_arms(self, at: KeyPath, bound: Any, game: Game) -> None:
        """Check that the bound of a bandit algorithm is for the number of arms of the game."""
        sizes = getattr(game.specs.outcome, "shape", ())
        for key in {"n_arms", "gaps", "means"}.intersection(bound) if sizes and isinstance(bound, dict) else ():
            n_arms = len(bound[key]) if isinstance(bound[key], list) else bound[key]
            if n_arms != sizes[0]:  # type: ignore
                raise self.source.error((*at, key), f"must be for the {sizes[0]} arms of the game (got {n_arms} arms)")  # type: ignore

    def stopping_rule(self) -> dict[str, Any]:
        """Return the options of `simulate` for the key `precision` or `until`."""
        for name, make in STOPPING_RULES.items():
            table = getattr(self.keys, name)
            if table is not None:
                rule = {key: value for key, value in table.items() if key != "most_runs"}
                most = table.get("most_runs", MOST_RUNS)
                return {"stop": self.builder.call(as_entry(name, make), rule, (name,)), "n_runs": most}
        return {}

    def steps(self) -> tuple[dict[str, float], list[float]]:
        """Return eta of each learner whose step the key `tune` sets, and the candidates if the best one is chosen."""
        tune, names = self.keys.tune, self.keys.learners
        with self.source.errors_at(("tune",)):
            if isinstance(tune, dict) and set(tune) == {"best_of"}:
                if not isinstance(tune["best_of"], list) or not tune["best_of"]:
                    raise ValueError(f"best_of must be a list of numbers (got {check.quote(tune['best_of'])})")
                return dict.fromkeys(names, 1.0), [float(np.asarray(InverseSqrt(eta).eta)) for eta in tune["best_of"]]
            etas = dict.fromkeys(() if tune is None else names, tune) if not isinstance(tune, dict) else tune
            if tune is not None and set(etas) != set(names):
                raise ValueError(f"must have an eta for each learner (got {', '.join(etas)}, not {', '.join(names)})")
            return {name: float(np.asarray(InverseSqrt(eta).eta)) for name, eta in etas.items()}, []  # type: ignore[arg-type]

    def learner(
        self, name: str, value: Any, eta: float | None, separate: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the learners of an entry by name, and these learners grouped into sweeps, with their feedback."""
        at, table, feedback = ("learners", name), {"type": value} if isinstance(value, str) else value, None
        if isinstance(table, dict) and "feedback" in table:
            feedback = self.builder.build(table["feedback"], (*at, "feedback"))
            table = {key: item for key, item in table.items() if key != "feedback"}
        if isinstance(table, dict) and eta is not None:
            if "step_size" in table:
                raise self.source.error((*at, "step_size"), "must be left out, since tune sets it")
            table = table | {"step_size": {"type": "InverseSqrt", "eta": eta}}
        points = self.builder.expand(name, table, at)
        built = {full_name: self.builder.build(point, at) for full_name, (_, _, point) in points.items()}
        groups: dict[str, dict[str, str]] = {}
        for full_name, (group, label, _) in points.items():
            groups.setdefault(group, {})[label] = full_name
        entries: dict[str, Any] = {}
        for group, names in groups.items():
            alone = {full_name: built[full_name] for full_name in names.values()}
            swept = dict(zip(names, alone.values(), strict=True))
            try:
                entries |= alone if separate or len(alone) == 1 else {group: sweep(swept)}
            except ValueError:  # they also differ in other fields: one program each
                entries |= alone
        if feedback is not None:
            entries = {group: WithFeedback(learner, feedback) for group, learner in entries.items()}
        return built, entries


# ---------------------------------------------------------------------------------------------------------------------
# The report: tables, figures and numbers of a result.


def study_report(
    result: Result, title: str, bounds: Mapping[str, np.ndarray], tuned: Mapping[str, Tuned] | None = None
) -> Report:
    """Return the report of a study's result; the study may be unfinished.

    Args:
        result: the result.
        title: title of the study.
        bounds: regret bound at each recorded round [G] by learner; NaN or infinite where the theorem says nothing.
        tuned: the search for the step of each learner.
    """
    bounds = {name: curve for name, curve in bounds.items() if name in result.learners}
    lines = {name: curve for name, curve in bounds.items() if np.isfinite(curve).all()}
    last = {name: float(curve[-1]) for name, curve in bounds.items() if np.isfinite(curve[-1])}
    quantity = default_quantity(result)
    plain = [name for name, values in result.measures.items() if values.ndim == 3 and re.fullmatch(r"[^_ ][^ ]*", name)]
    further = [name for name in plain if name not in ("cumulative_loss", "queries")]
    with ignore_skewness_warnings(), np.errstate(invalid="ignore"):  # stopping rounds may be infinite
        tables = {"table": horizon_table(result, bounds=last)}
        means, others = result.mean(quantity), {name: result.mean(name).mean[:, -1].tolist() for name in further}
    if further:
        rows = ({"learner": name} | {of: others[of][i] for of in further} for i, name in enumerate(result.learners))
        tables["measures"] = Table("Means of further measures after the last round", list(rows))
    numbers = {
        "title": title, "rounds": result.rounds, "runs": len(result.runs), "quantity": quantity, "learners": {
            name: {"mean": means.mean[i], "low": means.low[i], "high": means.high[i], "bound": bounds.get(name)}
            for i, name in enumerate(result.learners)
        },
    }  # fmt: skip
    sentences = [f"{note[0].upper()}{note[1:]}." for note in notes_of(result)]
    if len(last) < len(bounds):
        unknown = ", ".join(name for name in bounds if name not in last)
        sentences.append(f"The bounds do not cover the steps of {unknown}.")
    if tuned:
        etas = ", ".join(f"{name}: {search.choice['step_size.eta']:g}" for name, search in tuned.items())
        sentences.append(f"Steps are eta / sqrt(t), chosen in other runs ({etas}).")
        at_edge = ", ".join(name for name, search in tuned.items() if search.at_edge)
        sentences += [f"The best step is the smallest or largest one tried: {at_edge}."] if at_edge else []

    def plot(quantity: str, **options: Any) -> Any:
        with ignore_skewness_warnings(), np.errstate(invalid="ignore"):
            return result.plot(quantity=quantity, **options)

    figures = {"figure": lambda: plot(quantity, bounds=lines or None, title=title or None)}
    figures |= {f"figure-{folder_name(name)}": functools.partial(plot, name) for name in further}
    return Report(tables, figures, sentences, {"result": result}, numbers, title=title)


def bound_curve(bound: Any, step: Any, rounds: np.ndarray) -> np.ndarray:
    """Return a regret bound at each round; NaN if unknown, NaN or inf if the theorem does not cover the step."""
    steps = bound.steps if isinstance(bound, Bound) else ()
    if "eta" in steps and isinstance(step, InverseSqrt):
        return np.asarray(bound.at_rounds(rounds, eta=float(np.asarray(step.eta))))
    if "step_size" in steps and isinstance(step, Constant):
        return np.asarray(bound.at_rounds(rounds, step_size=float(np.asarray(step.value))))
    if isinstance(bound, Bound) and bound.curve is not None and not steps:
        return np.asarray(bound.at_rounds(rounds))
    curve = np.full(len(rounds), np.nan)
    if "step_size" not in steps or step is None:  # otherwise the theorem is for other steps
        curve[-1] = float(bound)
    return curve
