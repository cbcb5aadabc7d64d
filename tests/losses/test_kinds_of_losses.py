"""Losses of moves, what is a loss, and what has a series."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loss_table import LOSSES, PLAIN

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
from jaxonline.losses import ArmLoss, ExpectedLoss, Hinge, LogLoss, Loss, ScalarLoss, SeriesLoss
from jaxonline.losses.base import OpaqueLoss, as_loss
from jaxonline.parameters.struct import struct

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


@struct
class Power:
    """The same with a number that can be swept."""

    exponent: float

    def __call__(self, y_hat, y):
        return jnp.abs(y_hat - y) ** self.exponent

    def gradient(self, y_hat, y):
        return self.exponent * jnp.abs(y_hat - y) ** (self.exponent - 1) * jnp.sign(y_hat - y)


@pytest.mark.parametrize("loss", [*EVERY, Cubic(), Power(3.0)], ids=lambda loss: type(loss).__name__)
def test_value_and_gradient_make_a_loss(loss):
    assert isinstance(loss, Loss)
    assert isinstance(loss, SeriesLoss) == hasattr(loss, "coefficients") == hasattr(loss, "majorant")
    assert not isinstance(loss, SeriesLoss) or isinstance(loss, ScalarLoss)


@pytest.mark.parametrize("loss", [Cubic(), Power(3.0)], ids=["plain class", "struct"])
def test_a_custom_loss_in_gradient_estimators(loss):
    """In the estimators that use an instance as it is, inside jit; those for a series refuse it."""
    w, oracle = jnp.array([1.0, 0.5]), FullOracle(jnp.array([2.0, 2.0]), jnp.float32(1.0))
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
    swept = jax.vmap(lambda loss: FullGradient(loss).loss(3.0, 1.0))(Power(jnp.array([2.0, 3.0])))
    np.testing.assert_allclose(swept, [4.0, 8.0], rtol=1e-6)


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
