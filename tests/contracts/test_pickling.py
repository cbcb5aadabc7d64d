"""A pickled or copied learner of the registry has the same program and the same numbers."""

import copy
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import optax
import pytest
from mechanisms import bits
from registry import LEARNERS

import jaxonline as jo
from jaxonline.estimators import FullGradient
from jaxonline.parameters.struct import intern_functions

COPIES = {"pickle": lambda item: pickle.loads(pickle.dumps(item)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", LEARNERS)
def test_copy_has_the_same_program_and_the_same_numbers(name, way):
    learner = LEARNERS[name]().learner
    other = COPIES[way](learner)
    assert type(other) is type(learner)
    assert jax.tree.structure(other) == jax.tree.structure(learner)
    assert hash(jax.tree.structure(other)) == hash(jax.tree.structure(learner))
    assert bits(other) == bits(learner)
    assert list(map(type, jax.tree.leaves(other))) == list(map(type, jax.tree.leaves(learner)))


OPTIMIZERS = {
    "momentum, schedule": lambda: optax.sgd(optax.cosine_decay_schedule(1.0, 30), momentum=0.7, nesterov=True),
    "lookup": lambda: optax.named_chain(("clip", optax.clip(1.0)), ("rate", optax.scale(-1.0))),
    "joined": lambda: optax.sgd(optax.join_schedules(2 * [optax.linear_schedule(1, 0, 9)], [5])),
    "hyperparameters": lambda: optax.inject_hyperparams(optax.sgd)(learning_rate=1.0),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_copy_of_an_optax_transformation_is_the_original(name):
    optimizer = intern_functions(OPTIMIZERS[name]())
    assert pickle.loads(pickle.dumps(with_optimizer(optimizer))).optimizer is optimizer


@pytest.mark.long
def test_another_process_reads_a_pickled_learner():
    content = pickle.dumps(LEARNERS["two copies, adam, schedule, ball"]().learner)
    code = (
        "import pickle, sys; learner = pickle.load(sys.stdin.buffer); "
        "import jax, optax, jaxonline as jo; "
        "again = jo.replace(learner, optimizer=optax.adam(1.0, b1=0.8, b2=0.95), "
        "step_size=optax.exponential_decay(0.2, 10.0, 0.5)); "
        "assert jax.tree.structure(again) == jax.tree.structure(learner)"
    )
    subprocess.run([sys.executable, "-c", code], input=content, check=True)


def sign_descent() -> optax.GradientTransformation:

    def update(updates, state, params=None):
        return jax.tree.map(lambda g: -jnp.sign(g), updates), state

    return optax.GradientTransformation(lambda params: (), update)


def with_optimizer(optimizer):
    return jo.GradientLearner(FullGradient(), 0.1, optimizer=optimizer)


def test_pickling_error_names_the_argument(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    learner = with_optimizer(optax.adam(1.0))
    with pytest.raises(pickle.PicklingError, match=r"optimizer: .*<locals>.*; pip install cloudpickle"):
        pickle.dumps(learner)
    assert jax.tree.structure(copy.deepcopy(learner)) == jax.tree.structure(learner)
    assert pickle.loads(pickle.dumps(jo.learners.Doubling(ucb1_for))).learner_for is ucb1_for, "of a module"
    with pytest.raises(pickle.PicklingError, match=r"learner_for: .*<lambda>.*; pip install cloudpickle"):
        pickle.dumps(jo.learners.Doubling(lambda n_rounds: jo.learners.UCB1()))


def ucb1_for(n_rounds):
    return jo.learners.UCB1()


def test_cloudpickle_writes_local_functions():
    cloudpickle = pytest.importorskip("cloudpickle")
    learner = with_optimizer(optax.chain(sign_descent(), optax.scale(0.5)))
    other = pickle.loads(cloudpickle.dumps(learner))
    assert other.optimizer.update(jnp.array([3.0]), other.optimizer.init(None))[0].tolist() == [-0.5]
