"""The studies of published figures at small sizes: tables, figures, statements, and the closed form of their ETC."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.papers.commands import load_study
from benchmarks.papers.published.bandit_algorithms import COMMITMENTS, TUNED, commitment
from benchmarks.papers.studies import QUICK, STUDIES
from jaxonline.study import Context

pytestmark = [pytest.mark.long, pytest.mark.fast_compile]

PUBLISHED = ("bandit-algorithms", "finite-time-bandits", "non-stationary-bandits", "tsallis-inf")
VERDICTS = {"agrees", "differs", "undecided", "not checkable"}


def make(name, **fields):
    """Return a study with the given fields."""
    return load_study(STUDIES[name])(**fields)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_study_reports_statements_and_a_figure(name, tmp_path):
    report = make(name, **QUICK[name]).run(Context(seed=3))
    rows = report.tables["statements"].rows
    assert {row["verdict"] for row in rows} <= VERDICTS
    assert report.sentences[0].startswith(f"Of {len(rows)} statements")
    assert "not checkable" in {row["verdict"] for row in rows}
    written = {path.name for path in report.save(tmp_path)}
    assert {"statements.csv", "numbers.json", "figure.png", "report.html"} <= written
    if name == "bandit-algorithms":
        check_closed_form(report.tables["gaps"].rows)


def check_closed_form(rows):
    """The number of the 200 runs that commit to the worse arm, which follows from the mean regret, is binomial with the
    probability of the closed form (two-sided exact test, false alarm 1e-8 for each of the ten rows). For m = 25 and the
    gap 0.3 the probability is 0.14: no wrong commitments, or three times as many, are detected."""
    exact = [row for row in rows if row["exact"] is not None and row["regret"] is not None]
    assert len(exact) == 2 * 5

    def p_value(row, factor=1.0):
        m = commitment(row["gap"], 300) if row["learner"] == TUNED else COMMITMENTS[row["learner"]]
        observed, expected = (((row[key] / row["gap"]) - m) / (300 - 2 * m) for key in ("regret", "exact"))
        wrong = 200 * observed
        assert wrong == pytest.approx(round(wrong), abs=1e-2)
        return stats.binomtest(round(wrong), 200, min(1.0, max(0.0, factor * expected))).pvalue

    assert min(map(p_value, exact)) > 1e-8
    first = next(row for row in exact if row["learner"] == "ETC, m = 25")
    assert max(p_value(first, factor) for factor in (0.0, 3.0)) < 1e-6


def test_statement_rows_are_numbers_or_none():
    report = make("non-stationary-bandits", runs=4, rounds=100).run(Context(seed=1))
    rows = report.tables["statements"].rows
    assert all(row["measured"] is None or np.isfinite(row["measured"]) for row in rows)


def test_unknown_distribution_raises_an_error():
    with pytest.raises(ValueError, match=r"^distributions: must be among 1, 2, 3, 11, 12, 13, 14 \(got 4\)"):
        make("finite-time-bandits", distributions=(1, 4)).run(Context())
