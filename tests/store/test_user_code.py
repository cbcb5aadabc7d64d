"""A study with a checkpoint computes with the present code and values of the user."""

import functools

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline._xla.barriers import user_code
from jaxonline._xla.threads import map_in_threads

FACTORS = {"a": 2.0}


@functools.lru_cache
def cached_factor():
    return FACTORS["a"]


class CachedLaw:
    @functools.cached_property
    def factor(self):
        return cached_factor()


@pytest.mark.parametrize("version", [None, "1"])
def test_a_checkpoint_clears_the_caches_of_the_user(monkeypatch, tmp_path, version):
    law, checkpoint = CachedLaw(), jo.Checkpoint(tmp_path, version=version)
    before = checkpoint.refresh_code({"law": law})
    assert law.factor == 2.0
    monkeypatch.setitem(FACTORS, "a", 3.0)
    assert law.factor == 2.0, "from the caches"
    assert checkpoint.refresh_code({"law": law}) != before
    assert law.factor == 3.0
    cached_factor.cache_clear()


def test_jax_traces_again_for_other_code_of_the_user():
    """Also a function inside of another, and in a thread; a trace of the same code is reused."""
    factor, x = [2.0], np.float32(1.0)
    inner = jax.jit(lambda x: factor[0] * x)
    outer = jax.jit(lambda x: inner(x))
    with user_code("first"):
        values = [float(outer(x))]
    factor[0] = 3.0
    with user_code("second"):
        values += map_in_threads(lambda x: float(outer(x)), [x, x], 2)
    with user_code("first"):
        values.append(float(outer(x)))
    assert values == [2.0, 3.0, 3.0, 2.0]
