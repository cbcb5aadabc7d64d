"""Experts truncated to the range of the labels, which can only lower their losses.

Source: Rokhlin and Gurtovaya (2025), Eq. 28.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key, PyTree

from jaxonline._util import check
from jaxonline._util.struct import struct
from jaxonline.feedback import FullOracle
from jaxonline.game.protocols import Specs


@struct
class Truncated:
    """A combiner that sees the experts' predictions clipped to [low, high].

    A label outside the range makes everything after it NaN (`aggregate` refuses it): the range is a promise.

    Args:
        learner: the combiner.
        low: the least label.
        high: the largest label, above `low`.

    Raises:
        ValueError: `high` is not above `low`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners.experts.ewa import EWA
        >>> from jaxonline.learners.experts.truncated import Truncated
        >>> rule, x = Truncated(EWA(0.5), 0.0, 1.0), jnp.array([-9.0, 0.5])
        >>> float(rule.predict(None, rule.init(None, Specs(x, x[0])), x))
        0.25
    """

    learner: Any
    low: Float[ArrayLike, ""] = 0.0
    high: Float[ArrayLike, ""] = 1.0

    def __post_init__(self):
        check_range(self.low, self.high)

    @property
    def label_range(self) -> tuple[ArrayLike, ArrayLike]:
        """The least and the largest label."""
        return self.low, self.high

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """The combiner's state."""
        return self.learner.init(key, specs)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The combiner's prediction from clipped experts."""
        return self.learner.predict(key, state, self.clip(x))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """The combiner's update from clipped experts."""
        return self.learner.update(key, state, FullOracle(self.clip(oracle.x), self.promised(oracle.y)))

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The combiner's weights."""
        return self.learner.weights(state)

    def clip(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Predictions clipped to the range."""
        return jnp.clip(x, jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype))

    def promised(self, y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Labels, NaN where they are outside the range."""
        return in_range(y, jnp.asarray(self.low, y.dtype), jnp.asarray(self.high, y.dtype))


def in_range(y: Array, low: Array, high: Array) -> Array:
    """`y` where it is in [low, high], NaN elsewhere.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners.experts.truncated import in_range
        >>> in_range(jnp.array([0.5, 2.0]), jnp.float32(0.0), jnp.float32(1.0)).tolist()
        [0.5, nan]
    """
    return jnp.where((y >= low) & (y <= high), y, jnp.nan)


def check_range(low: ArrayLike, high: ArrayLike) -> None:
    """Check the ends of a range of labels.

    Raises:
        ValueError: an end is not finite, or `high` is not above `low`.

    Example:
        >>> from jaxonline.learners.experts.truncated import check_range
        >>> check_range(-1.0, 1.0)
    """
    ends = check.concrete(check.number("low", low)), check.concrete(check.number("high", high))
    if ends[0] is not None and ends[1] is not None and not (ends[1] > ends[0]).all():
        raise ValueError(f"high must be above low, got low={ends[0]} and high={ends[1]}")
