"""A stream of scores whose distribution changes, for conformal prediction."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.parameters import check
from jaxonline.parameters.numbers import jax_array
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Convert, Ge, Gt, Shape

Scales = Annotated[Any, Shape("n"), Gt(0), Convert(lambda value, name: jax_array(name, check.array(name, value, gt=0)))]


@struct
class ShiftingScores(ScalarOutcome):
    """Scores with a distribution that shifts: uniform on [0, scale], with another scale after every `every` rounds.

    A score measures how badly a label fits a prediction, for example |y - f(x)|. A threshold q covers a score with
    probability min(q / scale, 1). After the last scale the first one follows. The instance is the number 1.

    Args:
        scales: the largest score in each period [n].
        every: rounds of a period.

    Example:
        >>> import jax, jaxonline as jo
        >>> stream = jo.environments.ShiftingScores([1.0, 2.0], every=50)
        >>> game = jo.Game(stream, jo.FullInformation(), jo.losses.Miscoverage())
        >>> history = jo.play(game, jo.learners.AdaptiveConformal([0.5], 0.1, 0.1), jax.random.key(0), n_rounds=100)[1]
        >>> bool(history.y[:50].max() <= 1), bool(1 < history.y[50:].max() <= 2)
        (True, True)
    """

    scales: Scales
    every: Annotated[int, Ge(1), Convert(lambda rounds, name: check.whole_number(name, rounds, ge=1))] = 500

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((1,), self.scales.dtype)

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "1"], tuple[()]]:
        """Return the number 1."""
        del key, t
        return jnp.ones(1, self.scales.dtype), state

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Any
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """Draw the score."""
        del y_hat
        period = ((t - 1) // jnp.asarray(self.every, jnp.int32)) % len(self.scales)
        return self.scales[period] * random.uniform(key, (), x.dtype), state
