"""Errors planted in the package: a check of each kind detects one. Controls of `verify` plant further ones.

Each mutant is one line changed, and one claim that sees it. That the claims hold without them is in test_registry.
"""

import jax
import jax.numpy as jnp
import pytest

from benchmarks.papers.claims.registry import run_claims
from jaxonline.estimators import attributes
from jaxonline.estimators.counts import Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradients import MeanOfCopies, PairsOfCopies
from jaxonline.feedback import noise
from jaxonline.simulation.blocks import default_mesh


def _enumeration(patch):
    """width^-n1 for width^-2 n1."""
    right = GaussianFeatureMap.combine

    def combine(self, counts, pairs, factors):
        log_width = jnp.log(jnp.asarray(self.kernel.width, factors.dtype))
        log_size = pairs.log_size + counts[0].astype(factors.dtype) * log_width
        return right(self, counts, pairs._replace(log_size=log_size), factors)

    patch.setattr(GaussianFeatureMap, "combine", combine)


def _sampled_mean(patch):
    """The pairs (i, i) are included, which gives the mean of the copies as the instance."""
    right = MeanOfCopies.__call__
    patch.setattr(PairsOfCopies, "__call__", lambda self, *args: right(MeanOfCopies(self.n_copies), *args))


def _covariance(patch):
    """The factor 1/2 for its root."""
    patch.setitem(
        noise._COORDINATES, "laplace", lambda key, shape, dtype: jax.random.laplace(key, shape, dtype) * dtype.type(0.5)
    )


def _distribution(patch):
    right = attributes.weighted_indices
    patch.setattr(attributes, "weighted_indices", lambda key, weights, size: right(key, weights**1.03, size))


def _law_of_n(patch):
    """The sampled p is half a per cent too large."""
    right = Geometric.sample
    patch.setattr(Geometric, "sample", lambda self, key: right(Geometric(self.p * 1.005), key))


def _second_moment(patch):
    right = DotProductFeatureMap.second_moment
    patch.setattr(DotProductFeatureMap, "second_moment", lambda *args: 1.5 * right(*args))


def _computation(patch):
    """2^(floor(log2 B) + 1) for 2^ceil(log2 B)."""
    right = jnp.frexp

    def frexp(x):
        mantissa, exponent = right(x)
        return jnp.where(mantissa == 0.5, 0.51, mantissa), exponent

    patch.setattr(jnp, "frexp", frexp)


MUTANTS = [
    (_enumeration, "feature map, Gaussian kernel*corrected"),
    (_sampled_mean, "gradient from all pairs of five noisy copies"),
    (_covariance, "Laplace noise"),
    (_distribution, "which attributes are observed"),
    (_law_of_n, "number of copies 1/(p-1)"),
    (_second_moment, "p/(p-1) Q(p E|x~|^2)"),
    (_computation, "rates of BOA"),
]


@pytest.mark.parametrize(
    ("plant", "pattern"), [pytest.param(*m, marks=[] if m[0] is _computation else pytest.mark.long) for m in MUTANTS]
)
def test_a_planted_error_changes_the_verdict(plant, pattern, monkeypatch):
    plant(monkeypatch)
    jax.clear_caches()
    rows = run_claims(pattern, mesh=default_mesh(jax.devices()[:1]))
    monkeypatch.undo()
    jax.clear_caches()
    assert [row.claim.name for row in rows if not row.as_expected], [str(row.verification) for row in rows]
