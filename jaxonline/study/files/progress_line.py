"""How far a study from a file is: on a terminal a line that changes, elsewhere a line every few seconds."""

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any

from jaxonline.results import Result
from jaxonline.results.report.formats import to_one_line
from jaxonline.simulation import Precision


class ProgressLine:
    """The progress of a study: done, rounds a second, time left, and how wide intervals are where that decides.

    A progress function of `simulate`, to be entered.

    Args:
        rounds: of all learners in a run, where that is known.
        runs: that are played, where that is known; else `looked` says how many were.
        every: seconds between two lines where standard error is no terminal.

    Example:
        >>> from jaxonline.study.files.progress_line import ProgressLine
        >>> watch = ProgressLine(rounds=100, runs=10)
        >>> watch.line(0.5, done=1, total=2, what="EXP3, blocks 1-2 of 4")
        ' 50 %  1,000 rounds/s  0:00 left  EXP3, blocks 1-2 of 4'
    """

    def __init__(self, rounds: int | None = None, runs: int | None = None, every: float = 5.0):
        self._rounds, self._runs, self._every = rounds, runs, every
        self._began = self._said = time.monotonic()
        self._first: float | None = None  # pieces that were there before
        self._total = 0.0
        self._of_a_piece: float | None = None  # rounds
        self._noted: list[str] = []
        self._live: Any = None

    def __enter__(self) -> "ProgressLine":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, done: float, total: float, what: str = "") -> None:
        now = time.monotonic()
        if self._first is None or done < self._first:
            self._first = done - 1 if done >= 1 else 0.0
        line = self.line(now - self._began, done, total, what)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line))
        elif done >= total or now - self._said >= self._every:
            self._said = now
            print(line, file=sys.stderr, flush=True)

    def line(self, seconds: float, done: float, total: float, what: str) -> str:
        """The state in a line of 80 columns or so."""
        self._total = total
        if self._rounds is not None and self._runs is not None:
            self._of_a_piece = self._rounds * self._runs / max(total, 1)
        words = [f"{done / max(total, 1):4.0%}".replace("%", " %")]
        fresh = done - (self._first or 0.0)
        if seconds > 0 and fresh > 0:
            if self._of_a_piece is not None:
                words.append(f"{self._of_a_piece * fresh / seconds:,.0f} rounds/s")
            left = seconds * (total - done) / fresh
            words.append(f"{int(left) // 60}:{int(left) % 60:02d} left")
        return "  ".join([*words, *self._noted, to_one_line(what)])

    def show_width(self, runs: int, width: str, wanted: str) -> None:
        """So many runs are played, and the widest half-width is not, or is, the one wanted."""
        if self._rounds is not None and self._of_a_piece is None and self._total:
            self._of_a_piece = self._rounds * runs / self._total
        self._noted, self._first, self._began = [f"+-{width}, wanted {wanted}"], None, time.monotonic()
        if self._live is None:
            print(f"{runs:,} runs: half-width {width}, wanted {wanted}", file=sys.stderr, flush=True)


@dataclasses.dataclass(frozen=True)
class ShownPrecision(Precision):
    """A precision that tells someone whenever it is looked at.

    Args:
        tell: is told how many runs there are, the half-width, and that wanted.
    """

    tell: Callable[[int, str, str], None] = print

    @classmethod
    def of(cls, precision: Precision, tell: Callable[[int, str, str], None]) -> "ShownPrecision":
        """The same precision."""
        return cls(**{each.name: getattr(precision, each.name) for each in dataclasses.fields(Precision)}, tell=tell)

    def excess(self, result: Result) -> float:
        """As `Precision.excess`."""
        found = super().excess(result)
        widths = found * self.half_width, self.half_width
        width, wanted = (f"{100 * each:.3g} %" if self.relative else f"{each:.3g}" for each in widths)
        self.tell(len(result.runs), width, wanted)
        return found
