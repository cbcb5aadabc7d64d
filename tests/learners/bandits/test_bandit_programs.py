"""Compiled rounds of bandits with many arms: few operations on vectors of all arms."""

import re

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.learners import UCB1, EpsilonGreedy

RUNS, K = 64, 100


def vector_kernels(learner):
    """Return the operations of a compiled round whose result has a number for each run and arm."""
    game = jo.Game(jo.environments.BernoulliArms(np.linspace(0, 1, K)), jo.Bandit(), loss=jo.losses.ArmLoss())

    def play(key):
        return jo.play(game, learner, key, 5)[1].loss

    keys = jax.random.split(jax.random.key(0), RUNS)
    options = {"xla_cpu_use_fusion_emitters": False}
    text = jax.jit(jax.vmap(play), compiler_options=options).lower(keys).compile().as_text()
    assert text is not None
    body = max(text.split("\n}\n"), key=lambda part: part.count(" get-tuple-element("))
    return re.findall(rf"= \w+\[{RUNS},{K}\]\S* (add|copy|fusion|select|subtract)\(", body)


@pytest.mark.parametrize(("learner", "limit"), [(UCB1(), 2), (EpsilonGreedy(0.1), 3)], ids=["UCB1", "epsilon-greedy"])
def test_the_update_changes_only_the_numbers_of_the_pulled_arm(learner, limit):
    """Without an operation on all arms for each of the pulls, the totals and their corrections."""
    assert 0 < len(vector_kernels(learner)) <= limit
