"""Confidence bounds from the Kullback-Leibler divergence kl of Bernoulli distributions."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

NEWTON_STEPS, NEWTON_STEPS_FLOAT64 = 5, 8  # from the start in `kl_lower_bound`, until only rounding errors remain


def kl_lower_bound(mean: Float[Array, "K"], budget: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return the smallest q with kl(mean, q) <= budget, by Newton steps, for means in [0, 1].

    kl(mean, q) is the integral of (mean - s) / (s (1 - s)) over s from q to mean, so it is at least
    g^2 / (2 min(mean, 1/4)) for the gap g = mean - q, and at least mean ln(mean / q) - mean. These two lower bounds on
    kl give a start value below the solution. The Newton steps then increase to the solution, because kl is convex in q.
    Divergences are computed from the gaps mean - q, without the cancellation of nearly equal logarithms.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.linalg.kl_bounds import kl_lower_bound
        >>> bounds = kl_lower_bound(jnp.array([0.5, 1.0]), jnp.log(jnp.array([2.0, 2.0])))
        >>> [round(q.item(), 3) for q in bounds]  # kl(1, q) = -ln q
        [0.067, 0.5]
    """
    start = _below_kl_lower_bound(mean, budget)
    n_steps = NEWTON_STEPS_FLOAT64 if mean.dtype == jnp.float64 else NEWTON_STEPS

    def newton_step(_: Int[Array, ""], q: Float[Array, "K"]) -> Float[Array, "K"]:
        return _newton_step(q, mean, budget, start)

    return jnp.where(mean > 0.0, jax.lax.fori_loop(0, n_steps, newton_step, start), 0.0)


def _below_kl_lower_bound(mean: Float[Array, "..."], budget: Float[Array, "..."]) -> Float[Array, "..."]:
    tiny = jnp.asarray(jnp.finfo(mean.dtype).tiny, mean.dtype)
    m = jnp.maximum(mean, tiny)
    nearest = m - jnp.sqrt(2.0 * budget * jnp.minimum(m, 0.25))
    return jnp.maximum(jnp.maximum(nearest, m * jnp.exp(-1.0 - budget / m)), tiny)


def _newton_step(
    q: Float[Array, "..."], mean: Float[Array, "..."], budget: Float[Array, "..."], least: Float[Array, "..."]
) -> Float[Array, "..."]:
    tiny = jnp.asarray(jnp.finfo(mean.dtype).tiny, mean.dtype)
    m = jnp.maximum(mean, tiny)
    gap = m - q
    kl = m * jnp.log1p(gap / q) - (1.0 - m) * jnp.log1p(gap / jnp.maximum(1.0 - m, tiny))
    step = (kl - budget) * q * (1.0 - q) / jnp.maximum(gap, tiny)
    return jnp.clip(q + step, least, m)
