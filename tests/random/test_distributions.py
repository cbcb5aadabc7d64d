"""Public random functions return the numbers of `jax.random`, with keys of jax and of a run."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline import random

pytestmark = pytest.mark.fast_compile

P, EYE = np.array([0.1, 0.2, 0.3, 0.4]), np.eye(4)  # arrays of jax in the test, of its precision
CALLS = {
    "bernoulli": [(), (0.3,), (P,), (0.3, (2,))],
    "fold_in": [(7,)],
    "laplace": [(), ((3,),)],
    "normal": [(), ((3,),), ((2, 3),)],
    "permutation": [(5,), (EYE,)],
    "poisson": [(3.0,), (30.0,), (P, (2, 4))],
    "rademacher": [(), ((3,),), ((), jnp.float32)],
    "randint": [((), 0, 10), ((3,), -5, 5)],
    "t": [(5.0,), (P + 2,), (3.0, (3, 4))],
    "uniform": [(), ((3,),), ((), jnp.float32, -1.0, 2.0)],
}
OWN = {"fast_beta", "fast_normal", "inlined", "stack_draws", "weighted_index", "words"}  # with numbers of their own


def test_every_public_function_has_a_comparison_with_jax():
    public = {name for name, value in vars(random).items() if inspect.isfunction(value)}
    assert public == set(CALLS) | OWN


SHORT = ("normal", "randint")  # each is a program


@pytest.mark.parametrize("name", some(CALLS, *SHORT))
def test_random_numbers_equal_those_of_jax(name, x64):
    """With the keys of runs in a batch and with jax's own key; what is made of words is rounded as the compiler likes.
    In both precisions."""
    keys = jax.random.split(jax.random.key(3), 3)
    for call in CALLS[name]:
        args = tuple(jnp.asarray(arg, float) if isinstance(arg, np.ndarray) else arg for arg in call)

        def draw(function, key, args=args):
            found = function(key, *args)
            return jax.random.key_data(found) if name == "fold_in" else found

        wanted = jax.jit(jax.vmap(lambda key: draw(getattr(jax.random, name), key)))(keys)
        of_runs = jax.jit(jax.vmap(lambda key: draw(getattr(random, name), random.inlined(key))))(keys)
        alone = draw(getattr(random, name), keys[1])
        rounding = 0 if wanted.dtype.kind in "ub" else 2e-6
        np.testing.assert_allclose(of_runs, wanted, rtol=rounding)
        np.testing.assert_allclose(alone, wanted[1], rtol=rounding)
        if name != "permutation":  # whose indices are int32
            assert alone.dtype == of_runs.dtype == wanted.dtype


def test_random_functions_reject_bad_arguments():
    key = jax.random.key(0)
    with pytest.raises(TypeError, match="p: must be floating"):
        random.bernoulli(key, 1)
    with pytest.raises(ValueError, match="p: must broadcast"):
        random.bernoulli(key, P, (3,))
    with pytest.raises(ValueError, match="b: must be a vector"):
        random.fast_beta(key, P, P[:2])
    with pytest.raises(ValueError, match="weights: must be a vector"):
        random.weighted_index(key, EYE)


def test_fold_in_after_a_value_is_the_same_key():
    key, move = random.inlined(jax.random.key(0)), jnp.array([0.5, jnp.nan])
    for after in (None, move, jnp.int32(3), ()):
        assert random.fold_in(key, 5, after=after) == jax.random.fold_in(key, 5)


def test_poisson_numbers_in_a_game_are_those_of_this_package():
    def play(poisson):
        noise = jo.noise.CustomNoise(lambda key, t, x: poisson(key, 2.0, x.shape).astype(x.dtype) - 2.0)
        game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.NoisyCopies(noise))
        return jo.play(game, jo.GradientLearner(jo.estimators.TwoCopies(), 0.1), jax.random.key(0), n_rounds=2)[1]

    assert np.isfinite(play(random.poisson).y_hat).all()
    with pytest.raises(NotImplementedError, match=r"jo\.random\.poisson"):
        play(jax.random.poisson)
