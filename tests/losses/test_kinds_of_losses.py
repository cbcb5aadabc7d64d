"""Losses of moves, sets and pairs of arms, what is a loss, and what has a series."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loss_table import LOSSES, PLAIN

import jaxonline as jo
from jaxonline.bounds import noisy_kernel_geometric
from jaxonline.estimators import (
    FullGradient,
    Geometric,
    GradientLength,
    MeanOfCopies,
    NaiveCopy,
    SeriesEstimator,
    minimum_variance,
)
from jaxonline.estimators.series import lemma1_bound, n_required_terms, truncation_bias
from jaxonline.feedback import FullOracle
from jaxonline.game.roles import Draw
from jaxonline.kernels import Linear
from jaxonline.losses import (
    ArmLoss,
    ExpectedLoss,
    Hinge,
    LogLoss,
    Loss,
    PairLoss,
    ScalarLoss,
    SeriesLoss,
    SmallestArms,
    SumOfArms,
)
from jaxonline.losses.arms import LazyOutcome, set_size
from jaxonline.losses.base import OpaqueLoss, as_loss

pytestmark = pytest.mark.fast_compile


def test_losses_of_arms_and_of_weights_have_values_and_gradients(both_precisions):
    losses = jnp.asarray([0.5, -1.0, 2.0, 0.25], both_precisions)
    weights = jnp.asarray([0.1, 0.2, 0.3, 0.4], both_precisions)
    loss = jax.jit(ArmLoss())
    for arm in range(4):
        for move in (arm, jnp.int32(arm), Draw(jnp.int32(arm), weights)):
            value = loss(move, losses)
            assert value.dtype == both_precisions
            assert float(value) == float(losses[arm])
            np.testing.assert_array_equal(ArmLoss().gradient(move, losses), losses)
    for outside in (-1, 4):
        assert np.isnan(float(loss(outside, losses)))
    for move in (weights, Draw(jnp.int32(3), weights)):
        value = jax.jit(ExpectedLoss())(move, losses)
        assert value.dtype == both_precisions
        assert float(value) == pytest.approx(0.05 - 0.2 + 0.6 + 0.1, rel=1e-6)
        np.testing.assert_array_equal(ExpectedLoss().gradient(move, losses), losses)
    np.testing.assert_allclose(jax.grad(ExpectedLoss())(weights, losses), losses, rtol=1e-6)


EVERY = [*(loss for loss, *_ in PLAIN.values()), LogLoss(), ArmLoss(), ExpectedLoss(), *(v[0] for v in LOSSES.values())]


class Cubic:
    """Somebody's own loss: a plain class with value and gradient."""

    def __call__(self, y_hat, y):
        return jnp.abs(y_hat - y) ** 3

    def gradient(self, y_hat, y):
        return 3 * jnp.abs(y_hat - y) * (y_hat - y)


@pytest.mark.parametrize("loss", [*EVERY, Cubic()], ids=lambda loss: type(loss).__name__)
def test_value_and_gradient_make_a_loss(loss):
    assert isinstance(loss, Loss)
    assert isinstance(loss, SeriesLoss) == hasattr(loss, "coefficients") == hasattr(loss, "majorant")
    assert not isinstance(loss, SeriesLoss) or isinstance(loss, ScalarLoss)


def test_a_custom_loss_in_gradient_estimators():
    """In the estimators that use an instance as it is, inside jit; those for a series refuse it."""
    loss, w, oracle = Cubic(), jnp.array([1.0, 0.5]), FullOracle(jnp.array([2.0, 2.0]), jnp.float32(1.0))
    gradient = jax.jit(lambda estimator: estimator(jax.random.key(0), w, oracle))
    np.testing.assert_allclose(gradient(FullGradient(loss)), [24.0, 24.0], rtol=1e-6)
    assert NaiveCopy(loss).loss.gradient(3.0, 1.0) == MeanOfCopies(2, loss).loss.gradient(3.0, 1.0) == 12.0


def test_a_custom_loss_becomes_a_pytree():
    own = Cubic()
    kept = as_loss("loss", own)
    assert isinstance(kept, OpaqueLoss)
    assert kept.loss is own
    assert jax.tree.leaves(kept) == []
    assert as_loss("loss", kept) is kept
    assert all(as_loss("loss", loss) is loss for loss in EVERY)


class Unhashable(Cubic):
    __hash__ = None  # type: ignore[assignment]


def test_losses_must_be_hashable_or_pytrees_and_have_a_series_where_one_is_used():
    for wrong in (Hinge, Unhashable()):
        with pytest.raises(TypeError, match=r"^loss\b"):
            FullGradient(wrong)
    loss = Hinge()
    for make in (
        lambda: SeriesEstimator.for_loss(loss, minimum_variance, 1.0),
        lambda: GradientLength.for_loss(loss, Geometric(2.0), 1.0),
        lambda: lemma1_bound(loss, 2.0, 1.0),
        lambda: n_required_terms(loss, 1.0),
        lambda: truncation_bias(loss, SeriesEstimator([1.0], Geometric(2.0)), 0.0),
        lambda: noisy_kernel_geometric(Linear(), loss, 2.0, 1.0, 1.0, 100),
    ):
        with pytest.raises(TypeError, match=r"^loss\b"):
            make()


PREFERENCES = np.array([[0.5, 0.75, 1.0], [0.25, 0.5, 0.6], [0.0, 0.4, 0.5]])


def test_loss_of_a_set_is_the_sum_of_its_losses(both_precisions):
    losses = jnp.asarray([0.5, -1.0, 2.0, 0.25], both_precisions)
    loss = jax.jit(SumOfArms())
    for arms in ([2], [3, 0], [1, 2, 3], [3, 2, 1, 0]):
        value = loss(jnp.array(arms, jnp.int32), losses)
        assert value.dtype == both_precisions
        assert float(value) == float(losses[np.array(arms)].sum())
    for wrong in ([-1, 0], [0, 4], [2, 2], [1, 0, 1]):
        assert np.isnan(loss(jnp.array(wrong, jnp.int32), losses)), wrong
    np.testing.assert_array_equal(SumOfArms().gradient(jnp.array([0, 1]), losses), losses)


def test_loss_of_a_pair_is_half_the_sum_of_the_gaps_to_the_winner(both_precisions):
    duels = jnp.asarray(PREFERENCES, both_precisions)
    loss = jax.jit(PairLoss(winner=0))
    for i in range(3):
        for j in range(3):
            value = loss(jnp.array([i, j], jnp.int32), duels)
            assert value.dtype == both_precisions
            assert float(value) == pytest.approx((PREFERENCES[0, i] + PREFERENCES[0, j] - 1) / 2)
    assert np.isnan(loss(jnp.array([0, 3], jnp.int32), duels))
    assert np.isnan(loss(jnp.array([-1, 1], jnp.int32), duels))
    np.testing.assert_allclose(PairLoss(0).gradient(jnp.array([0, 1]), duels), PREFERENCES[0] - 0.5)


def test_lazy_outcomes_have_the_same_losses_and_only_the_entries_of_the_move_are_read():
    def nothing(*_):
        raise AssertionError("all entries are read")

    table, reads = jnp.asarray(PREFERENCES, jnp.float32), []

    def entry(*indices):
        reads.append(indices[:-1])
        return indices[-1][indices[:-1]]

    losses, duels = LazyOutcome(entry, nothing, (table[0],), 3), LazyOutcome(entry, nothing, (table,), 3, width=3)
    assert (duels.shape, duels.ndim) == ((3, 3), 2)
    arms, pair = jnp.array([2, 0], jnp.int32), jnp.array([1, 2], jnp.int32)
    assert SumOfArms()(arms, losses) == SumOfArms()(arms, table[0])
    assert jo.SemiBandit().open(None, jnp.int32(1), (), losses, arms).losses().tolist() == [1.0, 0.5]
    n_reads = len(reads)
    assert PairLoss(0)(pair, duels) == PairLoss(0)(pair, table)
    assert len(reads) > n_reads
    assert jo.Duel().open(None, jnp.int32(1), (), duels, pair).first_wins() == table[1, 2]


def test_smallest_arms_have_the_smallest_numbers_and_ties_go_to_the_first_arms():
    values = np.random.default_rng(0).integers(0, 4, size=(20, 6)).astype(np.float32)
    expected = np.sort(np.argsort(values, axis=-1, kind="stable")[:, :3], axis=-1)
    np.testing.assert_array_equal(SmallestArms(3)(jnp.asarray(values)), expected)


def test_wrong_sets_and_pairs_raise_errors_that_name_the_argument():
    with pytest.raises(ValueError, match=r"^m: must be at least 1"):
        SmallestArms(0)
    with pytest.raises(ValueError, match=r"^m: .*3.*got 4"):
        set_size(SmallestArms(4), 3, np.float32)
    for wrong in (lambda v: v, lambda v: jnp.int32(0), lambda v: jnp.zeros(9, jnp.int32), lambda v: v > 0):
        with pytest.raises(ValueError, match=r"^select: .*1 to 3 arms"):
            set_size(wrong, 3, np.float32)
    with pytest.raises(ValueError, match=r"^winner: .*at most 2.*got 3"):
        PairLoss(3)(jnp.array([0, 1]), jnp.asarray(PREFERENCES))
    with pytest.raises(ValueError, match=r"^y: .*square"):
        PairLoss(0)(jnp.array([0, 1]), jnp.zeros(3))


@pytest.mark.parametrize(
    ("feedback", "outcome", "move", "name"),
    [
        (jo.SemiBandit(), jnp.zeros((2, 2)), jnp.array([0, 1]), "y"),
        (jo.SemiBandit(), jnp.zeros(2), jnp.int32(0), "y_hat"),
        (jo.SemiBandit(), jnp.zeros(2), jnp.zeros(2), "y_hat"),
        (jo.Duel(), jnp.zeros(3), jnp.array([0, 1]), "y"),
        (jo.Duel(), jnp.zeros((2, 3)), jnp.array([0, 1]), "y"),
        (jo.Duel(), jnp.zeros((2, 2)), jnp.array([0, 1, 0]), "y_hat"),
        (jo.Duel(), jnp.zeros((2, 2)), jnp.zeros(2), "y_hat"),
    ],
)
def test_feedback_raises_errors_for_other_moves_and_outcomes(feedback, outcome, move, name):
    with pytest.raises(TypeError, match=rf"^{name}: {type(feedback).__name__}"):
        feedback.open(None, jnp.int32(1), (), outcome, move)
