"""Verdicts on statements of publications: right data agree, wrong data differ; the studies in small sizes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

from benchmarks.papers.commands import load_study
from benchmarks.papers.published import bandit_algorithms as book
from benchmarks.papers.published.bandit_algorithms import book_statements, commitment, expected_regret
from benchmarks.papers.published.finite_time import DISTRIBUTIONS, FiniteTime
from benchmarks.papers.published.non_stationary import NonStationary
from benchmarks.papers.published.statements import Statement, statements_table
from benchmarks.papers.published.tsallis_inf import TsallisExperiments, adversarial_arms, stochastic_arms
from benchmarks.papers.studies import QUICK, STUDIES
from jaxonline.study import Context

R = 400


def runs_of(mean, std=0.1, seed=0):
    noise = np.random.default_rng(seed).normal(size=R)
    return mean + std * (noise - noise.mean())


def verdicts_of(statements):
    return [row["verdict"] for row in statements_table("", statements).rows]


@pytest.mark.parametrize(
    ("mean", "low", "high", "verdict"),
    [
        (-1.0, -math.inf, 0.0, "agrees"), (1.0, -math.inf, 0.0, "differs"), (0.0, -math.inf, 0.0, "undecided"),
        (1.0, 0.0, math.inf, "agrees"), (-1.0, 0.0, math.inf, "differs"),
        (1.0, 0.9, 1.1, "agrees"), (1.2, 0.9, 1.1, "differs"), (1.1, 0.9, 1.1, "undecided"),
    ],
)  # fmt: skip
def test_interval_decides(mean, low, high, verdict):
    statement = Statement("Figure 1", "A claim.", "text", "a number", {"": runs_of(mean)}, low, high)
    assert statement.judge(0.95).verdict == verdict


def test_claim_from_memory_never_differs_and_the_case_that_supports_it_least_decides():
    for mean, verdict in ((-1.0, "agrees"), (0.0, "undecided"), (1.0, "not checkable")):
        statement = Statement("", "A claim.", "memory", "a number", {"a": runs_of(-3.0), "b": runs_of(mean)}, high=0.0)
        (row,) = statements_table("", [statement]).rows
        assert (row["verdict"], row["case"], row["measured"]) == (verdict, "b", pytest.approx(mean))


def test_two_runs_decide_nothing_and_intervals_are_longer_if_there_are_more_statements():
    assert Statement("", "", "text", "", {"": np.array([-1.0, -1.1])}, high=0.0).judge(0.999).verdict == "undecided"
    one = Statement("", "A claim.", "text", "a number", {"": runs_of(-1.0, 20.0)}, high=0.0)
    alone, together = (statements_table("", [one] * n).rows[0] for n in (1, 50))
    assert together["measured_high"] > alone["measured_high"]


def test_closed_form_of_explore_then_commit_equals_an_integral():
    """The probability that the mean of the worse arm is smaller, by integration over the mean of the better one."""
    gap, m, n = 0.5, 25, 1000
    better, worse = stats.norm(0.0, m**-0.5), stats.norm(gap, m**-0.5)
    wrong = integrate.quad(lambda x: better.pdf(x) * worse.cdf(x), -12 * m**-0.5, 12 * m**-0.5, limit=200)[0]
    assert expected_regret(gap, m, n) == pytest.approx(m * gap + (n - 2 * m) * gap * wrong, rel=1e-7)


@pytest.mark.parametrize("gap", [0.03, 0.2])
def test_tuning_and_bound_of_explore_then_commit(gap):
    n = 400
    regrets = [expected_regret(gap, m, n) for m in range(1, n // 2 + 1)]
    assert book.best_commitment(gap, n) == 1 + int(np.argmin(regrets))
    assert commitment(gap, n) == max(1, math.ceil(4 * math.log(n * gap**2 / 4) / gap**2))
    assert regrets[commitment(gap, n) - 1] < book.commitment_bound(gap, n) <= n * gap


N = 1000


def book_data():
    policies = {book.UCB: 34.0, book.ASYMPTOTIC: 32.0, book.MINIMAX: 28.0, book.THOMPSON: 20.0}
    by_gap = {}
    for gap in (0.1, 0.3, 1.0):
        pulls = {book.TUNED: commitment(gap, N), **book.COMMITMENTS}
        means = {name: expected_regret(gap, m, N) for name, m in pulls.items()} | policies
        by_gap[gap] = {name: runs_of(mean, seed=i) for i, (name, mean) in enumerate(means.items())}
    by_arms = {k: {book.ASYMPTOTIC: runs_of(10.0 * k), book.MINIMAX: runs_of(k**2, seed=1)} for k in (5, 80)}
    return by_gap, by_arms, {book.UCB: runs_of(55.0), book.THOMPSON: runs_of(29.9, seed=1)}


@pytest.mark.parametrize(
    ("learner", "factor", "wrong", "verdict"),
    [
        (book.TUNED, 1.2, "Figure 6.1", "differs"), (book.TUNED, 0.3, "Figure 6.1", "differs"),
        (book.UCB, 4.0, "Figure 7.1", "differs"), (book.UCB, 0.5, "Figure 7.1", "not checkable"),
        (book.ASYMPTOTIC, 1.5, "Chapter 8", "not checkable"), (book.MINIMAX, 100.0, "Theorem 9.1", "differs"),
    ],
)  # fmt: skip
def test_statements_of_the_book_differ_from_wrong_regrets_by_gap(learner, factor, wrong, verdict):
    by_gap, by_arms, thompson = book_data()
    by_gap = {gap: runs | {learner: factor * runs[learner]} for gap, runs in by_gap.items()}
    rows = statements_table("", book_statements(N, by_gap, by_arms, thompson)).rows
    assert wrong in {row["place"] for row in rows if row["verdict"] == verdict}


def test_statements_of_the_book_agree_with_right_and_differ_from_wrong_regrets_of_sections_9_and_36():
    by_gap, by_arms, thompson = book_data()
    assert set(verdicts_of(book_statements(N, by_gap, by_arms, thompson))) == {"agrees", "not checkable"}
    swapped = {k: {book.MINIMAX: r[book.ASYMPTOTIC], book.ASYMPTOTIC: r[book.MINIMAX]} for k, r in by_arms.items()}
    slow = {name: 2 * runs for name, runs in thompson.items()} | {book.UCB: thompson[book.UCB]}
    rows = statements_table("", book_statements(N, by_gap, swapped, slow)).rows
    differ = [row["place"] for row in rows if row["verdict"] == "differs"]
    assert differ == ["Section 9.2", "Experiment 36.1", "Experiment 36.1"]


def fake_result(means, rounds=(1000,), pulls=None):
    rows = [np.broadcast_to(row, len(rounds)) for row in means.values()]
    regret = np.array([np.transpose([runs_of(mean, 0.01, seed) for mean in row]) for seed, row in enumerate(rows)])
    return SimpleNamespace(learners=tuple(means), regret=regret, rounds=np.asarray(rounds), measures={"pulls": pulls})


def experiments(number):
    greedy = {"epsilon-greedy[c = 0.1]": 15.0 if number in (12, 14) else 8.0, "epsilon-greedy[c = 1]": 50.0}
    return {"UCB1": 40.0, "UCB1-tuned": 10.0, "UCB2": 12.0} | greedy


@pytest.mark.parametrize(
    ("number", "learner", "mean", "statement"),
    [
        (3, "UCB1-tuned", 41.0, 0), (2, "UCB2", 9.0, 1), (1, "epsilon-greedy[c = 0.1]", 20.0, 2),
        (12, "epsilon-greedy[c = 0.1]", 9.0, 3), (11, "epsilon-greedy[c = 1]", 12.0, 4), (1, "UCB1", 1e4, 5),
    ],
)  # fmt: skip
def test_statements_of_auer_et_al_differ_from_one_wrong_distribution(number, learner, mean, statement):
    study, results = FiniteTime(runs=R, rounds=1000), {n: fake_result(experiments(n)) for n in DISTRIBUTIONS}
    assert verdicts_of(study.statements(results)) == ["agrees"] * 6 + ["not checkable"]
    results[number] = fake_result(experiments(number) | {learner: mean})
    rows = statements_table("", study.statements(results)).rows
    verdict = "differs" if rows[statement]["origin"] == "formula" else "not checkable"
    assert (rows[statement]["verdict"], rows[statement]["case"]) == (verdict, f"distribution {number}")


def forgetting(**means):
    regrets = {"UCB1": 500.0, "D-UCB": 300.0, "SW-UCB": 250.0, "EXP3.S": 400.0} | means
    pulls = np.zeros((4, R, 3, 3))
    pulls[:, :, :, 0] = [299, 309, 800]
    pulls[:, :, :, 2] = [0, 190, 199]
    pulls[0, :, :, [0, 2]] = np.array([[299, 399, 900], [0, 100, 100]])[:, None]
    return fake_result(regrets, (299, 499, 1000), pulls)


def test_statements_of_garivier_and_moulines():
    study = NonStationary(runs=R, rounds=1000)
    assert verdicts_of(study.statements(forgetting())) == ["agrees"] * 6 + ["not checkable"]
    np.testing.assert_allclose(study.best_arm_shares(forgetting())[:2, 0, 1], [0.5, 0.95])
    wrong = {"UCB1": 200.0, "EXP3.S": 200.0, "SW-UCB": 350.0}
    assert verdicts_of(study.statements(forgetting(**wrong)))[:5] == ["not checkable"] * 5
    slow = forgetting()
    slow.measures["pulls"] = slow.measures["pulls"][[1, 1, 0, 0]]
    assert verdicts_of(study.statements(slow))[5] == "not checkable"


TSALLIS = ("Tsallis-INF, RV", "Tsallis-INF, IW", "EXP3", "UCB1", "Thompson sampling")


def test_statements_of_zimmert_and_seldin():
    study, rounds = TsallisExperiments(runs=R, rounds=8000), (1000, 8000)

    def verdicts(stochastic, adversarial):
        first, second = (
            fake_result(dict(zip(TSALLIS, means, strict=True)), rounds) for means in (stochastic, adversarial)
        )
        return verdicts_of(study.statements({"stochastic": first, "adversarial": second}))

    stochastic = [(50, 100), (60, 150), (100, 300), (90, 280), (30, 60)]
    adversarial = [(50, 100), (60, 150), (100, 300), (100, 790), (80, 640)]
    assert verdicts(stochastic, adversarial) == ["agrees"] * 9 + ["not checkable"]
    linear = [(50, 400), (60, 3000), (100, 300), (100, 300), (80, 240)]
    assert verdicts(linear, linear) == ["differs"] * 2 + ["agrees"] * 2 + ["differs"] * 4 + ["not checkable"] * 2


def test_adversary_changes_all_means_and_keeps_the_gap():
    arms = adversarial_arms(3, 0.125, 1000)
    lengths = np.diff([1, *arms.starts.tolist()])
    assert lengths.tolist() == [math.floor(1.6**n) for n in range(len(lengths))]
    assert arms.starts[-1] <= 1000 < arms.starts[-1] + math.floor(1.6 ** len(lengths))
    means = np.asarray(arms.means)
    np.testing.assert_allclose(means[:, 1:] - means[:, :1], 0.125)
    np.testing.assert_allclose(means[:, 0], [0.0 if phase % 2 == 0 else 0.875 for phase in range(len(means))])
    np.testing.assert_allclose(stochastic_arms(3, 0.125).means, [0.4375, 0.5625, 0.5625])


@pytest.mark.long
@pytest.mark.parametrize("name", ["bandit-algorithms", "finite-time-bandits", "non-stationary-bandits", "tsallis-inf"])
def test_published_study_reports_statements(name):
    report = load_study(STUDIES[name])(**QUICK[name]).run(Context(seed=3))
    rows = report.tables["statements"].rows
    assert {"not checkable"} <= {row["verdict"] for row in rows} <= {"agrees", "differs", "undecided", "not checkable"}
    assert all(row["measured"] is None or np.isfinite(row["measured"]) for row in rows)
    if name == "bandit-algorithms":
        check_closed_form(report.tables["gaps"].rows)


def check_closed_form(rows):
    """The number of the 200 runs that commit to the worse arm is binomial with the exact probability (false alarm
    1e-8 a row). For m = 25 and the gap 0.3 it is 0.14: no wrong commitments, or three times as many, are seen."""
    exact = [row for row in rows if row["exact"] is not None and row["regret"] is not None]
    assert len(exact) == 2 * 5

    def p_value(row, factor=1.0):
        tuned = row["learner"] == book.TUNED
        m = commitment(row["gap"], 300) if tuned else book.COMMITMENTS[row["learner"]]
        observed, expected = (((row[key] / row["gap"]) - m) / (300 - 2 * m) for key in ("regret", "exact"))
        wrong = 200 * observed
        assert wrong == pytest.approx(round(wrong), abs=1e-2)
        return stats.binomtest(round(wrong), 200, min(1.0, max(0.0, factor * expected))).pvalue

    assert min(map(p_value, exact)) > 1e-8
    first = next(row for row in exact if row["learner"] == "ETC, m = 25")
    assert max(p_value(first, factor) for factor in (0.0, 3.0)) < 1e-6
