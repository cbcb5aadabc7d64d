"""Progress display of a study file: one changing line on a terminal, otherwise a new line every few seconds."""

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any

from jaxonline.parameters.errors import to_one_line
from jaxonline.results import Result
from jaxonline.simulation import Precision


class ProgressLine:
    """Progress display: share done, rounds per second, time left; interval widths if a precision is requested.

    An instance is a progress function for `simulate`, and a context manager.

    Args:
        rounds: number of rounds of all learners together in one run, if known.
        runs: number of runs, if known; otherwise `show_width` receives the number of runs.
        every: number of seconds between lines if standard error is not a terminal.

    Example:
        >>> from jaxonline.study.files.progress_line import ProgressLine
        >>> watch = ProgressLine(rounds=100, runs=10)
        >>> watch.line(0.5, done=1, total=2, what="EXP3, blocks 1-2 of 4")
        ' 50 %  1,000 rounds/s  0:00 left  EXP3, blocks 1-2 of 4'
    """

    def __init__(self, rounds: int | None = None, runs: int | None = None, every: float = 5.0):
        self._rounds, self._runs, self._every = rounds, runs, every
        self._began = self._last_print = time.monotonic()
        self._first: float | None = None  # pieces done before the start
        self._total = 0.0
        self._rounds_per_piece: float | None = None
        self._width_words: list[str] = []
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
        elif done >= total or now - self._last_print >= self._every:
            self._last_print = now
            print(line, file=sys.stderr, flush=True)

    def line(self, seconds: float, done: float, total: float, what: str) -> str:
        """Format the progress as a line of about 80 columns."""
        self._total = total
        if self._rounds is not None and self._runs is not None:
            self._rounds_per_piece = self._rounds * self._runs / max(total, 1)
        words = [f"{done / max(total, 1):4.0%}".replace("%", " %")]
        new_pieces = done - (self._first or 0.0)
        if seconds > 0 and new_pieces > 0:
            if self._rounds_per_piece is not None:
                words.append(f"{self._rounds_per_piece * new_pieces / seconds:,.0f} rounds/s")
            left = seconds * (total - done) / new_pieces
            words.append(f"{int(left) // 60}:{int(left) % 60:02d} left")
        return "  ".join([*words, *self._width_words, to_one_line(what)])

    def show_width(self, runs: int, width: str, wanted: str) -> None:
        """Show the widest half-width after `runs` runs, and the requested half-width."""
        if self._rounds is not None and self._rounds_per_piece is None and self._total:
            self._rounds_per_piece = self._rounds * runs / self._total
        self._width_words, self._first, self._began = [f"+-{width}, wanted {wanted}"], None, time.monotonic()
        if self._live is None:
            print(f"{runs:,} runs: half-width {width}, wanted {wanted}", file=sys.stderr, flush=True)


@dataclasses.dataclass(frozen=True)
class ShownPrecision(Precision):
    """A `Precision` that reports each check: `tell` receives the runs, the half-width, and the requested half-width."""

    tell: Callable[[int, str, str], None] = print

    @classmethod
    def of(cls, precision: Precision, tell: Callable[[int, str, str], None]) -> "ShownPrecision":
        """Return a `Precision` as a `ShownPrecision` that reports its checks to `tell`."""
        return cls(**{field.name: getattr(precision, field.name) for field in dataclasses.fields(Precision)}, tell=tell)

    def excess(self, result: Result, *options: Any) -> float:
        excess = super().excess(result, *options)
        widths = excess * self.half_width, self.half_width
        width, wanted = (f"{100 * half_width:.3g} %" if self.relative else f"{half_width:.3g}" for half_width in widths)
        self.tell(len(result.runs), width, wanted)
        return excess
