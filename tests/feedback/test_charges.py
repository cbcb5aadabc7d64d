"""What a question to an oracle costs, and what an oracle answers that was not asked."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.game import Draw

LOSSES = np.array([0.25, 0.5, 2.0], np.float32)
ASK, DO_NOT_ASK = jnp.bool_(True), jnp.bool_(False)


@pytest.mark.parametrize("move", [np.int32(2), Draw(np.int32(2), np.full(3, 1 / 3))], ids=["arm", "draw"])
def test_a_bandit_charges_one_query_for_any_number_of_looks(move):
    oracle = jo.Bandit().open(None, jnp.int32(1), (), LOSSES, move)
    assert oracle.queries() == 0
    assert [float(oracle.loss()) for _ in range(3)] == [2.0] * 3
    assert oracle.queries() == 1


def test_an_outcome_on_request_is_shown_and_charged_only_if_it_is_asked():
    """Zeros do not depend on the outcome; a second question is free, and does not show the outcome to another call."""
    oracle = jo.OnRequest().open(None, jnp.int32(1), (), LOSSES, ())
    assert oracle.queries() == 0
    np.testing.assert_array_equal(oracle.outcome(DO_NOT_ASK), np.zeros(3))
    assert oracle.queries() == 0
    for _ in range(2):
        np.testing.assert_array_equal(oracle.outcome(ASK), LOSSES)
        assert oracle.queries() == 1
    np.testing.assert_array_equal(oracle.outcome(DO_NOT_ASK), np.zeros(3))
    assert oracle.queries() == 1
