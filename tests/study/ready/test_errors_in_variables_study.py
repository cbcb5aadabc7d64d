"""The study of errors-in-variables methods beside online learners."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from measurement_error_reference import extrapolant

from jaxonline.feedback import ReplicatesOracle
from jaxonline.losses import Logistic
from jaxonline.study import Context
from jaxonline.study.ready import errors_in_variables_labels as labels
from jaxonline.study.ready import errors_in_variables_quadratic as quadratic
from jaxonline.study.ready import errors_in_variables_regression as regression
from jaxonline.study.ready.errors_in_variables import (
    FLIPPED,
    GAUSSIAN,
    QUADRATIC,
    SKEWED,
    ErrorsInVariables,
    compare,
    summarise,
)

UNBIASED = regression.TLS, regression.SCORE_ONE, regression.SCORE, regression.CALIBRATION


def test_every_method_has_a_number_of_copies():
    problems, skipped = ErrorsInVariables(rows=60, resamples=1, sets=()).problems()
    assert [problem.name for problem in problems] == [GAUSSIAN, SKEWED, QUADRATIC, FLIPPED]
    assert skipped == []
    for problem in problems:
        estimates, _ = problem.estimate(problem.draw(np.random.default_rng(0)), 0)
        assert [*estimates, *problem.learners(60)] == list(problem.copies_per_row())


@pytest.mark.parametrize("number", [0, 1], ids=["gaussian", "skewed"])
def test_corrected_methods_find_w_and_others_do_not(number):
    """20,000 rows: standard errors of the corrected methods are below 0.012 a coordinate. The biases of SIMEX are 0.066
    (linear) and 0.025 (quadratic) in the limit. Regression calibration is consistent for skewed instances too."""
    problem = ErrorsInVariables(rows=20_000, resamples=3, sets=()).problems()[0][number]
    estimates, guarded = problem.estimate(problem.draw(np.random.default_rng(number)), 0)
    assert not guarded
    errors = {name: np.linalg.norm(w - problem.w) for name, w in estimates.items()}
    assert all(errors[name] < 0.05 for name in (*UNBIASED, regression.CLEAN))
    assert errors[regression.ONE] > errors[regression.MEAN] > errors[regression.SIMEX_1]
    half = problem.covariance / 2  # the covariance of the noise of the mean of two copies
    for name, degree in ((regression.SIMEX_1, 1), (regression.SIMEX_2, 2)):
        limit = extrapolant(lambda level: np.linalg.solve(np.eye(4) + (1 + level) * half, problem.w), degree)
        np.testing.assert_allclose(estimates[name], limit, atol=0.05)
    assert errors[regression.TLS_RATIO] > 0.07
    assert np.linalg.norm(estimates[regression.CALIBRATION] - estimates[regression.SCORE]) < 1e-3


def test_calibration_is_biased_in_the_quadratic_model_and_the_corrected_score_is_not():
    """200,000 rows: standard errors of the corrected score are below 0.01. The bias of regression calibration, 0.27, is
    larger than that of least squares on the mean of the copies, 0.18."""
    problem = ErrorsInVariables(rows=200_000, resamples=1, sets=()).problems()[0][2]
    estimates, _ = problem.estimate(problem.draw(np.random.default_rng(0)), 0)
    np.testing.assert_allclose(estimates[regression.SCORE], problem.w, atol=0.05)
    error = {name: np.linalg.norm(w - problem.w) for name, w in estimates.items()}
    assert error[regression.CALIBRATION] > 0.22 > error[regression.MEAN] > 0.15 > error[regression.SIMEX_2]


def test_corrected_moments_of_a_quadratic_model_are_unbiased():
    """The mean over the nodes of Gauss and Hermite is exact for these polynomials, up to the rounding of weights."""
    x, variance = np.array([-0.7, 0.4, 1.5, 2.0]), 0.3
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    noisy = np.concatenate([x + np.sqrt(variance) * node for node in nodes])[:, None]
    repeats = np.repeat(np.rint(1e5 * weights / weights.sum()).astype(int), len(x))
    rows = np.repeat(noisy, repeats, axis=0)
    y = np.repeat(np.tile(1 - x + 2 * x**2, len(nodes)), repeats)
    np.testing.assert_allclose(quadratic.corrected_quadratic(rows, y, variance), [1.0, -1.0, 2.0], atol=5e-3)
    assert np.abs(quadratic.fit_quadratic(rows, y) - [1.0, -1.0, 2.0]).max() > 0.1


def test_the_coefficients_of_a_quadratic_hypothesis_are_read_from_its_predictions():
    class Polynomial:
        def predict(self, key, state, x):
            return state[0] + state[1] * x[0] + state[2] * x[0] ** 2

    method = quadratic.quadratic_method(lambda eta: Polynomial(), lambda sample: None)
    np.testing.assert_allclose(method.hypothesis(jnp.array([0.5, -1.0, 2.0])), [0.5, -1.0, 2.0], rtol=1e-6)


def test_a_draw_has_the_declared_noise():
    """The standard error of each covariance is below 0.005."""
    problem = ErrorsInVariables(rows=20_000, sets=()).problems()[0][0]
    sample = problem.draw(np.random.default_rng(0))
    noise = sample.copies[:, 0] - sample.X
    np.testing.assert_allclose(noise.T @ noise / len(noise), problem.covariance, atol=0.025)
    assert np.var(sample.y - sample.X @ problem.w) == pytest.approx(problem.label_variance, rel=0.05)
    np.testing.assert_array_equal(sample.y_test, sample.X_test @ problem.w)


def test_the_gradient_of_the_unbiased_loss_has_the_gradient_of_clean_labels_as_its_mean():
    x, w, rate = jnp.array([0.3, -0.8]), jnp.array([1.0, 0.5]), 0.2
    gradients = [
        labels.UnbiasedLogisticGradient()(None, w, ReplicatesOracle(x[None], None, jnp.float32(y / (1 - 2 * rate))))
        for y in (1.0, -1.0)
    ]
    mean = (1 - rate) * gradients[0] + rate * gradients[1]
    np.testing.assert_allclose(mean, Logistic().gradient(w @ x, 1.0) * x, rtol=1e-5)


def test_the_risk_of_flipped_labels_is_the_expected_logistic_loss():
    problem = labels.FlippedRegression("flips", np.array([2.0, -1.0]), 50, 40, 0.2, 1)
    sample, w = problem.draw(np.random.default_rng(0)), np.array([1.0, 0.3])
    p, a = (1 + sample.y_test) / 2, sample.X_test @ w
    expected = p * np.log1p(np.exp(-a)) + (1 - p) * np.log1p(np.exp(a))
    assert problem.risk(w, sample) == pytest.approx(expected.mean())
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-sample.X_test @ problem.w)))


def test_the_summary_leaves_out_failed_runs():
    """One method without failed runs has the errors (0.3, 0.4) and (-0.3, 0.4) of |w| = 1; the others repeat it."""
    problem = labels.FlippedRegression("flips", np.array([1.0, 0.0]), 50, 40, 0.2, 1)
    names = list(problem.copies_per_row())
    w = np.tile([[1.3, 0.4], [0.7, 0.4]], (len(names), 1, 1))
    w[0, 1] = np.nan
    excess = np.where(np.isnan(w[..., 0]), np.nan, 2.0)
    rows = summarise(problem, {"w": w, "excess": excess, "etas": np.array([0.1]), "n_rows": np.array(50)})
    assert [row["failed"] for row in rows[:2]] == [1, 0]
    assert (rows[1]["bias"], rows[1]["rmse"]) == pytest.approx((0.4, 0.5))
    assert rows[0]["bias"] == rows[0]["rmse"] == pytest.approx(0.5)
    assert rows[1]["bias_error"] == pytest.approx(0.3)  # sqrt(0.18 / 2)
    assert [row["eta"] for row in rows[-2:]] == [None, 0.1]
    assert rows[0]["excess"] == 2.0


def test_methods_on_clean_data_are_not_compared():
    methods = {regression.CLEAN: 0.1, regression.SCORE: 0.3, regression.ONE: 0.4, regression.ONLINE_CLEAN: 0.2}
    methods |= {regression.TWO: 0.5}
    rows = [{"problem": "p", "method": name, "rmse": error} for name, error in methods.items()]
    assert compare(rows) == [
        "p: least RMSE of a method of statistics 0.300 (corrected score, mean) and of an online learner 0.500 (online: "
        "two copies)."
    ]


@pytest.fixture(scope="module")
def report():
    study = ErrorsInVariables(
        runs=6, tuning_runs=2, rows=400, held_out=200, resamples=10, etas=(0.2, 0.4, 0.8), sets=()
    )
    return study.run(Context(seed=1))


@pytest.mark.long
def test_unbiased_online_learners_beat_one_copy_as_if_clean(report):
    rows = {(row["problem"], row["method"]): row for row in json.loads(report.json())["rows"]}
    for problem in (GAUSSIAN, SKEWED):
        naive = rows[problem, regression.NAIVE]
        for name in (regression.KNOWN, regression.TWO, regression.PAIRS, regression.ALGORITHM_1):
            assert rows[problem, name]["rmse"] < 0.7 * naive["rmse"]
            assert rows[problem, name]["excess_high"] < naive["excess_low"]
        assert rows[problem, regression.SCORE]["rmse"] < rows[problem, regression.TWO]["rmse"]
    assert rows[FLIPPED, labels.GRADIENT]["rmse"] < rows[FLIPPED, labels.NAIVE]["rmse"]


@pytest.mark.long
def test_the_report_can_be_saved_and_drawn(report, tmp_path):
    names = {path.name for path in report.save(tmp_path)}
    assert {"table.csv", "numbers.json", "figure.png"} <= names
    assert [line.partition(":")[0] for line in report.sentences] == [GAUSSIAN, SKEWED, QUADRATIC, FLIPPED]


def test_real_sets_have_the_published_fits_and_naive_methods_are_worse(data_folder):
    """Least squares explains 51.6 % of the variance of Airfoil and 61.6 % of that of Concrete (the R^2 of their
    linear models). Total least squares that ignores the rest is far off."""
    problems, _ = ErrorsInVariables(resamples=2, data=data_folder).problems()
    for problem, residual in zip(problems[3:5], (1 - 0.5157, 1 - 0.6155), strict=True):
        assert problem.residual_variance == pytest.approx(residual, abs=2e-4)
        runs = [problem.estimate(problem.draw(np.random.default_rng(r)), r)[0] for r in range(10)]
        error = {name: np.mean([np.linalg.norm(run[name] - problem.w) for run in runs]) for name in runs[0]}
        assert error[regression.SCORE] < 0.8 * error[regression.MEAN] < error[regression.ONE]
        assert error[regression.TLS] > 5 * error[regression.MEAN]
        assert error[regression.TLS_RESIDUAL] < 0.8 * error[regression.MEAN]


def test_sets_that_cannot_be_fetched_are_skipped(monkeypatch):
    def absent(name, data):
        raise OSError(f"{name} is absent")

    monkeypatch.setattr("jaxonline.study.ready.errors_in_variables.load_set", absent)
    problems, skipped = ErrorsInVariables(sets=("Airfoil",)).problems()
    assert skipped == ["Airfoil is skipped: Airfoil is absent"]
    assert len(problems) == 4
