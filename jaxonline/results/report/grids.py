"""The figure of learners in several games: a grid of ranks."""

import textwrap
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from jaxonline.results.report.plotting import STYLES, canvas, figure_names, figure_text
from jaxonline.results.report.tables import Table

# shades of one colour, so that it also reads in grey
SHADES = LinearSegmentedColormap.from_list("ranks", ["#0072B2", "#DCE9F3"])


def plot_ranks(
    table: Table, shares: Mapping[tuple[str, str], float], path: str | Path | None, title: str | None, style: str,
    ax: Axes | None,
) -> Axes:  # fmt: skip
    """Plot the table of `Standings` as a grid; `shares` has the rank by (learner, game), from 0 to 1 for the last."""
    games = [column.key for column in table.columns[2:]]
    learners = [row["learner"] for row in table.rows]
    heads = ["\n".join(name.split()) for name in figure_names(games)]
    names = figure_names(learners)
    grid = np.array([[shares.get((learner, game), np.nan) for game in games] for learner in learners])
    widest = max(len(word) for head in [*heads, "mean rank"] for word in head.split("\n"))
    style_size = STYLES.get(style, STYLES["screen"])
    em = style_size["font.size"] / 72  # inches
    width = 0.6 * em * max(map(len, names)) + (0.6 * em * max(widest, 5) + 0.4 * em) * (len(games) + 1)
    height = 2.2 * em * len(names) + 1.3 * em * (max(head.count("\n") for head in heads) + 3)
    size = width / style_size["figure.figsize"][0], height / style_size["figure.figsize"][1]
    with canvas(path, style, ax, size=size) as panels:
        axes = panels[0, 0]
        axes.imshow(np.ma.masked_invalid(grid), cmap=SHADES, vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(table.rows):
            for x, game in enumerate(games):
                ink = "white" if grid[y, x] < 0.4 else "black"
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
        words = title or ("" if style == "paper" or ax is not None else table.title)
        if words:
            axes.set_title(textwrap.fill(figure_text(words), max(12, int(width / (0.55 * em)))))
    return axes
