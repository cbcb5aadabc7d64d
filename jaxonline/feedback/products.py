"""Inner products of a vector with noise, each drawn as one random number instead of d numbers.

For Gaussian noise n of covariance S, <w, n> is normal with variance w' S w and can be drawn directly. Products with
other noise require a draw of its d coordinates.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline import random
from jaxonline.feedback.noise import Mirrored, Noise
from jaxonline.parameters.errors import ArgumentError


def has_products(law: Any) -> bool:
    """Whether the noise is Gaussian, mirrored or not, so that `product_with` can draw products with it."""
    law = law.law if isinstance(law, Mirrored) else law
    return isinstance(law, Noise) and law.law == "gaussian"


def product_with(w: Float[Array, "d"], law: Any, key: Key[Array, ""]) -> Float[Array, ""]:
    """Draw <w, n> for Gaussian noise n: |F' w| times a standard normal number, where F F' is the covariance of n.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback.noise import gaussian
        >>> from jaxonline.feedback.products import product_with
        >>> keys = jax.random.split(jax.random.key(0), 10_000)
        >>> draws = jax.vmap(lambda key: product_with(jnp.array([3.0, 4.0]), gaussian(0.25), key))(keys)
        >>> bool(abs(draws.std() - 2.5) < 0.1)
        True
    """
    if isinstance(law, Mirrored):
        return jnp.asarray(law.sign, w.dtype) * product_with(w, law.law, key)
    factor = jnp.asarray(law.factor, w.dtype)
    if factor.ndim and factor.shape[-1:] != w.shape:
        raise ArgumentError("covariance", f"must fit the instances, of shape {w.shape} (got {factor.shape})")
    along = w @ factor if factor.ndim == 2 else factor * w
    return jnp.sqrt(along @ along) * random.fast_normal(key, (), w.dtype)
