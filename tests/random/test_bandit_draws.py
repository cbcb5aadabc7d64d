"""Draws of bandits: beta compared with scipy, arms with their probabilities; error rates and mutants."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bandit_loops import beta_draws, beta_proposals
from jax.extend.random import threefry_2x32
from scipy import stats

from jaxonline.learners.bandits.exponential import draw_arm
from jaxonline.random import fast_beta
from jaxonline.random.exact import SERIES_RADIUS, _Proposal, box_muller, log1p_remainder

pytestmark = pytest.mark.fast_compile

FALSE_ALARM = 1e-6  # of each test, all its comparisons together
SHAPES = np.array([[1, 1], [1, 2], [2, 1], [3, 7], [40, 2], [25, 60], [1, 1000], [3000, 5000], [400_000, 600_001]])
N = 40_000


def draws(shapes) -> np.ndarray:
    a, b = jnp.asarray(shapes, jnp.float32).T
    keys = jax.random.split(jax.random.key(0), N)
    return np.asarray(jax.jit(jax.vmap(lambda key: fast_beta(key, a, b)))(keys), float)


def p_values(found, shapes) -> np.ndarray:
    return np.array(
        [stats.kstest(column, stats.beta(*s).cdf).pvalue for column, s in zip(found.T, shapes, strict=True)]
    )


@pytest.mark.long
def test_fast_beta():
    """Kolmogorov-Smirnov against scipy, false alarm 1e-6 in all. By the bound of Massart a law whose distribution
    function is 0.026 off somewhere is seen with probability 0.999 or more. Mutants: other shapes. A shape that is not a
    number gives NaN, and an end."""
    found = draws([*SHAPES.tolist(), [1.0, np.nan]])
    assert np.isnan(found[:, -1]).all()
    found = found[:, :-1]
    assert p_values(found, SHAPES).min() > FALSE_ALARM / len(SHAPES)
    assert p_values(found, SHAPES * 1.15)[[0, 1, 4, 6, 8]].max() < FALSE_ALARM
    assert p_values(found, SHAPES + np.array([0.5, 0]))[:4].max() < FALSE_ALARM
    assert len(np.unique(found)) > 0.9 * found[:, :6].size
    pairs = np.abs(np.corrcoef(stats.rankdata(found, axis=0).T) - np.eye(len(SHAPES)))
    assert pairs.max() < stats.norm.ppf(1 - FALSE_ALARM / 72) / np.sqrt(N), "arms are independent"


@pytest.mark.long
def test_fast_beta_equals_its_numpy_loop(x64):
    """500 keys, four pairs of shapes: the same words are accepted and rejected, with the same draws."""
    a, b = np.array([[1.0, 1.0], [1.0, 2.0], [1.5, 40.0], [3.0, 1.0]]).T
    K, keys = len(a), jax.random.split(jax.random.key(7), 500)
    found = jax.jit(jax.vmap(lambda key: fast_beta(key, jnp.asarray(a), jnp.asarray(b))))(keys)

    def words(key, turn):
        i = jnp.arange(3 * K // 2, dtype=jnp.uint32)
        return threefry_2x32(jax.random.key_data(key), jnp.stack([0 * i + turn, i]))

    turns = jnp.arange(12, dtype=jnp.uint32)
    table = np.asarray(jax.jit(jax.vmap(jax.vmap(words, (None, 0)), (0, None)))(keys, turns))
    used = []

    def draws_of(row):
        def proposals(turn):
            used.append(turn)
            first, second = row[turn]
            if turn == 0:
                return beta_proposals(*np.concatenate([first, second]).reshape(3, K))
            return beta_proposals(first[0], first[1], second[0])

        return beta_draws(a, b, proposals)

    np.testing.assert_allclose(found, [draws_of(row) for row in table], rtol=1e-9)
    assert sum(turn > 0 for turn in used) > 100
    assert max(used) > 1


def test_box_muller_matches_numpy():
    words = np.random.default_rng(0).integers(0, 2**32, size=(2, 2000), dtype=np.uint32)
    found = jax.jit(lambda first, second: box_muller(first, second, jnp.float32))(*words)
    normals, _ = beta_proposals(*words, words[0])
    np.testing.assert_allclose(np.stack(found, axis=-1), normals, rtol=2e-4, atol=2e-6)


def test_only_acceptable_proposals_are_surely_accepted():
    """A uniform number just above the probability of acceptance exp(3 (d r(w) + d' r(w'))) is never surely accepted;
    one 1 % below 1 - 3/4 (d w^4 + d' w'^4) is, for w, w' >= 0."""
    rng, n = np.random.default_rng(0), 1000
    d, w = 10.0 ** rng.uniform(-0.17, 3, (2, n)), 10.0 ** rng.uniform(-3, 0, (2, n)) * rng.choice([-0.9, 1.0], (2, n))
    probability = np.exp(3 * sum(d * np.vectorize(_remainder)(w)))
    rest = 0.75 * (d * w**4).sum(axis=0)

    @jax.jit
    def surely(u):
        return _Proposal(u, u, tuple(jnp.float32(d)), tuple(jnp.float32(w))).surely_accepted()

    assert not surely(np.float32(probability + 3e-6)).any()
    easy = (w > 0).all(axis=0) & (rest < 0.5)
    assert easy.sum() > 100
    assert surely(np.float32(0.99 * (1 - rest)))[easy].all()


def test_log1p_remainder_matches_mpmath():
    w = np.concatenate([-np.logspace(-6, -0.001, 60), np.logspace(-6, 1, 60)]).astype(np.float32)
    exact = np.array([_remainder(float(each)) for each in w])
    found = np.asarray(jax.jit(log1p_remainder)(jnp.asarray(w)), float)
    small = np.abs(w) < SERIES_RADIUS
    np.testing.assert_allclose(found[small], exact[small], rtol=1e-6)
    np.testing.assert_allclose(found[~small], exact[~small], rtol=1e-6, atol=4e-7)


def _remainder(w: float) -> float:
    if abs(w) > 0.2:
        return float(np.log1p(w) - w + w**2 / 2 - w**3 / 3)
    return sum((-1) ** (k + 1) * w**k / k for k in range(4, 40))


def test_arms_are_drawn_with_their_probabilities():
    """40,000 draws; chi-square with a false alarm of 1e-6; never an arm of probability 0. Mutant: 2 % moved from one
    arm to another."""
    p = np.array([0.0, 0.4, 0.1, 0.0, 0.3, 0.2, 0.0])
    keys = jax.random.split(jax.random.key(1), N)
    arms = np.asarray(jax.jit(jax.vmap(lambda key: draw_arm(key, jnp.asarray(p, jnp.float32)).arm))(keys))
    counts = np.bincount(arms, minlength=len(p))
    assert (counts[p == 0] == 0).all()
    assert stats.chisquare(counts[p > 0], N * p[p > 0]).pvalue > FALSE_ALARM
    moved = p + np.array([0, -0.02, 0.02, 0, 0, 0, 0])
    assert stats.chisquare(counts[p > 0], N * moved[p > 0]).pvalue < FALSE_ALARM


@pytest.mark.long
def test_draws_do_not_depend_on_the_other_runs():
    """Runs of a block share the loop over rejected proposals, which lasts as long as the slowest run needs."""
    keys, ones = jax.random.split(jax.random.key(3), 32), jnp.ones(40, jnp.float32)
    together = jax.jit(jax.vmap(lambda key: fast_beta(key, ones, ones)))(keys)
    alone = jax.jit(lambda key: fast_beta(key, ones, ones))
    for key, draws in zip(keys, together, strict=True):
        np.testing.assert_allclose(draws, alone(key), rtol=1e-5)


@pytest.mark.long
def test_long_vectors_are_drawn_in_independent_parts():
    """300 numbers in three parts, 200 keys: Kolmogorov-Smirnov tests of three shapes, false alarm 1e-6, detect other
    shapes. Parts with equal keys would have equal numbers."""
    keys, a = jax.random.split(jax.random.key(5), 200), jnp.repeat(jnp.array([1.0, 3.0, 20.0], jnp.float32), 100)
    found = np.asarray(jax.jit(jax.vmap(lambda key: fast_beta(key, a, 2.0 * jnp.ones_like(a))))(keys), float)
    for part, shape in enumerate((1.0, 3.0, 20.0)):
        numbers = found[:, 100 * part : 100 * (part + 1)].ravel()
        assert stats.kstest(numbers, stats.beta(shape, 2.0).cdf).pvalue > FALSE_ALARM
        assert stats.kstest(numbers, stats.beta(1.1 * shape, 2.0).cdf).pvalue < FALSE_ALARM
    uniform = np.asarray(jax.jit(jax.vmap(lambda key: fast_beta(key, a[:1] * jnp.ones(300), jnp.ones(300))))(keys))
    assert len(np.unique(uniform[0])) > 290
    assert abs(np.corrcoef(uniform[:, :100].ravel(), uniform[:, 100:200].ravel())[0, 1]) < 6 / np.sqrt(20_000)
