"""Bandits: every policy compared with its NumPy version, in which every constant decides; ties, rates and numbers."""

import dataclasses
import functools
import inspect
import itertools
import math
from fractions import Fraction

import bandit_loops as loops
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bandit_rounds import play
from combiners import boa
from tiers import some

import jaxonline as jo
from jaxonline import learners
from jaxonline.environments import DataStream, Rewards
from jaxonline.feedback import BanditOracle, DuelOracle, SemiBanditOracle
from jaxonline.learners import BOA
from jaxonline.learners.bandits import (
    best_arm,
    contextual,
    detecting,
    exponential,
    fixed_confidence,
    index_policies,
    logistic,
    moving,
    reductions,
    sets_and_duels,
    thompson,
)
from jaxonline.learners.bandits.detecting import Detection
from jaxonline.learners.bandits.exponential import tsallis_weights
from jaxonline.learners.bandits.index_policies import Tally
from jaxonline.losses import ArmLoss, SmallestArms
from jaxonline.numerics.elementwise import kl_lower_bound

pytestmark = pytest.mark.fast_compile


def exp3_boa(h, exploration=0.1):
    """EXP3 with another combiner, from estimates with the probabilities of the run."""
    estimates = h.pulled * h.losses[..., None] / h.p
    weights = [boa(rows, lambda w, t, run=run: h.losses[run, t]) for run, rows in enumerate(estimates)]
    return (1 - exploration) * np.array(weights) + exploration / h.n_arms


R, N, D = 16, 3, 3  # runs, experts, features
RIDGE = learners.VAW(3.0, forward=False, allow_float32=True)
RECORDED = {  # half of the runs have recorded moves, the other half those of the policy
    "UCB1": (learners.UCB1(1.6), loops.ucb1),
    "UCB1-tuned": (learners.UCB1Tuned(), loops.ucb1_tuned),
    "UCB, asymptotic": (learners.AsymptoticUCB(0.3), loops.asymptotic_ucb),
    "UCB, fixed confidence": (learners.FixedConfidenceUCB(1e-3, 0.2), loops.fixed_confidence_ucb),
    "MOSS": (learners.MOSS(160.0, exploration=0.4), loops.moss),
    "KL-UCB": (learners.KLUCB(c=1.0), loops.kl_ucb),
    "discounted UCB": (learners.DiscountedUCB(0.95, 0.1), loops.discounted_ucb),
    "sliding-window UCB": (learners.SlidingWindowUCB(32, 0.1), loops.sliding_window_ucb),
    "discounted Thompson": (learners.DiscountedThompson(0.95, 1.5, 2.0), loops.discounted_thompson),
    "sliding-window Thompson": (learners.SlidingWindowThompson(32, 1.5, 2.0), loops.sliding_window_thompson),
    "CUSUM-UCB": (learners.CUSUMUCB(1.0, 0.2, 8.0, 0.05, 0.4), loops.cusum_ucb),
    "M-UCB": (learners.MonitoredUCB(12, 1.8, 0.2, 0.4), loops.monitored_ucb),
    "GLR-klUCB": (learners.GLRKLUCB(0.8, 0.2, 3, 2), loops.glr_kl_ucb),
    "GLR-klUCB, local": (learners.GLRKLUCB(0.8, 0.2, 3, 2, local=True), loops.local_glr_kl_ucb),
    "explore then commit": (learners.ExploreThenCommit(6), loops.explore_then_commit),
    "Gaussian Thompson": (learners.GaussianThompson(0.4, 0.3, 0.5), loops.gaussian_thompson),
    "Bernoulli Thompson": (learners.BernoulliThompson(1.5, 2.0), loops.bernoulli_thompson),
    "LinUCB": (learners.LinUCB(0.3, 3.0), loops.lin_ucb),
    "linear Thompson": (learners.LinThompson(0.3, 3.0), loops.lin_thompson),
    "LinUCB, disjoint": (learners.LinUCB(0.3, 3.0, "disjoint"), loops.lin_ucb_disjoint),
    "LinUCB, hybrid": (learners.LinUCB(0.3, 3.0, "hybrid"), loops.lin_ucb_hybrid),
    "linear Thompson, disjoint": (learners.LinThompson(0.3, 3.0, "disjoint"), loops.lin_thompson_disjoint),
    "linear Thompson, hybrid": (learners.LinThompson(0.3, 3.0, "hybrid"), loops.lin_thompson_hybrid),
    "logistic UCB": (learners.LogisticUCB(0.3, 3.0), loops.logistic_ucb),
    "logistic UCB, disjoint": (learners.LogisticUCB(0.3, 3.0, "disjoint"), loops.logistic_ucb_disjoint),
    "logistic Thompson": (learners.LogisticThompson(0.3, 3.0), loops.logistic_thompson),
    "logistic Thompson, disjoint": (learners.LogisticThompson(0.3, 3.0, "disjoint"), loops.logistic_thompson_disjoint),
    "epsilon-greedy": (learners.EpsilonGreedy(2.0, power=0.5), loops.epsilon_greedy),
    "CUCB": (learners.CUCB(SmallestArms(2), 0.9), loops.cucb),
    "RUCB": (learners.RUCB(0.6), loops.rucb),
}
BEST_ARM = {
    "successive elimination": (learners.SuccessiveElimination(0.1), loops.successive_elimination),
    "sequential halving": (learners.SequentialHalving(200), loops.sequential_halving),
    "successive rejects": (learners.SuccessiveRejects(200), loops.successive_rejects),
    "uniform allocation": (learners.UniformAllocation(150), loops.uniform_allocation),
    "APT": (learners.APT(150, 0.47, 0.053), loops.apt),
    "LUCB": (learners.LUCB(0.1), loops.lucb),
    "lil'UCB": (learners.LilUCB(0.003, std=0.3, epsilon=0.02, beta=0.9), loops.lil_ucb),
    "lil'UCB, ratio": (
        learners.LilUCB(0.003, 0.3, 0.02, 0.9, ratio=3.0),
        lambda h, ratio=3.0: loops.lil_ucb(h, ratio=ratio),
    ),
    "track and stop": (learners.TrackAndStop(0.1), loops.track_and_stop),
    "track and stop, Gaussian": (learners.TrackAndStop(0.1, 0.2), loops.track_and_stop_gaussian),
    "track and stop, cumulative": (learners.TrackAndStop(0.1, tracking="C"), loops.track_and_stop_cumulative),
    "track and stop, heuristic": (
        learners.TrackAndStop(0.1, threshold="heuristic"),
        loops.track_and_stop_heuristic,
    ),
    "top-two Thompson": (learners.TopTwoThompson(0.1, share=0.6, redraws=4), loops.top_two_thompson),
    "top-two Thompson, Gaussian": (
        learners.TopTwoThompson(0.1, 0.2),
        loops.top_two_thompson_gaussian,
    ),
}
OWN = {
    "UCB2": (learners.UCB2(0.2), loops.ucb2),
    "EXP3": (learners.EXP3(0.2, 0.1), loops.exp3),
    "EXP3, BOA": (learners.EXP3(BOA(), 0.1), exp3_boa),
    "EXP3-IX": (learners.EXP3IX(0.2, 0.1), loops.exp3_ix),
    "EXP3.P": (learners.EXP3P(0.2, 0.05, 0.1), loops.exp3_p),
    "EXP4": (learners.EXP4(0.5, 0.1), loops.exp4),
    "SquareCB": (learners.SquareCB(RIDGE, 8.0, 0.4), loops.square_cb),
    "SquareCB, shared": (learners.SquareCB(RIDGE, 8.0, 0.4, "shared"), loops.square_cb_shared),
    "contextual epsilon-greedy": (learners.EpsilonGreedyCB(RIDGE, 0.6, 0.3), loops.epsilon_greedy_cb),
    "contextual epsilon-greedy, gradients": (
        learners.EpsilonGreedyCB(jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(0.2)), 0.6, 0.3),
        loops.epsilon_greedy_cb_of_gradients,
    ),
    "contextual explore first": (learners.ExploreFirstCB(RIDGE, 30), loops.explore_first_cb),
    "contextual bagging": (learners.BaggingCB(RIDGE, 5), loops.bagging_cb),
    "contextual epsilon-greedy, shared": (
        learners.EpsilonGreedyCB(RIDGE, 0.6, 0.3, "shared"),
        loops.epsilon_greedy_cb_shared,
    ),
    "contextual explore first, shared": (learners.ExploreFirstCB(RIDGE, 30, "shared"), loops.explore_first_cb_shared),
    "contextual bagging, shared": (learners.BaggingCB(RIDGE, 5, "shared"), loops.bagging_cb_shared),
    "EXP3.S": (learners.EXP3S(0.2, 0.02), loops.exp3_s),
    "Rexp3": (learners.Restarting(learners.EXP3S(0.2, 0.0), 30.0), loops.rexp3),
    "Tsallis-INF": (learners.TsallisINF(), loops.tsallis_reduced_variance),
    "Tsallis-INF, importance-weighted": (
        learners.TsallisINF("importance_weighted"),
        loops.tsallis_importance_weighted,
    ),
} | BEST_ARM
POLICIES = RECORDED | OWN
LONG = {
    "UCB1-tuned": 1500,
    "successive elimination": 1500,
    "RUCB": 400,
    "LUCB": 1500,
}  # rounds, until each constant decides
CHANGING = "GLR-klUCB", "GLR-klUCB, local"  # losses change, so that changes are detected
ORACLES = {"CUCB": SemiBanditOracle, "RUCB": DuelOracle}


def random_rows(name, K):
    """Return recorded moves, outcomes, contexts and keys. Losses are equal in run 0, which has recorded turns."""
    rng, T = np.random.default_rng(0), LONG.get(name, 200)
    means, scale = rng.uniform(0.35, 0.65, (R, 1, K)), rng.uniform(0.02, 0.3, (R, 1, K))
    if (name in BEST_ARM and "budget" not in vars(BEST_ARM[name][0])) or name in CHANGING:
        means = rng.permuted(np.tile(np.linspace(0.02, 0.98, K), (R, 1, 1)), axis=-1)
    losses = np.clip(means + scale * rng.uniform(-1, 1, (R, T, K)), 0, 1)
    if name in CHANGING:
        losses = np.where(np.arange(T)[:, None] // 40 % 2, 1 - losses, losses)
    if name != "track and stop, Gaussian":  # its costs of equal arms are equal only up to rounding
        losses[0], losses[1:4] = 0.5, rng.uniform(size=(3, T, K)) < means[1:4]
    moves = rng.integers(K, size=(R, T))
    moves[0] = np.arange(T) % K
    x = rng.dirichlet(np.ones(K), (R, T, N)) if name == "EXP4" else rng.normal(size=(R, T, K, D))
    y = losses
    if name == "CUCB":
        moves = np.sort(np.argsort(rng.random((R, T, K)) * means, axis=-1)[..., :2], axis=-1)
    if name == "RUCB":
        moves = rng.integers(K, size=(R, T, 2))
        moves[2::4, T // 2 :] = 0  # so that candidates return
        strength = np.exp(12 * means[:, 0])
        wins = strength[:, :, None] / (strength[:, :, None] + strength[:, None])
        wins[8:] = rng.choice([0.05, 0.95], (R - 8, K, K))  # perhaps without a winner
        y = (rng.uniform(size=(R, T, K, K)) < wins[:, None]).astype(float)
        y = np.triu(y, 1) + np.tril(1 - y.swapaxes(2, 3), -1) + 0.5 * np.eye(K)
    moves[1::2] = -1
    if name in OWN:
        moves[:] = -1
    keys = jax.random.split(jax.random.key(0), (2, R, T))
    return *map(jnp.asarray, (moves.astype(np.int32), y, x)), *keys


def decisions(name, K):
    """Return the rounds, and what the library did in them."""
    rows = random_rows(name, K)
    with jax.numpy_dtype_promotion("strict"):
        made, own, p, info = jax.tree.map(np.asarray, play(ORACLES.get(name, BanditOracle), POLICIES[name][0], rows))
    rounds = loops.Rounds(made, *(np.asarray(row) for row in rows[1:3]), *rows[3:])
    if len(p):
        rounds.p = p
        np.testing.assert_array_equal(own, (np.cumsum(p, -1) <= rounds.draws(jax.random.uniform)[..., None]).sum(-1))
        return rounds, p
    if hasattr(info, "above"):
        return rounds, np.stack([own, info.stopped * (1 + info.above @ 2 ** np.arange(K))], -1)
    if isinstance(info, Detection):
        return rounds, np.stack([own, info.change], -1)
    return rounds, np.stack([own, info.stopped * (info.recommendation + 1)], -1) if info else own


def changed(value):
    return 1.2 * value if value else 0.1


SLOW = {"GLR-klUCB, local": 8, "top-two Thompson": 6, "top-two Thompson, Gaussian": 6}
# one policy of each class, of GLR-klUCB the fast one; with more than 16 arms other programs search and draw
ONE_OF_EACH = {type(POLICIES[n][0]): n for n in reversed(POLICIES) if n != "GLR-klUCB"}.values()


@pytest.mark.parametrize(
    ("name", "K"),
    some(
        itertools.product(POLICIES, [4, 17]),
        *((name, 4) for name in ONE_OF_EACH),
        *((name, 17) for name in ("UCB1", "EXP3")),
    ),
)
def test_policy_equals_its_numpy_version_in_which_every_constant_decides(x64, name, K):
    """Run 0 has ties, with and without recorded moves in turn."""
    loop = POLICIES[name][1]
    rounds, result = decisions(name, K)
    rounds, result = rounds.of(slice(SLOW.get(name))), result[: SLOW.get(name)]
    np.testing.assert_allclose(result, loop(rounds), rtol=1e-9)
    constants = {key: value.default for key, value in inspect.signature(loop).parameters.items() if key != "f"}
    for constant in list(constants)[1:] if K == 4 else []:
        with np.errstate(all="ignore"):
            other = loop(rounds, **{constant: changed(constants[constant])})
        assert not np.allclose(result, other, rtol=1e-7, atol=0), constant


def of_each_arm(K):
    return np.linspace(0.2, 0.6, K), np.linspace(0.4, 0.7, K)


REWARDS = {name: pair for name, pair in POLICIES.items() if name not in (*ORACLES, *BEST_ARM)} | {
    "Gaussian Thompson": (learners.GaussianThompson(0.4, 0.3, 0.5), loops.gaussian_thompson_of_rewards),
    "Gaussian Thompson, flat": (learners.GaussianThompson(0.4, prior_std=None), loops.flat_thompson_of_rewards),
    "Gaussian Thompson, each arm": (
        learners.GaussianThompson(0.4, *of_each_arm(4)),
        lambda h: loops.gaussian_thompson_of_rewards(h, 0.4, *of_each_arm(4)),
    ),
    "Bernoulli Thompson": (learners.BernoulliThompson(1.5, 2.0), loops.bernoulli_thompson_of_rewards),
    "Bernoulli Thompson, each arm": (
        learners.BernoulliThompson([9, 9, 2, 1], [1, 1, 8, 1]),
        lambda h: loops.bernoulli_thompson_of_rewards(h, np.array([9, 9, 2, 1]), np.array([1, 1, 8, 1])),
    ),
    "discounted Thompson": (  # numbers of rewards in the prior
        learners.DiscountedThompson(0.95, 1.5, 2.0),
        lambda h: loops.discounted_thompson(h, prior_ones=2.0, prior_zeros=1.5),
    ),
    "sliding-window Thompson": (
        learners.SlidingWindowThompson(32, 1.5, 2.0),
        lambda h: loops.sliding_window_thompson(h, prior_ones=2.0, prior_zeros=1.5),
    ),
    "LinUCB": (learners.LinUCB(0.3, 3.0), loops.lin_ucb_of_rewards),
    "linear Thompson": (learners.LinThompson(0.3, 3.0), loops.lin_thompson_of_rewards),
    "epsilon-greedy": (learners.EpsilonGreedy(2.0, power=0.5), loops.epsilon_greedy_of_rewards),
}
LINEAR = [name for name in POLICIES if name.startswith(("LinUCB, ", "linear Thompson, ", "SquareCB", "contextual"))]
REWARDS |= {name: (POLICIES[name][0], loops.of_minus_rewards(POLICIES[name][1])) for name in LINEAR}


@pytest.mark.parametrize(
    "name",
    some(REWARDS, "EXP3", "SquareCB", "Gaussian Thompson", "Bernoulli Thompson, each arm", "LinUCB", "epsilon-greedy"),
)
def test_policy_has_the_numbers_of_a_loop_of_rewards(x64, name):
    """In float64, on a table of rewards in file order, with the keys that the learner gets in each round."""
    learner, loop = REWARDS[name]
    _, y, x, *_ = random_rows(name, 4)
    rewards, x, key = 1 - np.asarray(y)[5], np.asarray(x)[5], jax.random.key(3)
    learner = jo.replace(learner, ties="first") if hasattr(learner, "ties") else learner
    arms = Rewards(DataStream(x, rewards))
    moves = jo.play(jo.Game(arms, jo.Bandit(), loss=ArmLoss()), learner, key, len(rewards))[1].y_hat
    arms, p = (moves.arm, moves.probabilities) if isinstance(moves, jo.game.Draw) else (moves, None)
    keys = [jax.random.fold_in(jax.random.fold_in(key, 2), t) for t in range(1, len(rewards) + 1)]
    keys, update_keys = (jnp.stack([jax.random.fold_in(key, part) for key in keys])[None] for part in (0, 1))
    rounds = loops.Rounds(np.asarray(arms)[None], 1 - rewards[None], x[None], keys, update_keys)
    rounds.p = None if p is None else np.asarray(p)[None]
    result, expected = np.asarray(arms)[None] if p is None else rounds.p, loop(rounds)
    expected = expected if expected.ndim == result.ndim else expected[..., 0]  # without the changes that are detected
    np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_glr_detects_a_change_at_the_first_split():
    """Three losses 0 and then ones: by the split after three, n losses have the evidence n times the entropy of 3/n."""
    learner = learners.GLRKLUCB(0.8, 0.1, stride=3)
    game = jo.Game(DataStream(None, np.append(np.zeros(3), np.ones(37))[:, None]), jo.Bandit(), loss=ArmLoss())
    change = jo.play(game, learner, jax.random.key(0), 40)[1].info.change
    n = np.arange(4, 40)
    evidence = -3 * np.log(3 / n) - (n - 3) * np.log(1 - 3 / n)
    assert int(change.argmax()) + 1 == n[np.argmax(evidence >= np.log(3 * n * np.sqrt(n) / 0.8))]


EACH_ARM = [name for name in POLICIES if ("joint" in name or name in LINEAR) and "shared" not in name]


@pytest.mark.parametrize("name", some(EACH_ARM, "LinUCB, disjoint", "SquareCB"))
def test_a_shared_context_is_the_context_of_each_arm(x64, name):
    learner = jo.replace(POLICIES[name][0], ties="first")
    _, y, x, *_ = random_rows(name, 4)
    for rows in (x[5, :, 0], jnp.broadcast_to(x[5, :, :1], x[5].shape)):
        moves = jo.play(jo.Game(DataStream(rows, y[5]), jo.Bandit(), loss=ArmLoss()), learner, jax.random.key(3), 60)[1]
        arms = moves.y_hat.arm if isinstance(moves.y_hat, jo.game.Draw) else moves.y_hat
        first = arms if rows.ndim == 2 else first
    np.testing.assert_array_equal(first, arms)


def test_growth_of_index_policies_has_its_closed_form(x64):
    n, t = np.array([3, 1, 40, 6]), 50
    growths = {
        "UCB1": 1.6 * math.log(t),
        "UCB, asymptotic": 2 * 0.3**2 * math.log(1 + (t + 1) * math.log(t + 1) ** 2),
        "UCB, fixed confidence": 2 * 0.2**2 * math.log(1e3),
        "MOSS": 0.4 * np.maximum(np.log(160 / (4 * n)), 0),
    }
    tally = Tally(jnp.asarray(n), jnp.zeros(4), jnp.zeros(4))
    for name, growth in growths.items():
        np.testing.assert_allclose(POLICIES[name][0].growth(tally), growth, rtol=1e-12)


def test_every_policy_has_a_case():
    modules = [best_arm, contextual, detecting, exponential, fixed_confidence, index_policies]
    modules += [logistic, moving, reductions, sets_and_duels, thompson]
    members = {member for module in modules for member in vars(module).values() if isinstance(member, type)}
    names = {module.__name__ for module in modules}
    public = {member for member in members if member.__module__ in names and hasattr(learners, member.__name__)}
    public = {member for member in public if not inspect.isabstract(member)}
    public = {member for member in public if hasattr(member, "predict") and dataclasses.is_dataclass(member)}
    assert public == {type(learner) for learner, _ in POLICIES.values()}


@pytest.mark.parametrize(("K", "T", "delta"), [(2, 100, 0.5), (7, 12_345, 1e-3)])
def test_rates_are_those_of_the_theorems(K, T, delta):
    """Theorem 1 of Neu (2015), Theorem 3.3 of Bubeck and Cesa-Bianchi (2012), and Theorem 3 of Auer et al. (2002)."""
    implicit, explicit = learners.EXP3IX.over_horizon(K, T), learners.EXP3P.over_horizon(K, T, delta)
    np.testing.assert_allclose([implicit.eta**2 * K * T, implicit.eta / implicit.gamma], [2 * np.log(K), 2], rtol=1e-12)
    rates = [explicit.eta**2, explicit.beta**2, (explicit.exploration / K) ** 2]
    logs = [0.95**2 * np.log(K), np.log(K) - np.log(delta), 1.05**2 * np.log(K)]
    np.testing.assert_allclose(rates, np.divide(logs, K * T), rtol=1e-12)
    np.testing.assert_allclose(learners.EXP3P.over_horizon(K, T).beta ** 2 * K * T, np.log(K), rtol=1e-12)
    capped = learners.EXP3P.over_horizon(9, 1, 1e-9)
    assert (capped.beta, capped.exploration) == (1, 1)
    etas = [learners.EXP3.over_horizon(K, T).combiner.eta ** 2, learners.EXP4.over_horizon(5, K, T).combiner.eta ** 2]
    np.testing.assert_allclose(np.multiply(etas, K * T), 2 * np.log([K, 5]), rtol=1e-12)
    greedy = [learners.EpsilonGreedy.decreasing(K, 0.3), learners.EpsilonGreedy.decreasing(K, 0.3, 5.5)]
    np.testing.assert_allclose([rule.epsilon * 0.3**2 / K for rule in greedy], [6, 5.5], rtol=1e-12)
    assert [rule.power for rule in greedy] == [1, 1]
    assert learners.DiscountedUCB.over_horizon(10_000).discount == 1 - 1 / 400
    assert learners.SlidingWindowUCB.over_horizon(10_000).window == round(4 * np.sqrt(1e4 * np.log(1e4))) == 1214
    assert learners.SlidingWindowUCB.over_horizon(1).window == 1
    np.testing.assert_allclose(learners.FixedConfidenceUCB.over_horizon(1000).delta, 1e-6, rtol=1e-12)


@pytest.mark.parametrize(("K", "T", "C"), [(2, 100, 1), (5, 12_345, 7)])
def test_tunings_for_changing_arms(K, T, C):
    """The formulas of the docstrings, solved for other numbers: T, C and the constants all decide."""
    known, unknown = learners.EXP3S.over_horizon(K, T, C), learners.EXP3S.over_horizon(K, T)
    assert (known.alpha, unknown.alpha, known.n_arms, unknown.n_arms) == (1 / T, 1 / T, K, K)
    np.testing.assert_allclose((np.e - 1) * T / K * known.gamma**2, (C + 1) * np.log(K * T) + np.e, rtol=1e-12)
    np.testing.assert_allclose(np.exp(T / K * unknown.gamma**2), K * T, rtol=1e-9)
    restarting = learners.Restarting.rexp3(K, T, 0.4 * C)
    assert restarting.every == np.ceil(np.cbrt(K * np.log(K) * (T / (0.4 * C)) ** 2)) < T
    np.testing.assert_allclose(restarting.learner.gamma**2 * restarting.every / K, np.log(K) / (np.e - 1), rtol=1e-12)
    assert restarting.learner.alpha == 0
    assert learners.Restarting.rexp3(K, T, 1e-9).every == T
    cusum = learners.CUSUMUCB.over_horizon(T, C, warmup=33)
    np.testing.assert_allclose(np.exp(cusum.threshold), T / C, rtol=1e-12)
    np.testing.assert_allclose(cusum.explore**2, np.log(T / C) * C / T, rtol=1e-12)
    assert (cusum.warmup, learners.CUSUMUCB.over_horizon(T, C).warmup) == (33, 100)
    glr = learners.GLRKLUCB.over_horizon(T, C)
    np.testing.assert_allclose([glr.delta**-2, glr.explore**2], [C * T, C / T * np.log(T)], rtol=1e-12)
    w = 64
    monitored = learners.MonitoredUCB.over_horizon(K, T, C, window=w)
    b = monitored.threshold
    np.testing.assert_allclose(np.exp(2 * b**2 / w), 2 * K * T**2, rtol=1e-9)
    exploration = min(1, C * K / T * (b + 12))  # 3 sqrt(w) / 2
    np.testing.assert_allclose((monitored.explore**2, monitored.window), (exploration, w), rtol=1e-12)


def test_tunings_for_changing_arms_reject_as_many_changes_as_rounds():
    over_horizon = [
        learners.CUSUMUCB.over_horizon, learners.GLRKLUCB.over_horizon,
        functools.partial(learners.MonitoredUCB.over_horizon, 3), functools.partial(learners.EXP3S.over_horizon, 3),
    ]  # fmt: skip
    for tune in over_horizon:
        for n_rounds, n_changes in ((100, 200), (100, 100), (1, 1)):
            with pytest.raises(
                ValueError, match=rf"^n_changes: must be below n_rounds, {n_rounds} \(got {n_changes}\)"
            ):
                tune(n_rounds, n_changes)
        tune(2, 1)


def test_monitored_ucb_rejects_a_threshold_at_which_it_detects_nothing():
    with pytest.raises(ValueError, match=r"threshold: must be below window / 2, 5 .*got 5"):
        learners.MonitoredUCB(10, 5.0, 0.1)
    learners.MonitoredUCB(10, 4.99, 0.1)
    with pytest.raises(ValueError, match=r"window: must be at least 42.*got 40"):
        learners.MonitoredUCB.over_horizon(3, 10_000, 1, window=40)
    assert learners.MonitoredUCB.over_horizon(3, 10_000, 1, window=42).threshold < 21


@pytest.mark.long
@pytest.mark.parametrize(("every", "wrong"), [(10.0, 12), (30.0, 24)])
def test_dynamic_regret_of_restarts_is_the_number_of_their_wrong_pulls(every, wrong):
    """Arms with the losses 0 and 1 change places after 20, 50 and 90 of 120 rounds.

    A batch of explore-then-commit has one wrong pull, and 12 batches of 10 rounds end with each change. Two of the four
    batches of 30 rounds go on with the wrong arm for 10 rounds after a change.
    """
    arms = jo.environments.SwitchingArms([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], starts=[21, 51, 91])
    game = jo.Game(arms, jo.Bandit(), loss=ArmLoss())
    learner = learners.Restarting(learners.ExploreThenCommit(1), every)
    options = {"n_runs": 4, "n_rounds": 120, "comparator": jo.comparators.BestOfEachRound(), "record_at": [120]}
    result = jo.simulate(game, learner, **options)
    assert (result.regret == wrong).all()


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
def test_kl_lower_bound_agrees_with_bisection(both_precisions):
    """For budgets from the first rounds to a million rounds, and means in [0, 1] with both ends."""
    means = np.array([0.0, 1e-6, 1e-3, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0])
    budgets = np.array([0.0, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 14.0])
    grid = [axis.ravel().astype(both_precisions).astype(float) for axis in np.meshgrid(means, budgets)]
    result = np.asarray(jax.jit(kl_lower_bound)(*(jnp.asarray(axis, both_precisions) for axis in grid)), float)
    expected = np.array([loops.kl_lower(m, b) for m, b in zip(*grid, strict=True)])
    digits = max(64 * np.finfo(both_precisions).eps, 3e-11)  # the loop subtracts logarithms, which limits its precision
    assert (np.abs(result - expected) <= digits * grid[0]).all()
    assert (result <= grid[0]).all()


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
@pytest.mark.parametrize("alpha", [Fraction(1, 1000), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_epochs_of_ucb2_end_at_powers_that_are_rounded_up(both_precisions, alpha):
    """All ends up to 4,000 pulls; those of the growth 1/1000 may differ by a pull in float32."""
    exact, power = [1], Fraction(1)
    while exact[-1] < 4000:
        power *= 1 + alpha
        exact += [math.ceil(power)] if math.ceil(power) > exact[-1] else []
        power = power.limit_denominator(10**15)
    ends = jax.jit(jax.vmap(lambda pulls: learners.UCB2(float(alpha))._epoch_end(pulls, both_precisions)))
    result = np.asarray(ends(jnp.asarray([0, *exact[:-1]], jnp.int32)))
    allowed = 1 if alpha < 0.1 and both_precisions == jnp.float32 else 0
    assert np.abs(result - exact).max() <= allowed


@pytest.mark.parametrize("both_precisions", some([False, True], False), indirect=True)
def test_weights_of_tsallis_inf_agree_with_bisection(both_precisions):
    """For 2 to 100 arms, rates of the first round and of round 10^8, and equal and very different sums."""
    rng, limit = np.random.default_rng(0), 1e-5 if both_precisions == jnp.float32 else 1e-12
    compute = jax.jit(tsallis_weights)
    for n_arms in (2, 9, 100):
        for rate in (4.0, 0.3, 4e-4):
            for spread in (0.0, 1.0, 1e4):
                sums = np.asarray(spread * rng.uniform(size=n_arms), both_precisions)
                weights = np.asarray(compute(jnp.asarray(sums), jnp.asarray(rate, both_precisions)), float)
                expected = loops.tsallis_weights(sums.astype(float) - float(sums.min()), rate)
                np.testing.assert_allclose(weights, expected, rtol=limit)
