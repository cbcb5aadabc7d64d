"""Linearly separable data with a margin: the assumption of the perceptron's theorem."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import JaxVector
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


class SeparableState(NamedTuple):
    """State of `SeparableData`: the label of the round, drawn with the instance."""

    label: Float[Array, ""]


@struct
class SeparableData(ScalarOutcome):
    """Linearly separable labels: |x| <= radius and y <u, x> >= margin for a unit vector u; y is uniform on {-1, +1}.

    The number y <u, x> is uniform on [margin, radius], and the part of x orthogonal to u is uniform in a ball. The
    perceptron makes at most (radius / margin)^2 mistakes.

    Args:
        direction: a vector [d] in the direction of u, not 0, with d >= 2.
        margin: the margin gamma, the lower bound on y <u, x>.
        radius: the largest length r of x, at least `margin`.

    Example:
        >>> import jax, jaxonline as jo
        >>> data = jo.environments.SeparableData([1, 1, 1, 1], margin=0.2)
        >>> game = jo.Game(data, jo.FullInformation(), jo.losses.ZeroOne())
        >>> history = jo.play(game, jo.learners.Perceptron(), jax.random.key(0), n_rounds=100)[1]
        >>> bool((history.y * history.x.sum(axis=1) / 2 >= 0.199).all()), bool(history.loss.sum() <= 25)
        (True, True)
    """

    direction: JaxVector
    margin: Positive = 0.1
    radius: Positive = 1.0
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True, outcomes=np.array([-1.0, 1.0]))

    def __post_init__(self) -> None:
        if len(self.direction) < 2 or not np.any(self.direction):
            raise ArgumentError(
                "direction",
                f"must have at least two entries, not all 0 (got {check.quote(self.direction)})",
            )
        margin, radius = check.concrete_array(self.margin), check.concrete_array(self.radius)
        if margin is not None and radius is not None and not (margin <= radius).all():
            raise ArgumentError("margin", f"must be at most the radius, {radius} (got {margin})")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.direction.shape, self.direction.dtype)

    def init(self, key: Key[Array, ""]) -> SeparableState:
        del key
        return SeparableState(jnp.ones((), self.direction.dtype))

    def instance(
        self, key: Key[Array, ""], state: SeparableState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], SeparableState]:
        """Draw an instance and its label."""
        del state
        d, dtype = len(self.direction), self.direction.dtype
        u = self.direction / jnp.linalg.norm(self.direction)
        margin, radius = jnp.asarray(self.margin, dtype), jnp.asarray(self.radius, dtype)
        label_key, margin_key, rest_key, length_key = jax.random.split(key, 4)
        label = random.rademacher(label_key, (), dtype)
        along = margin + (radius - margin) * random.uniform(margin_key, (), dtype)
        z = random.normal(rest_key, (d,), dtype)
        z = z - (u @ z) * u
        fraction = random.uniform(length_key, (), dtype)
        length = jnp.sqrt(radius**2 - along**2) * fraction ** (1.0 / (d - 1))
        return label * along * u + length * z / jnp.linalg.norm(z), SeparableState(label)

    def answer(
        self, key: Key[Array, ""], state: SeparableState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], SeparableState]:
        """Return the label."""
        del key, t, x, y_hat
        return state.label, state
