"""`jaxonline play`: every classical game at small sizes, within its theorems, and its adversaries at work."""

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline import bounds
from jaxonline.comparators import best_segments
from jaxonline.study import Context
from jaxonline.study.ready import STUDY_GROUPS, load_study
from jaxonline.study.ready.games.forecasts import FORECASTERS, forecasts
from jaxonline.study.ready.games.perceptron import load_labelled

SMALL = {
    "experts": {"experts": 4},
    "tracking": {"experts": 3, "switches": 2},
    "forecasts": {"switches": 2},
    "mistakes": {"experts": 16},
    "sparse": {"attributes": 8},
    "perceptron": {"margin": 0.2, "dimension": 4},
    "bandits": {"means": (0.2, 0.5, 0.6)},
    "contextual": {"arms": 3, "dimension": 2},
    "convex": {"dimension": 2},
    "strongly-convex": {},
    "adaptive": {"size": 2.0},
    "delayed": {"delays": (0, 5)},
    "delayed-gradient": {"delays": (0, 5)},
    "best-arm": {"budget": 40},
    "sets": {"means": (0.2, 0.4, 0.6), "size": 2},
    "duels": {"strengths": (3.0, 2.0, 1.0)},
    "quantiles": {},
}


def rows(name, *, runs=8, rounds=60, **fields):
    """The rows of the table by learner, and the report."""
    report = load_study(name)(runs=runs, rounds=rounds, **fields).run(Context(seed=3))
    return {row["learner"]: row for row in report.tables["table"].rows}, report


def test_every_game_of_the_command_line_is_tested():
    assert set(SMALL) == set(STUDY_GROUPS["play"])


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_regret_is_below_the_bound_of_every_game(name, tmp_path):
    """The lower end of the 95 % interval of every learner that has a bound is below it, at 60 rounds."""
    with jax.numpy_dtype_promotion("standard" if name == "convex" else "strict"):  # for Adam of optax
        found, report = rows(name, **SMALL[name])
    assert all(np.isfinite([row["mean"], row["low"], row["high"]]).all() for row in found.values())
    assert all(row["low"] <= row["bound"] for row in found.values() if row["bound"] is not None)
    if name == "bandits":
        assert all(row["switches_low"] <= row["switches"] <= row["switches_high"] for row in found.values())
    names = {"table.csv", "numbers.json", "figure.png", "result.zarr", "report.html"}
    assert names == {path.name for path in report.save(tmp_path)}


def test_deterministic_learners_err_in_every_round_against_contrary_labels():
    found, report = rows("mistakes", experts=2, labels="contrary", rounds=30)
    assert {row["mean"] for row in found.values()} == {30.0}
    assert all(row["bound"] is None for row in found.values())
    assert "every round" in report.sentences[0]


@pytest.mark.long
def test_follow_the_leader_has_linear_regret_if_two_experts_alternate():
    """It loses every round but the first two at most; exponential weights keep to their bound for every sequence."""
    found, _ = rows("experts", experts=3, losses="alternating", only=["follow the leader", "exponential weights"])
    assert found["follow the leader"]["low"] >= 60 / 2 - 2
    assert found["exponential weights"]["low"] <= found["exponential weights"]["bound"]


@pytest.mark.long
def test_regret_on_coin_flips_is_a_harmonic_number():
    """Within 6 standard errors (false alarm 1e-8), of less than 1.5; steps eta / sqrt(t) are outside."""
    found, _ = rows("strongly-convex", runs=256, rounds=1000)
    expected = 1 + sum(1 / t for t in range(1, 1000))
    row = found["steps 1 / (2 t)"]
    error = 6 * (row["high"] - row["low"]) / (2 * 1.96)
    assert abs(row["mean"] - expected) < error < 1.5
    assert found["steps eta / sqrt(t)"]["low"] > expected + error


def mean_losses(losses, eta, share=0.0):
    """Of exponential weights, a part of which is shared out; in NumPy, round by round."""
    w, total = np.full(losses.shape[1], 1 / losses.shape[1]), 0.0
    for row in losses:
        total += w @ row
        w = w * np.exp(-eta * row)
        w = (1 - share) * w / w.sum() + share / len(w)
    return total


@pytest.mark.long
def test_regret_of_forecasters_equals_that_of_a_numpy_loop():
    """A thousand days: the mean regret over 64 runs, without any switch of the comparator and with four, is that of a
    NumPy loop, within 6 standard errors, of less than 0.3 (the regrets are 12 and 10); bounds hold, with the interval,
    and that of exponential weights is no more than 3 times what is lost. Tuned to 20 switches, fixed share loses more
    to sequences with none than exponential weights, which are tuned to that."""
    values, predictions = forecasts()
    losses = np.abs(predictions - values[:, None])[:1000]
    assert losses.shape == (1000, len(FORECASTERS))
    assert 0 <= losses.min() < losses.max() <= 1
    K, T, regrets = losses.shape[1], len(losses), {}
    for switches in (0, 4):
        best, weights = best_segments(losses, switches + 1).loss, bounds.exponential_weights(K, T)
        tracking = bounds.fixed_share(K, T, switches)
        rates = {"exponential weights": (weights.eta, 0.0), "fixed share": (tracking.eta, switches / (T - 1))}
        found, _ = rows("forecasts", runs=64, rounds=T, switches=switches, only=list(rates))
        for name, (eta, share) in rates.items():
            row, regrets[name, switches] = found[name], mean_losses(losses, eta, share) - best
            error = (row["high"] - row["low"]) / (2 * 1.96)
            assert abs(row["mean"] - regrets[name, switches]) < 6 * error < 1.8
            assert row["bound"] is None or row["mean"] + 6 * error < row["bound"]
    assert (
        regrets["exponential weights", 0]
        < bounds.exponential_weights(K, T).value
        < 3 * regrets["exponential weights", 0]
    )
    late = bounds.fixed_share(K, T, 20)
    best = losses.sum(axis=0).min()
    assert mean_losses(losses, late.eta, 20 / (T - 1)) - best > regrets["exponential weights", 0]


def test_forecasts_use_only_previous_days():
    """By hand on day 30 of the series, as scaled."""
    values, predictions = forecasts()
    t = 30 + 20
    past = values[:t]
    expected = [
        past[-1], np.clip(2 * past[-1] - past[-2], 0, 1), past[-5], past[-5:].mean(), past[-20:].mean(),
        (past[-1] + past[-20:].mean()) / 2, 0.5,
    ]  # fmt: skip
    np.testing.assert_allclose(predictions[t], expected, rtol=1e-12)
    assert len(values) == 1027


@pytest.mark.parametrize(("name", "size"), [("cancer", (569, 31)), ("digits", (357, 65))])
def test_real_data_have_signed_labels_and_at_most_unit_length(name, size):
    X, y = load_labelled(name)
    assert X.shape[0] == size[0]
    assert X.shape[1] <= size[1]
    assert np.linalg.norm(X, axis=1).max() == pytest.approx(1.0)
    assert set(y) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("bandits", {"means": (0.5, 0.5)}, "means: .*got 0.5, 0.5"),
        ("bandits", {"means": (0.5,)}, "means: .*got 1 of them"),
        ("sets", {"means": (0.5, 0.5), "size": 1}, "means: must not all be equal"),
        ("sets", {"size": 6}, "size: must be below the number of arms, 6"),
        ("duels", {"strengths": (2.0, 2.0, 1.0)}, "strengths: must have one largest number"),
        ("tracking", {"switches": 40}, "switches: .*got 40 and 60 rounds"),
        ("forecasts", {"switches": 40}, "switches: .*got 40 and 60 rounds"),
        ("forecasts", {"rounds": 1028}, "rounds: must be at most 1,027"),
        ("sparse", {"relevant": 64}, "relevant: must be less than attributes, 64"),
        ("sparse", {"required": 3}, "required: must be at most relevant, 2"),
        ("mistakes", {"labels": "nonsense"}, "labels: .*got nonsense"),
        ("experts", {"only": ["nobody"]}, "only: must be among 'exponential weights'"),
    ],
)
def test_invalid_fields_raise_errors_with_their_names(name, fields, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        rows(name, **fields)


def test_skewed_runs_are_reported_with_distribution_free_intervals(monkeypatch):
    monkeypatch.setattr("jaxonline.results.statistics.means.skewness", lambda values: np.full(len(values), 99.0))
    report = rows("mistakes", experts=2, labels="contrary", rounds=30)[1]
    assert sum("is skewed" in sentence for sentence in report.sentences) == 1
    (bounded,) = (sentence for sentence in report.sentences if "lies between 0 and 1" in sentence)
    names = report.results["result"].learners
    of = report.results["result"].mean("mistakes", interval=jo.intervals.Bounded(0, 1))
    assert all(f"{name} {low:,.1f} to " in bounded for name, low in zip(names, of.low[:, -1], strict=True))
