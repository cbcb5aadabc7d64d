"""Guides that follow the code: messages and warnings in `troubleshooting`, and the tables of `which-learner`."""

import inspect
import re
import sys

import numpy as np
import pytest
from fresh_python import ROOT
from pages import text_of
from registry import LEARNERS

import jaxonline as jo
from jaxonline import bounds, learners
from jaxonline.parameters import errors
from jaxonline.parameters.signatures import exported_names

PAGE = text_of("docs/troubleshooting.md")
ARMS = jo.environments.BernoulliArms([0.2, 0.5])
GAME = jo.Game(ARMS, jo.Bandit(), loss=jo.losses.ArmLoss())


def test_every_warning_has_a_row():
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Warning)}
    assert set(re.findall(r"^\| `(\w+Warning)`", PAGE, re.MULTILINE)) == classes


@jo.struct
class OtherState(jo.learners.UCB1):
    def update(self, key, state, oracle):
        return oracle.loss(), ()


class Undeclared(jo.learners.UCB1):
    """A learner without @jo.struct."""


UNBOUNDED = jo.environments.DataStream(None, np.full((2, 2), 3.0))
DATA = jo.environments.DataStream(np.eye(2), np.ones(2))
SIZES = {"n_runs": 2, "n_rounds": 2}
MESSAGES = {
    "cannot play this game": lambda: jo.simulate(GAME, jo.GradientLearner(jo.estimators.TwoCopies(), 0.1), **SIZES),
    "loss: must return a number": lambda: jo.simulate(jo.Game(ARMS, jo.Bandit()), jo.learners.UCB1(), **SIZES),
    "comparator: must be given for the regret": lambda: jo.simulate(GAME, jo.learners.UCB1(), **SIZES).regret,
    "must be at least 0 and at most 1": lambda: jo.simulate(
        jo.Game(UNBOUNDED, jo.Bandit(), loss=jo.losses.ArmLoss()), jo.learners.UCB1(), **SIZES
    ),
    "must have the method mean_outcome for pseudo=True": lambda: jo.Game(DATA, jo.FullInformation(), pseudo=True),
    "must be a number, an array or a struct": lambda: jo.simulate(GAME, Undeclared(), **SIZES),
    "must return a state of the shapes and dtypes of init": lambda: jo.simulate(GAME, OtherState(), **SIZES),
    "No jaxonline attribute": lambda: jo.UCB1,  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_of_the_page_are_those_of_errors(message):
    assert message in PAGE
    with pytest.raises((ValueError, TypeError, AttributeError), match=re.escape(message)):
        MESSAGES[message]()


@pytest.fixture
def which_learner(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import which_learner as module

    yield module
    del sys.modules["which_learner"]


def test_tables_have_every_learner_with_a_feedback_that_it_plays_and_bounds_that_exist(which_learner):
    tables, played = which_learner.tables(), {}
    written = which_learner.PAGE.read_text(encoding="utf-8").partition(which_learner.BEGIN)[2]
    assert written.partition(which_learner.END)[0] == f"\n{tables}", "run python docs/site/which_learner.py"
    for entry in (make() for make in LEARNERS.values()):
        played.setdefault(type(entry.learner).__name__, set()).add(type(entry.feedback).__name__)
    classes = played.keys() & set(exported_names(learners))
    assert len(classes) > 40
    assert [name for name in classes - set(which_learner.WRAPPERS) if f"[`{name}" not in tables] == []
    for group in which_learner.GROUPS:
        for row in group.rows:
            owner = row.name.partition(".")[0]
            assert played.get(owner, set(group.feedbacks)) & {*group.feedbacks, "Repeatedly"}, row.name
            assert row.bound in ("", *exported_names(bounds))
