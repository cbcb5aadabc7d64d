"""Expansions: against dense tensors, |w|^2 against the double sum of the pseudocode, and overflows."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

from jaxonline.learners.kernels import expansion
from jaxonline.learners.kernels.expansion import Feature, ReservedChunks
from jaxonline.parameters.struct import replace

pytestmark = pytest.mark.fast_compile
DEEPEST = 7

LEVELS = [0, 1, 2, 3, 4, 5, 6, 7, 5, 0, 3, 7, 4, 2]


def beta(n):
    return math.exp(-0.3 * n - 0.2)


def add(w, alpha, psi, product):
    """w + alpha Psi~, as the learner computes it: a deep Psi~ is stored first."""
    reserved = ReservedChunks.for_level(w, psi.level)
    w = replace(w, rows=w.rows + reserved.rows(w, psi))
    return expansion.add(w, alpha, psi, product, expansion.squared_norm(psi), reserved)


def dense(weight, vectors):
    return weight * functools.reduce(np.multiply.outer, vectors, np.float64(1.0))


@pytest.mark.parametrize(("d", "tensor_levels"), some([(2, 0), (2, 1), (2, 3), (2, 7), (20, 1)], (2, 0), (20, 1)))
def test_an_expansion_equals_the_sum_of_dense_tensors(x64, d, tensor_levels):
    """Products, sums, norms and a projection, for estimates of all levels. Sums over 20 dimensions are loops."""
    rng = np.random.default_rng(0)
    levels = np.array(LEVELS if d == 2 else LEVELS[:5], np.int32)
    scales, alphas = rng.normal(size=(2, len(levels)))
    factors = rng.normal(size=(len(levels), DEEPEST, d)) / np.sqrt(d)
    factors[np.arange(DEEPEST) >= levels[:, None]] = 0.0
    shrinks = np.where(np.arange(len(levels)) == 4, 0.7, 1.0)
    log_betas = np.log([beta(n) for n in levels])

    def add_feature(w, seen):
        alpha, shrink, *numbers = seen
        psi = Feature(*numbers)
        shallow = expansion.shallow_product(w.tensors, psi)
        product = jnp.where(psi.level > tensor_levels, expansion.deep_product(w, psi), shallow)
        w = expansion.shrink(add(w, alpha, psi, product), shrink)
        return w, (product, expansion.squared_norm(psi), w.squared_norm)

    w = expansion.empty(d, tensor_levels, 60, DEEPEST, jnp.float64)
    seen = tuple(map(jnp.asarray, (alphas, shrinks, levels, log_betas, scales, factors)))
    w, records = jax.jit(lambda w: jax.lax.scan(add_feature, w, seen))(w)

    parts, wanted = [np.zeros((d,) * n) for n in range(levels.max() + 1)], []
    for i, n in enumerate(levels):
        whole = dense(scales[i] * math.sqrt(beta(n)), factors[i, :n])
        product = (parts[n] * whole).sum()
        parts[n] = parts[n] + alphas[i] * whole
        parts = [shrinks[i] * part for part in parts]
        wanted.append((product, (whole**2).sum(), sum((part**2).sum() for part in parts)))
    np.testing.assert_allclose(np.transpose(records), wanted, rtol=1e-12, atol=1e-15)

    x = rng.normal(size=d)
    value = sum((part * dense(math.sqrt(beta(n)), [x] * n)).sum() for n, part in enumerate(parts))
    np.testing.assert_allclose(jax.jit(expansion.evaluate)(w, jnp.asarray(x)), value, rtol=1e-12)
    assert int(w.used) == sum(math.ceil(n / (tensor_levels + 1)) for n in levels if n > tensor_levels)
    assert not bool(w.overflow)


def test_a_feature_without_room_is_missing_and_marks_an_overflow(x64):
    """Two chunks of two copies have room for a feature of three copies. Features that need no chunk are still added."""
    w = expansion.empty(2, 1, 2, 3, jnp.float64)

    @jax.jit
    def add_feature(w, level):
        used = jnp.where(jnp.arange(3, dtype=jnp.int32)[:, None] < level, jnp.ones((3, 2)), jnp.zeros((3, 2)))
        return add(w, jnp.ones(()), Feature(level, jnp.zeros(()), jnp.ones(()), used), jnp.zeros(()))

    first = add_feature(w, jnp.int32(3))
    assert (int(first.used), bool(first.overflow)) == (2, False)
    second = add_feature(first, jnp.int32(2))
    assert (int(second.used), bool(second.overflow)) == (2, True)
    x = jnp.array([0.3, 0.4])
    assert float(expansion.evaluate(second, x)) == float(expansion.evaluate(first, x)) == pytest.approx(0.7**3)
    third = add_feature(second, jnp.int32(1))
    assert bool(third.overflow), "a mark stays"
    assert float(expansion.evaluate(third, x)) == pytest.approx(0.7**3 + 0.7)
