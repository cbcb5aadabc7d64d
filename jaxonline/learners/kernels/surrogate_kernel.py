"""Kernel learning under Gaussian noise of known covariance, from two noisy copies a round (squared loss).

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Learning from noisy data under distributional assumptions" (NIPS
workshop 2010), section 6, Algorithm 2.
"""

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.estimators.surrogates import Surrogate
from jaxonline.feedback.noise import Noise, TwoPoints
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import FeedbackTraits, LearnerTraits
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.kernels.supports import Supports, SupportsInfo, capacity_hint, no_points
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Positive, Rounds

_SAME = 1e-5  # covariances that differ by less, in units of their largest entry, are the same in float32


@cites("cesabianchi2010learning")
@struct
class SurrogateKernel(LearnerDefaults):
    """Algorithm 2 of paper B: gradient descent in the RKHS of the surrogate kernel k^.

    It is right under Gaussian noise of the covariance that its surrogate was told, the same in every round, and biased
    under any other. Labels may have any noise of mean zero, since the gradient is linear in them.

    Each round asks for two copies x~, x~' and a noisy label y~. The gradient length is g = 2 (w^(x~') - y~), with
    w^(x) = sum_i alpha_i k^(x~_i, x); then alpha_t = -step g belongs to the point x~_t, and w^ is scaled back to the
    ball of radius W in the RKHS of k^. Predictions are made with the original kernel k, sum_i alpha_i k(x~_i, x).

    A round with t points costs two rows of t values of k^ and one of k: about 3 t (2 d + 10) flops for a Gaussian
    kernel, times the number of its Gaussian kernels for a mixture. There is room for `n_rounds` points: more rounds
    are reported as `overflow` in the info, and nothing is learned in them.

    Args:
        surrogate: k^, with the original kernel and the covariance of the noise (`Surrogate`, `radial_surrogate`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        n_rounds: the largest number of rounds.
        radius: W; None for no projection.

    Raises:
        ValueError: when it is bound to a game, noise that is known to be not Gaussian or to have another covariance.
            (A law of your own is taken with a warning, as nobody can look into it.)

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import Surrogate
        >>> from jaxonline.learners import SurrogateKernel
        >>> variances = [0.2, 0.1]
        >>> learner = SurrogateKernel(
        ...     Surrogate(jo.kernels.Gaussian(2.0), variances), step_size=0.1, n_rounds=20, radius=3.0
        ... )
        >>> game = jo.Game(
        ...     jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(variances))
        ... )
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=20)
        >>> state.t.item(), history.queries[0].item(), history.info.overflow.any().item()
        (20, 2, False)
    """

    surrogate: Surrogate
    step_size: StepSize
    n_rounds: Rounds = static()
    radius: Positive | None = None

    @property
    def traits(self) -> LearnerTraits:
        """How to make room for more rounds."""
        return LearnerTraits(capacity_hint=capacity_hint(self.n_rounds))

    def overflow_probability(self, n_rounds: int) -> float:
        """1 where a run of `n_rounds` rounds needs more room than there is, else 0."""
        return float(n_rounds > self.n_rounds)

    def check_feedback(self, feedback: FeedbackTraits) -> None:
        """Raise for noise under which the learner is biased, and warn of noise whose law cannot be seen."""
        if not feedback.makes_copies and feedback.noise is None:
            return
        law, told = feedback.noise, check.concrete_array(self.surrogate.covariance)
        if law is None or isinstance(law, TwoPoints) or (isinstance(law, Noise) and law.law != "gaussian"):
            raise ArgumentError("noise", f"must be Gaussian for SurrogateKernel (got {_said(law)})")
        if not isinstance(law, Noise):
            warnings.warn(
                f"SurrogateKernel is biased where noise={law!r} is not Gaussian of the covariance of its surrogate, "
                f"which cannot be seen",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        found = check.concrete_array(law.covariance)
        if told is None or found is None:
            return
        told, found = (_as_matrix(each, np.shape(self.surrogate.variances)[0]) for each in (told, found))
        if told.shape != found.shape or np.abs(told - found).max() > _SAME * np.abs(told).max():
            raise ArgumentError(
                "noise",
                f"must have the covariance that the surrogate of SurrogateKernel was told, {told.tolist()} "
                f"(got {found.tolist()})",
            )

    def init(self, key: Key[Array, ""], specs: Specs) -> Supports:
        """w = 0 for instances of the surrogate's dimension.

        Raises:
            ValueError: if instances are not vectors of that dimension.
        """
        del key
        instance = specs.instance
        if instance.shape != (self.surrogate.dimension,):
            raise ArgumentError(
                "surrogate",
                f"must be for instances of shape {instance.shape} (got dimension {self.surrogate.dimension})",
            )
        return no_points(self.n_rounds, instance)

    def predict(self, key: Key[Array, ""], state: Supports, x: Float[Array, "d"]) -> Float[Array, ""]:
        """sum_i alpha_i k(x~_i, x), with the original kernel."""
        del key
        return state.at(self.surrogate.kernel, self._rotated(x))

    def update(self, key: Key[Array, ""], state: Supports, oracle: Any) -> tuple[Supports, SupportsInfo]:
        """alpha_t = -step 2 (w^(x~') - y~) for the point x~, then the projection."""
        del key
        x, x_other = self._rotated(oracle.copy(0)), self._rotated(oracle.copy(1))
        kernel = _rotated_kernel(self.surrogate, x.dtype)
        gradient = 2 * (state.at(kernel, x_other) - oracle.label())
        alpha = -self.step_size(state.t + 1, x.dtype) * gradient
        square = jnp.sum(jnp.exp(kernel.log_sizes))
        state, overflow = state.with_point(x, alpha, state.at(kernel, x), square, self.radius, self.n_rounds)
        return state, SupportsInfo(gradient, overflow)

    def _rotated(self, x: Float[Array, "d"]) -> Float[Array, "d"]:
        """x in the coordinates of the eigenvectors of the covariance."""
        rotation = self.surrogate.rotation
        return x if rotation is None else x @ jnp.asarray(rotation, x.dtype)


def _said(law: Any) -> str:
    return "noise without a single law" if law is None else repr(law)


def _as_matrix(covariance: np.ndarray, dimension: int) -> np.ndarray:
    """A covariance given as a variance, variances or a matrix, as a matrix."""
    if covariance.ndim == 0:
        return float(covariance) * np.eye(dimension)
    return np.diag(covariance) if covariance.ndim == 1 else covariance


@struct
class _RotatedKernel:
    """k^ of vectors in the coordinates of the eigenvectors, with what is the same for all pairs computed beforehand."""

    scales: Float[Array, "m d"]
    log_sizes: Float[Array, "m"]

    def __call__(self, x: Float[Array, "d"], x2: Float[Array, "d"]) -> Float[Array, ""]:
        squares = (x - x2) ** 2
        if len(self.log_sizes) == 1:  # the general form is several times slower here
            return jnp.exp(self.log_sizes[0] - jnp.sum(self.scales[0] * squares))
        return jnp.sum(jnp.exp(self.log_sizes - jnp.sum(self.scales * squares[None, :], axis=1)))


def _rotated_kernel(surrogate: Surrogate, dtype: jnp.dtype) -> _RotatedKernel:
    rates, shrinkage, log_sizes = surrogate.components(dtype)
    return _RotatedKernel(rates[:, None] / shrinkage, log_sizes)
