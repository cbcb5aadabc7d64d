"""The tables of docs/which-learner.md: generated from the declarations of learners and bounds, and up to date."""

import sys

import pytest
from fresh_python import ROOT
from registry import LEARNERS

from jaxonline import bounds, learners
from jaxonline.parameters.signatures import exported_names


@pytest.fixture
def which_learner(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import which_learner as module

    yield module
    del sys.modules["which_learner"]


def test_the_tables_are_up_to_date(which_learner):
    page = which_learner.PAGE.read_text(encoding="utf-8")
    written = page.partition(which_learner.BEGIN)[2].partition(which_learner.END)[0]
    assert written == f"\n{which_learner.tables()}", "run python docs/site/which_learner.py"


def test_every_learner_is_in_a_table(which_learner):
    tables = which_learner.tables()
    classes = {type(entry().learner).__name__ for entry in LEARNERS.values()} & set(exported_names(learners))
    assert len(classes) > 40
    assert [name for name in classes - set(which_learner.WRAPPERS) if f"[`{name}" not in tables] == []


def test_the_feedback_of_a_table_is_one_that_its_learners_play(which_learner):
    played = {}
    for entry in (make() for make in LEARNERS.values()):
        played.setdefault(type(entry.learner).__name__, set()).add(type(entry.feedback).__name__)
    for group in which_learner.GROUPS:
        for row in group.rows:
            owner = row.name.partition(".")[0]
            assert played.get(owner, set(group.feedbacks)) & {*group.feedbacks, "Repeatedly"}, row.name


def test_bounds_and_suites_of_the_tables_exist(which_learner):
    rows = [row for group in which_learner.GROUPS for row in group.rows]
    assert [row.bound for row in rows if row.bound and row.bound not in exported_names(bounds)] == []
    assert {group.suite for group in which_learner.GROUPS} == {"", "textbook-bandits", "noisy-regression"}


def test_a_learner_without_a_row_is_in_the_last_table(which_learner, monkeypatch):
    groups = [group for group in which_learner.GROUPS if "Best-arm" not in group.heading]
    monkeypatch.setattr(which_learner, "GROUPS", tuple(groups))
    assert "### Other learners" in which_learner.tables()
    assert {row.name for row in which_learner.other_rows()} == {"SuccessiveElimination", "SequentialHalving"}
