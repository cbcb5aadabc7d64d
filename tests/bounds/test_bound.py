"""The record of a bound is used as a number, keeps its assumptions, and cannot be changed."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest
from package_examples import run_examples_of

from jaxonline import bounds
from jaxonline.bounds.theorem import STOCHASTIC, Assumptions, Bound, theorem
from jaxonline.citing import METHODS
from jaxonline.parameters.errors import ArgumentError

NUMBER, ARRAY = bounds.gradient_descent(2.0, 4.0, 100), bounds.moss(4, [100, 400])


def test_a_bound_is_a_number():
    assert (float(NUMBER), round(NUMBER / 3, 2), f"{NUMBER:.1f}", round(NUMBER)) == (40.0, 13.33, "40.0", 40)
    assert 2 * NUMBER == NUMBER * 2 == NUMBER + NUMBER == 80.0 == pytest.approx(2 * NUMBER)
    assert 39 < NUMBER < np.float32(41)
    assert jnp.array([1.0, 40.0]).max() <= NUMBER
    assert max(NUMBER, Bound(3)) is NUMBER
    assert np.sqrt(NUMBER) == np.sqrt(40.0)
    assert all(type(number) is float for number in (NUMBER.value, NUMBER / 2, bounds.moss(4, 100).value))
    assert type(bounds.halving(9).value) is int
    assert not Bound(0.0)
    assert NUMBER


def test_a_bound_for_several_horizons_is_an_array():
    np.testing.assert_array_equal(ARRAY, [980.0, 1960.0])
    np.testing.assert_array_equal(ARRAY / [1, 2], [980.0, 980.0])
    np.testing.assert_array_equal(np.array([NUMBER, NUMBER]), [40.0, 40.0])
    assert (len(ARRAY), ARRAY[-1].value, [bound.value for bound in ARRAY]) == (2, 1960.0, [980.0, 1960.0])
    assert ARRAY[:1].assumptions == ARRAY.assumptions == bounds.moss.assumptions
    for wrong in (lambda: len(NUMBER), lambda: list(NUMBER), lambda: NUMBER[0]):
        with pytest.raises(TypeError):
            wrong()


def test_parameters_are_attributes():
    assert NUMBER.parameters == {"step_size": 0.1, "G": 4.0, "radius": 2.0, "diameter": 4.0}
    assert (NUMBER.step_size, NUMBER.G) == (0.1, 4.0)
    assert {"step_size", "value", "at_rounds"} <= set(dir(NUMBER))
    assert not hasattr(NUMBER, "shape")
    other = NUMBER.replace(value=1.0, G=9.0)
    assert (other.value, other.G, other.radius, NUMBER.G) == (1.0, 9.0, 2.0, 4.0)
    assert repr(other) == "Bound(1.0, step_size=0.1, G=9.0, radius=2.0, diameter=4.0)"
    assert repr(ARRAY) == "Bound([980.0, 1960.0])"
    with pytest.raises(AttributeError, match=r"step_size: a bound cannot be changed; bound.replace\(step_size=...\)"):
        NUMBER.step_size = 0.2


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda bound: pickle.loads(pickle.dumps(bound))])
def test_a_copy_has_the_same_numbers(again):
    twin = again(NUMBER)
    assert (twin.value, twin.parameters, twin.assumptions) == (NUMBER.value, NUMBER.parameters, NUMBER.assumptions)
    assert twin.at_rounds(25) == NUMBER.at_rounds(25) == 25.0


def test_curves_are_at_the_prescribed_or_other_steps():
    assert NUMBER.at_rounds(100) == NUMBER == NUMBER.at_rounds(100, step_size=0.1)
    np.testing.assert_allclose(NUMBER.at_rounds([4, 9], eta=0.5), [2 * 18.0, 3 * 18.0])  # 16 / (2 eta) + 4 eta
    infinite = bounds.unbiased_steps(1.0, np.inf, 1.0, 10)
    np.testing.assert_array_equal(infinite.at_rounds([1, 2]), [np.inf, np.inf])
    sparse = bounds.aer_regret(7, 4, 1.7, 0.8, 411)
    assert sparse.at_rounds(411) == sparse
    reacting, t = sparse.in_any_environment(), np.array([5.0, 411.0])
    np.testing.assert_allclose(reacting.at_rounds(t) - sparse.at_rounds(t), 0.8 * np.sqrt(sparse.G * t))
    likely = bounds.with_high_probability(NUMBER, 5.0, 100, 0.1)
    assert [bound.steps for bound in (NUMBER, sparse, likely, bounds.exponential_weights(2, 9), ARRAY)] == [
        ("step_size", "eta"), ("regularizer",), ("step_size",), (), (),
    ]  # fmt: skip


def test_a_theorem_cites_checks_and_declares():
    from jaxonline.parameters.types import Count

    @theorem(STOCHASTIC, "auer2002finite", quantity="pseudo-regret", losses=(0.0, 1.0))
    def with_assumptions(n_rounds: Count) -> Bound:
        return Bound(2.0 * n_rounds)

    @theorem(None, "auer2002finite")
    def without_assumptions(n_rounds: Count) -> float:
        return 2.0 * n_rounds

    assert METHODS.pop("with_assumptions") == METHODS.pop("without_assumptions") == ("auer2002finite",)
    assert with_assumptions.assumptions == with_assumptions(3).assumptions == Assumptions(
        "stochastic", "pseudo-regret", (0.0, 1.0)
    )  # fmt: skip
    assert (without_assumptions(3), hasattr(without_assumptions, "assumptions")) == (6.0, False)
    for function in (with_assumptions, without_assumptions):
        with pytest.raises(ArgumentError, match="n_rounds: must be at least 1"):
            function(0)


def test_bounds_have_the_values_of_their_examples():
    number, failures = run_examples_of(bounds)
    assert number > 150
    assert failures == ""
