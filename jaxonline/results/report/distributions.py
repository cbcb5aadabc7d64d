"""Figures of distributions: values of all runs at the horizon, pulls of arms over time, and ranks in games."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.parts import select_rounds
from jaxonline.results.quantities import LOSS_OF_REWARD, best_first, default_quantity, label_of
from jaxonline.results.report import plotting
from jaxonline.results.report.summary import PULLS, arm_names, check_pulls, count_words
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import ConfidenceInterval

MAX_ROWS = 40  # learners in a figure of final values
MIN_BINS, MAX_BINS = 12, 90
TAIL = 5  # per cent of the runs on either side that are drawn as single points
HEAVY_TAIL = 30.0  # the largest value, as a multiple of the median, from which the axis is logarithmic
REST_COLOUR = "0.8"  # of arms without a colour of their own
SHADES = LinearSegmentedColormap.from_list("ranks", ["#0072B2", "#DCE9F3"])  # of one colour, which read in grey


def plot_final_values(
    result: Any, path: str | Path | None, quantity: str | None, level: float,
    interval: ConfidenceInterval | None, choice: plotting.Choice, title: str | None, style: str, ax: Axes | None,
) -> Axes:  # fmt: skip
    """Plot the distribution over runs as `Result.plot_final` does."""
    quantity = default_quantity(result, quantity)
    result, names, colours = plotting.choose_learners(result, choice)
    estimates.check_number(result, quantity)
    last = select_rounds(result, slice(-1, None))
    estimate = estimates.at_horizon(last.mean(quantity, level, interval))
    order = best_first(np.nan_to_num(estimate.mean, nan=np.inf), quantity in LOSS_OF_REWARD)[:MAX_ROWS]
    runs = [own[np.isfinite(own)] for own in estimates.values(last, quantity)[order, :, 0]]
    mean, low, high = (field[order] for field in (estimate.mean, estimate.low, estimate.high))
    with plotting.canvas(path, style, ax, size=(1.0, 0.35 + 0.13 * len(runs))) as panels:
        axes = panels[0, 0]
        edges, logarithmic, size = *_bins(runs), matplotlib.rcParams["lines.markersize"]
        for at, (i, own) in enumerate(zip(order, runs, strict=True)):
            counts = np.histogram(own, edges)[0]
            heights, colour = 0.6 * counts / max(counts.max(), 1), colours.get(int(i), plotting.COLOURS[0])
            axes.stairs(at - heights, edges, baseline=at, fill=True, color=colour, alpha=0.35, lw=0)
        boxes = axes.boxplot(
            runs, orientation="horizontal", positions=np.arange(len(runs)) + 0.18, widths=0.14, whis=(TAIL, 100 - TAIL),
            showcaps=False, patch_artist=True, manage_ticks=False, boxprops={"facecolor": "0.35", "lw": 0},
            medianprops={"color": "white", "lw": 1.2}, whiskerprops={"color": "0.35", "lw": 0.9},
            flierprops={"marker": "o", "ms": size / 2, "mew": 0, "mfc": "0.35", "alpha": 0.6},
        )  # fmt: skip
        ends = np.where(np.isfinite(low + high), [mean - low, high - mean], np.nan)
        means = axes.errorbar(
            mean, range(len(runs)), xerr=ends, fmt="D", color=plotting.COLOURS[3], capsize=3, zorder=5
        )
        names = [names[i] for i in order]
        axes.set_yticks(range(len(runs)), names)
        axes.set_ylim(len(runs) - 0.55, -0.75)
        axes.tick_params(axis="y", length=0)
        words = f"{label_of(quantity, result.meta)} after {count_words(int(result.rounds[-1]), 'round')}"
        plotting.style_axes(axes, plotting.axis_label(words, axes, "x", max(map(len, names))))
        axes.grid(visible=False, axis="y")
        if logarithmic:
            plotting.set_log_scale(axes, "x")
        else:
            plotting.start_at_zero(axes, "x")
            axes.locator_params(axis="x", nbins=5 if style == "paper" else 8)
        legend = f"mean, {100 * level:.6g} % interval", "median and middle half", f"outer {2 * TAIL} % of the runs"
        if ax is None:
            plotting.legend_below(axes, [means, boxes["boxes"][0], boxes["fliers"][0]], legend)
        left_out = len(result.learners) - len(runs)
        part = f", the best {MAX_ROWS} of {len(result.learners)} learners" if left_out else ""
        plotting.set_titles(axes, f"distribution over {count_words(len(result.runs), 'run')}{part}", title, style, ax)
    return axes


def _bins(runs: list[np.ndarray]) -> tuple[np.ndarray, bool]:
    """Return the edges of bins that all learners share, and whether they are spaced logarithmically.

    Positive values with a heavy tail have logarithmic bins. The width of a bin is the rule of Freedman and Diaconis for
    the typical learner.
    """
    pooled = np.concatenate(runs)
    logarithmic = bool(pooled.size and pooled.min() > 0 and pooled.max() > HEAVY_TAIL * np.median(pooled))
    scaled = [np.log(own) if logarithmic else own for own in runs if own.size]
    low = min((float(own.min()) for own in scaled), default=0.0)
    high = max((float(own.max()) for own in scaled), default=1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    widths = [2.0 * np.subtract(*np.percentile(own, [75, 25])) / len(own) ** (1 / 3) for own in scaled]
    width = float(np.median(widths)) if widths else 0.0
    n_bins = int(np.clip(np.ceil((high - low) / width), MIN_BINS, MAX_BINS)) if width > 0 else MAX_BINS
    edges = np.linspace(low, high, n_bins + 1)
    return np.exp(edges) if logarithmic else edges, logarithmic


# ---------------------------------------------------------------------------------------------------------------------
# Pulls of arms


def plot_pulls_over_time(
    result: Any, path: str | Path | None, learners: Sequence[str] | None, arms: Sequence[str] | None,
    title: str | None, style: str, ax: Axes | None,
) -> np.ndarray:  # fmt: skip
    """Plot the pulls as `Result.plot_pulls` does."""
    result, *_ = plotting.choose_learners(result, (learners, None, None))
    check_pulls(result)
    n_panels, paper = len(result.learners), style == "paper"
    if ax is not None and n_panels > 1:
        raise ArgumentError("ax", f"must be None for several learners (got {n_panels}); pass learners=[name]")
    rates, edges = _rates(result)
    names = [f"arm {arm}" for arm in range(rates.shape[-1])] if arms is None else arm_names(arms, rates.shape[-1])
    rates, names, colours = _merge_rare_arms(rates, np.diff(edges), names)
    columns = 1 if n_panels == 1 else 2 if paper or n_panels < 5 else 3
    rows = -(-n_panels // columns)
    size = 1.0, (0.55 * rows if paper else 0.52 * max(rows, 1.4)) + 0.1
    with plotting.canvas(path, style, ax, shape=(rows, columns), size=size, sharex=True, sharey=True) as panels:
        for axes in panels.flat[n_panels:]:
            axes.set_visible(False)
        shown, titles = panels.ravel()[:n_panels], plotting.figure_names(result.learners, 60 // columns)
        handles: list[Any] = []
        for i, axes in enumerate(shown):
            tops = np.cumsum(rates[i], axis=1).T
            handles = [
                axes.stairs(top, edges, baseline=below, fill=True, facecolor=colour, edgecolor="white", lw=0.4)
                for top, below, colour in zip(tops, np.vstack([0 * tops[:1], tops[:-1]]), colours, strict=True)
            ]
            plotting.style_axes(axes, "round" if i + columns >= n_panels else "")
            axes.set_title(titles[i])
            axes.grid(visible=False)
            axes.tick_params(axis="x", labelbottom=i + columns >= n_panels)
            axes.set_xlim(edges[0], edges[-1])
            axes.locator_params(axis="x", nbins=3 if columns > 1 else 6)
            if plotting.is_logarithmic(result.rounds):
                plotting.set_log_scale(axes, "x")
                axes.set_xlim(max(edges[1] / 2, 0.5), edges[-1])
            axes.set_ylim(0.0, max(1e-9, float(rates.sum(axis=-1).max())))
        for axes in panels[:, 0]:
            axes.set_ylabel("pulls per round")
        plotting.legend_below(shown[0], handles, names, ax)
        if ax is None and not paper:
            runs = count_words(len(result.runs), "run")
            words = title or f"pulls of arms, mean of {runs}"
            shown[0].figure.suptitle(plotting.wrap_title(words, shown[0].figure.get_figwidth()))
    return shown


def _rates(result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean pulls per round between recorded rounds [L, G, K], and the ends of these intervals [G + 1]."""
    means = result.mean(PULLS).mean
    edges = np.append(0.0, np.asarray(result.rounds, float))
    pulls = np.diff(np.concatenate([np.zeros_like(means[:, :1]), means], axis=1), axis=1)
    return pulls / np.diff(edges)[:, None], edges


def _merge_rare_arms(
    rates: np.ndarray, widths: np.ndarray, names: list[str]
) -> tuple[np.ndarray, list[str], list[str]]:
    """Return rates, names and colours of the stacks: all of few arms, or those with most pulls, and all others."""
    n_arms, names = rates.shape[-1], plotting.figure_names(names, 24)
    if n_arms <= plotting.N_COLOURS:
        return rates, names, plotting.DARK_AND_LIGHT[:n_arms]
    most = np.argsort(-np.nansum(rates * widths[:, None], axis=(0, 1)), kind="stable")[: plotting.N_COLOURS - 1]
    kept = sorted(most.tolist())
    rest = rates.sum(axis=-1, keepdims=True) - rates[..., kept].sum(axis=-1, keepdims=True)
    labels = [*(names[k] for k in kept), f"{n_arms - len(kept)} other arms"]
    colours = [*plotting.DARK_AND_LIGHT[: len(kept)], REST_COLOUR]
    return np.concatenate([rates[..., kept], rest], axis=-1), labels, colours


# ---------------------------------------------------------------------------------------------------------------------
# Ranks in games


def plot_ranks(
    table: Table, shares: Mapping[tuple[str, str], float], path: str | Path | None, title: str | None, style: str,
    ax: Axes | None,
) -> Axes:  # fmt: skip
    """Plot the table of `Standings` as a grid; `shares` has the rank by (learner, game), from 0 to 1 for the last."""
    games = [column.key for column in table.columns[2:]]
    learners = [row["learner"] for row in table.rows]
    heads = ["\n".join(name.split()) for name in plotting.figure_names(games)]
    names = plotting.figure_names(learners)
    grid = np.array([[shares.get((learner, game), np.nan) for game in games] for learner in learners])
    widest = max(len(word) for head in [*heads, "mean rank"] for word in head.split("\n"))
    style_size = plotting.STYLES.get(style, plotting.STYLES["screen"])
    em = style_size["font.size"] / 72  # inches
    width = 0.6 * em * max(map(len, names)) + (0.6 * em * max(widest, 5) + 0.4 * em) * (len(games) + 1)
    height = 2.2 * em * len(names) + 1.3 * em * (max(head.count("\n") for head in heads) + 3)
    size = width / style_size["figure.figsize"][0], height / style_size["figure.figsize"][1]
    with plotting.canvas(path, style, ax, size=size) as panels:
        axes = panels[0, 0]
        axes.imshow(np.ma.masked_invalid(grid), cmap=SHADES, vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(table.rows):
            for x, game in enumerate(games):
                ink = "white" if grid[y, x] < 0.3 else "black"
                axes.text(x, y, row[game], color=ink, ha="center", va="center")
            axes.text(len(games) + 0.1, y, f"{row['mean_rank']:.2f}", ha="center", va="center")
        axes.set_xlim(-0.5, len(games) + 0.6)
        axes.set_xticks([*range(len(games)), len(games) + 0.1], [*heads, "mean\nrank"])
        axes.set_yticks(range(len(names)), names)
        axes.set_xticks(np.arange(len(games) + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
        axes.grid(visible=False)
        axes.grid(which="minor", color="white", lw=2, alpha=1)
        axes.tick_params(which="both", length=0, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        if ax is None and (title or style != "paper"):
            axes.figure.suptitle(plotting.wrap_title(title or table.title, width))
        elif title:
            axes.set_title(plotting.figure_text(title))
    return axes
