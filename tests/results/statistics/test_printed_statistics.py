"""The numbers in the examples of intervals, means and other statistics, and letters of rankings."""

import numpy as np
from package_examples import run_examples_of

from jaxonline.results import statistics
from jaxonline.results.statistics.ranking import compact_letters


def test_statistics_have_the_numbers_of_their_examples():
    number, failures = run_examples_of(statistics)
    assert number > 30
    assert failures == ""


def test_letters_after_z_are_numbers():
    assert compact_letters(np.eye(28, dtype=bool))[24:] == ("y", "z", "(27)", "(28)")
