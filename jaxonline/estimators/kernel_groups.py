"""Sums and products of dot-product and Gaussian kernels, as sums of R(<x, x'>) weight e^(-rate |x - x'|^2).

Sums and products of such kernels have this form again. The power series of a term is Q(a) = weight R(a) e^(2 rate a),
since
    R(<x, x'>) weight e^(-rate |x - x'|^2) = Q(<x, x'>) e^(-rate |x|^2) e^(-rate |x'|^2).
"""

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy import special

from jaxonline.estimators.feature_maps import log_factorial
from jaxonline.estimators.feature_moments import log_coefficients
from jaxonline.kernels import Gaussian, Kernel, Laplacian, PowerSeries, Product, Scaled, Sum
from jaxonline.kernels.dot_product import DotProductKernel
from jaxonline.kernels.products import N_LEVELS
from jaxonline.kernels.radial import GaussianMixture, SchoenbergKernel
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.types import exp

_ONE = PowerSeries([1.0])


class KernelGroup(NamedTuple):
    """The kernels R(<x, x'>) weight e^(-rate |x - x'|^2) for J weights and rates; `rates` is None for J = 1, rate 0."""

    series: DotProductKernel
    weights: Any
    rates: Any

    def log_beta(self, n: Int[Array, ""]) -> Float[Array, "J"]:
        """Return the logarithms of coefficient n of the J power series Q, as JAX code."""
        log_weights = jnp.log(self.weights)
        if self.rates is None:
            return log_weights + self.series.log_coefficient(n).astype(log_weights.dtype)
        dtype, size = log_weights.dtype, N_LEVELS if self.series.degree is None else self.series.degree + 1
        i = jnp.arange(size, dtype=n.dtype)
        powers = jnp.maximum(n - i, 0)
        log_r = self.series.log_coefficient(i).astype(dtype) - log_factorial(powers, dtype)
        logs = log_r[None, :] + log_power(2.0 * self.rates[:, None], powers[None, :])
        return log_weights + jax.scipy.special.logsumexp(jnp.where(i[None, :] <= n, logs, -jnp.inf), axis=1)

    def log_table(self, n_terms: int) -> np.ndarray:
        """Return the logarithms of the first coefficients of the J power series Q [J, n_terms], on the host."""
        n, log_r = np.arange(n_terms), log_coefficients(self.series, n_terms)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)[:, None]
        if self.rates is None:
            return log_weights + log_r
        log_e = special.xlogy(n, 2.0 * self.rates[:, None]) - special.gammaln(n + 1.0)
        total = np.full(log_e.shape, -np.inf)
        for i in np.flatnonzero(log_r > -np.inf):
            total[:, i:] = np.logaddexp(total[:, i:], log_r[i] + log_e[:, : n_terms - i])
        return log_weights + total

    def tail_bounds(self, n_terms: int, a: float) -> list[float]:
        """Return for each Q the sum over n >= `n_terms` of its terms at a >= 0; inf outside the disc of convergence."""
        if self.rates is None:
            return [float(weight) * self.series.tail_bound(n_terms, a) for weight in self.weights]
        # each pair of terms k + i >= n_terms once: by k < n_terms, and all i if k >= n_terms
        tails = np.array([self.series.tail_bound(n_terms - k, a) for k in range(n_terms + 1)])
        k, sums = np.arange(n_terms), []
        for weight, rate in zip(self.weights, self.rates, strict=True):
            arrival = 2.0 * rate * a
            rest = exp(arrival) * float(special.gammainc(n_terms, arrival)) if n_terms else exp(arrival)
            terms = np.append(np.exp(special.xlogy(k, arrival) - special.gammaln(k + 1.0)), rest)
            is_positive = terms > 0.0  # a term that underflows to 0 adds nothing, even if the tail is infinite
            sums.append(float(weight) * float(terms[is_positive] @ tails[is_positive]))
        return sums


def kernel_groups(kernel: Kernel, asarray: Callable[[Any], Any]) -> list[KernelGroup]:
    """Write a kernel as a sum of groups; raise a TypeError if it has a part of another form.

    `asarray` converts a list of numbers to an array, of JAX or on the host.
    """
    if isinstance(kernel, DotProductKernel):
        return [KernelGroup(kernel, asarray([1.0]), None)]
    if isinstance(kernel, Gaussian):
        return [KernelGroup(_ONE, asarray([1.0]), asarray([kernel.width]) ** -2)]
    if isinstance(kernel, GaussianMixture):
        return [KernelGroup(_ONE, asarray(kernel.weights), asarray(kernel.rates))]
    if isinstance(kernel, Scaled):
        factor = asarray([kernel.factor])
        return [group._replace(weights=group.weights * factor) for group in kernel_groups(kernel.kernel, asarray)]
    if isinstance(kernel, Sum | Product):
        parts = [kernel_groups(part, asarray) for part in kernel.kernels]
        return functools.reduce(_multiply if isinstance(kernel, Product) else operator.add, parts)
    raise ArgumentTypeError("kernel", _requirement(kernel))


def _multiply(groups: list[KernelGroup], groups2: list[KernelGroup]) -> list[KernelGroup]:
    return [_product(group, group2) for group in groups for group2 in groups2]


def _product(group: KernelGroup, group2: KernelGroup) -> KernelGroup:
    series = [part.series for part in (group, group2) if part.series is not _ONE]
    weights = (group.weights[:, None] * group2.weights[None, :]).ravel()
    if group.rates is None or group2.rates is None:
        rates = group2.rates if group.rates is None else group.rates
    else:
        rates = (group.rates[:, None] + group2.rates[None, :]).ravel()
    product = series[0] if len(series) == 1 else Product(series) if series else _ONE
    return KernelGroup(product, weights, rates)  # type: ignore[arg-type]


def log_power(base: Array, n: Int[Array, "..."]) -> Array:
    """Return n log(base), which is 0 for n = 0."""
    return jnp.where(n == 0, jnp.zeros_like(base), n.astype(base.dtype) * jnp.log(base))


def _requirement(kernel: Kernel) -> str:
    wanted = f"must consist of dot-product and Gaussian kernels (got {kernel!r})"
    if isinstance(kernel, SchoenbergKernel):
        return f"{wanted}; use its part with a finite second moment, jaxonline.kernels.radial.truncate(kernel, cut)"
    if isinstance(kernel, Laplacian):
        return f"{wanted}; its estimate would have no mean; use truncate(RadialExponential(scale), cut), in the l2 norm"
    return wanted
