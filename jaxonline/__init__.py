"""Simulation of online learning with limited information: regret with confidence intervals, on JAX.

>>> import jaxonline as jo

"""  # the public names by task are added below

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxonline import (
        bounds,
        comparators,
        datasets,
        environments,
        estimators,
        feedback,
        game,
        kernels,
        learners,
        losses,
        random,
        results,
        verify,
    )
    from jaxonline.citing import cite
    from jaxonline.comparators import BestArm, BestSegments, BestSet, CondorcetWinner, L2Ball, RKHSBall
    from jaxonline.environments.bandit_games import bandit_game
    from jaxonline.feedback import (
        AdversarialCopies,
        Attributes,
        Bandit,
        Delayed,
        Duel,
        FullInformation,
        LossOfMove,
        NoisyCopies,
        OnRequest,
        Replicates,
        SemiBandit,
        delays,
        noise,
    )
    from jaxonline.game import Environment, Feedback, Game, Learner, Oracle, WithFeedback, play
    from jaxonline.learners import Constant, GradientLearner, InverseSqrt, Schedule
    from jaxonline.live import Live
    from jaxonline.live.environment_runs import play_env
    from jaxonline.live.estimators import OnlineClassifier, OnlineRegressor
    from jaxonline.live.gymnasium import BanditEnv
    from jaxonline.live.river import RiverClassifier, RiverRegressor
    from jaxonline.parameters.struct import replace, static, struct
    from jaxonline.results import Result, load_result
    from jaxonline.results.statistics import intervals
    from jaxonline.simulation import Checkpoint, Precision, Range, UntilDecided, measures, simulate, sweep, tune
    from jaxonline.simulation.coverage import Coverage, CoverageError
    from jaxonline.simulation.measures import Mistakes, OfInfo, Pulls, Switches, Unanswered
    from jaxonline.simulation.stopping import SimpleRegret, StoppingRound, WrongRecommendation
    from jaxonline.study import Comparison, Context, Study, Task, benchmark, load_study_file

__version__ = "0.1.0"

_SUBPACKAGES = (
    "bounds", "comparators", "datasets", "environments", "estimators", "feedback", "game", "kernels",
    "learners", "losses", "random", "results", "verify",
)  # fmt: skip
_NAMES_BY_MODULE = {
    "parameters.struct": ("replace", "static", "struct"),
    "citing": ("cite",),
    "comparators": ("BestArm", "BestSegments", "BestSet", "CondorcetWinner", "L2Ball", "RKHSBall"),
    "feedback": (
        "AdversarialCopies",
        "Attributes",
        "Bandit",
        "Delayed",
        "Duel",
        "FullInformation",
        "LossOfMove",
        "NoisyCopies",
        "OnRequest",
        "Replicates",
        "SemiBandit",
        "delays",
        "noise",
    ),
    "game": ("Environment", "Feedback", "Game", "Learner", "Oracle", "WithFeedback", "play"),
    "learners": ("Constant", "GradientLearner", "InverseSqrt", "Schedule"),
    "environments.bandit_games": ("bandit_game",),
    "live": ("Live",),
    "live.environment_runs": ("play_env",),
    "live.estimators": ("OnlineClassifier", "OnlineRegressor"),
    "live.gymnasium": ("BanditEnv",),
    "live.river": ("RiverClassifier", "RiverRegressor"),
    "results": ("Result", "load_result"),
    "results.statistics": ("intervals",),
    "simulation": ("Checkpoint", "Precision", "Range", "UntilDecided", "measures", "simulate", "sweep", "tune"),
    "simulation.coverage": ("Coverage", "CoverageError"),
    "simulation.measures": ("Mistakes", "OfInfo", "Pulls", "Switches", "Unanswered"),
    "simulation.stopping": ("SimpleRegret", "StoppingRound", "WrongRecommendation"),
    "study": ("Comparison", "Context", "Study", "Task", "benchmark", "load_study_file"),
}
_NAMES_BY_TASK = {  # also for the site
    "Define a game": ("Game", "bandit_game", "WithFeedback", "play"),
    "Choose the feedback": (
        "FullInformation", "Bandit", "SemiBandit", "Duel", "LossOfMove", "OnRequest", "Delayed", "NoisyCopies",
        "Replicates", "AdversarialCopies", "Attributes",
    ),
    "Choose a learner and its steps": ("GradientLearner", "InverseSqrt", "Constant", "Schedule"),
    "Choose the comparator of the regret": (
        "BestArm", "BestSegments", "BestSet", "CondorcetWinner", "L2Ball", "RKHSBall",
    ),
    "Simulate": ("simulate", "sweep", "tune", "Range", "Precision", "UntilDecided", "Checkpoint"),
    "Measure": (
        "Pulls", "Switches", "Mistakes", "Unanswered", "OfInfo", "SimpleRegret", "WrongRecommendation",
        "StoppingRound", "Coverage", "CoverageError",
    ),
    "Read and save a result": ("Result", "load_result", "cite"),
    "Compare in many games, run studies": ("benchmark", "Task", "Comparison", "Study", "Context", "load_study_file"),
    "Learn from live data": ("Live",),
    "Use scikit-learn, river or gymnasium": (
        "OnlineRegressor", "OnlineClassifier", "RiverRegressor", "RiverClassifier", "BanditEnv", "play_env",
    ),
    "Write a learner": ("Learner", "Environment", "Feedback", "Oracle", "struct", "static", "replace"),
}  # fmt: skip
_MODULES = (*_SUBPACKAGES, "delays", "intervals", "measures", "noise")
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

# a literal list, since type checkers read no other
__all__ = [
    "AdversarialCopies",
    "Attributes",
    "Bandit",
    "BanditEnv",
    "BestArm",
    "BestSegments",
    "BestSet",
    "Checkpoint",
    "Comparison",
    "CondorcetWinner",
    "Constant",
    "Context",
    "Coverage",
    "CoverageError",
    "Delayed",
    "Duel",
    "Environment",
    "Feedback",
    "FullInformation",
    "Game",
    "GradientLearner",
    "InverseSqrt",
    "L2Ball",
    "Learner",
    "Live",
    "LossOfMove",
    "Mistakes",
    "NoisyCopies",
    "OfInfo",
    "OnRequest",
    "OnlineClassifier",
    "OnlineRegressor",
    "Oracle",
    "Precision",
    "Pulls",
    "RKHSBall",
    "Range",
    "Replicates",
    "Result",
    "RiverClassifier",
    "RiverRegressor",
    "Schedule",
    "SemiBandit",
    "SimpleRegret",
    "StoppingRound",
    "Study",
    "Switches",
    "Task",
    "Unanswered",
    "UntilDecided",
    "WithFeedback",
    "WrongRecommendation",
    "bandit_game",
    "benchmark",
    "bounds",
    "cite",
    "comparators",
    "datasets",
    "delays",
    "environments",
    "estimators",
    "feedback",
    "game",
    "intervals",
    "kernels",
    "learners",
    "load_result",
    "load_study_file",
    "losses",
    "measures",
    "noise",
    "play",
    "play_env",
    "random",
    "replace",
    "results",
    "simulate",
    "static",
    "struct",
    "sweep",
    "tune",
    "verify",
]  # fmt: skip


def _describe_names() -> str:
    """Return the public names by task, for `help(jaxonline)`; `dir(jaxonline)` is always sorted by Python."""
    lines = ["Public names by task:"]
    for task, names in (_NAMES_BY_TASK | {"Packages and modules": sorted(_MODULES)}).items():
        lines += ["", f"{task}:", "   "]
        for name in names:
            if len(lines[-1]) + len(name) > 78:
                lines.append("   ")
            lines[-1] += f" {name}" if name == names[-1] else f" {name},"
    return "\n".join(lines)


__doc__ = f"{__doc__ or ''}{_describe_names()}"


def _unknown_name(name: str) -> str:
    """Return the error message for an unknown name; it names the module that has this name."""
    message = f"module 'jaxonline' has no attribute {name!r}"
    if name[:1].isupper():
        for module in ("learners", "environments", "losses", "estimators", "kernels", "comparators", "game"):
            if hasattr(importlib.import_module(f"jaxonline.{module}"), name):
                return f"{message}; write jo.{module}.{name}"
    return message


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use."""
        if name in _SUBPACKAGES:
            return importlib.import_module(f"jaxonline.{name}")
        if name in _MODULE_BY_NAME:
            value = getattr(importlib.import_module(f"jaxonline.{_MODULE_BY_NAME[name]}"), name)
            globals()[name] = value
            return value
        raise AttributeError(_unknown_name(name))


def __dir__() -> list[str]:
    return sorted(__all__)
