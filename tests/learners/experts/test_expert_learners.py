"""Learners over experts: comparison with NumPy loops, closed forms, enumeration of all sequences, and theorems."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from combiners import weights_of
from expert_losses import KEY, K, T, losses_of, on_losses
from full_rounds import played
from tiers import some

import jaxonline as jo
from jaxonline import bounds, learners
from jaxonline.numerics.elementwise import Compensated

pytestmark = pytest.mark.fast_compile


def advice_of(seed, errors):
    """Return the advice of experts that are wrong with these probabilities, and the labels."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=T)
    X = np.where(rng.uniform(size=(T, len(errors))) < errors, -1, 1) * y[:, None]
    return X, y


def halving_loop(X, y, lazy):
    alive, votes = set(range(X.shape[1])), []
    for x, label in zip(X, y, strict=True):
        votes.append(sum(x[k] for k in alive) / len(alive))
        if not lazy or votes[-1] * label <= 0:
            alive = {k for k in alive if x[k] == label} or set(range(X.shape[1]))
    return votes, sorted(alive)


def majority_loop(X, y, beta):
    w, votes = np.ones(X.shape[1]), []
    for x, label in zip(X, y, strict=True):
        votes.append((w[x > 0].sum() - w[x < 0].sum()) / w.sum())
        w = np.where(x == label, w, beta * w)
    return votes, w / w.sum()


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("best", [0.0, 0.2])
def test_halving_equals_its_numpy_loop_with_and_without_a_perfect_expert(x64, best, lazy):
    X, y = advice_of(1, np.array([0.4, best, 0.5, 0.3, 0.6]))
    votes, left = halving_loop(X, y, lazy)
    moves, states, info = played(learners.Halving(lazy), (jnp.asarray(X), jnp.asarray(y)))
    np.testing.assert_allclose(moves, votes, rtol=0, atol=1e-15)
    assert np.flatnonzero(states.consistent[-1]).tolist() == left
    assert info.mistake.tolist() == [not v * label > 0 for v, label in zip(votes, y, strict=True)]
    errors = int((y[:, None] != X).sum(axis=0).min())
    assert (errors == 0) == (best == 0.0)
    assert 0 < info.mistake.sum() <= bounds.halving(5, errors)


def test_weighted_majority_equals_its_numpy_loop(x64):
    X, y = advice_of(2, np.array([0.4, 0.3, 0.5, 0.3, 0.6]))
    learner = learners.WeightedMajority(0.6)
    votes, weights = majority_loop(X, y, 0.6)
    moves, states, info = played(learner, (jnp.asarray(X), jnp.asarray(y)))
    np.testing.assert_allclose(moves, votes, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(jax.jit(learner.weights)(states[-1]), weights, rtol=1e-12)
    errors = int((y[:, None] != X).sum(axis=0).min())
    assert errors < int(info.mistake.sum()) <= bounds.weighted_majority(5, 0.6, errors)


CLASSES = {  # of eight hypotheses on seven points
    "thresholds": np.where(np.arange(7) < np.arange(8)[:, None], -1.0, 1.0),
    "parities": np.array([[(-1.0) ** bin(a & x).count("1") for x in range(1, 8)] for a in range(8)]),
    "all functions of three points": np.array([[*f, *f, f[0]] for f in itertools.product([-1.0, 1.0], repeat=3)]),
}


@pytest.mark.parametrize("name", CLASSES)
def test_halving_makes_at_most_log2_k_mistakes_on_enumerated_classes(name):
    """For all functions every vote before the last mistake is a tie, and there are exactly three mistakes."""
    y = jnp.asarray(CLASSES[name], jnp.float32)
    majority = learners.WeightedMajority(0.5), bounds.weighted_majority(8, 0.5, 0)
    for learner, most in ((learners.Halving(), 3), (learners.Halving(lazy=True), 3), majority):
        mistakes = jax.vmap(lambda label, learner=learner: played(learner, (y.T, label))[2].mistake.sum())(y)
        assert mistakes.max() <= most
        assert (mistakes == 3).all() or name != "all functions of three points" or most > 3
    assert bounds.halving(8) == 3


def fixed_share_loop(losses, eta, share):
    w, out = np.ones(losses.shape[1]) / losses.shape[1], []
    for row in losses:
        out.append(w / w.sum())
        v = w * np.exp(-eta * row)
        w = (1 - share) * v + share * v.sum() / len(v)
    return np.array(out)


def simplex_loop(losses, eta):
    """Return projections on the simplex, by bisection of the threshold."""
    out, L = [], np.zeros(losses.shape[1])
    for row in losses:
        low, high = -eta * L.max() - 1.0, -eta * L.min()
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(-eta * L - middle, 0).sum() > 1 else (low, middle)
        out.append(np.maximum(-eta * L - low, 0))
        L = L + row
    return np.array(out)


def leader_loop(losses):
    out, L = [], np.zeros(losses.shape[1])
    for row in losses:
        out.append(np.eye(len(L))[int(min(range(len(L)), key=lambda k: (L[k], k)))])
        L = L + row
    return np.array(out)


@pytest.mark.parametrize(
    ("combiner", "loop"),
    [
        (learners.FixedShare(0.7, 0.1), lambda losses: fixed_share_loop(losses, 0.7, 0.1)),
        (learners.FollowTheLeader(), leader_loop),
        (learners.FollowTheRegularizedLeader(0.2), lambda losses: simplex_loop(losses, 0.2)),
        (learners.FollowTheRegularizedLeader(0.7, "entropy"), lambda losses: weights_of("ewa", losses, eta=0.7)),
    ],
    ids=["fixed share", "leader", "regularized", "entropy"],
)
def test_combiner_equals_its_numpy_loop(x64, combiner, loop):
    losses = np.round(losses_of(3) * 8) / 8  # sums of eighths are exact, so ties are exact
    expected = loop(losses)
    np.testing.assert_allclose(on_losses(learners.Hedge(combiner), losses)[0], expected, rtol=1e-9, atol=1e-12)
    assert len(np.unique(expected.argmax(axis=1))) > 1


@pytest.mark.long
def test_fixed_share_equals_exponential_weights_on_all_sequences_of_experts(x64):
    """The prior of the 3^5 sequences redraws the expert uniformly with probability `share`."""
    eta, share, losses = 1.3, 0.2, losses_of(4, 5, 3)
    rule = learners.FixedShare(eta, share)
    state = rule.init(3, np.float64)
    for t in range(5):
        weights = np.zeros(3)
        for sequence in itertools.product(range(3), repeat=t + 1):
            prior = 1 / 3
            for before, after in itertools.pairwise(sequence):
                prior *= share / 3 + (1 - share) * (before == after)
            weights[sequence[-1]] += prior * math.exp(-eta * sum(losses[s, k] for s, k in enumerate(sequence[:-1])))
        np.testing.assert_allclose(rule.weights(state), weights / weights.sum(), rtol=1e-12)
        state = rule.update(state, jnp.asarray(losses[t]), 0.0)


def test_follow_the_leader_fails_on_alternating_losses(x64):
    """On (1/2, 0), (0, 1), (1, 0), ... it has regret T / 2, and the regularised leader stays below its bound."""
    losses = np.ones((T, K))
    losses[:, :2] = ([[0.5, 0.0]] + [[0.0, 1.0], [1.0, 0.0]] * (T // 2))[:T]

    def regret(combiner):
        moves = np.asarray(on_losses(learners.Hedge(combiner), losses)[0], float)
        return (moves * losses).sum() - losses.sum(axis=0).min()

    assert regret(learners.FollowTheLeader()) == T / 2
    entropy, euclidean = bounds.exponential_weights(K, T), bounds.regularized_leader(K, T)
    assert regret(learners.FollowTheRegularizedLeader(entropy.eta, "entropy")) <= entropy.value < 7
    assert regret(learners.FollowTheRegularizedLeader(euclidean.eta)) <= euclidean.value < 7


def test_the_bound_of_the_regularized_leader_is_reached_up_to_two_percent():
    """Two experts: losses that alternate, and then are all of one expert. Weights are 1/2 - eta (difference) / 2."""
    bound, signs, best = bounds.regularized_leader(2, 32), (-1.0) ** np.arange(32), 0.0
    for alternating in range(33):
        losses = np.where(np.arange(32) < alternating, signs, (-1.0) ** alternating)  # of the first less the second
        weights = np.clip(0.5 - bound.eta * (np.cumsum(losses) - losses) / 2, 0, 1)
        own = np.where(losses > 0, weights, 1 - weights).sum()
        best = max(best, own - min((losses > 0).sum(), (losses < 0).sum()))
    assert 0.98 * bound.value < best <= bound.value * (1 + 1e-12)


@pytest.mark.parametrize("n_rounds", [50, 401])
def test_rates_over_a_horizon_are_those_of_the_bounds(n_rounds):
    ours = [
        learners.FixedShare.over_horizon(4, n_rounds, 2), learners.FollowThePerturbedLeader.over_horizon(4, n_rounds),
        learners.Hedge.over_horizon(4, n_rounds).combiner, learners.DrawnExpert.over_horizon(4, n_rounds).combiner,
    ]  # fmt: skip
    theirs = bounds.fixed_share(4, n_rounds, 2), bounds.perturbed_leader(4, n_rounds)
    theirs += 2 * (bounds.exponential_weights(4, n_rounds),)
    assert [rule.eta for rule in ours] == pytest.approx([bound.eta for bound in theirs], rel=1e-12)
    assert ours[0].share == pytest.approx(2 / (n_rounds - 1))


SOFTMAX, LAPLACE = [1 / (1 + math.exp(-0.8)), 1 / (1 + math.exp(0.8))], [1 - math.exp(-0.8) / 2, math.exp(-0.8) / 2]
DISTRIBUTIONS = {
    "drawn": (learners.DrawnExpert(learners.EWA(1.0)), SOFTMAX),
    "gumbel": (learners.FollowThePerturbedLeader(1.0, "gumbel"), SOFTMAX),
    "exponential": (learners.FollowThePerturbedLeader(1.0), LAPLACE),
}


@pytest.mark.parametrize("name", some(DISTRIBUTIONS, "exponential"))
def test_arms_are_drawn_with_their_probabilities(name):
    """The distributions of exponential weights, and of the difference of two exponential variables, differ by 0.086.
    |z| < 6.2 has a false alarm of 6e-10, and detects an error of 0.04 with probability 1 - 1e-6."""
    (learner, p), state = DISTRIBUTIONS[name], Compensated.starting_at(jnp.asarray([2.0, 2.8]))
    keys = jax.random.split(jax.random.key(1), 20_000)
    draws = jax.jit(jax.vmap(lambda key: learner.predict(key, state, ())))(keys)
    frequency = np.mean(np.asarray(getattr(draws, "arm", draws)) == 0)
    assert abs(frequency - p[0]) / math.sqrt(np.prod(p) / 20_000) < 6.2
    assert abs(SOFTMAX[0] - LAPLACE[0]) > 0.08


@pytest.mark.parametrize("name", some(["gumbel", "exponential"], "exponential"))
def test_losses_after_a_loss_outside_the_unit_interval_are_nan(name):
    losses = np.full((6, 2), 0.5, np.float32)
    losses[3, 1] = 1.01
    game = jo.Game(jo.environments.DataStream(None, losses), jo.FullInformation(), loss=jo.losses.ArmLoss())
    assert np.isnan(jo.play(game, DISTRIBUTIONS[name][0], KEY, 6)[1].loss).tolist() == [False] * 4 + [True] * 2


COMBINERS = {
    "ewa": learners.EWA(0.5),
    "fixed share": learners.FixedShare(0.5, 0.01),
    "leader": learners.FollowTheLeader(),
    "regularized": learners.FollowTheRegularizedLeader(0.5),
    "entropy": learners.FollowTheRegularizedLeader(0.5, "entropy"),
    "boa": learners.BOA(),
    "ml-poly": learners.MLPoly(),
    "ml-prod": learners.MLProd(),
}


@pytest.mark.parametrize("name", some(COMBINERS, "fixed share"))
def test_weights_are_finite_after_large_losses(name):
    """In float32, after losses of up to 1e6, different or equal."""
    rule = COMBINERS[name]
    for losses in ([1e6, 1e6 - 1.0, 1e6], [1e6, 0.0, 1e6], [1e6, 1e6, 1e6]):
        losses = jnp.asarray(losses, jnp.float32)
        weights = jax.jit(lambda losses: rule.weights(rule.update(rule.init(3, losses.dtype), losses, 0.0)))(losses)
        assert np.isfinite(weights).all()
        assert np.asarray(weights).sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("name", COMBINERS)
def test_weights_are_finite_after_a_million_rounds(name):
    rule = COMBINERS[name]

    @jax.jit
    def run(rule):
        def one_round(t, state):
            losses = jnp.stack([jnp.ones(()), (t % 2).astype(jnp.float32), jnp.ones(())])
            return rule.update(state, losses, jnp.vdot(rule.weights(state), losses))

        return rule.weights(jax.lax.fori_loop(0, 1_000_000, one_round, rule.init(3, jnp.float32)))

    weights = np.asarray(run(rule))
    assert np.isfinite(weights).all()
    assert weights[1] > 0.96  # 0.9666 for fixed share: others receive 2 / 3 of the share in each round
