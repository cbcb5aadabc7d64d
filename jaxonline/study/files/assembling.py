"""The keys of a study file, one after the other: checked, and made into the parts of a study."""

from collections.abc import Callable, Mapping
from typing import Any

from jaxonline.game import Entrant, Game
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.suggest import meant
from jaxonline.simulation import Precision
from jaxonline.study.comparison import Comparison
from jaxonline.study.files import grids, keys
from jaxonline.study.files.building import Builder, Built
from jaxonline.study.files.parameters import Parameter
from jaxonline.study.files.positions import KeyPath
from jaxonline.study.files.reading import SourceFile
from jaxonline.study.tuning import BestOf


class StudyReader:
    """Goes through the keys of a file, and makes of them what a `StudyFile` has."""

    def __init__(self, source: SourceFile):
        self.source = source
        known(source, source.data, keys.STUDY, ())
        self.build = Builder(source, 1)
        self.build.horizon = self.plain("rounds")

    def parts(self) -> dict[str, Any]:
        """The fields of a `StudyFile`."""
        data, build = self.source.data, self.build
        runs, precision, sizes = self.sizes()
        built = {name: build.value(each, data[name], (name,)) for name, each in keys.STUDY.items()
                 if name in data and each.kinds}  # fmt: skip
        game, resolved_game = self.game()
        options = {"n_runs": runs, "n_rounds": build.horizon, "record_at": self.record_at(), "precision": precision}
        options |= {key: self.plain(key) for key in ("spacing", "control_variates", "antithetic", "block_size")}
        options["measures"] = built["measures"].value if "measures" in built else []
        tune, resolved_tune = self.tune()
        learners, families, resolved_learners = self.learners(tune is not None)
        if isinstance(tune, dict):
            self.check_tuned(tune, learners)
        promised = self.bounds(families)
        comparison = Comparison(game, learners, built["comparator"].value if "comparator" in built else None, tune=tune)
        resolved = {
            "title": self.plain("title"), "rounds": build.horizon, **sizes, "seed": self.plain("seed"),
            "record_at": data.get("record_at", 40), **{key: options[key] for key in
            ("spacing", "control_variates", "antithetic", "block_size")},
            "game": resolved_game, **{name: each.resolved for name, each in built.items()},
            "tune": resolved_tune, "learners": resolved_learners,
            "bounds": {name: each.resolved for name, each in promised.items()},
        }  # fmt: skip
        found = {name: each.value for name, each in promised.items()}
        return {
            "source": self.source, "title": self.plain("title"), "comparison": comparison, "options": options,
            "seed": self.plain("seed"), "promised": found, "families": families, "resolved": resolved,
        }  # fmt: skip

    def plain(self, name: str) -> Any:
        """A number, flag or text at the top of the file."""
        parameter = keys.STUDY[name]
        if name in self.source.data:
            return self.build.value(parameter, self.source.data[name], (name,)).value
        if parameter.required:
            raise self.source.wrong((), f"{name} is missing: {parameter.words}")
        return parameter.default

    def table(self, name: str) -> dict[str, Any]:
        """A table at the top of the file, empty where there is none."""
        value = self.source.data.get(name, {})
        if not isinstance(value, dict):
            raise self.source.wrong((name,), f"must be a table, got {check.shown(value)}")
        return value

    def sizes(self) -> tuple[int, Precision | None, dict[str, Any]]:
        """How many runs, at most or until the precision is reached."""
        data = self.source.data
        if ("runs" in data) == ("precision" in data):
            both = "runs" in data
            words = "must be left out where precision is given" if both else "or precision is missing: how many runs"
            raise self.source.wrong(("runs",), words)
        if "runs" in data:
            runs = self.plain("runs")
            return runs, None, {"runs": runs}
        given = self.table("precision")
        made = {name: each.value for name, each in self.of_table(given, keys.PRECISION, ("precision",)).items()}
        most = made.pop("most_runs")
        precision = self.build.called("precision", Precision, made, ("precision",))
        return most, precision, {"precision": {**made, "most_runs": most}}

    def of_table(self, given: Mapping[str, Any], parameters: Mapping[str, Parameter], at: KeyPath) -> dict[str, Built]:
        """The values of a table whose keys are known."""
        known(self.source, given, parameters, at)
        for name, each in parameters.items():
            if each.required and name not in given:
                raise self.source.wrong(at, f"needs {name}: {each.words}")
        return {
            name: self.build.value(each, given[name], (*at, name)) if name in given
            else Built(each.default, each.default) for name, each in parameters.items()
        }  # fmt: skip

    def game(self) -> tuple[Game, dict[str, Any]]:
        """The game, and its configuration."""
        if "game" not in self.source.data:
            raise self.source.wrong((), f"game is missing: {keys.STUDY['game'].words}")
        given = self.table("game")
        made = self.of_table(given, keys.GAME, ("game",))
        arguments = {name: each.value for name, each in made.items()}
        resolved = {name: each.resolved if name in given else {"type": type(each.value).__name__}
                    for name, each in made.items()}  # fmt: skip
        return self.build.called("game", Game, arguments, ("game",)), resolved

    def record_at(self) -> Any:
        """A number of rounds, or the rounds."""
        value = self.source.data.get("record_at", 40)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.build.value(
                keys.STUDY["record_at"]._replace(takes=frozenset({"integer"})), value, ("record_at",)
            ).value
        if not isinstance(value, list) or not value:
            raise self.source.wrong(
                ("record_at",), f"must be a number of rounds or a list of them, got {check.shown(value)}"
            )
        for i, each in enumerate(value):
            if isinstance(each, bool) or not isinstance(each, int) or not 1 <= each <= self.build.horizon:
                words = f"must be a round from 1 to {self.build.horizon}, got {check.shown(each)}"
                raise self.source.wrong(("record_at", i), words)
        return value

    def tune(self) -> tuple[Any, Any]:
        """One eta, one for each learner, or a choice of the best."""
        given = self.source.data.get("tune")
        if given is None:
            return None, None
        if not isinstance(given, dict):
            eta = self.build.value(keys.STUDY["tune"], given, ("tune",)).value
            return eta, eta
        if "best_of" not in given:
            number = keys.STUDY["tune"]._replace(takes=frozenset({"number"}))
            etas = {name: self.build.value(number, each, ("tune", name)).value for name, each in given.items()}
            if not etas:
                raise self.source.wrong(("tune",), "must hold an eta for each learner, or best_of, got nothing")
            return etas, etas
        known(self.source, given, keys.TUNE, ("tune",))
        tried = given["best_of"]
        if not isinstance(tried, list):
            raise self.source.wrong(("tune", "best_of"), f"must be a list of numbers, got {check.shown(tried)}")
        grids.check_axis(self.build, ("tune", "best_of"), tried)
        one = keys.TUNE["best_of"]._replace(takes=frozenset({"number"}))
        etas = [self.build.value(one, each, ("tune", "best_of", i)).value for i, each in enumerate(tried)]
        runs = self.build.value(keys.TUNE["runs"], given.get("runs", "pilot"), ("tune", "runs")).value
        return BestOf({grids.in_a_name(eta): eta for eta in etas}, runs), {"best_of": etas, "runs": runs}

    def learners(self, tuned: bool) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], dict[str, Any]]:
        """Learners as `simulate` takes them (with `tuned`, functions of a step), by entry their names, and resolved."""
        tables = self.table("learners")
        if not tables:
            raise self.source.wrong(("learners",), "must hold at least one learner, got none")
        learners: dict[str, Any] = {}
        families: dict[str, tuple[str, ...]] = {}
        resolved: dict[str, Any] = {}
        for entry, table in tables.items():
            at: KeyPath = ("learners", entry)
            if not entry.strip():
                raise self.source.wrong(at, "must have a name that is not empty")
            points = grids.points(self.build, entry, table, at, len(resolved))
            by_name = {grids.full_name(entry, point): point for point in points}
            clash = next((name for name in by_name if name in resolved), None)
            if clash is not None:
                raise self.source.wrong(at, f"makes a learner {clash!r}, which another entry has made")
            feedback = None
            if isinstance(table, dict) and "feedback" in table:
                feedback = self.build.component(table["feedback"], (*at, "feedback"), ("feedback",))
            if tuned:
                makes = {name: self.for_step(point.table, at) for name, point in by_name.items()}
                built = {name: make(InverseSqrt(1.0)) for name, make in makes.items()}
                own: dict[str, Any] = {name: _entered(make, feedback) for name, make in makes.items()}
            else:
                built = {name: self.build.component(point.table, at, ("learner",), ("feedback",))
                         for name, point in by_name.items()}  # fmt: skip
                own = grids.swept(entry, built, by_name)
                own = {name: Entrant(each, feedback.value) if feedback else each for name, each in own.items()}
            learners |= own
            families[entry] = tuple(by_name)
            beside = {"feedback": feedback.resolved} if feedback else {}
            resolved |= {name: each.resolved | beside for name, each in built.items()}
        return learners, families, resolved

    def for_step(self, table: Any, at: KeyPath) -> Callable[[Any], Built]:
        """A learner as a function of its step size, which `tune` gives."""
        table = {"type": table} if isinstance(table, str) else table
        if isinstance(table, dict) and "step_size" in table:
            raise self.source.wrong((*at, "step_size"), "must be left out where tune gives it")

        def make(step: Any) -> Built:
            own = {"type": "InverseSqrt", "eta": float(step.eta)}
            with_step = {**table, "step_size": own} if isinstance(table, dict) else table
            return self.build.component(with_step, at, ("learner",), ("feedback",))

        return make

    def check_tuned(self, etas: Mapping[str, float], learners: Mapping[str, Any]) -> None:
        """Check that there is an eta for each learner, and for no other."""
        for name in etas:
            if name not in learners:
                raise self.source.wrong(("tune", name), f"is no learner of this study{meant(name, learners)}")
        for name in learners:
            if name not in etas:
                raise self.source.wrong(("tune",), f"must have an eta for each learner, and has none for {name!r}")

    def bounds(self, families: Mapping[str, tuple[str, ...]]) -> dict[str, Built]:
        """Bounds by the name of an entry."""
        found = {}
        for name, table in self.table("bounds").items():
            if name not in families:
                known = ", ".join(map(repr, families))
                raise self.source.wrong(
                    ("bounds", name), f"is no learner of this study ({known}){meant(name, families)}"
                )
            found[name] = self.build.component(table, ("bounds", name), ("bound",))
        return found


def _entered(make: Callable[[Any], Built], feedback: Built | None) -> Callable[[Any], Any]:
    """A function of the step whose learner has its own feedback, if it has one."""
    if feedback is None:
        return lambda step: make(step).value
    return lambda step: Entrant(make(step).value, feedback.value)


def known(source: SourceFile, given: Mapping[str, Any], parameters: Mapping[str, Any], at: KeyPath) -> None:
    """Check that all keys are known."""
    for key in given:
        if key not in parameters:
            where = f"{at[-1]} has" if at else "a study file has"
            raise source.wrong((*at, key), f"is no key here: {where} {', '.join(parameters)}{meant(key, parameters)}")
