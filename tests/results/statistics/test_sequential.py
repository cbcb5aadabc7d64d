"""Sequential comparison: decisions about pairs that hold over all looks, without compiled programs."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.parameters.errors import PrecisionWarning
from jaxonline.results.statistics.ranking import BETTER, SIMILAR, UNDECIDED, WORSE, PairStates, look
from jaxonline.simulation.stopping_rules import looks, until_decided

Q = "cumulative_loss"


def result(losses: np.ndarray, names: str = "abcdefgh") -> jo.Result:
    """Return a result with the losses [L, R] after one round."""
    measures = {Q: losses[:, :, None], "queries": np.zeros((*losses.shape, 1))}
    return jo.Result(tuple(names[: len(losses)]), np.arange(losses.shape[1]), np.array([1]), measures)


def play(losses: np.ndarray):
    """Return the function that plays runs of made-up losses."""
    return lambda runs, before: result(losses[:, : runs.stop])


def decide(losses: np.ndarray, rule: jo.UntilDecided, step: int = 50) -> jo.Result:
    return until_decided(play(losses), rule, losses.shape[1], width=50, step=step)


def reference(differences: np.ndarray, margin: float, n_pairs: int) -> tuple[str, int]:
    """Return the decision of a pair and its number of runs, by a loop over the looks at 100, 150, 200, ... runs.

    The interval is Theorem 2.2 of Waudby-Smith and others (2024) with the level 1 - 0.05 / pairs: its half-width is s
    sqrt(2 (n rho^2 + 1) / (n^2 rho^2) log(sqrt(n rho^2 + 1) / alpha)), and rho^2 makes it shortest at about 1,000 runs.
    """
    alpha = 0.05 / n_pairs
    rho_squared = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / 1000
    n = 100
    while n <= len(differences):
        sample = differences[:n].tolist()
        mean = sum(sample) / n
        deviation = math.sqrt(sum((value - mean) ** 2 for value in sample) / (n - 1))
        v = n * rho_squared
        half = deviation * math.sqrt(2 * (v + 1) / (n * v) * math.log(math.sqrt(v + 1) / alpha))
        third = sum((value - mean) ** 3 for value in sample) / n
        skewed = abs(third) / (deviation * math.sqrt((n - 1) / n)) ** 3 / math.sqrt(n) > 0.1
        if not skewed and -margin <= mean - half and mean + half <= margin:
            return "no difference that matters", n
        if not skewed and abs(mean) > half:
            return ("worse" if mean > 0 else "better"), n
        n += 50
    return "undecided", len(differences)


def test_decisions_equal_an_independent_loop():
    """Up to 500 runs, the next look is a block of 50 runs later."""
    rng = np.random.default_rng(1)
    losses = np.array([0.0, 0.0, 0.3, 2.0])[:, None] + rng.normal(size=(4, 500)) + rng.normal(size=500)
    with pytest.warns(PrecisionWarning, match=r"until: \d of 6 pairs undecided after n_runs=500"):
        decisions = decide(losses, jo.UntilDecided(0.25, Q)).decisions
    assert len(decisions.pairs) == 6
    for pair in decisions.pairs:
        i, j = ("abcd".index(name) for name in (pair.first, pair.second))
        assert (pair.decision, pair.runs) == reference(losses[i] - losses[j], 0.25, 6)
        assert pair.difference == pytest.approx((losses[i] - losses[j])[: pair.runs].mean())
    assert {pair.decision for pair in decisions.pairs} >= {"better", "undecided"}


def test_error_rate_over_all_looks():
    """Two learners with equal means, 150 studies of up to 700 runs. A right test errs in at most 5 % of the studies
    (12 % once in 1,000); a t-test at each look errs in about 18 %."""
    rng = np.random.default_rng(2)
    differences, rule = rng.normal(size=(150, 700)), jo.UntilDecided(0.0, Q)
    states, retested = PairStates.begin(150), np.zeros(150, bool)
    for n in looks(100, 100, 700):
        states = look(states, differences[:, :n], rule, jo.intervals.Anytime(), together=1)
        retested |= stats.ttest_1samp(differences[:, :n], 0.0, axis=1).pvalue < 0.05
    assert np.isin(states.decision, (BETTER, WORSE)).mean() < 0.12 < retested.mean()


def test_a_margin_finds_learners_without_a_difference_that_matters():
    rng = np.random.default_rng(3)
    losses = np.array([1.0, 1.0, 3.0])[:, None] + rng.normal(size=(3, 2000))
    found = decide(losses, jo.UntilDecided(0.3, Q))
    decisions = found.decisions
    assert decisions.complete
    assert decisions.between("a", "b") == decisions.between("b", "a") == "no difference that matters"
    assert (decisions.between("a", "c"), decisions.between("c", "a")) == ("better", "worse")
    assert dict(zip(decisions.learners, decisions.letters, strict=True)) == {"a": "a", "b": "a", "c": "b"}
    assert decisions.runs == len(found.runs) == found.meta["decisions"]["runs"] == 2000 - decisions.saved
    assert found.interval == jo.intervals.Anytime()
    assert all(text in repr(decisions) for text in ("no difference that matters", f"{decisions.saved:,} runs saved"))
    with pytest.raises(KeyError):
        decisions.between("a", "x")


def test_decisions_about_rewards_are_those_about_losses():
    losses = np.array([0.0, 0.5, 0.45])[:, None] + np.random.default_rng(6).normal(size=(3, 800))

    def play_rewards(runs, before):
        return dataclasses.replace(result(losses[:, : runs.stop]), meta={"rewards": True})

    with pytest.warns(PrecisionWarning):
        plain = decide(losses, jo.UntilDecided(0.1, Q)).decisions
    with pytest.warns(PrecisionWarning):
        shown = until_decided(play_rewards, jo.UntilDecided(0.1, "cumulative_reward"), 800, width=50, step=50).decisions
    assert (shown.learners, shown.letters, shown.runs) == (plain.learners, plain.letters, plain.runs)
    assert plain.learners[0] == "a"
    assert {pair.decision for pair in plain.pairs} == {"better", "undecided"}
    for pair, same in zip(shown.pairs, plain.pairs, strict=True):
        assert pair[:4] == same[:4]
        np.testing.assert_allclose(pair[4:], [-same.difference, -same.high, -same.low], rtol=1e-12)


def test_the_result_does_not_depend_on_the_number_of_blocks_at_once():
    losses = np.array([0.0, 0.4])[:, None] + np.random.default_rng(4).normal(size=(2, 1000))
    one, eight = (decide(losses, jo.UntilDecided(0.1, Q), step) for step in (50, 400))
    assert len(one.runs) % 400
    np.testing.assert_array_equal(one.cumulative_loss, eight.cumulative_loss)
    assert one.meta == eight.meta


def test_a_saved_result_keeps_its_decisions(tmp_path):
    losses = np.array([0.0, 0.4])[:, None] + np.random.default_rng(5).normal(size=(2, 1000))
    losses[1, :950] = np.nan  # runs of a failed learner
    found = result(losses)
    with pytest.warns(PrecisionWarning):
        found = decide(losses, jo.UntilDecided(0.1, Q))
    json.dumps(found.meta, allow_nan=False)
    found.save(tmp_path / "saved.npz")
    loaded = jo.load_result(tmp_path / "saved.npz").decisions
    assert repr(loaded) == repr(found.decisions)
    assert loaded.between("a", "b") == "undecided"


@pytest.mark.parametrize(
    ("differences", "interval", "decision"),
    [
        (np.full(200, -1.0), jo.intervals.Anytime(), UNDECIDED),  # no variance
        (np.full(200, -1.0), jo.intervals.Betting(0.0, 2.0), BETTER),
        (np.tile([-1.0, -0.9], 100), jo.intervals.Anytime(), BETTER),
        (np.tile([-1.0, -0.9], 49), jo.intervals.Anytime(), UNDECIDED),  # fewer than 3 / rarest_event
        (np.tile([0.05, -0.04], 200), jo.intervals.Anytime(), SIMILAR),
        (np.append(np.tile([-1.0, -0.9], 100), 50.0), jo.intervals.Anytime(), UNDECIDED),  # skewed
        (np.append(np.tile([1.0, 0.9], 100), [np.nan] * 9), jo.intervals.Anytime(), WORSE),
        (np.full(200, np.nan), jo.intervals.Anytime(), UNDECIDED),
    ],
)
def test_when_a_pair_is_decided(differences, interval, decision):
    rule, between = jo.UntilDecided(0.1, Q), interval.of_difference()
    assert look(PairStates.begin(1), differences[None], rule, between, together=1).decision.tolist() == [decision]


def test_without_variance_a_pair_is_decided_only_in_a_deterministic_game():
    losses = np.array([[1.0], [2.0]]) * np.ones(200)
    with pytest.warns(PrecisionWarning):
        decide(losses, jo.UntilDecided(0.1, Q))
    exact = until_decided(play(losses), jo.UntilDecided(0.1, Q), 200, 50, 50, is_deterministic=lambda: True)
    assert (exact.decisions.between("a", "b"), exact.decisions.runs) == ("better", 100)


def test_a_given_betting_interval_has_the_quantity_of_the_rule():
    assert jo.UntilDecided(2.0, Q).choose_interval(100, 1000) == jo.intervals.Anytime()
    given = jo.UntilDecided(2.0, Q, interval=jo.intervals.Betting(0.0, 1.0))
    assert given.choose_interval(100, 100) == jo.intervals.Betting(0.0, 1.0, Q)


def test_looks():
    assert list(looks(100, 64, 500)) == [128, 192, 256, 320, 384, 448, 500]
    assert list(looks(2, 1000, 500)) == [500]
    far = list(looks(100, 10, 100_000))
    assert all(b - a <= max(10, a // 10 + 10) for a, b in itertools.pairwise(far))
    assert len(far) < 100


@pytest.mark.parametrize("interval", [jo.intervals.Student(), jo.intervals.SkewCorrected()])
def test_other_intervals_do_not_hold_over_all_looks(interval):
    with pytest.raises((ValueError, TypeError), match=r"interval: must be .*(Anytime|Betting)"):
        jo.UntilDecided(1.0, interval=interval)
    with pytest.raises(ValueError, match="stop: must be an UntilDecided"):
        _ = result(np.ones((2, 3))).decisions
