"""Vovk's aggregating algorithm for the squared loss: Vovk (1990); Cesa-Bianchi and Lugosi (2006), sections 3.5, 3.6."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline._util.struct import static, struct
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.ewa import CumulativeLosses, add_losses
from jaxonline.learners.experts.truncated import check_range, in_range
from jaxonline.learners.experts.weights import normalised


@struct
class Aggregating:
    """The aggregating algorithm: its regret is at most (high - low)^2 ln(K) / 2. Instances are experts' predictions.

    On [0, 1] the prediction is 1/2 + ln(sum e^(-eta L - eta (x-1)^2) / sum e^(-eta L - eta x^2)) / (2 eta), clipped,
    with eta = 2 / (high - low)^2, up to which the squared loss is mixable.

    Args:
        low: the least label.
        high: the largest label, above `low`.
        late_start: as in the published experiments: predict 0 in round 1, and leave its losses out.

    A label outside the range makes everything after it NaN (`aggregate` refuses it).

    Raises:
        ValueError: `high` is not above `low`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners.experts.aggregating import Aggregating
        >>> rule, x = Aggregating(0.0, 1.0), jnp.array([0.0, 1.0])
        >>> round(float(rule.predict(None, rule.init(None, Specs(x, x[0])), x)), 3)
        0.5
    """

    low: Float[ArrayLike, ""] = 0.0
    high: Float[ArrayLike, ""] = 1.0
    late_start: bool = static(default=False)

    def __post_init__(self):
        check_range(self.low, self.high)

    @property
    def label_range(self) -> tuple[ArrayLike, ArrayLike]:
        """The least and the largest label."""
        return self.low, self.high

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> CumulativeLosses:
        """No losses."""
        del key
        return CumulativeLosses(jnp.zeros(specs.instance.shape, specs.instance.dtype), jnp.asarray(False))

    def predict(self, key: Key[Array, ""] | None, state: CumulativeLosses, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The substitution function of the two generalised losses, at both ends of the range."""
        del key
        low, high, eta = self._range(x.dtype)

        def generalised(y):  # up to a constant that both ends share
            return jax.nn.logsumexp(-eta * (state.losses + (x - y) ** 2))

        gap = (generalised(high) - generalised(low)) / (2.0 * eta * (high - low))
        prediction = jnp.clip((low + high) / 2.0 + gap, low, high)
        return jnp.where(state.started, prediction, 0.0) if self.late_start else prediction

    def update(
        self, key: Key[Array, ""] | None, state: CumulativeLosses, oracle: Any
    ) -> tuple[CumulativeLosses, tuple]:
        """L += (x - y)^2."""
        del key
        low, high, _ = self._range(oracle.x.dtype)
        losses = (oracle.x - in_range(oracle.y, low, high)) ** 2
        return add_losses(state, losses, self.late_start), ()

    def weights(self, state: CumulativeLosses) -> Float[Array, "K"]:
        """The weights of the next round, before its predictions are known."""
        return normalised(-self._range(state.losses.dtype)[2] * state.losses)

    def _range(self, dtype: Any) -> tuple[Array, Array, Array]:
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        return low, high, 2.0 / (high - low) ** 2
