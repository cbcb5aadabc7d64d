"""The study of rates and costs of multi-kernel VAW: fits, regrets, counted operations."""

import jax
import numpy as np
import pytest
from references.vaw_equations import normal_equations
from scipy import stats

from benchmarks.papers.studies import multikernel_rates as runs
from benchmarks.papers.studies.multikernel_rates import (
    CONCATENATED,
    ONE,
    ROOT,
    TWO_LEVELS,
    WITH_EWA,
    MultiKernelRates,
    fit_power,
    leading_terms,
)
from jaxonline.estimators.fourier import Dictionary
from jaxonline.study import Context

SMALL = MultiKernelRates(rounds=(64, 256, 1024), draws=8, cost_kernels=(2, 4), cost_features=(16, 32))


def test_exponents_and_errors_equal_those_of_scipy():
    rng = np.random.default_rng(0)
    x, values = np.arange(1.0, 9.0), np.arange(1.0, 9.0) ** 1.5 * np.exp(rng.normal(size=8) / 10)
    fit, line = fit_power([x], values), stats.linregress(np.log(x), np.log(values))
    assert (fit.exponents[0], fit.halves[0]) == pytest.approx((line.slope, stats.t.ppf(0.975, 6) * line.stderr))
    two = fit_power([x, x[::-1]], 3 * x**2 * x[::-1] ** -0.5)
    np.testing.assert_allclose([two.exponents, two.halves], [[2.0, -0.5], [0.0, 0.0]], atol=1e-12)
    assert np.isnan(fit_power([x], values - values[2]).exponents).all(), "a regret may be negative"


def test_comparators_have_norm_one_and_their_values_are_bounded():
    """f(x)^2 <= |f|^2 k(x, x) = 1; and |f|^2 is at least f' K^-1 f, the least norm with these values at some points."""
    with jax.enable_x64(True):
        kernel = runs.dictionary_kernels("laplacian", 2)[1]
        problem = runs.draw_problem(kernel, 2, 60, (3,))
        norm2 = problem.f @ np.linalg.solve(runs._gram(kernel, problem.X, problem.X), problem.f)
    assert np.abs(problem.f).max() <= 1
    assert 0.5 < norm2 <= 1 + 1e-9
    assert np.abs(problem.y - problem.f).max() <= runs.LABEL_NOISE


@pytest.mark.long
def test_regrets_equal_those_of_the_normal_equations():
    """sqrt(2) cos features that are not scaled, with lambda = 1."""
    T, m, N = 40, 3, 2
    with jax.enable_x64(True):
        found = runs.regrets("gaussian", N, 2, T, m, range(2), seed=5)
        members = runs.dictionary_kernels("gaussian", N)
        for s in range(2):
            problem = runs.draw_problem(members[1], 2, T, (5, s))
            draw = Dictionary.draw(jax.random.fold_in(jax.random.key(5), s), members, 2, m, "cosine")
            angles = problem.X @ np.moveaxis(np.asarray(draw.frequencies), 2, 1) + np.asarray(draw.phases)[:, None]
            Z = np.sqrt(2) * np.cos(angles)  # [N, T, m]
            experts = np.stack([normal_equations(Z[i], problem.y, 1.0)[1] for i in range(N)], axis=1)
            weights, mixture = np.ones(N), []
            for forecasts, label in zip(np.clip(experts, -1.5, 1.5), problem.y, strict=True):
                mixture.append(weights @ forecasts / weights.sum())
                weights = weights * np.exp(-((forecasts - label) ** 2) / 2 / (4 * 1.5**2))
            expected = {
                WITH_EWA: np.array(mixture),
                CONCATENATED: normal_equations(np.concatenate(Z, axis=1), problem.y, 1.0)[1],
                TWO_LEVELS: normal_equations(experts, problem.y, 1.0)[1],
                ONE: experts[:, 1],
            }
            for name, predictions in expected.items():
                regret = np.sum((predictions - problem.y) ** 2 - (problem.f - problem.y) ** 2) / 2
                assert found[name][s] == pytest.approx(regret, abs=1e-8)


@pytest.mark.long
def test_regrets_have_the_rates_of_the_bounds_with_sqrt_T_features_only():
    report = SMALL.run(Context())
    assert all(2 * row["high"] - row["regret"] < row["bound"] for row in report.tables["regret"].rows)
    exponents = {(row["of"], row["learner"]): row for row in report.tables["exponents"].rows}
    for (of, _), row in exponents.items():
        if ROOT in of:
            assert row["low"] < min(row["tighter"], row["printed"])
            assert max(row["tighter"], row["printed"]) < 0.7
    # m = 4 features for every T: the approximation error of one kernel grows like T
    grows = exponents["regret against T, m = 4", ONE]
    assert grows["low"] > 0.65


def test_tighter_bounds_equal_the_formulas():
    """Eq. 17 and 20 as printed, and without a factor N; Eq. 31 (N = 4, lambda = 1, Y = 3/2, |f| = 1, m = 8)."""
    T, Y2, N, m = 64, 2.25, 4, 8
    vaw = m * Y2 / 2 * np.log1p(2 * T)
    one, largest = (0.5 + T) / m + vaw, 2 * Y2 * (T + 1) + 4 * vaw
    limits = {
        CONCATENATED: [0.5 / m + factor * T / m + N * vaw for factor in (N, 1)],
        TWO_LEVELS: [one + 0.5 + N * Y2 / 2 * np.log1p(factor * largest * T) for factor in (N, 1)],
        WITH_EWA: [one + 4 * Y2 * np.log(N)] * 2,
    }
    for name, values in limits.items():
        found = [SMALL.bound(name, ROOT, T, printed) for printed in (True, False)]
        np.testing.assert_allclose(found, values, rtol=1e-6)


@pytest.mark.long
def test_operations_have_the_leading_terms_of_the_paper():
    """One round has three products of n x n numbers, n = N m or N times n = m: P z twice, and v v', 2 n^2 operations
    each; XLA joins the subtraction from P with the last product. VAW over N forecasters has a term in N^2 more."""
    with jax.enable_x64(True):
        costs = SMALL.costs()
    for name in (CONCATENATED, TWO_LEVELS):
        assert leading_terms(name, costs)[0] == pytest.approx(6.0, rel=0.015)
