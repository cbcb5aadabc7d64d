"""Vectors drawn in whole registers have the same bits, and a single number is drawn once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline import random
from jaxonline.feedback import noise
from jaxonline.random import inlined, stack_draws
from jaxonline.random.threefry import concatenated_key, fused_key, key_from_words

DRAWS = ["normal", "laplace", "uniform"]


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWS)
def test_the_same_numbers(name):
    """Vectors that together are shorter, in registers, than one by one, and such as are not; below, at and above whole
    registers; no numbers, and matrices."""
    draw = getattr(jax.random, name)
    keys = jax.vmap(lambda key: inlined(jax.random.split(key, 3)))(jax.random.split(jax.random.key(4), 5))
    for number, *shape in ((2, 20), (3, 5), (2, 8), (2, 6), (1, 1), (1, 5), (1, 8), (1, 20), (2, 0), (2, 3, 4), (3,)):

        def both(keys, number=number, shape=tuple(shape)):
            own = [keys[k] for k in range(number)]
            wanted = jnp.stack([draw(key, shape, jnp.float32) for key in own])
            return stack_draws(getattr(random, name), own, shape), wanted

        got, wanted = jax.jit(jax.vmap(both))(keys)
        np.testing.assert_array_equal(got, wanted)


def programs_of_a_sum(draw):
    """What is compiled of a number that is multiplied with a vector, for many runs; and the products."""
    keys = jax.vmap(inlined)(jax.random.split(jax.random.key(3), 6))
    program = jax.jit(jax.vmap(lambda key: draw(key) * jnp.arange(3.0)))
    return program.lower(keys).compile().as_text(), program(keys), keys


@pytest.mark.parametrize("library", [random, jax.random], ids=["jaxonline", "jax"])
def test_a_single_number_is_drawn_once(library):
    """The same number, in a conditional on a CPU, so that what it is multiplied with does not draw it for each
    coordinate: of `jax.random.normal`, too, which the newest compilers could not compile otherwise. A compiler that
    removed the conditional (0.10 and 0.12 keep it) would need another barrier. Mutant: a generator that is fused."""
    text, got, keys = programs_of_a_sum(library.normal)
    wanted = jax.vmap(jax.random.normal)(keys)
    np.testing.assert_array_equal(got, np.asarray(wanted)[:, None] * np.arange(3.0, dtype=np.float32))
    assert " conditional(" in text
    text, *_ = programs_of_a_sum(lambda key: jax.random.normal(fused_key(key)))
    assert " conditional(" not in text


def test_student_t_numbers_are_drawn_once():
    """The draw is a branch of a conditional, also for a vector: the CPU compiler does not finish a stack of two vectors
    of 16 numbers whose draws it fuses with the operations that use them. Mutant: a fused draw."""

    def has_conditional(draw):
        program = jax.jit(lambda key: draw(inlined(key), 5.0, (3,)) * jnp.arange(3.0))
        return "stablehlo.case" in program.lower(jax.random.key(3)).as_text()

    assert has_conditional(random.t)
    assert not has_conditional(lambda key, *args: jax.random.t(fused_key(key), *args))


def test_stack_draws_rejects_draws_of_several_words():
    """Their numbers would not be independent."""
    keys = [inlined(jax.random.key(0))]
    with pytest.raises(TypeError, match="key"):
        stack_draws(lambda key, shape, dtype: jax.random.gamma(key, 1.0, shape, dtype), keys, (3,))


def test_concatenated_keys_and_given_words_draw_vectors_of_words_and_make_no_keys():
    keys = tuple(inlined(jax.random.split(jax.random.key(4), 2)))
    wanted = [jax.random.bits(key, (n,)) for key, n in zip(keys, (3, 5), strict=True)]
    concatenated, words = concatenated_key(keys, 3), key_from_words(jax.random.bits(keys[0], (7,)))
    np.testing.assert_array_equal(jax.random.bits(concatenated, (8,)), np.concatenate(wanted))
    np.testing.assert_array_equal(jax.random.laplace(words, (7,)), jax.random.laplace(keys[0], (7,)))
    for key, text, n in ((concatenated, "key", 8), (words, "words", 7)):
        for wrong in (
            lambda key, n: jax.random.bits(key, (2, 3)),
            lambda key, n: jax.random.bits(key, (n,), "uint16"),
            lambda key, n: jax.random.split(key),
            lambda key, n: jax.random.fold_in(key, 1),
        ):
            with pytest.raises(TypeError, match=text):
                wrong(key, n)


def test_noise_of_stacked_copies_equals_that_of_single_copies():
    keys, x = list(inlined(jax.random.split(jax.random.key(6), 3))), jnp.zeros(4)
    root = np.random.default_rng(0).normal(size=(4, 4))
    for covariance in (0.3, [0.1, 0.2, 0.0, 0.4], root @ root.T):
        law = noise.gaussian(covariance)
        got = jax.jit(lambda keys, law=law: law.sample_together(keys, jnp.int32(2), x))(keys)
        wanted = np.stack([law.sample(key, jnp.int32(2), x) for key in keys])
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
