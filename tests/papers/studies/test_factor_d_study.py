"""The study of the factor d: its exact computation by enumeration of histories, and its simulations by loops."""

import itertools
import math

import jax
import numpy as np
import pytest
from scipy import stats
from tiers import some

from benchmarks.papers.studies import factor_d as study
from benchmarks.papers.studies.factor_d import EPS, RATES, U, exact_risks, halving_risks, learner_risks, policy_risks
from jaxonline.environments import HiddenAttribute
from jaxonline.learners.attributes import project_l1_ball

pytestmark = pytest.mark.fast_compile
P = 0.5 + EPS**0.5  # a sign of the hidden attribute is 1


def risk_of_histories(weights, k, rounds, *, greedy):
    """The least mean excess risk over all strategies, from the joint weights of the hidden attribute and the signs."""
    d, total = len(weights), sum(weights)
    if rounds == 0:
        w = U * weights / total
        return sum(weight * np.sum((w - U * np.eye(d)[j]) ** 2) for j, weight in enumerate(weights))
    risks = []
    for move in [np.argsort(-weights, kind="stable")[:k]] if greedy else itertools.combinations(range(d), k):
        total = 0.0
        for signs in itertools.product((P, 1 - P), repeat=k):
            joint = [[sign if i == j else 0.5 for i, sign in zip(move, signs, strict=True)] for j in range(d)]
            total += risk_of_histories(weights * np.prod(joint, axis=1), k, rounds - 1, greedy=greedy)
        risks.append(total)
    return min(risks)


@pytest.mark.parametrize(("d", "k", "rounds"), [(2, 1, 5), (3, 1, 4), (3, 2, 2)])
def test_the_exact_risk_equals_that_of_all_histories(d, k, rounds):
    """Also for the most probable attributes, which are as good as the best strategy."""
    for risks, greedy in zip(exact_risks(d, k, rounds), (False, True), strict=True):
        expected = [risk_of_histories(np.full(d, 1 / d), k, m, greedy=greedy) for m in range(rounds + 1)]
        np.testing.assert_allclose(risks, expected, rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("d", "k"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_the_optimum_is_above_the_lower_bounds(d, k):
    row = study.exact_row(d, k)
    assert row["best"] == row["most probable"] >= (1 - 2 / d) ** 2 * d / (6 * k * EPS)
    assert exact_risks(d, k, row["best"])[0, -2:] == pytest.approx(EPS, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize(("weight", "is_random"), study.POLICIES.values())
def test_strategies_equal_a_loop(weight, is_random):
    """The most probable attributes, Thompson sampling and random attributes, from the same random numbers."""
    d, k, runs, key = 5, 2, 6, jax.random.key(3)
    hidden, right, wrong, risks = (
        jax.random.randint(key, (runs, 1), 0, d)[:, 0],
        np.zeros((runs, d)),
        np.zeros((runs, d)),
        [],
    )
    for t in range(8):
        sign_key, noise_key = jax.random.split(jax.random.fold_in(key, t))
        uniform = np.asarray(jax.random.uniform(sign_key, (runs, k)))
        noise = np.asarray(jax.random.gumbel(noise_key, (runs, d)))
        for run in range(runs):
            likelihood = (2 * P) ** right[run] * (2 - 2 * P) ** wrong[run]
            scores = weight * np.log(likelihood) + (noise[run] if is_random else 0)
            for place, i in enumerate(np.argsort(-np.round(scores, 5), kind="stable")[:k]):
                agrees = uniform[run, place] < (P if i == hidden[run] else 0.5)
                right[run, i] += agrees
                wrong[run, i] += not agrees
        if t % 4 == 3:
            q = (2 * P) ** right * (2 - 2 * P) ** wrong
            risks.append(U**2 * (1 - np.sum((q / q.sum(axis=1, keepdims=True)) ** 2, axis=1)))
    np.testing.assert_allclose(policy_risks(key, 4, d, k, runs, 2, weight, is_random), risks, rtol=1e-4)


def test_the_simulated_optimum_has_the_exact_risk():
    """Within five standard errors (by chance 6e-7)."""
    risks = np.asarray(policy_risks(jax.random.key(0), 12, 3, 2, 4000, 2, 1.0, False), float)
    errors = (risks.mean(axis=1) - exact_risks(3, 2, 24)[0, [12, 24]]) / stats.sem(risks, axis=1)
    assert np.all(np.abs(errors) < 5), errors


def test_halving_has_the_risk_of_all_counts():
    """d = 2: n signs of both attributes, then 2 n more of the better one; within five standard errors."""
    n, expected = 4, 0.0
    laws = {
        p: (stats.binom.pmf(np.arange(n + 1), n, p), stats.binom.pmf(np.arange(2 * n + 1), 2 * n, p)) for p in (P, 0.5)
    }
    for a, b in itertools.product(range(n + 1), repeat=2):
        for first, p, share in ((a, P, (a > b) + (a == b) / 2), (b, 0.5, (b > a) + (a == b) / 2)):
            for c, last in enumerate(laws[p][1]):
                w = 2 * (first + c) / (3 * n) - 1
                risk = (w - U) ** 2 if p == P else w**2 + U**2
                expected += laws[P][0][a] * laws[0.5][0][b] * share * last * risk
    examples, risks = halving_risks(np.random.default_rng(0), 2, 1, n, 40_000)
    assert examples == 4 * n
    assert abs(risks.mean() - expected) < 5 * stats.sem(risks)
    assert halving_risks(np.random.default_rng(0), 5, 2, 3, 4)[0] == 8 + 9 + 9 + 12  # of 5, 3, 2 and 1 attributes


@pytest.mark.long
@pytest.mark.parametrize("name", some(["AER", "Baseline, E xx' = I"], "Baseline, E xx' = I"))
def test_learners_equal_a_loop(name):
    """AER's mean hypothesis, and the projected mean of y v, after three and seven examples."""
    d, ends, key = 3, np.array([3, 7]), jax.random.key(5)
    hidden = HiddenAttribute(d, EPS)
    parts, rates = RATES[name](d)
    state, law, risks = parts(d, rates[0])[0], hidden.init(key), []
    total = np.zeros(d)
    learner = study.AER(2, rates[0], U)
    for t in range(7):
        draw, answer, choice = jax.random.split(jax.random.fold_in(key, t), 3)
        x, _ = hidden.instance(draw, law, t)
        y, _ = hidden.outcome(answer, law, t, x, 0.0)
        oracle = study.jo.Attributes(2).open(None, t, x, y, 0.0)
        if name == "AER":
            total += state[0].w
            state = learner.update(choice, state[0], oracle)[0], None
        else:
            total += float(y) * np.asarray(study.AttributePairs(2)(choice, d, oracle).v)
        if t + 1 in ends:
            w = total / (t + 1) if name == "AER" else project_l1_ball(jax.numpy.asarray(total / (t + 1)), U)
            risks.append(np.sum((np.asarray(w) - U * np.eye(d)[int(law.attribute)]) ** 2))
    found = learner_risks(parts, rates, hidden, 2, ends, key[None])
    np.testing.assert_allclose(found[0, 0], risks, rtol=1e-4, atol=1e-6)


def test_numbers_of_examples_are_where_the_mean_risk_is_eps():
    ends, falling = np.array([10, 20, 40]), np.array([3.0, 1.5, 0.5]) * EPS
    assert study.first_crossing(ends, falling) == pytest.approx(30)
    assert study.first_crossing(ends, falling + EPS) == math.inf
    risks = np.stack([[falling * 0.9, falling * 1.1], [falling + EPS] * 2])  # two rates, two runs
    samples = study.resample_needed(ends, risks, np.random.default_rng(0))
    assert samples[0] == pytest.approx(30)
    assert samples.min() == pytest.approx(20 + 20 * 0.35 / 0.9)
    assert samples.max() == pytest.approx(20 + 20 * 0.65 / 1.1)
    row = study.fit_exponent("a", {d: d**1.5 * np.ones(9) for d in (8, 16, 64)})
    assert [row[key] for key in ("exponent", "low", "high", "last")] == pytest.approx([1.5] * 4)


def test_the_bound_of_aer_is_first_below_the_risk():
    m = study.first_below(8, 2, U, EPS)
    assert [study.bounds.aer_regret(8, 2, U, U, n).value / n <= EPS for n in (m - 1, m)] == [False, True]
    limits = study.example_bounds(8)
    assert limits["lower bound, Theorem 3"] < limits["lower bound, mean risk"] < limits["upper bound, exp. gradient"]
