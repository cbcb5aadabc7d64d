"""Games, learners and their parts print as one readable line; tables name the regret."""

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
import optax
import pytest
from made_results import made_result
from registry import LEARNERS

import jaxonline as jo
from jaxonline import bounds, comparators, environments, losses, noise
from jaxonline.parameters.short_repr import MAX_CHARACTERS, short_repr
from jaxonline.simulation.planning import regret_label

ROWS = environments.DataStream(np.ones((442, 10)), np.ones(442))
ARMS = environments.BernoulliArms([0.2, 0.5, 0.8])
BANDIT = jo.Game(ARMS, jo.Bandit(), loss=losses.ArmLoss(), pseudo=True)

PARTS = {
    "data": (ROWS, "DataStream(X=float32[442, 10], y=float32[442], order='file')"),
    "noise": (noise.laplace(0.2), "Noise(covariance=0.2, law='laplace')"),
    "correlated noise": (noise.gaussian(np.eye(3)), "Noise(covariance=float64[3, 3], law='gaussian')"),
    "bound": (bounds.gradient_descent(2.0, 4.0, 100), "Bound(40.0, step_size=0.1, G=4.0, radius=2.0, diameter=4.0)"),
    "feedback": (jo.NoisyCopies(noise.gaussian(0.1)), "NoisyCopies(noise=Noise(covariance=0.1, law='gaussian'), "
                 "reveal_covariance=False)"),
    "learner": (jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.1), radius=2.0),
                "GradientLearner(estimator=TwoCopies(), step_size=InverseSqrt(eta=0.1), radius=2.0, "
                "hypothesis='last')"),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_game_prints_its_parameters(name):
    part, line = PARTS[name]
    assert repr(part) == str(part) == line


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_prints_as_one_line_without_data_or_addresses(name):
    entry = LEARNERS[name]()
    for part in (entry.learner, entry.feedback, entry.loss, jo.WithFeedback(entry.learner, entry.feedback)):
        assert repr(part).startswith(f"{type(part).__name__}(")
        assert "\n" not in repr(part)
        assert " at 0x" not in repr(part)
        assert len(repr(part)) <= MAX_CHARACTERS


def test_a_game_of_arms_says_that_outcomes_are_losses():
    assert "loss=ArmLoss(), pseudo=True)  # outcomes are losses of arms: lower is better" in repr(BANDIT)


def test_an_optimizer_prints_its_numbers():
    learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.1, optimizer=optax.adam(1.0, b1=0.8))
    assert "scale_by_adam(b1=0.8, " in repr(learner)


def test_a_struct_prints_inside_a_compiled_function():
    lines = []
    jax.jit(lambda step: lines.append(repr(step)))(jo.InverseSqrt(0.5))
    assert lines == ["InverseSqrt(eta=float32[])"]


def test_a_struct_keeps_the_repr_of_its_author():
    @jo.struct
    class Own:
        rate: float

        def __repr__(self):
            return "mine"

    assert repr(Own(1.0)) == "mine"


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no words")


@dataclasses.dataclass
class Node:
    next: Any


def test_one_line_of_any_object():
    assert short_repr(np.float32(0.1)) == short_repr(0.1) == "0.1"
    assert short_repr(np.arange(3)) == "[0, 1, 2]"
    assert short_repr(np.array([1 / 3])) == "[0.3333333]"
    assert short_repr(jax.random.key(0)) == "key"
    assert short_repr(np.sin) == "<ufunc 'sin'>"
    assert short_repr(jax.jit(test_one_line_of_any_object)) == "test_one_line_of_any_object"
    assert short_repr(functools.partial(np.sin, 2, x=3)) == "partial(<ufunc 'sin'>, 2, x=3)"
    assert short_repr(Node) == "Node"
    assert short_repr({"a": (1, 2.0)}) == "{'a': (1, 2.0)}"
    assert len(short_repr(dict.fromkeys(range(99), "x" * 50))) <= MAX_CHARACTERS
    assert short_repr([Unprintable()]) == "[Unprintable]"
    node = Node(None)
    node.next = [node]
    assert short_repr(node) == "Node(next=[<recursive>])"


@pytest.mark.parametrize(
    ("game", "comparator", "label"),
    [
        (BANDIT, jo.BestArm(), "pseudo-regret against the best arm (loss)"),
        (dataclasses.replace(BANDIT, pseudo=False), jo.BestArm(), "regret against the best arm in hindsight (loss)"),
        (jo.Game(ROWS, jo.FullInformation()), jo.L2Ball(1.0), "regret against the best in hindsight"),
        (BANDIT, comparators.BestSegments(2), "pseudo-regret against the best sequence of arms (loss)"),
    ],
)
def test_the_label_names_the_regret_of_the_game(game, comparator, label):
    assert regret_label(game, comparator) == label


def test_tables_and_axes_name_the_regret():
    label = "pseudo-regret against the best arm (loss)"
    result = made_result(n_runs=4, meta={"regret_label": label})
    texts = repr(result).splitlines()[0], result.to_latex(), result.plot().get_ylabel(), repr(result.ranking())
    assert [label in text for text in (*texts, repr(jo.results.Standings({"arms": result})))] == [True] * 5
    assert set(result.to_pandas().label) == {label}
