"""Expansions against dense tensors, and the sizes of a noisy kernel learner's state: what does not fit is marked."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from noisy_kernel_draws import drawn
from tiers import some

import jaxonline as jo
from jaxonline.estimators.counts import FiniteDistribution, Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.kernels import ExponentialKernel, Gaussian
from jaxonline.learners import NoisyKernel, Storage
from jaxonline.learners.kernels import expansion
from jaxonline.learners.kernels.expansion import Feature, ReservedChunks, _chunk_distribution, _update_probability
from jaxonline.learners.kernels.noisy import Requests
from jaxonline.losses import Exponential, SmoothedAbsolute, Squared
from jaxonline.parameters.struct import replace

pytestmark = pytest.mark.fast_compile
T, D = 60, 2
CHANNEL = jo.NoisyCopies(jo.noise.gaussian(0.05))
KEY = jax.random.key(7)
MAPS = {
    "exponential": DotProductFeatureMap(ExponentialKernel(), Geometric(1.5)),
    "gaussian": GaussianFeatureMap(Gaussian(2.0), Geometric(1.5)),
}
LENGTH = GradientLength.for_loss(Squared(), Geometric(2.0), second_moment=1.0)
ROOM = {"tensor_levels": 1, "deepest": 40, "most_pairs": 40, "most_fresh": 20, "n_chunks": 200}
X = np.random.default_rng(3).uniform(-0.6, 0.6, (T, D))


def learner_of(kernel, **sizes):
    room = ROOM | sizes | ({"most_pairs": 0} if kernel == "exponential" else {})
    return NoisyKernel(MAPS[kernel], LENGTH, 0.05, 0.5, Storage(**room))


@functools.cache
def played(kernel, **sizes):
    """In float64."""
    game = jo.Game(jo.environments.DataStream(X, np.where(X[:, 0] > 0, 1.0, -1.0)), CHANNEL)
    return jo.play(game, learner_of(kernel, **sizes), KEY, T)[1]


@pytest.mark.long
def test_the_number_of_stored_terms_grows_like_the_rounds(x64):
    """A round stores chunks with probability 1/4 (n = 1): the means of 256 runs are within six standard errors of t/4
    times the mean chunks of a level N, P(N = n) = (1/3) (2/3)^n, of which two copies fit into a chunk."""
    n = np.arange(2, 200)
    per_round = np.sum(np.ceil(n / 2) * (2 / 3) ** n / 3) / 4
    learner = learner_of("exponential", n_chunks=400)
    keys = jax.random.split(KEY, 256)
    for rounds in (60, 240):
        rows = np.resize(X, (rounds, D))
        game = jo.Game(jo.environments.DataStream(rows, np.where(rows[:, 0] > 0, 1.0, -1.0)), CHANNEL)
        states = jax.jit(jax.vmap(lambda key, game=game, rounds=rounds: jo.play(game, learner, key, rounds)[0]))(keys)
        used = np.asarray(states.w.used, float)
        assert not states.w.overflow.any()
        assert abs(used.mean() - rounds * per_round) < 6 * used.std() / 16 < 0.25 * used.mean()


@pytest.mark.long
@pytest.mark.parametrize("size", some(["n_chunks", "most_pairs", "deepest", "most_fresh"], "most_pairs"))
def test_each_size_is_marked_when_it_is_exceeded(size, x64):
    """In the round that the draws say, and in all later ones; until then nothing is different."""
    kernel = "gaussian" if size == "most_pairs" else "exponential"
    draws = drawn(learner_of(kernel), CHANNEL, X, KEY)
    pairs, levels = draws.counts if kernel == "gaussian" else (0 * draws.counts, draws.counts)
    used = np.arange(levels.shape[1]) <= draws.n[:, None]
    # chunks of two copies; for the squared loss only n = 1 moves w
    chunks = np.where((levels[:, 0] > 1) & (draws.n == 1), -(-levels[:, 0] // 2), 0)
    limit, exceeded = {
        "n_chunks": (6, np.cumsum(chunks) > 6),
        "deepest": (9, (np.where(used, levels, 0) > 9).any(axis=1)),
        "most_fresh": (4, draws.n > 4),
        "most_pairs": (9, (np.where(used, pairs, 0) > 9).any(axis=1)),
    }[size]
    happens = int(np.append(np.flatnonzero(exceeded), T)[0]) + 1
    assert 10 < happens < T - 5, "neither at once nor never"

    history = played(kernel, **{size: limit})
    np.testing.assert_array_equal(history.info.overflow, np.arange(1, T + 1) >= happens)
    if kernel == "exponential":
        unlimited = played(kernel, tensor_levels=1)
        assert not unlimited.info.overflow.any()
        np.testing.assert_allclose(history.y_hat[:happens], unlimited.y_hat[:happens], rtol=1e-12, atol=1e-14)


def test_an_unreachable_risk_raises_with_a_remedy():
    """With the p of the message the risk is kept."""

    def plan(p, n_rounds=100):
        feature_map = GaussianFeatureMap(Gaussian(2.0), Geometric(2.0), Geometric(p))
        storage = Storage.for_horizon(feature_map, LENGTH, D, n_rounds)
        return storage.overflow_probability(feature_map, LENGTH, n_rounds)

    with pytest.raises(ValueError, match=r"pair_law.*511.* p at least") as caught:
        plan(1.01)
    assert plan(float(str(caught.value).split("p at least ")[1].split(" ")[0]) + 0.0005) < 2e-6


def test_the_error_states_a_sufficient_horizon():
    feature_map, short = DotProductFeatureMap(ExponentialKernel(), Geometric(1.05)), Geometric(2.0)
    length = GradientLength.for_loss(Squared(), short, second_moment=1.0)
    with pytest.raises(ValueError, match="n_rounds at most 8,827"):
        Storage.for_horizon(feature_map, length, D, 10**6)
    assert Storage.for_horizon(feature_map, length, D, 8_800).overflow_probability(feature_map, length, 8_800) < 2e-6


def test_a_distribution_without_pairs_has_the_smallest_limit():
    feature_map = GaussianFeatureMap(Gaussian(2.0), Geometric(2.0), FiniteDistribution([1.0]))
    assert Storage.for_horizon(feature_map, LENGTH, D, 100).most_pairs == 1


@pytest.mark.parametrize(("loss", "probability"), [(SmoothedAbsolute(1.0), 1 / 3), (Squared(), 1 / 4)])
def test_a_pair_changes_the_hypothesis_if_the_coefficient_of_n_is_not_zero(loss, probability):
    """P(N = n) = 2^-(n + 1). The smoothed absolute loss has odd n only, and the squared loss n = 1."""
    length = GradientLength.for_loss(loss, Geometric(2.0), 0.5)
    assert _update_probability(length) == pytest.approx(probability, rel=1e-9)


def test_the_distribution_of_chunks_has_its_mean_if_a_pair_stores_many():
    """Ten chunks a pair, 20,000 pairs: the sum has more values than pairs, and must not wrap around."""
    feature_map = DotProductFeatureMap(ExponentialKernel(), Geometric(1.05))
    length = GradientLength.for_loss(Exponential(), Geometric(2.0), 0.5)
    total = _chunk_distribution(feature_map, length, 1, 300, 20_000)
    n = np.arange(512)
    chunks = np.where(n > 1, -(-n // 2), 0) @ (0.05 / 1.05 * 1.05 ** -n.astype(float))
    assert total @ np.arange(len(total)) == pytest.approx(20_000 * _update_probability(length) * chunks, rel=1e-6)


def test_overflow_probability_counts_the_feature_and_the_fresh_estimates_of_each_pair():
    """A closed form: a pair has 1 + E N = 3 estimates, and each is too deep with the probability 1.5^-41."""
    feature_map = DotProductFeatureMap(ExponentialKernel(), Geometric(1.5))
    length = GradientLength.for_loss(Exponential(), Geometric(1.5), 0.5)
    found = Storage(40, 40, 0, 200, 1000).overflow_probability(feature_map, length, 500, repetitions=2)
    assert found == pytest.approx(1000 * 3.0 * 1.5**-41, rel=1e-6)


def test_overflow_probability_includes_levels_beyond_the_table():
    """A storage made by hand for very long products: the chunks of all of them are in its probability."""
    feature_map = DotProductFeatureMap(ExponentialKernel(), FiniteDistribution([*[0.0] * 700, 1.0]))
    small, large = (Storage(0, 700, 0, 30, n_chunks) for n_chunks in (700 * 3, 700 * 30))
    assert small.overflow_probability(feature_map, LENGTH, 30) > 0.9
    assert large.overflow_probability(feature_map, LENGTH, 30) < 1e-6


LISTED, MOST_FRESH, DEEPEST, MOST_PAIRS, RUNS = 2, 3, 4, 3, 64


@pytest.mark.long
def test_requests_count_the_copies_of_all_estimates():
    """Estimates beyond the room are not counted, and the round is marked as too large."""
    feature_map = GaussianFeatureMap(Gaussian(2.0), Geometric(2.0))
    room = Storage(tensor_levels=1, deepest=DEEPEST, most_pairs=MOST_PAIRS, most_fresh=MOST_FRESH, n_chunks=8)
    keys = jax.random.split(jax.random.key(1), RUNS)
    sample = jax.jit(jax.vmap(lambda key, n: Requests.sample(key, n, feature_map, room, LISTED)))
    counts_of = jax.vmap(lambda key, j: feature_map.sample_counts(jax.random.fold_in(key, j)), (None, 0))
    drawn_counts = jax.jit(jax.vmap(counts_of, (0, None)))(keys, jnp.arange(1 + MOST_FRESH, dtype=jnp.int32))
    for n in (0, 1, MOST_FRESH, MOST_FRESH + 2):
        found = sample(keys, jnp.full(RUNS, n, jnp.int32))
        pairs, levels = (np.asarray(counts)[:, : n + 1] for counts in drawn_counts)
        large = ((levels > DEEPEST) | (pairs > MOST_PAIRS)).any(axis=1) | (n > MOST_FRESH)
        listed = [np.pad(counts[:, :LISTED], ((0, 0), (0, max(LISTED - n - 1, 0)))) for counts in (pairs, levels)]
        np.testing.assert_array_equal(found.pairs, listed[0])
        np.testing.assert_array_equal(found.levels, listed[1])
        np.testing.assert_array_equal(found.copies, 2 * listed[0] + listed[1])
        np.testing.assert_array_equal(found.total, (2 * pairs + levels).sum(axis=1))
        np.testing.assert_array_equal(found.too_large, large)
        assert large.any()
        assert n > MOST_FRESH or not large.all()


HIGHEST = 7
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
    factors = rng.normal(size=(len(levels), HIGHEST, d)) / np.sqrt(d)
    factors[np.arange(HIGHEST) >= levels[:, None]] = 0.0
    shrinks = np.where(np.arange(len(levels)) == 4, 0.7, 1.0)
    log_betas = np.log([beta(n) for n in levels])

    def add_feature(w, seen):
        alpha, shrink, *numbers = seen
        psi = Feature(*numbers)
        shallow = expansion.shallow_product(w.tensors, psi)
        product = jnp.where(psi.level > tensor_levels, expansion.deep_product(w, psi), shallow)
        w = expansion.shrink(add(w, alpha, psi, product), shrink)
        return w, (product, expansion.squared_norm(psi), w.squared_norm)

    w = expansion.empty(d, tensor_levels, 60, HIGHEST, jnp.float64)
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
