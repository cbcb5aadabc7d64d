"""Every learner of the registry under delayed feedback: an answer changes nothing before the round of its arrival."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mechanisms import bits
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline.learners import BOLD, UpdateOnArrival

ROUNDS, DELAY, CHANGED = 5, 2, 2  # the outcome of round 2 arrives at the end of round 4
WRAPPERS = {"on arrival": UpdateOnArrival, "BOLD": lambda learner: BOLD(learner, DELAY)}
CASES = [(wrapper, name) for wrapper in WRAPPERS for name in LEARNERS]
SHORT = (("on arrival", "EXP3"), ("BOLD", "Hedge"))


def changed_round(name: str) -> int:
    """Return the round whose outcome is changed: no last round of a phase of Doubling, which forgets there.

    The random series of the smoothed hinge loss is 0 for both outcomes of round 2, but not for those of round 5.
    """
    return 5 if name in ("doubling", "attributes, smoothed hinge") else CHANGED


def states_and_moves(wrapper: str, name: str, outcomes: Any = None) -> tuple[list[list[bytes]], list[list[bytes]]]:
    """Return the state of the learner after each round, and the move of each round, as bytes."""
    entry = LEARNERS[name]()
    arrival = changed_round(name) + DELAY
    rows = entry.rows(arrival + 1)
    if outcomes is not None:
        rows = jo.replace(rows, y=outcomes(rows.y))
    with entry.promotion():
        game = jo.Game(rows, jo.Delayed(entry.feedback, DELAY), loss=entry.loss)
        learner, key, states = WRAPPERS[wrapper](entry.learner), jax.random.key(0), []
        for n_rounds in (arrival - 1, arrival, arrival + 1):
            state, history = jo.play(game, learner, key, n_rounds)
            states.append(bits(state))
    moves = [bits(jax.tree.map(lambda leaf, t=t: leaf[t], history.y_hat)) for t in range(arrival + 1)]
    return states, moves


@pytest.mark.parametrize(("wrapper", "name"), some(CASES, *SHORT))
def test_an_answer_changes_nothing_before_it_arrives(wrapper, name):
    entry, row = LEARNERS[name](), changed_round(name) - 1

    def other_outcomes(y):
        changed = y[row] * (-1.0 if entry.classes else -5.0)
        if entry.losses_of_arms:
            changed = jnp.round(1.0 - y[row])
        return y.at[row].set(changed)

    states, moves = states_and_moves(wrapper, name)
    other_states, other_moves = states_and_moves(wrapper, name, other_outcomes)
    arrival = row + 1 + DELAY
    assert other_moves[:arrival] == moves[:arrival], "moves: must not depend on an answer that has not arrived"
    assert other_states[0] == states[0], "the state: must not depend on an answer that has not arrived"
    if other_states[1] == states[1] and not entry.classes:  # the loss of the arm pulled may be rounded to what it was
        other_states, _ = states_and_moves(wrapper, name, lambda y: y.at[row].set(1.0 - other_outcomes(y)[row]))
    assert entry.coarse or other_states[1] != states[1], "the state: must depend on an answer that has arrived"


def test_an_answer_that_arrives_early_is_detected():
    """The same check with delay 1 finds a difference in the move of round 4."""
    losses = np.random.default_rng(0).uniform(size=(ROUNDS, 3)).astype(np.float32)
    moves = []
    for factor in (1.0, 0.0):
        game = jo.Game(
            jo.environments.DataStream(None, losses * np.where(np.arange(ROUNDS) == CHANGED - 1, factor, 1.0)[:, None]),
            jo.Delayed(jo.FullInformation(), DELAY - 1),
            loss=jo.losses.ExpectedLoss(),
        )
        learner = UpdateOnArrival(jo.learners.Hedge(jo.learners.EWA(1.0)))
        moves.append(np.asarray(jo.play(game, learner, jax.random.key(0), ROUNDS)[1].y_hat))
    assert (moves[0][: DELAY + CHANGED - 1] == moves[1][: DELAY + CHANGED - 1]).all()
    assert (moves[0][DELAY + CHANGED - 1] != moves[1][DELAY + CHANGED - 1]).any()
