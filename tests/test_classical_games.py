"""`jaxonline play`: every classical game at small sizes, within its theorems, and its adversaries at work."""

import numpy as np
import pytest

from jaxonline.study import Context
from jaxonline.study.ready import GROUPS, load_study
from jaxonline.study.ready.games.perceptron import labelled

SMALL = {
    "experts": {"experts": 4},
    "tracking": {"experts": 3, "switches": 2},
    "mistakes": {"experts": 16},
    "perceptron": {"margin": 0.2, "dimension": 4},
    "bandits": {"means": (0.2, 0.5, 0.6)},
    "contextual": {"arms": 3, "dimension": 2},
    "convex": {"dimension": 2},
}


def rows(name, *, runs=8, rounds=60, **fields):
    """The rows of the table by learner, and the report."""
    report = load_study(name)(runs=runs, rounds=rounds, **fields).run(Context(seed=3))
    return {row["learner"]: row for row in report.tables["table"].rows}, report


def test_the_games_are_those_of_the_command_line():
    assert set(SMALL) == set(GROUPS["play"])


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_a_game_keeps_to_its_theorems(name, tmp_path):
    """The lower end of the 95 % interval of every learner that has a bound is below it, at 60 rounds."""
    found, report = rows(name, **SMALL[name])
    assert all(np.isfinite([row["mean"], row["low"], row["high"]]).all() for row in found.values())
    assert all(row["low"] <= row["bound"] for row in found.values() if row["bound"] is not None)
    assert {"table.csv", "numbers.json", "figure.png", "result.zarr"} == {path.name for path in report.save(tmp_path)}


def test_against_the_contrary_adversary_every_round_is_a_mistake():
    found, report = rows("mistakes", experts=2, labels="contrary", rounds=30)
    assert {row["mean"] for row in found.values()} == {30.0}
    assert all(row["bound"] is None for row in found.values())
    assert "every round" in report.sentences[0]


@pytest.mark.long
def test_the_leader_is_always_wrong_where_two_experts_alternate():
    """It loses every round but the first two at most; exponential weights keep to their bound for every sequence."""
    found, _ = rows("experts", experts=3, losses="alternating", only=["follow the leader", "exponential weights"])
    assert found["follow the leader"]["low"] >= 60 / 2 - 2
    assert found["exponential weights"]["low"] <= found["exponential weights"]["bound"]


@pytest.mark.parametrize(("name", "size"), [("cancer", (569, 31)), ("digits", (357, 65))])
def test_real_data_have_labels_and_at_most_unit_length(name, size):
    X, y = labelled(name)
    assert X.shape[0] == size[0]
    assert X.shape[1] <= size[1]
    assert np.linalg.norm(X, axis=1).max() == pytest.approx(1.0)
    assert set(y) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("bandits", {"means": (0.5, 0.5)}, "means must not all be equal, got 0.5, 0.5"),
        ("bandits", {"means": (0.5,)}, "means must be at least 2, got 1 of them"),
        ("tracking", {"switches": 40}, "switches must be at most half of rounds - 1, got 40 and 60 rounds"),
        ("mistakes", {"labels": "nonsense"}, "labels must be 'realizable', 'noisy' or 'contrary', got nonsense"),
        ("experts", {"only": ["nobody"]}, "only must be of 'exponential weights'"),
    ],
)
def test_bad_fields_are_named(name, fields, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        rows(name, **fields)
