"""Progress of long work, reported from the host between pieces of it: no callback inside a compiled loop."""

import sys
import time
from collections.abc import Callable
from typing import Any


class Reporter:
    """Counts finished pieces of work and tells someone.

    Args:
        progress: False for silence, True for a progress bar on standard error (a plain line now and then where it
            is no terminal), or a function called as `progress(done, total, what)` for each finished piece, and
            before the first one for each line that is said.
        total: the number of pieces.

    Example:
        >>> from jaxonline.simulation.progress import Reporter
        >>> seen = []
        >>> with Reporter(lambda done, total, what: seen.append((done, total, what)), total=2) as reporter:
        ...     reporter.advance("first")
        ...     reporter.advance("second")
        >>> seen
        [(1, 2, 'first'), (2, 2, 'second')]
    """

    def __init__(self, progress: bool | Callable[[int, int, str], None], total: int):
        self._report: Callable[[int, int, str], None] | None = None
        self._bar: Any = None
        self._done = 0
        self._total = total
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
        self._done += 1
        if self._report is not None:
            self._report(self._done, self._total, what)

    def _update_bar(self, done: int, total: int, what: str) -> None:
        self._bar.update(self._task, completed=done, total=total, description=what)


def _bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:  # a bare accelerator image
        return None
    columns = (TextColumn("{task.description:32.32}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _PlainLines:
    """One line every few seconds, for logs."""

    def __init__(self, every_s: float = 5.0):
        self._every_s = every_s
        self._start = self._last = time.monotonic()

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if done == total or now - self._last >= self._every_s:
            self._last = now
            print(f"{done}/{total}  {now - self._start:5.1f} s  {what}", file=sys.stderr, flush=True)
