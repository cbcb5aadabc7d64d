"""Errors name the public argument, the value that was given, and the correction."""

import io
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxonline as jo
from benchmarks.papers.__main__ import app as papers
from jaxonline import cli

X, Y = np.eye(3, dtype=np.float32), np.ones(3, np.float32)
COLUMN = jo.environments.DataStream(X, Y[:, None])
GAME = jo.Game(jo.environments.DataStream(X, Y), jo.FullInformation())
ARMS = jo.environments.BernoulliArms([0.2, 0.8])
BANDIT = jo.Game(ARMS, jo.Bandit(), loss=jo.losses.ArmLoss())
SGD = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1)


@jo.struct
class WithSize(jo.Learner):
    size: int

    def init(self, key, specs):
        return jnp.zeros(self.size)

    def predict(self, key, state, x):
        return state @ x

    def update(self, key, state, oracle):
        return state, ()


@jo.struct
class WithBranch(WithSize):
    size: float

    def init(self, key, specs):
        return jnp.zeros(specs.instance.shape)

    def predict(self, key, state, x):
        return state @ x if x[0] > 0 else x[0]


def simulate(game, learner, **options):
    return jo.simulate(game, learner, n_runs=2, n_rounds=4, **options)


@pytest.mark.parametrize(
    ("call", "argument", "correction"),
    [
        (lambda: jo.NoisyCopies(0.2), "noise", "jo.noise.gaussian(0.2)"),
        (lambda: simulate(GAME, SGD, comparator=1.0), "comparator", "jo.L2Ball(1.0) or jo.BestArm()"),
        (lambda: simulate(GAME, WithSize(3)), "learners['learner']", "jo.static() (here WithSize.size)"),
        (lambda: simulate(GAME, WithBranch(0.1)), "learners['learner']", "jnp.where"),
        (lambda: simulate(jo.Game(COLUMN, jo.FullInformation()), SGD), "loss", "y.ravel()"),
        (lambda: jo.GradientLearner(jo.estimators.FullGradient(), optax.adam(0.1)), "step_size", "optimizer="),
        (lambda: simulate(GAME, jo.learners.UCB1()), "learners['learner']", "for each expert or arm"),
        (lambda: jo.datasets.load("no/such/file.csv"), "name", "/no/such/file.csv"),
    ],
)
def test_errors_name_the_argument_and_the_correction(call, argument, correction):
    with pytest.raises((TypeError, ValueError)) as raised:
        call()
    message = str(raised.value)
    assert message.startswith(f"{argument}: ")
    assert correction in message
    assert getattr(raised.value, "argument", argument) == argument


def test_a_single_run_accepts_a_seed_as_key():
    losses = [jo.play(BANDIT, jo.learners.EXP3(0.1), key, 9)[1].loss for key in (3, jax.random.key(3))]
    np.testing.assert_array_equal(*losses)
    with pytest.raises(TypeError, match=r"key: .*got 0\.5"):
        jo.play(BANDIT, jo.learners.EXP3(0.1), 0.5, 9)


def test_terminal_replaces_characters_that_it_cannot_show(monkeypatch):
    output = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "argv", ["papers", "verify", "--claim", "E18"])
    with pytest.raises(SystemExit) as end:
        cli.main(papers)
    assert end.value.code == 0
    assert "E18" in output.buffer.getvalue().decode("ascii")
