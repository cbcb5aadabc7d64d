"""Classes of the package's warnings, by which a filter or a program tells them apart."""


class SkewedRunsWarning(RuntimeWarning):
    """Student's interval was computed from runs whose distribution is skewed; it understates one side."""


class PrecisionWarning(RuntimeWarning):
    """The precision asked for was not reached with the runs that were allowed."""


class OverflowWarning(RuntimeWarning):
    """A learner ran out of storage in some runs, or is likely to."""


class DivergedRunsWarning(RuntimeWarning):
    """A learner's losses were NaN or infinite in some runs, which are left out of the means."""


class ControlVariateWarning(RuntimeWarning):
    """A control variate is not used, because the steps are too large without a projection."""


class SearchEdgeWarning(RuntimeWarning):
    """Tuning chose the smallest or the largest value that was tried."""


class LossMismatchWarning(UserWarning):
    """A learner is made for another loss than the game's."""


class DamagedStoreWarning(RuntimeWarning):
    """A part of a stored study is damaged; it counts as missing, and is computed again."""


class UnlockedStoreWarning(RuntimeWarning):
    """The file system cannot lock a stored study against a second process."""


class UnfinishedStudyWarning(UserWarning):
    """A stored study was read of which runs are missing."""
