"""The confidence interval of the mean regret lies below the bound, for every bound and every game to which it applies.

Intervals are from the normal limit, with a false alarm of 1e-6 for all comparisons of a test together.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry import LEARNERS
from scipy import stats

import jaxonline as jo
from jaxonline import bounds, comparators, environments, learners, losses

pytestmark = [pytest.mark.long, pytest.mark.fast_compile]

FALSE_ALARM = 1e-6
ARM, EXPECTED = losses.ArmLoss(), losses.ExpectedLoss()
K, T, RUNS = 4, 400, 512
RUNS_OF_ARMS = 64


@functools.partial(jax.jit, static_argnums=(2, 3))
def _histories(game, learner, n_rounds, n_runs):
    keys = jax.vmap(lambda run: jax.random.fold_in(jax.random.key(7), run))(jnp.arange(n_runs, dtype=jnp.uint32))
    return jax.vmap(lambda key: jo.play(game, learner, key, n_rounds)[1])(keys)


def histories(environment, learner, feedback, loss, n_rounds=T, n_runs=RUNS):
    return _histories(jo.Game(environment, feedback, loss=loss), learner, n_rounds, n_runs)


def upper(values, comparisons):
    z = stats.norm.ppf(1 - FALSE_ALARM / comparisons)
    return float(values.mean() + z * values.std(ddof=1) / np.sqrt(len(values)))


# ---------------------------------------------------------------------------------------------------------------------
# Experts


def alternating() -> environments.DataStream:
    losses = np.ones((T, K))
    losses[:, :2] = ([[0.5, 0.0]] + [[0.0, 1.0], [1.0, 0.0]] * (T // 2))[:T]
    return environments.DataStream(None, losses)


def hedge_for(n_rounds):
    return learners.Hedge(learners.EWA(jnp.sqrt(8.0 * np.log(K) / n_rounds)))


EXPERTS = {
    "coins": environments.BernoulliArms([0.5] * K),
    "gap": environments.BernoulliArms([0.3, 0.5, 0.5, 0.5]),
    "walk": environments.RandomWalkExperts(K),
    "switching": environments.SwitchingExperts(K, every=100, gap=0.8),
    "finite class": environments.FiniteClass([0.1, 0.3, 0.5, 0.5], "losses"),
    "alternating": alternating(),
    "contrary": environments.ContraryLosses(K),
    "contrary, blind": environments.ContraryLosses(K, blind=True),
}
WEIGHTS, PERTURBED, REGULARIZED = (
    bound(K, T) for bound in (bounds.exponential_weights, bounds.perturbed_leader, bounds.regularized_leader)
)
FULL, DOUBLED = jo.FullInformation(), bounds.doubling(float(np.sqrt(np.log(K) / 2)), T)
ENTROPY = learners.Hedge(learners.FollowTheRegularizedLeader(WEIGHTS.eta, "entropy"))
EUCLIDEAN = learners.Hedge(learners.FollowTheRegularizedLeader(REGULARIZED.eta))
SHARE = learners.Hedge(learners.FixedShare.over_horizon(K, T, 3))
EFFICIENT = learners.LabelEfficientHedge.over_horizon(K, T, 200)
# the learner, its feedback, its loss, its bound, and the number of switches of the comparator
FOLLOWERS = {
    "Hedge": (learners.Hedge(learners.EWA(WEIGHTS.eta)), FULL, EXPECTED, WEIGHTS.value, 0),
    "drawn expert": (learners.DrawnExpert(learners.EWA(WEIGHTS.eta)), FULL, ARM, WEIGHTS.value, 0),
    "entropy": (ENTROPY, FULL, EXPECTED, WEIGHTS.value, 0),
    "Euclidean": (EUCLIDEAN, FULL, EXPECTED, REGULARIZED.value, 0),
    "doubling": (learners.Doubling(hedge_for), FULL, EXPECTED, DOUBLED, 0),
    "fixed share": (SHARE, FULL, EXPECTED, bounds.fixed_share(K, T, 3).value, 3),
    "label-efficient": (EFFICIENT, jo.OnRequest(), EXPECTED, bounds.label_efficient(K, T, 200).value, 0),
    "perturbed leader": (learners.FollowThePerturbedLeader(PERTURBED.eta), FULL, ARM, PERTURBED.value, 0),
    "Gumbel leader": (learners.FollowThePerturbedLeader(WEIGHTS.eta, "gumbel"), FULL, ARM, WEIGHTS.value, 0),
}  # fmt: skip


def regrets_of(environment, learner, feedback, loss, switches):
    """Return the regret of each run to the best expert or sequence in hindsight.

    If losses depend on moves, the comparator is the expert with the smallest mean loss over all runs, because the
    theorems bound the largest mean regret.
    """
    history = histories(environment, learner, feedback, loss)
    own, losses = np.asarray(history.loss, float).sum(axis=1), np.asarray(history.y, float)
    if switches:
        best = comparators.BestSegments(switches + 1)
        return own - [best.best_losses(None, run, np.array([len(run)]))[0] for run in losses]
    sums = losses.sum(axis=1)
    return own - (sums.min(axis=1) if environment.oblivious else sums[:, sums.mean(axis=0).argmin()])


@pytest.mark.parametrize("name", EXPERTS)
def test_regret_to_experts_is_below_the_bound(name):
    """A perturbed leader is not tested on the contrary games, whose adversary reacts to the last draw."""
    for learner, (rule, feedback, loss, bound, switches) in FOLLOWERS.items():
        if name == "contrary" and "leader" in learner:
            continue
        regrets = regrets_of(EXPERTS[name], rule, feedback, loss, switches)
        assert upper(regrets, len(FOLLOWERS)) < bound, (learner, regrets.mean(), bound)


def test_follow_the_leader_and_constant_weights_exceed_the_bound():
    """Follow the leader fails on alternating losses, constant weights fail if one expert is better."""
    follower = regrets_of(EXPERTS["alternating"], learners.Hedge(learners.FollowTheLeader()), FULL, EXPECTED, 0)
    still = regrets_of(EXPERTS["gap"], learners.Hedge(learners.EWA(1e-9)), FULL, EXPECTED, 0)
    assert follower.min() > REGULARIZED.value
    assert -upper(-still, 1) > REGULARIZED.value


@pytest.mark.parametrize("labels", ["perfect", "noisy", "contrary"])
def test_mistakes_of_votes_are_below_the_bound(labels):
    """Halving (also lazy) and weighted majority, in every run, with the mistakes of the best expert in that run."""
    environment = environments.FiniteClass([0.0 if labels == "perfect" else 0.1, 0.5, 0.5, 0.5])
    if labels == "contrary":
        environment = environments.ContraryLabels((-1.0, 1.0, 1.0, 1.0))
    for learner, bound in (
        (learners.Halving(), bounds.halving), (learners.Halving(lazy=True), bounds.halving),
        (learners.WeightedMajority(0.5), lambda K, L: bounds.weighted_majority(K, 0.5, L)),
    ):  # fmt: skip
        history = histories(environment, learner, FULL, losses.ZeroOne())
        mistakes = np.asarray(history.loss).sum(axis=1)
        best = (np.asarray(history.x) != np.asarray(history.y)[..., None]).sum(axis=1).min(axis=1)
        assert (best == 0).all() == (labels == "perfect")
        assert all(made <= bound(K, int(least)) for made, least in zip(mistakes, best, strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# Arms


LONG, DELTA = 2000, 0.1
ARMS = {
    "gap": environments.BernoulliArms([0.3, 0.5, 0.5, 0.5]),
    "hidden": environments.HiddenBestArm.over_horizon(K, LONG),
    "drifting": environments.DriftingArms([0.2, 0.4, 0.6, 0.8], step=0.02),
    "switching": environments.SwitchingArms(
        [[0.1, 0.5, 0.5, 0.9], [0.9, 0.5, 0.5, 0.1], [0.1, 0.5, 0.5, 0.9]], [500, 1500]
    ),
    "finite class": environments.FiniteClass([0.1, 0.3, 0.5, 0.5], "losses"),
    "contrary": environments.ContraryLosses(K),
}
EXPONENTIAL = {
    "EXP3": (learners.EXP3.over_horizon(K, LONG), bounds.exp3(K, LONG), None),
    "EXP3-IX": (learners.EXP3IX.over_horizon(K, LONG), bounds.exp3_ix(K, LONG, DELTA), DELTA),
    "EXP3.P": (learners.EXP3P.over_horizon(K, LONG, DELTA), bounds.exp3_p(K, LONG, DELTA), DELTA),
}


@pytest.mark.parametrize("name", ARMS)
def test_regret_of_exponential_weights_on_arms_is_below_the_bound(name):
    """EXP3: mean regret to the arm with the best mean in its run (in all runs, if losses depend on moves). EXP3-IX and
    EXP3.P: regret in hindsight, which is above the bound with probability at most 0.1."""
    environment = ARMS[name]
    for learner, (rule, bound, delta) in EXPONENTIAL.items():
        history = histories(environment, rule, jo.Bandit(), ARM, LONG, RUNS_OF_ARMS)
        own, sums = np.asarray(history.loss, float).sum(axis=1), np.asarray(history.y, float).sum(axis=1)
        if delta is not None:
            above = int((own - sums.min(axis=1) > bound).sum())
            assert stats.binomtest(above, RUNS_OF_ARMS, delta, alternative="greater").pvalue > FALSE_ALARM, learner
        elif environment.oblivious:  # at most the regret to the best in hindsight
            assert upper(own - sums.min(axis=1), 1) < bound, learner
        else:
            assert upper(own - sums[:, sums.mean(axis=0).argmin()], 1) < bound, learner


@pytest.mark.parametrize("name", ["gap", "hidden", "Gaussian"])
def test_pseudo_regret_on_stationary_arms_is_below_the_bound(name):
    """UCB1, MOSS and explore-then-commit with the gaps of the environment; on Gaussian arms, whose losses are not in
    [0, 1], only explore-then-commit."""
    means = [0.3, 0.5, 0.5, 0.5]
    if name == "hidden":
        means = [0.5 - float(ARMS[name].gap), 0.5, 0.5, 0.5]
    environment = environments.GaussianArms(means, std=0.5) if name == "Gaussian" else ARMS[name]
    gaps = np.subtract(means, min(means))
    promised = {"commit": (learners.ExploreThenCommit(100), bounds.explore_then_commit(gaps, 100, LONG))}
    if name != "Gaussian":
        promised |= {
            "UCB1": (learners.UCB1(), bounds.ucb1(gaps, LONG)),
            "MOSS": (learners.MOSS(LONG), bounds.moss(K, LONG)),
        }
    game = jo.Game(environment, jo.Bandit(), ARM, pseudo=True)
    result = jo.simulate(
        game, {learner: rule for learner, (rule, _) in promised.items()}, n_runs=RUNS_OF_ARMS, n_rounds=LONG, key=1,
        record_at=1, comparator=jo.BestArm(),
    )  # fmt: skip
    for i, (learner, (_, bound)) in enumerate(promised.items()):
        assert upper(result.regret[i, :, -1], len(promised)) < bound, learner


# ---------------------------------------------------------------------------------------------------------------------
# One expert or arm, one round, and equal losses


CHOOSERS = [name for name, make in LEARNERS.items() if isinstance(make().loss, losses.ArmLoss | losses.ExpectedLoss)]


@pytest.mark.parametrize("name", CHOOSERS)
@pytest.mark.parametrize(("n_arms", "n_rounds"), [(1, 1), (3, 12)])
def test_equal_losses_of_all_arms_are_the_losses_of_the_learner(name, n_arms, n_rounds):
    """Tests every learner of the registry that follows an expert or pulls an arm."""
    entry, losses = LEARNERS[name](), np.full((n_rounds, n_arms), 0.75)
    x = np.tile(np.eye(n_arms), (n_rounds, 1, 1)) if entry.contexts else None
    if isinstance(entry.feedback, jo.FeedbackGraph | jo.PartialMonitoring) and n_arms == 1:
        return  # graphs and games of three arms
    game = jo.Game(environments.DataStream(x, losses), entry.feedback, loss=entry.loss)
    state, history = jo.play(game, entry.learner, jax.random.key(0), n_rounds)
    np.testing.assert_allclose(history.loss, 0.75, rtol=1e-6)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))
