"""Measures of the coverage of prediction sets: the fraction of outcomes that are at most the move, a threshold."""

from typing import Annotated, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxonline.game import Round
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Interval, Number


@struct
class Coverage:
    """Coverage: the fraction of the last rounds whose outcome is at most the move, a threshold.

    `GradientLearner` with the gradient of the loss `Pinball` learns such a threshold.

    Args:
        window: number of last rounds; the name of the measure is "coverage_of_last_W" for a window W. Before round W
            the measure is the coverage of all rounds.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> scores = jo.environments.DataStream(np.ones((4, 1)), np.array([0.5, 2.0, 0.5, 0.5]))
        >>> pinball = jo.losses.Pinball(0.5)
        >>> game = jo.Game(scores, jo.FullInformation(), pinball)
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(pinball), step_size=2.0)
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=4, record_at=[2, 4], measures=[jo.Coverage(2)])
        >>> result.measures["coverage_of_last_2"].tolist()
        [[[0.0, 1.0]]]
    """

    window: Count = static()

    @property
    def name(self) -> str:
        """The name "coverage_of_last_W"."""
        return f"coverage_of_last_{self.window}"

    def init(self, record: Round) -> tuple[Bool[Array, "W"], Int[Array, ""]]:
        """Return whether each of the last W rounds is covered (none so far), and the number of rounds."""
        return jnp.zeros(self.window, bool), jnp.int32(0)

    def add(
        self, carry: tuple[Bool[Array, "W"], Int[Array, ""]], t: Int[Array, ""], record: Round
    ) -> tuple[Bool[Array, "W"], Int[Array, ""]]:
        """Replace the oldest round."""
        return carry[0].at[(t - 1) % self.window].set(record.y <= record.y_hat), t

    def read(self, carry: tuple[Bool[Array, "W"], Int[Array, ""]]) -> Float[Array, ""]:
        """Return the fraction."""
        covered, t = carry
        dtype = jnp.result_type(float)
        return jnp.sum(covered).astype(dtype) / jnp.clip(t, 1, self.window).astype(dtype)


@struct
class CoverageError:
    """Error of the coverage: |fraction of all rounds whose outcome is above the threshold - alpha|.

    Args:
        alpha: fraction of outcomes that the threshold may miss.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> scores = jo.environments.DataStream(np.ones((4, 1)), np.array([0.5, 2.0, 0.5, 0.5]))
        >>> pinball = jo.losses.Pinball(0.5)
        >>> game = jo.Game(scores, jo.FullInformation(), pinball)
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(pinball), step_size=2.0)
        >>> measures = [jo.CoverageError(0.5)]
        >>> result = jo.simulate(game, learner, n_runs=1, n_rounds=4, record_at=[1, 4], measures=measures)
        >>> result.measures["coverage_error"].tolist()
        [[[0.5, 0.0]]]
    """

    alpha: Annotated[Number, Interval(gt=0, lt=1)]
    name: ClassVar[str] = "coverage_error"

    def init(self, record: Round) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Return the numbers of misses and of rounds, 0."""
        return jnp.int32(0), jnp.int32(0)

    def add(
        self, carry: tuple[Int[Array, ""], Int[Array, ""]], t: Int[Array, ""], record: Round
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Add 1 if the outcome is above the threshold."""
        return carry[0] + (record.y > record.y_hat).astype(jnp.int32), t

    def read(self, carry: tuple[Int[Array, ""], Int[Array, ""]]) -> Float[Array, ""]:
        """Return the error."""
        misses, t = carry
        dtype = jnp.result_type(float)
        return jnp.abs(misses.astype(dtype) / jnp.maximum(t, 1).astype(dtype) - jnp.asarray(self.alpha, dtype))
