"""The guides: answers are listed and have code, and the page of errors has the messages that users see."""

import inspect
import re

import numpy as np
import pytest
from fresh_python import ROOT

import jaxonline as jo
from jaxonline.parameters import errors

ANSWERS = ("how-do-i-games", "how-do-i-figures", "how-do-i-runs")
WITHOUT_CODE = {"Progress", "Shorter compilation"}  # one argument, one variable
ARMS = jo.environments.BernoulliArms([0.2, 0.5])
GAME = jo.Game(ARMS, jo.Bandit(), loss=jo.losses.ArmLoss())


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def sections(name: str) -> dict[str, str]:
    """The text of each section of the second level, by heading."""
    parts = re.split(r"^## (.+)\n", page(name), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchor(heading: str) -> str:
    """The anchor of a heading, as MyST and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_list_of_answers_has_every_answer():
    links = set(re.findall(r"\((how-do-i-\w+\.md#[\w-]+)\)", page("how-do-i")))
    assert links == {f"{name}.md#{anchor(heading)}" for name in ANSWERS for heading in sections(name)}
    assert len(links) >= 30


def test_every_answer_has_code():
    without = {
        heading
        for name in ANSWERS
        for heading, text in sections(name).items()
        if "```python" not in text and not re.search(r"^    jaxonline ", text, re.MULTILINE)
    }
    assert without == WITHOUT_CODE


def test_every_warning_has_a_row():
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Warning)}
    assert set(re.findall(r"^\| `(\w+Warning)`", page("troubleshooting"), re.MULTILINE)) == classes


class Undeclared(jo.Learner):
    """A learner without @jo.struct."""

    def init(self, key, specs):
        return ()

    def predict(self, key, state, x):
        return np.int32(0)

    def update(self, key, state, oracle):
        return (), ()


def study(learner, game=GAME):
    return jo.simulate(game, learner, n_runs=2, n_rounds=2)


MESSAGES = {
    "cannot play this game": lambda: study(jo.GradientLearner(jo.estimators.TwoCopies(), 0.1)),
    "loss: must return a number for the move": lambda: study(jo.learners.UCB1(), jo.Game(ARMS, jo.Bandit())),
    "comparator: must be given for the regret": lambda: jo.Result(
        learners=("a",), runs=np.arange(2), rounds=np.array([1]),
        measures={"cumulative_loss": np.ones((1, 2, 1)), "queries": np.ones((1, 2, 1))},
    ).regret,
    "must be at least 0 and at most 1": lambda: study(
        jo.learners.UCB1(),
        jo.Game(jo.environments.DataStream(None, np.full((2, 2), 3.0)), jo.Bandit(), loss=jo.losses.ArmLoss()),
    ),
    "must have the method mean_outcome for pseudo=True": lambda: jo.Game(
        jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation(), pseudo=True
    ),
    "must be a number, an array or a struct": lambda: study(Undeclared()),
    "No jaxonline attribute": lambda: jo.UCB1,  # type: ignore[attr-defined]
}  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_of_the_page_are_those_of_errors(message):
    assert message in page("troubleshooting")
    with pytest.raises((ValueError, TypeError, AttributeError), match=re.escape(message)):
        MESSAGES[message]()
