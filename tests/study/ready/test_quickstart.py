"""The first study: what it writes, and the point that its figure makes."""

import csv

import jax
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.simulation.blocks import default_mesh
from jaxonline.study import Context
from jaxonline.study.ready.quickstart import Quickstart

LEARNERS = [
    "full information", "two noisy copies", "known covariance", "known covariance, as printed",
    "one noisy copy, naive",
]  # fmt: skip


def check(report, learners, folder):
    """The table, the figure and the numbers, on file."""
    report.save(folder)
    rows = list(csv.DictReader((folder / "table.csv").read_text().splitlines()))
    assert [row["learner"] for row in rows] == learners
    queries = {name: 2.0 if name == "two noisy copies" else 1.0 for name in LEARNERS}
    assert [float(row["queries_per_round"]) for row in rows] == [queries[name] for name in learners]
    assert [bool(row["bound"]) for row in rows] == [name in LEARNERS[:3] for name in learners]
    for row in rows:
        if row["bound"]:
            assert 0 < float(row["low"]) < float(row["regret"]) < float(row["high"]) < float(row["bound"])
    assert all(row["failed"] == "0" for row in rows)
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    result = jo.Result.load(folder / "result.zarr")
    assert result.regret.shape[:2] == (len(learners), 8)
    assert result.rounds[-1] == 442


def test_a_small_quickstart_writes_table_figure_and_numbers(tmp_path):
    learners = [LEARNERS[i] for i in (1, 4)]
    mesh = default_mesh(jax.devices()[:1])
    report = Quickstart(runs=8, passes=1, only=learners).run(Context(mesh=mesh))
    check(report, learners, tmp_path)
    assert report.tables["table"].title == "8 runs of 442 rounds, regret on the clean data"


@pytest.mark.long
def test_the_table_has_all_learners(tmp_path):
    check(Quickstart(runs=8, passes=1).run(Context()), LEARNERS, tmp_path)


@pytest.mark.long
def test_regret_is_linear_for_the_naive_learner_and_sublinear_for_unbiased_ones():
    """What rounds t/2 to t add to the regret, against what rounds t/4 to t/2 added: more than 1.7 times as much for
    the biased learners (linear growth: 2), less than 1.35 times for the unbiased ones (a square root: 1.41); false
    alarm 1e-6 for each learner. The unbiased ones are below their bounds."""
    report = Quickstart(runs=200).run(Context())
    result, curves = report.results["result"], report.numbers["learners"]
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
        assert (curves[name]["bound"] is not None) == (name in LEARNERS[:3])
        if curves[name]["bound"] is not None:
            assert (curves[name]["high"] < curves[name]["bound"]).all()
