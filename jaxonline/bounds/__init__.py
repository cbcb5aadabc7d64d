"""Regret and mistake bounds of theorems as numbers, with the step sizes that they prescribe.

The modules are `linear` (linear predictors, with `moments` of data and noise), `convex` (other gradient descent),
`adaptive_steps` (steps 1/t and AdaGrad), `classifiers` (mistakes of classifiers), `experts` (expert advice),
`second_order` (the same, from a run's regrets), `bandits`, `combinatorial` (bandits with sets of arms), `duelling`
(bandits with pairs of arms), `best_arm` (identification of the best arm), `delayed` (late answers), `sleeping` (arms
and experts that are not always available), `noisy_kernels` (kernels with any noise), `gaussian_noise` (kernels with
Gaussian noise), `multikernel` (multi-kernel least squares), `attributes` (a few attributes of each instance),
`attribute_gradients` (the same for exponentiated gradient), `high_probability` (bounds that hold
with high probability) and `conformal` (coverage of prediction sets).
"""

from jaxonline.bounds.adaptive_steps import AdaGradBound, LogarithmicBound, adagrad, strongly_convex
from jaxonline.bounds.assumptions import Assumptions
from jaxonline.bounds.attribute_gradients import attribute_exponentiated_regret
from jaxonline.bounds.attributes import (
    StronglyConvexBound,
    aer_regret,
    aerr_regret,
    baseline_risk,
    hidden_attribute_examples,
)
from jaxonline.bounds.bandits import exp3, exp3_ix, exp3_p, exp4, explore_then_commit, lai_robbins, minimax, moss, ucb1
from jaxonline.bounds.best_arm import sequential_halving, successive_elimination
from jaxonline.bounds.classifiers import p_norm_perceptron, passive_aggressive, perceptron, winnow
from jaxonline.bounds.combinatorial import cucb
from jaxonline.bounds.conformal import adaptive_conformal, quantile_tracking
from jaxonline.bounds.convex import (
    BanditBound,
    NewtonBound,
    exponentiated_gradient,
    gradient_bandit,
    mirror_descent,
    online_newton_step,
    projected_gradient,
)
from jaxonline.bounds.delayed import bold, delayed_exp3, delayed_gradient_descent, delayed_ucb1
from jaxonline.bounds.duelling import rucb
from jaxonline.bounds.experts import (
    RateBound,
    doubling,
    exponential_weights,
    fixed_share,
    halving,
    label_efficient,
    perturbed_leader,
    regularized_leader,
    weighted_majority,
)
from jaxonline.bounds.gaussian_noise import surrogate_kernel, surrogate_radial_kernel, surrogate_radius
from jaxonline.bounds.high_probability import (
    HighProbabilityBound,
    LargestCopies,
    largest_copies,
    largest_estimate,
    with_high_probability,
)
from jaxonline.bounds.linear import full_information, known_covariance, two_copies
from jaxonline.bounds.moments import MomentBounds, moment_bounds
from jaxonline.bounds.multikernel import Features, aggregating, concatenated, ewa, vaw, vaw2, vaw_ewa
from jaxonline.bounds.noisy_kernels import factor_moment, noisy_kernel, noisy_kernel_geometric, unbiased_steps
from jaxonline.bounds.regret_bound import RegretBound, gradient_descent
from jaxonline.bounds.second_order import boa, ml_poly, ml_prod
from jaxonline.bounds.sleeping import sleeping_exp3, sleeping_hedge, sleeping_ucb1

__all__ = [
    "AdaGradBound",
    "Assumptions",
    "BanditBound",
    "Features",
    "HighProbabilityBound",
    "LargestCopies",
    "LogarithmicBound",
    "MomentBounds",
    "NewtonBound",
    "RateBound",
    "RegretBound",
    "StronglyConvexBound",
    "adagrad",
    "adaptive_conformal",
    "aer_regret",
    "aerr_regret",
    "aggregating",
    "attribute_exponentiated_regret",
    "baseline_risk",
    "boa",
    "bold",
    "concatenated",
    "cucb",
    "delayed_exp3",
    "delayed_gradient_descent",
    "delayed_ucb1",
    "doubling",
    "ewa",
    "exp3",
    "exp3_ix",
    "exp3_p",
    "exp4",
    "explore_then_commit",
    "exponential_weights",
    "exponentiated_gradient",
    "factor_moment",
    "fixed_share",
    "full_information",
    "gradient_bandit",
    "gradient_descent",
    "halving",
    "hidden_attribute_examples",
    "known_covariance",
    "label_efficient",
    "lai_robbins",
    "largest_copies",
    "largest_estimate",
    "minimax",
    "mirror_descent",
    "ml_poly",
    "ml_prod",
    "moment_bounds",
    "moss",
    "noisy_kernel",
    "noisy_kernel_geometric",
    "online_newton_step",
    "p_norm_perceptron",
    "passive_aggressive",
    "perceptron",
    "perturbed_leader",
    "projected_gradient",
    "quantile_tracking",
    "regularized_leader",
    "rucb",
    "sequential_halving",
    "sleeping_exp3",
    "sleeping_hedge",
    "sleeping_ucb1",
    "strongly_convex",
    "successive_elimination",
    "surrogate_kernel",
    "surrogate_radial_kernel",
    "surrogate_radius",
    "two_copies",
    "ucb1",
    "unbiased_steps",
    "vaw",
    "vaw2",
    "vaw_ewa",
    "weighted_majority",
    "winnow",
    "with_high_probability",
]
