"""Environments: data sets as streams, stochastic generators, and adversaries."""

from jaxonline.environments.adversaries import ChasingNoise, indistinguishable_pair, unavoidable_regret
from jaxonline.environments.arms import BernoulliArms
from jaxonline.environments.attributes import HiddenAttribute, three_bits
from jaxonline.environments.autoregressive import Autoregressive
from jaxonline.environments.data import DataStream
from jaxonline.environments.linear import LinearModel

__all__ = [
    "Autoregressive", "BernoulliArms", "ChasingNoise", "DataStream", "HiddenAttribute", "LinearModel",
    "indistinguishable_pair", "three_bits", "unavoidable_regret",
]  # fmt: skip
