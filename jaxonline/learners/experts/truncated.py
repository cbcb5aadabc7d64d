"""Experts truncated to the range of the labels, which never increases losses: Rokhlin and Gurtovaya (2025), Eq. 28."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.feedback import FullOracle
from jaxonline.game.defaults import ForwardsToLearner, LearnerDefaults, method_of
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.label_range import check_range, nan_outside
from jaxonline.learners.experts.over_advice import LearnerOverAdvice
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Number, PyTree


@cites("rokhlin2025random")
@struct
class Truncated(ForwardsToLearner):
    """Clips the experts' predictions to [low, high]; a label outside [low, high] gives NaN (an error in `aggregate`).

    Args:
        learner: a learner over advice, or a combiner, which then uses the squared loss.
        low: smallest label.
        high: largest label; a ValueError is raised if `high` is not above `low`.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> learner, x = jo.learners.Truncated(jo.learners.EWA(0.5), 0.0, 1.0), jnp.array([-9.0, 0.5])
        >>> float(learner.predict(None, learner.init(None, jo.game.Specs(x, x[0])), x))
        0.25
    """

    learner: LearnerOverAdvice
    low: Number = 0.0
    high: Number = 1.0

    def __post_init__(self) -> None:
        check_range(self.low, self.high)

    @property
    def traits(self) -> LearnerTraits:
        """The traits of the learner, with the range of labels [low, high]."""
        return super().traits._replace(label_range=(self.low, self.high))

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of the learner's predictions from the clipped experts."""
        clipped = None if instances is None else np.clip(instances, self.low, self.high)
        return method_of(self.learner, LearnerDefaults.prediction_range)(clipped)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the state of the learner."""
        return self.learner.init(key, specs)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the prediction of the learner from the clipped experts."""
        return self.learner.predict(key, state, self.clip(x))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Update the learner with the clipped experts."""
        return self.learner.update(key, state, FullOracle(self.clip(oracle.x), self.nan_outside_range(oracle.y)))

    def clip(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the predictions, clipped to the range."""
        return jnp.clip(x, jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype))

    def nan_outside_range(self, y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the labels, with NaN for labels outside the range."""
        return nan_outside(y, jnp.asarray(self.low, y.dtype), jnp.asarray(self.high, y.dtype))
