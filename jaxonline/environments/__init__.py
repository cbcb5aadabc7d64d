"""Environments: data sets as streams, stochastic generators, and adversaries."""

from jaxonline.environments.adversaries import ChasingNoise, indistinguishable_pair, unavoidable_regret
from jaxonline.environments.arms import BernoulliArms, GaussianArms, HiddenBestArm
from jaxonline.environments.autoregressive import Autoregressive
from jaxonline.environments.contextual_arms import ContextualLinearArms
from jaxonline.environments.data import DataStream
from jaxonline.environments.linear import LinearModel
from jaxonline.environments.moving_arms import DriftingArms, SwitchingArms

__all__ = [
    "Autoregressive", "BernoulliArms", "ChasingNoise", "ContextualLinearArms", "DataStream", "DriftingArms",
    "GaussianArms", "HiddenBestArm", "LinearModel", "SwitchingArms", "indistinguishable_pair", "unavoidable_regret",
]  # fmt: skip
