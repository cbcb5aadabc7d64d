"""Environments: data sets as streams, stochastic generators, and adversaries."""

from jaxonline.environments.adversaries import ChasingNoise, indistinguishable_pair, unavoidable_regret
from jaxonline.environments.arms import BernoulliArms
from jaxonline.environments.autoregressive import Autoregressive
from jaxonline.environments.contrary import ContraryLabels, ContraryLosses
from jaxonline.environments.data import DataStream
from jaxonline.environments.drifting import DriftingModel
from jaxonline.environments.experts import FiniteClass, RandomWalkExperts, SwitchingExperts
from jaxonline.environments.linear import LinearModel
from jaxonline.environments.separable import SeparableData

__all__ = [
    "Autoregressive", "BernoulliArms", "ChasingNoise", "ContraryLabels", "ContraryLosses", "DataStream",
    "DriftingModel", "FiniteClass", "LinearModel", "RandomWalkExperts", "SeparableData", "SwitchingExperts",
    "indistinguishable_pair", "unavoidable_regret",
]  # fmt: skip
