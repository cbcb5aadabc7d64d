"""A history prints as a table; one round, and what is traced, prints as it is."""

import jax
import numpy as np

import jaxonline as jo
from jaxonline.environments import DataStream
from jaxonline.game import Draw
from jaxonline.game.printing import is_history
from jaxonline.game.round import Round

LOSSES = np.arange(24.0).reshape(12, 2)


def history(n_rounds: int = 12) -> Round:
    """Of a made-up bandit with two arms: the second arm, drawn with probability 3/4."""
    draws = Draw(np.ones(n_rounds, np.int32), np.tile([0.25, 0.75], (n_rounds, 1)))
    y, x = LOSSES[:n_rounds], np.zeros((n_rounds, 0))
    return Round(y[:, 1], draws, y, x, y, np.ones(n_rounds, np.int32), np.ones(n_rounds, np.int32), ())


def test_a_long_history_prints_its_first_and_last_rounds():
    lines = repr(history()).splitlines()
    assert lines[0].split() == ["round", "move", "outcome", "loss", "queries"], "no column for empty instances"
    assert [line.split()[0] for line in lines[1:-1]] == ["1", "2", "3", "4", "5", "6", "...", "10", "11", "12"]
    assert "1 (p = 0.750)" in lines[1]
    assert lines[-1] == f"12 rounds, sum of losses {LOSSES[:, 1].sum():g}, 12 queries"


def test_a_short_history_prints_all_rounds():
    assert len(repr(history(10)).splitlines()) == 12


def test_single_and_traced_rounds_do_not_print_as_a_table():
    one = jax.tree.map(lambda leaf: leaf[0], history())
    assert not is_history(one)
    assert repr(one).startswith("Round(loss=")
    shapes = jax.eval_shape(lambda: history())
    assert repr(shapes).startswith("Round(loss=ShapeDtypeStruct")
    words = []
    jax.make_jaxpr(lambda h: words.append(repr(h)) or h.loss)(history())
    assert words[0].startswith("Round(loss=")


def test_the_history_of_a_game_prints_instances_moves_and_losses():
    game = jo.Game(DataStream(np.eye(2), np.array([1.0, -2.0])), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
    text = repr(jo.play(game, learner, jax.random.key(0), 2)[1])
    assert text.splitlines()[2].split() == ["2", "[0", "1]", "0", "-2", "4", "1"]
