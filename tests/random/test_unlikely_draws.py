"""Draws of unlikely arms and events: their exact probabilities, by bisection over the 64 bits of a draw."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from word_thresholds import share_below

import jaxonline as jo
from jaxonline import random
from jaxonline.estimators import FiniteDistribution, counts
from jaxonline.feedback import delays
from jaxonline.learners.experts import combiners
from jaxonline.numerics.elementwise import Compensated
from jaxonline.random.exact import index_at
from jaxonline.random.threefry import WordPairs, word_pairs

pytestmark = pytest.mark.fast_compile

RARE = (1e-5, 1e-8, 1e-12)


def with_rare_arm(rare: float, place: int) -> np.ndarray:
    p = np.full(10, (1 - rare) / 8)
    p[place], p[3] = rare, 0.0
    return p.astype(np.float32)


def float32_inversion(p: np.ndarray) -> np.ndarray:
    """Probabilities of the arms if a uniform number of 23 bits is compared with float32 sums, by enumeration."""
    sums = np.cumsum(p)
    u = np.arange(2**23, dtype=np.float32) * np.float32(2**-23) * sums[-1]
    return np.diff([0, *np.searchsorted(u, sums[:-1]), 2**23]) / 2**23


def test_every_arm_has_its_probability():
    """The relative error is below 1e-6 for rare arms in the first, a middle and the last place, and other arms; the
    arm of probability 0 is never drawn. Sums in float32 are wrong, by the factors of the table in jaxonline.random."""
    p = np.stack([with_rare_arm(rare, place) for rare in RARE for place in (0, 5, 9)])
    arms = jnp.arange(9, dtype=jnp.int32)

    def is_low(words):  # [cases, arms]
        return jax.vmap(lambda high, low, w: index_at(WordPairs(high, low), w) <= arms)(*words, jnp.asarray(p))

    bounds = share_below(is_low, (len(p), 9))
    drawn = np.diff(bounds, axis=1, prepend=0.0, append=1.0)
    wanted = p.astype(float) / p.astype(float).sum(axis=1, keepdims=True)
    assert (drawn[p == 0] == 0).all()
    # differences of float64 numbers near 1 have an error of 1e-16
    np.testing.assert_allclose(drawn, wanted, rtol=1e-6, atol=3e-16)
    assert float32_inversion(p[3])[0] > 10 * wanted[3, 0]
    assert float32_inversion(p[5])[9] == 0


def test_events_have_their_probability():
    """`bernoulli` is True with probability p up to 2^-64, and 1 - p for p near 1."""
    p = np.array([0.0, 1e-19, 1e-12, 1e-8, 0.3, 1 - 2**-24, 1.0, np.nan], np.float32)
    share = share_below(lambda words: words.below(jnp.asarray(p)), p.shape)
    np.testing.assert_allclose(share[:-1], p[:-1], rtol=1e-7, atol=2.0**-64)
    assert share[-1] == 0
    assert 1 - share[5] == 2.0**-24


def test_numbers_of_copies_have_their_probability(monkeypatch):
    """Also N = 0 and N in the middle, whose probability a float32 tail near 1 would lose."""
    laws = [[1e-8, 1 - 1e-8], [0.5, 1e-12, 0.0, 0.5 - 1e-12], [0.0, 1.0, 0.0], [1 - 1e-12, 0.0, 1e-12]]
    for table in laws:
        law, most = jax.tree.map(jnp.asarray, FiniteDistribution(table)), len(table) - 1

        def is_low(words, law=law, most=most):
            monkeypatch.setattr(counts, "word_pairs", lambda *_: words)
            return law.sample(None) > jnp.arange(most, dtype=jnp.int32)  # large N belong to small numbers

        def one_each(words, is_low=is_low):
            return jnp.diagonal(jax.vmap(lambda high, low: is_low(WordPairs(high, low)))(*words))

        tails = share_below(one_each, (most,))
        drawn = -np.diff(tails, prepend=1.0, append=0.0)
        np.testing.assert_allclose(drawn, table, rtol=1e-6, atol=3e-16)
        assert (drawn[np.array(table) == 0] == 0).all()


@pytest.mark.long
def test_long_delays_have_their_probability(monkeypatch):
    """P(delay >= n) = (mean / (1 + mean))^n, from a few in 10 to 1e-12."""
    mean, rounds = np.array([1e-12, 1e-8, 0.1, 1.0, 1e6]), np.array([1.0, 1.0, 8.0, 40.0, 1.0])

    def is_low(words):  # short delays belong to small numbers
        def is_short(high, low, mean, n):
            monkeypatch.setattr(delays, "word_pairs", lambda *_: WordPairs(high, low))
            return jo.delays.GeometricDelay(mean, maximum=100).sample(None, jnp.int32(1)) < n

        return jax.vmap(is_short)(*words, jnp.asarray(mean, jnp.float32), jnp.asarray(rounds, jnp.int32))

    mirrored = share_below(lambda words: ~is_low(words.mirrored()), mean.shape)  # 1 - u, fine-grained for long delays
    np.testing.assert_allclose(mirrored, (mean / (1 + mean)) ** rounds, rtol=1e-5)
    short = share_below(is_low, mean.shape)
    np.testing.assert_allclose(short[-1], 1 / (1 + mean[-1]), rtol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("perturbation", ["exponential", "gumbel"])
def test_unlikely_experts_have_their_probability(perturbation, monkeypatch):
    """Two experts whose losses differ by g: the worse one is followed with probability e^-g / 2 for exponential, and
    1 / (1 + e^g) for Gumbel noise. The other expert's noise takes 4,096 values in the middles of equal strata."""
    learner = jo.learners.FollowThePerturbedLeader(1.0, perturbation)
    strata = ((np.arange(4096, dtype=np.uint64) << np.uint64(20)) + np.uint64(2**19)).astype(np.uint32)
    for gap in (3.0, 26.0):

        def is_low(words, gap=gap):  # large noise belongs to small 1 - u
            def is_worse(other, high, low):
                rest = WordPairs(jnp.stack([other, high]), jnp.stack([jnp.uint32(0), low]))
                monkeypatch.setattr(combiners, "word_pairs", lambda *_: rest.mirrored())
                return learner.predict(None, Compensated.starting_at(jnp.array([0.0, gap])), None) == 1

            return jax.vmap(is_worse)(jnp.asarray(strata), *words)

        wanted = np.exp(-gap) / 2 if perturbation == "exponential" else 1 / (1 + np.exp(gap))
        assert share_below(is_low, strata.shape).mean() == pytest.approx(wanted, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_words_have_the_bits_of_jax(impl, both_precisions):
    """So draws equal those of jax's uniform numbers where these decide, also with keys of a run."""
    dtype = jnp.result_type(float)
    for key in jax.random.split(jax.random.key(2, impl=impl), 3):
        u, level = jax.random.uniform(key, (5,), dtype), float(jax.random.uniform(key, (), dtype)) * 10
        for each in (key, random.inlined(key)):
            words, half = word_pairs(each, (5,), dtype), float(jnp.finfo(dtype).eps) / 2
            found = (np.asarray(words.high, float) + np.asarray(words.low, float) * 2.0**-32) * 2.0**-32
            assert (np.abs(found - u - half) <= half * (1 + 1e-3)).all()
            index = random.weighted_index(each, jnp.arange(5, dtype=dtype))
            assert int(index) == np.sum(np.cumsum(np.arange(5)) <= level)


@pytest.mark.long
def test_float_conversions_are_precise_at_both_ends():
    """-log(1 - u) has 24 bits for u near 0 and near 1; from a float32 u, it has none below 2^-23 and above 16."""
    numbers = np.array([0, 5, 2**20, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 2**40, 2**64 - 6], np.uint64)
    words = WordPairs((numbers >> np.uint64(32)).astype(np.uint32), numbers.astype(np.uint32))
    small = np.array([(int(n) + 0.5) / 2.0**64 for n in numbers])
    rest = np.array([(2**64 - int(n) - 0.5) / 2.0**64 for n in numbers])
    exact = np.where(small < 0.5, -np.log1p(-np.minimum(small, 0.5)), -np.log(rest))
    np.testing.assert_allclose(words.exponential(jnp.float32), exact, rtol=3e-7)
    np.testing.assert_allclose(words.mirrored().gumbel(jnp.float32), -np.log(exact), rtol=3e-7, atol=3e-7)


@pytest.mark.long
def test_without_a_positive_weight_the_last_index_is_drawn():
    for weights in (jnp.zeros(5), jnp.full(5, jnp.nan)):
        assert random.weighted_index(jax.random.key(0), weights) == 4
