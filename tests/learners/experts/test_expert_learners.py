"""Experts: every learner and combiner compared with its NumPy loop, in which every constant decides; closed forms."""

import itertools
import math

import combiners as loops
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from expert_games import game_of_experts
from expert_losses import KEY, losses_of
from full_rounds import played

import jaxonline as jo
from benchmarks.papers.engines.kernels import aggregate
from jaxonline import bounds, learners
from jaxonline.game import Draw, Specs
from jaxonline.learners import BOA, EWA, Aggregating, DrawnExpert, Hedge, MLPoly, MLProd, OverAdvice
from jaxonline.learners.experts import advice, combiners, hedge
from jaxonline.losses import Absolute
from jaxonline.parameters.struct import struct

pytestmark = pytest.mark.fast_compile

T, K = 60, 7
LOSSES = np.round(losses_of(3, 120, 9) * 8) / 8  # sums of eighths are exact, so ties are exact
X, Y = game_of_experts(T, K)
WILD = X + np.linspace(0.05, 1.5, K) * np.random.default_rng(5).normal(size=X.shape)
CLOSE = Y[:, None] + 0.3 * np.sin(np.arange(T))[:, None] + 0.1 * np.random.default_rng(4).normal(size=(T, K))
SIGNS = np.random.default_rng(6).choice([-2.0, -1.0, -1.0, 0.0, 1.0, 1.0, 3.0], (T, K))
SIGNS[:, 1] = np.where(np.arange(T) == 40, -1.0, 1.0)  # times the label: this expert is wrong once
LABELS = np.random.default_rng(7).choice([-1.0, 1.0], T)
VOTES = SIGNS * LABELS[:, None], LABELS


def perturbed(losses, own=None, eta=0.7, gumbel=False):
    """Leaders after a perturbation; round t has the key `fold_in(key, t)`."""
    uniform = jax.vmap(lambda t: jax.random.uniform(jax.random.fold_in(KEY, t), losses.shape[1:]))
    u = np.asarray(uniform(jnp.arange(1, len(losses) + 1)))
    z = -np.log(-np.log(u)) if gumbel else -np.log1p(-u)
    return (loops.past(losses[None])[0] - z / eta).argmin(axis=1)


def of_advice(name, loss=lambda x, y: (x - y) ** 2):
    return lambda X, y, **constants: loops.predictions_of(name, X, y, loss, **constants)


def clipped(X, y, low, high, eta):
    return loops.predictions_of("ewa", np.clip(X, low, high), y, eta=eta)


CASES = {  # the learner, its rows, its loop, and the constants that decide in it
    "EWA": (Hedge(EWA(0.7)), LOSSES, loops.ewa, {"eta": 0.7}),
    "fixed share": (Hedge(learners.FixedShare(0.7, 0.1)), LOSSES, loops.fixed_share, {"eta": 0.7, "share": 0.1}),
    "leader": (Hedge(learners.FollowTheLeader()), LOSSES, loops.leader, {}),
    "regularized": (Hedge(learners.FollowTheRegularizedLeader(0.2)), LOSSES, loops.regularized, {"eta": 0.2}),
    "entropy": (Hedge(learners.FollowTheRegularizedLeader(0.6, "entropy")), LOSSES, loops.ewa, {"eta": 0.6}),
    "BOA": (Hedge(BOA()), LOSSES, loops.boa, {"start": loops.START, "half": 0.5, "above": 0.5, "base": 2.0}),
    "ML-Prod": (Hedge(MLProd()), LOSSES, loops.ml_prod, {"half": 0.5}),
    "ML-Poly": (Hedge(MLPoly()), LOSSES, loops.ml_poly, {"start": loops.START}),
    "ML-Poly, large rates": (Hedge(MLPoly(1.0)), LOSSES, loops.ml_poly, {"start": 1.0, "growth": 1.0}),
    "drawn expert": (DrawnExpert(MLProd(0.5)), LOSSES, loops.ml_prod, {"start": 0.5, "half": 0.5}),
    "perturbed leader": (learners.FollowThePerturbedLeader(0.7), LOSSES, perturbed, {"eta": 0.7, "gumbel": False}),
    "perturbed leader, Gumbel": (
        learners.FollowThePerturbedLeader(0.4, "gumbel"), LOSSES, perturbed, {"eta": 0.4, "gumbel": True},
    ),
    "advice, EWA": (OverAdvice(EWA(0.5)), (X, Y), of_advice("ewa"), {"eta": 0.5}),
    "advice, BOA": (
        OverAdvice(BOA(0.1), Absolute()), (CLOSE, Y), of_advice("boa", lambda x, y: abs(x - y)),
        {"start": 0.1, "half": 0.5, "base": 2.0},
    ),
    "advice, ML-Poly": (OverAdvice(MLPoly(1.0)), (CLOSE, Y), of_advice("ml-poly"), {"start": 1.0, "growth": 1.0}),
    "truncated": (
        learners.Truncated(EWA(0.5), -0.1, 1.1), (WILD, Y), clipped, {"low": -0.1, "high": 1.1, "eta": 0.5},
    ),
    "aggregating": (
        Aggregating(-0.3, 1.2), (WILD, Y), loops.aggregating, {"low": -0.3, "high": 1.2, "eta": 2 / 1.5**2},
    ),
    "aggregating, small rate": (
        Aggregating(0.0, 1.0, eta=0.3), (WILD, Y), loops.aggregating, {"low": 0.0, "high": 1.0, "eta": 0.3},
    ),
    "halving": (learners.Halving(), VOTES, loops.halving, {"lazy": False}),
    "halving, lazy": (learners.Halving(lazy=True), VOTES, loops.halving, {"lazy": True}),
    "weighted majority": (learners.WeightedMajority(0.6), VOTES, loops.weighted_majority, {"beta": 0.6}),
}  # fmt: skip


def changed(value):
    return not value if isinstance(value, bool) else 1.2 * value if value else 0.1


@pytest.mark.parametrize("name", CASES)
def test_learner_equals_its_numpy_loop_in_which_every_constant_decides(x64, name):
    learner, rows, loop, constants = CASES[name]
    rows = rows if isinstance(rows, tuple) else (rows,)
    moves, _, info = played(learner, jax.tree.map(jnp.asarray, ((), *rows) if len(rows) == 1 else rows))
    if isinstance(moves, Draw):
        u = jax.vmap(lambda t: jax.random.uniform(jax.random.fold_in(KEY, t)))(jnp.arange(1, 1 + len(moves.arm)))
        np.testing.assert_array_equal(moves.arm, (np.cumsum(moves.probabilities, 1) <= u[:, None]).sum(1))
        moves = moves.probabilities
    np.testing.assert_allclose(moves, loop(*rows, **constants), rtol=1e-9, atol=1e-13)
    for constant, value in constants.items():
        other = loop(*rows, **constants | {constant: changed(value)})
        assert not np.allclose(moves, other, rtol=1e-8, atol=1e-12), constant
    if info:  # of votes
        assert info.mistake.tolist() == (moves * rows[1] <= 0).tolist()


def test_every_class_has_a_case():
    classes = {
        value
        for module in (advice, combiners, hedge)
        for value in vars(module).values()
        if getattr(value, "__module__", "") == module.__name__ and hasattr(value, "update")
    }
    tested = {type(part) for case in CASES.values() for part in (case[0], getattr(case[0], "combiner", None))}
    assert classes - tested == {learners.LabelEfficientHedge}  # of `test_label_efficient.py`


def test_weights_of_the_majority_are_powers_of_beta(x64):
    weights = jax.jit(learners.WeightedMajority(0.6).weights)(jnp.array([3, 1, 2]))
    np.testing.assert_allclose(weights, np.array([0.36, 1, 0.6]) / 1.96, rtol=1e-12)


def test_regret_of_hedge_is_below_its_bound():
    """E18: if one of ten experts is always right, the regret is 17; on random losses it is half of the bound 34."""
    hedge, bound = Hedge.over_horizon(10, 1000), np.sqrt(1000 * np.log(10) / 2)
    losses = np.ones((1000, 10), np.float32)
    losses[:, 3] = 0.0
    moves = np.asarray(played(hedge, ((), jnp.asarray(losses)))[0], float)
    regret = (moves * losses).sum() - losses.sum(axis=0).min()
    assert (round(regret), round(bound)) == (17, 34)
    assert regret == pytest.approx((9 / (9 + np.exp(float(hedge.combiner.eta) * np.arange(1000)))).sum(), rel=1e-4)

    signs = np.random.default_rng(0).choice([0.0, 1.0], size=(1000, 10)).astype(np.float32)
    moves = np.asarray(played(hedge, ((), jnp.asarray(signs)))[0], float)
    assert 0.5 * bound < (moves * signs).sum() - signs.sum(axis=0).min() < bound


@struct
class Logarithmic:
    """Logarithmic loss of a probability of the label 1."""

    def __call__(self, y_hat, y):
        return -jnp.where(y > 0.5, jnp.log(y_hat), jnp.log1p(-y_hat))


def test_aggregating_under_the_logarithmic_loss_is_bayes(x64):
    """With eta = 1 predictions are posterior means, and the cumulative loss is -ln(mean likelihood of the experts)."""
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
    """For the squared loss as a user's class, also with a smaller rate."""

    @struct
    class SquaredByHand:
        def __call__(self, y_hat, y):
            return (y_hat - y) ** 2

    for eta in (0.5, 0.1):
        closed = aggregate(Aggregating(-0.5, 1.5, eta=eta), X, Y)
        solved = aggregate(Aggregating(-0.5, 1.5, SquaredByHand(), eta=eta), X, Y)
        np.testing.assert_allclose(solved.predictions, closed.predictions, rtol=0, atol=1e-12)


OVER_HORIZON = {
    "EXP3": lambda K: learners.EXP3.over_horizon(K, 9),
    "EXP3-IX": lambda K: learners.EXP3IX.over_horizon(K, 9),
    "EXP3.P": lambda K: learners.EXP3P.over_horizon(K, 9),
    "EXP4, experts": lambda K: learners.EXP4.over_horizon(K, 3, 9),
    "EXP4, arms": lambda K: learners.EXP4.over_horizon(3, K, 9),
    "Hedge": lambda K: learners.Hedge.over_horizon(K, 9),
    "DrawnExpert": lambda K: learners.DrawnExpert.over_horizon(K, 9),
    "label-efficient": lambda K: learners.LabelEfficientHedge.over_horizon(K, 9, 3),
    "FPL": lambda K: learners.FollowThePerturbedLeader.over_horizon(K, 9),
    "fixed share": lambda K: learners.Hedge(learners.FixedShare.over_horizon(K, 9, 1)),
}


@pytest.mark.parametrize("make", OVER_HORIZON.values(), ids=OVER_HORIZON)
def test_a_rate_for_another_number_of_experts_is_rejected(make):
    three = Specs(jax.ShapeDtypeStruct((3, 3), np.float32), jax.ShapeDtypeStruct((3,), np.float32))
    jax.eval_shape(lambda: make(3).init(None, three))
    with pytest.raises(ValueError, match=r"n_(arms|experts): must be 3, .* \(got 5\)"):
        jax.eval_shape(lambda: make(5).init(None, three))


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


def test_the_bound_of_the_regularized_leader_is_reached_up_to_two_percent():
    """Two experts: losses that alternate, and then are all of one expert. Weights are 1/2 - eta (difference) / 2."""
    bound, signs, best = bounds.regularized_leader(2, 32), (-1.0) ** np.arange(32), 0.0
    for alternating in range(33):
        losses = np.where(np.arange(32) < alternating, signs, (-1.0) ** alternating)  # of the first less the second
        weights = np.clip(0.5 - bound.eta * (np.cumsum(losses) - losses) / 2, 0, 1)
        own = np.where(losses > 0, weights, 1 - weights).sum()
        best = max(best, own - min((losses > 0).sum(), (losses < 0).sum()))
    assert 0.98 * bound.value < best <= bound.value * (1 + 1e-12)


@pytest.mark.parametrize("T", [50, 401])
def test_rates_over_a_horizon_have_their_closed_forms(T):
    hedge, drawn = learners.Hedge.over_horizon(4, T).combiner, learners.DrawnExpert.over_horizon(4, T).combiner
    perturbed, shared = learners.FollowThePerturbedLeader.over_horizon(4, T), learners.FixedShare.over_horizon(4, T, 2)
    share = 2 / (T - 1)
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    rates = [hedge.eta**2, drawn.eta**2, perturbed.eta**2, shared.eta**2, shared.share]
    expected = [8 * math.log(4), 8 * math.log(4), math.log(4), 8 * (3 * math.log(4) + (T - 1) * entropy), share * T]
    np.testing.assert_allclose(rates, np.divide(expected, T), rtol=1e-12)
    assert learners.FixedShare.over_horizon(4, T, 0).share == 0


@pytest.mark.parametrize("learner", [DrawnExpert(BOA()), learners.FollowThePerturbedLeader(1.0)])
def test_losses_after_a_loss_outside_the_unit_interval_are_nan(learner):
    losses = np.full((6, 2), 0.5, np.float32)
    losses[3, 1] = 1.01
    game = jo.Game(jo.environments.DataStream(None, losses), jo.FullInformation(), loss=jo.losses.ArmLoss())
    assert np.isnan(jo.play(game, learner, KEY, 6)[1].loss).tolist() == [False] * 4 + [True] * 2


COMBINERS = {name: case[0].combiner for name, case in CASES.items() if type(case[0]) is Hedge}
COMBINERS |= {"fixed share": learners.FixedShare(0.5, 0.01)}


def test_weights_are_finite_after_large_losses():
    """In float32, after losses of up to 1e6, different or equal."""

    @jax.jit
    def all_weights(losses):
        return [rule.weights(rule.update(rule.init(3, losses.dtype), losses, 0.0)) for rule in COMBINERS.values()]

    for losses in ([1e6, 1e6 - 1.0, 1e6], [1e6, 0.0, 1e6], [1e6, 1e6, 1e6]):
        weights = np.array(all_weights(jnp.asarray(losses, jnp.float32)))
        assert np.isfinite(weights).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)


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
