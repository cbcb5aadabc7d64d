"""Environments: data sets as streams, stochastic generators, and adversaries."""

from jaxonline.environments.adversaries import ChasingNoise as ChasingNoise
from jaxonline.environments.adversaries import indistinguishable_pair as indistinguishable_pair
from jaxonline.environments.adversaries import unavoidable_regret as unavoidable_regret
from jaxonline.environments.arms import BernoulliArms as BernoulliArms
from jaxonline.environments.arms import DriftingArms as DriftingArms
from jaxonline.environments.arms import GaussianArms as GaussianArms
from jaxonline.environments.arms import HiddenBestArm as HiddenBestArm
from jaxonline.environments.arms import SwitchingArms as SwitchingArms
from jaxonline.environments.bandit_games import ContextualLinearArms as ContextualLinearArms
from jaxonline.environments.bandit_games import PreferenceArms as PreferenceArms
from jaxonline.environments.bandit_games import Rewards as Rewards
from jaxonline.environments.data import Autoregressive as Autoregressive
from jaxonline.environments.data import DataStream as DataStream
from jaxonline.environments.experts import FiniteClass as FiniteClass
from jaxonline.environments.experts import RandomWalkExperts as RandomWalkExperts
from jaxonline.environments.experts import SwitchingExperts as SwitchingExperts
from jaxonline.environments.reacting import ContraryLabels as ContraryLabels
from jaxonline.environments.reacting import ContraryLosses as ContraryLosses
from jaxonline.environments.reacting import OppositeInstances as OppositeInstances
from jaxonline.environments.reacting import OppositeLabels as OppositeLabels
from jaxonline.environments.regression import HiddenAttribute as HiddenAttribute
from jaxonline.environments.regression import LinearModel as LinearModel
from jaxonline.environments.regression import SeparableData as SeparableData
from jaxonline.environments.regression import SparseBooleans as SparseBooleans
from jaxonline.environments.regression import three_bits as three_bits
