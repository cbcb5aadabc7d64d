"""Invalid calls of all public classes and functions raise errors that name the argument; the declared ranges."""

import tempfile

import pytest
from generated_calls import fault_of, invalid_values, parameters, public_callables, recorded_calls
from tiers import some

from jaxonline.parameters.check import quote
from jaxonline.parameters.signatures import parameters_of

CALLABLES = public_callables()
USUAL = {  # ranges of the parameters with these names
    "at least 1": """
        budget deepest degree dimension draws m most_fresh n_arms n_attributes n_chunks n_copies n_examples n_features
        n_blocks n_for_prediction n_frequencies n_kernels n_nodes n_questions n_relevant n_required n_rounds n_rows
        n_segments n_steps n_terms repetitions window""",
    "at least 0": """
        at_zero best_mistakes copy_moment covariance_norm delay epsilon every exploration f_norm factor gamma gaps
        max_copies max_delay maximum mean most_pairs n_switches noise_std order pair_moment penalty power reach
        squared_norm step strength tensor_levels w_norm width winner""",
    "above 0": """
        C G c combiner_regularizer constant convexity cut delta diameter divergence estimate_bound eta exp_concavity
        exponent feature_moment gradient_bound half_width initial lipschitz loss_bound margin max_weight norm prior_std
        radius ratio regularizer scale score_bound second_moment sigma size skew std step_size temperature threshold
        tolerance value variance x_bound x_norm y_bound""",
    "at least 2": "n_experts n_weights",
}
OTHERS = {  # other ranges, and ranges that a declaration gives as numbers
    "": """
        BanditEnv.n_rounds Delayed.delay Task.n_rounds benchmark.gaps benchmark.n_rounds datasets.ar4.n_rounds
        datasets.load.scale
        environments.DataStream.order estimators.SeriesEstimator.constant play_env.n_rounds results.Standings.gaps
        learners.APT.threshold learners.TopTwoThompson.threshold learners.TrackAndStop.threshold
        learners.FollowTheRegularizedLeader.regularizer simulate.n_rounds tune.factor tune.n_rounds
        verify.second_moment.width verify.unbiased.power verify.unbiased.second_moment verify.unbiased.width
        environments.ClassificationArms.order""",
    "above 0": """
        GradientLearner.step_size environments.OppositeInstances.size environments.OppositeLabels.size
        estimators.best_feature_map.copy_moment estimators.best_feature_map.pair_moment kernels.Gaussian.width
        learners.EXP3.combiner learners.EXP4.combiner learners.OnlineNewtonStep.epsilon
        learners.OnlineNewtonStep.gamma
        learners.EXP3G.combiner learners.FeedExp3.combiner learners.SquareCB.gamma
        learners.Restarting.rexp3.variation""",
    "above 0 or infinite": """
        logs.dr_shrinkage.strength logs.switch_dr.threshold logs.clipped_ips.clip
        L2Ball.radius bounds.gradient_descent.G bounds.gradient_descent.diameter bounds.unbiased_steps.feature_moment
        bounds.unbiased_steps.length_moment comparators.best_in_l2_ball.radius estimators.SeriesEstimator.radius
        estimators.best_feature_map.overhead estimators.cost_aware.overhead estimators.cost_aware.radius
        estimators.minimum_variance.radius""",
    "at least 0": """
        UntilDecided.margin bandit_game.std bounds.adagrad.gradient_norms bounds.factor_moment.y_bound
        bounds.largest_estimate.x_bound bounds.largest_estimate.y_bound bounds.noisy_kernel.y_bound
        bounds.noisy_kernel_geometric.y_bound bounds.passive_aggressive.hinge_losses bounds.passive_aggressive.norm
        environments.ChasingNoise.variance environments.GaussianArms.std estimators.FiniteDistribution.probabilities
        kernels.GaussianMixture.rates kernels.GaussianMixture.weights kernels.PowerSeries.betas learners.KLUCB.c
        learners.APT.tolerance learners.TopTwoThompson.redraws
        learners.EXP3S.alpha learners.ExploreFirstCB.n_explore learners.EXP3S.over_horizon.n_changes""",
    "at least 0 or infinite": "estimators.SeriesEstimator.reach",
    "at least 1": """
        bounds.Features.frequencies bounds.aggregating.n_experts bounds.ewa.n_experts bounds.halving.n_experts
        bounds.explore_then_commit.pulls_each bounds.weighted_majority.n_experts bounds.winnow.threshold
        environments.RandomWalkExperts.n_experts environments.SwitchingExperts.every learners.MOSS.n_rounds
        estimators.SeriesEstimator.for_loss.max_copies learners.BernoulliThompson.prior_ones learners.EWA.n_experts
        learners.BernoulliThompson.prior_zeros learners.ExploreThenCommit.pulls_each learners.FixedShare.n_experts
        learners.FollowThePerturbedLeader.n_experts learners.LilUCB.ratio learners.held_out_risk.n_runs
        learners.CUSUMUCB.warmup learners.GLRKLUCB.capacity learners.GLRKLUCB.stride
        learners.DiscountedThompson.prior_ones learners.DiscountedThompson.prior_zeros learners.Restarting.every
        learners.SlidingWindowThompson.prior_ones learners.SlidingWindowThompson.prior_zeros
        learners.BaggingCB.n_models learners.CUSUMUCB.over_horizon.n_changes learners.CUSUMUCB.over_horizon.warmup
        learners.GLRKLUCB.over_horizon.n_changes learners.MonitoredUCB.over_horizon.n_changes""",
    "at least 2": """
        bounds.aer_regret.n_attributes bounds.aer_regret.n_rounds bounds.aerr_regret.n_attributes
        bounds.attribute_exponentiated_regret.n_attributes bounds.baseline_risk.n_attributes bounds.exp3.n_arms
        bounds.delayed_exp3.n_arms bounds.exp3_ix.n_arms bounds.exp3_p.n_arms bounds.fixed_share.n_rounds
        bounds.minimax.n_arms bounds.p_norm_perceptron.p
        bounds.successive_rejects.budget environments.SparseBooleans.dimension
        estimators.AttributeGradient.n_attributes estimators.AttributePairs.n_attributes learners.Baseline.n_attributes
        estimators.PairsOfCopies.n_copies learners.EXP3.over_horizon.n_arms learners.EXP3IX.over_horizon.n_arms
        learners.EXP3P.over_horizon.n_arms learners.FixedShare.over_horizon.n_rounds learners.PNorm.p
        learners.PNormPerceptron.p
        learners.MonitoredUCB.window learners.MonitoredUCB.over_horizon.window learners.EXP3S.over_horizon.n_arms
        learners.Restarting.rexp3.n_arms""",
    "at least 4": "bounds.online_newton_step.n_rounds",
    "at least 0 and at most 1": """
        CondorcetWinner.preferences bounds.cucb.means bounds.rucb.preferences environments.BernoulliArms.means
        environments.DriftingArms.means environments.FiniteClass.errors environments.PreferenceArms.preferences
        environments.RandomWalkExperts.start environments.SparseBooleans.presence environments.SwitchingArms.means
        learners.EXP3.exploration learners.EXP3P.beta learners.EXP3P.exploration learners.EXP4.exploration
        learners.FixedShare.share logs.epsilon_greedy.epsilon noise.RareErrors.rate
        FeedbackGraph.adjacency comparators.BestPulls.means environments.RestedArms.means
        environments.RestlessArms.means environments.RestlessArms.transitions learners.CUSUMUCB.explore
        learners.GLRKLUCB.explore learners.MonitoredUCB.explore learners.EXP3G.exploration
        learners.FeedExp3.exploration learners.EpsilonGreedyCB.epsilon""",
    "above 0 and below 1": """
        CoverageError.alpha Precision.level Precision.rarest_event UntilDecided.level
        UntilDecided.rarest_event bounds.baseline_risk.delta bounds.exp3_ix.delta
        bounds.exp3_p.delta bounds.lai_robbins.means bounds.rucb.delta bounds.successive_elimination.delta
        bounds.weighted_majority.beta bounds.with_high_probability.delta learners.DiscountedUCB.discount
        learners.FixedConfidenceUCB.delta learners.LUCB.delta learners.LilUCB.delta learners.LilUCB.epsilon
        learners.SuccessiveElimination.delta learners.TopTwoThompson.delta learners.TopTwoThompson.share
        learners.TrackAndStop.delta learners.WeightedMajority.beta
        losses.Pinball.tau
        logs.direct_method.level logs.doubly_robust.level logs.dr_shrinkage.level logs.mrdr.level
        logs.switch_dr.level logs.clipped_ips.level logs.independent_ips.level logs.ips.level logs.snips.level
        learners.GLRKLUCB.delta learners.DiscountedThompson.discount""",
    "above 0 and at most 1": """
        environments.SwitchingExperts.gap learners.EXP3P.over_horizon.delta learners.EpsilonGreedy.decreasing.gap
        learners.LabelEfficientHedge.epsilon learners.UCB2.alpha
        learners.EXP3S.gamma""",
    "above 1": """
        bounds.noisy_kernel_geometric.p bounds.winnow.promotion environments.SwitchingArms.starts
        estimators.Geometric.p estimators.PowersOfTwo.rate learners.Winnow.promotion""",
    "above 0 and at most 3": "learners.LilUCB.beta",
    "at least 1 and at most 16": "estimators.PowersOfTwo.max_level",
    "above 2": "noise.StudentCoordinates.degrees noise.student_t.degrees",
    "above 0.5": "bounds.rucb.alpha learners.RUCB.alpha",
    "at least 0 and below 1": "bounds.largest_copies.missed environments.ChasingNoise.memory",
    "at least 0 and below 0.5": "noise.FlippedLabels.rate",
    "above 0 and below 0.0625": "bounds.hidden_attribute_examples.eps",
    "above 0 and at most 0.25": "environments.HiddenAttribute.eps",
    "above 0 and at most 0.5": "environments.HiddenBestArm.gap",
    "above 0 and at most 1.5708": "bounds.surrogate_radius.angle",  # pi / 2
    "at least 0 and at most 100": "environments.DriftingArms.step",
    "above 0 and at most 100": "environments.RandomWalkExperts.step",
    "at least 1e-12 and at most 1,000,000,000,000": """
        learners.AsymptoticUCB.std learners.FixedConfidenceUCB.std learners.GaussianThompson.noise_std
        learners.GaussianThompson.prior_std learners.LilUCB.std learners.TopTwoThompson.std
        learners.TrackAndStop.std""",
    "at least 1e-12 and below 1": "learners.Storage.for_horizon.risk",
    "at least 0 and below 4,294,967,296": "estimators.Dictionary.published.seed logs.replay.seed",
    " or infinite": "verify.bound.limit verify.bound.value",
}


def test_declared_ranges():
    usual = {name: words for words, names in USUAL.items() for name in names.split()}
    others = {name: words for words, names in OTHERS.items() for name in names.split()}
    declared, expected = {}, {}
    for name, function in CALLABLES.items():
        for parameter in parameters_of(function):
            words = parameter.limits.words + " or infinite" * parameter.or_infinity
            if words or parameter.takes != {"anything"}:
                path = f"{name}.{parameter.name}"
                declared[path], expected[path] = words, others.get(path, usual.get(parameter.name, ""))
    assert declared == expected
    assert others.keys() <= declared.keys()


class KeptFolder:
    """A temporary folder that the end of an example does not remove, so that its calls can be repeated."""

    def __init__(self):
        self.name = tempfile.mkdtemp()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *error: object) -> None:
        pass


CHEAP = ("bounds.", "comparators.", "environments.", "kernels.", "logs.", "losses.", "noise.")  # examples of one second


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("prefixes", "most"), some([("", 15_000), (CHEAP, 4000)], (CHEAP, 4000)))
def test_generated_invalid_calls_raise_errors_that_name_the_argument(tmp_path, monkeypatch, prefixes, most):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryDirectory", KeptFolder)
    chosen = {name: function for name, function in CALLABLES.items() if name.startswith(prefixes)}
    n_calls, faults = 0, []
    for call in recorded_calls(chosen):
        for parameter in parameters(call):
            for value in invalid_values(call, parameter):
                fault = fault_of(call, parameter.name, value)
                n_calls += 1
                if fault:
                    faults.append(f"{call.name}({parameter.name}={quote(value)}) {fault}")
    assert not faults, "\n".join(faults)
    assert n_calls > most
