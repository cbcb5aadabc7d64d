"""Bandit gradient descent (FKM): Flaxman, Kalai and McMahan (2005)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from jaxonline import random
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.vectors import zeros_like_vector
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


class GradientBanditInfo(NamedTuple):
    """Diagnostics of one update: `gradient` is the one-point estimate [d]."""

    gradient: Float[Array, "d"]


@cites("flaxman2005online")
@struct
class GradientBandit(LearnerDefaults):
    """Bandit gradient descent (FKM): play a point of the ball |w| <= radius, see its loss, and descend on an estimate.

    The move is w + delta u, where u is uniform on the unit sphere. The estimate g = (d / delta) loss(w + delta u) u has
    as its mean the gradient at w of the smoothed loss E loss(w + delta v), where v is uniform in the unit ball. The
    update is w <- w - step g, projected on the ball of radius `radius` - delta, so that all moves are in the ball. The
    learner ignores instances. The outcome is a vector [d], and the feedback `LossOfMove(loss)` gives the loss of a
    point.

    Args:
        delta: distance between the moves and w, below `radius` (see `bounds.gradient_bandit`).
        step_size: step size of the descent (see `bounds.gradient_bandit`).
        radius: radius of the ball.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> loss = jo.losses.SquaredDistance()
        >>> rows = jo.environments.DataStream(None, np.array([[0.5, 0.0]]))
        >>> game = jo.Game(rows, jo.LossOfMove(loss), loss=loss)
        >>> learner = jo.learners.GradientBandit(delta=0.2, step_size=0.002, radius=1.0)
        >>> w, history = jo.play(game, learner, jax.random.key(0), n_rounds=2000)
        >>> bool(abs(w[0] - 0.5) < 0.2), bool(abs(w[1]) < 0.2)
        (True, True)
    """

    delta: Positive
    step_size: Positive
    radius: Positive = 1.0

    def __post_init__(self) -> None:
        delta, radius = check.concrete_array(self.delta), check.concrete_array(self.radius)
        if delta is not None and radius is not None and not (delta < radius).all():
            raise ArgumentError("delta", f"must be below the radius, {radius} (got {delta})")

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "d"]:
        """Return w = 0; outcomes must be vectors."""
        del key
        return zeros_like_vector(self, specs.outcome, "outcome")

    def predict(self, key: Key[Array, ""], state: Float[Array, "d"], x: Any) -> Float[Array, "d"]:
        """Play w + delta u for a uniform unit vector u."""
        del x
        u = random.normal(key, state.shape, state.dtype)
        return state + jnp.asarray(self.delta, state.dtype) * u / jnp.linalg.norm(u)

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], GradientBanditInfo]:
        """Set w to the projection of w - step (d / delta) loss u on the ball of radius `radius` - delta."""
        del key
        delta, step, radius = (jnp.asarray(number, state.dtype) for number in (self.delta, self.step_size, self.radius))
        u = (oracle.move - state) / delta
        gradient = (len(state) / delta) * oracle.loss() * u
        w = optax.projections.projection_l2_ball(state - step * gradient, radius - delta)
        return w, GradientBanditInfo(gradient)
