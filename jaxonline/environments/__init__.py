"""Environments: data sets as streams, stochastic generators, and adversaries."""

from jaxonline.environments.adversaries import ChasingNoise, indistinguishable_pair, unavoidable_regret
from jaxonline.environments.arms import BernoulliArms, DriftingArms, GaussianArms, HiddenBestArm, SwitchingArms
from jaxonline.environments.bandit_games import ContextualLinearArms, PreferenceArms, Rewards
from jaxonline.environments.data import Autoregressive, DataStream
from jaxonline.environments.experts import FiniteClass, RandomWalkExperts, SwitchingExperts
from jaxonline.environments.reacting import ContraryLabels, ContraryLosses, OppositeInstances, OppositeLabels
from jaxonline.environments.regression import HiddenAttribute, LinearModel, SeparableData, SparseBooleans, three_bits

__all__ = [
    "Autoregressive",
    "BernoulliArms",
    "ChasingNoise",
    "ContextualLinearArms",
    "ContraryLabels",
    "ContraryLosses",
    "DataStream",
    "DriftingArms",
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
    "SparseBooleans",
    "SwitchingArms",
    "SwitchingExperts",
    "indistinguishable_pair",
    "three_bits",
    "unavoidable_regret",
]
