"""The study of risks on held-out rows after training on noisy copies."""

import json
import math

import numpy as np
import pytest

from jaxonline.study import Context
from jaxonline.study.ready.noisy_generalisation import FULL, KERNEL, KNOWN, NAIVE, TWO, NoisyGeneralisation

STUDY = NoisyGeneralisation(runs=6, rounds=600, held_out=200)


@pytest.fixture(scope="module")
def report():
    return STUDY.run(Context(seed=1))


@pytest.fixture(scope="module")
def rows(report):
    return json.loads(report.json())["rows"]


@pytest.mark.long
def test_unbiased_learners_have_small_risks_below_their_bounds_and_a_biased_learner_does_not(report, rows):
    """After 600 rounds the mean hypotheses of two copies and of the known covariance have about a tenth of the risk of
    the biased learner; their intervals are below its interval (each has a standard error of about a tenth of it)."""
    last = {row["learner"]: row for row in rows if row["rounds"] == STUDY.rounds}
    assert list(last) == [FULL, TWO, KNOWN, KERNEL, NAIVE]
    for name in (FULL, TWO, KNOWN):
        assert last[name]["mean_high"] < last[NAIVE]["mean_low"]
    for row in rows:
        if row["learner"] != NAIVE:
            assert row["mean"] <= row["random"] * (1 + 1e-5) < row["bound"]
    biased = report.numbers["biased_minimiser"]
    assert last[NAIVE]["mean"] > 0.8 * biased > 5 * last[TWO]["mean"]
    assert last[KERNEL]["last"] < 0.5 * report.numbers["predictor_0"]
    assert last[NAIVE]["bound"] is None


@pytest.mark.long
def test_the_report_can_be_saved_and_drawn(report, tmp_path):
    names = {path.name for path in report.save(tmp_path)}
    assert {"table.csv", "numbers.json", "figure.png"} <= names


def test_the_biased_minimiser_shrinks_the_target():
    """Instances uniform in a ball of radius 1/2 have E x x' = I / (4 (d + 2)) = 0.05 I, which noise of variance 0.05
    doubles: w = u / 2, with a quarter of the risk of the predictor 0 (up to the sampling error of the rows)."""
    (X, y), (X_test, y_test) = STUDY.problem(1)
    assert np.linalg.norm(X, axis=1).max() <= 0.5
    assert STUDY.biased_risk(X, y, X_test, y_test) == pytest.approx(np.mean(y_test**2) / 4, rel=0.03)


def test_steps_minimise_the_bounds_and_the_target_is_in_every_ball():
    """(diameter^2 / (2 eta) + eta G) / sqrt(T) at its minimum is diameter sqrt(2 G / T); (1 + <x, x'>)^2 contains 2 <x,
    x'>, so that <u, x> with |u| = 1 has the norm sqrt(1/2)."""
    (X, y), _ = STUDY.problem(1)
    for name, (learner, bound) in STUDY.entrants(X, y).items():
        inner = getattr(learner, "learner", learner)
        eta = float(inner.step_size.eta)
        assert eta == pytest.approx(bound.diameter / math.sqrt(2 * bound.G), rel=1e-6)
        assert bound.inverse_sqrt_step(eta, 100) == pytest.approx(bound.diameter * math.sqrt(200 * bound.G), rel=1e-6)
        assert bound.radius == pytest.approx(math.sqrt(0.5) if name == KERNEL else 1.0)
