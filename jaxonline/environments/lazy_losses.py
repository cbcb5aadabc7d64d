"""Random losses of arms; a loss is drawn only when it is read."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.losses.lazy import LazyOutcome
from jaxonline.random.entries import fused_entry
from jaxonline.random.word_pairs import word_pair_entry


def lazy_bernoulli(key: Key[Array, ""], means: Float[Array, "K"]) -> LazyOutcome:
    """Return losses that are 1 with the probabilities `means`, else 0, equal to `random.bernoulli(key, means)`."""
    return LazyOutcome(_bernoulli_entry, _bernoulli_vector, (key, means), len(means))


def _bernoulli_entry(k: Int[Array, "*n"], key: Key[Array, ""], means: Float[Array, "K"]) -> Float[Array, "*n"]:
    return word_pair_entry(key, k, len(means), means.dtype).below(means[k]).astype(means.dtype)


def _bernoulli_vector(key: Key[Array, ""], means: Float[Array, "K"]) -> Float[Array, "K"]:
    return random.bernoulli(key, means).astype(means.dtype)


def lazy_normal(key: Key[Array, ""], means: Float[Array, "K"], std: Float[ArrayLike, ""]) -> LazyOutcome:
    """Return normal losses with the means `means` and the standard deviation `std`."""
    return LazyOutcome(_normal_entry, _normal_vector, (key, means, jnp.asarray(std, means.dtype)), len(means))


def _normal_entry(
    k: Int[Array, "*n"], key: Key[Array, ""], means: Float[Array, "K"], std: Float[Array, ""]
) -> Float[Array, "*n"]:
    return means[k] + std * fused_entry(random.normal, key, k, len(means), means.dtype)


def _normal_vector(key: Key[Array, ""], means: Float[Array, "K"], std: Float[Array, ""]) -> Float[Array, "K"]:
    return means + std * random.normal(key, means.shape, means.dtype)
