"""Progress of long work, reported from the host between pieces of it: no callback inside a compiled loop.

Whatever takes long has an argument `progress`: False for silence, True for a bar on standard error (a plain line now
and then where that is no terminal), or a function `progress(done, total, what)`. Work inside a piece of work is handed
`reporter.within(what)`, and counts as a fraction of the piece.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from jaxonline.parameters import check
from jaxonline.results.report.formats import to_one_line

Progress = bool | Callable[[float, float, str], None]


def check_progress(progress: Any) -> None:
    """Check that it is True, False, or a function."""
    good = callable(progress) or isinstance(progress, bool)
    check.instance("progress", progress, good, "True, False, or a function of (done, total, what)")


class Reporter:
    """Counts finished pieces of work and tells someone.

    Args:
        progress: False for silence, True for a progress bar on standard error (a plain line now and then where it
            is no terminal), or a function called as `progress(done, total, what)` for each finished piece, for what is
            done of a piece, and before the first one for each line that is said; from several threads, one after the
            other.
        total: the number of pieces.

    Example:
        >>> from jaxonline.simulation.progress import Reporter
        >>> seen = []
        >>> with Reporter(lambda done, total, what: seen.append((done, total, what)), total=2) as reporter:
        ...     reporter.advance("first")
        ...     inner = reporter.within("second")
        ...     inner(1, 4, "a quarter")
        ...     reporter.advance("second")
        >>> seen
        [(1, 2, 'first'), (1.25, 2, 'second: a quarter'), (2, 2, 'second')]
    """

    def __init__(self, progress: Progress, total: int):
        self._report: Callable[[float, float, str], None] | None = None
        self._bar: Any = None
        self._done = 0
        self._total = total
        self._lock = threading.RLock()  # pieces are played by threads
        if callable(progress):
            self._report = progress
        elif progress:
            self._bar = _bar() if sys.stderr.isatty() else None
            self._report = _PlainLines() if self._bar is None else self._update_bar
        self._task: Any = None

    def __enter__(self) -> "Reporter":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def skip(self, pieces: int) -> None:
        """Some pieces were done before."""
        with self._lock:
            self._done += pieces

    def say(self, line: str) -> None:
        """Something worth knowing before the work begins."""
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        elif isinstance(self._report, _PlainLines):
            print(line, file=sys.stderr, flush=True)
        elif self._report is not None:
            self._report(self._done, self._total, line)

    def advance(self, what: str) -> None:
        """One more piece is done; `what` says what it was part of."""
        with self._lock:
            self._done += 1
            if self._report is not None:
                self._report(self._done, self._total, what)

    def within(self, what: str) -> Progress:
        """The progress of the work inside the next piece, which is called `what`."""
        return False if self._report is None else _Part(self, what)

    def part(self, fraction: float, what: str) -> None:
        """A fraction of the next piece is done."""
        with self._lock:
            if self._report is not None:
                self._report(self._done + fraction, self._total, what)

    def _update_bar(self, done: float, total: float, what: str) -> None:
        self._bar.update(self._task, completed=done, total=total, description=to_one_line(what))


class _Part:
    """Reports the progress of work inside a piece of work."""

    def __init__(self, reporter: Reporter, what: str):
        self._reporter = reporter
        self._what = what

    def __call__(self, done: float, total: float, what: str = "") -> None:
        words = f"{self._what}: {what}" if what else self._what
        self._reporter.part(min(done / max(total, 1), 1.0), words)


def _bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:  # a bare accelerator image
        return None
    columns = (
        TextColumn("{task.description:40.40}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _PlainLines:
    """One line every few seconds, for logs."""

    def __init__(self, every_s: float = 5.0):
        self._every_s = every_s
        self._start = self._last = time.monotonic()

    def __call__(self, done: float, total: float, what: str) -> None:
        now = time.monotonic()
        if done == total or now - self._last >= self._every_s:
            self._last = now
            print(f"{int(done)}/{total}  {now - self._start:5.1f} s  {to_one_line(what)}", file=sys.stderr, flush=True)
