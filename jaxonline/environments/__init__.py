"""Environments: data sets as streams, and stochastic generators."""

from jaxonline.environments.autoregressive import Autoregressive
from jaxonline.environments.data import DataStream
from jaxonline.environments.linear import LinearModel

__all__ = ["Autoregressive", "DataStream", "LinearModel"]
