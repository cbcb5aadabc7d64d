"""Mistakes of newcomers: the message names the argument, the value, and what to write instead."""

import functools
import random
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.parameters.errors import DivergedRunsWarning, SettingsWarning

L, BANDIT = jo.learners, jo.bandit_game([0.2, 0.5, 0.8])
LINEAR = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.FullInformation())
DELAYED = jo.Game(jo.environments.BernoulliArms([0.1, 0.2]), jo.Delayed(jo.Bandit(), 3), loss=jo.losses.ArmLoss())
GRADIENT = functools.partial(jo.GradientLearner, jo.estimators.FullGradient())


def play(game=BANDIT, learners=L.UCB1(), n_runs=8, n_rounds=20, **options):  # noqa: B008
    return jo.simulate(game, learners, n_runs=n_runs, n_rounds=n_rounds, **options)


def own(predict, update=lambda key, state, oracle: (state, {})):
    """A learner with the methods of a user."""

    @jo.struct
    class Own(jo.Learner):
        def init(self, key, specs):
            return jnp.zeros(())

        def predict(self, key, state, x):
            return predict(key, state)

        def update(self, key, state, oracle):
            return update(key, state, oracle)

    return {"own": Own()}


def move(arm):
    return play(learners=own(lambda key, state: arm))


MISTAKES = {
    # name: (call, argument, what the message says)
    "seed": (lambda: play(seed=3), "seed", "got 3); did you mean 'key'?"),
    "T": (lambda: play(T=3), "T", "got 3); did you mean 'n_rounds'?"),
    "horizon": (lambda: play(horizon=3), "horizon", "did you mean 'n_rounds'?"),
    "rounds": (lambda: play(rounds=3), "rounds", "did you mean 'n_rounds'?"),
    "a number of runs as runs": (lambda: play(runs=50), "runs", "must be a sequence of at least one run index"),
    "no runs": (lambda: play(n_runs=0), "n_runs", "must be at least 1"),
    "a float of runs": (lambda: play(n_runs=1e3), "n_runs", "must be an integer of at least 1 (got 1000.0)"),
    "a text of runs": (lambda: play(n_runs="10"), "n_runs", "must be an integer of at least 1 (got '10')"),
    "10^9 runs": (lambda: play(n_runs=10**9), "n_runs", "use fewer runs or a smaller record_at"),
    "a key of 3.5": (lambda: play(key=3.5), "key", "must be an integer or a JAX key (got 3.5)"),
    "a checkpoint of 3": (lambda: play(checkpoint=3), "checkpoint", "must be a folder, or a Checkpoint (got 3)"),
    "mean": (lambda: jo.bandit_game(mean=[0.1, 0.2]), "mean", "got [0.1, 0.2]); did you mean 'means'?"),
    "means of 20": (lambda: jo.bandit_game([20, 50]), "means", "(loss - low) / (high - low)"),
    "words as means": (lambda: jo.bandit_game(["a", 1]), "means", "must hold real numbers"),
    "no means": (lambda: jo.bandit_game([]), "means", "must have at least one entry"),
    "a mean of NaN": (lambda: jo.bandit_game([0.1, np.nan]), "means", "must be finite (got nan at [1]"),
    "c": (lambda: L.UCB1(c=1), "c", "is no argument of UCB1 (got 1); did you mean 'exploration'?"),
    "eps": (lambda: L.EpsilonGreedy(eps=0.1), "eps", "did you mean 'epsilon'?"),
    "epsilon of 10": (lambda: L.EpsilonGreedy(epsilon=10), "epsilon", "must be a probability if power is 0 (got 10)"),
    "EXP3()": (lambda: L.EXP3(), "combiner", "must be given to EXP3 (got nothing); or use EXP3.over_horizon"),
    "no horizon": (lambda: L.MOSS(), "n_rounds", "must be given to MOSS (got nothing)"),
    "no estimator": (lambda: jo.GradientLearner(step_size=0.1), "estimator", "must be given to GradientLearner"),
    "no feedback": (lambda: jo.Game(LINEAR.environment), "feedback", "must be given to Game"),
    "a negative radius": (lambda: GRADIENT(0.1, radius=-1), "radius", "must be above 0 (got -1)"),
    "a negative step": (lambda: GRADIENT(-0.1), "step_size", "must be above 0 (got -0.1)"),
    "a step of words": (lambda: GRADIENT("auto"), "step_size", "must be a number (got 'auto')"),
    "a number as noise": (lambda: jo.NoisyCopies(0.1), "noise", "e.g. jo.noise.gaussian(0.1) (got 0.1)"),
    "a list of learners": (lambda: play(learners=[L.UCB1()]), "learners", "name the learners, or use jo.sweep"),
    "a class": (lambda: play(learners=L.UCB1), "learners", "got the class itself); write UCB1(...)"),
    "a name": (lambda: play(learners="UCB1"), "learners", "(got 'UCB1')"),
    "a policy without arms": (lambda: play(LINEAR), "learners['learner']", "UCB1 cannot play this game"),
    "gradients of arms": (
        lambda: play(learners={"a": GRADIENT(0.1)}), "learners['a']",
        "must move with arms, which are integers, or Draws for Bandit (got float32[])",
    ),
    "a comparator of arms": (
        lambda: play(LINEAR, {"a": GRADIENT(0.1)}, comparator=jo.BestArm()), "comparator",
        "must be vectors of losses for BestArm (got float32[])",
    ),
    "the class of a comparator": (
        lambda: play(LINEAR, {"a": GRADIENT(0.1)}, comparator=jo.L2Ball), "comparator", "write L2Ball(...)",
    ),
    "no comparator": (lambda: play().mean("regret"), "comparator", "comparator=jo.BestArm()) for arms"),
    "an unknown quantity": (lambda: play().mean("regrets"), "quantity", "(got 'regrets')"),
    "a level of 95": (lambda: play().mean("queries", level=95), "level", "must be above 0 and below 1 (got 95)"),
    "a list to select": (lambda: play().select(["learner"]), "learners", "must be names, as in select('a', 'b')"),
    "small letters": (
        lambda: play(learners={"UCB1": L.UCB1()}).select("ucb1"), "learners", "(got 'ucb1'); did you mean 'UCB1'?",
    ),
    "arm 7 of 3": (lambda: move(7), "learners['own']", "must be at least 0 and at most 2 (got 7)"),
    "a float as arm": (lambda: move(1.0), "learners['own']", "must move with arms, which are integers"),
    "an if": (
        lambda: play(learners=own(lambda key, state: jnp.int32(1 if state > 0 else 0))), "learners['own']",
        "use jnp.where instead of a Python `if`",
    ),
    "int()": (
        lambda: play(learners=own(lambda key, state: int(state))), "learners['own']",
        ".astype(jnp.int32) instead of int()",
    ),
    "NumPy": (
        lambda: play(learners=own(lambda key, state: np.array(state).argmin())), "learners['own']",
        "use jnp instead of NumPy",
    ),
    "an update without info": (
        lambda: play(learners=own(lambda key, state: jnp.int32(1), lambda key, state, oracle: state)),
        "learners['own']", "update: must return the next state and an info",
    ),
    "a policy under delay": (
        lambda: play(DELAYED), "learners['learner']", "wrap the learner in jo.learners.UpdateOnArrival",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_names_argument_and_cure(name):
    call, argument, words = MISTAKES[name]
    with pytest.raises((ValueError, TypeError)) as raised:
        call()
    assert raised.value.argument == argument
    assert words in str(raised.value)


def test_a_missing_name_says_where_it_is():
    with pytest.raises(AttributeError) as raised:
        jo.UCB1  # noqa: B018
    assert raised.value.__notes__ == ["write jo.learners.UCB1"]


def test_a_move_that_is_no_arm_is_explained():
    with pytest.warns(DivergedRunsWarning, match="a move that is no arm has the loss NaN"):
        move(jnp.int32(7))


COUNTER = iter(range(10**9))


@pytest.mark.parametrize(
    ("draw", "messages"),
    [
        (lambda key: jnp.int32(np.random.randint(3)), ["numpy.random", "all runs of 'own' are equal"]),  # noqa: NPY002
        (lambda key: jnp.int32(random.randrange(3)), ["numpy.random", "all runs of 'own' are equal"]),
        (lambda key: jnp.int32(next(COUNTER) % 3), ["all runs of 'own' are equal"]),
        (lambda key: jax.random.randint(jax.random.key(0), (), 0, 3), ["all runs of 'own' are equal"]),
        (lambda key: jax.random.randint(key, (), 0, 3), []),
    ],
    ids=["numpy", "random", "counter", "fixed key", "right"],
)
def test_draws_that_never_change_are_explained(draw, messages):
    with warnings.catch_warnings(record=True, category=SettingsWarning) as caught:
        warnings.simplefilter("always")
        play(learners=own(lambda key, state: draw(key)))
    assert len(caught) == len(messages)
    assert all(words in str(warning.message) for words, warning in zip(messages, caught, strict=True))
    assert {warning.filename for warning in caught} <= {__file__}
