"""The keys of a study file, what each takes, and a sentence on it: what is checked, and what the schema says."""

from jaxonline.game import Game
from jaxonline.simulation import Precision
from jaxonline.simulation.recording import SPACINGS
from jaxonline.study.files.parameters import Limits, Parameter, parameters_of, said_of
from jaxonline.study.tuning import RUNS

MOST = 1_000_000_000  # runs, or rounds


def _key(name: str, takes: str, words: str, **more: object) -> Parameter:
    return Parameter(name, frozenset(takes.split()), **{"required": False, "words": words, **more})  # type: ignore[arg-type]


def _table(parameters: tuple[Parameter, ...]) -> dict[str, Parameter]:
    return {each.name: each for each in parameters}


STUDY = _table((
    _key("title", "text", "what the study is called.", default=""),
    _key("rounds", "integer", "the horizon: rounds of a run.", limits=Limits(ge=1, le=MOST), required=True),
    _key("runs", "integer", "runs of each learner; or say with precision how sure you want to be.",
         limits=Limits(ge=1, le=MOST)),
    _key("precision", "table", "play until all intervals are so narrow; instead of runs."),
    _key("seed", "integer", "of all randomness.", limits=Limits(ge=0, lt=2**32), default=0),
    _key("record_at", "integer array", "at how many rounds it is recorded, or at which.", limits=Limits(ge=1),
         default=40),
    _key("spacing", "text", "of the recorded rounds.", choices=SPACINGS, default="linear"),
    _key("game", "table", "environment, feedback, loss and regret.", required=True),
    _key("learners", "table", "by name, each with its type and parameters; a list stands for several learners.",
         required=True),
    _key("comparator", "component", "for the regret; without it, losses are compared.", kinds=("comparator",)),
    _key("bounds", "table", "by learner, what a theorem promises."),
    _key("measures", "components", "what else is counted.", kinds=("measure",), default=()),
    _key("tune", "number table", "step sizes eta / sqrt(t) for learners without a step_size: one eta, an eta for each, "
         "or best_of some.", limits=Limits(gt=0.0)),
    _key("control_variates", "flag", "take out of the losses what the noise did, where that is known exactly.",
         default=False),
    _key("antithetic", "flag", "each run is the mean of two plays with opposite noise.", default=False),
    _key("block_size", "integer", "runs that are computed together; another one changes the last bits.",
         limits=Limits(ge=1, le=MOST)),
))  # fmt: skip
PRECISION = _table((
    *parameters_of(Precision, said_of(Precision.__doc__ or "")),
    _key("most_runs", "integer", "where to stop anyhow.", limits=Limits(ge=2, le=MOST), default=100_000),
))  # fmt: skip
GAME = _table(parameters_of(Game, said_of(Game.__doc__ or "")))
TUNE = _table((
    _key("best_of", "array", "the etas that are tried.", limits=Limits(gt=0.0), required=True),
    _key("runs", "text", "which runs choose: pilot runs of their own, the first third, or as many of their own as the "
         "better steps need (halving).", choices=RUNS, default="pilot"),
))  # fmt: skip
