"""A store with two learners and a comparator, open or with blocks."""

from pathlib import Path

import numpy as np

from jaxonline.store.checkpoints import JobArrays, Numbers, Store, StoreLayout

ABOUT = {"the code of update": "a" * 16, "n_rounds": "80", "key": "(0, 3)"}
OUTPUTS = ("cumulative_loss", "pulls", "a/b, mean", "file", "first_nonfinite", "first_overflow")
A = JobArrays("learner 0", "learner a", OUTPUTS, (0, 1), 2)
B = JobArrays("learner 1", "learner b", OUTPUTS, (1, 3), 2)
BEST = JobArrays("comparator", "comparator", ("comparator_loss",), (0, 1), 2, ("run", "round"))
LAYOUT = StoreLayout(("a", "b[0]", "β/b"), 5, (40, 80), (A, B, BEST))


def made(seed: int = 0, job: JobArrays = A) -> Numbers:
    rng = np.random.default_rng(seed)
    members = job.learners[1] - job.learners[0]
    loss = rng.random((members, 2, 2))
    if job is BEST:
        return {"comparator_loss": loss}
    firsts = {name: rng.integers(0, 9, (members, 2), np.int32) for name in ("first_nonfinite", "first_overflow")}
    pulls = rng.random((members, 2, 2, 3))
    return {"cumulative_loss": loss, "pulls": pulls, "a/b, mean": -loss, "file": 2 * loss} | firsts


BLOCKS = [made(seed) for seed in range(3)]


def opened(folder, layout=LAYOUT, **changes) -> Store:
    return Store(Path(folder), ABOUT | changes, 30.0, layout, {"n_runs": 5, "n_rounds": 80})


def same(first: Numbers | None, second: Numbers) -> None:
    assert first is not None
    assert list(first) == list(second)
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], strict=True)


def with_blocks(folder: Path) -> Path:
    """Of the first job, all three."""
    with opened(folder) as store:
        for block, numbers in enumerate(BLOCKS):
            store.write_block(A, block, numbers)
    return folder
