"""Progress reports from the host between the steps of long work; compiled loops contain no callbacks.

Slow functions have an argument `progress`: False for no report, True for a bar on standard error (a line every few
seconds if standard error is not a terminal), or a function `progress(done, total, what)`. A function that does the work
of one step of its caller gets `reporter.nested(what)` as `progress`. Its progress then counts as a fraction of this
step.
"""

import datetime
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from jaxonline.parameters import check
from jaxonline.parameters.errors import to_one_line

Progress = bool | Callable[[float, float, str], None]


def check_progress(progress: Any) -> None:
    """Check that `progress` is True, False, or a function."""
    is_valid = callable(progress) or isinstance(progress, bool)
    check.instance("progress", progress, is_valid, "True, False, or a function of (done, total, what)")


class Reporter:
    """Counts `total` steps and reports them to `progress`.

    If `progress` is a function, it is called for each step, each fraction of a step, and each announced line. Several
    threads may call this function, one at a time.

    Example:
        >>> from jaxonline.simulation.progress import Reporter
        >>> seen = []
        >>> with Reporter(lambda done, total, what: seen.append((done, total, what)), total=2) as reporter:
        ...     reporter.advance("first")
        ...     inner = reporter.nested("second")
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
        self._learner, self._steps, self._since = "", 0, 0.0  # of the blocks that are played now
        self._start, self._earlier, self._n_learners = time.monotonic(), 0, 0
        self.seconds_left: float | None = None
        self._lock = threading.RLock()  # threads report steps
        if callable(progress):
            self._report = progress
        elif progress:
            self._bar = _rich_bar() if sys.stderr.isatty() else None
            self._report = _PlainLines() if self._bar is None else self._update_bar
        self._task: Any = None

    def __enter__(self) -> "Reporter":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total, left="")
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def skip(self, n_steps: int) -> None:
        """Count steps that were done earlier."""
        with self._lock:
            self._done += n_steps
            self._earlier += n_steps

    def announce(self, line: str) -> None:
        """Show a line before the work begins."""
        line = to_one_line(line)
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        elif isinstance(self._report, _PlainLines):
            print(line, file=sys.stderr, flush=True)
        elif self._report is not None:
            self._report(self._done, self._total, line)

    def advance(self, what: str, learner: str = "", steps_per_block: int = 0) -> None:
        """Count a finished step of the work `what`, of one of the learner's blocks."""
        with self._lock:
            self._done += 1
            self.seconds_left = self._estimate(learner, steps_per_block, time.monotonic()) if steps_per_block else None
            if self._report is not None:
                self._report(self._done, self._total, what)

    def nested(self, what: str) -> Progress:
        """Return an argument `progress` for a function that does the next step; reports call this step `what`."""
        return False if self._report is None else _StepProgress(self, what)

    def advance_part(self, fraction: float, what: str) -> None:
        """Report that a fraction of the next step is done."""
        with self._lock:
            if self._report is not None:
                self._report(self._done + fraction, self._total, what)

    def _estimate(self, learner: str, steps_per_block: int, now: float) -> float | None:
        """Return the remaining seconds; None before the learner's second block.

        The first block contains the compilation. The pace is that of the first learner after its first block, and later
        that of all steps, because the learners that follow must be compiled, too.
        """
        if learner != self._learner:
            self._learner, self._steps, self._n_learners = learner, 0, self._n_learners + 1
        self._steps += 1
        if self._steps == steps_per_block:
            self._since = now
        if self._steps < 2 * steps_per_block:
            return None
        if self._n_learners > 1:
            pace = (now - self._start) / (self._done - self._earlier)
        else:
            pace = (now - self._since) / (self._steps - steps_per_block)
        return pace * (self._total - self._done)

    def _update_bar(self, done: float, total: float, what: str) -> None:
        left = "" if self.seconds_left is None else f"{datetime.timedelta(seconds=round(self.seconds_left))} left"
        self._bar.update(self._task, completed=done, total=total, description=to_one_line(what), left=left)


class _StepProgress:
    """Reports the progress of work inside a step as a fraction of the step."""

    def __init__(self, reporter: Reporter, what: str):
        self._reporter = reporter
        self._what = what

    def __call__(self, done: float, total: float, what: str = "") -> None:
        label = f"{self._what}: {what}" if what else self._what
        self._reporter.advance_part(min(done / max(total, 1), 1.0), label)


def _rich_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    description, left = TextColumn("{task.description:40.40}", markup=False), TextColumn("{task.fields[left]}")
    return Progress(description, BarColumn(), MofNCompleteColumn(), left, console=Console(stderr=True), transient=True)


class _PlainLines:
    """Progress display for logs: one line every few seconds."""

    def __init__(self, every_s: float = 5.0):
        self._every_s = every_s
        self._start = self._last = time.monotonic()

    def __call__(self, done: float, total: float, what: str) -> None:
        now = time.monotonic()
        if done == total or now - self._last >= self._every_s:
            self._last = now
            print(f"{int(done)}/{total}  {now - self._start:5.1f} s  {to_one_line(what)}", file=sys.stderr, flush=True)
