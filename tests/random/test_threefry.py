"""Inlined threefry draws the words of jax, bit for bit, and leaves other generators unchanged."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline.estimators.counts import _uniform
from jaxonline.game import stream_keys
from jaxonline.random import threefry as generator
from jaxonline.random.threefry import inlined, is_threefry, threefry

pytestmark = pytest.mark.fast_compile

DRAWS = {
    "bits": lambda key: jax.random.bits(key, (5,)),
    "bytes": lambda key: jax.random.bits(key, (2, 3), jnp.uint8),
    "gamma": lambda key: jax.random.gamma(key, 0.7),
    "split": lambda key: jax.random.key_data(jax.random.split(key, (2, 3))),
    "fold_in": lambda key: jax.random.key_data(jax.random.fold_in(key, 7)),
}


def draw_all(keys):
    return jax.vmap(lambda key: {name: draw(key) for name, draw in DRAWS.items()})(keys)


def test_threefry_bits_equal_those_of_jax():
    keys = jax.random.split(jax.random.key(3), 4)
    own, found = jax.jit(draw_all)(keys), jax.jit(draw_all)(inlined(keys))
    for name in DRAWS:  # what is made of the words is rounded as the compiler likes
        np.testing.assert_allclose(found[name], own[name], rtol=0 if own[name].dtype.kind == "u" else 1e-6)
    with jax.enable_x64(True):
        key = jax.random.key(2**40 + 1)
        for dtype in (jnp.uint32, jnp.uint64):
            words = [jax.random.bits(each, (7,), dtype) for each in (key, inlined(key))]
            np.testing.assert_array_equal(*words)


def test_threefry_matches_published_vectors():
    """Threefry-2x32-20 of the authors' known answers (Random123, kat_vectors)."""
    for key, counter, words in (
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ):
        found = threefry(tuple(map(jnp.uint32, key)), *map(jnp.uint32, counter))
        assert tuple(map(int, found)) == words


def test_stream_keys_are_inlined_and_equal_those_of_jax():
    key = jax.random.key(5)
    for i, stream in enumerate(stream_keys(key)):
        assert stream.dtype == inlined(key).dtype != key.dtype
        assert is_threefry(stream)
        np.testing.assert_array_equal(jax.random.key_data(stream), jax.random.key_data(jax.random.fold_in(key, i)))


def test_keys_of_other_generators_are_unchanged():
    key = jax.random.key(0, impl="rbg")
    assert inlined(key) is key
    assert not is_threefry(key)
    again = inlined(inlined(jax.random.key(0)))
    assert again.dtype == inlined(jax.random.key(0)).dtype


@pytest.mark.parametrize("bit_width", [32, 64])
def test_words_equal_jax_bits(x64, bit_width):
    for seed in range(3):
        key = jax.random.key(seed)
        wanted = jax.random.bits(key, (3,), f"uint{bit_width}").tolist()
        for each in (key, inlined(key)):
            assert [word.item() for word in generator.words(each, 3, bit_width)] == wanted
    uniform = jax.random.uniform(key, (3,), f"float{bit_width}")
    np.testing.assert_array_equal(
        [_uniform(word, uniform.dtype) for word in generator.words(key, 3, bit_width)], uniform
    )
