"""How far a study from a file is: on a terminal a line that changes, elsewhere a line every few seconds."""

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any

from jaxonline.results import Result
from jaxonline.simulation import Precision


class Watch:
    """The progress of a study: done, rounds a second, time left, and how wide intervals are where that decides.

    A progress function of `simulate`, to be entered.

    Args:
        rounds: that are played in all, of all learners and runs, where that is known.
        every: seconds between two lines where standard error is no terminal.

    Example:
        >>> from jaxonline.study.files.watching import Watch
        >>> watch = Watch(rounds=1000)
        >>> watch.line(0.5, done=1, total=2, what="EXP3")
        '1 of 2 pieces   50 %  1,000 rounds/s  0:00 left  EXP3'
    """

    def __init__(self, rounds: int | None = None, every: float = 5.0):
        self._rounds, self._every = rounds, every
        self._began = self._said = time.monotonic()
        self._first: float | None = None  # what was there before
        self._noted = ""
        self._live: Any = None

    def __enter__(self) -> "Watch":
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
            self._first, self._began = done - 1 if done >= 1 else 0.0, min(self._began, now)
        line = self.line(now - self._began, done, total, what)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line))
        elif done >= total or now - self._said >= self._every:
            self._said = now
            print(line, file=sys.stderr, flush=True)

    def line(self, seconds: float, done: float, total: float, what: str) -> str:
        """The state in a line of 80 columns or so."""
        share, before = done / max(total, 1), (self._first or 0.0) / max(total, 1)
        words = [f"{int(done):,} of {int(total):,} pieces", f"{share:4.0%}".replace("%", " %")]
        fresh = share - before
        if seconds > 0 and fresh > 0:
            if self._rounds is not None:
                words.append(f"{self._rounds * fresh / seconds:,.0f} rounds/s")
            left = seconds * (1 - share) / fresh
            words.append(f"{int(left) // 60}:{int(left) % 60:02d} left")
        return "  ".join([*words, *([self._noted] if self._noted else []), what])

    def note(self, words: str) -> None:
        """Something that is worth knowing from now on."""
        self._noted, self._first, self._began = words, None, time.monotonic()
        if self._live is None:
            print(words, file=sys.stderr, flush=True)


@dataclasses.dataclass(frozen=True)
class WatchedPrecision(Precision):
    """A precision that tells someone whenever it is looked at.

    Args:
        tell: is told the state in words.
    """

    tell: Callable[[str], None] = print

    @classmethod
    def of(cls, precision: Precision, tell: Callable[[str], None]) -> "WatchedPrecision":
        """The same precision."""
        return cls(**{each.name: getattr(precision, each.name) for each in dataclasses.fields(Precision)}, tell=tell)

    def excess(self, result: Result) -> float:
        """As `Precision.excess`."""
        found = super().excess(result)
        per_cent = self.relative
        now, wanted = (
            f"{100 * each:.3g} %" if per_cent else f"{each:.3g}" for each in (found * self.half_width, self.half_width)
        )
        self.tell(f"{len(result.runs):,} runs: half-width {now}, wanted {wanted}")
        return found
