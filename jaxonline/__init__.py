"""jaxonline: the laboratory for online learning under limited information.

>>> import jaxonline as jo
"""

from jaxonline import (
    bounds,
    comparators,
    environments,
    estimators,
    game,
    kernels,
    learners,
    losses,
    noise,
    oracles,
    verify,
)
from jaxonline._struct import replace, static, struct
from jaxonline.aggregation import aggregate
from jaxonline.blocks import use_all_cores
from jaxonline.comparators import L2Ball, RKHSBall
from jaxonline.game import Game, Player, play
from jaxonline.learners import Constant, GradientLearner, InverseSqrt, Schedule
from jaxonline.oracles import AdversarialCopies, Attributes, FullInformation, NoisyCopies
from jaxonline.result import Result
from jaxonline.simulate import simulate, sweep

__version__ = "0.1.0"

__all__ = [
    "AdversarialCopies", "Attributes", "Constant", "FullInformation", "Game", "GradientLearner", "InverseSqrt",
    "L2Ball", "NoisyCopies", "Player", "RKHSBall", "Result", "Schedule", "aggregate", "bounds", "comparators",
    "environments", "estimators", "game", "kernels", "learners", "losses", "noise", "oracles", "play", "replace",
    "simulate", "static", "struct", "sweep", "use_all_cores", "verify",
]  # fmt: skip
