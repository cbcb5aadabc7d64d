"""Estimators of the gradient 2 (<w, x> - y) x of the squared loss of a linear predictor (paper B, Algorithm 1).

An estimator is called as `estimator(key, w, oracle)` and asks the oracle for what it needs.
"""

from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline import _check
from jaxonline._struct import static, struct


@runtime_checkable
class GradientEstimator(Protocol):
    """A function of a key, the hypothesis w [d] and the round's oracle that returns an estimate of the gradient [d].

    Example:
        >>> from jaxonline.estimators.gradients import GradientEstimator, TwoCopies
        >>> isinstance(TwoCopies(), GradientEstimator)
        True
    """

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """The estimate at w."""
        ...


def squared_loss_gradient(w: Float[Array, "d"], x: Float[Array, "d"], y: Array, direction: Array) -> Float[Array, "d"]:
    """2 (<w, x> - y) direction: the gradient of the squared loss when `direction` is x.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.estimators.gradients import squared_loss_gradient
        >>> squared_loss_gradient(jnp.ones(2), jnp.ones(2), 1.0, jnp.array([1.0, -1.0])).tolist()
        [2.0, -2.0]
    """
    return 2 * (w @ x - y) * direction


@struct
class FullGradient:
    """The gradient itself, under full information.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import FullGradient
        >>> from jaxonline.oracles import FullOracle
        >>> FullGradient()(jax.random.key(0), jnp.zeros(2), FullOracle(jnp.ones(2), jnp.float32(1.0))).tolist()
        [-2.0, -2.0]
    """

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """2 (<w, x> - y) x."""
        del key
        return squared_loss_gradient(w, oracle.x, oracle.y, oracle.x)


@struct
class TwoCopies:
    """Two independent noisy copies x~, x~' and a noisy label (paper B, Lemma 1): 2 (<w, x~> - y~) x~', unbiased.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import TwoCopies
        >>> from jaxonline.noise import gaussian
        >>> from jaxonline.oracles import NoisyCopies
        >>> channel = NoisyCopies(gaussian(1.0))
        >>> oracle = channel.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> TwoCopies()(jax.random.key(1), jnp.zeros(2), oracle).shape, oracle.queries().item()
        ((2,), 2)
    """

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """2 (<w, x~> - y~) x~'."""
        del key
        return squared_loss_gradient(w, oracle.copy(0), oracle.label(), oracle.copy(1))


@struct
class KnownCovariance:
    """One noisy copy and the covariance of its noise (paper B, Lemma 2).

    Args:
        form: "corrected", 2 (<w, x~> - y~) x~ - 2 Sigma w, unbiased; or "printed", with - Sigma w, which is biased
            by Sigma w (erratum E11).

    Raises:
        ValueError: if `form` is neither.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import KnownCovariance
        >>> from jaxonline.noise import gaussian
        >>> from jaxonline.oracles import NoisyCopies
        >>> channel = NoisyCopies(gaussian(1.0), reveal_covariance=True)
        >>> oracle = channel.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> KnownCovariance()(jax.random.key(1), jnp.zeros(2), oracle).shape, oracle.queries().item()
        ((2,), 1)
    """

    form: str = static(default="corrected")

    def __post_init__(self):
        _check.choice("form", self.form, ("corrected", "printed"))

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """2 (<w, x~> - y~) x~ - 2 Sigma w, or the printed form."""
        del key
        x = oracle.copy(0)
        factor = 2 if self.form == "corrected" else 1
        return squared_loss_gradient(w, x, oracle.label(), x) - factor * (oracle.covariance @ w)


@struct
class NaiveCopy:
    """One noisy copy used as if it were clean: biased by 2 Sigma w, the mistake that paper A and B are about.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import NaiveCopy
        >>> from jaxonline.noise import gaussian
        >>> from jaxonline.oracles import NoisyCopies
        >>> channel = NoisyCopies(gaussian(0.0))
        >>> oracle = channel.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> NaiveCopy()(jax.random.key(1), jnp.zeros(2), oracle).tolist()
        [-2.0, -2.0]
    """

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """2 (<w, x~> - y~) x~."""
        del key
        x = oracle.copy(0)
        return squared_loss_gradient(w, x, oracle.label(), x)


@struct
class MeanOfCopies:
    """The mean of n noisy copies used as if it were clean: biased by 2 Sigma w / n.

    Args:
        n_copies: the number of copies of a round, at least 1.

    Raises:
        ValueError: if `n_copies` is less than 1.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import MeanOfCopies
        >>> from jaxonline.noise import gaussian
        >>> from jaxonline.oracles import NoisyCopies
        >>> channel = NoisyCopies(gaussian(0.0))
        >>> oracle = channel.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> MeanOfCopies(5)(jax.random.key(1), jnp.zeros(2), oracle).tolist(), oracle.queries().item()
        ([-2.0, -2.0], 5)
    """

    n_copies: int = static()

    def __post_init__(self):
        _check.count("n_copies", self.n_copies)

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """2 (<w, x_mean> - y~) x_mean."""
        del key
        x = oracle.copies(0, self.n_copies, jnp.int32(self.n_copies)).mean(axis=0)
        return squared_loss_gradient(w, x, oracle.label(), x)
