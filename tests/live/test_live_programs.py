"""The compiled programs of live learners: how many there are, and the arrays that go in and out."""

import jax
import numpy as np
from count_programs import n_compiled
from mechanisms import bits

import jaxonline as jo


def gradient(step_size=0.25):
    return jo.GradientLearner(jo.estimators.FullGradient(), step_size=step_size)


def test_a_session_compiles_three_programs_and_passes_few_arrays():
    """In: the learner's number, the key, two arrays of the state, the table. Out: the state, and the packed outcome.

    The compiler may drop an array that goes in.
    """
    before = {name: n_compiled(name) for name in ("begin", "play", "moves")}
    live = jo.Live(gradient(), instance=19)
    for x in np.eye(19, dtype=np.float32):
        live.predict(x)
        live.predict(2.0 * x)
        live.update(2.0 * x, 1.0)
    live.learn(np.eye(19), np.ones(19))
    assert live.moves(np.eye(19)).shape == (19,)
    assert {name: n_compiled(name) - before[name] for name in before} == {"begin": 1, "play": 1, "moves": 1}
    game = live._game
    arguments = (game._numbers, game._key_data, live._states, game._table)
    assert len(jax.tree.leaves(arguments)) == 5
    assert len(jax.tree.leaves(type(game._programs).play.lower(game._programs, *arguments).out_info)) == 3


def test_a_new_learner_of_the_same_structure_has_its_own_numbers():
    slow, fast = (jo.Live(gradient(step_size), instance=2) for step_size in (0.25, 0.5))
    for live in (slow, fast):
        live.predict([1.0, 0.0])
        live.update(y=1.0)
    assert (slow.state.w.tolist(), fast.state.w.tolist()) == ([0.5, 0.0], [1.0, 0.0])


def test_a_record_does_not_change_afterwards():
    live = jo.Live(gradient(), instance=2)
    live.predict(x := np.array([1.0, 2.0], np.float32))
    record = live.update(y=1.0)
    before, state = bits(record), live.state.w
    x[:] = 7.0
    live.learn(np.ones((9, 2)), np.ones(9))
    assert bits(record) == before
    assert state.tolist() == [0.5, 1.0], "the learner's state is another array in each round"
    assert [type(record.loss), type(record.y)] == [np.float32] * 2
