"""Programs for accelerators, checked without one."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mechanisms import FEW, ROUNDS
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline._xla.barriers import exact_products
from jaxonline.game import bind, play_round, start, stream_keys
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.options import teams_of
from jaxonline.simulation.segments import Matchup, traced_programs
from jaxonline.verify.sampling import Sampler

HIGHEST = (jax.lax.Precision.HIGHEST,) * 2
KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _on_an_accelerator(monkeypatch):
    """Products are asked for as they are where jax plays on one; a CPU is asked for nothing."""
    monkeypatch.setattr("jaxonline._xla.barriers.may_round_products", lambda: True)


def operations(jaxpr):
    for operation in jaxpr.eqns:
        yield operation
        inner = jax.tree.leaves(list(operation.params.values()), is_leaf=lambda each: hasattr(each, "eqns"))
        yield from itertools.chain.from_iterable(operations(each) for each in inner if hasattr(each, "eqns"))


def products_of_float32(jaxpr):
    for operation in operations(jaxpr):
        if operation.primitive.name == "dot_general" and operation.invars[0].aval.dtype == np.float32:
            yield operation.params["precision"]


def rounds(game, learner, key):
    bound, keys = bind(game, learner), stream_keys(key)
    states = start(bound.game, bound.entrant, keys)
    for t in range(1, 3):
        states, record = play_round(bound.game, bound.entrant, keys, jnp.int32(t), states)
    return record


@pytest.mark.parametrize("name", some(LEARNERS, *FEW))
def test_gpu_programs_of_rounds_have_exact_float32_products(name):
    entry = LEARNERS[name]()
    with entry.promotion():
        game = jo.Game(entry.rows(ROUNDS), entry.feedback, loss=entry.loss)
        traced = jax.jit(jax.vmap(lambda key: rounds(game, entry.learner, key))).trace(jax.random.split(KEY, 4))
    assert all(precision == HIGHEST for precision in products_of_float32(traced.jaxpr))
    assert "func.func public @main" in traced.lower(lowering_platforms=("cuda",)).as_text()


@jo.struct
class Lengths:
    """A measure that multiplies, as a user's might: the sum of the squared lengths of the instances."""

    name = "lengths"

    def init(self, record):
        return jnp.float32(0)

    def add(self, carry, t, record):
        return carry + record.x @ record.x

    def read(self, carry):
        return carry


def study():
    """The programs of a game with products in the environment, the noise, the learner and what is counted."""
    game = jo.Game(jo.environments.LinearModel(np.full(3, 0.4)), jo.NoisyCopies(jo.noise.gaussian(np.eye(3) * 0.1)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
    mesh = default_mesh(jax.devices()[:1])
    (team,) = teams_of(game, learner, mesh)
    ball = cast_leaves(jo.L2Ball(1.0), game.dtype)
    return list(traced_programs(Matchup(team.game, team.entrant, ball, {"lengths": Lengths()}), KEY, 8, mesh))


def test_programs_of_a_study_have_exact_products():
    found = []
    for traced in study():
        found += products_of_float32(traced.jaxpr)
        traced.lower(lowering_platforms=("cuda",))
    assert len(found) > 2
    assert set(found) == {HIGHEST}


def test_programs_of_verify_have_exact_products():
    sampler = Sampler.create(
        lambda key: jax.random.normal(key, (3,)) @ jnp.ones(3), 0, 4, default_mesh(jax.devices()[:1])
    )
    traced = sampler._draw.trace(sampler.estimator, sampler.key, np.zeros(1, np.int32), width=4, mesh=sampler.mesh)
    assert list(products_of_float32(traced.jaxpr)) == [HIGHEST]


def test_user_precision_takes_precedence_and_cpu_is_unchanged(monkeypatch):
    def precisions():
        return list(products_of_float32(jax.make_jaxpr(exact_products()(jnp.dot))(jnp.ones(2), jnp.ones(2)).jaxpr))

    assert precisions() == [HIGHEST]
    with jax.default_matmul_precision("tensorfloat32"):
        assert precisions() == [(jax.lax.Precision.HIGH,) * 2]
    assert list(products_of_float32(jax.make_jaxpr(jnp.dot)(jnp.ones(2), jnp.ones(2)).jaxpr)) == [None]
    monkeypatch.undo()
    assert precisions() == [None]
