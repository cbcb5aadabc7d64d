"""A store with two learners and a comparator, open or with blocks."""

from pathlib import Path

import numpy as np

from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import Folder
from jaxonline.store.layout import FinishedBlock, JobArrays, StoreLayout

ABOUT = {"the source of update": "a" * 16, "n_rounds": "80", "key": "(0, 3)"}
OUTPUTS = ("cumulative_loss", "pulls", "a/b, mean", "first_nonfinite", "first_overflow")
A = JobArrays("learner 0", "learner a", OUTPUTS, (0, 1), 2)
B = JobArrays("learner 1", "learner b", OUTPUTS, (1, 3), 2)
BEST = JobArrays("comparator", "comparator", ("comparator_loss",), (0, 1), 2, ("run", "round"))
LAYOUT = StoreLayout.new(
    ["a", "b[0]", "β/b"], 5, [40, 80], {"cumulative_loss": (), "pulls": (3,), "a/b, mean": ()}, [A, B, BEST]
)
HORIZON = 80


def made(seed: int = 0, rows: JobArrays = A) -> FinishedBlock:
    """A block of random numbers."""
    rng = np.random.default_rng(seed)
    members = rows.learners[1] - rows.learners[0]
    loss = rng.random((members, 2, 2))
    if rows is BEST:
        return FinishedBlock(HORIZON, {"comparator_loss": loss})
    firsts = {name: rng.integers(0, 9, (members, 2), np.int32) for name in ("first_nonfinite", "first_overflow")}
    pulls = rng.random((members, 2, 2, 3))
    return FinishedBlock(HORIZON, {"cumulative_loss": loss, "pulls": pulls, "a/b, mean": -loss} | firsts)


BLOCKS = [made(seed) for seed in range(3)]


def opened(folder, layout=LAYOUT, **changes) -> Store:
    return Store(Folder(folder), ABOUT | changes, 30.0, layout, {"n_runs": 5, "n_rounds": 80})


def same(first: FinishedBlock | None, second: FinishedBlock) -> None:
    assert first is not None
    assert first.rounds == second.rounds
    assert set(first.arrays) == set(second.arrays)
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second.arrays[name], strict=True)


def with_blocks(folder: Path) -> Path:
    """Of the first job, all three."""
    with opened(folder) as store:
        for block, kept in enumerate(BLOCKS):
            store.blocks.write(A, block, kept)
    return folder
