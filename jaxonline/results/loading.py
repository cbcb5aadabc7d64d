"""Reading stored results."""

import os

from jaxonline.results import saving
from jaxonline.results.result import Result


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read what `Result.save` wrote, or the store of a study (`simulate(checkpoint=path)`), also of an unfinished one.

    Of an unfinished study, or while it is being played, the finished runs are there: those of at least one learner,
    with NaN for the learners that have not played them (and in later rounds, where a longer study has not reached
    them). `meta["missing"]` says by learner how many are to be played.

    Args:
        path: a folder, or a URL.

    Raises:
        FileNotFoundError: if there is no such store.
        ValueError: if what is there is something else, or damaged, or no run is finished yet.

    Warns:
        UnfinishedStudyWarning: runs are missing.
        DamagedStoreWarning: a block is damaged, and counts as missing; the study computes it again
            when it is continued.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = jo.simulate(game, {"gradient": learner}, n_runs=2, n_rounds=6, checkpoint=folder)
        ...     loaded = jo.load_result(folder)
        >>> loaded.learners, bool((loaded.cumulative_loss == result.cumulative_loss).all())
        (('gradient',), True)
    """
    return Result(**saving.read_fields(path))
