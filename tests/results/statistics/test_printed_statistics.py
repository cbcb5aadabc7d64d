"""The numbers in the examples of intervals, means, rankings and other statistics, and how a ranking prints."""

import numpy as np
from package_examples import run_examples_of

from jaxonline.results import statistics
from jaxonline.results.statistics.ranking import Ranking, compact_letters


def test_statistics_have_the_numbers_of_their_examples():
    number, failures = run_examples_of(statistics)
    assert number > 40
    assert failures == ""


def test_letters_after_z_are_numbers():
    assert compact_letters(np.eye(28, dtype=bool))[24:] == ("y", "z", "(27)", "(28)")


def test_a_ranking_prints_lines_of_at_most_100_characters():
    rows = [{"learner": "x" * 200, "mean": 1.0, "low": 0.5, "high": 1.5, "letters": "a"}]
    ranking = Ranking(("x" * 200,), rows, ("a",), np.ones((1, 1)), "regret", 0.95)
    assert max(len(line) for line in str(ranking).splitlines()) == 100
