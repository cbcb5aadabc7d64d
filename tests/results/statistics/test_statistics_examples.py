"""The numbers in the examples of intervals, means, rankings and other statistics."""

from package_examples import run_examples_of

from jaxonline.results import statistics


def test_statistics_have_the_numbers_of_their_examples():
    number, failures = run_examples_of(statistics)
    assert number > 40
    assert failures == ""
