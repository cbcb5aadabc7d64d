"""The formulas of kernels and feature maps as the papers print them, wrong: what the claims set against the right ones.

Never use them for anything else. The right ones are in `jaxonline.kernels`, `jaxonline.estimators.feature_maps`,
`jaxonline.estimators.gradient_length` and `jaxonline.estimators.surrogates`.

Sources: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), here A, and
"Learning from noisy data under distributional assumptions" (NIPS workshop 2010), here B.
"""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key
from scipy import special

from jaxonline._util import check
from jaxonline._util.numbers import floating, known
from jaxonline._util.struct import struct
from jaxonline.estimators.feature_maps import GaussianFeatureMap, NoisyFeature
from jaxonline.estimators.gradient_length import GradientLength, LengthEstimate
from jaxonline.estimators.laws import Geometric
from jaxonline.kernels.radial import GaussianMixture


def printed_binomial(a: ArrayLike, exponent: float) -> Array:
    """E5, A section 2: the "binomial kernel" (1 + <x, x'>)^-alpha as a function of a = <x, x'>; it is no kernel.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.claims.printed_kernels import printed_binomial
        >>> points = jnp.array([0.5, -0.5])
        >>> bool(jnp.linalg.eigvalsh(printed_binomial(jnp.outer(points, points), 1.0)).min() < -0.5)
        True
    """
    return (1.0 + floating(a)) ** -exponent


def printed_binomial_coefficients(n_terms: int, exponent: float) -> np.ndarray:
    """E5: the Taylor coefficients of the printed binomial kernel, which alternate in sign.

    Example:
        >>> from jaxonline.claims.printed_kernels import printed_binomial_coefficients
        >>> printed_binomial_coefficients(3, 2.0).tolist()
        [1.0, -2.0, 3.0]
    """
    n = np.arange(check.count("n_terms", n_terms))
    return (-1.0) ** n * special.poch(exponent, n) / special.factorial(n)


@struct
class PrintedGaussianFeatureMap(GaussianFeatureMap):
    """E6, A appendix B: the Gaussian feature map with (2/width^2)^n / n! where its square root should be.

    Its inner products (Subroutines 6 and 7) are those of `printed_gaussian_kernel`.

    Example:
        >>> from jaxonline.estimators.laws import Geometric
        >>> from jaxonline.kernels import Gaussian
        >>> from jaxonline.claims.printed_kernels import PrintedGaussianFeatureMap
        >>> round(PrintedGaussianFeatureMap(Gaussian(1.0), Geometric(1.5)).expected_queries(), 6)
        6.0
    """

    def log_beta(self, n: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        return 2.0 * GaussianFeatureMap.log_beta(self, n, dtype)

    def term(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike) -> float:
        return self._excess(counts) * GaussianFeatureMap.term(self, counts, x, x2)

    def second_moment_given(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike, covariance: ArrayLike) -> float:
        return self._excess(counts) ** 2 * GaussianFeatureMap.second_moment_given(self, counts, x, x2, covariance)

    def second_moment(self, copy_moment: float, pair_moment: float | None = None) -> float:
        """For the paper's law; see `printed_gaussian_second_moment`."""
        laws = (self.law, self._pair_law())
        ps = [known("p", law.p) for law in laws if isinstance(law, Geometric)]
        if len(ps) < 2 or ps[0] != ps[1]:
            raise TypeError(f"law must be one Geometric for both counts, got {laws}")
        return printed_gaussian_second_moment(ps[0], copy_moment, known("width", self.kernel.width), pair_moment)

    def _excess(self, counts: tuple[int, ...]) -> float:
        n = int(counts[1])
        return (2.0 / known("width", self.kernel.width) ** 2) ** n / math.factorial(n)


def printed_gaussian_kernel(x: ArrayLike, x2: ArrayLike, width: float) -> float:
    """E6: the inner product of the printed feature vectors, a Bessel-type series where the kernel should be.

    It is e^(-(|x|^2 + |x'|^2)/width^2) sum_n (4 <x, x'>/width^4)^n / n!^2.

    Example:
        >>> from jaxonline.claims.printed_kernels import printed_gaussian_kernel
        >>> round(printed_gaussian_kernel([0.6, 0.5], [0.5, 0.7], 1.0), 3)  # the kernel is 0.951
        1.521
    """
    x, x2 = np.asarray(x, float), np.asarray(x2, float)
    series = special.hyp0f1(1.0, 4.0 * (x @ x2) / width**4)
    return float(math.exp(-(x @ x + x2 @ x2) / width**2) * series)


def printed_gaussian_second_moment(
    p: float, copy_moment: float, width: float, pair_moment: float | None = None
) -> float:
    """E7: the exact second moment of the printed Gaussian map, (p/(p-1))^2 I_0(2 sqrt(pF)/w^2) I_0(4 sqrt(pM)/w^2).

    Args:
        p: of the geometric law.
        copy_moment: M = E |x~|^2.
        width: w.
        pair_moment: F = E <x~, x~'>^2; M^2, its largest value, when None.

    Example:
        >>> from jaxonline.claims.printed_kernels import printed_gaussian_second_moment, printed_lemma5_bound
        >>> f"{printed_gaussian_second_moment(1.5, 4.0, 1.0):.3g}", f"{printed_lemma5_bound(1.5, 4.0, 1.0):.3g}"
        ('4.86e+07', '4.87e+05')
    """
    pair_moment = copy_moment**2 if pair_moment is None else pair_moment
    pairs = special.i0(2.0 * math.sqrt(p * pair_moment) / width**2)
    return float((p / (p - 1.0)) ** 2 * pairs * special.i0(4.0 * math.sqrt(p * copy_moment) / width**2))


def printed_lemma5_bound(p: float, copy_moment: float, width: float) -> float:
    """E7, A Lemma 5: (p/(p-1))^2 exp((sqrt(p) M + 2 p sqrt(M)) / w^2); its exponent lacks a factor 2.

    The last step of the proof squares two exponential series, and (sum a^n/n!)^2 is e^(2a).

    Example:
        >>> from jaxonline.claims.printed_kernels import printed_lemma5_bound
        >>> round(printed_lemma5_bound(2.0, 1e-12, 1.0), 3)
        4.0
    """
    exponent = (math.sqrt(p) * copy_moment + 2.0 * p * math.sqrt(copy_moment)) / width**2
    return (p / (p - 1.0)) ** 2 * math.exp(exponent)


def printed_projection(squared_norm: ArrayLike, bound: ArrayLike) -> Array:
    """E8, A Algorithm 1: the factor sqrt(B_w) / n~ on alpha where n~ = |w|^2 > B_w; sqrt(B_w / n~) is right.

    Example:
        >>> from jaxonline.claims.printed_kernels import printed_projection
        >>> factor = printed_projection(16.0, 4.0)
        >>> float(factor), float(factor**2 * 16.0)  # |w|^2 should be 4 after the projection
        (0.125, 0.25)
    """
    n, bound = floating(squared_norm), floating(bound)
    return jnp.where(n > bound, jnp.sqrt(bound) / n, jnp.ones_like(n))


def printed_gradient_length(
    estimator: GradientLength,
    key: Key[Array, ""],
    fresh: Callable[[Key[Array, ""]], NoisyFeature],
    hypothesis: Callable[[NoisyFeature], Float[Array, ""]],
    y: ArrayLike,
) -> LengthEstimate:
    """E9, A Subroutine 1: Grad_Length_Estimate of a classification loss without the y inside the product.

    Its mean is y l'(<w, Psi(x)>). The arguments are those of `GradientLength.estimate`.

    Raises:
        ValueError: an `estimator` for a regression loss.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators.feature_maps import DotProductFeatureMap
        >>> from jaxonline.estimators.gradient_length import GradientLength
        >>> from jaxonline.estimators.laws import Geometric
        >>> from jaxonline.kernels import Linear
        >>> from jaxonline.losses import Exponential
        >>> from jaxonline.claims.printed_kernels import printed_gradient_length
        >>> feature_map = DotProductFeatureMap(Linear(), Geometric(2.0))
        >>> estimator = GradientLength.of(Exponential(), Geometric(2.0), 1.0)
        >>> fresh = lambda key: feature_map.estimate(key, lambda k: jnp.ones(1), capacity=8)
        >>> g = printed_gradient_length(estimator, jax.random.key(0), fresh, lambda psi: 0.6 * psi.sign, -1.0)
        >>> g.value.shape
        ()
    """
    if estimator.kind != "classification":
        raise ValueError(f"estimator must be of the kind 'classification', got {estimator.kind!r}")

    def times_y(psi: NoisyFeature) -> Float[Array, ""]:
        value = hypothesis(psi)  # y (y value) = value: the y of the factors of the right form is undone
        return jnp.asarray(y, value.dtype) * value

    return estimator.estimate(key, fresh, times_y, y)


def printed_radial_surrogate(
    mixture: GaussianMixture, standard_deviation: float, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]
) -> Float[Array, ""]:
    """E13, B appendix E: the surrogate of a mixture of Gaussian kernels with 2 sigma u where 2 sigma^2 u is right.

    Raises:
        ValueError: 2 sigma u >= 1 for a rate u of the mixture.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels.radial import GaussianMixture
        >>> from jaxonline.claims.printed_kernels import printed_radial_surrogate
        >>> x = jnp.zeros(4)
        >>> round(float(printed_radial_surrogate(GaussianMixture([0.3], [1.0]), 0.5, x, x)), 4)  # (1 - 0.3)^-2
        2.0408
    """
    rates = np.asarray(mixture.rates, float)
    check.number("2 sigma u", 2.0 * standard_deviation * rates, lt=1.0)
    difference = floating(x) - floating(x2)
    shrinkage = 1.0 - 2.0 * standard_deviation * rates
    sizes = np.asarray(mixture.weights, float) * shrinkage ** (-0.5 * difference.shape[0])
    exponents = jnp.asarray(rates / shrinkage, difference.dtype) * jnp.sum(difference**2)
    return jnp.sum(jnp.asarray(sizes, difference.dtype) * jnp.exp(-exponents))


def printed_lemma7_bound(standard_deviation: float, c: float) -> float:
    """E13, B Lemma 7: exp(2 sigma c); exp(2 sigma^2 c) is right.

    Example:
        >>> from jaxonline.claims.printed_kernels import printed_lemma7_bound
        >>> round(printed_lemma7_bound(0.5, 1.0), 4)
        2.7183
    """
    return math.exp(2.0 * standard_deviation * c)
