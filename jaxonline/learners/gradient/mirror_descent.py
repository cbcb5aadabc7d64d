"""Mirror descent in its lazy form: gradients are summed, and a mirror map turns the sum into a point of the set."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.protocols import Specs
from jaxonline.learners.gradient.estimator_learner import EstimatorLearner
from jaxonline.learners.gradient.mirror_maps import AnyMirrorMap, Entropy, LogBarrier, MirrorMap
from jaxonline.learners.gradient.optimizers import Optimizer
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.vectors import linear_range, zeros_like_vector
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PyTree

SGD = optax.sgd(1.0)


class MirrorState(NamedTuple):
    """State of mirror descent: `theta`, the sum of -step g over the rounds, up to a change that moves no point."""

    theta: Float[Array, "n"]
    t: Int[Array, ""]
    optimizer: PyTree


class MirrorDescent(EstimatorLearner):
    """Base class of learners that predict <w, x> with the point w of a mirror map: all but `predict`."""

    estimator: Any
    step_size: Any
    optimizer: Any

    def get_map(self) -> MirrorMap:
        """Return the mirror map."""
        raise NotImplementedError

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of <w, x> on the simplex, or its multiple; None for other mirror maps."""
        mirror_map = self.get_map()
        scale = mirror_map.scale if isinstance(mirror_map, Entropy) else 1.0
        return linear_range(instances, scale, 1.0) if isinstance(mirror_map, Entropy | LogBarrier) else None

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> MirrorState:
        """Return the point where R is smallest; instances must be vectors."""
        del key
        theta = self.get_map().start(zeros_like_vector(self, specs.instance))
        return MirrorState(theta, jnp.int32(0), self.optimizer.init(theta))

    def update(self, key: Key[Array, ""], state: MirrorState, oracle: Any) -> tuple[MirrorState, tuple[()]]:
        """Subtract step g from theta, g the gradient at w."""
        t, mirror_map = state.t + 1, self.get_map()
        g = mirror_map.gradient(self.estimator(key, self.w(state), oracle))
        direction, optimizer_state = self.optimizer.update(g, state.optimizer, state.theta)
        theta = state.theta + self.step_size(t, g.dtype) * direction
        return MirrorState(mirror_map.shift(theta), t, optimizer_state), ()

    def w(self, state: MirrorState) -> Float[Array, "d"]:
        """Return the weights w."""
        return self.get_map().point(state.theta)


@cites("nemirovski1983problem", "beck2003mirror", "shalevshwartz2012online")
@struct
class MirrorLearner(MirrorDescent):
    """Mirror descent: predict <w, x> with the w that minimises R(w) + the sum of step <g, w> over the rounds so far.

    The mirror map has the regularizer R and its set: `Entropy()` (exponentiated gradient), `PNorm(p)` (p = 2 is
    gradient descent), or `LogBarrier()`. With a constant step the regret against u is at most (R(u) - min R) / step +
    step / 2 times the sum of the squared dual norms of the gradients (`bounds.mirror_descent`, with
    `mirror_map.divergence(u)` and `mirror_map.dual_norm(g)`). See Shalev-Shwartz (2012), Theorem 2.11.

    Args:
        estimator: `estimator(key, w, oracle)` estimates the gradient at w (`jaxonline.estimators`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        mirror_map: the regularizer.
        optimizer: an optax transformation with learning rate 1 that maps the gradient to the change of the sum;
            gradient descent by default.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.array([1.0, 0.0])), jo.FullInformation())
        >>> learner = jo.learners.MirrorLearner(jo.estimators.FullGradient(), 0.5, jo.learners.LogBarrier())
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=100)
        >>> [f"{weight:.2f}" for weight in learner.w(state)]
        ['0.93', '0.07']
    """

    estimator: AnyEstimator
    step_size: StepSize
    mirror_map: AnyMirrorMap
    optimizer: Optimizer = static(default=SGD)

    def get_map(self) -> MirrorMap:
        """Return the mirror map."""
        return self.mirror_map

    def predict(self, key: Key[Array, ""] | None, state: MirrorState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        del key
        return self.w(state) @ x
