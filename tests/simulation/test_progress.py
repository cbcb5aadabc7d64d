"""Estimates of the remaining time."""

import itertools

from jaxonline.simulation.progress import Reporter


def test_the_remaining_time_follows_from_two_blocks_of_one_learner(monkeypatch):
    """Six blocks of two steps. The first block takes 100 s, the others 1 s a step; another learner starts anew."""
    clock = itertools.chain([50.0, 100.0], itertools.count(101.0))
    monkeypatch.setattr("jaxonline.simulation.progress.time.monotonic", lambda: next(clock))
    with Reporter(False, total=12) as reporter:

        def seconds_left(learner, n_steps):
            left = []
            for _ in range(n_steps):
                reporter.advance("a block", learner, steps_per_block=2)
                left.append(reporter.seconds_left)
            return left

        assert seconds_left("first", 6) == [None, None, None, 8.0, 7.0, 6.0]
        assert seconds_left("second", 6) == [None, None, None, 2.0, 1.0, 0.0]
        reporter.advance("best in hindsight")
        assert reporter.seconds_left is None
