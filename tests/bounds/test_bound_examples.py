"""The values of bounds in the examples of their docstrings."""

from package_examples import run_examples_of

from jaxonline import bounds


def test_bounds_have_the_values_of_their_examples():
    number, failures = run_examples_of(bounds)
    assert number > 150
    assert failures == ""
