"""A result of made-up numbers."""

import numpy as np

from jaxonline.results import Result

RUNS = 12


def made_up(comparator: bool = True, failed: tuple = (), overflowed: tuple = ()) -> Result:
    """Two learners, twelve runs, three recorded rounds of random numbers."""
    rng = np.random.default_rng(4)
    loss = rng.gamma(2.0, size=(2, RUNS, 3)).cumsum(axis=2)
    loss[1] += loss[0]  # what runs have in common
    best = np.broadcast_to(0.3 * rng.random((1, RUNS, 3)).cumsum(axis=2), loss.shape) if comparator else None
    first = np.zeros((2, RUNS), int)
    for learner, run in failed:
        first[learner, run] = 4
        loss[learner, run, 1:] = np.nan
    queries = np.broadcast_to(np.array([[[10.0]], [[20.0]]]) * np.array([1, 2, 3]), loss.shape)
    meta = {"n_runs": RUNS, "key": [0, 3], "pseudo": False}
    full = np.zeros((2, RUNS), int)
    for learner, run in overflowed:
        full[learner, run] = 7
    return Result(
        learners=("α", "b, c"), runs=np.arange(RUNS), rounds=np.array([5, 10, 15]), meta=meta, comparator_loss=best,
        measures={"cumulative_loss": loss, "queries": queries}, first_nonfinite=first, first_overflow=full,
    )  # fmt: skip
