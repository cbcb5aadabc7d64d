"""Regret and mistake bounds of theorems as numbers, with the step sizes that they prescribe.

A theorem returns a `Bound`: a number with the parameters and the assumptions of the theorem. The modules are `theorem`
(this record), `gradient` (gradient and mirror descent), `high_probability` (bounds that hold with high probability, and
the moments of data and noise), `kernels` (noisy instances, Gaussian noise, many kernels), `attributes` (a few
attributes of each instance), `experts` (expert advice), `bandits`, `best_arm` (best-arm
identification), and `classifiers` (mistakes of classifiers).
"""

from jaxonline.bounds.attributes import aer_regret as aer_regret
from jaxonline.bounds.attributes import aerr_regret as aerr_regret
from jaxonline.bounds.attributes import attribute_exponentiated_regret as attribute_exponentiated_regret
from jaxonline.bounds.attributes import baseline_risk as baseline_risk
from jaxonline.bounds.attributes import hidden_attribute_examples as hidden_attribute_examples
from jaxonline.bounds.bandits import bold as bold
from jaxonline.bounds.bandits import cucb as cucb
from jaxonline.bounds.bandits import delayed_exp3 as delayed_exp3
from jaxonline.bounds.bandits import delayed_gradient_descent as delayed_gradient_descent
from jaxonline.bounds.bandits import delayed_ucb1 as delayed_ucb1
from jaxonline.bounds.bandits import exp3 as exp3
from jaxonline.bounds.bandits import exp3_ix as exp3_ix
from jaxonline.bounds.bandits import exp3_p as exp3_p
from jaxonline.bounds.bandits import exp4 as exp4
from jaxonline.bounds.bandits import explore_then_commit as explore_then_commit
from jaxonline.bounds.bandits import lai_robbins as lai_robbins
from jaxonline.bounds.bandits import minimax as minimax
from jaxonline.bounds.bandits import moss as moss
from jaxonline.bounds.bandits import rucb as rucb
from jaxonline.bounds.bandits import sequential_halving as sequential_halving
from jaxonline.bounds.bandits import successive_elimination as successive_elimination
from jaxonline.bounds.bandits import ucb1 as ucb1
from jaxonline.bounds.best_arm import characteristic_time as characteristic_time
from jaxonline.bounds.best_arm import optimal_proportions as optimal_proportions
from jaxonline.bounds.best_arm import successive_rejects as successive_rejects
from jaxonline.bounds.classifiers import p_norm_perceptron as p_norm_perceptron
from jaxonline.bounds.classifiers import passive_aggressive as passive_aggressive
from jaxonline.bounds.classifiers import perceptron as perceptron
from jaxonline.bounds.classifiers import winnow as winnow
from jaxonline.bounds.experts import boa as boa
from jaxonline.bounds.experts import doubling as doubling
from jaxonline.bounds.experts import exponential_weights as exponential_weights
from jaxonline.bounds.experts import fixed_share as fixed_share
from jaxonline.bounds.experts import halving as halving
from jaxonline.bounds.experts import label_efficient as label_efficient
from jaxonline.bounds.experts import ml_poly as ml_poly
from jaxonline.bounds.experts import ml_prod as ml_prod
from jaxonline.bounds.experts import perturbed_leader as perturbed_leader
from jaxonline.bounds.experts import quantile_tracking as quantile_tracking
from jaxonline.bounds.experts import regularized_leader as regularized_leader
from jaxonline.bounds.experts import weighted_majority as weighted_majority
from jaxonline.bounds.gradient import adagrad as adagrad
from jaxonline.bounds.gradient import exponentiated_gradient as exponentiated_gradient
from jaxonline.bounds.gradient import full_information as full_information
from jaxonline.bounds.gradient import gradient_bandit as gradient_bandit
from jaxonline.bounds.gradient import gradient_descent as gradient_descent
from jaxonline.bounds.gradient import known_covariance as known_covariance
from jaxonline.bounds.gradient import mirror_descent as mirror_descent
from jaxonline.bounds.gradient import online_newton_step as online_newton_step
from jaxonline.bounds.gradient import projected_gradient as projected_gradient
from jaxonline.bounds.gradient import strongly_convex as strongly_convex
from jaxonline.bounds.gradient import two_copies as two_copies
from jaxonline.bounds.high_probability import LargestCopies as LargestCopies
from jaxonline.bounds.high_probability import MomentBounds as MomentBounds
from jaxonline.bounds.high_probability import largest_copies as largest_copies
from jaxonline.bounds.high_probability import largest_estimate as largest_estimate
from jaxonline.bounds.high_probability import moment_bounds as moment_bounds
from jaxonline.bounds.high_probability import with_high_probability as with_high_probability
from jaxonline.bounds.kernels import Features as Features
from jaxonline.bounds.kernels import aggregating as aggregating
from jaxonline.bounds.kernels import concatenated as concatenated
from jaxonline.bounds.kernels import ewa as ewa
from jaxonline.bounds.kernels import factor_moment as factor_moment
from jaxonline.bounds.kernels import noisy_kernel as noisy_kernel
from jaxonline.bounds.kernels import noisy_kernel_geometric as noisy_kernel_geometric
from jaxonline.bounds.kernels import surrogate_kernel as surrogate_kernel
from jaxonline.bounds.kernels import surrogate_radial_kernel as surrogate_radial_kernel
from jaxonline.bounds.kernels import surrogate_radius as surrogate_radius
from jaxonline.bounds.kernels import unbiased_steps as unbiased_steps
from jaxonline.bounds.kernels import vaw as vaw
from jaxonline.bounds.kernels import vaw2 as vaw2
from jaxonline.bounds.kernels import vaw_ewa as vaw_ewa
from jaxonline.bounds.theorem import Assumptions as Assumptions
from jaxonline.bounds.theorem import Bound as Bound
