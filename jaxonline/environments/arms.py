"""Stochastic bandits: arms with random losses."""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.lazy_losses import lazy_bernoulli, lazy_normal
from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.losses.lazy import LazyOutcome
from jaxonline.parameters.citations import cites
from jaxonline.parameters.numbers import JaxVector, jax_array
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, Count, Interval, NonNegative, Number, PyTree, Rounds, Shape
from jaxonline.parameters.validation import validate_arguments


class ContextFreeArms(EnvironmentDefaults):
    """Base class of arms with random losses: instances are empty vectors, and `means` [..., K] sets `outcome_spec`."""

    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True)
    means: Any

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: the losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape[-1:], self.means.dtype)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance: an empty vector."""
        return jax.ShapeDtypeStruct((0,), self.outcome_spec.dtype)

    def init(self, key: Key[Array, ""]) -> PyTree:
        """Return an empty state."""
        del key
        return ()

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[Array, PyTree]:
        """Return an empty vector."""
        del key, t
        return jnp.zeros((0,), self.outcome_spec.dtype), state


def _as_probabilities(values: Any, name: str) -> Array:
    return jax_array(name, values, ge=0.0, le=1.0)


ZERO_OR_ONE = EnvironmentTraits(oblivious=True, outcomes=np.array([0.0, 1.0]))

Probabilities = Annotated[Any, Shape("K"), Interval(ge=0, le=1), Convert(_as_probabilities)]
"""A vector of numbers from 0 to 1, such as mean losses, converted to an array of jax."""


@struct
class BernoulliArms(ContextFreeArms):
    """Stochastic bandit with independent Bernoulli losses: arm k has the loss 1 with probability means[k], else 0.

    Args:
        means: mean losses [K].

    Example:
        >>> import jax, jaxonline as jo
        >>> losses, _ = jo.environments.BernoulliArms([0.0, 1.0]).answer(jax.random.key(0), (), 1, None, None)
        >>> losses.vector().tolist()
        [0.0, 1.0]
    """

    traits: ClassVar[EnvironmentTraits] = ZERO_OR_ONE
    means: Probabilities

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, tuple[()]]:
        """Draw the losses of all arms."""
        del t, x, y_hat
        return lazy_bernoulli(key, self.means), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        del state, t, x, y
        return self.means  # type: ignore[return-value]


@struct
class GaussianArms(ContextFreeArms):
    """Stochastic bandit with Gaussian losses: arm k has the loss means[k] + std z with independent standard normal z.

    Args:
        means: mean losses [K].
        std: standard deviation of the losses.

    Example:
        >>> import jax, jaxonline as jo
        >>> losses, _ = jo.environments.GaussianArms([0.25, 0.5], std=0.0).answer(jax.random.key(0), (), 1, None, None)
        >>> losses.vector().tolist()
        [0.25, 0.5]
    """

    means: JaxVector
    std: NonNegative = 1.0

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, tuple[()]]:
        """Draw the losses of all arms."""
        del t, x, y_hat
        return lazy_normal(key, self.means, self.std), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        del state, t, x, y
        return self.means


@cites("auer2002nonstochastic")
@struct
class HiddenBestArm(ContextFreeArms):
    """Bandit of the minimax lower bound: Bernoulli arms, of which one, drawn anew in each run, is better by `gap`.

    The other arms have mean loss 1/2. With the gap of `over_horizon`, the expected pseudo-regret of every learner is at
    least min(sqrt(K T), T) / 20 (`bounds.minimax`): Auer, Cesa-Bianchi, Freund and Schapire (2002), Theorem 5.1.

    Args:
        n_arms: the number K of arms.
        gap: the mean loss of the other arms minus the mean loss of the best arm.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.HiddenBestArm.over_horizon(n_arms=4, n_rounds=100)
        >>> sorted(arms.init(jax.random.key(0)).tolist())
        [0.44999998807907104, 0.5, 0.5, 0.5]
    """

    traits: ClassVar[EnvironmentTraits] = ZERO_OR_ONE
    n_arms: Count = static()
    gap: Annotated[Number, Interval(gt=0, le=0.5)]

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: Count, n_rounds: Rounds) -> "HiddenBestArm":
        """Return the bandit whose gap is that of Theorem 5.1 for T rounds: min(sqrt(K / T), 1) / 4."""
        return cls(n_arms, 0.25 * min(1.0, float(np.sqrt(n_arms / n_rounds))))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        gap = self.gap
        return jax.ShapeDtypeStruct((self.n_arms,), gap.dtype if isinstance(gap, jax.Array) else jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        """Draw the best arm; the state is the vector of mean losses."""
        best = random.randint(key, (), 0, self.n_arms, dtype=jnp.int32)
        is_best = jnp.arange(self.n_arms, dtype=jnp.int32) == best
        return 0.5 - jnp.where(is_best, jnp.asarray(self.gap, self.outcome_spec.dtype), 0.0)

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, Float[Array, "K"]]:
        """Draw the losses of all arms."""
        del t, x, y_hat
        return lazy_bernoulli(key, state), state

    def expected_outcome(self, state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        del t, x, y
        return state
