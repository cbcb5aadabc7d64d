"""Learners with several kernels and random Fourier features."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.fourier import AnyDictionary
from jaxonline.feedback import FullOracle
from jaxonline.game.roles import Learner, LearnerWrapper, Specs
from jaxonline.learners.experts.advice import LearnerOverAdvice
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.learners.gradient.descent import InverseSqrt, StepSize
from jaxonline.learners.linear.vaw import VAW, VAWState
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative, PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Two-level multi-kernel learning: Rokhlin and Gurtovaya (2025), Theorems 2 and 3.


class MultiKernelState(NamedTuple):
    """State of `MultiKernel`: `experts`, with a leading axis of kernels, and `combiner`."""

    experts: VAWState
    combiner: PyTree


@cites("rokhlin2025random")
@struct
class MultiKernel(LearnerWrapper):
    """Multi-kernel learner: a forecaster for each kernel, and a combiner of their predictions.

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        combiner: a learner over the vectors of predictions, such as `VAW()` (Theorem 2, "VAW2") or
            `Truncated(EWA(0.5))` (Theorem 3), or a combiner, which then uses the squared loss.
        expert: the forecaster of each kernel, without features of its own.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from jaxonline.estimators.fourier import Dictionary
        >>> from jaxonline.learners import VAW, MultiKernel
        >>> with jax.enable_x64(True):
        ...     learner = MultiKernel(Dictionary(np.zeros((2, 1, 1))), combiner=VAW())
        ...     game = jo.Game(jo.environments.DataStream(np.ones((3, 1)), np.ones(3)), jo.FullInformation())
        ...     state, history = jo.play(game, learner, jax.random.key(0), 3)
        >>> history.y_hat.shape, state.experts.w.shape
        ((3,), (2, 2))
    """

    dictionary: AnyDictionary
    combiner: LearnerOverAdvice
    expert: VAW = VAW()

    def __post_init__(self) -> None:
        if self.expert.features is not None:
            problem = f"must not have features (got {self.expert.features!r}); the dictionary makes them"
            raise ArgumentError("expert", problem)

    @property
    def learner(self) -> Any:  # type: ignore[override]
        """Return the combiner, a learner over the forecasters' predictions."""
        return self.combiner

    def init(self, key: Key[Array, ""], specs: Specs) -> MultiKernelState:
        """Return the initial states of the forecasters and the combiner."""
        z = jax.eval_shape(self.dictionary, specs.instance)
        features = specs._replace(instance=jax.ShapeDtypeStruct(z.shape[1:], z.dtype))
        experts = jax.vmap(lambda _: self.expert.init(key, features), axis_size=z.shape[0])(None)
        advice = specs._replace(instance=jax.ShapeDtypeStruct(z.shape[:1], z.dtype))
        return MultiKernelState(experts, self.combiner.init(key, advice))

    def predict(self, key: Key[Array, ""], state: MultiKernelState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict by the combiner, from the forecasters' predictions."""
        return self.combiner.predict(key, state.combiner, self._advice(key, state, self.dictionary(x)))

    def update(self, key: Key[Array, ""], state: MultiKernelState, oracle: Any) -> tuple[MultiKernelState, PyTree]:
        """Update the combiner with the forecasters' predictions, and the forecasters with their features."""
        z = self.dictionary(oracle.x)
        combiner, info = self.combiner.update(key, state.combiner, FullOracle(self._advice(key, state, z), oracle.y))
        learn = jax.vmap(lambda expert, row: self.expert.update(key, expert, FullOracle(row, oracle.y))[0])
        return MultiKernelState(learn(state.experts, z), combiner), info

    def weights(self, state: MultiKernelState) -> Float[Array, "N"]:
        """Return the combiner's weights of the kernels."""
        return super().weights(state.combiner)

    def _advice(self, key: Any, state: MultiKernelState, z: Float[Array, "N p"]) -> Float[Array, "N"]:
        return jax.vmap(lambda expert, row: self.expert.predict(key, expert, row))(state.experts, z)


# ---------------------------------------------------------------------------------------------------------------------
# Raker: Shen, Chen and Giannakis (2019); defaults as in the experiments of Rokhlin and Gurtovaya (2025).


class RakerState(NamedTuple):
    """State of `Raker`: weights `theta` of the features, `log_weights` of the kernels, number of rounds `t`."""

    theta: Float[Array, "N p"]
    log_weights: Float[Array, "N"]
    t: Int[Array, ""]


@cites("shen2019random", "rokhlin2025random")
@struct
class Raker(Learner):
    """Raker: gradient descent for each kernel, and the mean of the kernels weighted by exp(-sum step loss).

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        step_size: step size of theta and of the weights.
        penalty: lambda of the regularised losses (f - y)^2 + lambda |theta|^2.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from jaxonline.estimators.fourier import Dictionary
        >>> raker = jo.learners.Raker(Dictionary(np.zeros((2, 1, 1))), penalty=0.0)  # features (0, 1) for any instance
        >>> game = jo.Game(jo.environments.DataStream(np.ones((2, 1)), np.ones(2)), jo.FullInformation())
        >>> [f"{prediction:.2f}" for prediction in jo.play(game, raker, jax.random.key(0), n_rounds=2)[1].y_hat]
        ['0.00', '0.20']
    """

    dictionary: AnyDictionary
    step_size: StepSize = InverseSqrt(0.1)
    penalty: NonNegative = 1e-3

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> RakerState:
        """Return theta = 0 and equal weights."""
        z = jax.eval_shape(self.dictionary, specs.instance)
        return RakerState(jnp.zeros(z.shape, z.dtype), jnp.zeros(z.shape[0], z.dtype), jnp.int32(0))

    def predict(self, key: Key[Array, ""] | None, state: RakerState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the weighted mean of the kernels' predictions."""
        return self.weights(state) @ jnp.sum(state.theta * self.dictionary(x), axis=1)

    def update(self, key: Key[Array, ""] | None, state: RakerState, oracle: Any) -> tuple[RakerState, tuple[()]]:
        """Update theta -= step (2 (f - y) z + 2 lambda theta), then ln w -= step ((f - y)^2 + lambda |theta|^2)."""
        z, t = self.dictionary(oracle.x), state.t + 1
        steps = jnp.full(len(z), self.step_size(t, z.dtype))
        theta, losses = descend_each_kernel(state.theta, z, oracle.y, steps, self.penalty)
        return RakerState(theta, state.log_weights - steps * losses, t), ()

    def weights(self, state: RakerState) -> Float[Array, "N"]:
        """Return the weights of the kernels."""
        return softmax_weights(state.log_weights)


def descend_each_kernel(
    theta: Float[Array, "N p"], z: Float[Array, "N p"], y: Float[Array, ""], steps: Float[Array, "N"], penalty: Any
) -> tuple[Float[Array, "N p"], Float[Array, "N"]]:
    """Make a gradient step for every kernel; return the next theta, and (f - y)^2 + penalty |next theta|^2."""
    residuals, penalty = jnp.sum(theta * z, axis=1) - y, jnp.asarray(penalty, z.dtype)
    theta = theta - steps[:, None] * (2.0 * residuals[:, None] * z + 2.0 * penalty * theta)
    return theta, residuals**2 + penalty * jnp.sum(theta**2, axis=1)
