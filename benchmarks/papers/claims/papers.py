"""Page docs/papers.md, which lists the files and claims for each section, equation and theorem of the papers.

`python -m benchmarks.papers.claims.papers > docs/papers.md` writes the page; its links lead to the defining files.
"""

import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers.claims.errata import ERRATA, PAPERS
from benchmarks.papers.claims.registry import Claim, all_claims
from benchmarks.papers.claims.report import as_text


class Place(NamedTuple):
    """A place in a paper, a summary of its content, and the names of the code and tests for it."""

    where: str  # sections, equations, theorems and algorithms, separated by commas
    what: str
    names: str = ""  # dotted paths below `jaxonline`, separated by blanks; studies show the place
    reason: str = ""  # why no claim, no study and no test shows the place
    tests: str = ""  # tests that show the place, each as file::function below tests/, separated by blanks


PLACES: dict[str, list[Place]] = {
    "A": [
        Place("section 2", "oracles of noisy copies; the losses; the kernels",
              "feedback.NoisyCopies feedback.AdversarialCopies losses kernels"),
        Place("Eq. 1", "the expected regret on the clean data", "game.CleanRegret",
              tests="study/files/test_study_examples.py::"
              "test_regret_is_linear_for_the_naive_learner_and_sublinear_for_unbiased_ones"),
        Place("section 2 (remark on batches)", "online-to-batch conversion: a predictor with small risk on clean data",
              "learners.held_out_risk", reason="further-experiments.md reports an experiment"),
        Place("section 3.1", "online gradient descent, its bound; a linear loss needs one copy",
              "learners.GradientLearner bounds.gradient_descent"),
        Place("section 3.2, footnote 1", "the general estimator, polynomials Q_n -> f, and better distributions of N, "
              "also with polynomial tails (section 4.2)",
              "estimators.PolynomialSequenceEstimator estimators.chebyshev estimators.minimum_variance "
              "estimators.cost_aware estimators.DiscreteLomax"),
        Place("section 3.2 (impossibility)", "no unbiased estimate of a function that is no polynomial from a fixed "
              "number of samples; finite variance needs derivatives; none of a discontinuous function",
              reason="these are theorems of Paninski (2003) and of Bhandari and Bose (1990), which the paper cites"),
        Place("Lemma 1", "the series estimator, its queries and its second moment",
              "estimators.SeriesEstimator estimators.Geometric estimators.series_moments.lemma1_bound "
              "estimators.query_limits.limit_bias papers.studies.variance"),
        Place("section 3.3", "explicit features; those of <r, s>^2 from two copies", "estimators.DotProductFeatureMap"),
        Place("Algorithm 1", "kernel learning from noisy copies, also with a limit on the queries (section 2)",
              "learners.NoisyKernel estimators.query_limits.round_bias_bound papers.studies.noisy_kernels"),
        Place("section 4.1", "an unknown horizon; regret with high probability if noise is bounded or sub-Gaussian "
              "(after Theorem 1), for two copies, and for kernels under Gaussian noise of known covariance",
              "learners.InverseSqrt learners.Doubling bounds.with_high_probability bounds.largest_copies "
              "learners.SurrogateKernel",
              tests="bounds/test_high_probability.py::test_bounds_hold_in_runs_and_in_a_numpy_loop "
              "learners/kernels/test_surrogate_kernel.py::"
              "test_the_regret_is_below_the_bound_with_high_probability_although_noise_is_unbounded"),
        Place("Theorem 1, Theorem 2, Example 1", "its regret and its queries, for dot-product kernels and for the "
              "Gaussian kernel", "bounds.noisy_kernel_geometric estimators.round_query_probabilities"),
        Place("Theorem 1 (running time)", "expected time O(T^3 (1 + d p/(p-1)^2)), also in Theorem 2",
              "learners.NoisyKernel",
              tests="learners/kernels/test_noisy_kernel_storage.py::"
              "test_the_number_of_stored_terms_grows_like_the_rounds"),
        Place("Subroutine 1, Lemma 2", "Grad_Length_Estimate, the length of the gradient", "estimators.GradientLength"),
        Place("Example 2", "the exponential loss", "losses.Exponential"),
        Place("Example 3", "the smoothed absolute loss", "losses.SmoothedAbsolute"),
        Place("Example 4", "the smoothed hinge loss", "losses.SmoothedHinge"),
        Place("section 4.2, Figure 1", "the smoothed losses approximate the absolute and the hinge loss; losses with "
              "finitely many derivatives",
              "losses.SmoothedAbsolute losses.SmoothedHinge losses.SemicircleAbsolute estimators.DiscreteLomax "
              "estimators.GradientLength estimators.chebyshev"),
        Place("footnote 2", "two copies are enough for the squared loss and the linear kernel",
              "estimators.TwoCopies",
              tests="study/files/test_study_examples.py::"
              "test_regret_is_linear_for_the_naive_learner_and_sublinear_for_unbiased_ones"),
        Place("section 4.3, Theorem 3, section 5.3, Theorem 5, Eq. 3, Eq. 4, Appendix E, Eq. 7, Appendix F, Eq. 8, "
              "Eq. 9, Eq. 10, Eq. 11", "one noisy copy is not enough",
              "environments.indistinguishable_pair environments.unavoidable_regret "
              "environments.indistinguishable_games environments.unavoidable_regret_of_games "
              "papers.studies.impossibility"),
        Place("section 5.1, Theorem 4, Appendix D", "regret with any unbiased g~ and Psi~",
              "bounds.unbiased_steps bounds.noisy_kernel environments.OppositeLabels environments.OppositeInstances"),
        Place("section 5.2, Eq. 2, Subroutine 2, Lemma 3", "Map_Estimate of a dot-product kernel",
              "estimators.DotProductFeatureMap estimators.CombinedFeatureMap"),
        Place("Subroutine 3, Lemma 4, Subroutine 4", "Prod, inner products of estimates",
              "estimators.feature_maps.prod"),
        Place("section 6", "open questions", reason="the section states no result"),
        Place("Appendix A, Eq. 5", "the other two notions of regret", "game.NoisyRegret game.NoisyLearnerRegret"),
        Place("Appendix B, Eq. 6, Subroutine 5, Lemma 5, Subroutine 6, Lemma 6, Subroutine 7",
              "Map_Estimate and Prod of the Gaussian kernel", "estimators.GaussianFeatureMap"),
        Place("Appendix C", "the series of Examples 3 and 4", "losses.SmoothedAbsolute losses.SmoothedHinge"),
    ],
    "B": [
        Place("section 2, Eq. 1", "the expected regret on the clean data, and regret with high probability",
              "game.CleanRegret bounds.with_high_probability bounds.largest_copies "
              "results.statistics.quantiles.quantile_over_runs"),
        Place("section 2 (remark on batches)", "online-to-batch conversion",
              "learners.held_out_risk", reason="further-experiments.md reports an experiment"),
        Place("section 2 (known mean)", "a known mean of the noise is deducted from copies and labels",
              "feedback.Replicates estimators.TwoCopies"),
        Place("section 2 (unknown horizon)", "the results extend to an unknown horizon",
              "learners.InverseSqrt learners.Doubling",
              tests="study/files/test_study_examples.py::"
              "test_regret_is_linear_for_the_naive_learner_and_sublinear_for_unbiased_ones"),
        Place("section 3, Eq. 2, Lemma 3", "gradient descent on any sequence of vectors", "bounds.gradient_descent"),
        Place("section 3.1, Eq. 3", "gradient descent on estimates", "learners.GradientLearner",
              tests="study/files/test_study_examples.py::"
              "test_regret_is_linear_for_the_naive_learner_and_sublinear_for_unbiased_ones"),
        Place("section 3.2, Eq. 4, Eq. 13, Eq. 14, Eq. 15", "gradient descent with a surrogate kernel",
              "estimators.Surrogate learners.SurrogateKernel"),
        Place("section 4, footnote 1, Lemma 1, Algorithm 1",
              "two copies (left) and one copy with its covariance (right), and the moments of copies",
              "estimators.TwoCopies estimators.KnownCovariance bounds.moment_bounds"),
        Place("Theorem 1", "regret with two copies", "bounds.two_copies"),
        Place("section 5, Lemma 2", "one copy and its covariance",
              "estimators.KnownCovariance estimators.KnownJointCovariance feedback.CorrelatedCopies"),
        Place("Theorem 2", "regret with one copy and its covariance, also with the better step B_w / sqrt(G T)",
              "bounds.known_covariance bounds.known_joint_covariance"),
        Place("section 6, Eq. 5, Algorithm 2", "a Gaussian kernel and Gaussian noise, also with measured copies",
              "estimators.Surrogate learners.SurrogateKernel feedback.Replicates papers.studies.gaussian_noise",
              tests="learners/kernels/test_surrogate_kernel.py::"
              "test_measured_copies_of_known_noise_give_the_pseudocode"),
        Place("Theorem 3, Eq. 10, Eq. 11, Eq. 12", "its regret, and R for wide kernels",
              "bounds.surrogate_kernel papers.studies.gaussian_noise"),
        Place("section 6.1, Theorem 4, footnote 2, Eq. 6", "radial kernels as mixtures of Gaussian ones (Schoenberg)",
              "kernels.radial papers.studies.radial_kernels"),
        Place("Lemma 4, Eq. 7", "the surrogate kernel k^ with E k^(a, x~) = k(a, x)",
              "estimators.Surrogate estimators.LaplaceSurrogate estimators.DebiasedPolynomialFeatures"),
        Place("Lemma 5, Eq. 8, Lemma 6, Eq. 9, Lemma 9, Eq. 21", "the angle beta, and the radius W that it gives",
              "comparators.positive_negative_angle bounds.surrogate_radius"),
        Place("Appendix E, Eq. 16, Eq. 17, Lemma 8, Eq. 20", "surrogates of radial kernels, the worked case "
              "(1 + r^2/d)^-1", "estimators.radial_surrogate kernels.radial.Cauchy papers.studies.radial_kernels"),
        Place("Figure 1", "the kernel g of the worked case and its approximation k",
              "kernels.radial.Cauchy papers.studies.radial_kernels"),
        Place("Theorem 5, Lemma 7, Eq. 18, Eq. 19", "regret in the worked case, its R",
              "bounds.surrogate_radial_kernel estimators.surrogates.lemma7_bound papers.studies.radial_kernels"),
    ],
    "C": [
        Place("footnote 1", "related work on restricted distributions",
              reason="the footnote states no result of the paper"),
        Place("section 2, Eq. 1", "k attributes of each instance; ridge (p = 2) and Lasso (p = 1) with all attributes",
              "feedback.Attributes comparators.L2Ball comparators.L1Ball comparators.best_in_l1_ball",
              tests="comparators/test_comparators.py::test_l2_ball_matches_a_general_optimiser "
              "comparators/test_comparators.py::test_l1_ball_matches_the_lasso "
              "comparators/test_comparators.py::test_l1_ball_satisfies_the_optimality_conditions"),
        Place("Eq. 2", "the risk of Lasso, a known result, in the order for B >= 1 (E40)", "bounds.baseline_risk",
              reason="the paper cites it, and the claim of Theorem 1 shows the same error"),
        Place("Eq. 3, Lemma 1", "an estimate of x from attributes drawn without replacement",
              "estimators.AttributeGradient estimators.AttributePairs",
              reason="the claims of Algorithms 1 and 2 contain it"),
        Place(
            "section 2.1, Algorithm 1",
            "Baseline: moments from pairs of attributes",
            "learners.Baseline estimators.AttributePairs",
        ),
        Place("footnote 2", "w if the correlation matrix is the identity", "estimators.AttributePairs"),
        Place("Theorem 1, Lemma 4, section A.1", "risk of the Baseline, measured beside its bound",
              "bounds.baseline_risk environments.HiddenAttribute"),
        Place("remark after Theorem 1", "d^4/k^2 times as many examples; k = d does not give the bound of full "
              "information", "bounds.baseline_risk estimators.AttributePairs"),
        Place("footnote 5", "the Rademacher complexity of the squared loss", "losses.Squared bounds.baseline_risk"),
        Place("Lemma 2", "the deviation of the Baseline's A", "estimators.AttributePairs bounds.baseline_risk"),
        Place("Lemma 3", "the size of the Baseline's v", "estimators.AttributePairs bounds.baseline_risk"),
        Place(
            "section 2.2, Eq. 4, Eq. 6, Algorithm 2",
            "AER: the gradient from k attributes",
            "learners.aer estimators.AttributeGradient",
        ),
        Place("Eq. 5", "the regularised risk that AER minimises", "estimators.Regularised learners.aer"),
        Place("Hazan and Koren 2012", "AERR: the same with an l2 distribution; exponentiated gradient",
              "learners.aerr estimators.AttributeGradient learners.ExponentiatedGradient "
              "bounds.attribute_exponentiated_regret"),
        Place("Theorem 2, section 3, Lemma 5", "risk of AER, measured where the bound says something: mean excess risk "
              "2.7e-4, bound 0.14, w = 0 has 0.25 (d = k = 2, 100,000 examples)",
              "bounds.aer_regret learners.aer environments.HiddenAttribute"),
        Place("footnote 3", "the bound of AER is better than that of the Baseline, if B is at least 1",
              "bounds.aer_regret bounds.baseline_risk"),
        Place("Eq. 7, Eq. 8, Eq. 9, Eq. 10", "the sum of <z_t, w_t - w*>, and the regret", "bounds.aer_regret"),
        Place("footnote 4", "the bound for instances with a short |x|_2", "bounds.aer_regret"),
        Place("remark after Theorem 2", "AER and Lasso need as many attributes if w* is dense",
              "bounds.aer_regret", reason="further-experiments.md reports an experiment"),
        Place("section 2.3, Theorem 3, Eq. 11, Eq. 12, Eq. 13", "lower bound on the number of examples",
              "bounds.hidden_attribute_examples environments.HiddenAttribute "
              "papers.studies.attributes_theory.hidden_attribute"),
        Place("Lemma 6", "the game with K arms behind Theorem 3", "environments.HiddenAttribute"),
        Place("Theorem 4", "two attributes do not suffice to predict",
              "environments.three_bits papers.studies.attributes_theory.three_bits_row"),
        Place("section 4, the table of test errors", "MNIST, all 45 pairs of digits",
              "datasets.mnist papers.studies.attributes"),
        Place("Figure 1", "images of which four pixels are seen", "papers.studies.attributes_figures.images"),
        Place("Figure 2", "test errors by examples and by attributes", "papers.studies.attributes_figures.prefixes"),
        Place("section 5", "other losses, from a random number of attributes; p-norm descent",
              "estimators.AttributeSeriesGradient bounds.attribute_series_regret learners.MirrorLearner "
              "learners.PNorm"),
    ],
    "D": [
        Place("Eq. 1, Eq. 2", "functions of the RKHS as integrals of features, and their norm",
              "estimators.FourierFeatures", reason="they define what Lemma 1 uses"),
        Place("section 2, Eq. 3, Eq. 4, Eq. 5", "random Fourier features",
              "estimators.FourierFeatures estimators.DebiasedFourierFeatures kernels.Gaussian kernels.Laplacian"),
        Place("Lemma 1, Eq. 6, Eq. 7", "the approximation of f by m features: no bias (Eq. 7), variance and E |w^|^2 "
              "(Eq. 6)", "bounds.Features estimators.dictionary.Dictionary",
              tests="learners/kernels/test_multikernel.py::"
              "test_random_features_are_unbiased_with_the_variance_of_lemma_1"),
        Place("Eq. 8", "least squares in an RKHS, the comparator of the regret", "comparators.best_in_rkhs_ball",
              tests="learners/kernels/test_multikernel.py::"
              "test_best_in_an_rkhs_ball_agrees_with_a_constrained_minimiser"),
        Place("Eq. 9, Eq. 10, Eq. 11", "the Vovk-Azoury-Warmuth forecaster, its regret", "learners.VAW bounds.vaw "
              "papers.studies.multikernel_rates"),
        Place("Eq. 12", "its regret on random features, and the remark on pairs (cos, sin)",
              "bounds.vaw bounds.Features"),
        Place("Lemma 2, Eq. 13", "the error of the approximation of f in the sum of RKHSs; a factor N is too much "
              "(E61)",
              "bounds.concatenated estimators.dictionary.Dictionary"),
        Place("Eq. 14, Eq. 15", "steps of the proof of Lemma 2: bias and variance, and the errors of the kernels",
              "estimators.dictionary.Dictionary"),
        Place("Theorem 1, Eq. 17", "VAW on the features of all kernels; the bound in the code is without a factor N "
              "of Eq. 17 that is not needed (E61)", "bounds.concatenated "
              "papers.studies.multikernel_rates"),
        Place("Eq. 16", "the vector of the features of all kernels", "learners.VAW estimators.dictionary.Dictionary",
              tests="learners/linear/test_vaw.py::test_vaw_on_a_dictionary_concatenates_its_features"),
        Place("Eq. 19", "a step of the proof of Theorem 1: regret against the weights w^",
              "learners.VAW estimators.dictionary.Dictionary"),
        Place("Eq. 18", "its rate for m = sqrt(T)", "bounds.concatenated papers.studies.multikernel_rates"),
        Place("remark on complexity", "N^2 m^2 operations a round of VAW on all features, N m^2 of VAW over experts",
              "learners.VAW learners.MultiKernel papers.studies.multikernel_rates"),
        Place("Theorem 2, Eq. 20, Eq. 28", "VAW over the kernels' forecasters, plain or truncated (Eq. 28); "
              "the plain bound has the N of Eq. 20 that is not needed (E62)",
              "learners.MultiKernel learners.Truncated bounds.vaw2 papers.studies.multikernel_rates"),
        Place("Eq. 21", "its rate for m = sqrt(T)", "bounds.vaw2 papers.studies.multikernel_rates"),
        Place("Eq. 22, Eq. 23, Eq. 24, Eq. 25, Eq. 26, Eq. 27", "steps of the proof of Theorem 2: the loss as a sum of "
              "regrets, and a bound on each term", "learners.VAW estimators.dictionary.Dictionary bounds.vaw2"),
        Place("Eq. 29, Eq. 30", "exponential weights over experts", "learners.EWA bounds.ewa"),
        Place("Theorem 3, Eq. 31", "exponential weights over truncated forecasters", "bounds.vaw_ewa",
              tests="learners/kernels/test_multikernel.py::test_regret_is_below_the_bounds_of_theorems_1_to_3"),
        Place("remark after Theorem 3", "gradient descent on the features (OGD-EWA, OGD-OGD)",
              "learners.Raker papers.engines.kernel_competitors.two_level_descent papers.studies.multikernel"),
        Place("section 4", "the other combiners, Raker and OMKL-GF",
              "learners.Aggregating learners.BOA learners.MLPoly learners.MLProd learners.Raker learners.OMKLGF "
              "bounds.ml_poly bounds.ml_prod bounds.boa"),
        Place("Eq. 32", "the autoregressive series", "environments.Autoregressive datasets.ar4"),
        Place("Eq. 33, Eq. 34", "the scaling of labels and instances", "papers.studies.multikernel_runs.scaled",
              tests="papers/studies/test_multikernel_study.py::test_scaled_maps_rows_and_targets_to_the_unit_interval"),
        Place("Table 1", "the data sets", "datasets.catalogue papers.studies.multikernel"),
        Place("Table 2", "the errors of all algorithms; 18 of 21 errors of combiners are those of online ridge (E17)",
              "papers.studies.multikernel"),
        Place("Figure 1", "errors up to each round", "papers.studies.multikernel_figures.running"),
        Place("Figure 2", "weights after the last round", "papers.studies.multikernel_figures.weights"),
    ],
    "E": [
        Place("setup", "the protocol of a round: instance, prediction, label, loss, update",
              "game.Game game.play game.stream_keys live.Live",
              tests="game/test_random_streams.py::test_random_numbers_are_uncorrelated"),
        Place("spam filtering", "boolean instances with few relevant attributes; Winnow (Littlestone 1988)",
              "environments.SparseBooleans learners.Winnow learners.ThresholdAdvice bounds.winnow",
              tests="environments/test_sparse_booleans.py::"
              "test_perceptron_is_below_its_bound_but_above_that_of_winnow"),
        Place("regret, negative result", "learner and adversary; regret of at least T/2 of every deterministic "
              "learner against two constant experts",
              "game.CleanRegret comparators.BestExpert environments.ContraryLabels environments.ContraryLosses",
              tests="environments/test_contrary.py::test_every_deterministic_learner_errs_in_every_round "
              "environments/test_contrary.py::test_every_deterministic_learner_of_arms_loses_every_round"),
        Place("Algorithm 1", "halving (as printed: lazy), and its bound",
              "learners.Halving bounds.halving",
              tests="learners/experts/test_expert_learners.py::"
              "test_halving_makes_at_most_log2_k_mistakes_on_enumerated_classes"),
        Place("exponential weights, Algorithm 2, Algorithm 3", "exponential weights (printed twice) and their regret",
              "learners.DrawnExpert learners.Hedge learners.EWA bounds.exponential_weights"),
        Place("Algorithm 4", "the perceptron, and its bound",
              "learners.Perceptron bounds.perceptron",
              tests="learners/linear/test_perceptron.py::test_perceptron_equals_its_numpy_loop "
              "environments/test_sparse_booleans.py::"
              "test_perceptron_is_below_its_bound_but_above_that_of_winnow"),
        Place("practical setup", "adaptive conformal prediction (named only in the lecture): Gibbs and Candes 2021",
              "learners.AdaptiveConformal losses.Miscoverage environments.ShiftingScores bounds.adaptive_conformal "
              "bounds.quantile_tracking",
              tests="learners/conformal/test_adaptive_conformal.py::"
              "test_error_of_the_coverage_is_below_the_bound_after_every_round_of_every_stream"),
        Place("interesting materials", "convex optimisation, stochastic and adversarial bandits",
              "learners.GradientLearner learners.UCB1 learners.EXP3",
              tests="contracts/test_bounds_on_games.py::"
              "test_pseudo_regret_on_stationary_arms_is_below_the_bound"),
        Place("Auer et al. 2002", "adversarial bandits (The nonstochastic multiarmed bandit problem)",
              "learners.EXP3 learners.EXP3P learners.EXP4 bounds.exp3 bounds.exp4 bounds.minimax",
              tests="learners/bandits/test_loss_estimates.py::test_loss_estimates_have_their_mean_and_wrong_divisors_are_found"),
        Place("Freund et al. 1997", "experts that sleep (Using and combining predictors that specialize)",
              "environments.Sleeping learners.Hedge learners.EXP3 simulation.awake_regret bounds.sleeping_hedge "
              "bounds.sleeping_exp3",
              tests="learners/bandits/test_sleeping.py::test_hedge_with_sleeping_experts_equals_a_loop"),
        Place("Joulani et al. 2013", "delayed answers",
              "feedback.Delayed learners.UpdateOnArrival learners.BOLD bounds.bold bounds.delayed_ucb1",
              tests="feedback/test_delayed.py::test_bold_equals_a_loop_over_copies"),
        Place("Kleinberg et al. 2010", "sleeping bandits and the best ordering",
              "learners.UCB1 comparators.BestOrdering bounds.sleeping_ucb1",
              tests="learners/bandits/test_sleeping.py::"
              "test_ucb1_satisfies_its_theorem_with_gaps_to_the_best_available_arm"),
        Place("Neu 2015", "EXP3 with implicit exploration", "learners.EXP3IX bounds.exp3_ix",
              tests="learners/bandits/test_loss_estimates.py::test_loss_estimates_have_their_mean_and_wrong_divisors_are_found"),
        Place("Kivinen and Warmuth 1997", "exponentiated gradient", "learners.ExponentiatedGradient",
              tests="learners/gradient/test_convex_learners.py::test_exponentiated_gradient_equals_its_numpy_loop"),
        Place("Nemirovsky and Yudin 1983", "mirror descent, with the entropy, p-norms and the logarithmic barrier",
              "learners.MirrorLearner learners.Entropy learners.PNorm learners.LogBarrier bounds.mirror_descent",
              reason="the test is in the row of exponentiated gradient, which is the map of the entropy"),
        Place("Hazan et al. 2007", "logarithmic regret: strongly convex losses, online Newton step",
              "learners.GradientLearner learners.InverseTime bounds.strongly_convex learners.OnlineNewtonStep "
              "bounds.online_newton_step",
              tests="study/files/test_study_examples.py::test_regret_on_coin_flips_is_a_harmonic_number "
              "learners/gradient/test_convex_learners.py::"
              "test_online_newton_step_is_below_its_bound_and_beats_gradient_descent"),
        Place("Duchi et al. 2011", "AdaGrad", "learners.AdaGrad bounds.adagrad",
              tests="learners/gradient/test_adaptive_steps.py::test_regret_of_adagrad_is_below_its_bound"),
        Place("Flaxman et al. 2005", "gradient descent without a gradient",
              "learners.GradientBandit bounds.gradient_bandit",
              tests="learners/gradient/test_convex_learners.py::test_gradient_bandit_equals_its_numpy_loop"),
        Place("Cesa-Bianchi et al. 2005", "label-efficient prediction", "learners.LabelEfficientHedge",
              tests="learners/experts/test_label_efficient.py::test_label_efficient_estimates_are_unbiased_by_enumeration"),
    ],
}  # fmt: skip


def claims_at(letter: str, place: Place) -> list[Claim]:
    """Return the claims, in all forms, whose attribute `paper` ends with the given place of the paper."""
    keys = {key.strip().lower() for key in place.where.split(",")}
    matches = []
    for claim in all_claims():
        source, *places = [part.strip() for part in claim.paper.split(",")]
        last = places[-1] if places else source
        if last.lower() in keys and source in (letter, last):
            matches.append(claim)
    return matches


def named_tests(place: Place) -> list[tuple[str, str]]:
    """Return the files below tests/ and the functions of the tests that show a place."""
    parts = (test.partition("::") for test in place.tests.split())
    return [(file, name) for file, _, name in parts]


def studies_of(place: Place) -> list[str]:
    """Return the names of a place that are studies, their modules, or functions with one of their figures or tables."""
    return [name for name in place.names.split() if name.startswith("papers.studies.")]


def defining_file(name: str) -> Path:
    """Return the file that defines a name (for a package, its folder), relative to the root of the repository."""
    parent, _, last = (f"benchmarks.{name}" if name.startswith("papers.") else f"jaxonline.{name}").rpartition(".")
    module = importlib.import_module(parent)
    spec = importlib.util.find_spec(f"{parent}.{last}") if hasattr(module, "__path__") else None
    file = Path(str(spec.origin) if spec is not None else inspect.getfile(inspect.unwrap(getattr(module, last))))
    file = file.relative_to(Path(__file__).parents[3])
    return file.parent if file.name == "__init__.py" else file


def papers_page() -> str:
    """Return the page docs/papers.md in Markdown."""
    lines = [
        "# Where is each paper in the code?",
        "",
        "`python -m benchmarks.papers.claims.papers > docs/papers.md` generates this page. [claims.md](claims.md) "
        "explains the "
        f"claims and the notes E1 to E{len(ERRATA)}. A study (`study.ready`) shows the statements of its row in "
        "simulations. A test compares the code of its row with an independent program. "
        "[Further experiments](further-experiments.md) reports experiments whose code has been deleted.",
    ]
    for letter, places in PLACES.items():
        lines += ["", f"## {letter}", "", f"{PAPERS[letter]}.", ""]
        lines += ["| place | what | in the code | claims and tests |", "| --- | --- | --- | --- |"]
        for place in places:
            code = ", ".join(f"[`{name}`](../{defining_file(name).as_posix()})" for name in place.names.split())
            claims = [as_text(name) for name in dict.fromkeys(claim.name for claim in claims_at(letter, place))]
            tests = [f"[`{name}`](../tests/{file})" for file, name in named_tests(place)]
            shown = "; ".join(claims + tests) or as_text(f"not shown, because {place.reason}" if place.reason else "")
            cells = (place.where, as_text(place.what), code or "not in the code", shown)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(papers_page(), end="")
