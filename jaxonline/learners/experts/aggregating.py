"""Vovk's aggregating algorithm: Vovk (1990); Cesa-Bianchi and Lugosi (2006), sections 3.5 and 3.6."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.cumulative_losses import add_losses, excess, zero_sums
from jaxonline.learners.experts.label_range import check_range, nan_outside
from jaxonline.learners.experts.late_start import include_zero, initial_flag, next_flag, zero_before_start
from jaxonline.learners.experts.over_advice import AnyLoss, expert_losses
from jaxonline.learners.experts.vectors import vector_length
from jaxonline.learners.experts.weights import weights_of_sums
from jaxonline.linalg.compensated import Compensated
from jaxonline.losses import Squared
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import host_float
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Number, Positive


class AggregatingState(NamedTuple):
    """State of `Aggregating`: sums of the losses [K], and whether round 1 is over (None without a late start)."""

    losses: Compensated
    started: Bool[Array, ""] | None


@cites("vovk1990aggregating", "cesabianchi2006prediction")
@struct
class Aggregating(LearnerDefaults):
    """Aggregating algorithm of Vovk: prediction with expert advice, with regret at most ln(K) / eta.

    An instance is the vector of the experts' predictions. The generalised loss of the experts is g(y) = -ln(sum_k w_k
    e^(-eta loss(x_k, y))) / eta. The prediction f makes loss(f, y) - g(y) equal at both ends of the range of labels.
    Then loss(f, y) <= g(y) for every y if the loss is eta-mixable. For the squared loss on [0, 1] the prediction f is
    1/2 + ln(sum e^(-eta L - eta (x-1)^2) / sum e^(-eta L - eta x^2)) / (2 eta), clipped. For other losses f is computed
    by bisection. A label outside [low, high] makes all later numbers of the run NaN; `aggregate` raises an error
    instead.

    Args:
        low: smallest label and prediction.
        high: largest label and prediction, above `low` (otherwise ValueError).
        loss: convex loss of predictions in [low, high].
        eta: rate for which the loss is mixable. For the squared loss None means the largest possible rate, 2 / (high -
            low)^2, and a larger rate raises a ValueError. For another loss None raises a ValueError. The log loss on
            [0, 1] is mixable for rates up to 1.
        late_start: whether to predict 0 in round 1 and ignore the losses of that round, as in the experiments of
            Rokhlin and Gurtovaya (2025).

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> learner, x = jo.learners.Aggregating(0.0, 1.0), jnp.array([0.0, 1.0])
        >>> round(float(learner.predict(None, learner.init(None, jo.game.Specs(x, x[0])), x)), 3)
        0.5
    """

    low: Number = 0.0
    high: Number = 1.0
    loss: AnyLoss = Squared()
    eta: Positive | None = None
    late_start: bool = static(default=False)

    def __post_init__(self) -> None:
        check_range(self.low, self.high)
        if isinstance(self.loss, Squared):
            _check_rate_of_squared_loss(self.eta, self.low, self.high)
        elif self.eta is None:
            problem = f"must be given for {type(self.loss).__name__} (got None); pass a rate for which it is mixable"
            raise ArgumentError("eta", problem)

    @property
    def traits(self) -> LearnerTraits:
        """Declare the loss of the experts and the range of the labels."""
        return LearnerTraits(loss=self.loss, label_range=(self.low, self.high))

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the range of the labels, with a late start also 0."""
        del instances
        return include_zero((host_float("low", self.low), host_float("high", self.high)), self.late_start)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> AggregatingState:
        """Return zero losses, one for each entry of the instance; raise a ValueError if instances are not vectors."""
        del key
        losses = zero_sums(vector_length("instances", specs.instance), specs.instance.dtype)
        return AggregatingState(losses, initial_flag(self.late_start))

    def predict(self, key: Key[Array, ""] | None, state: AggregatingState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the prediction from the generalised losses at both ends of the range of labels."""
        del key
        (low, high, eta), differences = self._constants(x.dtype), excess(state.losses)

        def minus_eta_g(y):  # up to a constant that is the same at both ends
            return jax.nn.logsumexp(-eta * (differences + expert_losses(self.loss, x, y)))

        gap = minus_eta_g(high) - minus_eta_g(low)
        if isinstance(self.loss, Squared):
            prediction = jnp.clip((low + high) / 2.0 + gap / (2.0 * eta * (high - low)), low, high)
        else:
            prediction = self._solve_for_prediction(gap / eta, low, high)
        return zero_before_start(state.started, prediction)

    def update(
        self, key: Key[Array, ""] | None, state: AggregatingState, oracle: Any
    ) -> tuple[AggregatingState, tuple[()]]:
        """Add the losses of the experts to the state."""
        del key
        low, high, _ = self._constants(oracle.x.dtype)
        losses = zero_before_start(state.started, expert_losses(self.loss, oracle.x, nan_outside(oracle.y, low, high)))
        return AggregatingState(add_losses(state.losses, losses), next_flag(state.started)), ()

    def weights(self, state: AggregatingState) -> Float[Array, "K"]:
        """Return the weights of the next round, before the predictions of that round are known."""
        return weights_of_sums(state.losses, self._constants(state.losses.total.dtype)[2])

    def _constants(self, dtype: Any) -> tuple[Array, Array, Array]:
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        return low, high, 2.0 / (high - low) ** 2 if self.eta is None else jnp.asarray(self.eta, dtype)

    def _solve_for_prediction(self, gap: Array, low: Array, high: Array) -> Float[Array, ""]:
        """Solve loss(f, low) - loss(f, high) = gap, which increases with f, by bisection to the last bit."""

        def halve(_, ends):
            below, above = ends
            f = 0.5 * (below + above)
            too_low = self.loss(f, low) - self.loss(f, high) < gap
            return jnp.where(too_low, f, below), jnp.where(too_low, above, f)

        below, above = jax.lax.fori_loop(0, 2 + jnp.finfo(low.dtype).nmant, halve, (low, high))
        return jnp.where(jnp.isnan(gap), gap, 0.5 * (below + above))


def _check_rate_of_squared_loss(eta: ArrayLike | None, low: ArrayLike, high: ArrayLike) -> None:
    rate, least, most = (check.concrete_array(value) for value in (eta, low, high))
    if rate is None or least is None or most is None:
        return
    largest = 2.0 / (most - least) ** 2
    if (rate > largest * (1 + 1e-6)).any():
        raise ArgumentError("eta", f"must be at most 2 / (high - low)^2 = {largest} for the squared loss (got {rate})")
