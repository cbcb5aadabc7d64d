"""The picture of learners in many games. Matplotlib is imported here: import this when a figure is drawn."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from jaxonline.parameters import check
from jaxonline.results.report.figure import ResultFigure
from jaxonline.results.report.formats import figure_words, short_names
from jaxonline.results.report.plotting import STYLES
from jaxonline.results.report.standings import GAP, Standings, ranked_words

# of one colour, the darker the better, so that it also reads in grey; ranks are written in as well
_SHADES = LinearSegmentedColormap.from_list("ranks", ["#0072B2", "#DCE9F3"])
_GAP_COLOUR = "#FFFFFF"
_NAME = 32  # columns of a name


def plot_standings(
    standings: Standings, path: str | Path | None = None, *, title: str | None = None, style: str = "screen"
) -> ResultFigure:
    """Learners x games: in each cell the rank and the letters, the darker the better, and the mean rank at the side.

    Args:
        standings: the numbers.
        path: where to write the figure (the ending chooses the format), or None.
        title: of the figure; by default that of the table, and in the style "paper" none.
        style: "screen", or "paper" with the letters of a paper.

    Raises:
        ValueError: an unknown style.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> loss = np.array([[[1.0], [3.0]], [[2.0], [5.0]]])
        >>> result = jo.Result(("a", "b"), np.arange(2), np.array([1]), {"cumulative_loss": loss, "queries": 0 * loss})
        >>> figure = jo.results.Standings({"first": result, "second": result}).plot()
        >>> [text.get_text() for text in figure.axes[0].texts][:3]
        ['1 a', '1 a', '1.00']
    """
    sizes = STYLES[check.choice("style", style, STYLES)]
    cells = {(row["game"], row["learner"]): row for row in standings.rows}
    order = np.argsort(standings.mean_rank, kind="stable")
    names = [figure_words(name) for name in short_names([standings.learners[i] for i in order], _NAME)]
    games = ["\n".join(figure_words(name).split()) for name in short_names(standings.games, _NAME)]
    em = sizes.font / 72.0  # inches
    left = 0.55 * em * max(map(len, names)) + em
    widths = [max(4, *map(len, head.split("\n"))) for head in (*games, "mean rank")]
    cell, height = 0.62 * em * max(widths) + 0.3 * em, 2.2 * em
    rows, columns = len(names), len(games)
    most = max(head.count("\n") + 1 for head in games)
    heading = title or ("" if style == "paper" else standings.title)
    figure = ResultFigure(
        figsize=(left + cell * (columns + 1), height * rows + 1.3 * em * most + (3.5 * em if heading else 1.5 * em)),
        layout="constrained",
    )
    axes = figure.subplots()
    axes.set_xlim(-0.5, columns + 0.6)
    axes.set_ylim(rows - 0.5, -0.5)
    for y, i in enumerate(order):
        name = standings.learners[i]
        for x, game in enumerate(standings.games):
            row = cells.get((game, name))
            words, colour = GAP, _GAP_COLOUR
            if row is not None:
                words = ranked_words(row["rank"], row["letters"], row["failed"] + row["overflowed"])
                share = (row["rank"] - 1) / max(len(standings.results[game].learners) - 1, 1)
                colour = _SHADES(share)
            axes.fill([x - 0.48, x + 0.48, x + 0.48, x - 0.48], [y - 0.46, y - 0.46, y + 0.46, y + 0.46], color=colour)
            axes.text(x, y, words, color=_ink(colour), fontsize=sizes.font, ha="center", va="center")
        axes.text(columns + 0.1, y, f"{standings.mean_rank[i]:.2f}", fontsize=sizes.font, ha="center", va="center")
    axes.set_xticks([*range(columns), columns + 0.1], [*games, "mean\nrank"], fontsize=sizes.font - 1)
    axes.set_yticks(range(rows), names, fontsize=sizes.font)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)
    if heading:
        figure.suptitle(figure_words(heading), fontsize=sizes.font)
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    return figure


def _ink(colour: Any) -> str:
    """Black or white, whichever is easier to read on a colour."""
    from matplotlib.colors import to_rgb

    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in to_rgb(colour))
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else "white"
