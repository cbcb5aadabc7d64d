"""Claims on kernels and on estimates of feature vectors (paper A, sections 2 and 5 and appendix B).

The mean of the inner product of an estimate Psi~ and the exact Psi(x') is the kernel value k(x, x'). The check of a
feature map has one term for each number of copies (for the Gaussian map, for each pair of numbers). The points x and x'
are the example of erratum E6.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import special

from benchmarks.papers.claims.printed_kernels import (
    PrintedGaussianFeatureMap,
    printed_binomial,
    printed_gaussian_kernel,
    printed_gaussian_second_moment,
    printed_lemma5_bound,
)
from benchmarks.papers.claims.printed_proofs import GaussianCopies, printed_lemma5_step, printed_prod
from benchmarks.papers.claims.registry import SamplingOptions, claim
from benchmarks.papers.claims.terms import all_signs, check_terms
from jaxonline.estimators.count_distributions import Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, FeatureMap, GaussianFeatureMap, copy_moments, prod
from jaxonline.kernels import Binomial, DotProductKernel, ExponentialKernel, Gaussian, Inhomogeneous, Kernel, Linear
from jaxonline.linalg.programs import run_compiled
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound, second_moment
from jaxonline.verify.result import Verification
from jaxonline.verify.sampling import Capped

X, X2, VARIANCE, P, CAPACITY = np.array([0.6, 0.5]), np.array([0.5, 0.7]), 0.05, 2.0, 16
WIDTH = 1.3
_MIN_TERM = 1e-5  # relative to the largest term


def noisy_point(x: Float[Array, "d"], key: Key[Array, ""]) -> Float[Array, "d"]:
    """Return a copy of x with Gaussian noise of variance 0.05 in each coordinate."""
    return x + math.sqrt(VARIANCE) * jax.random.normal(key, x.shape, x.dtype)


def _draw(x=X):
    return jax.tree_util.Partial(noisy_point, np.asarray(x, np.float32))


def kernel_value(kernel: Kernel) -> float:
    """Return k(x, x') at the points x and x' of this module, in float64."""
    with jax.enable_x64(True):
        return float(run_compiled(kernel, X, X2))


def _map_means(feature_map: FeatureMap, counts: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return P(counts) E[<Psi~, Psi(x')> | counts] for the copies x + v and x - v, with equal probabilities.

    `counts` lists numbers of copies, (N,) or (N1, N2).
    """
    law = feature_map.law  # type: ignore[attr-defined]
    copies = [2 * sum(count[:-1]) + count[-1] for count in counts]
    size, noise = max(1, *copies), math.sqrt(VARIANCE) * np.array([1.0, -1.0])
    signs = [all_signs(n, size) for n in copies]
    row = np.repeat(np.arange(len(counts)), [len(rows) for rows in signs])
    with jax.enable_x64(True):
        drawn = jnp.asarray(X + np.concatenate(signs)[..., None] * noise)
        values = np.asarray(run_compiled(_products, feature_map, jnp.asarray(np.asarray(counts, np.int32)[row]), drawn))
    logs = law.log_table(max(map(max, counts)) + 1)
    return np.exp([sum(logs[n] for n in count) for count in counts]) * np.bincount(row, values) / np.bincount(row)


def _products(feature_map, counts, copies):
    def one(count, rows):
        psi = feature_map.assemble(tuple(count) if len(count) == 2 else count[0], rows)
        return feature_map.prod_clean(psi, jnp.asarray(X2))

    return jax.vmap(one)(counts, copies)


# beta_n of the papers' kernels: 1/n!, binomial coefficients, (alpha)_n / n!.
_BETAS: dict[type, Callable[[Any, int], float]] = {
    Linear: lambda kernel, n: float(n == 1),
    Inhomogeneous: lambda kernel, n: float(math.comb(kernel.degree, n)),
    ExponentialKernel: lambda kernel, n: 1 / math.factorial(n),
    Binomial: lambda kernel, n: float(special.poch(kernel.exponent, n)) / math.factorial(n),
}


def _dot_product(kernel: DotProductKernel, p: float = P, target: float | None = None) -> Verification:
    feature_map = DotProductFeatureMap(kernel, Geometric(p))
    terms = np.array([_BETAS[type(kernel)](kernel, n) * float(X @ X2) ** n for n in range(100)])
    last = int(np.flatnonzero(terms > _MIN_TERM * terms.max())[-1])
    target = kernel_value(kernel) if target is None else target
    means = _map_means(feature_map, [(n,) for n in range(last + 1)])
    return check_terms(means, target, terms[: last + 1], float(terms[last + 1 :].sum()))


@claim("feature map, linear kernel", "A, Subroutine 2", printed="within tolerance")
def _linear(form: str, options: SamplingOptions) -> Verification:
    return _dot_product(Linear())


@claim("feature map, kernel (1 + <x, x'>)^3", "A, Subroutine 2", printed="within tolerance")
def _inhomogeneous(form: str, options: SamplingOptions) -> Verification:
    return _dot_product(Inhomogeneous(3))


@claim("feature map, exponential kernel", "A, Subroutine 2", printed="within tolerance")
def _exponential(form: str, options: SamplingOptions) -> Verification:
    return _dot_product(ExponentialKernel())


@claim("feature map, binomial kernel", "A, section 2", erratum=5, printed="biased", corrected="within tolerance")
def _binomial(form: str, options: SamplingOptions) -> Verification:
    """Features with weights sqrt(beta_n) > 0 give the kernel (1 - <x, x'>)^-alpha, not the one printed in paper A."""
    target = float(run_compiled(printed_binomial, float(X @ X2), 0.5)) if form == "printed" else None
    return _dot_product(Binomial(0.5), 1.3, target)


@claim(
    "binomial kernel, positive semi-definite",
    "A, section 2",
    erratum=5,
    cost="exact",
    mathematics=("printed",),
    printed="violated",
    corrected="respected",
)
def _binomial_definite(form: str, options: SamplingOptions) -> Verification:
    """A symmetric matrix is positive semi-definite if the absolute sum of its eigenvalues is at most its trace."""
    points = np.linspace(-0.9, 0.9, 7)
    inner = np.multiply.outer(points, points)
    with jax.enable_x64(True):
        if form == "printed":
            gram = run_compiled(printed_binomial, inner, 1.0)
        else:
            gram = run_compiled(Binomial.series, Binomial(1.0), inner)
    return bound(
        float(np.abs(np.linalg.eigvalsh(gram)).sum()), float(np.trace(gram)), note="sum of |eigenvalues|, trace"
    )


@claim(
    "feature map, Gaussian kernel", "A, Eq. 6, Subroutine 5", erratum=6, printed="biased", corrected="within tolerance"
)
def _gaussian(form: str, options: SamplingOptions) -> Verification:
    kind = PrintedGaussianFeatureMap if form == "printed" else GaussianFeatureMap
    feature_map = kind(Gaussian(WIDTH), Geometric(P))
    counts = list(itertools.product(range(5), range(6)))
    # (-|x|^2/w^2)^n1 / n1! of e^(-|x|^2/w^2), (2 <x, x'>/w^2)^n2 / n2! of e^(2 <x, x'>/w^2), and e^(-|x'|^2/w^2)
    square, inner, clean = (float(v) / WIDTH**2 for v in (X @ X, 2 * X @ X2, X2 @ X2))
    first, second = ([a**n / math.factorial(n) for n in range(60)] for a in (-square, inner))
    terms = [first[n1] * second[n2] * math.exp(-clean) for n1, n2 in counts]
    rest = sum(map(math.prod, itertools.product(first, second))) * math.exp(-clean) - sum(terms)
    target = math.exp(-float(np.sum((X - X2) ** 2)) / WIDTH**2)
    return check_terms(_map_means(feature_map, counts), target, np.array(terms), rest)


@claim(
    "inner product of exact Gaussian features",
    "A, appendix B",
    erratum=6,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="biased",
    corrected="within tolerance",
)
def _gaussian_series(form: str, options: SamplingOptions) -> Verification:
    """The inner product of the features printed in paper A is 1.521 where the Gaussian kernel is 0.951."""
    n = np.arange(60)
    entries = np.exp(n * math.log(2.0) + n * math.log(X @ X2) - np.array([math.lgamma(k + 1) for k in n]))
    right = math.exp(-float(X @ X + X2 @ X2)) * float(entries.sum())
    value = printed_gaussian_kernel(X, X2, 1.0) if form == "printed" else right
    return unbiased(None, math.exp(-float(np.sum((X - X2) ** 2))), support=[(1.0, value)])


def _both_noisy(feature_map, draw, draw2, key):
    key, key2 = jax.random.split(key)
    psi, psi2 = feature_map.estimate(key, draw, CAPACITY), feature_map.estimate(key2, draw2, CAPACITY)
    return Capped(prod(psi, psi2), psi.overflow | psi2.overflow)


@claim("product of two estimates, exponential kernel", "A, Subroutine 3", printed="within tolerance")
def _product(form: str, options: SamplingOptions) -> Verification:
    feature_map, n = DotProductFeatureMap(ExponentialKernel(), Geometric(P)), np.arange(60)
    second = float(np.sum((np.outer(X, X) + VARIANCE * np.eye(2)) * (np.outer(X2, X2) + VARIANCE * np.eye(2))))
    logs = 2 * math.log(P / (P - 1)) + n * math.log(P * P * second) - 2 * np.array([math.lgamma(k + 1) for k in n])
    # |<a + e, b + f> - <a, b>| <= |e| |b| + |f| |a| + |e| |f|, where |a|^2 = k(x, x)
    norms = [math.exp(float(v @ v) / 2) for v in (X, X2)]
    errors = [feature_map.bias(CAPACITY, float(v @ v)) for v in (X, X2)]
    cap_bias = errors[0] * norms[1] + errors[1] * norms[0] + errors[0] * errors[1]
    return unbiased(
        jax.tree_util.Partial(_both_noisy, feature_map, _draw(), _draw(X2)),
        math.exp(float(X @ X2)),
        second_moment=float(np.exp(logs).sum()),
        cap_bias=cap_bias,
        **options.sampling(),
    )


def noisy_norm(feature_map: FeatureMap, draw: Callable[[Key], Array], key: Key[Array, ""]) -> Float[Array, ""]:
    """Return |Psi~| for an estimate of the feature vector."""
    psi = feature_map.estimate(key, draw, CAPACITY)
    return jnp.sqrt(prod(psi, psi))


@claim("second moment p/(p-1) Q(p E|x~|^2)", "A, Lemma 3", printed="respected")
def _lemma3(form: str, options: SamplingOptions) -> Verification:
    feature_map, moment = DotProductFeatureMap(ExponentialKernel(), Geometric(P)), copy_moments(X, VARIANCE)[0]
    return second_moment(
        jax.tree_util.Partial(noisy_norm, feature_map, _draw()),
        P / (P - 1) * math.exp(P * moment),
        exact=feature_map.second_moment(moment),
        kurtosis=100.0,
        **options.sampling(),
    )


@claim("second moment of the Gaussian map", "A, Lemma 5", erratum=7, mathematics=("printed",), printed="violated",
       corrected="respected")  # fmt: skip
def _lemma5(form: str, options: SamplingOptions) -> Verification:
    """Compare exact second moments of feature maps with the bound of paper A, Lemma 5, as printed or corrected.

    The corrected bound is (p/(p-1))^2 I_0(2 sqrt(p) M / width^2) exp(2 p M / width^2), with M = E|x~|^2; M^2 is the
    largest possible E <x~, x~'>^2.
    """
    if form == "printed":
        return bound(printed_gaussian_second_moment(1.5, 4.0, 1.0), printed_lemma5_bound(1.5, 4.0, 1.0))
    feature_map = GaussianFeatureMap(Gaussian(WIDTH), Geometric(P))
    moment, pairs = copy_moments(X, VARIANCE)
    limit = (P / (P - 1)) ** 2 * special.i0(2 * math.sqrt(P) * moment / WIDTH**2) * math.exp(2 * P * moment / WIDTH**2)
    return second_moment(
        jax.tree_util.Partial(noisy_norm, feature_map, _draw()),
        float(limit),
        exact=feature_map.second_moment(moment, pairs),
        kurtosis=200.0,
        **options.sampling(),
    )


@claim(
    "sum over N_2 in the second moment of the printed Gaussian map",
    "A, Lemma 5",
    erratum=25,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="biased",
    corrected="within tolerance",
)
def _lemma5_step(form: str, options: SamplingOptions) -> Verification:
    """The mean over N1 and N2 of the squared weights of Eq. 6 times B^(2 N1 + N2), against the proof's series."""
    p, B, width, n = 1.5, 4.0, 1.0, np.arange(80)
    log_factorials, log_pmf = special.gammaln(n + 1.0), np.log((p - 1) / p ** (n + 1.0))
    first = np.exp(log_pmf + 2 * ((n + 1) * math.log(p) - log_factorials - math.log(p - 1)) + n * math.log(B**2))
    second = np.exp(n * math.log(4 / B)) * first  # 2^(2n) B^n instead of B^(2n)
    step = printed_lemma5_step if form == "printed" else printed_gaussian_second_moment
    return unbiased(None, float(first.sum() * second.sum()), support=[(1.0, step(p, B, width))], detect=1e-6)


@claim(
    "product of Gaussian estimates with N_2 = 0 and N_2 = 1",
    "A, Subroutine 6",
    erratum=26,
    cost="exact",
    mathematics=("printed",),
    printed="biased",
    corrected="within tolerance",
)
def _other_numbers(form: str, options: SamplingOptions) -> Verification:
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


@claim(
    "the kernel |x x'| in one dimension",
    "A, section 5.2",
    erratum=30,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="violated",
    corrected="respected",
)
def _absolute_product(form: str, options: SamplingOptions) -> Verification:
    """Printed: Q has a Taylor series with beta_n >= 0. As Q(t) = |t| is even with Q(0) = 0, Q(1/2) <= Q(1)/4 follows.

    Corrected: it is positive semi-definite, as in `_binomial_definite`.
    """
    if form == "printed":
        return bound(abs(0.5), abs(1.0) / 4)
    points = np.linspace(-0.9, 1.1, 9)
    gram = np.abs(np.multiply.outer(points, points))
    return bound(float(np.abs(np.linalg.eigvalsh(gram)).sum()), float(np.trace(gram)))
