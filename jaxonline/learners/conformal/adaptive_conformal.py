"""Adaptive conformal inference: Gibbs and Candes (2021)."""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Interval, JaxVector, NonNegative, Number


class ConformalInfo(NamedTuple):
    """Diagnostics of one update: whether the score is above the threshold, so that the set misses the outcome."""

    missed: Bool[Array, ""]


class AdaptiveConformalState(NamedTuple):
    """State of `AdaptiveConformal`: the level alpha_t, and the scores [n] of which the threshold is a quantile."""

    alpha: Float[Array, ""]
    scores: Float[Array, "n"]


@cites("gibbs2021adaptive")
@struct
class AdaptiveConformal(LearnerDefaults):
    """Adaptive conformal prediction: a threshold of scores that misses a fraction alpha of outcomes in the long run.

    The outcome of a round is the score of the true label, for example |y - f(x)|. The move is the threshold, so the
    prediction set holds the labels whose scores are at most the threshold, for example the interval f(x) +- threshold.
    The threshold is the quantile 1 - alpha_t of n earlier scores: the k-th smallest, with k = n + 1 - floor((n + 1)
    alpha_t). It is infinite if k > n (the set holds all labels), and minus infinity if k < 1 (the set is empty). After
    the round alpha_(t+1) = alpha_t + step (alpha - missed), where missed is 1 if the score is above the threshold, and
    alpha_1 = alpha. With a step of 0 this is split conformal prediction.

    The fraction of missed outcomes differs from alpha by at most (max(alpha, 1 - alpha) + step) / (step T), for all
    scores and in every run (`bounds.adaptive_conformal`). Instances are ignored. The game's loss is
    `losses.Miscoverage`. Gradient descent on the pinball loss of the threshold itself needs no calibration scores
    (`bounds.quantile_tracking`).

    Args:
        calibration: scores of earlier examples [n].
        alpha: fraction of outcomes that the set may miss.
        step_size: the step gamma of the paper.
        rolling: whether the score of each round replaces the oldest one; otherwise the n scores stay the same.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.AdaptiveConformal([1.0, 2.0, 3.0], alpha=0.25, step_size=0.25)
        >>> state = learner.init(None, jo.game.Specs((), jnp.zeros(())))
        >>> for score in (3.5, 3.5, 0.5):
        ...     print(float(state.alpha), float(learner.predict(None, state, ())))
        ...     state, info = learner.update(None, state, jo.feedback.FullOracle((), jnp.float32(score)))
        0.25 3.0
        0.0625 inf
        0.125 inf
    """

    calibration: JaxVector
    alpha: Annotated[Number, Interval(gt=0, lt=1)]
    step_size: NonNegative
    rolling: bool = static(default=False)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> AdaptiveConformalState:
        """Return alpha_1 = alpha and the calibration scores; outcomes must be numbers."""
        del key
        if specs.outcome.shape != ():
            raise ArgumentError(
                "outcome", f"must be a number, a score, for AdaptiveConformal (got shape {specs.outcome.shape})"
            )
        dtype = specs.outcome.dtype
        return AdaptiveConformalState(jnp.asarray(self.alpha, dtype), self.calibration.astype(dtype))

    def predict(self, key: Key[Array, ""] | None, state: AdaptiveConformalState, x: Any) -> Float[Array, ""]:
        """Return the threshold, a quantile of the scores."""
        del key, x
        n = len(state.scores)
        k = n + 1 - jnp.floor((n + 1) * state.alpha).astype(jnp.int32)
        threshold = jnp.sort(state.scores)[jnp.clip(k, 1, n) - 1]
        return jnp.where(k > n, jnp.inf, jnp.where(k < 1, -jnp.inf, threshold))

    def update(
        self, key: Key[Array, ""] | None, state: AdaptiveConformalState, oracle: Any
    ) -> tuple[AdaptiveConformalState, ConformalInfo]:
        """Set alpha to alpha_t + step (alpha - missed)."""
        score, dtype = oracle.y, state.alpha.dtype
        missed = score > self.predict(key, state, oracle.x)
        alpha, step = jnp.asarray(self.alpha, dtype), jnp.asarray(self.step_size, dtype)
        alpha_t = state.alpha + step * (alpha - missed.astype(dtype))
        scores = jnp.append(state.scores[1:], score) if self.rolling else state.scores
        return AdaptiveConformalState(alpha_t, scores), ConformalInfo(missed)
