"""The studies that are shipped as files: all of them can be played, and the quickstart's is the quickstart."""

import json

import jax
import numpy as np
import pytest
from tiers import some

from jaxonline.study import Context, load_study_file
from jaxonline.study.files.templates import EXAMPLES, write_new
from jaxonline.study.ready.quickstart import Quickstart

pytestmark = pytest.mark.fast_compile
SMALL = {"noisy-kernels": 20, "few-attributes": 40}  # rounds


@pytest.fixture
def example(tmp_path, monkeypatch):
    """An example as `jaxonline new` writes it, read."""
    monkeypatch.chdir(tmp_path)
    return lambda name, **overrides: load_study_file(write_new(name)[0], **overrides)


def test_every_example_can_be_read(example):
    for name in EXAMPLES:
        study = example(name)
        assert study.title
        assert set(study.families) >= set(study.promised)


@pytest.mark.parametrize("name", some(EXAMPLES, "own-data"))
def test_an_example_is_played(example, name, tmp_path):
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
