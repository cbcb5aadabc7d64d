"""Conversion of the keys of a study file to the objects of a study."""

from collections.abc import Callable, Mapping
from typing import Any

from jaxonline.game import Game, WithFeedback
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import did_you_mean
from jaxonline.parameters.signatures import Parameter
from jaxonline.study.comparison import Comparison
from jaxonline.study.files import grids, keys
from jaxonline.study.files.builder import Builder
from jaxonline.study.files.key_lines import KeyPath
from jaxonline.study.files.models import BuiltObject, to_toml
from jaxonline.study.files.reading import SourceFile
from jaxonline.study.tuning import BestOf

ARMS_KEYS = frozenset({"n_arms", "gaps", "means"})  # keys of bounds: the number of arms, or a number of each arm


class StudyReader:
    """Reads and checks the keys of a file, and builds the fields of a `StudyFile`."""

    def __init__(self, source: SourceFile):
        self.source = source
        rounds = source.data.get("rounds")
        self.build = Builder(source, rounds if type(rounds) is int and rounds > 0 else 1)
        defaults = {name: BuiltObject(key.default, to_toml(key.default)) for name, key in keys.STUDY.items()}
        self.top = defaults | self.build.keys(keys.STUDY, source.data, ())

    def parts(self) -> dict[str, Any]:
        """Return the fields of a `StudyFile`."""
        runs, rules, sizes = self.sizes()
        game, resolved_game = self.top_table("game", keys.GAME, Game)
        self.check_record_at()
        values = {name: built.value for name, built in self.top.items()}
        plain = ("record_at", "spacing", "block_size")
        options = {"n_runs": runs, "n_rounds": self.build.horizon, **rules,
                   "measures": list(values["measures"]), **{key: values[key] for key in plain}}  # fmt: skip
        tune, resolved_tune = self.tune()
        learners, families, resolved_learners = self.learners(tune is not None)
        if isinstance(tune, dict):
            self.check_tuned(tune, learners)
        promised = self.bounds(families, game)
        comparison = Comparison(game, learners, values["comparator"], tune=tune)
        resolved = {
            name: built.resolved for name, built in self.top.items() if name in self.source.data or name in plain
        }
        first = {"title": values["title"], "rounds": self.build.horizon, **sizes, "seed": values["seed"]}
        resolved = first | resolved | sizes | {
            "game": resolved_game, "tune": resolved_tune, "learners": resolved_learners,
            "bounds": {name: built.resolved for name, built in promised.items()},
        }  # fmt: skip
        return {
            "source": self.source, "title": values["title"], "comparison": comparison, "options": options,
            "seed": values["seed"], "promised": {name: built.value for name, built in promised.items()},
            "families": families, "resolved": resolved,
        }  # fmt: skip

    def sizes(self) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """Return the number of runs (the maximum, with a stopping rule), the rules, and their configuration."""
        data, rules = self.source.data, {"precision": None, "until": None}
        given = [name for name in keys.SIZES if name in data]
        if len(given) != 1:
            words = "or precision or until must be given (got none)"
            if given:
                words = f"must be left out beside {given[1]} (got both)"
            raise self.source.error_at((given[0] if given else "runs",), words)
        name = given[0]
        if keys.SIZES[name] is None:
            return data[name], rules, {name: data[name]}
        parameters, make = keys.SIZES[name]
        most = data[name].get("most_runs", parameters["most_runs"].default)
        rule, resolved = self.top_table(name, parameters, make, ("most_runs",))
        return most, rules | {name: rule}, {name: resolved | {"most_runs": most}}

    def top_table(
        self, name: str, parameters: Mapping[str, Parameter], make: Callable[..., Any], beside: tuple[str, ...] = ()
    ) -> tuple[Any, dict[str, Any]]:
        """Return the object that a top-level table describes, and its configuration."""
        given = self.build.keys(parameters, self.source.data[name], (name,))
        arguments = {key: built.value for key, built in given.items() if key not in beside}
        resolved = {
            key: given[key].resolved if key in given else to_toml(parameter.default)
            for key, parameter in parameters.items()
        }
        return self.build.call(name, make, arguments, (name,)), resolved

    def check_record_at(self) -> None:
        """Check that the recorded rounds in the key record_at are rounds of the study."""
        value, horizon = self.source.data.get("record_at", 40), self.build.horizon
        for i, t in enumerate(value if isinstance(value, list) else ()):
            if type(t) is not int or not 1 <= t <= horizon:
                words = f"must be a round from 1 to {horizon} (got {check.quote(t)})"
                raise self.source.error_at(("record_at", i), words)
        self.top["record_at"] = BuiltObject(value, value)

    def tune(self) -> tuple[Any, Any]:
        """Return the tuning (one eta, one eta for each learner, or a `BestOf`), and its configuration."""
        given = self.source.data.get("tune")
        if not isinstance(given, dict):
            return given if given is None else float(given), given
        if "best_of" not in given:
            eta = keys.STUDY["tune"]._replace(takes=frozenset({"number"}))
            etas = {name: self.build.value(eta, value, ("tune", name)).value for name, value in given.items()}
            if not etas:
                raise self.source.error_at(("tune",), "must have an eta for each learner, or best_of (got none)")
            return etas, etas
        self.build.keys(keys.TUNE, given, ("tune",))
        if not isinstance(given["best_of"], list):
            raise self.source.error_at(("tune", "best_of"), f"must be a list of numbers (got {given['best_of']})")
        grids.check_axis(self.build, ("tune", "best_of"), given["best_of"])
        etas = [float(eta) for eta in given["best_of"]]
        runs = given.get("runs", keys.TUNE["runs"].default)
        return BestOf({grids.format_in_name(eta): eta for eta in etas}, runs), {"best_of": etas, "runs": runs}

    def learners(self, tuned: bool) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], dict[str, Any]]:
        """Return learners (functions of a step if `tuned`), the learners' names by entry, and configurations."""
        tables = self.source.data["learners"]
        if not tables:
            raise self.source.error_at(("learners",), "must have at least one learner (got none)")
        learners: dict[str, Any] = {}
        families: dict[str, tuple[str, ...]] = {}
        resolved: dict[str, Any] = {}
        for entry, table in tables.items():
            at: KeyPath = ("learners", entry)
            if not entry.strip():
                raise self.source.error_at(at, f"must have a nonempty name (got {entry!r})")
            points = grids.expand_grid(self.build, entry, table, at, len(resolved))
            by_name = {grids.learner_name(entry, point): point for point in points}
            clash = next((name for name in by_name if name in resolved), None)
            if clash is not None:
                raise self.source.error_at(
                    at, f"must have another name, as another entry makes the same learner (got {clash!r})"
                )
            feedback = None
            if isinstance(table, dict) and "feedback" in table:
                feedback = self.build.component(table["feedback"], (*at, "feedback"), ("feedback",))
            if tuned:
                makes = {name: self.for_step(point.table, at) for name, point in by_name.items()}
                built = {name: make(InverseSqrt(1.0)) for name, make in makes.items()}
                members: dict[str, Any] = {name: _with_feedback(make, feedback) for name, make in makes.items()}
            else:
                built = {name: self.build.component(point.table, at, ("learner",), ("feedback",))
                         for name, point in by_name.items()}  # fmt: skip
                members = grids.group_into_sweeps(entry, built, by_name)
                members = {
                    name: WithFeedback(learner, feedback.value) if feedback else learner
                    for name, learner in members.items()
                }
            learners |= members
            families[entry] = tuple(by_name)
            beside = {"feedback": feedback.resolved} if feedback else {}
            resolved |= {name: component.resolved | beside for name, component in built.items()}
        return learners, families, resolved

    def for_step(self, table: Any, at: KeyPath) -> Callable[[Any], BuiltObject]:
        """Return a learner as a function of the step size that `tune` supplies."""
        table = {"type": table} if isinstance(table, str) else table
        if isinstance(table, dict) and "step_size" in table:
            raise self.source.error_at((*at, "step_size"), "must be left out, since tune sets it")

        def make(step: Any) -> BuiltObject:
            step_size = {"type": "InverseSqrt", "eta": float(step.eta)}
            with_step = {**table, "step_size": step_size} if isinstance(table, dict) else table
            return self.build.component(with_step, at, ("learner",), ("feedback",))

        return make

    def check_tuned(self, etas: Mapping[str, float], learners: Mapping[str, Any]) -> None:
        """Check that the names in the table [tune] are exactly the names of the learners."""
        for name in etas:
            if name not in learners:
                raise self.source.error_at(
                    ("tune", name), f"must name a learner of this study (got {name!r}){did_you_mean(name, learners)}"
                )
        for name in learners:
            if name not in etas:
                raise self.source.error_at(("tune",), f"must have an eta for each learner (got none for {name!r})")

    def bounds(self, families: Mapping[str, tuple[str, ...]], game: Game) -> dict[str, BuiltObject]:
        """Return the regret bounds of the table [bounds], by the name of the learner's entry."""
        bounds = {}
        for name, table in (self.top["bounds"].value or {}).items():
            if name not in families:
                known = ", ".join(map(repr, families))
                raise self.source.error_at(
                    ("bounds", name),
                    f"must name a learner of this study, {known} (got {name!r}){did_you_mean(name, families)}",
                )
            bounds[name] = self.build.component(table, ("bounds", name), ("bound",))
            self.check_arms(("bounds", name), bounds[name].resolved, game)
        return bounds

    def check_arms(self, at: KeyPath, bound: Mapping[str, Any], game: Game) -> None:
        """Check that the bound of a bandit algorithm is for the number of arms of the game."""
        n_arms = next(iter(getattr(game.specs.outcome, "shape", ())), None)
        for key in ARMS_KEYS.intersection(bound) if n_arms is not None else ():
            number = len(bound[key]) if isinstance(bound[key], list) else bound[key]
            if number != n_arms:
                raise self.source.error_at((*at, key), f"must be for the {n_arms} arms of the game (got {number} arms)")


def _with_feedback(make: Callable[[Any], BuiltObject], feedback: BuiltObject | None) -> Callable[[Any], Any]:
    """Return a function that makes the learner with a step; a `WithFeedback` if the learner has its own feedback."""
    if feedback is None:
        return lambda step: make(step).value
    return lambda step: WithFeedback(make(step).value, feedback.value)
