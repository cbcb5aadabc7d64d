"""The suite of benchmarks: all contenders compute the same losses, ratios and costs of given measurements, the history
of speed, and a small run of every workload."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from fresh_python import ROOT
from scipy import stats

from benchmarks import __main__ as suite
from benchmarks import bandits, digits, full_information, history, many_arms
from benchmarks._jobs import INCREMENTAL, NARROW, NUMBA, OURS
from benchmarks._report import table
from benchmarks._workload import share_of_limit
from benchmarks.workarounds import PROGRAMS, ROUNDS, measure_program, measure_rounds

LEVEL = 1e-4  # false alarms of one comparison of two distributions


def same_distribution(a: np.ndarray, b: np.ndarray) -> bool:
    """Kolmogorov and Smirnov's test and the test of the means, at the level `LEVEL` together.

    With 400 runs each, a difference of the means of 0.45 standard deviations is detected with probability 0.99.
    """
    z = (a.mean() - b.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b))
    return min(stats.ks_2samp(a, b).pvalue, 2 * stats.norm.sf(abs(z))) > LEVEL / 2


@pytest.mark.long
def test_policies_of_numba_and_pymab_have_the_losses_of_this_package():
    """Ten arms, so that policies learn; losses of different policies are recognised as different."""
    pytest.importorskip("numba")
    pytest.importorskip("pymab")
    ours = {}
    for policy in ("UCB1", "EXP3", "KL-UCB", "Thompson"):
        losses = {name: play() for name, play in many_arms.contenders(policy, 10, 400, 1000).items()}
        if policy != "EXP3":
            losses["PyMAB"] = bandits.pymab_losses(policy, 10, 400, 1000)
        ours[policy] = losses[OURS]
        assert {name for name, other in losses.items() if not same_distribution(other, losses[OURS])} == set(), policy
        if INCREMENTAL in losses:  # same random numbers
            np.testing.assert_array_equal(losses[INCREMENTAL], losses[NUMBA])
    assert not any(same_distribution(ours["UCB1"], ours[other]) for other in ("EXP3", "KL-UCB", "Thompson"))
    assert not same_distribution(ours["EXP3"], ours["Thompson"])


@pytest.mark.long
def test_table_of_digits_has_every_policy(capsys):
    digits.main(["--runs", "2", "--rounds", "200"])
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines()[2:]]
    shares = {row[1].strip(" `"): float(row[2].split()[0]) for row in rows}
    assert set(shares) == set(digits.policies())
    assert 4 < shares.pop("ExploreFirstCB") < 16  # it draws all 200 arms: 10 %, standard deviation 1.5 %
    assert all(10 < share < 100 for share in shares.values())


JOBS = [job for module in (many_arms, full_information) for job in module.jobs(quick=True)]


@pytest.mark.long
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.title)
def test_contenders_of_a_job_have_the_same_losses(job):
    """Equal up to rounding in a deterministic game, otherwise in distribution; every run is there."""
    pytest.importorskip("numba")
    losses = {name: play() for name, play in job.play(job.runs, job.rounds, None).items()}
    assert {NUMBA, NARROW, OURS} <= set(losses)
    for other in losses.values():
        assert other.shape == (job.runs,)
        if job.is_random:
            assert len(set(other)) > 1
            assert same_distribution(other, losses[OURS])
        else:
            np.testing.assert_allclose(other, losses[OURS], rtol=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Ratios and costs of given measurements

WORKLOAD = {
    "title": "a workload, d=1", "unit": "round", "ours": "jaxonline", "needs": {"words": 10.0, "bytes": 1.0},
    "rates": {"jaxonline": [4.0, 6.0, 5.0], "slow": [1.0, 1.0, 1.0], "fast": [2.0, 2.0, 5.0]}, "compilation": 1.25,
    "megabytes": 20.0,
}  # fmt: skip
RATES = {NUMBA: [1e6, 2e6, 4e6], INCREMENTAL: [8e6, 8e6, 8e6], OURS: [2e6, 2e6, 2e6], NARROW: [4e6, 4e6, 4e6]}
MEASURED = {
    "machine": "cpu x 2", "date": "2026-11-27", "workloads": [
        {"title": "UCB1", "unit": "round", "ours": OURS, "goal": 1.5, "rates": RATES},
        {"title": "live", "unit": "example", "ours": OURS, "rates": {"river": [1e5], OURS: [1e4]}},
        {"title": "alone", "unit": "table", "ours": OURS, "rates": {OURS: [1.0]}},
    ],
}  # fmt: skip


def test_a_row_has_ratio_share_and_cost():
    """The best alternative by medians is "fast", with ratios 2, 3 and 1; 5 rounds of 10 words are half of 100."""
    row = table([WORKLOAD], {"words": 100.0, "bytes": 1000.0}).splitlines()[1]
    for part in ("5 rounds", "fast", "2.00 (1.00 .. 3.00)", "1.2 s", "20 MB", "50% (random words of 32 bits)"):
        assert part in row
    assert share_of_limit(5.0, {"words": 10.0, "bytes": 300.0}, {"words": 100.0, "bytes": 1000.0}) == (1.5, "bytes")
    assert share_of_limit(5.0, {"words": 10.0}, {"bytes": 1000.0}) is None


def test_a_line_has_the_ratio_to_numba_and_to_the_best_alternative():
    """The reference is the parallel loop, also if another loop is faster; without alternatives there is no line."""
    first, second = history.lines_of(MEASURED, "1.0")
    assert first == {
        "release": "1.0", "date": "2026-11-27", "machine": "cpu x 2", "job": "UCB1", "goal": "1.5", "unit": "round",
        "ns": "500", "ratio": "1", "low": "0.5", "high": "2", "ns_64": "250", "ratio_64": "2", "low_64": "1",
        "high_64": "4", "best_peer": INCREMENTAL, "ratio_to_best": "0.25",
    }  # fmt: skip
    shown = [second[key] for key in ("ratio", "ns", "best_peer", "ratio_to_best")]
    assert shown == ["", "100000", "river", "0.1"]


def test_lines_of_the_same_job_and_release_are_replaced_and_the_page_has_those_of_the_history(tmp_path):
    path = tmp_path / "new" / "history.csv"
    for release, ns in (("1.0", "9"), ("1.1", "8"), ("1.0", "7")):
        history.add_lines([line | {"ns": ns} for line in history.lines_of(MEASURED, release)], path)
    assert [(line["release"], line["job"], line["ns"]) for line in history.read_lines(path)] == [
        ("1.1", "UCB1", "8"), ("1.1", "live", "8"), ("1.0", "UCB1", "7"), ("1.0", "live", "7"),
    ]  # fmt: skip
    assert history.table(history.read_lines()) in history.PAGE.read_text()


# ---------------------------------------------------------------------------------------------------------------------
# Runs


def test_device_tests_exist():
    assert [name for name in suite.TESTS if len(list((ROOT / "tests").rglob(f"test_{name}.py"))) != 1] == []


def run(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", *words, "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("sizes", [[], ["--runs", "24", "--widths", "16", "512"]], ids=["usual sizes", "24 runs"])
@pytest.mark.parametrize("module", suite.MODULES)
def test_every_workload_runs(module, sizes, tmp_path):
    """In small, against what is installed; rates are positive, and ours is among them."""
    text = run("benchmarks", module, "--repeats", "1", "--json", str(tmp_path / "a"), *sizes)
    for one in json.loads((tmp_path / "a").read_text())["workloads"]:
        assert one["title"] in text
        in_sizes = sizes and module not in ("multikernel", "live")  # a run is 76 matrices, or there are no runs
        for rates in [size["rates"] for size in one["sizes"]] if in_sizes else [one["rates"]]:
            assert one["ours"] in rates
            assert all(rate > 0 for of in rates.values() for rate in of)


@pytest.mark.long
def test_the_other_commands_run():
    assert "default 128" in run("benchmarks.widths", "UCB1, K=10", "--repeats", "1")
    assert "runs, " in run("benchmarks.scaling", "memory")
    assert "runs, " in run("benchmarks.scaling", "cores", "--repeats", "1")
    assert suite.run_tests(["architecture"], dict(os.environ))["passed"]
    rows = [measure_rounds(name, jobs[0], repeats=1) for name, (jobs, _) in ROUNDS.items()]
    rows += [measure_program(name, repeats=1) for name in PROGRAMS]
    assert min(row[part] for row in rows for part in ("with", "without", "ratio")) > 0
