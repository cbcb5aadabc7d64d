"""jaxonline: the laboratory for online learning under limited information.

>>> import jaxonline as jo
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxonline import (
        bounds,
        claims,
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
    from jaxonline.claims.citing import cite
    from jaxonline.comparators import BestArm, BestSegments, L2Ball, RKHSBall
    from jaxonline.engines.expert_sequences import aggregate
    from jaxonline.feedback import (
        AdversarialCopies,
        Attributes,
        Bandit,
        FullInformation,
        LossOfMove,
        NoisyCopies,
        OnRequest,
        noise,
    )
    from jaxonline.game import Entrant, Game, play
    from jaxonline.learners import Constant, GradientLearner, InverseSqrt, Schedule
    from jaxonline.live import Live
    from jaxonline.live.estimators import OnlineClassifier, OnlineRegressor
    from jaxonline.parameters.struct import replace, static, struct
    from jaxonline.results import Result, load_result
    from jaxonline.results.statistics import intervals
    from jaxonline.simulation import Checkpoint, Precision, Range, measures, simulate, sweep, tune
    from jaxonline.simulation.measures import Mistakes, OfInfo, Pulls, Switches
    from jaxonline.study import Comparison, Context, Study, Task, benchmark, load_study_file

__version__ = "0.1.0"

_ROOMS = (
    "bounds", "claims", "comparators", "datasets", "environments", "estimators", "feedback", "game", "kernels",
    "learners", "losses", "random", "results", "verify",
)  # fmt: skip
_HOMES = {
    "parameters.struct": ("replace", "static", "struct"),
    "claims.citing": ("cite",),
    "comparators": ("BestArm", "BestSegments", "L2Ball", "RKHSBall"),
    "feedback": (
        "AdversarialCopies",
        "Attributes",
        "Bandit",
        "FullInformation",
        "LossOfMove",
        "NoisyCopies",
        "OnRequest",
        "noise",
    ),
    "game": ("Entrant", "Game", "play"),
    "learners": ("Constant", "GradientLearner", "InverseSqrt", "Schedule"),
    "engines.expert_sequences": ("aggregate",),
    "live": ("Live",),
    "live.estimators": ("OnlineClassifier", "OnlineRegressor"),
    "results": ("Result", "load_result"),
    "results.statistics": ("intervals",),
    "simulation": ("Checkpoint", "Precision", "Range", "measures", "simulate", "sweep", "tune"),
    "simulation.measures": ("Mistakes", "OfInfo", "Pulls", "Switches"),
    "study": ("Comparison", "Context", "Study", "Task", "benchmark", "load_study_file"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

# written out, since type checkers take no other name for one that users may import
__all__ = [
    "AdversarialCopies", "Attributes", "Bandit", "BestArm", "BestSegments", "Checkpoint", "Comparison", "Constant",
    "Context", "Entrant", "FullInformation", "Game", "GradientLearner", "InverseSqrt", "L2Ball", "Live", "LossOfMove",
    "Mistakes", "NoisyCopies", "OfInfo", "OnRequest", "OnlineClassifier", "OnlineRegressor", "Precision", "Pulls",
    "RKHSBall", "Range", "Result", "Schedule", "Study", "Switches", "Task", "aggregate", "benchmark", "bounds", "cite",
    "claims", "comparators", "datasets", "environments", "estimators", "feedback", "game", "intervals", "kernels",
    "learners", "load_result", "load_study_file", "losses", "measures", "noise", "play", "random", "replace", "results",
    "simulate", "static", "struct", "sweep", "tune", "verify",
]  # fmt: skip


def _unknown_name(name: str) -> str:
    """The message for a name that is not in the facade, with the module that has it."""
    message = f"module 'jaxonline' has no attribute {name!r}"
    if name[:1].isupper():
        for module in ("learners", "environments", "losses", "estimators", "kernels", "comparators", "game"):
            if hasattr(importlib.import_module(f"jaxonline.{module}"), name):
                return f"{message}; write jo.{module}.{name}"
    return message


if not TYPE_CHECKING:  # who would take any name for one of the facade

    def __getattr__(name: str) -> Any:
        """Names of the facade are loaded when they are first used."""
        if name in _ROOMS:
            return importlib.import_module(f"jaxonline.{name}")
        if name in _HOME:
            value = getattr(importlib.import_module(f"jaxonline.{_HOME[name]}"), name)
            globals()[name] = value
            return value
        raise AttributeError(_unknown_name(name))


def __dir__() -> list[str]:
    return sorted(__all__)
