"""Hedge, EXP3 and combiners under any loss: comparison with NumPy loops, bounds, and exact means by enumeration."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from combiners import weights_of
from tiers import some

import jaxonline as jo
from benchmarks.papers.engines.kernels import aggregate
from jaxonline.feedback import FullOracle
from jaxonline.game import Specs, stream_keys
from jaxonline.game.roles import Draw, Learner, Oracle
from jaxonline.learners import (
    BOA,
    EWA,
    EXP3,
    VAW,
    Aggregating,
    Combiner,
    FixedShare,
    FollowTheRegularizedLeader,
    Hedge,
    MLPoly,
    MLProd,
    OverAdvice,
    Truncated,
)
from jaxonline.learners.experts.advice import as_learner
from jaxonline.losses import ArmLoss
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters.struct import struct

T, K = 200, 5
COMBINERS = {"ewa": EWA(0.7), "boa": BOA(), "ml-poly": MLPoly(), "ml-prod": MLProd()}


def specs(n=K, dtype=np.float64):
    """Return specs without instances, whose outcome is the vector of all losses."""
    return Specs((), jax.ShapeDtypeStruct((n,), dtype))


def drifting_losses(seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(0.5 + 0.2 * np.sin(np.arange(T)[:, None] / 15 + np.arange(K)) + 0.2 * rng.normal(size=(T, K)), 0, 1)


@jax.jit
def played(learner, rows):
    """Return the moves of a learner of full information over rows (x, y)."""

    def play_round(state, row):
        x, y = row
        return learner.update(None, state, FullOracle(x, y))[0], learner.predict(None, state, x)

    x, y = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), rows)
    return jax.lax.scan(play_round, learner.init(None, Specs(x, y)), rows)[1]


@pytest.mark.parametrize("name", COMBINERS)
def test_hedge_with_a_combiner_equals_its_numpy_loop(x64, name):
    losses = drifting_losses()
    moves = played(Hedge(COMBINERS[name]), ((), jnp.asarray(losses)))
    expected = weights_of(name, losses)
    np.testing.assert_allclose(moves, expected, rtol=1e-9, atol=1e-14)
    assert np.ptp(expected[-1]) > 0.1, "the test needs weights that change"


@struct
class Absolute:
    """A loss with neither a derivative everywhere nor a series."""

    def __call__(self, y_hat, y):
        return jnp.abs(y_hat - y)


@pytest.mark.long
@pytest.mark.parametrize("name", COMBINERS)
def test_combiner_under_the_absolute_loss_equals_its_numpy_loop(x64, name):
    """Predictions of `aggregate`, which differ from those under the squared loss."""
    rng = np.random.default_rng(1)
    y = np.sin(np.arange(T) / 9)
    # correlated errors, so that no expert has all of the weight or none
    X = y[:, None] + 0.3 * rng.normal(size=(T, 1)) + 0.1 * rng.normal(size=(T, K))
    weights = weights_of(name, np.abs(X - y[:, None]), lambda w, t: abs(w @ X[t] - y[t]))
    result = aggregate(COMBINERS[name], X, y, Absolute())
    np.testing.assert_allclose(result.predictions, (weights * X).sum(axis=1), rtol=0, atol=1e-12)
    assert np.abs(result.predictions - aggregate(COMBINERS[name], X, y).predictions).max() > 1e-3


def test_regret_of_hedge_is_below_its_bound():
    """E18: if one of ten experts is always right, T = 1000, the regret is 17 and the bound sqrt(T ln K / 2) is 34. On
    random losses the regret is more than half of the bound."""
    hedge, bound = Hedge.over_horizon(10, 1000), np.sqrt(1000 * np.log(10) / 2)
    losses = np.ones((1000, 10), np.float32)
    losses[:, 3] = 0.0
    moves = np.asarray(played(hedge, ((), jnp.asarray(losses))), float)
    regret = (moves * losses).sum() - losses.sum(axis=0).min()
    assert (round(regret), round(bound)) == (17, 34)
    assert regret == pytest.approx((9 / (9 + np.exp(float(hedge.combiner.eta) * np.arange(1000)))).sum(), rel=1e-4)

    signs = np.random.default_rng(0).choice([0.0, 1.0], size=(1000, 10)).astype(np.float32)
    moves = np.asarray(played(hedge, ((), jnp.asarray(signs))), float)
    assert 0.5 * bound < (moves * signs).sum() - signs.sum(axis=0).min() < bound


# ---------------------------------------------------------------------------------------------------------------------
# EXP3


class OneArm(Oracle):
    """Oracle of a bandit: its move, and the loss of the arm drawn."""

    def __init__(self, move, losses):
        self.move, self._losses, self._asked = move, losses, 0

    def loss(self):
        self._asked = 1
        return self._losses[self.move.arm]

    def queries(self):
        return jnp.int32(self._asked)


@jax.jit
def bandit(learner, losses, run_key):
    """Return the draws and weights of a run."""
    key = stream_keys(run_key).learner

    def play_round(state, row):
        t, losses = row
        move = learner.predict(jax.random.fold_in(key, t), state, ())
        return learner.update(None, state, OneArm(move, losses))[0], (move, learner.weights(state))

    rows = jnp.arange(len(losses), dtype=jnp.int32), losses
    return jax.lax.scan(play_round, learner.init(None, specs(losses.shape[1], losses.dtype)), rows)[1]


@pytest.mark.parametrize("name", some(COMBINERS, "ewa"))
@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_exp3_has_the_weights_of_its_numpy_loop(x64, name, gamma):
    """The loop pulls the arms that EXP3 draws."""
    losses = drifting_losses()
    draws, weights = bandit(EXP3(COMBINERS[name], gamma), jnp.asarray(losses), jax.random.key(0))
    arms, estimates = np.asarray(draws.arm), np.zeros((T, K))
    rounds = np.arange(T)
    estimates[rounds, arms] = losses[rounds, arms] / np.asarray(draws.probabilities)[rounds, arms]
    expected = weights_of(name, estimates, lambda w, t: losses[t, arms[t]])
    np.testing.assert_allclose(weights, expected, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(draws.probabilities, (1 - gamma) * expected + gamma / K, rtol=1e-8, atol=1e-13)
    assert len(set(arms.tolist())) > 1


def test_importance_weights_are_unbiased_by_enumeration(x64):
    """The mean of the combiner's inputs, over arms with distribution p, is exactly the losses and p @ losses."""
    losses, p = jnp.asarray([0.3, 0.9, 0.1, 0.5, 0.7]), jnp.asarray([0.4, 0.1, 0.2, 0.05, 0.25])

    @struct
    class Spy:
        def init(self, n_experts, dtype):
            return jnp.zeros(n_experts, dtype), jnp.zeros((), dtype)

        def weights(self, state):
            return p

        def update(self, state, losses, own_loss):
            return losses, own_loss

    learner = EXP3(Spy())
    start = learner.init(None, specs())
    inputs = [learner.update(None, start, OneArm(Draw(jnp.int32(arm), p), losses))[0] for arm in range(K)]
    mean = [sum(float(p[k]) * np.asarray(pair[i]) for k, pair in enumerate(inputs)) for i in range(2)]
    np.testing.assert_allclose(mean[0], losses, rtol=1e-15)
    np.testing.assert_allclose(mean[1], p @ losses, rtol=1e-15)
    assert np.count_nonzero(inputs[2][0]) == 1, "losses of other arms: must be hidden"


def test_arms_are_drawn_with_their_probabilities():
    """Five frequencies in 20,000 draws; |z| < 6.2 has a false alarm of 3e-9, and uniform draws fail."""
    sums, learner = np.array([0.0, 1.0, 2.0, 0.5, 3.0], np.float32), EXP3(EWA(1.0), 0.1)
    state = Compensated.starting_at(jnp.asarray(sums))
    draws = jax.jit(jax.vmap(lambda key: learner.predict(key, state, ())))(jax.random.split(jax.random.key(1), 20_000))
    p, frequency = np.asarray(draws.probabilities[0], float), np.bincount(draws.arm, minlength=K) / 20_000
    weights = np.exp(-sums)
    np.testing.assert_allclose(p, 0.9 * weights / weights.sum() + 0.02, rtol=1e-5)
    z = np.abs(frequency - p) / np.sqrt(p * (1 - p) / 20_000)
    assert z.max() < 6.2
    assert np.abs(0.2 - p).max() / np.sqrt(0.16 / 20_000) > 50


@pytest.mark.long
def test_regret_of_exp3_is_below_its_bound():
    """The mean regret of 64 runs on fixed losses (the pseudo-regret), with 6 standard errors, is below
    sqrt(2 T K ln K); that of uniform draws is above."""
    n_rounds, rng = 1000, np.random.default_rng(2)
    losses = (rng.uniform(size=(n_rounds, K)) < np.array([0.2, 0.8, 0.8, 0.8, 0.8])).astype(np.float32)
    learner = EXP3.over_horizon(K, n_rounds)
    run = functools.partial(bandit, learner, jnp.asarray(losses))
    arms = np.asarray(jax.vmap(lambda key: run(key)[0].arm)(jax.random.split(jax.random.key(3), 64)))
    regrets = losses[np.arange(n_rounds), arms].sum(axis=1) - losses.sum(axis=0).min()
    bound = np.sqrt(2 * n_rounds * K * np.log(K))
    assert regrets.mean() + 6 * regrets.std(ddof=1) / 8 < bound
    assert losses.mean(axis=1).sum() - losses.sum(axis=0).min() > bound


# ---------------------------------------------------------------------------------------------------------------------
# The aggregating algorithm under the logarithmic loss


@struct
class Logarithmic:
    """Logarithmic loss of a probability of the label 1."""

    def __call__(self, y_hat, y):
        return -jnp.where(y > 0.5, jnp.log(y_hat), jnp.log1p(-y_hat))


def test_aggregating_under_the_logarithmic_loss_is_bayes(x64):
    """With eta = 1 the prediction is the posterior mean, and the cumulative loss is that of the mixture,
    -ln(mean likelihood of the experts)."""
    rng = np.random.default_rng(4)
    y = (rng.uniform(size=T) < 0.7).astype(float)
    X = np.clip(np.linspace(0.2, 0.9, K) + 0.05 * rng.normal(size=(T, K)), 0.02, 0.98)
    result = aggregate(Aggregating(0.0, 1.0, Logarithmic(), eta=1.0), X, y)
    likelihoods = np.cumprod(np.where(y[:, None] == 1, X, 1 - X), axis=0)
    before = np.vstack([np.ones(K), likelihoods[:-1]])
    np.testing.assert_allclose(result.predictions, (before * X).sum(axis=1) / before.sum(axis=1), rtol=1e-12)
    losses = -np.log(np.where(y == 1, result.predictions, 1 - np.asarray(result.predictions)))
    assert losses.sum() == pytest.approx(-np.log(likelihoods[-1].mean()), rel=1e-12)
    np.testing.assert_allclose(result.weights, likelihoods[-1] / likelihoods[-1].sum(), rtol=1e-10)


def test_bisection_agrees_with_the_closed_form(x64):
    """For the squared loss as a user's class, also with smaller rates."""

    @struct
    class SquaredByHand:
        def __call__(self, y_hat, y):
            return (y_hat - y) ** 2

    rng = np.random.default_rng(5)
    y = rng.uniform(-1, 3, size=T)
    X = np.clip(y[:, None] + rng.uniform(0.1, 2.0, size=K) * rng.normal(size=(T, K)), -1, 3)
    for eta in (0.125, 0.02):
        closed = aggregate(Aggregating(-1.0, 3.0, eta=eta), X, y)
        solved = aggregate(Aggregating(-1.0, 3.0, SquaredByHand(), eta=eta), X, y)
        np.testing.assert_allclose(solved.predictions, closed.predictions, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(
        aggregate(Aggregating(-1.0, 3.0), X, y).predictions,
        aggregate(Aggregating(-1.0, 3.0, eta=0.125), X, y).predictions,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def test_as_learner_wraps_combiners_and_returns_learners():
    for combiner in COMBINERS.values():
        assert isinstance(combiner, Combiner)
        assert not isinstance(combiner, Learner)
        assert isinstance(as_learner(combiner), OverAdvice)
    for learner in (OverAdvice(EWA(1.0)), Hedge(EWA(1.0)), EXP3(0.1), Aggregating(), Truncated(BOA()), VAW()):
        assert as_learner(learner) is learner


@pytest.mark.parametrize("make", [Hedge, EXP3])
def test_known_losses_outside_the_range_of_the_theorem_raise_an_error(make):
    """For exponential weights; combiners with second-order rates adapt to the range."""
    feedback, loss = (jo.FullInformation(), jo.losses.ExpectedLoss()) if make is Hedge else (jo.Bandit(), ArmLoss())
    for row in ([0.0, 1.5], [-0.1, 1.0]):
        game = jo.Game(jo.environments.DataStream(None, np.array([row])), feedback, loss=loss)
        for combiner in (EWA(0.5), FixedShare(0.5, 0.1), FollowTheRegularizedLeader(0.5)):
            with pytest.raises(ValueError, match=rf"^y\b.*{make.__name__}.* 0 .* 1\b"):
                jo.game.bind(game, make(combiner))
        jo.game.bind(game, make(BOA()))


OVER_HORIZON = {
    "EXP3": lambda K: EXP3.over_horizon(K, 9),
    "EXP3-IX": lambda K: jo.learners.EXP3IX.over_horizon(K, 9),
    "EXP3.P": lambda K: jo.learners.EXP3P.over_horizon(K, 9),
    "EXP4, experts": lambda K: jo.learners.EXP4.over_horizon(K, 3, 9),
    "EXP4, arms": lambda K: jo.learners.EXP4.over_horizon(3, K, 9),
    "Hedge": lambda K: Hedge.over_horizon(K, 9),
    "DrawnExpert": lambda K: jo.learners.DrawnExpert.over_horizon(K, 9),
    "label-efficient": lambda K: jo.learners.LabelEfficientHedge.over_horizon(K, 9, 3),
    "FPL": lambda K: jo.learners.FollowThePerturbedLeader.over_horizon(K, 9),
    "fixed share": lambda K: Hedge(FixedShare.over_horizon(K, 9, 1)),
}


@pytest.mark.parametrize("make", OVER_HORIZON.values(), ids=OVER_HORIZON)
def test_a_rate_for_another_number_of_experts_is_rejected(make):
    """A rate for K arms in a game of another number of arms has another theorem."""
    three = Specs(jax.ShapeDtypeStruct((3, 3), np.float32), jax.ShapeDtypeStruct((3,), np.float32))
    jax.eval_shape(lambda: make(3).init(None, three))
    with pytest.raises(ValueError, match=r"n_(arms|experts): must be 3, .* \(got 5\)"):
        jax.eval_shape(lambda: make(5).init(None, three))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: OverAdvice(VAW()), "combiner"),
        (lambda: OverAdvice(EWA(0.5), "squared"), "loss"),
        (lambda: OverAdvice(EWA(0.5), jnp.sin), "loss"),
        (lambda: Hedge(OverAdvice(EWA(0.5))), "combiner"),
        (lambda: Hedge.over_horizon(1, 10), "n_experts"),
        (lambda: Hedge.over_horizon(2, 0), "n_rounds"),
        (lambda: Hedge(EWA(0.5)).init(None, Specs.of_vectors(3)), "outcomes"),
        (lambda: OverAdvice(EWA(0.5)).init(None, specs()), "instances"),
        (lambda: EXP3(0.0), "combiner"),
        (lambda: EXP3("ewa"), "combiner"),
        (lambda: EXP3(0.1, exploration=1.5), "exploration"),
        (lambda: EXP3.over_horizon(1, 10), "n_arms"),
        (lambda: Aggregating(loss=Logarithmic()), "eta.*Logarithmic"),
        (lambda: Aggregating(eta=2.5), r"eta.*2\.5"),
        (lambda: Aggregating(loss=3), "loss"),
        (lambda: Truncated(3), "learner"),
        (lambda: aggregate(VAW(), np.ones((2, 2)), np.ones(2), Absolute()), "loss"),
        (lambda: aggregate(EWA, np.ones((2, 2)), np.ones(2)), "combiner"),
    ],
)
def test_error_names_the_argument(x64, call, text):
    with pytest.raises((ValueError, TypeError), match=rf"^{text}\b"):
        call()
