"""The figures of a result and the table of pulls: the methods of `Result` that draw."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from jaxtyping import ArrayLike

from jaxonline.results.report import curves, final_values, parameter_curves, pulls
from jaxonline.results.report.plotting import StyleName, check_axes, without_latex
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics.intervals import ConfidenceInterval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxonline.results.report.figure import ResultFigure


@overload
def plot(
    self: Any, path: str | Path | None = None, *, quantity: str | Sequence[str] | None = None, level: float = 0.95,
    interval: ConfidenceInterval | None = None, bounds: Mapping[str, ArrayLike] | None = None, title: str | None = None,
    style: StyleName = "screen", ax: None = None,
) -> "ResultFigure": ...  # fmt: skip
@overload
def plot(
    self: Any, path: None = None, *, quantity: str | None = None, level: float = 0.95,
    interval: ConfidenceInterval | None = None, bounds: Mapping[str, ArrayLike] | None = None, title: str | None = None,
    style: StyleName = "screen", ax: "Axes",
) -> "Axes": ...  # fmt: skip
def plot(
    self: Any,
    path: str | Path | None = None,
    *,
    quantity: str | Sequence[str] | None = None,
    level: float = 0.95,
    interval: ConfidenceInterval | None = None,
    bounds: Mapping[str, ArrayLike] | None = None,
    title: str | None = None,
    style: StyleName = "screen",
    ax: "Axes | None" = None,
) -> "ResultFigure | Axes":
    r"""Plot the mean of a quantity against rounds with bands; with bounds, a second panel has logarithmic axes.

    A band holds for the whole curve of its learner (`Result.bands`). A result with a single run has no bands. Axes are
    logarithmic if the recorded rounds have logarithmic spacing (`simulate(spacing="log")`). Otherwise, curves of sums
    over rounds start at (0, 0). Up to 21 learners have different colours and dashes; of more learners, the best 7 have
    colours, and the others are grey. If only one round is recorded, the figure shows one point for each learner.

    Names of learners may contain formulas such as `$\epsilon$-greedy`, which the figure shows as formulas.

    Args:
        path: where to write the figure (the ending sets the format), or None. PDF files embed their fonts.
        quantity: a quantity that is a number; by default the regret, or the cumulative loss without a comparator. A
            list of quantities gets a panel for each of them, with common rounds.
        level: confidence level of each learner's band.
        interval: the kind of interval, as in `Result.bands`.
        bounds: by learner, a theorem's bound at each recorded round [G], drawn as a dashed line in the second panel.
        title: title of the figure.
        style: "screen", or "paper" for one column of a two-column paper. A "paper" figure is 3.25 inches wide, with
            letters of 8 points, a legend below and no title; with bounds, it has one panel with logarithmic axes. PNG
            files have 300 dots per inch, and those of the style "screen" have 150.
        ax: Matplotlib axes in which to draw, with a legend inside; by default, a new figure. With bounds, the axes
            become logarithmic.

    Returns:
        The Matplotlib figure, or `ax` if it is given.

    Raises:
        ValueError: an unknown quantity, learner or style, a bound with the wrong length, `path` beside `ax`, or `ax` or
            `bounds` beside a list of quantities.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> loss = np.array([[[1.0, 2.0], [3.0, 5.0]]])
        >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
        >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=np.array([1, 2]), measures=measures)
        >>> len(result.plot(quantity=["cumulative_loss", "queries"]).axes)
        2
    """
    with without_latex():
        return curves.plot_result(self, path, quantity, level, interval, bounds, title, style, check_axes(ax, path))


@overload
def plot_final(
    self: Any, path: str | Path | None = None, *, quantity: str | None = None, level: float = 0.95,
    interval: ConfidenceInterval | None = None, title: str | None = None, style: StyleName = "screen",
    ax: None = None,
) -> "ResultFigure": ...  # fmt: skip
@overload
def plot_final(
    self: Any, path: None = None, *, quantity: str | None = None, level: float = 0.95,
    interval: ConfidenceInterval | None = None, title: str | None = None, style: StyleName = "screen",
    ax: "Axes",
) -> "Axes": ...  # fmt: skip
def plot_final(
    self: Any,
    path: str | Path | None = None,
    *,
    quantity: str | None = None,
    level: float = 0.95,
    interval: ConfidenceInterval | None = None,
    title: str | None = None,
    style: StyleName = "screen",
    ax: "Axes | None" = None,
) -> "ResultFigure | Axes":
    """Plot the distribution over runs of the final regret or another quantity, with a histogram for each learner.

    Below each histogram, a bar covers the middle half of the runs with their median, a line covers the middle 90 %, and
    the other runs are points. So a heavy tail is visible. The diamond is the mean with its interval. All learners have
    the same bins. The axis is logarithmic if all values are positive and the largest value is above 30 times the
    median. Learners are sorted by their means, and the figure shows at most 40 of them. Failed runs are left out.

    Args:
        path: where to write the figure, as in `Result.plot`.
        quantity: a quantity that is a number; by default the regret, or the cumulative loss without a comparator.
        level: confidence level of the interval of each mean.
        interval: the kind of interval, as in `Result.mean`.
        title: title of the figure.
        style: "screen" or "paper", as in `Result.plot`.
        ax: Matplotlib axes in which to draw; by default, a new figure.

    Returns:
        The Matplotlib figure, or `ax` if it is given.

    Raises:
        ValueError: an unknown quantity or style, or `path` beside `ax`.

    Warns:
        SkewedRunsWarning: as in `Result.mean`.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> loss = np.random.default_rng(0).normal(size=(2, 50, 1))
        >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
        >>> result = jo.Result(("a", "b"), np.arange(50), np.array([1]), measures)
        >>> figure = result.plot_final()
    """
    with without_latex():
        return final_values.plot_final_values(self, path, quantity, level, interval, title, style, check_axes(ax, path))


@overload
def plot_sweep(
    self: Any, path: str | Path | None = None, *, quantity: str | None = None, level: float = 0.95,
    interval: ConfidenceInterval | None = None, label: str | None = None, title: str | None = None,
    style: StyleName = "screen", ax: None = None,
) -> "ResultFigure": ...  # fmt: skip
@overload
def plot_sweep(
    self: Any, path: None = None, *, quantity: str | None = None, level: float = 0.95,
    interval: ConfidenceInterval | None = None, label: str | None = None, title: str | None = None,
    style: StyleName = "screen", ax: "Axes",
) -> "Axes": ...  # fmt: skip
def plot_sweep(
    self: Any,
    path: str | Path | None = None,
    *,
    quantity: str | None = None,
    level: float = 0.95,
    interval: ConfidenceInterval | None = None,
    label: str | None = None,
    title: str | None = None,
    style: StyleName = "screen",
    ax: "Axes | None" = None,
) -> "ResultFigure | Axes":
    """Plot the final regret, or another quantity at the horizon, against the parameter of a sweep (`jo.sweep`).

    The learners of a sweep have names such as "UCB1[0.5]". The figure shows the mean of each learner of a sweep with
    its interval over its label, and a ring around the best mean. If all labels are numbers, they are the positions
    on the axis, which is logarithmic if the numbers are spaced that way, and lines join the means. Learners outside
    sweeps are horizontal lines with their intervals. The vertical axis is logarithmic if all means and limits are
    positive and the largest mean is above 50 times the smallest.

    The best mean of many is biased: report new runs of the best learner, as with `jo.tune`.

    Args:
        path: where to write the figure, as in `Result.plot`.
        quantity: a quantity that is a number; by default the regret, or the cumulative loss without a comparator.
        level: confidence level of each interval.
        interval: the kind of interval, as in `Result.mean`.
        label: name of the parameter on the axis; by default "parameter".
        title: title of the figure.
        style: "screen" or "paper", as in `Result.plot`.
        ax: Matplotlib axes in which to draw; by default, a new figure.

    Returns:
        The Matplotlib figure, or `ax` if it is given.

    Raises:
        ValueError: the result has no sweep with two labels, an unknown quantity or style, or `path` beside `ax`.

    Warns:
        SkewedRunsWarning: as in `Result.mean`.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> steps = {step: jo.GradientLearner(jo.estimators.FullGradient(), step) for step in (0.1, 0.3, 1.0)}
        >>> result = jo.simulate(game, {"gradient": jo.sweep(steps)}, n_runs=2, n_rounds=6, comparator=jo.L2Ball(2.0))
        >>> result.plot_sweep(label="step size").axes[0].get_xscale()
        'log'
    """
    with without_latex():
        return parameter_curves.plot_sweeps(
            self, path, quantity, level, interval, label, title, style, check_axes(ax, path)
        )


def plot_pulls(
    self: Any,
    path: str | Path | None = None,
    *,
    learners: Sequence[str] | None = None,
    arms: Sequence[str] | None = None,
    title: str | None = None,
    style: StyleName = "screen",
) -> "ResultFigure":
    """Plot how often each arm is pulled over time, with a panel for each learner (measure `jo.Pulls`).

    The heights of the stacked areas are the mean pulls per round between two recorded rounds. In a game with one move
    per round, they are the shares of the arms and add up to 1. Of more than 7 arms, the figure shows the 6 with most
    pulls, and all others together in grey.

    Args:
        path: where to write the figure, as in `Result.plot`.
        learners: names of the learners to show; by default all.
        arms: names of all arms [K]; by default "arm 0", "arm 1", ...
        title: title of the figure.
        style: "screen" or "paper", as in `Result.plot`.

    Returns:
        The Matplotlib figure.

    Raises:
        ValueError: the result has no measure "pulls", an unknown learner or style, or a wrong number of arms.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learners = {"UCB1": jo.learners.UCB1(), "EXP3": jo.learners.EXP3(0.1)}
        >>> result = jo.simulate(game, learners, n_runs=4, n_rounds=50, measures=[jo.Pulls()])
        >>> figure = result.plot_pulls(arms=["good", "bad"])
    """
    with without_latex():
        return pulls.plot_pulls_over_time(self, path, learners, arms, title, style)


def pulls_table(self: Any, level: float = 0.95, arms: Sequence[str] | None = None) -> Table:
    """Return a table of the mean number of pulls of each arm at the horizon, with intervals (measure `jo.Pulls`).

    Args:
        level: confidence level of each interval.
        arms: names of all arms [K]; by default 0, 1, ...

    Returns:
        A table with a row for each learner and arm, which has the methods `text`, `markdown`, `latex`, `html`, `csv`.

    Raises:
        ValueError: the result has no measure "pulls", or a wrong number of arms.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> pulls = np.array([[[[3, 7]], [[1, 9]]]])
        >>> measures = {"cumulative_loss": pulls[..., 0] / 2, "queries": pulls[..., 0], "pulls": pulls}
        >>> result = jo.Result(("UCB1",), np.arange(2), np.array([10]), measures)
        >>> print(result.pulls_table().markdown())
        | learner | arm | pulls (95 %) | pulls /round |
        | --- | --- | ---: | ---: |
        | UCB1 | 0 | 2 ± 13 | 0.2000 |
        | UCB1 | 1 | 8 ± 13 | 0.8000 |
        <BLANKLINE>
    """
    return pulls.table_of_pulls(self, level, arms)
