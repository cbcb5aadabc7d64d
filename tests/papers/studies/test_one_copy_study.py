"""The study of one copy and partly known noise: its minimax values, its learners and its bound, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats
from tiers import some

import jaxonline as jo
from benchmarks.papers.estimators.games import unavoidable_regret_of_games
from benchmarks.papers.studies import QUICK
from benchmarks.papers.studies import one_copy as study
from jaxonline.game import Specs
from jaxonline.simulation.blocks import default_mesh
from jaxonline.study import Context

C, B, V = 2.0, 1.0, 3.0


def test_the_worlds_have_the_same_moments_of_copy_and_label():
    for variance in (0.4, 1.0, 1.6):
        game = study.world(variance)
        theta, M = float(game.environment.weights[0]), float(game.environment.radius) ** 2 / 2
        noise = game.feedback.noise.covariance_at(jnp.int32(1), jnp.zeros(2))
        moments = M + float(noise[0, 0]), theta * M, theta**2 * M + float(game.environment.noise_std) ** 2
        np.testing.assert_allclose(moments, (C, B, V), rtol=1e-6)


def of_linear(half):
    """The least larger regret over w, with the worst of many variances of the set."""
    M = C - np.linspace(1 - half, 1 + half, 41)

    def worst(w):
        return np.max(M * (w - B / M) ** 2)

    return optimize.minimize_scalar(worst, bounds=(0, 3), method="bounded", options={"xatol": 1e-9}).fun


def least_max_regret(radius, gram, A, cross, squares):
    """By duality, for the losses w'A_s w - 2 w'cross_s + squares_s of two worlds and w' gram w <= radius^2."""

    def least(mixture):
        H, b = np.tensordot(mixture, A, 1), mixture @ cross

        def solve(log):
            return np.linalg.solve(H + np.exp(log) * gram, b)

        log = optimize.brentq(lambda log: solve(log) @ gram @ solve(log) - radius**2, -20, 5)
        return mixture @ squares - 2 * solve(log) @ b + solve(log) @ H @ solve(log)

    ends = np.array([least(mixture) for mixture in np.eye(2)])

    def dual(a):
        return least(np.array([1 - a, a])) - np.array([1 - a, a]) @ ends

    return -optimize.minimize_scalar(lambda a: -dual(a), bounds=(0, 1), method="bounded").fun


def of_kernel(half, radius):
    """Combinations of kernel functions, by integrals of exp(-alpha x^2 + beta x) for Gaussian x."""
    c, M = np.linspace(-6, 6, 31), np.array([1 + half, 1 - half])
    gram = np.exp(-(np.subtract.outer(c, c) ** 2)) + 1e-9 * np.eye(len(c))
    pairs, A, cross = np.add.outer(c, c), [], []
    for m in M:
        shrunk = m / (1 + 4 * m)
        A.append(np.exp(2 * pairs**2 * shrunk - np.add.outer(c**2, c**2)) / np.sqrt(1 + 4 * m))
        cross.append(2 * c * B / (1 + 2 * m) ** 1.5 * np.exp(2 * c**2 * m / (1 + 2 * m) - c**2))
    return least_max_regret(radius, gram, np.array(A), np.array(cross), B**2 / M)


def quantile_games(half, n):
    """The discrete games of the two worlds: points [n, n, 1], and labels."""
    z = stats.norm.ppf((np.arange(n) + 0.5) / n)
    z /= np.sqrt(np.mean(z**2))
    means = z * np.sqrt(1 - half)
    return np.add.outer(means, z * np.sqrt(2 * half))[..., None], B / (1 - half) * means


def of_discrete_games(half, n, radius):
    rows, y = quantile_games(half, n)
    X = np.append(rows[..., 0], rows.mean(axis=1), axis=1)
    weights = np.zeros((2, *X.shape))
    weights[0, :, :-1], weights[1, :, -1] = 1 / n**2, 1 / n
    values, vectors = np.linalg.eigh(np.exp(-(np.subtract.outer(X.ravel(), X.ravel()) ** 2)))
    features = vectors * np.sqrt(np.maximum(values, 0))
    p, target = weights.reshape(2, -1), np.repeat(y, n + 1)
    A = np.array([features.T @ (own[:, None] * features) for own in p])
    return least_max_regret(radius, np.eye(len(target)), A, (p * target) @ features, p @ target**2)


def of_all(half):
    """By quadrature at the worst mixture."""
    p = [stats.norm(scale=np.sqrt(1 + sign * half)).pdf for sign in (1, -1)]
    gap = (B / (1 - half) - B / (1 + half)) ** 2

    def value(a):
        def f(x):
            return a * p[0](x) * (1 - a) * p[1](x) / (a * p[0](x) + (1 - a) * p[1](x)) * gap * x**2

        return 2 * integrate.quad(f, 0, 9)[0]

    return -optimize.minimize_scalar(lambda a: -value(a), bounds=(0.01, 0.99), method="bounded").fun


@pytest.mark.parametrize("half", some([0.2, 0.6], 0.2))
def test_minimax_values_equal_independent_programs(half):
    assert study.minimax(half) == pytest.approx(of_linear(half), rel=1e-5)
    assert study.minimax_of_kernel(half, 4.0) == pytest.approx(of_kernel(half, 4.0), rel=1e-5)
    assert study.minimax_of_all(half) == pytest.approx(of_all(half), rel=1e-5)


@pytest.mark.long
def test_unavoidable_regret_of_discrete_games_equals_independent_programs():
    points, labels = quantile_games(0.6, 4)
    linear = unavoidable_regret_of_games(points, study.RADIUS, labels)
    assert linear == pytest.approx(study.minimax(0.6), rel=1e-5)
    of_kernel = unavoidable_regret_of_games(points, 1.5, labels, kernel=jo.kernels.Gaussian(1.0))
    assert of_kernel == pytest.approx(of_discrete_games(0.6, 4, 1.5), rel=1e-3)


def test_the_middle_has_the_minimax_regret_at_both_ends():
    half = 0.6
    middle = C - np.sqrt((C - 1) ** 2 - half**2)
    at_ends = [study.regret_of(middle, 1 + sign * half) for sign in (1, -1)]
    np.testing.assert_allclose(at_ends, of_linear(half), rtol=1e-5)
    assert max(study.regret_of(1.0, 1 + sign * half) for sign in (1, -1)) > 1.3 * of_linear(half)


def test_the_lower_bound_uses_the_fisher_information_of_a_pair():
    """The divergence of two copies and the label from those of another variance, with the same law of one copy."""

    def covariance(s):
        pair = np.array([[1.7, 1.7 - s], [1.7 - s, 1.7]])
        return np.block([
            [pair, np.zeros((2, 2)), np.full((2, 1), B)], [np.zeros((2, 2)), pair, np.zeros((2, 1))],
            [np.full((1, 2), B), np.zeros((1, 2)), np.full((1, 1), V)],
        ])  # fmt: skip

    step, K = 1e-3, covariance(0.7)
    product = np.linalg.solve(covariance(0.7 + step), K)
    divergence = (np.trace(product) - 5 - np.linalg.slogdet(product)[1]) / 2
    information = 2 * divergence / step**2
    assert study.least_regret(0.7, 0.1) == pytest.approx(B**2 / (8 * 0.1 * information), rel=5e-3)


class Copies:
    """An oracle of two given copies and a label."""

    def __init__(self, rows, y):
        self.rows, self.y = jnp.asarray(rows), jnp.asarray(y)

    def label(self):
        return self.y

    def copy(self, index):
        return self.rows[index]

    def copies(self, first, capacity, number):
        return jnp.where(jnp.arange(capacity, dtype=jnp.int32)[:, None] < number, self.rows, 0.0)


def play(learner, X, y, keys):
    """The hypotheses of a learner of this study, round by round."""
    spec = jax.ShapeDtypeStruct(X.shape[2:], X.dtype), jax.ShapeDtypeStruct((), X.dtype)
    state, hypotheses = learner.init(None, Specs(*spec)), []
    update = jax.jit(lambda key, state, rows, y: learner.update(key, state, Copies(rows, y))[0])
    for key, rows, target in zip(keys, X, y, strict=True):
        state = update(key, state, rows, target)
        hypotheses.append(np.asarray(state.w))
    return np.array(hypotheses)


def step(w, gradient, eta, t, radius):
    w = w - eta / np.sqrt(t) * gradient
    return w * min(1.0, radius / np.linalg.norm(w))


@pytest.mark.parametrize(("share", "singles", "eta", "radius"), [(0.3, True, 0.4, 0.8), (0.6, False, 0.2, 1.1)])
def test_partly_paired_equals_a_numpy_loop(share, singles, eta, radius):
    rng, keys = np.random.default_rng(0), jax.random.split(jax.random.key(1), 40)
    X, y = rng.normal(size=(40, 2, 3)), rng.normal(size=40)
    w, t, pairs, expected = np.zeros(3), 0, [], []
    with jax.enable_x64(True):
        uniform = [float(jax.random.uniform(key, (), jnp.float64)) for key in keys]
        played = play(study.PartlyPaired(share, float(singles), jo.InverseSqrt(eta), radius), X, y, keys)
    for (x, other), target, u in zip(X, y, uniform, strict=True):
        if not pairs or u < share:
            gradient = (w @ x - target) * other + (w @ other - target) * x
        elif singles:
            gradient = 2 * (w @ x - target) * x - 2 * np.mean(pairs, axis=0) @ w
        if not pairs or u < share or singles:
            t += 1
            w = step(w, gradient, eta, t, radius)
        if not pairs or u < share:
            pairs.append(np.outer(x - other, x - other) / 2)
        expected.append(w)
    assert 3 < len(pairs) < 35
    np.testing.assert_allclose(played, expected, rtol=1e-10)


@pytest.mark.parametrize(("low", "high", "eta", "radius"), [(0.0, 0.5, 0.3, 1.0), (0.4, 0.9, 0.1, 0.3)])
def test_known_set_equals_a_numpy_loop(low, high, eta, radius):
    rng, keys = np.random.default_rng(0), jax.random.split(jax.random.key(1), 40)
    X, y = rng.normal(size=(40, 2, 2)), rng.normal(size=40)
    w, squares, expected = np.zeros(2), 0.0, []
    with jax.enable_x64(True):
        played = play(study.KnownSet(low, high, jo.InverseSqrt(eta), radius), X, y, keys)
    for t, (x, target) in enumerate(zip(X[:, 0], y, strict=True), 1):
        squares += float(x @ x) / 2
        moment = np.sqrt(max(squares / t - low, 0) * max(squares / t - high, 0))
        w = step(w, 2 * (w @ x - target) * x - 2 * (squares / t - moment) * w, eta, t, radius)
        expected.append(w)
    np.testing.assert_allclose(played, expected, rtol=1e-10)


@pytest.mark.long
def test_the_quick_study_counts_queries_and_respects_the_minimax_value():
    context = Context(mesh=default_mesh(jax.devices()[:1]))
    tables = study.OneCopy(**QUICK["one-copy"]).run(context).tables
    for row in tables["shares"].rows:
        wanted = {study.PAIRS: 2 * (row["share"] or 0), study.KNOWN: 1}.get(row["learner"], 1 + (row["share"] or 0))
        assert row["queries_per_round"] == pytest.approx(wanted, abs=0.05)
    for name in (study.CLEAN, study.CENTRE, study.MINIMAX, study.LOW, study.HIGH):
        pair = [row for row in tables["sets"].rows if row["learner"] == name]
        assert max(row["limit"] for row in pair) >= pair[0]["minimax"] - 1e-12
        assert max(row["high"] for row in pair) > pair[0]["minimax"]
