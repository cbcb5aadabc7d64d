"""Vectors drawn in whole registers are the vectors, bit for bit; a number by itself is drawn once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

from jaxonline.feedback import noise
from jaxonline.random.lanes import in_lanes, several_in_lanes
from jaxonline.random.threefry import draws_of, inlined, made_of


@pytest.mark.parametrize("draw", some([jax.random.normal, jax.random.laplace, jax.random.uniform], jax.random.normal))
def test_the_same_numbers(draw):
    """For lengths below, at and above whole registers, for one run and many, with one round for all or one each."""
    keys = jax.vmap(inlined)(jax.random.split(jax.random.key(3), 6))
    for n in (1, 5, 8, 20):

        def both(key, t, n=n):
            return in_lanes(draw, key, t, (n,), jnp.float32), draw(key, (n,), jnp.float32)

        got, wanted = jax.jit(jax.vmap(both, in_axes=(0, None)))(keys, jnp.int32(7))
        np.testing.assert_array_equal(got, wanted)
        got, wanted = jax.jit(jax.vmap(both))(keys, jnp.arange(6, dtype=jnp.int32))
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("draw", some([jax.random.normal, jax.random.laplace, jax.random.uniform], jax.random.normal))
def test_the_same_numbers_of_several_keys(draw):
    """Two or three vectors that together are shorter, in registers, than one by one, and such as are not."""
    keys = jax.vmap(lambda key: inlined(jax.random.split(key, 3)))(jax.random.split(jax.random.key(4), 5))
    for number, n in ((2, 20), (3, 5), (2, 8), (2, 6)):

        def both(keys, t, number=number, n=n):
            own = [keys[k] for k in range(number)]
            wanted = jnp.stack([draw(key, (n,), jnp.float32) for key in own])
            return several_in_lanes(draw, own, t, (n,), jnp.float32), wanted

        got, wanted = jax.jit(jax.vmap(both, in_axes=(0, None)))(keys, jnp.int32(7))
        np.testing.assert_array_equal(got, wanted)


def test_a_number_by_itself():
    """The same, and behind a condition on a CPU, so that what it is multiplied by does not draw it for each coordinate;
    with several rounds in a batch there is none."""
    keys = jax.vmap(inlined)(jax.random.split(jax.random.key(3), 6))

    def scaled(key, t):
        return in_lanes(jax.random.normal, key, t, (), jnp.float32) * jnp.arange(3.0)

    program = jax.jit(jax.vmap(scaled, in_axes=(0, None)))
    for t, got in ((7, program(keys, jnp.int32(7))), (8, jax.jit(jax.vmap(scaled))(keys, jnp.arange(6)))):
        wanted = jax.vmap(lambda key: jax.random.normal(key))(keys)
        np.testing.assert_array_equal(got, np.asarray(wanted)[:, None] * np.arange(3.0, dtype=np.float32), err_msg=t)
    assert " conditional(" in program.lower(keys, jnp.int32(7)).compile().as_text()


def test_keys_side_by_side_only_draw():
    """Along one axis, and 32 bits each; they go on with the last key, and make no keys."""
    keys = tuple(inlined(jax.random.split(jax.random.key(4), 2)))
    wanted = [jax.random.bits(key, (n,)) for key, n in zip(keys, (3, 5), strict=True)]
    np.testing.assert_array_equal(jax.random.bits(draws_of(keys, 3), (8,)), np.concatenate(wanted))
    for refused in (
        lambda key: jax.random.bits(key, (2, 3)),
        lambda key: jax.random.bits(key, (6,), "uint16"),
        jax.random.split,
        lambda key: jax.random.fold_in(key, 1),
    ):
        with pytest.raises(TypeError, match="several keys"):
            refused(draws_of(keys, 3))


def test_words_that_are_there_are_only_looked_at():
    """As many as there are, of 32 bits; of the words of a key they make its numbers."""
    key = inlined(jax.random.key(5))
    words = made_of(jax.random.bits(key, (7,)))
    np.testing.assert_array_equal(jax.random.laplace(words, (7,)), jax.random.laplace(key, (7,)))
    for refused in (
        lambda key: jax.random.bits(key, (6,)),
        lambda key: jax.random.bits(key, (7,), "uint16"),
        jax.random.split,
        lambda key: jax.random.fold_in(key, 1),
    ):
        with pytest.raises(TypeError, match="words"):
            refused(words)


@pytest.mark.parametrize("law", some(["gaussian", "uniform", "student_t"], "gaussian"))
def test_noise_does_not_depend_on_the_form_of_the_key(law):
    """jax's own key and the one written out, the first drawn as it stands."""
    law = {
        "gaussian": noise.gaussian(0.3),
        "uniform": noise.uniform([0.1] * 5),
        "student_t": noise.student_t(0.3, 5.0),
    }[law]
    key, x = jax.random.key(1), jnp.zeros(5)
    drawn = [jax.jit(law.sample)(each, jnp.int32(2), x) for each in (key, inlined(key))]
    np.testing.assert_allclose(*drawn, rtol=1e-6)


def test_the_noise_of_several_copies_is_that_of_each():
    """With one variance, one for each coordinate and a covariance matrix."""
    keys, x = list(inlined(jax.random.split(jax.random.key(6), 3))), jnp.zeros(4)
    root = np.random.default_rng(0).normal(size=(4, 4))
    for covariance in (0.3, [0.1, 0.2, 0.0, 0.4], root @ root.T):
        law = noise.gaussian(covariance)
        got = jax.jit(lambda keys, law=law: law.sample_together(keys, jnp.int32(2), x))(keys)
        wanted = np.stack([law.sample(key, jnp.int32(2), x) for key in keys])
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
