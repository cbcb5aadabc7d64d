"""Warning classes of the package, for filters."""


class SkewedRunsWarning(RuntimeWarning):
    """The runs have a skewed distribution, so that Student's interval understates one side."""


class PrecisionWarning(RuntimeWarning):
    """The requested precision was not reached with the maximum number of runs."""


class OverflowWarning(RuntimeWarning):
    """A learner ran out of storage in some runs, or is likely to."""


class DivergedRunsWarning(RuntimeWarning):
    """A learner's losses were NaN or infinite in some runs; the means exclude these runs."""


class ControlVariateWarning(RuntimeWarning):
    """A control variate is not used, since the steps are too large without a projection."""


class SearchEdgeWarning(RuntimeWarning):
    """Tuning chose the smallest or largest value tried."""


class LossMismatchWarning(UserWarning):
    """A learner is made for another loss than that of the game."""


class DamagedStoreWarning(RuntimeWarning):
    """A part of a stored study is damaged; it counts as missing and is computed again."""


class UnlockedStoreWarning(RuntimeWarning):
    """The file system cannot lock a stored study against a second process."""


class UnfinishedStudyWarning(UserWarning):
    """A stored study was read while runs are missing."""
