"""Types of the keyword arguments of `simulate` that other functions pass on to it."""

from collections.abc import Iterable
from typing import TypedDict

from jaxonline.game.roles import Comparator, HindsightComparator, Measure
from jaxonline.simulation.recording import RecordedRounds, RunIndices, Spacing
from jaxonline.simulation.stopping_rules import Precision, UntilDecided


class RunOptions(TypedDict, total=False):
    """Keyword arguments of `simulate` about runs and measures."""

    measures: Iterable[Measure]
    spacing: Spacing
    runs: RunIndices | None
    stop: Precision | UntilDecided | None
    block_size: int | None


class RecordedRunOptions(RunOptions, total=False):
    """`RunOptions` with the recorded rounds."""

    record_at: RecordedRounds


class StudyOptions(RecordedRunOptions, total=False):
    """`RecordedRunOptions` with the comparator."""

    comparator: Comparator | HindsightComparator | None
