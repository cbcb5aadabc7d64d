"""Arms whose losses are random: the environments of stochastic bandits."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key, PyTree

from jaxonline import random
from jaxonline.parameters import check
from jaxonline.parameters.struct import set_field, static, struct


class RandomData:
    """What environments share that draw their data, whatever the learner does."""

    @property
    def oblivious(self) -> bool:
        """True: nothing depends on moves."""
        return True

    @property
    def deterministic(self) -> bool:
        """False: every run draws its own."""
        return False


class WithoutContext(RandomData):
    """What all arms share whose losses nobody foretells: instances are empty vectors, and moves change nothing.

    A subclass has an `outcome_spec`, `answer` and `expected_outcome`; `init` and `instance` where it has a state.
    """

    outcome_spec: jax.ShapeDtypeStruct

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """An empty vector."""
        return jax.ShapeDtypeStruct((0,), self.outcome_spec.dtype)

    def init(self, key: Key[Array, ""]) -> PyTree:
        """Nothing to remember."""
        del key
        return ()

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[Array, PyTree]:
        """No context."""
        del key, t
        return jnp.zeros((0,), self.outcome_spec.dtype), state


def means_of_arms(means: Any, *, ndim: int = 1, ge: float | None = None, le: float | None = None) -> Array:
    """Mean losses as an array, checked."""
    values = check.finite_array("means", means, ndim=ndim)
    check.numbers("means", values, ge=ge, le=le)
    return jnp.asarray(values, means.dtype if isinstance(means, jax.Array) else jnp.result_type(float))


@struct
class BernoulliArms(WithoutContext):
    """K arms; in each round arm k has the loss 1 with probability `means[k]`, else 0, independently of all else.

    There is no context: instances are empty vectors.

    Args:
        means: of the losses [K], at least one, each in [0, 1].

    Raises:
        ValueError: no arm, or a mean outside [0, 1].

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.0, 0.5, 1.0])
        >>> losses, _ = arms.answer(jax.random.key(0), (), 1, None, None)
        >>> losses[0].item(), losses[2].item()
        (0.0, 1.0)
    """

    means: Float[Array, "K"] | np.ndarray | list[float]

    def __post_init__(self):
        set_field(self, "means", means_of_arms(self.means, ge=0.0, le=1.0))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape, self.means.dtype)  # type: ignore[union-attr]

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """The losses of all arms."""
        del t, x, y_hat
        return random.bernoulli(key, self.means).astype(self.means.dtype), state  # type: ignore[union-attr]

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means."""
        del state, t, x, y
        return self.means  # type: ignore[return-value]


@struct
class GaussianArms(WithoutContext):
    """K arms; in each round arm k has the loss means[k] + std z, z standard normal, independently of all else.

    Args:
        means: of the losses [K], at least one.
        std: their standard deviation, at least 0.

    Raises:
        ValueError: no arm, a mean that is not finite, `std` below 0.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> arms = jo.environments.GaussianArms([0.25, 0.5], std=0.0)
        >>> arms.answer(jax.random.key(0), (), 1, None, None)[0].tolist()
        [0.25, 0.5]
    """

    means: Any  # [K], a jax array after construction
    std: Float[ArrayLike, ""] = 1.0

    def __post_init__(self):
        check.not_negative("std", self.std)
        set_field(self, "means", means_of_arms(self.means))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape, self.means.dtype)

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """The losses of all arms."""
        del t, x, y_hat
        noise = random.normal(key, self.means.shape, self.means.dtype)
        return self.means + jnp.asarray(self.std, noise.dtype) * noise, state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means."""
        del state, t, x, y
        return self.means


@struct
class HiddenBestArm(WithoutContext):
    """The environment of the minimax lower bound: coins of which one, drawn in each run, is a little better.

    Losses are 0 or 1, with the mean 1/2 - gap for the good arm and 1/2 for the others. With gap = sqrt(K / T) / 4
    (`over_horizon`) no learner has an expected pseudo-regret below min(sqrt(K T), T) / 20 (`bounds.minimax`): Auer,
    Cesa-Bianchi, Freund and Schapire (2002), Theorem 5.1.

    Args:
        n_arms: K.
        gap: above 0 and at most 1/2.

    Raises:
        ValueError: `n_arms` below 1, `gap` out of its range.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> arms = jo.environments.HiddenBestArm.over_horizon(n_arms=4, n_rounds=100)
        >>> sorted(arms.init(jax.random.key(0)).tolist())  # what the run knows, and the learner does not
        [0.44999998807907104, 0.5, 0.5, 0.5]
    """

    n_arms: int = static()
    gap: Float[ArrayLike, ""]

    def __post_init__(self):
        check.count("n_arms", self.n_arms)
        check.number("gap", self.gap, gt=0.0, le=0.5)

    @classmethod
    def over_horizon(cls, n_arms: int, n_rounds: int) -> "HiddenBestArm":
        """The gap min(sqrt(K / T), 1) / 4, at which the bound is shown.

        Raises:
            ValueError: `n_arms` or `n_rounds` below 1.
        """
        K, T = check.count("n_arms", n_arms), check.count("n_rounds", n_rounds)
        return cls(K, 0.25 * min(1.0, float(np.sqrt(K / T))))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        gap = self.gap
        return jax.ShapeDtypeStruct((self.n_arms,), gap.dtype if isinstance(gap, jax.Array) else jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        """The means of this run."""
        best = random.randint(key, (), 0, self.n_arms, dtype=jnp.int32)
        good = jnp.arange(self.n_arms, dtype=jnp.int32) == best
        return 0.5 - jnp.where(good, jnp.asarray(self.gap, self.outcome_spec.dtype), 0.0)

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """The losses of all arms."""
        del t, x, y_hat
        return random.bernoulli(key, state).astype(state.dtype), state

    def expected_outcome(self, state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means of this run."""
        del t, x, y
        return state
