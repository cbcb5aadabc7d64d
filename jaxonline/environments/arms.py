"""Arms with random losses: the environments of stochastic bandits."""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline import random
from jaxonline.environments.lazy_losses import lazy_bernoulli, lazy_normal
from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.citations import cites
from jaxonline.parameters.numbers import JaxVector, jax_array
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, Count, Interval, NonNegative, Number, Rounds, Shape
from jaxonline.parameters.validation import validate_arguments


class WithoutContext(EnvironmentDefaults):
    """Base of arms with random losses: instances are empty vectors, and the losses do not depend on the moves.

    A subclass has `outcome_spec`, `answer` and `expected_outcome`, and if it has a state also `init` and `instance`.
    """

    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True)
    outcome_spec: jax.ShapeDtypeStruct

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """An empty vector."""
        return jax.ShapeDtypeStruct((0,), self.outcome_spec.dtype)

    def init(self, key: Key[Array, ""]) -> PyTree:
        """The state before round 1: empty."""
        del key
        return ()

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[Array, PyTree]:
        """No context."""
        del key, t
        return jnp.zeros((0,), self.outcome_spec.dtype), state


def _as_probabilities(values: Any, name: str) -> Array:
    return jax_array(name, values, ge=0.0, le=1.0)


Probabilities = Annotated[Any, Shape("K"), Interval(ge=0, le=1), Convert(_as_probabilities)]
"""A vector of numbers from 0 to 1, such as the mean losses of arms; it becomes a JAX array."""


@struct
class BernoulliArms(WithoutContext):
    """Bernoulli arms: in each round arm k has the loss 1 with probability `means[k]`, else 0, independently.

    Args:
        means: the mean losses [K].

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.0, 0.5, 1.0])
        >>> losses, _ = arms.answer(jax.random.key(0), (), 1, None, None)
        >>> losses[0].item(), losses[2].item()
        (0.0, 1.0)
    """

    means: Probabilities

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape, self.means.dtype)  # type: ignore[union-attr]

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """The losses of all arms."""
        del t, x, y_hat
        return lazy_bernoulli(key, self.means), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means."""
        del state, t, x, y
        return self.means  # type: ignore[return-value]


@struct
class GaussianArms(WithoutContext):
    """Gaussian arms: in each round arm k has the loss means[k] + std z, with z standard normal, independently.

    Args:
        means: the mean losses [K].
        std: the standard deviation of the losses.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.GaussianArms([0.25, 0.5], std=0.0)
        >>> arms.answer(jax.random.key(0), (), 1, None, None)[0].tolist()
        [0.25, 0.5]
    """

    means: JaxVector
    std: NonNegative = 1.0

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape, self.means.dtype)

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """The losses of all arms."""
        del t, x, y_hat
        return lazy_normal(key, self.means, self.std), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means."""
        del state, t, x, y
        return self.means


@cites("auer2002nonstochastic")
@struct
class HiddenBestArm(WithoutContext):
    """Environment of the minimax lower bound for bandits: fair coins and a slightly better one, drawn in each run.

    Losses are 0 or 1, with mean 1/2 - gap for the best arm and 1/2 for the others. With gap = sqrt(K / T) / 4
    (`over_horizon`) no learner has an expected pseudo-regret below min(sqrt(K T), T) / 20 (`bounds.minimax`): Auer,
    Cesa-Bianchi, Freund and Schapire (2002), Theorem 5.1.

    Args:
        n_arms: K.
        gap: the difference between the mean losses of the others and of the best arm.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.HiddenBestArm.over_horizon(n_arms=4, n_rounds=100)
        >>> sorted(arms.init(jax.random.key(0)).tolist())  # hidden from the learner
        [0.44999998807907104, 0.5, 0.5, 0.5]
    """

    n_arms: Count = static()
    gap: Annotated[Number, Interval(gt=0, le=0.5)]

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: Count, n_rounds: Rounds) -> "HiddenBestArm":
        """The gap min(sqrt(K / T), 1) / 4 of the theorem."""
        return cls(n_arms, 0.25 * min(1.0, float(np.sqrt(n_arms / n_rounds))))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        gap = self.gap
        return jax.ShapeDtypeStruct((self.n_arms,), gap.dtype if isinstance(gap, jax.Array) else jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        """The means of this run."""
        best = random.randint(key, (), 0, self.n_arms, dtype=jnp.int32)
        is_best = jnp.arange(self.n_arms, dtype=jnp.int32) == best
        return 0.5 - jnp.where(is_best, jnp.asarray(self.gap, self.outcome_spec.dtype), 0.0)

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """The losses of all arms."""
        del t, x, y_hat
        return lazy_bernoulli(key, state), state

    def expected_outcome(self, state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means of this run."""
        del t, x, y
        return state
