"""AER, AERR and the Baseline: against independent loops, against theorems, and at the edges.

The statistical tests have fixed seeds; what they would find, and how often they fail by chance, is said at each.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiers import some

import jaxonline as jo
from jaxonline import bounds
from jaxonline.comparators.l1_ball import L1Ball
from jaxonline.engines.attribute_streams import _play, play_streams
from jaxonline.environments import DataStream, HiddenAttribute, three_bits
from jaxonline.estimators.attribute_pairs import AttributePairs
from jaxonline.estimators.attributes import AttributeGradient
from jaxonline.feedback import Attributes
from jaxonline.game.keys import stream_keys
from jaxonline.learners import Baseline, aer, aerr
from jaxonline.learners.attributes.baseline import l1_minimum

pytestmark = pytest.mark.fast_compile

D, T, K = 6, 40, 4


def rows(seed=0, n=T, d=D):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.clip(X @ np.linspace(1, -1, d) + 0.1 * rng.normal(size=n), -1, 1)


def project(w, radius):
    """On the l1 ball, by bisection for the threshold: it shares nothing with a projection that sorts."""
    if np.abs(w).sum() <= radius:
        return w
    low, high = 0.0, np.abs(w).max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(np.abs(w) - middle, 0).sum() > radius else (low, middle)
    return np.sign(w) * np.maximum(np.abs(w) - high, 0)


def reference(X, y, choose, *, law, rate, radius, k=K):
    """Algorithm 2 (corrected) line by line, or AERR: w after each round, and the attributes looked at."""
    d, w, path, seen = X.shape[1], np.zeros(X.shape[1]), [], []
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        C, draws = choose(t, w)
        v, y_hat = np.zeros(d), 0.0
        for j in C:
            v[j] += 2 / k * d * x[j]
        for i in draws:
            if w[i] != 0:
                scale = np.sign(w[i]) * np.abs(w).sum() if law == "l1" else (w @ w) / w[i]
                y_hat += 2 / k * scale * x[i]
        if law == "l1":
            w = project((1 - 1 / t) * w - 2 / (rate * t) * (y_hat - target) * v, radius)
        else:
            w = w - rate * 2 * (y_hat - target) * v
            w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
        path.append(w)
        seen.append([*C, *draws])
    return np.array(path), np.array(seen)


def choices(key, law, k=K):
    """What the estimator chooses in round t at w, with the keys of `play_streams`."""
    choose = jax.jit(AttributeGradient(k, law=law).choose)

    def at(t, w):
        seen = choose(jax.random.fold_in(jax.random.fold_in(key, t), 1), jnp.asarray(w))
        return np.asarray(seen.subset), np.asarray(seen.weighted)

    return at


CASES = {"aer": ("l1", 0.7, 0.8), "aer, within the ball": ("l1", 9.0, 50.0), "aerr": ("l2", 0.05, 0.6)}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_streams_are_the_pseudocode(case, x64):
    """Two streams and two radii at once; the other parameters of the grid change nothing."""
    law, rate, radius = CASES[case]
    X, y = rows()
    keys = jax.random.split(jax.random.key(1), 2)
    order = np.array([np.arange(T), np.arange(T)[::-1]])
    grid = {"rates": [rate, 2 * rate], "radii": [radius, radius / 2]}
    averages = play_streams("aer" if law == "l1" else "aerr", X, y, order, keys, **grid, n_attributes=K,
                            record_at=(3, T))  # fmt: skip
    assert averages.shape == (2, 2, 2, D)
    for s, g in itertools.product(range(2), range(2)):
        path, _ = reference(X[order[s]], y[order[s]], choices(keys[s], law), law=law,
                            rate=grid["rates"][g], radius=grid["radii"][g])  # fmt: skip
        expected = path[:3].mean(0), path.mean(0)
        np.testing.assert_allclose(averages[:, s, g], expected, rtol=1e-9, atol=1e-15)
        if case.endswith("ball"):
            assert np.abs(path).sum(1).max() < radius, "no projection here"


@pytest.mark.long
@pytest.mark.parametrize("law", some(["l1", "l2"], "l1"))
def test_streams_play_the_learner_of_the_game(law, x64):
    """The same keys, the same attributes, the same hypotheses: what the game's learner would have output."""
    X, y = rows(2)
    learner = aer(K, 0.7, 0.8) if law == "l1" else aerr(K, 0.05, 0.6)
    game = jo.Game(DataStream(X, y), Attributes(K))
    key = jax.random.key(5)
    with jax.numpy_dtype_promotion("standard"):
        state, played = jo.play(game, learner, key, T)
    assert played.queries.tolist() == [K] * T
    streamed = play_streams("aer" if law == "l1" else "aerr", X, y, np.arange(T)[None],
                            stream_keys(key).learner[None], [0.7 if law == "l1" else 0.05],
                            [0.8 if law == "l1" else 0.6], K)  # fmt: skip
    np.testing.assert_allclose(state.average * (T + 1) / T, streamed[0, 0, 0], rtol=1e-9, atol=1e-15)


@pytest.mark.long
@pytest.mark.parametrize("law", ["aer", "aerr"])
def test_one_key_is_that_of_all_streams(law, x64):
    """Also where the steps are so large that AERR's scale begins anew within the first rounds."""
    X, y = rows(4)
    order, key = np.array([np.arange(T), np.arange(T)[::-1]]), jax.random.split(jax.random.key(3), 1)
    grid = {"rates": [0.7, 1e-4] if law == "aer" else [0.05, 1e4], "radii": [0.8, 0.5], "n_attributes": K}
    one, two = (play_streams(law, X, y, order, keys, **grid) for keys in (key, key[jnp.array([0, 0])]))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-15)
    path, _ = reference(X[::-1], y[::-1], choices(key[0], "l1" if law == "aer" else "l2"), rate=grid["rates"][1],
                        law="l1" if law == "aer" else "l2", radius=0.5)  # fmt: skip
    np.testing.assert_allclose(one[0, 1, 1], path.mean(0), rtol=1e-7, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("law", ["aer", "aerr"])
def test_streams_see_k_attributes(law, x64):
    """Everything that was not chosen is poison: the hypotheses are the same, bit for bit."""
    X, y = rows(3)
    keys, short = jax.random.split(jax.random.key(2), 2), "l1" if law == "aer" else "l2"
    rate, radius = (0.7, 0.8) if law == "aer" else (0.05, 0.6)

    def play(X):
        # past the check that numbers are finite; both streams and both parameters see the same attributes
        grid, order = (jnp.array([rate] * 2), jnp.array([radius] * 2)), jnp.tile(jnp.arange(T, dtype=jnp.int32), (2, 1))
        ends = jnp.array([3, T], jnp.int32)
        return _play(law, jnp.asarray(X), jnp.asarray(y), *grid, order, keys[jnp.array([0, 0])], K, ends, jnp.int32(D))

    plain = np.asarray(play(X))
    _, seen = reference(X, y, choices(keys[0], short), law=short, rate=rate, radius=radius)
    assert seen.shape == (T, K)
    poisoned = np.full_like(X, np.nan)
    np.put_along_axis(poisoned, seen, np.take_along_axis(X, seen, 1), 1)
    assert np.isnan(poisoned).sum() >= T * (D - K)
    assert np.isfinite(plain).all()
    assert np.array_equal(play(poisoned), plain)


# ---------------------------------------------------------------------------------------------------------------------
# The Baseline


@pytest.mark.long
@pytest.mark.parametrize("cone", some([False, True], False))
def test_the_baseline_minimises_what_it_estimated(cone, x64):
    """A and b are means of the moments of the pairs drawn; w is a minimiser, or stationary where A is not convex."""
    X, y = rows(4, n=6, d=4)
    game, learner, key = (
        jo.Game(DataStream(X, y), Attributes(K)),
        Baseline(K, 0.8, cone, n_steps=200),
        jax.random.key(4),
    )
    state, played = jo.play(game, learner, key, 6)
    assert played.queries.tolist() == [K] * 6
    A, b = np.zeros((4, 4)), np.zeros(4)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        chosen = AttributePairs(K).choose(jax.random.fold_in(jax.random.fold_in(stream_keys(key).learner, t), 1), 4)
        for i, j in np.asarray(chosen).reshape(2, -1).T:
            A[i, j] += 16 / K * x[i] * x[j] / 6
            A[j, i] += 16 / K * x[i] * x[j] / 6
            b[i] += target * 4 / K * x[i] / 6
            b[j] += target * 4 / K * x[j] / 6
    np.testing.assert_allclose(state.A, A, atol=1e-12)
    np.testing.assert_allclose(state.b, b, atol=1e-12)
    values, vectors = np.linalg.eigh(A)
    if cone:
        A = (vectors * np.maximum(values, 0)) @ vectors.T
    else:
        assert values[0] < 0, "or the two forms are one (E16)"
    w = np.asarray(state.w)
    assert np.abs(w).sum() <= 0.8 * (1 + 1e-12)
    slope = 2 * (A @ w - b)
    assert slope @ w + 0.8 * np.abs(slope).max() < 1e-6, "no way down within the ball"
    if cone:  # nothing on a grid of the ball is better
        grid = np.stack(np.meshgrid(*[np.linspace(-0.8, 0.8, 25)] * 4), -1).reshape(-1, 4)
        grid = grid[np.abs(grid).sum(1) <= 0.8]
        value = lambda w: np.einsum("...i,ij,...j", w, A, w) - 2 * w @ b  # noqa: E731
        assert value(w) <= value(grid).min() + 1e-9


@pytest.mark.long
def test_descent_without_curvature(x64):
    """A = 0, b = 0 and a radius: nothing to do; A = 0 alone: the corner."""
    zero = jnp.zeros((2, 2))
    assert l1_minimum(zero, jnp.zeros(2), jnp.asarray(1.0), jnp.zeros(2), 5).tolist() == [0.0, 0.0]
    assert l1_minimum(zero, jnp.array([0.1, 0.3]), jnp.asarray(0.5), jnp.zeros(2), 40).tolist() == [0.0, 0.5]


# ---------------------------------------------------------------------------------------------------------------------
# Edges


@pytest.mark.parametrize(("law", "k", "d"), some(
    [(law, k, d) for law in ("aer", "aerr") for k, d in ((2, 6), (4, 6), (4, 4))]
))  # fmt: skip
def test_constant_features_one_class_and_all_attributes(law, k, d, x64):
    """k = 2, k = d, a constant coordinate, one that is 0, a single class: everything is finite, w = 0 is left.

    Coordinates beyond `dimension` are not asked for.
    """
    X = np.random.default_rng(7).uniform(-1, 1, size=(T, D))
    X[:, 1], X[:, 2], X[:, d:] = 1.0, 0.0, 1e300
    keys, rates = jax.random.split(jax.random.key(0), 2), [5.0, 9.0] if law == "aer" else [0.01, 0.02]
    order = np.tile(np.arange(T), (2, 1))
    w = play_streams(law, X, np.ones(T), order, keys, rates, [1.0, 1.0], k, (3, T), dimension=d)
    w = np.asarray(w)[-1]
    assert np.isfinite(w).all()
    assert w[..., 1].min() > 0.1
    assert (w[..., 2] == 0.0).all()
    assert (w[..., d:] == 0.0).all()


GRID = {"rates": [1.0], "radii": [1.0]}
ONE = np.zeros((1, 1), int), jax.random.split(jax.random.key(0), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: aer(3, 1.0, 1.0), "n_attributes must be even"),
        (lambda: aer(4, 0.0, 1.0), "regularizer must be"),
        (lambda: aer(4, 1.0, 0.0), "radius must be"),
        (lambda: aer(4, 1.0, 1.0, hypothesis="mean"), "hypothesis must be one of"),
        (lambda: aerr(4, 0.1, 0.0), "radius must be"),
        (lambda: Baseline(3, 1.0), "n_attributes must be even"),
        (lambda: Baseline(4, 0.0), "radius must be"),
        (lambda: L1Ball(0.0), "radius must be"),
        (lambda: jo.play(jo.Game(DataStream(np.ones((2, 3)), np.ones(2)), Attributes(2)), aer(4, 1.0, 1.0),
                         jax.random.key(0), 2), "indices must be at most 2 a round in all, got 4"),
        (lambda: play_streams("aer", np.ones((2, 3)), np.ones(2), *ONE, **GRID, n_attributes=4),
         "n_attributes must be at most d = 3, which is at most 3, got 4"),
        (lambda: play_streams("aer", np.ones((2, 3)), np.ones(2), *ONE, [1.0], [0.0], 2), "radii must be"),
        (lambda: play_streams("sgd", np.ones((2, 3)), np.ones(2), *ONE, **GRID, n_attributes=2), "law must be one of"),
        (lambda: play_streams("aer", np.ones((2, 3)), np.ones(2), *ONE, [1.0], [1.0, 2.0], 2), "rates and radii must"),
        (lambda: HiddenAttribute(3, 0.3), "eps must be"),
        (lambda: bounds.hidden_attribute_examples(10, 4, 0.01), "dimension must be at least 4 n_attributes = 16"),
        (lambda: bounds.aer_regret(4, 3, 1.0, 1.0, 10), "n_attributes must be even"),
        (lambda: bounds.aer_regret(4, 2, 1.0, 2.0, 10), "norm must be"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_a_random_number_of_attributes():
    """It is charged as it is, what is beyond it is not seen, and its most must be within the budget."""
    x = jnp.array([5.0, 6.0, 7.0, 8.0])

    @jax.jit
    def ask(number):
        oracle = Attributes(4).open(None, jnp.int32(1), x, jnp.float32(1.0), 0.0)
        some_of_them = oracle.attributes(jnp.array([3, 1, 0]), number)
        return some_of_them, oracle.attributes(jnp.array([2])), oracle.queries()

    for number, seen in ((0, [0.0] * 3), (2, [8.0, 6.0, 0.0]), (9, [8.0, 6.0, 5.0])):
        answers, other, queries = ask(jnp.int32(number))
        assert (answers.tolist(), other.tolist(), int(queries)) == (seen, [7.0], min(number, 3) + 1)
    oracle = Attributes(2).open(None, jnp.int32(1), x, jnp.float32(1.0), 0.0)
    with pytest.raises(ValueError, match="at most 2 a round in all, got 3"):
        oracle.attributes(jnp.array([0, 1, 2]), jnp.int32(0))


# ---------------------------------------------------------------------------------------------------------------------
# Theorems


def test_projection_is_optax_s():
    """The projections of this module and of the comparator are optax's to 1e-6, in float64 to 1e-12."""
    from jaxonline.comparators.l1_ball import project as of_comparator

    for seed, radius in itertools.product(range(5), (0.3, 1.0, 100.0)):
        w = np.random.default_rng(seed).normal(size=7)
        with jax.numpy_dtype_promotion("standard"):
            theirs = optax.projections.projection_l1_ball(jnp.asarray(w, jnp.float32), radius)
        np.testing.assert_allclose(of_comparator(w, radius), theirs, atol=1e-6)
        np.testing.assert_allclose(of_comparator(w, radius), project(w, radius), atol=1e-12)


def test_bounds():
    """The theorems' numbers by other ways: the sum that Theorem 2's proof ends with, term by term; closed forms."""
    bound = bounds.aer_regret(dimension=5, n_attributes=4, radius=2.0, norm=1.5, n_rounds=50)
    assert (
        pytest.approx(max(4 * (2 + 1) ** 2 * (2 * 5 / 4) * 5, 0)) == bound.G
    )  # 4 (y^ - y)^2 |v|^2, worst case in mean
    assert bound.regularizer == pytest.approx((2 + 1) * 5 / 1.5 * np.sqrt(np.log(50) / (50 * 4)))
    harmonic = sum(bound.G / (bound.regularizer * t) for t in range(1, 51)) + 50 * bound.regularizer * 1.5**2 / 2
    assert harmonic <= bound.value <= 1.3 * harmonic
    assert bounds.hidden_attribute_examples(960, 1, 0.01) == 500
    assert bounds.hidden_attribute_examples(24, 1, 0.05) == 3  # 24 / 4.8 is 5, and a little less in floating point
    assert pytest.approx(12 * (4 + 0.5)) == bounds.aerr_regret(6, 4, 1.0, 100, 1.0, 1.0).G
    assert bounds.baseline_risk(10, 2, 1.0, 100, 0.1) > bounds.baseline_risk(10, 8, 1.0, 100, 0.1)


@pytest.mark.long
@pytest.mark.parametrize("law", ["aer", "aerr"])
def test_regret_is_below_the_bound(law):
    """Theorem 2 (and the like for AERR): the mean regret of 400 runs, its interval's upper end included, is below."""
    n_rounds, d = 200, 4
    environment = jo.environments.LinearModel(np.array([0.5, -0.3, 0.0, 0.2]), radius=1.0, instances="cube")
    if law == "aer":
        bound = bounds.aer_regret(d, 2, radius=1.0, norm=0.62, n_rounds=n_rounds)
        learner, comparator = aer(2, bound.regularizer, 1.0, hypothesis="last"), L1Ball(1.0)
    else:
        bound = bounds.aerr_regret(d, 2, 1.0, n_rounds, x_bound=2.0)
        learner, comparator = aerr(2, bound.step_size, 1.0, hypothesis="last"), jo.L2Ball(1.0)
    with jax.numpy_dtype_promotion("standard"):
        result = jo.simulate(
            jo.Game(environment, Attributes(2)),
            learner,
            n_runs=400,
            n_rounds=n_rounds,
            comparator=comparator,
            record_at=1,
        )
    row = result.table()[0]
    assert 0 < row["low"] < row["high"] < bound.value


@pytest.mark.long
def test_theorem_3_s_environment():
    """One hidden attribute a run; y agrees with it with probability 1/2 + sqrt(eps) (chi-square: 1e-6 by chance)."""
    hidden = HiddenAttribute(5, eps=0.04)
    keys = jax.random.split(jax.random.key(0), 20_000)

    @jax.jit
    @jax.vmap
    def draw(key):
        state = hidden.init(jax.random.fold_in(key, 0))
        x, state = hidden.instance(jax.random.fold_in(key, 1), state, jnp.int32(1))
        y, state = hidden.answer(jax.random.fold_in(key, 2), state, jnp.int32(1), x, jnp.float32(0))
        return state.attribute, x, y

    j, x, y = map(np.asarray, draw(keys))
    assert set(np.unique(x)) == {-1.0, 1.0}
    agree = (x[np.arange(len(j)), j] == y).mean()
    assert abs(agree - 0.7) < 4.9 * np.sqrt(0.21 / len(j))
    assert np.abs(np.bincount(j, minlength=5) / len(j) - 0.2).max() < 4.9 * np.sqrt(0.16 / len(j))
    w = jnp.array([0.4, 0.0, 0.1, 0.0, 0.0])
    assert hidden.excess_risk(w, jnp.int32(0)) == pytest.approx(0.01)


def test_theorem_4():
    """No two attributes predict the mean of three bits to less than 1/9."""
    stream = three_bits()
    X, y = np.asarray(stream.X, float), np.asarray(stream.y, float)
    for pair in itertools.combinations(range(3), 2):
        groups = {}
        for x, target in zip(X, y, strict=True):
            groups.setdefault(tuple(x[list(pair)]), []).append(target)
        assert np.mean([np.var(group) for group in groups.values()]) == pytest.approx(1 / 9)


@pytest.mark.long
def test_two_attributes_of_each_example_are_enough():
    """Theorem 4's other half: an error of a tenth of 1/9 and less."""
    stream = three_bits()
    X, y = np.asarray(stream.X, float), np.asarray(stream.y, float)
    order = np.random.default_rng(0).integers(8, size=(1, 20_000))
    w = play_streams("aer", X, y, order, jax.random.split(jax.random.key(0), 1), [0.05], [1.0], 2)
    error = np.mean((X @ np.asarray(w)[0, 0, 0] - y) ** 2)
    assert error < 1 / 9 / 10
