"""The studies that are shipped as files: all of them can be played, and the quickstart's is the quickstart."""

import json

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.study import Context, load_study_file
from jaxonline.study.files.templates import EXAMPLES, write_study_template
from jaxonline.study.files.writing import study_to_toml
from jaxonline.study.ready import STUDY_GROUPS, load_study
from jaxonline.study.ready.quickstart import Quickstart

pytestmark = pytest.mark.fast_compile
SMALL = {"noisy-kernels": 20, "few-attributes": 40}  # rounds


@pytest.fixture
def example(tmp_path, monkeypatch):
    """An example as `jaxonline new` writes it, read."""
    monkeypatch.chdir(tmp_path)
    return lambda name, **overrides: load_study_file(write_study_template(name)[0], **overrides)


def test_every_example_can_be_read(example):
    for name in EXAMPLES:
        study = example(name)
        assert study.title
        assert set(study.families) >= set(study.promised)


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(example, name, tmp_path):
    with jax.numpy_dtype_promotion("standard"):
        study = example(name, runs=4, rounds=SMALL.get(name, 60), record_at=5)
        report = study.run(Context())
    table = report.tables["table"]
    learners = [row["learner"] for row in table.rows]
    assert learners == [learner for family in study.families.values() for learner in family]
    assert all(np.isfinite(row.get("regret", row.get("cumulative_loss"))) for row in table.rows)
    assert not any(row["failed"] or row["overflowed"] for row in table.rows)
    if study.promised:
        assert any(row["bound"] is not None for row in table.rows)
    numbers = json.loads(report.json())
    assert set(numbers["learners"]) == set(learners)
    assert report.save(tmp_path / "out")


@pytest.mark.long
def test_the_first_example_is_the_quickstart(example):
    """The same numbers, bit for bit, and the same bounds."""
    ready = Quickstart(runs=8, passes=1).run(Context())
    report = example("noisy-measurements", runs=8, rounds=442).run(Context())
    found, expected = report.results["result"], ready.results["result"]
    assert found.learners == expected.learners
    np.testing.assert_array_equal(found.regret, expected.regret)
    np.testing.assert_array_equal(found.queries, expected.queries)
    bounds = [[row["bound"] or 0.0 for row in each.tables["table"].rows] for each in (report, ready)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)


@pytest.mark.parametrize("name", [name for name in STUDY_GROUPS["play"] if name != "forecasts"])
def test_a_classical_game_is_written_and_read_again(name, tmp_path):
    """Game and learners are the same: structure, and every number in float32."""
    file = write_study_template("", str(tmp_path / "game.toml"), source=name)[0]
    study, setting = load_study_file(file), load_study(name)().setting()
    pairs = [(study.comparison.game, setting.game), (study.comparison.learners, dict(setting.learners))]
    for found, expected in pairs:
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(np.float32(one), np.float32(other))
    assert type(study.comparison.comparator) is type(setting.comparator)
    assert [type(each) for each in study.options["measures"]] == [type(each) for each in setting.measures]


def test_games_without_a_file_form_raise_errors(tmp_path):
    with pytest.raises(ValueError, match=r"y: .*7,000 numbers"):
        write_study_template("", str(tmp_path / "game.toml"), source="forecasts")
    with pytest.raises(ValueError, match=r"from: must be one of quickstart, experts, .*got 'expert'.* did you mean"):
        write_study_template("", str(tmp_path / "game.toml"), source="expert")
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.FullInformation(), loss=jo.losses.ExpectedLoss())
    doubling = jo.learners.Doubling(lambda n_rounds: jo.learners.Hedge(jo.learners.EWA(n_rounds**-0.5)))
    with pytest.raises(ValueError, match=r"learner_for.*no name in study files"):
        study_to_toml(game, {"doubling": doubling}, rounds=9, runs=2)
