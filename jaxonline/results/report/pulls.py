"""The table and the figure of pulls of arms (measure `jo.Pulls`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import parts
from jaxonline.results.report.columns import Measured, Number, Text
from jaxonline.results.report.formats import format_number, shorten_names
from jaxonline.results.report.formulas import escape_figure
from jaxonline.results.report.plotting import (
    COLOURS,
    STYLES,
    Style,
    add_legend,
    is_logarithmic,
    new_figure,
    set_log_scales,
    set_paper_sizes,
    style_axes,
    write_figure,
)
from jaxonline.results.report.summary import format_runs, result_title
from jaxonline.results.report.tables import Table

if TYPE_CHECKING:
    from jaxonline.results.report.figure import ResultFigure

PULLS = "pulls"
MAX_ARMS = 7  # arms with their own colour
REST_COLOUR = "0.8"


def table_of_pulls(result: Any, level: float, arms: Sequence[str] | None) -> Table:
    """Return the table of pulls as `Result.pulls_table` does."""
    check.number("level", level, gt=0.0, lt=1.0)
    last = _with_pulls(parts.select_rounds(result, slice(-1, None)))
    estimate, horizon = last.mean(PULLS, level), int(result.rounds[-1])
    n_arms = estimate.mean.shape[-1]
    names = [str(arm) for arm in range(n_arms)] if arms is None else _arm_names(arms, n_arms)
    rows = [
        {
            "learner": learner,
            "arm": name,
            PULLS: float(estimate.mean[i, 0, k]),
            "low": float(estimate.low[i, 0, k]),
            "high": float(estimate.high[i, 0, k]),
            "per_round": float(estimate.mean[i, 0, k]) / horizon,
        }
        for i, learner in enumerate(result.learners)
        for k, name in enumerate(names)
    ]
    head = f"{PULLS}\n({100 * level:.6g} %)" if len(result.runs) > 1 else PULLS
    columns = Text("learner"), Text("arm"), Measured(PULLS, head), Number("per_round", "pulls\n/round", format_number)
    return Table(result_title(result, PULLS), rows, columns, group="learner")


def plot_pulls_over_time(
    result: Any,
    path: str | Path | None,
    learners: Sequence[str] | None,
    arms: Sequence[str] | None,
    title: str | None,
    style: str,
) -> "ResultFigure":
    """Plot the pulls as `Result.plot_pulls` does."""
    sizes = STYLES[check.choice("style", style, STYLES)]
    if learners is not None:
        check.sequence("learners", learners, "learner name")
        if not learners:
            raise ArgumentError("learners", "must hold at least one name (got none)")
        result = result.select(*learners)
    rates, edges = _rates(_with_pulls(result))
    n_arms = rates.shape[-1]
    names = [f"arm {arm}" for arm in range(n_arms)] if arms is None else _arm_names(arms, n_arms)
    shown = _shown_arms(rates, edges)
    stacks, labels = (
        rates[..., shown],
        [escape_figure(name) for name in shorten_names([names[k] for k in shown], 24, drawn=True)],
    )
    colours = [COLOURS[k % 7] for k in range(len(shown))]
    if len(shown) < n_arms:
        rest = rates.sum(axis=-1, keepdims=True) - stacks.sum(axis=-1, keepdims=True)
        stacks = np.concatenate([stacks, rest], axis=-1)
        labels, colours = [*labels, f"{n_arms - len(shown)} other arms"], [*colours, REST_COLOUR]
    paper, n_panels = style == "paper", len(result.learners)
    columns = 1 if n_panels == 1 else 2 if paper or n_panels < 5 else 3
    n_rows = -(-n_panels // columns)
    height = (0.5 if paper else 0.52) * sizes.height * max(n_rows, 1 if paper else 1.4)
    legend = 1.6 * sizes.font / 72 * -(-len(labels) // (3 if paper else 6))
    figure = new_figure(sizes, None, height + legend + 0.45)
    panels = figure.subplots(n_rows, columns, sharex=True, sharey=True, squeeze=False)
    titles = [
        escape_figure(name)
        for name in shorten_names(result.learners, int(60 / columns) if not paper else 22, drawn=True)
    ]
    handles: list[Any] = []
    for at, axes in enumerate(panels.flat):
        if at >= n_panels:
            axes.set_visible(False)
            continue
        handles = _stack(axes, edges, stacks[at], colours, sizes)
        below = at + columns >= n_panels
        style_axes(axes, "round" if at >= (n_rows - 1) * columns else "")
        axes.set_title(titles[at], fontsize=sizes.font)
        axes.grid(visible=False)
        if below:
            axes.tick_params(axis="x", labelbottom=True)
        if is_logarithmic(result.rounds):
            set_log_scales(axes, linear_y=True)
            axes.set_xlim(max(edges[1] / 2, 0.5), edges[-1])
        else:
            axes.locator_params(axis="x", nbins=3 if columns > 1 else 6)
            axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0.0, max(1e-9, float(stacks.sum(axis=-1).max())))
        if paper:
            set_paper_sizes(axes, sizes)
    figure.supylabel("pulls per round", fontsize=sizes.font)
    entries = 3 if paper else 6 if len(labels) <= 6 else 4
    add_legend(figure, handles, labels, sizes, min(len(labels), entries), loc="outside lower center")
    if title and not paper:
        figure.suptitle(escape_figure(title))
    elif not paper:
        figure.suptitle(f"pulls of arms, mean of {format_runs(len(result.runs))}", fontsize=10)
    return write_figure(figure, path)


def _with_pulls(result: Any) -> Any:
    """Return the result; raise an error unless it has pulls of arms."""
    pulls = result.measures.get(PULLS)
    if pulls is None:
        raise ArgumentError("measures", "must include Pulls (got no pulls); pass simulate(..., measures=[jo.Pulls()])")
    if pulls.ndim != 4:
        raise ArgumentError("measures", f"must have pulls with an entry for each arm (got the shape {pulls.shape})")
    return result


def _arm_names(arms: Sequence[str], n_arms: int) -> list[str]:
    check.sequence("arms", arms, "arm name")
    names = [check.text("arms", arm) for arm in arms]
    if len(names) != n_arms:
        raise ArgumentError("arms", f"must hold a name for each of the {n_arms} arms (got {len(names)} names)")
    return names


def _rates(result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean pulls per round between recorded rounds [L, G, K], and the ends of these intervals [G + 1]."""
    means = result.mean(PULLS).mean
    edges = np.append(0.0, np.asarray(result.rounds, float))
    pulls = np.diff(np.concatenate([np.zeros_like(means[:, :1]), means], axis=1), axis=1)
    return pulls / np.diff(edges)[:, None], edges


def _shown_arms(rates: np.ndarray, edges: np.ndarray) -> list[int]:
    """Return the arms with their own colour, in order: all of few arms, or the arms with most pulls."""
    n_arms = rates.shape[-1]
    if n_arms <= MAX_ARMS:
        return list(range(n_arms))
    totals = np.nansum(rates * np.diff(edges)[:, None], axis=(0, 1))
    return sorted(np.argsort(-totals, kind="stable")[: MAX_ARMS - 1].tolist())


def _stack(axes: Any, edges: np.ndarray, rates: np.ndarray, colours: Sequence[str], sizes: Style) -> list[Any]:
    """Draw stacked steps [G, K] between the edges; return the handles of the legend."""
    tops = np.cumsum(rates, axis=1)
    handles, below = [], np.zeros(len(rates))
    for k, colour in enumerate(colours):
        handles.append(
            axes.stairs(
                tops[:, k], edges, baseline=below, fill=True, facecolor=colour, edgecolor="white",
                lw=0.25 * sizes.line,
            )
        )  # fmt: skip
        below = tops[:, k]
    return handles
