"""The shipped studies: each of them runs, regrets are below the theorems' bounds, and the quickstart's curves."""

import csv

import jax
import numpy as np
import pytest
from command_calls import call
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.results.report.summary import default_quantity
from jaxonline.study import Context, load_study_file
from jaxonline.study.files.commands import RESULT
from jaxonline.study.files.templates import EXAMPLES, EXTRA_FILES, write_study_template

SMALL = {"noisy-kernels": 20, "few-attributes": 40}  # rounds


def test_every_example_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in EXAMPLES:
        study = load_study_file(write_study_template(name)[0])
        assert study.keys.title
        assert set(study.families) >= set(study.bounds)
        if name not in EXTRA_FILES:
            assert load_study_file(name).keys == study.keys


@pytest.mark.fast_compile
@pytest.mark.parametrize("name", some(EXAMPLES, "mistakes"))
def test_an_example_runs_and_its_losses_are_below_the_bounds(name, tmp_path):
    """The lower end of the 95 % interval of each learner with a bound is below the bound, at 60 rounds."""
    with jax.numpy_dtype_promotion("standard"):  # for Adam of optax
        file = write_study_template(name, str(tmp_path / "study.toml"))[0]
        study = load_study_file(file, runs=8, rounds=SMALL.get(name, 60), record_at=5, seed=3)
        report = study.run(Context())
    result, rows = report.results["result"], report.tables["table"].rows
    assert result.learners == tuple(study.members)
    assert all(np.isfinite(result.mean(default_quantity(result)).mean[:, -1]))
    assert not any(row["failed"] or row["overflowed"] for row in rows)
    bounded = [row for row in rows if row.get("bound") is not None]
    assert all(row["low"] <= row["bound"] for row in bounded)
    assert bool(bounded) == bool(study.bounds)
    figures = {f"figure-{measure.name}.png" for measure in study.options["measures"]}
    names = {"table.csv", "numbers.json", "figure.png", RESULT, "report.html"} | figures
    assert names == {path.name for path in report.save(tmp_path / "out")} - {"measures.csv"}


@pytest.mark.long
def test_regret_on_coin_flips_is_a_harmonic_number():
    """Within 6 standard errors (false alarm 1e-8), of less than 1.5; steps eta / sqrt(t) are outside."""
    report = load_study_file("strongly-convex", runs=256, rounds=1000, seed=3).run(Context())
    rows = {row["learner"]: row for row in report.tables["table"].rows}
    expected = 1 + sum(1 / t for t in range(1, 1000))
    row = rows["steps 1 / (2 t)"]
    error = 6 * (row["high"] - row["low"]) / (2 * 1.96)
    assert abs(row["regret"] - expected) < error < 1.5
    assert rows["steps eta / sqrt(t)"]["low"] > expected + error


@pytest.mark.long
def test_the_theorem_of_fixed_data_fails_against_an_adversary_that_reacts():
    """The mean regret exceeds the bound, and is below the bound for any environment, which is twice as large (E21)."""
    report = load_study_file("adaptive").run(Context())
    row = next(row for row in report.tables["table"].rows if row["learner"] == "two copies")
    assert row["bound"] < row["low"] < row["high"] < 2 * row["bound"]


@pytest.mark.long
def test_the_best_arm_is_found():
    """The statement in the comment of the file; false alarm below 1e-6."""
    wrong = load_study_file("best-arm").run(Context()).results["result"].values("wrong_recommendation")[0, :, -1]
    assert stats.binom.cdf(wrong.sum(), len(wrong), 0.1) < 1e-6


LEARNERS = ["full information", "two noisy copies", "known covariance", "one noisy copy, naive"]


def test_a_small_quickstart_writes_table_figure_and_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("quickstart", "--runs", "8", "--rounds", "442")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "results" / "quickstart"
    rows = {row["learner"]: row for row in csv.DictReader((folder / "table.csv").read_text().splitlines())}
    assert set(rows) == set(LEARNERS)
    assert [float(rows[name]["queries_per_round"]) for name in LEARNERS] == [1.0, 2.0, 1.0, 1.0]
    assert [bool(rows[name]["bound"]) for name in LEARNERS] == [True, True, True, False]
    for name in LEARNERS[:3]:
        row = rows[name]
        assert 0 < float(row["low"]) < float(row["regret"]) < float(row["high"]) < float(row["bound"])
    assert all(row["failed"] == "0" for row in rows.values())
    assert "jaxonline run quickstart --out results/quickstart" in (folder / "report.html").read_text()
    result = jo.Result.load(folder / RESULT)
    assert (result.regret.shape[:2], result.rounds[-1]) == ((4, 8), 442)


@pytest.mark.long
def test_regret_is_linear_for_the_naive_learner_and_sublinear_for_unbiased_ones():
    """What rounds t/2 to t add to the regret, against what rounds t/4 to t/2 added: more than 1.7 times as much for
    the biased learner (linear growth: 2), less than 1.35 times for the unbiased ones (a square root: 1.41); false
    alarm 1e-6 for each learner. The unbiased ones are below their bounds."""
    report = load_study_file("quickstart", runs=200).run(Context())
    result, curves = report.results["result"], report.numbers["learners"]
    quarter = len(result.rounds) // 4
    at = [quarter - 1, 2 * quarter - 1, 4 * quarter - 1]
    assert result.rounds[at].tolist() == [result.rounds[at[0]] * n for n in (1, 2, 4)]
    limit = stats.norm.ppf(1 - 1e-6)
    for name, regret in zip(result.learners, result.regret, strict=True):
        biased = name == "one noisy copy, naive"
        before, after = np.diff(regret[:, at]).T
        excess = after - (1.7 if biased else 1.35) * before
        score = np.mean(excess) / (np.std(excess, ddof=1) / np.sqrt(len(excess)))
        assert score > limit if biased else score < -limit, name
        assert (curves[name]["bound"] is not None) == (not biased)
        if not biased:
            assert (curves[name]["high"] < curves[name]["bound"]).all()
