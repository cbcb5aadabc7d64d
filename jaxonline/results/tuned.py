"""The result of a search for parameters (`jaxonline.tune`)."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple

import numpy as np
from typing_extensions import TypeVar

from jaxonline.game import Learner, WithFeedback
from jaxonline.results.quantities import LOSS_OF_REWARD, REWARD_OF_LOSS, label_of
from jaxonline.results.report.summary import count_words
from jaxonline.results.report.tables import Count, Interval, Number, Printed, Table, Text, format_number
from jaxonline.results.statistics.intervals import Estimate

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Setting = Mapping[str, Any]
TunedLearner = TypeVar("TunedLearner", bound=Learner | WithFeedback, default=Learner | WithFeedback)
MAX_PRINTED_SETTINGS = 12


class Rung(NamedTuple):
    """One rung of successive halving.

    Attributes:
        settings: positions of the remaining settings among all [S].
        runs: number of runs per setting so far, including the `new_runs` of this rung.
        of: means of the settings at the horizon with 95 % intervals [S]; the mean of a setting is infinite if a run
            failed.
        failed: number of runs of each setting with a NaN or infinite loss [S].
    """

    settings: np.ndarray
    runs: int
    new_runs: int
    of: Estimate
    failed: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Tuned(Printed, Generic[TunedLearner]):
    """The setting that a search chose, the settings that it tried, and its cost.

    The mean of the chosen setting is biased, as it is the best of several means: evaluate `learner` in new runs.

    Attributes:
        settings: the settings that were tried.
        chosen: the position of the chosen setting in `settings`.
        rungs: the means of each rung of successive halving.
        learner: the learner with the chosen setting.
        quantity: the quantity whose mean at the horizon was minimised, or of a reward maximised.
        n_rounds: the horizon.
        rounds: number of simulated rounds, of all settings and runs together.
        seconds: duration of the search, including compilation.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(1), np.ones(1)), jo.FullInformation())
        >>> make = lambda step: jo.GradientLearner(jo.estimators.FullGradient(), step)
        >>> tuned = jo.tune(game, make, {"step": [0.1, 0.5, 0.8]}, n_runs=2, n_rounds=10, rungs=1)
        >>> tuned.choice, tuned.rounds, tuned.at_edge
        ({'step': 0.5}, 60, ())
        >>> print(tuned.table.markdown())
        | step | rung | runs | cumulative loss (95 %) |
        | ---: | ---: | ---: | ---: |
        | 0.5 | 1 | 2 | 1 |
        | 0.8 | 1 | 2 | 1.562 |
        | 0.1 | 1 | 2 | 2.746 |
        <BLANKLINE>
    """

    settings: tuple[Setting, ...]
    chosen: int
    rungs: tuple[Rung, ...]
    learner: TunedLearner
    quantity: str
    n_rounds: int
    rounds: int
    seconds: float

    @property
    def choice(self) -> dict[str, Any]:
        """The chosen setting."""
        return dict(self.settings[self.chosen])

    @property
    def at_edge(self) -> tuple[str, ...]:
        """Parameters whose chosen number is the smallest or largest that was tried: a better number may lie beyond."""
        return at_edge(self.settings, self.chosen)

    def in_rewards(self) -> "Tuned[TunedLearner]":
        """Return the same search with rewards in place of losses; other quantities are unchanged."""
        if self.quantity not in REWARD_OF_LOSS:
            return self
        n = float(self.n_rounds)
        rungs = tuple(
            rung._replace(of=rung.of._replace(mean=n - rung.of.mean, low=n - rung.of.high, high=n - rung.of.low))
            for rung in self.rungs
        )
        return dataclasses.replace(self, rungs=rungs, quantity=REWARD_OF_LOSS[self.quantity])

    @property
    def share(self) -> float:
        """The simulated rounds as a fraction of the rounds that a grid search (all settings in all runs) would take."""
        return self.rounds / (len(self.settings) * self.rungs[-1].runs * self.n_rounds)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each rung and each setting of the rung, with mean and interval."""
        rows = []
        for number, rung in enumerate(self.rungs, 1):
            for position, i in enumerate(rung.settings.tolist()):
                row = {**self.settings[i], "rung": number, "runs": rung.runs}
                row |= {self.quantity: float(rung.of.mean[position]), "low": float(rung.of.low[position])}
                row |= {"high": float(rung.of.high[position]), "failed": int(rung.failed[position])}
                rows.append(row | {"setting": i, "chosen": i == self.chosen})
        return rows

    @property
    def table(self) -> Table:
        """The table of settings, each at its last rung; the chosen setting is first, and early losers are last."""
        rows = {row["setting"]: row for row in self.rows()}
        sign = -1.0 if self.quantity in LOSS_OF_REWARD else 1.0
        ordered = sorted(rows.values(), key=lambda row: (not row["chosen"], -row["rung"], sign * row[self.quantity]))
        numeric = {name for name in self.choice if all(is_number(setting[name]) for setting in self.settings)}
        columns = (
            *(Number(name, form="{:g}") if name in numeric else Text(name) for name in self.choice),
            Number("rung", form="{:d}"), Number("runs", form="{:,d}"),
            Interval(self.quantity, f"{label_of(self.quantity)}\n(95 %)"), Count("failed"),
        )  # fmt: skip
        settings, rounds = count_words(len(self.settings), "setting"), count_words(self.n_rounds, "round")
        title = f"Tuned: {format_setting(self.choice)}, of {settings}, by the {label_of(self.quantity)} after {rounds}"
        part = f", {format_number(100 * self.share, 2)} % of what all runs of all settings take"
        caption = f"cost: {self.rounds:,} rounds{part if self.share < 1.0 else ''}; {format_number(self.seconds, 2)} s"
        edge = f"; {describe_edge(self.settings, self.chosen)}" if self.at_edge else ""
        return Table(title, ordered, columns, caption=caption + edge)

    @property
    def _printed(self) -> Table:
        table, more = self.table, len(self.settings) - MAX_PRINTED_SETTINGS
        caption = f"... and {more:,} more settings; {table.caption}" if more > 0 else table.caption
        return dataclasses.replace(table, rows=table.rows[:MAX_PRINTED_SETTINGS], caption=caption)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the list `rows()` as a DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def plot(
        self, path: str | Path | None = None, *, parameter: str | None = None, title: str | None = None,
        style: Literal["screen", "paper"] = "screen", ax: "Axes | None" = None,
    ) -> "Axes":  # fmt: skip
        """Plot the mean of each setting, in its last rung, against a parameter; the chosen setting has a ring.

        Settings that were dropped before the last rung have fewer runs, longer intervals and a white face. A setting
        with failed runs is a cross at the top. The axis of the parameter is logarithmic if its numbers are spaced that
        way.

        Args:
            path: where to write the figure, as in `Result.plot`.
            parameter: the parameter on the horizontal axis; needed if the search varied several.
            title: title of the figure.
            style: "screen" or "paper", as in `Result.plot`.
            ax: Matplotlib axes in which to draw; by default, a new figure.

        Returns:
            The Matplotlib axes.

        Raises:
            ValueError: an unknown parameter or style, no parameter if several were varied, or `path` beside `ax`.
        """
        from jaxonline.results.report.parameters import plot_settings

        return plot_settings(self, path, parameter, title, style, ax)


def at_edge(settings: Sequence[Setting], chosen: int) -> tuple[str, ...]:
    """Return the names of parameters whose chosen number is the smallest or largest of two or more numbers tried.

    Example:
        >>> at_edge([{"step": 0.1, "radius": 1}, {"step": 0.3, "radius": 1}, {"step": 1.0, "radius": 1}], 2)
        ('step',)
    """
    return tuple(
        name for name, tried in _numeric_values(settings) if settings[chosen][name] in (min(tried), max(tried))
    )


def describe_edge(settings: Sequence[Setting], chosen: int) -> str:
    """Return a sentence that names the parameters whose chosen number is the smallest or largest that was tried."""
    tried, choice = dict(_numeric_values(settings)), settings[chosen]
    ends = [
        f"{name} = {choice[name]:g} is the {'smallest' if choice[name] == min(tried[name]) else 'largest'}"
        for name in at_edge(settings, chosen)
    ]
    return f"{' and '.join(ends)} that was tried, so that a better one may lie beyond"


def format_setting(setting: Setting) -> str:
    """Format a setting as a short text.

    Example:
        >>> format_setting({"step_size": 0.1, "kind": "adam"})
        'step_size = 0.1, kind = adam'
    """
    return ", ".join(
        f"{name} = {value:g}" if is_number(value) else f"{name} = {value}" for name, value in setting.items()
    )


def is_number(value: Any) -> bool:
    """Return whether a value of a setting is a number, not a bool or a text."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _numeric_values(settings: Sequence[Setting]) -> list[tuple[str, list[float]]]:
    """Return for each numeric parameter with two or more values the values that were tried."""
    tried = [(name, [setting[name] for setting in settings]) for name in settings[0]]
    return [(name, values) for name, values in tried if all(map(is_number, values)) and len(set(values)) > 1]
