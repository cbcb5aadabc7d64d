"""The product of a vector and a noise that nothing else is asked of: one random number instead of d.

<w, n> has a law of its own. For Gaussian noise n of covariance S it is normal with variance w' S w, and may be drawn
as such; a sum of d other numbers has no law that is drawn faster than the numbers.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline import random
from jaxonline.feedback.noise import Mirrored, Noise
from jaxonline.parameters.errors import ArgumentError


def has_products(law: Any) -> bool:
    """Whether `product_with` can draw the products of a noise law: of Gaussian noise, mirrored or not."""
    law = law.law if isinstance(law, Mirrored) else law
    return isinstance(law, Noise) and law.law == "gaussian"


def product_with(w: Float[Array, "d"], law: Any, key: Key[Array, ""]) -> Float[Array, ""]:
    """One draw of <w, n>: with F F' the covariance of n, |F' w| times a normal number.

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
