"""Experts truncated to the range of the labels, which can only lower their losses.

Source: Rokhlin and Gurtovaya (2025), Eq. 28.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from jaxonline.feedback import FullOracle
from jaxonline.game.defaults import ForwardsToLearner
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.label_range import check_range, in_range
from jaxonline.learners.experts.over_advice import LearnerOverAdvice
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Number


@cites("rokhlin2025random")
@struct
class Truncated(ForwardsToLearner):
    """A learner over advice that sees the experts' predictions clipped to [low, high].

    A label outside the range makes everything after it NaN (`aggregate` refuses it): the range is a promise.

    Args:
        learner: a learner over advice, or a combiner (of the squared loss).
        low: the least label.
        high: the largest label, above `low`.

    Raises:
        ValueError: `high` is not above `low`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners import EWA, Truncated
        >>> rule, x = Truncated(EWA(0.5), 0.0, 1.0), jnp.array([-9.0, 0.5])
        >>> float(rule.predict(None, rule.init(None, Specs(x, x[0])), x))
        0.25
    """

    learner: LearnerOverAdvice
    low: Number = 0.0
    high: Number = 1.0

    def __post_init__(self):
        check_range(self.low, self.high)

    @property
    def traits(self) -> LearnerTraits:
        """Those of the learner, with this range of labels."""
        return super().traits._replace(label_range=(self.low, self.high))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """The learner's state."""
        return self.learner.init(key, specs)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The learner's prediction from clipped experts."""
        return self.learner.predict(key, state, self.clip(x))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """The learner's update from clipped experts."""
        return self.learner.update(key, state, FullOracle(self.clip(oracle.x), self.nan_outside_range(oracle.y)))

    def clip(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Predictions clipped to the range."""
        return jnp.clip(x, jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype))

    def nan_outside_range(self, y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Labels, NaN where they are outside the range."""
        return in_range(y, jnp.asarray(self.low, y.dtype), jnp.asarray(self.high, y.dtype))
