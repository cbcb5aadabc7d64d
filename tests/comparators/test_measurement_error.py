"""Errors-in-variables methods: published numbers, closed forms, other libraries, and consistency.

Consistency tests have a fixed seed and allow 5 standard errors of each coordinate: a false alarm has a probability
below 1e-5 for the at most ten coordinates of a test. The standard errors are bounded by hand in the tests. Each of them
detects the naive method, whose bias is larger than 20 of these errors.
"""

import jax
import numpy as np
import pytest
from measurement_error_reference import extrapolant, minimise_over_pairs, orthogonal_slope, svd_total_least_squares
from scipy import optimize

import jaxonline as jo
from jaxonline.comparators import (
    calibrate_rows,
    corrected_score,
    extrapolate,
    least_squares,
    logistic_regression,
    mc_simex,
    regression_calibration,
    simex,
    total_least_squares,
)
from jaxonline.feedback import ReplicatesOracle, replicate_covariance

W = np.array([0.8, -0.5, 0.3])
SIGMA = np.array([[0.5, 0.2, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.2]])
N = 40_000


def noisy_rows(n=N, seed=0, skewed=False, label_std=0.3):
    """Clean rows of variance 1, noisy rows, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, 3)) - 1 if skewed else rng.normal(size=(n, 3))
    y = X @ W + label_std * rng.normal(size=n)
    return X, X + rng.normal(size=(n, 3)) @ np.linalg.cholesky(SIGMA).T, y


# ---------------------------------------------------------------------------------------------------------------------
# Least squares, total least squares, the corrected score

# Fuller (1987), example 1.2.1: soil nitrogen of 11 sites, with noise of variance 57, and yields of corn
NITROGEN = np.array([70, 97, 53, 64, 95, 64, 50, 70, 94, 69, 51.0])
YIELD = np.array([86, 115, 90, 86, 110, 91, 99, 96, 99, 104, 96.0])


def test_the_corrected_score_has_the_published_slope_of_corn_yields():
    """The published slope is 0.4232 and the intercept 67.56; least squares has the slope 0.3440. The book divides sums
    by n - 1. An intercept is a column of ones without noise."""
    X = np.column_stack([NITROGEN, np.ones(11)])
    w, share = corrected_score(X, YIELD, [57 * 10 / 11, 0.0])
    np.testing.assert_allclose(w, [0.4232, 67.56], atol=5e-3, rtol=2e-4)
    assert share == 1.0
    assert least_squares(X, YIELD)[0] == pytest.approx(0.3440, abs=5e-5)
    calibrated = regression_calibration(X, YIELD, [57 * 10 / 11, 0.0])
    np.testing.assert_allclose(calibrated, w, rtol=1e-8)


# Pearson (1901), "On lines and planes of closest fit"
PEARSON_X = np.array([0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4])
PEARSON_Y = np.array([5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5])


def test_total_least_squares_has_the_published_line_of_pearson():
    """Pearson's line of closest fit is y = 5.784 - 0.5456 x."""
    w = total_least_squares(np.column_stack([PEARSON_X, np.ones(10)]), PEARSON_Y, [1.0, 0.0], 1.0)
    np.testing.assert_allclose(w, [-0.5456, 5.784], atol=6e-4)


@pytest.mark.filterwarnings("ignore:`scipy.odr` is deprecated:DeprecationWarning")
def test_total_least_squares_equals_odrpack():
    odr = pytest.importorskip("scipy.odr")
    _, X, y = noisy_rows(60)
    sd = np.sqrt([0.5, 0.3, 0.2])
    data = odr.RealData(X.T, y, sx=np.tile(sd[:, None], 60), sy=0.3)
    fit = odr.ODR(data, odr.Model(lambda w, x: w @ x), beta0=W, maxit=500, sstol=1e-14, partol=1e-14).run()
    np.testing.assert_allclose(total_least_squares(X, y, sd**2, 0.09), fit.beta, rtol=1e-5)


def test_total_least_squares_equals_the_singular_vector_of_whitened_rows():
    _, X, y = noisy_rows(50)
    expected = svd_total_least_squares(X, y, SIGMA, 0.09)
    np.testing.assert_allclose(total_least_squares(X, y, SIGMA, 0.09), expected, rtol=1e-9)
    np.testing.assert_allclose(total_least_squares(X, y, 7 * SIGMA, 0.63), expected, rtol=1e-9)
    assert np.abs(total_least_squares(X, y, 1 / 3, 0.09) - expected).max() > 0.01


def test_total_least_squares_is_too_long_if_the_model_has_an_error():
    """Closed form of Carroll and Ruppert (1996): true slope 1, limit 1.545. The standard error is below 0.01."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=N)
    y = x + np.sqrt(0.5) * rng.normal(size=N) + np.sqrt(0.25) * rng.normal(size=N)
    noisy = (x + np.sqrt(0.25) * rng.normal(size=N))[:, None]
    limit = orthogonal_slope(1.0, 0.5, 0.25, 0.25, 1.0)
    assert limit > 1.2
    assert total_least_squares(noisy, y, 0.25, 0.25)[0] == pytest.approx(limit, abs=0.05)
    assert total_least_squares(noisy, y, 0.25, 0.75)[0] == pytest.approx(1.0, abs=0.05)


def test_least_squares_is_attenuated_by_the_reliability():
    """The limit is (S + Sigma)^-1 S w with S = I; standard errors are below 0.005."""
    _, X, y = noisy_rows()
    np.testing.assert_allclose(least_squares(X, y), np.linalg.solve(np.eye(3) + SIGMA, W), atol=0.025)
    one, clean = X[:, :1], X[:, 0] - X[:, 0].mean()
    np.testing.assert_allclose(least_squares(one, clean), [1.0], atol=1e-3)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("method", ["score", "total", "calibration"])
def test_consistent_methods_find_w(method, skewed):
    """Standard errors of the three methods are below 0.008; the bias of least squares is above 0.1."""
    _, X, y = noisy_rows(skewed=skewed)
    estimate = {
        "score": lambda covariance: corrected_score(X, y, covariance).w,
        "total": lambda covariance: total_least_squares(X, y, covariance, 0.09),
        "calibration": lambda covariance: regression_calibration(X, y, covariance),
    }[method]
    np.testing.assert_allclose(estimate(SIGMA), W, atol=0.04)
    assert np.abs(estimate(SIGMA / 4) - W).max() > 0.08  # a wrong covariance is detected
    assert np.abs(least_squares(X, y) - W).max() > 0.1


def test_the_corrected_score_of_means_minimises_the_loss_of_all_pairs_of_copies():
    """So the gradients of `PairsOfCopies` at this w add up to 0."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    copies = X[:, None] + 0.3 * rng.normal(size=(12, 4, 3))
    w, share = corrected_score(copies.mean(axis=1), y, replicate_covariance(copies) / 4)
    assert share == 1.0
    np.testing.assert_allclose(w, minimise_over_pairs(copies, y), rtol=1e-9)
    pairs, zero = jo.estimators.PairsOfCopies(4), np.zeros(3)
    with jax.enable_x64(True):
        gradients = [
            pairs(None, w, ReplicatesOracle(jax.numpy.array(row), None, jax.numpy.array(target)))
            for row, target in zip(copies, y, strict=True)
        ]
    np.testing.assert_allclose(np.sum(gradients, axis=0), zero, atol=1e-10)


def test_the_safeguard_keeps_the_corrected_score_near_w():
    """Ten rows, noise of variance 1: the moments minus Sigma are nearly singular in some samples, and the unguarded
    solution is far from w in them. The guarded matrix is positive definite."""
    rng, guarded, plain, acted = np.random.default_rng(3), [], [], 0
    for _ in range(200):
        x = rng.normal(size=(10, 2))
        X, y = x + rng.normal(size=(10, 2)), x @ W[:2] + 0.1 * rng.normal(size=10)
        w, share = corrected_score(X, y, 1.0)
        moments = X.T @ X / 10
        assert np.linalg.eigvalsh(moments - share * np.eye(2))[0] > 0
        acted += share < 1
        guarded.append(np.linalg.norm(w - W[:2]))
        plain.append(np.linalg.norm(np.linalg.solve(moments - np.eye(2), X.T @ y / 10) - W[:2]))
    assert 20 < acted < 200
    assert max(guarded) < max(plain) / 5
    assert np.mean(guarded) < np.mean(plain) / 2


# ---------------------------------------------------------------------------------------------------------------------
# Regression calibration and SIMEX


def quadratic(X, y):
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X[:, 0], X[:, 0] ** 2]), y, rcond=None)[0][1:]


def test_calibration_of_a_nonlinear_model_needs_a_linear_regression_of_the_instances():
    """The model is y = x + x^2. Gaussian instances: E[x^2 | x~] is the square of the calibrated x plus a constant, so
    that the estimates converge to (1, 1); standard errors are below 0.02. Skewed instances: they do not."""
    rng = np.random.default_rng(4)
    estimates = {}
    for name, x in {"gaussian": rng.normal(size=N), "skewed": rng.exponential(size=N) - 1}.items():
        noisy = x + np.sqrt(0.5) * rng.normal(size=N)
        estimates[name] = regression_calibration(noisy[:, None], x + x**2, 0.5, fit=quadratic)
    np.testing.assert_allclose(estimates["gaussian"], [1.0, 1.0], atol=0.1)
    assert np.abs(estimates["skewed"] - 1).max() > 0.3


def test_calibrated_rows_have_the_mean_and_the_covariance_of_best_predictions():
    _, X, y = noisy_rows(500)
    rows, centred = calibrate_rows(X, SIGMA), X - X.mean(axis=0)
    total = centred.T @ centred / 500
    np.testing.assert_allclose(rows.mean(axis=0), X.mean(axis=0), atol=1e-12)
    expected = (total - SIGMA) @ np.linalg.inv(total) @ (total - SIGMA)
    np.testing.assert_allclose(np.cov(rows.T, ddof=0), expected, rtol=1e-9)
    np.testing.assert_allclose(calibrate_rows(X, 0.0), X, rtol=1e-9)
    w = regression_calibration(centred, y, SIGMA)
    np.testing.assert_allclose(w, corrected_score(centred, y, SIGMA).w, rtol=1e-9)


def test_noise_above_the_covariance_of_the_rows_is_an_error():
    _, X, y = noisy_rows(200)
    largest = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[0]
    np.testing.assert_allclose(np.linalg.matrix_rank(calibrate_rows(X, largest) - X.mean(axis=0)), 2)
    for covariance in (1.001 * largest, 100.0):
        with pytest.raises(ValueError, match=r"covariance: must be below the covariance of the rows.*eigenvalue -"):
            regression_calibration(X, y, covariance)


@pytest.mark.parametrize("degree", [1, 2])
def test_simex_converges_to_the_extrapolant_of_the_attenuated_slope(degree):
    """In one dimension the slope at a level is w / (1 + (1 + level) sigma^2); with w = 1 and sigma^2 = 0.5 the limits
    are 0.803 (linear) and 0.919 (quadratic). Standard errors are below 0.01."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=N)
    noisy = (x + np.sqrt(0.5) * rng.normal(size=N))[:, None]
    limit = extrapolant(lambda level: 1 / (1 + (1 + level) * 0.5), degree)
    estimate = simex(noisy, x, 0.5, degree=degree, n_resamples=4)
    assert estimate.w[0] == pytest.approx(limit, abs=0.05)
    assert 0.05 < 1 - limit < 1 - 1 / 1.5
    np.testing.assert_array_equal(estimate.estimates[0], least_squares(noisy, x))
    assert estimate.levels.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_simex_adds_noise_of_the_given_covariance():
    """The limit at the level 2 is (I + 3 Sigma)^-1 w; standard errors are below 0.005."""
    _, X, y = noisy_rows()
    estimate = simex(X, y, SIGMA, n_resamples=4)
    np.testing.assert_allclose(estimate.estimates[-1], np.linalg.solve(np.eye(3) + 3 * SIGMA, W), atol=0.025)
    same = simex(X, y, SIGMA, n_resamples=4)
    np.testing.assert_array_equal(same.w, estimate.w)
    np.testing.assert_allclose(simex(X, y, 0.0, n_resamples=1).w, least_squares(X, y), rtol=1e-9)


def test_simex_does_not_add_the_random_numbers_of_rows_with_the_same_seed():
    """Rows of `default_rng(0)`, and SIMEX with the seed 0. With noise equal to the rows, the slope at the level 2 would
    be 0.35 instead of 1 / 2.5. The standard error is below 0.003."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 1))
    noisy = x + np.sqrt(0.5) * rng.standard_normal((N, 1))
    estimate = simex(noisy, x[:, 0], 0.5, n_resamples=1, seed=0)
    assert estimate.estimates[-1, 0] == pytest.approx(1 / 2.5, abs=0.015)
    same = least_squares(noisy + np.random.default_rng(0).standard_normal((N, 1)), x[:, 0])
    assert abs(same[0] - 1 / 2.5) > 0.03


def test_a_polynomial_is_extrapolated_exactly():
    levels = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    values = np.stack([1 + levels**2, 3 - levels], axis=1)
    np.testing.assert_allclose(extrapolate(levels, values, 2), [2.0, 4.0], atol=1e-12)
    assert extrapolate(levels, values, 1)[0] == pytest.approx(extrapolant(lambda level: 1 + level**2, 1))
    assert abs(extrapolate(levels, values, 1)[0] - 2.0) > 0.5


# ---------------------------------------------------------------------------------------------------------------------
# Flipped labels


def flipped_labels(n, rate, seed=6):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-3 * X @ W)), 1.0, -1.0)
    return X, y, np.where(rng.uniform(size=n) < rate, -y, y)


def test_logistic_regression_equals_a_general_optimiser():
    X, y, _ = flipped_labels(300, 0.2)
    found = optimize.minimize(lambda w: np.log1p(np.exp(-y * (X @ w))).sum(), np.zeros(3), tol=1e-10)
    np.testing.assert_allclose(logistic_regression(X, y), found.x, rtol=1e-4)


@pytest.mark.long
def test_logistic_regression_equals_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    X, y, _ = flipped_labels(300, 0.2)
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(logistic_regression(X, y), model.coef_[0], rtol=1e-5)


def test_the_unbiased_loss_finds_w_and_the_naive_loss_does_not():
    """Standard errors are below 0.06 (flip rate 0.2 multiplies those of clean labels by less than 2)."""
    X, _, flipped = flipped_labels(N, 0.2)
    np.testing.assert_allclose(logistic_regression(X, flipped, 0.2), 3 * W, atol=0.3)
    assert np.abs(logistic_regression(X, flipped) - 3 * W).max() > 1.0


def test_the_mean_of_the_unbiased_score_over_all_flips_is_the_clean_score():
    """By enumeration of the flips of three labels; without the factor 1 / (1 - 2q) it is not."""
    X, y, _ = flipped_labels(3, 0.2)

    def score(labels, w):
        return X.T @ (np.tanh(X @ w / 2) - labels) / 6

    for scale, equal in ((1 - 2 * 0.2, True), (1.0, False)):
        mean = np.zeros(3)
        for flips in np.ndindex(2, 2, 2):
            weight = np.prod(np.where(flips, 0.2, 0.8))
            mean += weight * score(np.where(flips, -y, y) / scale, W)
        assert np.allclose(mean, score(y, W), atol=1e-12) == equal
    X, _, flipped = flipped_labels(400, 0.2)
    w = logistic_regression(X, flipped, 0.2)
    np.testing.assert_allclose(X.T @ (np.tanh(X @ w / 2) - flipped / 0.6) / 400, 0.0, atol=1e-7)


@pytest.mark.parametrize("degree", [1, 2])
def test_mc_simex_converges_to_the_extrapolant_of_the_flipped_mean(degree):
    """A constant instance: with the mean mu of clean labels, the estimate at a level is 2 artanh(mu (1 - 2q)^(1 +
    level)). The standard error of the extrapolation is below 0.03."""
    rng = np.random.default_rng(7)
    y = np.repeat([1.0, -1.0], [15_000, 5000])
    flipped = np.where(rng.uniform(size=len(y)) < 0.1, -y, y)
    limit = extrapolant(lambda level: 2 * np.arctanh(0.5 * 0.8 ** (1 + level)), degree)

    def fit(X, y):
        return 2 * np.arctanh(X.T @ y / len(y))

    estimate = mc_simex(np.ones((len(y), 1)), flipped, 0.1, fit, degree, n_resamples=3)
    np.testing.assert_allclose(estimate.estimates[0], logistic_regression(np.ones((len(y), 1)), flipped), rtol=1e-5)
    assert estimate.w[0] == pytest.approx(limit, abs=0.15)
    assert estimate.estimates[0, 0] == pytest.approx(2 * np.arctanh(0.4), abs=0.08)
    assert abs(estimate.estimates[0, 0] - limit) > 0.08


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "must return a vector, the estimate.*got None"),
        (([1.0], 0.5), "must return a vector, the estimate"),
        ("w", "must hold real numbers"),
        ([[1.0]], "must have 1 dimension .*got shape"),
        ([np.nan], "must be finite"),
    ],
)
def test_bad_results_of_fit_are_errors_of_fit(result, problem):
    X, y = np.ones((4, 1)), np.array([1.0, 1.0, 1.0, -1.0])
    for method in (simex, mc_simex):
        with pytest.raises((TypeError, ValueError), match=f"^fit: {problem}"):
            method(X, y, 0.1, fit=lambda X, y: result)
        results = iter([[1.0], [1.0, 2.0]])
        with pytest.raises(ValueError, match=r"^fit: must return vectors of one length \(got the lengths 1 and 2"):
            method(X, y, 0.1, fit=lambda X, y, results=results: next(results))


def test_labels_without_a_minimum_raise_an_error():
    for X in (np.eye(4)[:, :2] * 0 + [1.0, 0.0], np.ones((4, 2))):
        with pytest.raises(ValueError, match=r"X: must have linearly independent columns \(got the rank 1 of 2"):
            logistic_regression(X, [1.0, 1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match=r"y: must be labels for which the loss has one minimum"):
        logistic_regression(np.array([[1.0], [2.0], [-1.0]]), [1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match=r"y: must be labels"):
        logistic_regression(np.ones((4, 1)), [1.0, 1.0, 1.0, -1.0], flip_rate=0.3)  # mean label 0.5 / 0.4
