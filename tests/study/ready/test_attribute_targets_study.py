"""The study of sparse and dense targets: its exact risk, its definition of enough attributes, and a small run."""

import numpy as np
import pytest

from jaxonline.study import Context
from jaxonline.study.ready.attribute_targets import (
    AER,
    EXPONENTIATED,
    LASSO,
    P_NORM,
    AttributeTargets,
    exact_rows,
    needed,
)


def test_the_risk_on_the_rows_is_the_excess_risk():
    """|w - w*|^2 / 3 is the second moment of <w - w*, x> for x uniform on the cube, whose entries have variance 1/3."""
    rng = np.random.default_rng(0)
    weights, w = rng.normal(size=(2, 5))
    X, y = exact_rows(weights)
    assert np.mean((X @ w - y) ** 2) == pytest.approx(np.sum((w - weights) ** 2) / 3, rel=1e-12)
    cube = rng.uniform(-1, 1, size=(200_000, 5))
    assert np.mean((cube @ (w - weights)) ** 2) == pytest.approx(np.sum((w - weights) ** 2) / 3, rel=0.02)


def test_enough_attributes_are_those_after_the_last_large_risk():
    risks = np.array([[3.0, 0.5, 2.0, 0.5, 0.4], [3.0, 0.5, 2.0, 0.7, 0.4]])
    attributes = np.array([4, 8, 12, 16, 20])
    mean, low, high = needed(risks, attributes, 1.0)
    assert mean == 16
    assert low <= mean <= high
    assert needed(risks, attributes, 0.1)[0] == np.inf
    assert needed(risks, attributes, 9.0)[0] == 4


@pytest.mark.long
def test_exponentiated_gradient_needs_fewer_attributes_than_AER_for_a_sparse_target():
    """At d = 16 and 8 runs the intervals do not meet; Lasso needs fewer attributes than AER, for both targets."""
    study = AttributeTargets(dimensions=(16,), runs=8, rounds=8000)
    report = study.run(Context(seed=1))
    rows = {(row["target"], row["learner"]): row for row in report.tables["table"].rows}
    assert len(rows) == 8
    assert rows["sparse", EXPONENTIATED]["high"] < rows["sparse", AER]["low"]
    assert rows["sparse", P_NORM]["attributes"] < rows["sparse", AER]["low"]  # its weights are not bounded
    assert report.figures["figure"]().axes[0].get_yscale() == "log"
    for target in ("sparse", "dense"):
        assert rows[target, LASSO]["ratio"] == 1.0
        assert rows[target, AER]["ratio"] > 1.0
    assert rows["dense", AER]["ratio"] < rows["sparse", AER]["ratio"]
