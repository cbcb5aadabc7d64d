"""Warning classes of jaxonline, by which users can filter warnings."""


class SkewedRunsWarning(RuntimeWarning):
    """The distribution of the runs is skewed, so the longer side of Student's interval is too short."""


class PrecisionWarning(RuntimeWarning):
    """The requested precision was not reached with the maximum number of runs."""


class UndecidedWarning(RuntimeWarning):
    """Some pairs of learners are undecided after the maximum number of runs."""


class UnseenEventsWarning(RuntimeWarning):
    """Events that are too rare for the number of runs may be missing from the runs and from their intervals."""


class OverflowWarning(RuntimeWarning):
    """A learner ran out of storage in some runs, or is likely to."""


class DivergedRunsWarning(RuntimeWarning):
    """A learner's losses were NaN or infinite in some runs; the means exclude these runs."""


class UnderflowWarning(RuntimeWarning):
    """Numbers that are not 0 are so small that they, or losses computed from them, are rounded to 0."""


class ControlVariateWarning(RuntimeWarning):
    """A control variate is not used, because its learner without projection diverges with these step sizes."""


class SearchEdgeWarning(RuntimeWarning):
    """Tuning chose the smallest or the largest candidate of a parameter; a better value may lie beyond."""


class LossMismatchWarning(UserWarning):
    """A learner is made for a loss that differs from the loss of the game."""


class DamagedStoreWarning(RuntimeWarning):
    """A part of a stored study is damaged; the part counts as missing and is computed again."""


class UnlockedStoreWarning(RuntimeWarning):
    """The file system cannot lock a stored study against a second process."""


class UnverifiedStoreWarning(UserWarning):
    """An earlier version of jaxonline wrote the store, without digests, so that some damage cannot be noticed."""


class UnfinishedStudyWarning(UserWarning):
    """A stored study was read although some of its runs are still missing."""


class WaitingForWorkersWarning(RuntimeWarning):
    """A study waits because no worker of its cluster runs a block."""
