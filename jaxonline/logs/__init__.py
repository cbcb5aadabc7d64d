"""Logged bandit data: the value of a policy from the log of another one (off-policy evaluation), replay of learners.

`log` has the data, `values` the estimators without a model of the rewards and all intervals, `reward_models` the
estimators with a model, and `worlds` logs with a known truth and replay.
"""

from jaxonline.logs.log import Log as Log
from jaxonline.logs.log import open_bandit as open_bandit
from jaxonline.logs.reward_models import RewardModel as RewardModel
from jaxonline.logs.reward_models import direct_method as direct_method
from jaxonline.logs.reward_models import doubly_robust as doubly_robust
from jaxonline.logs.reward_models import dr_shrinkage as dr_shrinkage
from jaxonline.logs.reward_models import fit_rewards as fit_rewards
from jaxonline.logs.reward_models import mrdr as mrdr
from jaxonline.logs.reward_models import switch_dr as switch_dr
from jaxonline.logs.values import PolicyValue as PolicyValue
from jaxonline.logs.values import clipped_ips as clipped_ips
from jaxonline.logs.values import independent_ips as independent_ips
from jaxonline.logs.values import ips as ips
from jaxonline.logs.values import slope as slope
from jaxonline.logs.values import snips as snips
from jaxonline.logs.worlds import FiniteWorld as FiniteWorld
from jaxonline.logs.worlds import RandomPolicy as RandomPolicy
from jaxonline.logs.worlds import Replay as Replay
from jaxonline.logs.worlds import SimulatedLog as SimulatedLog
from jaxonline.logs.worlds import epsilon_greedy as epsilon_greedy
from jaxonline.logs.worlds import replay as replay
from jaxonline.logs.worlds import simulate_log as simulate_log
from jaxonline.logs.worlds import softmax as softmax
