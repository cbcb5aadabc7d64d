"""The compiled programs of live learners: how many there are, and the arrays that go in and out."""

import jax
import numpy as np
import pytest
from count_programs import n_compiled
from mechanisms import bits

import jaxonline as jo
from jaxonline.live.programs import WordLayout

ROWS = 3


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


def rows_of(x64):
    rng = np.random.default_rng(0)
    rows = {
        "a number": rng.normal(size=ROWS).astype(np.float32),
        "counts": rng.integers(-5, 5, size=(ROWS, 3)).astype(np.int32),
        "flag": rng.random(ROWS) < 0.5,
        "flags": rng.random((ROWS, 2, 2)) < 0.5,
        "matrix": rng.normal(size=(ROWS, 2, 3)).astype(np.float32),
        "nothing": np.zeros((ROWS, 0), np.float32),
        "short": rng.integers(-5, 5, size=ROWS).astype(np.int8),
        "half": rng.normal(size=(ROWS, 3)).astype(np.float16),
        "large": rng.normal(size=(ROWS, 4096)).astype(np.float32),
        "special": np.array([np.nan, -0.0, np.inf], np.float32),
        "words": rng.integers(2**32, size=(ROWS, 2), dtype=np.uint32),
    }
    if x64:
        rows |= {"double": rng.normal(size=ROWS), "doubles": rng.normal(size=(ROWS, 2))}
        rows |= {"long": np.arange(ROWS) - 2**40}
    return rows


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
def test_arrays_are_packed_and_read_without_change(both_precisions):
    rows = rows_of(jax.config.jax_enable_x64)
    layout = WordLayout(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), rows))
    words = np.asarray(jax.jit(layout.pack)(rows))
    assert words.dtype == np.uint32
    read = layout.read(words, slice(2))
    for name, expected in rows.items():
        assert (read[name].dtype, read[name].shape) == (expected.dtype, expected[:2].shape)
        assert read[name].tobytes() == expected[:2].tobytes()
        assert read[name].flags.aligned
    for row in range(ROWS):
        for name, value in layout.read(words, row).items():
            assert type(value) is type(rows[name][row])
            assert value.tobytes() == rows[name][row].tobytes()
