"""Environments: data sets as streams, stochastic generators, and adversaries."""

from jaxonline.environments.adversaries import ChasingNoise, indistinguishable_pair, unavoidable_regret
from jaxonline.environments.arms import BernoulliArms, GaussianArms, HiddenBestArm
from jaxonline.environments.attributes import HiddenAttribute, three_bits
from jaxonline.environments.autoregressive import Autoregressive
from jaxonline.environments.contextual_arms import ContextualLinearArms
from jaxonline.environments.contrary import ContraryLabels, ContraryLosses
from jaxonline.environments.data import DataStream
from jaxonline.environments.drifting import DriftingModel
from jaxonline.environments.experts import FiniteClass, RandomWalkExperts, SwitchingExperts
from jaxonline.environments.linear import LinearModel
from jaxonline.environments.moving_arms import DriftingArms, SwitchingArms
from jaxonline.environments.preference_arms import PreferenceArms
from jaxonline.environments.reacting import OppositeInstances, OppositeLabels
from jaxonline.environments.rewards import Rewards
from jaxonline.environments.separable import SeparableData
from jaxonline.environments.shifting_scores import ShiftingScores
from jaxonline.environments.sleeping import Sleeping
from jaxonline.environments.sparse_booleans import SparseBooleans

__all__ = [
    "Autoregressive",
    "BernoulliArms",
    "ChasingNoise",
    "ContextualLinearArms",
    "ContraryLabels",
    "ContraryLosses",
    "DataStream",
    "DriftingArms",
    "DriftingModel",
    "FiniteClass",
    "GaussianArms",
    "HiddenAttribute",
    "HiddenBestArm",
    "LinearModel",
    "OppositeInstances",
    "OppositeLabels",
    "PreferenceArms",
    "RandomWalkExperts",
    "Rewards",
    "SeparableData",
    "ShiftingScores",
    "Sleeping",
    "SparseBooleans",
    "SwitchingArms",
    "SwitchingExperts",
    "indistinguishable_pair",
    "three_bits",
    "unavoidable_regret",
]
