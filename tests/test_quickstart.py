"""The first study: the command, what it writes, and the point that its figure makes."""

import csv

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import jaxonline as jo
from jaxonline.cli import app
from jaxonline.study.ready.quickstart import quickstart

LEARNERS = [
    "full information", "two noisy copies", "known covariance", "known covariance, as printed",
    "one noisy copy, naive",
]  # fmt: skip


def test_the_command_writes_a_table_a_figure_and_the_numbers(tmp_path):
    out = tmp_path / "results"
    done = CliRunner().invoke(app, ["quickstart", "--runs", "8", "--passes", "1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in LEARNERS)
    rows = list(csv.DictReader((out / "table.csv").read_text().splitlines()))
    assert [row["learner"] for row in rows] == LEARNERS
    assert [float(row["queries_per_round"]) for row in rows] == [1, 2, 1, 1, 1]
    assert [bool(row["bound"]) for row in rows] == [True, True, True, False, False]
    for row in rows[:3]:
        assert 0 < float(row["low"]) < float(row["regret"]) < float(row["high"]) < float(row["bound"])
    assert all(row["failed"] == "0" for row in rows)
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    result = jo.Result.load(out / "result.zarr")
    assert result.regret.shape[:2] == (5, 8)
    assert result.rounds[-1] == 442


@pytest.mark.long
def test_the_figure_makes_its_point():
    """What rounds t/2 to t add to the regret, against what rounds t/4 to t/2 added: more than 1.7 times as much for
    the biased learners (linear growth: 2), less than 1.35 times for the unbiased ones (a square root: 1.41); false
    alarm 1e-6 for each learner. The unbiased ones are below their bounds."""
    study = quickstart(n_runs=200)
    result = study.result
    quarter = len(result.rounds) // 4
    at = [quarter - 1, 2 * quarter - 1, 4 * quarter - 1]
    assert result.rounds[at].tolist() == [result.rounds[at[0]] * n for n in (1, 2, 4)]
    limit = stats.norm.ppf(1 - 1e-6)
    for name, regret in zip(result.learners, result.regret, strict=True):
        biased = name in LEARNERS[3:]
        before, after = np.diff(regret[:, at]).T
        excess = after - (1.7 if biased else 1.35) * before
        score = np.mean(excess) / (np.std(excess, ddof=1) / np.sqrt(len(excess)))
        assert score > limit if biased else score < -limit, name
    for name, bound in study.bounds.items():
        assert (result.select(name).mean().high[0] < bound).all()
