"""Loading of results from disk."""

import os

from jaxonline.results import saving
from jaxonline.results.result import Result


def load_result(path: str | os.PathLike[str]) -> Result:
    """Load a file that `Result.save` wrote, or the finished runs of a study (`simulate(checkpoint=path)`).

    If the study is unfinished or running, the missing runs and rounds of a learner are NaN, and `meta["missing"]`
    counts the missing runs by learner, and under "comparator_loss" the runs without a comparator loss.

    Args:
        path: an .npz file, or the folder of a study.

    Raises:
        FileNotFoundError: if there is no file or study at the path.
        ValueError: if the file is of another kind or damaged, or the study has no finished run.

    Warns:
        UnfinishedStudyWarning: runs of a learner or of the comparator are missing.
        DamagedStoreWarning: a block is damaged and counts as missing; the study computes it again when it is resumed.

    Example:
        >>> import tempfile
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = jo.simulate(game, {"gradient": learner}, n_runs=2, n_rounds=6, checkpoint=folder)
        ...     loaded = jo.load_result(folder)
        >>> loaded.learners, bool((loaded.cumulative_loss == result.cumulative_loss).all())
        (('gradient',), True)
    """
    return saving.load_as(Result, path)
