"""The best linear predictor in a ball: SciPy's optimisers, optimality conditions, and closed forms."""

import functools
import itertools

import numpy as np
import pytest
from scipy import optimize

import jaxonline as jo
from jaxonline.comparators import (
    BestExpert,
    BestOfEachRound,
    BestPulls,
    BestSegments,
    L1Ball,
    QuadraticSums,
    best_in_l1_ball,
    best_in_l2_ball,
    cumulative_statistic,
)
from jaxonline.kernels import Gaussian
from jaxonline.losses import SmallestArms

RADII = [0.01, 0.3, 1.0, 5.0, np.inf]


def data(seed: int, n: int, d: int, rank: int | None = None, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * scale
    if rank is not None:
        X = (rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))) * scale
    return X, X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)


def sums(X: np.ndarray, y: np.ndarray) -> QuadraticSums:
    return QuadraticSums(X.T @ X, X.T @ y, np.float64(y @ y))


def loss(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return float(np.sum((X @ w - y) ** 2))


CASES = {
    "tall": data(0, 50, 4),
    "square": data(1, 5, 5),
    "wide": data(2, 3, 6),
    "singular": data(3, 30, 5, rank=2),
    "one column": data(4, 10, 1),
    "one row": data(5, 1, 4),
    "small numbers": data(6, 20, 3, scale=1e-4),
    "large numbers": data(7, 20, 3, scale=1e4),
    "columns of unlike size": (data(8, 40, 3)[0] * np.array([1.0, 0.03, 30.0]), data(8, 40, 3)[1]),
}


def check_optimality(X, y, radius):
    """The conditions of optimality, which are sufficient here: the gradient vanishes inside the ball, and on its
    border points straight out: (X'X + mu) w = X'y with mu >= 0, mu (|w| - radius) = 0. And the loss is that of w."""
    best, w = best_in_l2_ball(sums(X, y), radius)
    np.testing.assert_allclose(best, loss(X, y, w), rtol=1e-9, atol=1e-12 * (y @ y))
    assert np.linalg.norm(w) <= radius * (1 + 1e-12)
    force = X.T @ y - X.T @ X @ w  # mu w
    unit = np.linalg.norm(X.T @ y)
    if np.linalg.norm(w) < radius * (1 - 1e-9):
        np.testing.assert_allclose(force, 0.0, atol=1e-9 * unit)
    else:
        mu = force @ w / (w @ w)
        assert mu >= -1e-9 * unit / np.linalg.norm(w)
        np.testing.assert_allclose(force, mu * w, atol=1e-9 * unit)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("case", CASES)
def test_l2_ball_satisfies_the_optimality_conditions(case, radius):
    check_optimality(*CASES[case], radius)


@pytest.mark.parametrize("radius", [0.3, 1.0])
@pytest.mark.parametrize("case", ["tall", "wide", "singular"])
def test_l2_ball_matches_a_general_optimiser(case, radius):
    X, y = CASES[case]
    start = np.full(X.shape[1], 0.1 * radius)
    constraint = {"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}
    options = {"jac": lambda w: 2 * X.T @ (X @ w - y), "method": "SLSQP", "constraints": [constraint]}
    found = optimize.minimize(lambda w: loss(X, y, w), start, **options, options={"ftol": 1e-11, "maxiter": 500})
    assert found.success, found.message
    np.testing.assert_allclose(jo.L2Ball(radius).best_loss(sums(X, y)), found.fun, rtol=1e-7)


def test_results_do_not_depend_on_the_batch():
    """Problems of a batch need different numbers of Newton steps, and each takes only its own."""
    problems = [sums(*data(seed, 5 + seed, 4, 2 if seed % 2 else None, 1.0 + seed)) for seed in range(60)]
    batch = QuadraticSums(*map(np.stack, zip(*problems, strict=True)))
    for radius in (0.01, 0.1, 0.3, np.inf):
        whole = best_in_l2_ball(batch, radius)
        for size in (1, 4):
            parts = [
                best_in_l2_ball(QuadraticSums(*(part[i : i + size] for part in batch)), radius)
                for i in range(0, len(problems), size)
            ]
            for of_batch, of_parts in zip(whole, zip(*parts, strict=True), strict=True):
                np.testing.assert_array_equal(of_batch, np.concatenate(of_parts))
        nested = best_in_l2_ball(QuadraticSums(*(part.reshape(2, 30, *part.shape[1:]) for part in batch)), radius)
        np.testing.assert_array_equal(nested[0], whole[0].reshape(2, 30))
        np.testing.assert_array_equal(nested[1], whole[1].reshape(2, 30, 4))


@pytest.mark.parametrize("radius", RADII)
def test_zero_sums_give_the_zero_predictor(radius):
    best, w = best_in_l2_ball(QuadraticSums(np.zeros((2, 3, 3)), np.zeros((2, 3)), np.array([0.0, 4.0])), radius)
    assert best.tolist() == [0.0, 4.0]
    assert (w == 0).all()


def test_a_problem_that_is_not_finite_leaves_the_others_unchanged():
    good, bad = sums(*data(0, 8, 3)), sums(*data(1, 8, 3))
    for part in range(3):
        broken = QuadraticSums(*(np.where(i == part, np.nan, each) for i, each in enumerate(bad)))
        batch = QuadraticSums(*(np.stack(each) for each in zip(broken, good, strict=True)))
        losses, predictors = best_in_l2_ball(batch, 1.0)
        assert np.isnan(losses[0])
        assert np.isnan(predictors[0]).all()
        np.testing.assert_allclose(losses[1], best_in_l2_ball(good, 1.0)[0], rtol=1e-12)


def test_cumulative_statistic_sums_over_the_rows(both_precisions):
    X, y = CASES["tall"]
    got = cumulative_statistic(jo.L2Ball(1.0), X, y)
    tolerance = 1e-13 if both_precisions == np.float64 else 1e-5
    for part, wanted in zip(got, sums(X, y), strict=True):
        assert part.dtype == np.float64
        np.testing.assert_allclose(part, wanted, rtol=tolerance, atol=tolerance)


def test_float32_sums_of_wide_data_are_accurate_up_to_rounding():
    """Float32 sums have small eigenvalues that should be zero; they do not change the loss."""
    X, y = data(20, 4, 8)
    single = QuadraticSums(*(np.asarray(part, np.float32) for part in sums(X, y)))
    for radius in (0.5, 1.0, 5.0):
        exact = best_in_l2_ball(sums(X, y), radius)[0]
        assert abs(best_in_l2_ball(single, radius)[0] - exact) < 1e-5 * (y @ y)
    assert abs(best_in_l2_ball(single, np.inf)[0]) < 1e-3 * (y @ y)


@pytest.mark.parametrize("radius", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("case", CASES)
def test_l1_ball_satisfies_the_optimality_conditions(case, radius):
    """The gap shows that every other predictor of the ball is better by rounding at most."""
    X, y = CASES[case]
    found = best_in_l1_ball(sums(X, y), radius)
    np.testing.assert_allclose(found.loss, loss(X, y, found.w), rtol=1e-9, atol=1e-12 * (y @ y))
    assert np.abs(found.w).sum() <= radius * (1 + 1e-12)
    slope = 2 * (X.T @ X @ found.w - X.T @ y)
    assert found.gap == pytest.approx(slope @ found.w + radius * np.abs(slope).max(), abs=1e-9 * (y @ y))
    assert found.gap <= 1e-9 * (y @ y)
    assert best_in_l2_ball(sums(X, y), radius)[0] <= found.loss + 1e-9 * (y @ y), "the l1 ball is in the l2 ball"


def test_l1_ball_matches_the_lasso():
    """Scikit-learn's Lasso with the multiplier as penalty has the same predictor; batches are rows; NaN stays NaN."""
    from sklearn.linear_model import Lasso

    X, y = CASES["tall"]
    found = best_in_l1_ball(sums(X, y), 0.5)
    slope = 2 * (X.T @ X @ found.w - X.T @ y)
    lasso = Lasso(alpha=np.abs(slope).max() / (2 * len(y)), fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(lasso.coef_, found.w, atol=1e-6)
    other = sums(*CASES["columns of unlike size"][:2])
    three = [sums(X[:, :3], y), other, QuadraticSums(np.full((3, 3), np.nan), np.zeros(3), np.float64(1.0))]
    together = L1Ball(0.5).best_loss(QuadraticSums(*(np.stack(part) for part in zip(*three, strict=True))))
    np.testing.assert_allclose(together[:2], [best_in_l1_ball(each, 0.5).loss for each in three[:2]])
    assert np.isnan(together[2])


def ridge_on_sphere(A, b, metric, radius):
    """The w with w' metric w = radius^2 and (A + mu metric) w = b."""

    def w(mu):
        return np.linalg.solve(A + mu * metric, b)

    return w(optimize.brentq(lambda mu: w(mu) @ metric @ w(mu) - radius**2, 1e-9, 1e6, xtol=1e-13))


def l2_ball(X, y, *, radius):
    return loss(X, y, ridge_on_sphere(X.T @ X, X.T @ y, np.eye(3), radius))


def l1_ball(X, y, *, radius):
    """The best point of the faces of the octahedron, on which the signs are known."""
    faces = [np.array(signs)[:, None] * np.eye(3) * radius for signs in itertools.product([-1.0, 1.0], repeat=3)]
    points = [optimize.nnls(np.vstack([X @ face, np.full(3, 1e6)]), np.append(y, 1e6))[0] for face in faces]
    return min(loss(X, y, face @ point) for face, point in zip(faces, points, strict=True))


def rkhs_ball(X, y, *, radius, width):
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / width**2)
    return loss(K, y, ridge_on_sphere(K @ K, K @ y, K, radius))


def best_segments(_, losses, *, most):
    paths = itertools.product(range(3), repeat=len(losses))
    switches = ((path, np.count_nonzero(np.diff(path))) for path in paths)
    return min(losses[np.arange(len(losses)), path].sum() for path, number in switches if number < most)


ROWS = data(0, 12, 3)
ADVICE, LABELS = (
    np.random.default_rng(1).choice(values, size) for values, size in (([-1.0, 0.0, 1.0], (12, 3)), ([-1.0, 1.0], 12))
)
LOSSES = np.random.default_rng(2).uniform(size=(6, 3))
DUELS = np.array([[0.5, 0.25, 0.375], [0.75, 0.5, 0.625], [0.625, 0.375, 0.5]])
of = functools.partial
LOOPS = {
    "l2 ball": (jo.L2Ball(0.4), of(l2_ball, radius=0.4), ROWS),
    "l1 ball": (L1Ball(0.4), of(l1_ball, radius=0.4), ROWS),
    "RKHS ball": (jo.RKHSBall(Gaussian(1.3), 0.4), of(rkhs_ball, radius=0.4, width=1.3), ROWS),
    "arm": (jo.BestArm(), lambda _, losses: losses.sum(axis=0).min(), (LOSSES, LOSSES)),
    "expert": (
        BestExpert(), of(lambda X, y, *, limit: (y[:, None] * X <= limit).sum(axis=0).min(), limit=0), (ADVICE, LABELS)
    ),
    "set": (jo.BestSet(SmallestArms(2)), of(lambda _, y, *, m: np.sort(y.sum(0))[:m].sum(), m=2), (LOSSES, LOSSES)),
    "segments": (BestSegments(3), of(best_segments, most=3), (LOSSES, LOSSES)),
    "each round": (BestOfEachRound(), lambda _, losses: losses.min(axis=1).sum(), (LOSSES, LOSSES)),
    "winner": (
        jo.CondorcetWinner(DUELS),
        of(lambda _, duels, *, winner, half: (duels[:, winner, winner] - half).sum(), winner=1, half=0.5),
        (LOSSES, np.tile(DUELS + np.diag([0.1, 0.2, 0.4]), (6, 1, 1))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_comparator_equals_its_loop_in_which_every_constant_decides(name, x64):
    comparator, loop, (X, y) = LOOPS[name]
    if hasattr(comparator, "statistic"):
        found = comparator.best_loss(cumulative_statistic(comparator, X, y))
    else:
        found = comparator.best_losses(X, y, np.array([len(y)]))[0]
    expected = loop(X, y)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    for constant, value in getattr(loop, "keywords", {}).items():
        for other in (value - 1, value + 1) if isinstance(value, int) else (value - 0.05, value + 0.05):
            assert abs(loop(X, y, **{constant: other}) - expected) > 1e-4, (constant, other)


@pytest.mark.long
def test_best_pulls_equal_brute_force_and_greedy_pulls():
    """All sequences of 7 pulls of three arms; for losses that increase with the pulls, the smallest losses."""
    rng = np.random.default_rng(0)
    for means in (rng.uniform(size=(4, 3)), np.sort(rng.uniform(size=(4, 3)), axis=0)):
        best = BestPulls(means.astype(np.float32))
        rows = np.asarray(best.means, float)[[0, 1, 2, 3, 3, 3, 3]]
        totals = np.concatenate([np.zeros((1, 3)), np.cumsum(rows, axis=0)])
        for n_rounds in (1, 4, 7):
            pulls = [split for split in np.ndindex(8, 8, 8) if sum(split) == n_rounds]
            losses = [totals[split, [0, 1, 2]].sum() for split in pulls]
            np.testing.assert_allclose(best.best_loss(np.array([n_rounds])), min(losses), rtol=1e-12)
    np.testing.assert_allclose(best.best_loss(np.array(7)), np.sort(rows.ravel())[:7].sum(), rtol=1e-12)
    arms = jo.environments.RestedArms(means)
    game = jo.Game(arms, jo.Bandit(), jo.losses.ArmLoss(), pseudo=True)
    result = jo.simulate(game, jo.learners.UCB1(), n_runs=3, n_rounds=7, comparator=best, record_at=[4, 7])
    assert (result.values("regret")[0] >= -1e-6).all()
    with pytest.raises(TypeError, match="a column for each arm"):
        jo.simulate(game, jo.learners.UCB1(), n_runs=2, n_rounds=2, comparator=BestPulls([[0.5]]))
