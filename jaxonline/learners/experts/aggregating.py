"""Vovk's aggregating algorithm: Vovk (1990); Cesa-Bianchi and Lugosi (2006), sections 3.5, 3.6."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.label_range import check_range, in_range
from jaxonline.learners.experts.late_start import after_a_round, before_round_1, unless_first
from jaxonline.learners.experts.over_advice import AnyLoss, losses_of, n_experts
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.losses import Squared
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Number, Positive


class AggregatingState(NamedTuple):
    """State of `Aggregating`.

    Attributes:
        losses: cumulative losses of the experts [K].
        started: whether a round has been played, for a late start; else None.
    """

    losses: Float[Array, "K"]
    started: Bool[Array, ""] | None


@cites("vovk1990aggregating", "cesabianchi2006prediction")
@struct
class Aggregating(LearnerDefaults):
    """The aggregating algorithm: its regret is at most ln(K) / eta. Instances are experts' predictions.

    With the generalised loss g(y) = -ln(sum_k w_k e^(-eta loss(x_k, y))) / eta of the experts, the prediction f is
    such that loss(f, y) - g(y) is the same at both ends of the range of labels. That is what makes loss(f, y) <= g(y)
    for every y, where the loss is eta-mixable. For the squared loss it is, on [0, 1],
    1/2 + ln(sum e^(-eta L - eta (x-1)^2) / sum e^(-eta L - eta x^2)) / (2 eta), clipped; for another loss f is found
    by bisection.

    Args:
        low: the least label (and prediction).
        high: the largest label, above `low`.
        loss: of predictions in [low, high], convex; the squared loss by default.
        eta: a rate at which the loss is mixable; None for the squared loss, which is mixable up to
            2 / (high - low)^2. (The logarithmic loss on [0, 1] is mixable up to 1.)
        late_start: as in the published experiments: predict 0 in round 1, and leave its losses out.

    A label outside the range makes everything after it NaN (`aggregate` refuses it).

    Raises:
        ValueError: `high` is not above `low`; no `eta` for another loss; one above 2 / (high - low)^2 for the squared
            loss.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners import Aggregating
        >>> rule, x = Aggregating(0.0, 1.0), jnp.array([0.0, 1.0])
        >>> round(float(rule.predict(None, rule.init(None, Specs(x, x[0])), x)), 3)
        0.5
    """

    low: Number = 0.0
    high: Number = 1.0
    loss: AnyLoss = Squared()
    eta: Positive | None = None
    late_start: bool = static(default=False)

    def __post_init__(self):
        check_range(self.low, self.high)
        if isinstance(self.loss, Squared):
            _check_rate_of_squared_loss(self.eta, self.low, self.high)
        elif self.eta is None:
            raise ArgumentError(
                "eta",
                f"must be given for {type(self.loss).__name__} (got None), as a rate at which it is "
                "mixable; only for the squared loss there is a default",
            )

    @property
    def traits(self) -> LearnerTraits:
        """The loss that judges the experts, and the range of the labels."""
        return LearnerTraits(loss=self.loss, label_range=(self.low, self.high))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> AggregatingState:
        """No losses.

        Raises:
            ValueError: instances are not vectors.
        """
        del key
        losses = jnp.zeros(n_experts("instances", specs.instance), specs.instance.dtype)
        return AggregatingState(losses, before_round_1(self.late_start))

    def predict(self, key: Key[Array, ""] | None, state: AggregatingState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The substitution function of the generalised losses at both ends of the range."""
        del key
        low, high, eta = self._constants(x.dtype)

        def minus_eta_g(y):  # up to a constant that both ends share
            return jax.nn.logsumexp(-eta * (state.losses + losses_of(self.loss, x, y)))

        gap = minus_eta_g(high) - minus_eta_g(low)
        if isinstance(self.loss, Squared):
            prediction = jnp.clip((low + high) / 2.0 + gap / (2.0 * eta * (high - low)), low, high)
        else:
            prediction = self._balanced(gap / eta, low, high)
        return unless_first(state.started, prediction)

    def update(
        self, key: Key[Array, ""] | None, state: AggregatingState, oracle: Any
    ) -> tuple[AggregatingState, tuple]:
        """L += losses."""
        del key
        low, high, _ = self._constants(oracle.x.dtype)
        losses = unless_first(state.started, losses_of(self.loss, oracle.x, in_range(oracle.y, low, high)))
        return AggregatingState(state.losses + losses, after_a_round(state.started)), ()

    def weights(self, state: AggregatingState) -> Float[Array, "K"]:
        """The weights of the next round, before its predictions are known."""
        return softmax_weights(-self._constants(state.losses.dtype)[2] * state.losses)

    def _constants(self, dtype: Any) -> tuple[Array, Array, Array]:
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        return low, high, 2.0 / (high - low) ** 2 if self.eta is None else jnp.asarray(self.eta, dtype)

    def _balanced(self, gap: Array, low: Array, high: Array) -> Float[Array, ""]:
        """f with loss(f, low) - loss(f, high) = gap, which rises with f, by bisection to the last bit."""

        def halve(_, ends):
            below, above = ends
            f = 0.5 * (below + above)
            right = self.loss(f, low) - self.loss(f, high) < gap
            return jnp.where(right, f, below), jnp.where(right, above, f)

        below, above = jax.lax.fori_loop(0, 2 + jnp.finfo(low.dtype).nmant, halve, (low, high))
        return jnp.where(jnp.isnan(gap), gap, 0.5 * (below + above))


def _check_rate_of_squared_loss(eta: ArrayLike | None, low: ArrayLike, high: ArrayLike) -> None:
    rate, least, most = (check.concrete_array(value) for value in (eta, low, high))
    if rate is None or least is None or most is None:
        return
    largest = 2.0 / (most - least) ** 2
    if (rate > largest * (1 + 1e-6)).any():
        raise ArgumentError("eta", f"must be at most 2 / (high - low)^2 = {largest} for the squared loss (got {rate})")
