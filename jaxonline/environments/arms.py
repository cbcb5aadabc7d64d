"""Arms whose losses are random: the environments of stochastic bandits."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline._util import check
from jaxonline._util.struct import set_field, struct


@struct
class BernoulliArms:
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
        means = check.vector("means", self.means)
        check.numbers("means", means, ge=0.0, le=1.0)
        dtype = self.means.dtype if isinstance(self.means, jax.Array) else jnp.result_type(float)
        set_field(self, "means", jnp.asarray(means, dtype))

    @property
    def oblivious(self) -> bool:
        """True: losses do not depend on moves."""
        return True

    @property
    def deterministic(self) -> bool:
        """False: every run draws its own losses."""
        return False

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """An empty vector."""
        return jax.ShapeDtypeStruct((0,), self.means.dtype)  # type: ignore[union-attr]

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape, self.means.dtype)  # type: ignore[union-attr]

    def init(self, key: Key[Array, ""]) -> tuple[()]:
        """Nothing to remember."""
        del key
        return ()

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Array, tuple[()]]:
        """No context."""
        del key, t
        return jnp.zeros((0,), self.means.dtype), state  # type: ignore[union-attr]

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """The losses of all arms."""
        del t, x, y_hat
        return jax.random.bernoulli(key, self.means).astype(self.means.dtype), state  # type: ignore[union-attr]

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means."""
        del state, t, x, y
        return self.means  # type: ignore[return-value]
