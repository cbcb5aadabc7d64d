"""Kernels and estimates of feature vectors (Cesa-Bianchi et al. 2010a, sections 2, 3.3 and 5 and appendix B).

The mean of the inner product of an estimate Psi~ and the exact Psi(x') is the kernel value k(x, x'). The check of a
feature map has one term for each number of copies (for the Gaussian map, for each pair of numbers). The points x and
x' are the example of note E6. The functions printed_* are formulas as printed in the paper.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, ArrayLike, Float, Int, Key
from scipy import special

from benchmarks.papers.claims.registry import PRINTED_BIASED, PRINTED_VIOLATED, Options, claim, in_float64
from benchmarks.papers.claims.terms import all_signs, check_terms
from jaxonline.estimators import DotProductFeatureMap, FiniteDistribution, GaussianFeatureMap, Geometric
from jaxonline.estimators.noisy_features import FeatureMap, copy_moments, prod
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Homogeneous, Inhomogeneous, Linear
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters import check
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import as_floating, host_float
from jaxonline.verify import Capped, Verification, bound, second_moment, unbiased

X, X2, VARIANCE, P, CAPACITY = np.array([0.6, 0.5]), np.array([0.5, 0.7]), 0.05, 2.0, 16
WIDTH, INNER = 1.3, float(X @ X2)
_MIN_TERM = 1e-5  # relative to the largest term


def noisy_point(x: Float[Array, "d"], key: Key[Array, ""]) -> Float[Array, "d"]:
    """Return a copy of x with Gaussian noise of variance 0.05 in each coordinate."""
    return x + math.sqrt(VARIANCE) * jax.random.normal(key, x.shape, x.dtype)


def _draw(x=X):
    return Partial(noisy_point, np.asarray(x, np.float32))


def check_definite(gram: np.ndarray) -> Verification:
    """Check that a symmetric matrix is positive semi-definite: sum |eigenvalues| is at most its trace."""
    total = float(np.abs(np.linalg.eigvalsh(gram)).sum())
    return bound(total, float(np.trace(gram)), note="sum of |eigenvalues|, trace")


# ---------------------------------------------------------------------------------------------------------------------
# Feature maps by terms


def _products(feature_map, counts, copies):
    """Return <Psi~, Psi(x')> for numbers of copies, (N,) or (N1, N2), and the copies."""

    def product(count, rows):
        psi = feature_map.assemble(tuple(count) if len(count) == 2 else count[0], rows)
        return feature_map.prod_clean(psi, jnp.asarray(X2))

    return jax.vmap(product)(counts, copies)


def _check_map(
    feature_map: FeatureMap, term: Callable[..., float], sizes: tuple[int, ...], target: float
) -> Verification:
    """Compare the terms of the mean of <Psi~, Psi(x')> for numbers of copies in a box, and their sum, with k(x, x').

    The copies are x + v and x - v with equal probabilities. `term(*counts)` is the term of the series of k(x, x') for
    numbers of copies, (N,) or (N1, N2), from an independent source. `sizes` are those of the box.
    """
    counts = np.array(list(itertools.product(*map(range, sizes))), np.int32)
    others = (c for c in itertools.product(range(60), repeat=len(sizes)) if any(map(int.__ge__, c, sizes)))
    copies = 2 * counts[:, :-1].sum(axis=1) + counts[:, -1]
    signs = [all_signs(n, max(1, copies.max())) for n in copies]
    row = np.repeat(np.arange(len(counts)), [len(rows) for rows in signs])
    drawn = X + np.concatenate(signs)[..., None] * math.sqrt(VARIANCE) * np.array([1.0, -1.0])
    values = in_float64(_products, feature_map, counts[row], drawn)
    logs = feature_map.law.log_table(max(sizes))  # type: ignore[attr-defined]
    means = np.exp(logs[counts].sum(axis=1)) * np.bincount(row, values) / np.bincount(row)
    terms = np.array([term(*map(int, count)) for count in counts])
    return check_terms(means, target, terms, sum(term(*count) for count in others))


def printed_binomial(a: ArrayLike, exponent: float) -> Array:
    """Return (1 + <x, x'>)^-alpha, the paper's "binomial kernel", which is no kernel (E5); `a` is <x, x'>."""
    return (1.0 + as_floating(a)) ** -exponent


def printed_binomial_coefficients(n_terms: int, exponent: float) -> np.ndarray:
    """Return the Taylor coefficients of `printed_binomial` (E5 of the paper), which alternate in sign."""
    n = np.arange(check.count("n_terms", n_terms))
    return (-1.0) ** n * special.poch(exponent, n) / special.factorial(n)


# beta_n of the papers' kernels: 1/n!, binomial coefficients, (alpha)_n / n!.
_BETAS: dict[type, Callable[[Any, int], float]] = {
    Linear: lambda kernel, n: float(n == 1),
    Inhomogeneous: lambda kernel, n: float(math.comb(kernel.degree, n)),
    ExponentialKernel: lambda kernel, n: 1 / math.factorial(n),
    Binomial: lambda kernel, n: float(special.poch(kernel.exponent, n)) / math.factorial(n),
}


@claim("feature map, linear kernel", "A, Subroutine 2", Linear(), P, printed="within tolerance")
@claim("feature map, kernel (1 + <x, x'>)^3", "A, Subroutine 2", Inhomogeneous(3), P,
       printed="within tolerance")  # fmt: skip
@claim("feature map, exponential kernel", "A, Subroutine 2", ExponentialKernel(), P,
       printed="within tolerance")  # fmt: skip
@claim("feature map, binomial kernel", "A, section 2", Binomial(0.5), 1.3, note=5, **PRINTED_BIASED)
def _dot_product(form: str, options: Options, kernel: Any, p: float) -> Verification:
    """Features with weights sqrt(beta_n) > 0 give the kernel (1 - <x, x'>)^-alpha, not the one printed in the paper."""

    def term(n: int) -> float:
        return _BETAS[type(kernel)](kernel, n) * INNER**n

    terms = np.array([term(n) for n in range(100)])
    size = 1 + int(np.flatnonzero(terms > _MIN_TERM * terms.max())[-1])
    is_printed = isinstance(kernel, Binomial) and form == "printed"
    target = run_compiled(printed_binomial, INNER, 0.5) if is_printed else in_float64(kernel, X, X2)
    return _check_map(DotProductFeatureMap(kernel, Geometric(p)), term, (size,), float(target))


@claim("binomial kernel, positive semi-definite", "A, section 2", note=5, mathematics="printed", **PRINTED_VIOLATED)
def _binomial_definite(form: str, options: Options) -> Verification:
    points = np.linspace(-0.9, 0.9, 7)
    inner = np.multiply.outer(points, points)
    if form == "printed":
        return check_definite(in_float64(printed_binomial, inner, 1.0))
    return check_definite(in_float64(Binomial.series, Binomial(1.0), inner))


@claim("the kernel |x x'| in one dimension", "A, section 5.2", note=30, mathematics="printed corrected",
       **PRINTED_VIOLATED)  # fmt: skip
def _absolute_product(form: str, options: Options) -> Verification:
    """Printed: Q has a Taylor series with beta_n >= 0. As Q(t) = |t| is even with Q(0) = 0, Q(1/2) <= Q(1)/4 follows.

    Corrected: it is positive semi-definite.
    """
    if form == "printed":
        return bound(abs(0.5), abs(1.0) / 4)
    points = np.linspace(-0.9, 1.1, 9)
    return check_definite(np.abs(np.multiply.outer(points, points)))


@struct
class PrintedGaussianFeatureMap(GaussianFeatureMap):
    """Gaussian feature map printed in the paper, Subroutine 5: (2/width^2)^n / n! lacks the square root (E6).

    The inner product of two printed features (the paper, Subroutines 6 and 7) is
    `printed_gaussian_kernel`.
    """

    def log_beta(self, n: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        return 2.0 * GaussianFeatureMap.log_beta(self, n, dtype)

    def term(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike) -> float:
        return self._excess(counts) * GaussianFeatureMap.term(self, counts, x, x2)

    def second_moment_given(self, counts: tuple[int, ...], x: ArrayLike, x2: ArrayLike, covariance: ArrayLike) -> float:
        return self._excess(counts) ** 2 * GaussianFeatureMap.second_moment_given(self, counts, x, x2, covariance)

    def second_moment(self, copy_moment: float, pair_moment: float | None = None) -> float:
        raise NotImplementedError("printed_gaussian_second_moment computes it")

    def _excess(self, counts: tuple[int, ...]) -> float:
        n = int(counts[1])
        return (2.0 / host_float("width", self.kernel.width) ** 2) ** n / math.factorial(n)


def _gaussian_value(width: float) -> float:
    """Return exp(-|x - x'|^2 / width^2)."""
    return math.exp(-float(np.sum((X - X2) ** 2)) / width**2)


def _gaussian_term(n1: int, n2: int) -> float:
    """Return the term of k(x, x') from power n1 of e^(-|x|^2/width^2) and power n2 of e^(2 <x, x'>/width^2)."""
    rate = WIDTH**-2
    pairs = (-rate * float(X @ X)) ** n1 / math.factorial(n1)
    return pairs * (2 * rate * INNER) ** n2 / math.factorial(n2) * math.exp(-rate * float(X2 @ X2))


@claim("feature map, Gaussian kernel", "A, Eq. 6, Subroutine 5", note=6, **PRINTED_BIASED)
def _gaussian(form: str, options: Options) -> Verification:
    kind = PrintedGaussianFeatureMap if form == "printed" else GaussianFeatureMap
    return _check_map(kind(Gaussian(WIDTH), Geometric(P)), _gaussian_term, (5, 6), _gaussian_value(WIDTH))


# ---------------------------------------------------------------------------------------------------------------------
# Inner products of features and of estimates


def printed_gaussian_kernel(x: ArrayLike, x2: ArrayLike, width: float) -> float:
    """Return the inner product of two Gaussian features as printed in the paper (E6).

    The product is e^(-(|x|^2 + |x'|^2)/width^2) sum_n (4 <x, x'>/width^4)^n / n!^2.
    """
    x, x2 = np.asarray(x, float), np.asarray(x2, float)
    series = special.hyp0f1(1.0, 4.0 * (x @ x2) / width**4)
    return float(math.exp(-(x @ x + x2 @ x2) / width**2) * series)


@claim("inner product of exact Gaussian features", "A, appendix B", note=6, mathematics="printed corrected",
       **PRINTED_BIASED)  # fmt: skip
def _gaussian_series(form: str, options: Options) -> Verification:
    """The inner product of the features printed in the paper is 1.521 where the Gaussian kernel is 0.951."""
    right = math.exp(-float(X @ X + X2 @ X2)) * sum((2 * INNER) ** n / math.factorial(n) for n in range(60))
    value = printed_gaussian_kernel(X, X2, 1.0) if form == "printed" else right
    return unbiased(None, _gaussian_value(1.0), support=[(1.0, value)])


def _both_noisy(feature_map, draw, draw2, key):
    key, key2 = jax.random.split(key)
    psi, psi2 = feature_map.estimate(key, draw, CAPACITY), feature_map.estimate(key2, draw2, CAPACITY)
    return Capped(prod(psi, psi2), psi.overflow | psi2.overflow)


@claim("product of two estimates, exponential kernel", "A, Subroutine 3", sampled=True, printed="within tolerance")
def _product(form: str, options: Options) -> Verification:
    feature_map, n = DotProductFeatureMap(ExponentialKernel(), Geometric(P)), np.arange(60)
    second = float(np.sum((np.outer(X, X) + VARIANCE * np.eye(2)) * (np.outer(X2, X2) + VARIANCE * np.eye(2))))
    logs = 2 * math.log(P / (P - 1)) + n * math.log(P * P * second) - 2 * special.gammaln(n + 1.0)
    # |<a + e, b + f> - <a, b>| <= |e| |b| + |f| |a| + |e| |f|, where |a|^2 = k(x, x)
    norms = [math.exp(float(v @ v) / 2) for v in (X, X2)]
    errors = [feature_map.bias(CAPACITY, float(v @ v)) for v in (X, X2)]
    cap_bias = errors[0] * norms[1] + errors[1] * norms[0] + errors[0] * errors[1]
    return unbiased(
        Partial(_both_noisy, feature_map, _draw(), _draw(X2)),
        math.exp(INNER),
        second_moment=float(np.exp(logs).sum()),
        cap_bias=cap_bias,
        **options,
    )


class GaussianCopies(NamedTuple):
    """The copies of one estimate Psi~ of the Gaussian kernel: n_1 pairs and n_2 factors."""

    pairs: Float[np.ndarray, "n1 2 d"]
    factors: Float[np.ndarray, "n2 d"]


def printed_prod(p: float, width: float, first: GaussianCopies, second: GaussianCopies) -> float:
    """E26, A Subroutine 6: Prod(Psi~, Psi~') without the test n_2 != n'_2, for n_2 <= n'_2, and with E6."""
    n1, n1_second, n2 = len(first.pairs), len(second.pairs), len(first.factors)
    weight = (-1) ** (n1 + n1_second) * p ** (n1 + n1_second + 2 * n2 + 4) * 2 ** (2 * n2)
    weight /= math.factorial(n1) * math.factorial(n1_second) * math.factorial(n2) ** 2
    weight /= width ** (2 * (n1 + n1_second + 2 * n2)) * (p - 1) ** 4
    pairs = np.concatenate([first.pairs, second.pairs])
    inner = np.sum(pairs[:, 0] * pairs[:, 1], axis=-1).prod()
    return float(weight * inner * np.sum(first.factors * second.factors[:n2], axis=-1).prod())


@claim("product of Gaussian estimates with N_2 = 0 and N_2 = 1", "A, Subroutine 6", note=26, mathematics="printed",
       **PRINTED_BIASED)  # fmt: skip
def _other_numbers(form: str, options: Options) -> Verification:
    """The tensors have different orders, so that the product is 0; the printed Prod returns p^4/(p - 1)^4 = 16."""
    none, feature_map = np.zeros((0, 2, 2)), GaussianFeatureMap(Gaussian(1.0), Geometric(P))

    def right() -> jax.Array:
        copies = jnp.asarray([X], jnp.float32)
        return prod(*(feature_map.assemble((jnp.int32(0), jnp.int32(n)), copies) for n in (0, 1)))

    if form == "printed":
        value = printed_prod(P, 1.0, GaussianCopies(none, X[None][:0]), GaussianCopies(none, X[None]))
    else:
        value = float(run_compiled(right))
    return unbiased(None, 0.0, support=[(1.0, value)])


@claim("features of <r, s>^2 from two copies", "A, section 3.3", printed="within tolerance")
def _quadratic_features(form: str, options: Options) -> Verification:
    """The mean of <Psi~, Psi(s)> at three points s, for r = (0.6, -0.3), whose coordinates have errors +-0.5, +-0.2."""
    r, noise, points = np.array([0.6, -0.3]), np.array([0.5, 0.2]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    copies = [r + noise * signs for signs in itertools.product((-1, 1), repeat=2)]
    feature_map = DotProductFeatureMap(Homogeneous(2), FiniteDistribution([0.0, 0.0, 1.0]))

    def products(pairs):
        psis = jax.vmap(lambda copies: feature_map.assemble(jnp.int32(2), copies))(pairs)
        return jax.vmap(lambda psi: jax.vmap(lambda s: feature_map.prod_clean(psi, s))(points))(psis)

    rows = in_float64(products, np.array(list(itertools.product(copies, repeat=2))))
    return unbiased(None, (points @ r) ** 2, support=[(1 / 16, row) for row in rows])


# ---------------------------------------------------------------------------------------------------------------------
# Second moments


def printed_gaussian_second_moment(
    p: float, copy_moment: float, width: float, pair_moment: float | None = None
) -> float:
    """Exact second moment (p/(p-1))^2 I_0(2 sqrt(pF)/w^2) I_0(4 sqrt(pM)/w^2) of the paper's printed Gaussian map (E7).

    `copy_moment` is M = E |x~|^2; `pair_moment` is F = E <x~, x~'>^2, by default the largest possible value M^2.
    """
    pair_moment = copy_moment**2 if pair_moment is None else pair_moment
    pairs = special.i0(2.0 * math.sqrt(p * pair_moment) / width**2)
    return float((p / (p - 1.0)) ** 2 * pairs * special.i0(4.0 * math.sqrt(p * copy_moment) / width**2))


def printed_lemma5_bound(p: float, copy_moment: float, width: float) -> float:
    """Bound (p/(p-1))^2 exp((sqrt(p) M + 2 p sqrt(M)) / w^2) on E|Psi~|^2 printed in the paper, Lemma 5 (E7).

    The exponent lacks a factor 2: the last step of the proof squares two exponential series, and (sum a^n/n!)^2 is
    e^(2a). The bound is inf if it exceeds float64.
    """
    exponent = (math.sqrt(p) * copy_moment + 2.0 * p * math.sqrt(copy_moment)) / width**2
    with np.errstate(over="ignore"):
        return float((p / (p - 1.0)) ** 2 * np.exp(exponent))


def printed_lemma5_step(p: float, copy_moment: float, width: float) -> float:
    """E25, A Lemma 5: E|Psi~|^2 after the proof's sum over N_2, with (4 p^2 B)^n for (4 p B)^n.

    The right value, for the printed map (E6), is `printed_gaussian_second_moment`.
    """
    pairs = special.i0(2.0 * math.sqrt(p) * copy_moment / width**2)
    return float((p / (p - 1.0)) ** 2 * pairs * special.i0(4.0 * p * math.sqrt(copy_moment) / width**2))


def _noisy_norm(feature_map: FeatureMap, draw: Callable[[Key], Array], key: Key[Array, ""]) -> Float[Array, ""]:
    """Return |Psi~| for an estimate of the feature vector."""
    psi = feature_map.estimate(key, draw, CAPACITY)
    return jnp.sqrt(prod(psi, psi))


@claim("second moment p/(p-1) Q(p E|x~|^2)", "A, Lemma 3", sampled=True, printed="respected")
def _lemma3(form: str, options: Options) -> Verification:
    feature_map, moment = DotProductFeatureMap(ExponentialKernel(), Geometric(P)), copy_moments(X, VARIANCE)[0]
    sampler, exact = Partial(_noisy_norm, feature_map, _draw()), feature_map.second_moment(moment)
    return second_moment(sampler, P / (P - 1) * math.exp(P * moment), exact=exact, kurtosis=100.0, **options)


@claim("second moment of the Gaussian map", "A, Lemma 5", note=7, sampled=True, mathematics="printed",
       **PRINTED_VIOLATED)  # fmt: skip
def _lemma5(form: str, options: Options) -> Verification:
    """Compare exact second moments of feature maps with the bound of the paper, Lemma 5, as printed or corrected.

    The corrected bound is (p/(p-1))^2 I_0(2 sqrt(p) M / width^2) exp(2 p M / width^2), with M = E|x~|^2; M^2 is the
    largest possible E <x~, x~'>^2.
    """
    if form == "printed":
        return bound(printed_gaussian_second_moment(1.5, 4.0, 1.0), printed_lemma5_bound(1.5, 4.0, 1.0))
    feature_map = GaussianFeatureMap(Gaussian(WIDTH), Geometric(P))
    moment, pairs = copy_moments(X, VARIANCE)
    limit = (P / (P - 1)) ** 2 * special.i0(2 * math.sqrt(P) * moment / WIDTH**2) * math.exp(2 * P * moment / WIDTH**2)
    sampler, exact = Partial(_noisy_norm, feature_map, _draw()), feature_map.second_moment(moment, pairs)
    return second_moment(sampler, float(limit), exact=exact, kurtosis=200.0, **options)


@claim("sum over N_2 in the second moment of the printed Gaussian map", "A, Lemma 5", note=25,
       mathematics="printed corrected", **PRINTED_BIASED)  # fmt: skip
def _lemma5_step(form: str, options: Options) -> Verification:
    """The mean over N1 and N2 of the squared weights of Eq. 6 times B^(2 N1 + N2), against the proof's series."""
    p, B, width, n = 1.5, 4.0, 1.0, np.arange(80)
    log_factorials, log_pmf = special.gammaln(n + 1.0), np.log((p - 1) / p ** (n + 1.0))
    first = np.exp(log_pmf + 2 * ((n + 1) * math.log(p) - log_factorials - math.log(p - 1)) + n * math.log(B**2))
    second = np.exp(n * math.log(4 / B)) * first  # 2^(2n) B^n instead of B^(2n)
    step = printed_lemma5_step if form == "printed" else printed_gaussian_second_moment
    return unbiased(None, float(first.sum() * second.sum()), support=[(1.0, step(p, B, width))], detect=1e-6)
