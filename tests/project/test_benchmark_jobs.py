"""Jobs of the benchmarks: all contenders compute the same losses; the history of speed."""

import numpy as np
import pytest
from scipy import stats

from benchmarks import bandits, full_information, history, many_arms
from benchmarks._jobs import INCREMENTAL, NARROW, NUMBA, OURS

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


MEASURED = {
    "machine": "cpu x 2", "date": "2026-11-27", "workloads": [
        {
            "title": "UCB1", "unit": "round", "ours": OURS, "goal": 1.5,
            "rates": {
                NUMBA: [1e6, 2e6, 4e6], INCREMENTAL: [8e6, 8e6, 8e6], OURS: [2e6, 2e6, 2e6], NARROW: [4e6, 4e6, 4e6],
            },
        },
        {"title": "live", "unit": "example", "ours": OURS, "rates": {"river": [1e5], OURS: [1e4]}},
        {"title": "alone", "unit": "table", "ours": OURS, "rates": {OURS: [1.0]}},
    ],
}  # fmt: skip


def test_a_line_has_the_ratio_to_numba_and_to_the_best_alternative():
    """The reference is the parallel loop, also if another loop is faster; without alternatives there is no line."""
    first, second = history.lines_of(MEASURED, "1.0")
    assert first == {
        "release": "1.0", "date": "2026-11-27", "machine": "cpu x 2", "job": "UCB1", "goal": "1.5", "unit": "round",
        "ns": "500", "ratio": "1", "low": "0.5", "high": "2", "ns_64": "250", "ratio_64": "2", "low_64": "1",
        "high_64": "4", "best_peer": INCREMENTAL, "ratio_to_best": "0.25",
    }  # fmt: skip
    shown = {key: second[key] for key in ("ratio", "ns", "best_peer", "ratio_to_best")}
    assert shown == {"ratio": "", "ns": "100000", "best_peer": "river", "ratio_to_best": "0.1"}


def test_lines_of_the_same_job_and_release_are_replaced(tmp_path):
    path = tmp_path / "new" / "history.csv"
    assert history.read_lines(path) == []
    for release, ns in (("1.0", "9"), ("1.1", "8"), ("1.0", "7")):
        history.add_lines([line | {"ns": ns} for line in history.lines_of(MEASURED, release)], path)
    assert [(line["release"], line["job"], line["ns"]) for line in history.read_lines(path)] == [
        ("1.1", "UCB1", "8"), ("1.1", "live", "8"), ("1.0", "UCB1", "7"), ("1.0", "live", "7"),
    ]  # fmt: skip


def test_the_table_of_the_benchmark_page_is_that_of_the_history(tmp_path):
    lines, text, page = history.read_lines(), history.PAGE.read_text(), tmp_path / "page.md"
    assert history.table(lines) in text
    page.write_text(text.replace(history.table(lines), "| job | goal | old |\n| --- | --- | --- |\n| UCB1 | 3 | 4 |"))
    history.write(history.CSV, page, tmp_path / "figure.png")
    assert page.read_text() == text
    assert (tmp_path / "figure.png").stat().st_size > 5000
