"""Errors planted in estimators, kernels and laws that `verify` once let pass: each is caught now.

Each mutant is one line changed, and one claim that sees it. That the claims hold without them is in test_registry.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers.claims import lengths
from benchmarks.papers.claims.registry import run_claims
from benchmarks.papers.estimators import series as sequences
from jaxonline.estimators import attributes, fourier
from jaxonline.estimators.counts import Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradients import MeanOfCopies, PairsOfCopies
from jaxonline.estimators.noisy_features import FeatureMap, PairProduct, zero_on_overflow
from jaxonline.feedback import noise
from jaxonline.kernels import ExponentialKernel, Gaussian, Laplacian
from jaxonline.losses import Logistic
from jaxonline.simulation.blocks import default_mesh
from jaxonline.verify.sampling import Capped


def _times(number, factor):
    """Multiply one entry of a table by a factor."""
    return lambda right: lambda self, n_terms, *args: _changed(np.array(right(self, n_terms, *args)), number, factor)


def _changed(table, number, factor):
    table[number : number + 1] *= factor
    return table


def _kernel_coefficient(patch):
    """Coefficient 5 x 1.3 in both tables."""
    table, log = ExponentialKernel._coefficients, ExponentialKernel.log_coefficient
    patch.setattr(ExponentialKernel, "_coefficients", lambda self, n: table(self, n) * np.where(n == 5, 1.3, 1.0))
    patch.setattr(
        ExponentialKernel, "log_coefficient", lambda self, n: log(self, n) + jnp.where(n == 5, jnp.log(1.3), 0.0)
    )


def _copy_used_twice(patch):
    """The last copy of the pairs is the first factor."""

    def assemble(self, counts, copies):
        even = copies[: 2 * (copies.shape[0] // 2)]
        pairs = PairProduct.from_inner_products(jnp.sum(even[0::2] * even[1::2], axis=-1), self.pairs(counts))
        shift = jnp.maximum(2 * self.pairs(counts) - 1, 0)
        psi = self.combine(counts, pairs, jnp.roll(copies, -shift, axis=0))
        return zero_on_overflow(psi, self.queries(counts) > copies.shape[0])

    patch.setattr(FeatureMap, "assemble", assemble)


def _gaussian_power(patch):
    """width^-n1 for width^-2 n1."""
    right = GaussianFeatureMap.combine

    def combine(self, counts, pairs, factors):
        log_width = jnp.log(jnp.asarray(self.kernel.width, factors.dtype))
        log_size = pairs.log_size + counts[0].astype(factors.dtype) * log_width
        return right(self, counts, pairs._replace(log_size=log_size), factors)

    patch.setattr(GaussianFeatureMap, "combine", combine)


def _log_clean(patch):
    """|x|^2 / width for |x|^2 / width^2."""
    patch.setattr(GaussianFeatureMap, "log_clean", lambda self, x: -jnp.sum(x**2) / jnp.asarray(self.kernel.width))


def _laplacian(patch):
    patch.setattr(
        Laplacian, "frequencies", lambda self, key, d, n: jax.random.cauchy(key, (n, d)) * jnp.float32(self.scale)
    )


def _gaussian_frequencies(patch):
    patch.setattr(
        Gaussian,
        "frequencies",
        lambda self, key, d, n: jax.random.normal(key, (n, d)) * jnp.float32(self.width) / np.float32(2**0.5),
    )


def _root_of_k(patch):
    """k(x, x) for its root."""
    right = fourier.FourierFeatures.__call__
    patch.setattr(
        fourier.FourierFeatures, "__call__", lambda self, x: right(self, x) * jnp.sqrt(jnp.float32(self.at_zero))
    )


def _laplace_noise(patch):
    """The factor 1/2 for its root."""
    patch.setitem(
        noise._COORDINATES, "laplace", lambda key, shape, dtype: jax.random.laplace(key, shape, dtype) * dtype.type(0.5)
    )


def _power_of_weights(patch):
    right = attributes.weighted_indices
    patch.setattr(attributes, "weighted_indices", lambda key, weights, size: right(key, weights**1.03, size))


def _l2_sampler(patch):
    """|w| for w^2 in the sampled distribution; the enumerated one is right."""
    right = attributes.AttributeGradient.choose

    def choose(self, key, w):
        return right(attributes.AttributeGradient(self.n_attributes), key, w)

    patch.setattr(attributes.AttributeGradient, "choose", choose)


def _pair_sampler(patch):
    """Pairs are drawn from all but the last one."""
    right = attributes.uniform_subset
    patch.setattr(attributes, "uniform_subset", lambda key, d, size: right(key, d - 1, size))


def _last_of_each_sequence(patch):
    """The last coefficient of Q_n - Q_(n-1) x 1.05 in the estimator; the sequence itself is right."""
    right = sequences.PolynomialSequenceEstimator.estimate_from

    def estimate_from(self, copies, n):
        table = jnp.asarray(self.sequence.differences)
        wrong = object.__new__(sequences.PolynomialSequence)
        for name, value in vars(self.sequence).items():
            object.__setattr__(wrong, name, value)
        object.__setattr__(wrong, "differences", table * (1 + 0.3 * jnp.eye(len(table), dtype=table.dtype)))
        other = object.__new__(sequences.PolynomialSequenceEstimator)
        object.__setattr__(other, "sequence", wrong)
        object.__setattr__(other, "law", self.law)
        return right(other, copies, n)

    patch.setattr(sequences.PolynomialSequenceEstimator, "estimate_from", estimate_from)


def _law_of_n(patch):
    """The sampled p is half a per cent too large."""
    right = Geometric.sample
    patch.setattr(Geometric, "sample", lambda self, key: right(Geometric(self.p * 1.005), key))


def _moment(owner, name):
    def plant(patch):
        right = getattr(owner, name)
        patch.setattr(owner, name, lambda *args: 1.5 * right(*args))

    return plant


def _series_moment(patch):
    from benchmarks.papers.claims import series

    right = series.exact_second_moment
    patch.setattr(series, "exact_second_moment", lambda *args: 1.5 * right(*args))


def _next_power_of_two(patch):
    """2^(floor(log2 B) + 1) for 2^ceil(log2 B)."""
    right = jnp.frexp

    def frexp(x):
        mantissa, exponent = right(x)
        return jnp.where(mantissa == 0.5, 0.51, mantissa), exponent

    patch.setattr(jnp, "frexp", frexp)


def _logistic(patch):
    patch.setattr(Logistic, "coefficients", _times(12, 1.3)(Logistic.coefficients))


def _no_first_estimate(patch):
    """The copies of the fresh estimates only."""

    def count(feature_map, law, key):
        n = law.sample(key)
        counts = jax.vmap(lambda k: feature_map.queries(feature_map.sample_counts(k)))(jax.random.split(key, 40))
        return Capped(jnp.sum(jnp.where(jnp.arange(40, dtype=jnp.int32) < n, counts, 0)), n > 40)

    patch.setattr(lengths, "_round_queries", count)


def _pairs_of_a_copy_with_itself(patch):
    """The pairs (i, i) are included, which gives the mean of the copies as the instance."""
    right = MeanOfCopies.__call__
    patch.setattr(PairsOfCopies, "__call__", lambda self, *args: right(MeanOfCopies(self.n_copies), *args))


MUTANTS = {
    "pairs of a copy with itself": (_pairs_of_a_copy_with_itself, "gradient from all pairs of five noisy copies"),
    "copies of fresh estimates only": (_no_first_estimate, "queries of a round, dot-product kernel: (p/(p^2-p+1))^m"),
    "Gaussian map, width^-n1": (_gaussian_power, "feature map, Gaussian kernel*corrected"),
    "Gaussian map, |x|^2 / width": (_log_clean, "feature map, Gaussian kernel*corrected"),
    "a copy in a pair and as a factor": (_copy_used_twice, "feature map, Gaussian kernel*corrected"),
    "kernel coefficient 5": (_kernel_coefficient, "feature map, exponential kernel"),
    "Laplacian frequencies": (_laplacian, "Laplacian kernel"),
    "Gaussian frequencies": (_gaussian_frequencies, "Fourier features (cos, sin), Gaussian kernel"),
    "root of k(x, x)": (_root_of_k, "Fourier features (cos, sin), Gaussian kernel"),
    "Laplace noise": (_laplace_noise, "Laplace noise"),
    "weights^1.03": (_power_of_weights, "which attributes are observed"),
    "l2 sampler": (_l2_sampler, "which attributes are observed"),
    "pair sampler": (_pair_sampler, "Baseline, the sampler"),
    "logistic coefficient 12": (_logistic, "coefficients of the series of l', logistic loss"),
    "last coefficient of each Q_n": (_last_of_each_sequence, "polynomial sequence Q_n -> f"),
    "law of N": (_law_of_n, "number of copies 1/(p-1)"),
    "second moment of the series": (_series_moment, "l'_+(sqrt(p E X^2))^2"),
    "second moment of the dot-product map": (_moment(DotProductFeatureMap, "second_moment"), "p/(p-1) Q(p E|x~|^2)"),
    "second moment of the Gaussian map": (_moment(GaussianFeatureMap, "second_moment"), "(E7)*corrected"),
    "BOA at a power of two": (_next_power_of_two, "rates of BOA"),
}
SHORT = ("BOA at a power of two",)


@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in MUTANTS]
)
def test_a_planted_error_changes_the_verdict(name, monkeypatch):
    plant, pattern = MUTANTS[name]
    plant(monkeypatch)
    jax.clear_caches()
    rows = run_claims(pattern, mesh=default_mesh(jax.devices()[:1]))
    monkeypatch.undo()
    jax.clear_caches()
    assert [row.claim.name for row in rows if not row.as_expected], [str(row.verification) for row in rows]
