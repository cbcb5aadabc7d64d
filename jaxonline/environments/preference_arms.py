"""Arms that are compared in pairs, with given probabilities of winning: the environment of duelling bandits."""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.arms import ZERO_OR_ONE, ContextFreeArms
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.losses.lazy import LazyOutcome
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import jax_array
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Convert, Interval, PyTree, Shape
from jaxonline.random.word_pairs import word_pair_entry


def _as_preferences(preferences: Any, name: str) -> Array:
    array = jax_array(name, preferences, ndim=2, ge=0.0, le=1.0)
    values = check.concrete_array(array)
    if array.shape[0] != array.shape[1]:
        raise ArgumentError(name, f"must be a square matrix (got shape {array.shape})")
    if values is not None and (wrong := np.argwhere(np.abs(values + values.T - 1.0) > 1e-5)).size:
        i, j = wrong[0].tolist()
        problem = f"must add up to 1 with its transpose (got {values[i, j]:g} at [{i}, {j}] and {values[j, i]:g}"
        raise ArgumentError(name, f"{problem} at [{j}, {i}]")
    return array


Preferences = Annotated[Any, Shape("K", "K"), Interval(ge=0, le=1), Convert(_as_preferences)]
"""A matrix of probabilities: arm i beats arm j with probability [i, j]; it becomes an array of jax."""


@struct
class PreferenceArms(ContextFreeArms):
    """K arms that are compared in pairs: in each round arm i beats arm j with probability `preferences[i, j]`.

    An outcome is the matrix of the duels of all pairs [K, K]: 1 at [i, j] and 0 at [j, i] if arm i beats arm j, and 1/2
    on the diagonal. Duels of different pairs and rounds are independent. There is no context: instances are empty
    vectors.

    Args:
        preferences: probabilities [K, K]; the sum of the matrix and its transpose is 1 in every entry.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> arms = jo.environments.PreferenceArms([[0.5, 1.0], [0.0, 0.5]])
        >>> duels, _ = arms.answer(jax.random.key(0), (), 1, None, None)
        >>> duels.vector().tolist()
        [[0.5, 1.0], [0.0, 0.5]]
    """

    traits: ClassVar[EnvironmentTraits] = ZERO_OR_ONE
    preferences: Preferences

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: the duels of all pairs [K, K]."""
        return jax.ShapeDtypeStruct(self.preferences.shape, self.preferences.dtype)

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, tuple[()]]:
        """Return the duels of all pairs."""
        del t, x, y_hat
        n_arms = len(self.preferences)
        return LazyOutcome(_duel, _all_duels, (key, self.preferences), n_arms, width=n_arms), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K K"]:
        """Return the matrix of preferences, which are the means of the duels."""
        del state, t, x, y
        return self.preferences


def _duel(
    i: Int[Array, "*n"], j: Int[Array, "*n"], key: Key[Array, ""], preferences: Float[Array, "K K"]
) -> Float[Array, "*n"]:
    """Return 1 if arm i beats arm j, else 0 (1/2 if i = j); (i, j) and (j, i) use the same random number."""
    low, high = jnp.minimum(i, j), jnp.maximum(i, j)
    level = word_pair_entry(key, low * len(preferences) + high, preferences.size, preferences.dtype)
    low_wins = level.below(preferences[low, high]).astype(preferences.dtype)
    return jnp.where(i == j, 0.5, jnp.where(i < j, low_wins, 1.0 - low_wins))


def _all_duels(key: Key[Array, ""], preferences: Float[Array, "K K"]) -> Float[Array, "K K"]:
    upper = jnp.triu(random.bernoulli(key, preferences).astype(preferences.dtype), 1)
    return upper + jnp.tril(1.0 - upper.T, -1) + 0.5 * jnp.eye(len(preferences), dtype=preferences.dtype)
