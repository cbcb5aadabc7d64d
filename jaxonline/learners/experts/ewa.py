"""The exponentially weighted average forecaster for the squared loss.

Cesa-Bianchi and Lugosi (2006), Proposition 3.1; Rokhlin and Gurtovaya (2025), Eq. 29 (which is printed with the loss
of round t in the weights of round t; the loss of round t-1 is meant).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline._util import check
from jaxonline._util.struct import static, struct
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.weights import normalised


class CumulativeLosses(NamedTuple):
    """State of `EWA` and `Aggregating`.

    Attributes:
        losses: cumulative losses of the experts [K].
        started: whether a round has been played.

    Example:
        >>> from jaxonline.learners.experts.ewa import CumulativeLosses
        >>> CumulativeLosses._fields
        ('losses', 'started')
    """

    losses: Float[Array, "K"]
    started: Array


@struct
class EWA:
    """The mean of the experts, weighted by exp(-eta cumulative loss). An instance is the vector of their predictions.

    Args:
        eta: above 0. The regret is at most ln(K) / eta where the squared loss is eta-exp-concave: see `over_range`.
        late_start: as in the published experiments: predict 0 in round 1, and leave its losses out.

    Raises:
        ValueError: `eta` is not above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners.experts.ewa import EWA
        >>> from jaxonline.feedback import FullOracle
        >>> ewa, x = EWA.over_range(0.0, 1.0), jnp.array([0.0, 1.0])
        >>> state = ewa.init(None, Specs(x, x[0]))
        >>> state, _ = ewa.update(None, state, FullOracle(x, jnp.float32(1.0)))
        >>> round(float(ewa.predict(None, state, x)), 4)  # 1 / (1 + e^-1/2)
        0.6225
    """

    eta: Float[ArrayLike, ""]
    late_start: bool = static(default=False)

    def __post_init__(self):
        check.positive("eta", self.eta)

    @classmethod
    def over_range(cls, low: float, high: float, late_start: bool = False) -> "EWA":
        """The largest rate for predictions and labels in [low, high]: 1 / (2 (high - low)^2).

        It is 1/2 on [0, 1] and 1/(8 Y^2) on [-Y, Y].

        Raises:
            ValueError: `high` is not above `low`.
        """
        return cls(0.5 / width(low, high) ** 2, late_start)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> CumulativeLosses:
        """No losses."""
        del key
        return CumulativeLosses(jnp.zeros(specs.instance.shape, specs.instance.dtype), jnp.asarray(False))

    def predict(self, key: Key[Array, ""] | None, state: CumulativeLosses, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The weighted mean of the experts."""
        del key
        mean = self.weights(state) @ x
        return jnp.where(state.started, mean, 0.0) if self.late_start else mean

    def update(
        self, key: Key[Array, ""] | None, state: CumulativeLosses, oracle: Any
    ) -> tuple[CumulativeLosses, tuple]:
        """L += (x - y)^2."""
        del key
        losses = (oracle.x - oracle.y) ** 2
        return add_losses(state, losses, self.late_start), ()

    def weights(self, state: CumulativeLosses) -> Float[Array, "K"]:
        """The weights of the next round."""
        return normalised(-jnp.asarray(self.eta, state.losses.dtype) * state.losses)


def add_losses(state: CumulativeLosses, losses: Float[Array, "K"], late_start: bool) -> CumulativeLosses:
    """L + losses; with a late start, nothing in round 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners.experts.ewa import CumulativeLosses, add_losses
        >>> add_losses(CumulativeLosses(jnp.zeros(1), jnp.asarray(False)), jnp.ones(1), late_start=True).losses.tolist()
        [0.0]
    """
    if late_start:
        losses = jnp.where(state.started, losses, 0.0)
    return CumulativeLosses(state.losses + losses, jnp.asarray(True))


def width(low: float, high: float) -> float:
    """The width of a range of labels.

    Raises:
        ValueError: `high` is not above `low`.

    Example:
        >>> from jaxonline.learners.experts.ewa import width
        >>> width(-1.0, 1.0)
        2.0
    """
    check.number("low", low)
    check.number("high", high)
    if not high > low:
        raise ValueError(f"high must be above low, got low={low:g} and high={high:g}")
    return float(high - low)
