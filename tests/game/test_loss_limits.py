"""Limits of the losses of a game: no loss lies outside, and the ends of predictions and outcomes reach them."""

import itertools

import jax
import numpy as np
import optax
import pytest
from tiers import some

import jaxonline as jo
from jaxonline import comparators, losses
from jaxonline.environments import RandomWalkExperts
from jaxonline.estimators import FullGradient, TwoCopies
from jaxonline.game import NoisyLearnerRegret, NoisyRegret, comparator_range, loss_range
from jaxonline.kernels import Gaussian
from jaxonline.learners import (
    BOA,
    EWA,
    EXP3IX,
    EXP3P,
    AdaGrad,
    Aggregating,
    Baseline,
    DrawnExpert,
    ExponentiatedGradient,
    Halving,
    Hedge,
    LabelEfficientHedge,
    LogBarrier,
    MirrorLearner,
    OnlineNewtonStep,
    OverAdvice,
    PNorm,
    Truncated,
    UpdateOnArrival,
    VotedPerceptron,
    WeightedMajority,
    WithFeatures,
)
from jaxonline.learners.vectors import linear_range

ROWS, ROUNDING = 12, 1 + 1e-5  # float32
rng = np.random.default_rng(5)
X = rng.normal(size=(ROWS, 3)).astype(np.float32)
Y = (3.0 * rng.normal(size=ROWS)).astype(np.float32)
CLASSES, TABLE = np.sign(Y), rng.uniform(-1.0, 2.0, (ROWS, 3)).astype(np.float32)
FULL, VOTES, SQUARED = jo.FullInformation(), np.sign(X), losses.Squared()
CONVEX = {repr(loss): loss for loss in [
    SQUARED, losses.Absolute(), losses.Huber(0.5), losses.Pinball(0.2), losses.SmoothedAbsolute(2.0),
    losses.Hinge(), losses.Logistic(), losses.Exponential(), losses.SmoothedHinge(1.0),
]}  # fmt: skip
LARGE = 50.0  # a step size with which predictions jump between the ends of their range


def game(x, y, feedback=FULL, loss=SQUARED, **options):
    return jo.Game(jo.environments.DataStream(x, y, order="iid"), feedback, loss, **options)


def descent(radius=0.7, loss=SQUARED, **options):
    return jo.GradientLearner(FullGradient(loss), LARGE, radius, **options)


@pytest.mark.parametrize("order", [1.0, 2.0, np.inf])
def test_the_limits_of_linear_predictions_are_reached_and_not_exceeded(order):
    """The largest <w, x> in a ball is at the vector that is dual to a row; 1,000 other vectors have smaller ones."""
    low, high = linear_range(X, 0.7, order)
    w = rng.normal(size=(1000, 3))
    w *= 0.7 / np.linalg.norm(w, order, axis=1, keepdims=True)
    dual = {1.0: np.sign(X) * (np.abs(X) == np.abs(X).max(1, keepdims=True)), 2.0: X, np.inf: np.sign(X)}[order]
    dual = 0.7 * dual / np.linalg.norm(dual, order, axis=1, keepdims=True)
    assert np.abs(w @ X.T).max() <= high * ROUNDING
    assert (dual @ X.T).max() == pytest.approx(high, rel=1e-5)
    assert low == -high


@pytest.mark.parametrize("loss", some(CONVEX, "Hinge()"))
def test_the_limits_of_convex_losses_are_reached_at_the_ends_and_not_exceeded(loss):
    """Losses on a grid of predictions in their range and of outcomes between the smallest and the largest."""
    loss = CONVEX[loss]
    y = CLASSES if loss.kind == "classification" else Y
    low, high = loss_range(game(X, y, loss=loss), [descent(loss=loss)])
    reach = linear_range(X, 0.7, 2.0)[1]
    predictions, outcomes = np.meshgrid(np.linspace(-reach, reach, 41), np.linspace(y.min(), y.max(), 40))
    values = np.asarray(loss(predictions.astype(np.float32), outcomes.astype(np.float32)))
    assert values.min() >= low == 0.0
    assert values.max() == pytest.approx(high, rel=1e-5)
    assert np.unravel_index(values.argmax(), values.shape) in list(itertools.product((0, 39), (0, 40)))


def test_limits_are_unknown_where_nothing_bounds_the_losses():
    data = game(X, Y)
    own = descent(projection=lambda w, radius: w)
    for learners in (None, [descent(None)], [own], [descent(), own], [jo.learners.VAW()]):
        assert loss_range(data, learners) is None
    assert loss_range(game(X, Y, loss=losses.LogLoss()), [descent()]) is None
    assert loss_range(jo.Game(jo.environments.LinearModel(np.ones(3)), FULL), [descent()]) is None
    unbounded = MirrorLearner(FullGradient(), 0.1, PNorm(2.0))
    assert loss_range(data, [unbounded]) is None
    assert loss_range(game(None, TABLE, loss=losses.ExpectedLoss()), [unbounded]) is None
    featured = WithFeatures(descent(), jo.estimators.FourierFeatures(np.ones((2, 3))))
    assert loss_range(data, [featured]) is None
    kernel = jo.learners.KernelGradient(Gaussian(1.0), FullGradient(), 0.1, n_rounds=5, radius=1.0)
    assert loss_range(data, [kernel]) is None


@pytest.mark.parametrize("learners", [[], {}, "UCB1", [1.0], [jo.GradientLearner]], ids=str)
def test_learners_must_be_a_list_of_learners(learners):
    with pytest.raises((TypeError, ValueError), match=r"^learners: must (be a list of learners|have at least one)"):
        loss_range(game(X, Y), learners)


def test_predictions_on_noisy_copies_have_no_limits():
    noise = jo.NoisyCopies(jo.noise.gaussian(0.1))
    for regret in (NoisyRegret(), NoisyLearnerRegret()):
        assert loss_range(game(X, Y, noise, regret=regret), [descent()]) is None
    assert loss_range(game(X, Y, noise), [descent()]) == loss_range(game(X, Y), [descent()])
    assert comparator_range(game(X, Y, noise, regret=NoisyRegret()), comparators.BestExpert(losses.Squared())) is None


def test_limits_are_those_of_all_learners():
    narrow, wide = (loss_range(game(X, Y), [descent(radius)]) for radius in (0.1, 3.0))
    assert narrow[1] < wide[1] == loss_range(game(X, Y), [descent(0.1), descent(3.0)])[1]


def test_limits_of_a_comparator():
    """The predictor 0 loses max y^2 at most; an expert loses most if its advice and the outcome are farthest apart."""
    data = game(X, Y)
    assert comparator_range(data, comparators.L2Ball(9.0)) == (0.0, pytest.approx((Y**2).max()))
    largest = np.square(X.ravel()[:, None] - Y).max()
    assert comparator_range(data, comparators.BestExpert(losses.Squared())) == (0.0, pytest.approx(largest))
    assert comparator_range(data, None) is None
    assert comparator_range(game(None, TABLE, loss=losses.ArmLoss()), jo.BestArm()) == (TABLE.min(), TABLE.max())


def test_a_loss_of_your_own_declares_its_limits():
    class Wrong:
        limits = (0.0, 1.0)

        def __call__(self, y_hat, y):
            return (y_hat * y <= 0).astype(y.dtype)

        def gradient(self, y_hat, y):
            return 0.0 * y_hat

    assert loss_range(game(X, CLASSES, loss=Wrong())) == (0.0, 1.0)


def probabilities(learner, feedback=FULL):
    return game(None, (TABLE + 1.0) / 3.0, feedback, losses.ExpectedLoss()), learner


GAMES = {
    "l2 ball": (game(X, Y), descent()),
    "l1 ball": (game(X, Y), descent(projection=optax.projections.projection_l1_ball)),
    "averaged": (game(X, CLASSES, loss=losses.Exponential()), descent(loss=losses.Exponential(), hypothesis="average")),
    "noisy copies": (game(X, Y, jo.NoisyCopies(jo.noise.gaussian(0.5))), jo.GradientLearner(TwoCopies(), LARGE, 0.7)),
    "box": (game(X, Y, loss=losses.Absolute()), AdaGrad(FullGradient(losses.Absolute()), LARGE, 0.7)),
    "ONS": (game(X, Y), OnlineNewtonStep(FullGradient(), 0.01, 0.01, 0.7)),
    "EG": (game(X, Y), ExponentiatedGradient(FullGradient(), LARGE, 2.0, signed=True)),
    "log barrier": (game(X, Y), MirrorLearner(FullGradient(), LARGE, LogBarrier())),
    "Baseline": (game(X, Y, jo.Attributes(2)), Baseline(2, radius=0.7)),
    "advice": (game(X, Y), OverAdvice(EWA(LARGE))),
    "late advice": (game(X + 9.0, Y + 9.0), OverAdvice(BOA(initial=0.5), late_start=True)),
    "truncated": (game(X, np.clip(Y, -0.2, 0.1)), Truncated(EWA(LARGE), -0.2, 0.1)),
    "Aggregating": (game(X, np.clip(Y, 1.0, 2.0)), Aggregating(1.0, 2.0, late_start=True)),
    "halving": (game(VOTES, CLASSES, loss=losses.Hinge()), Halving()),
    "majority": (game(VOTES, CLASSES, loss=losses.Logistic()), WeightedMajority(0.1)),
    "voted": (game(X, CLASSES, loss=losses.Hinge()), VotedPerceptron(max_mistakes=60)),
    "delayed": (game(X, Y, jo.Delayed(FULL, delay=2)), UpdateOnArrival(descent())),
    "Hedge": probabilities(Hedge(EWA(LARGE))),
    "drawn": probabilities(DrawnExpert(EWA(LARGE))),
    "EXP3": probabilities(jo.learners.EXP3(1.0, exploration=0.1), jo.Bandit()),
    "EXP3-IX": probabilities(EXP3IX(1.0, 0.1), jo.Bandit()),
    "EXP3.P": probabilities(EXP3P(1.0, 0.1, 0.1), jo.Bandit()),
    "label efficient": probabilities(LabelEfficientHedge(EWA(1.0), 0.5), jo.OnRequest()),
    "walk": (jo.Game(RandomWalkExperts(3, 0.5), jo.Bandit(), losses.ArmLoss()), jo.learners.EXP3(0.1)),
    "contrary": (jo.Game(jo.environments.ContraryLosses(3), FULL, losses.ExpectedLoss()), Hedge(EWA(1.0))),
    "class": (jo.Game(jo.environments.FiniteClass([0.1, 0.4]), FULL, SQUARED), OverAdvice(EWA(1.0))),
    "duels": (
        jo.Game(jo.environments.PreferenceArms([[0.5, 0.9], [0.1, 0.5]]), jo.Duel(), losses.PairLoss(0)),
        jo.learners.RUCB(),
    ),
    "sets": (
        game(None, (TABLE + 1.0) / 3.0, jo.SemiBandit(), losses.SumOfArms()), jo.learners.CUCB(losses.SmallestArms(2))
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", GAMES)
def test_no_loss_that_is_played_leaves_the_limits(name):
    """300 rounds of random rows; large steps lead learners to the ends of the range of their predictions."""
    task, learner = GAMES[name]
    low, high = loss_range(task, [learner])
    with jax.numpy_dtype_promotion("standard"):  # optax's projection on the l1 ball does not run under strict promotion
        played = np.asarray(jo.play(task, learner, jax.random.key(1), n_rounds=300)[1].loss)
    slack = (ROUNDING - 1.0) * max(abs(low), abs(high))
    assert np.isfinite(played).all()
    assert low - slack <= played.min()
    assert played.max() <= high + slack
