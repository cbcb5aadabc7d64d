"""Means of two-copy gradient estimates over different pairs of m noisy copies, and their exact second moments."""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.estimators import PairsOfCopies
from jaxonline.estimators.gradients import squared_loss_gradient
from jaxonline.feedback import NoisyCopies, noise
from jaxonline.linalg.programs import run_compiled
from jaxonline.losses import Loss, Squared
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Ge

CONSECUTIVE, HALVES, ALL = "consecutive pairs", "halves", "all pairs"


@struct
class ConsecutivePairs:
    """Unbiased gradient: mean of 2 (<w, x~_i> - y~) x~_(i+1) over i = 1, 3, ..., m - 1; `TwoCopies` if m = 2."""

    n_copies: Annotated[int, Ge(2)] = static()
    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return the mean over m / 2 pairs."""
        del key
        copies = oracle.copies(0, self.n_copies)
        return 2 * ((copies[::2] @ w - oracle.label()) @ copies[1::2]) / (self.n_copies // 2)


@struct
class Halves:
    """Unbiased gradient 2 (<w, a> - y~) b, where a and b are the means of the first and the second half of m copies."""

    n_copies: Annotated[int, Ge(2)] = static()
    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return the two-copy estimate of the two means."""
        del key
        first, second = jnp.split(oracle.copies(0, self.n_copies), 2)
        return squared_loss_gradient(w, first.mean(axis=0), oracle.label(), second.mean(axis=0))


ESTIMATORS: dict[str, Any] = {CONSECUTIVE: ConsecutivePairs, HALVES: Halves, ALL: PairsOfCopies}


def gradient_variance(
    name: str, m: int, w: np.ndarray, X: np.ndarray, y: np.ndarray, noise_variance: float, label_variance: float
) -> float:
    """Return the exact E|g - E g|^2 of an estimate g from m copies, as a mean over the rows of X.

    With r = <w, x> - y, R = E (r - e)^2 for the noise e of the label, Sigma = v I, s = w' Sigma w, S = tr Sigma and
    h = m / 2, E|g|^2 / 4 is R|x|^2 + (R S + s|x|^2) / h + s S / h for consecutive pairs, has s S / h^2 in the last term
    for halves, and is R|x|^2 + (R S + s|x|^2 + 2 r x' Sigma w) / m + (s S + |Sigma w|^2) / (m (m - 1)) for all pairs.
    """
    v, d, inner, square = noise_variance, X.shape[1], X @ w, (X**2).sum(axis=1)
    r, s, S, h = inner - y, v * (w @ w), v * d, m / 2
    R = r**2 + label_variance
    if name == ALL:
        rest = (R * S + s * square + 2 * r * v * inner) / m + (s * S + v**2 * (w @ w)) / (m * (m - 1))
    else:
        rest = (R * S + s * square) / h + s * S / (h if name == CONSECUTIVE else h**2)
    return float(np.mean(4 * (label_variance * square + rest)))


def sampled_squares(
    name: str, m: int, w: np.ndarray, X: np.ndarray, y: np.ndarray, noise_variance: float, label_variance: float,
    n_samples: int, seed: int,
) -> np.ndarray:  # fmt: skip
    """Return samples [n_samples] of |g - E g|^2, over the rows of X in turn."""
    feedback = NoisyCopies(noise.gaussian(noise_variance), noise.gaussian(label_variance))
    rows = np.arange(n_samples) % len(X)
    keys = jax.random.split(jax.random.key(seed), n_samples)
    arrays = (np.asarray(values, np.float32) for values in (w, X[rows], y[rows]))
    return np.asarray(run_compiled(_squares, ESTIMATORS[name](m), feedback, keys, *arrays), float)


def _squares(estimator, feedback, keys, w, X, y):
    def square(key, x, y):
        oracle = feedback.open(key, jnp.int32(1), x, y, y)
        error = estimator(key, w, oracle) - 2 * (w @ x - y) * x
        return error @ error

    return jax.vmap(square)(keys, X, y)
