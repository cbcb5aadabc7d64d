"""The figure of learners in several games. Matplotlib is imported when the figure is drawn."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxonline.parameters import check
from jaxonline.results.report.formats import shorten_names
from jaxonline.results.report.formulas import escape_figure
from jaxonline.results.report.plotting import STYLES, write_figure

if TYPE_CHECKING:
    from jaxonline.results.report.figure import ResultFigure

GAP = "–"
# shades of one colour, so that it also reads in grey
SHADES = "#0072B2", "#DCE9F3"
GAP_COLOUR = "#FFFFFF"
NAME_COLUMNS = 32


class RankCell(NamedTuple):
    """A cell of the figure: its text, and its rank scaled from 0 for the best to 1 for the last."""

    words: str
    share: float


def plot_ranks(
    mean_ranks: Mapping[str, float], games: Sequence[str], cells: Mapping[tuple[str, str], RankCell],
    path: str | Path | None = None, *, heading: str = "", style: str = "screen",
) -> "ResultFigure":  # fmt: skip
    """Plot ranks of learners in games as `Standings.plot` does; rows have the order of `mean_ranks`."""
    from matplotlib.colors import LinearSegmentedColormap

    from jaxonline.results.report.figure import ResultFigure

    shades = LinearSegmentedColormap.from_list("ranks", list(SHADES))
    sizes = STYLES[check.choice("style", style, STYLES)]
    names = [escape_figure(name) for name in shorten_names(list(mean_ranks), NAME_COLUMNS, drawn=True)]
    heads = ["\n".join(escape_figure(name).split()) for name in shorten_names(games, NAME_COLUMNS, drawn=True)]
    em = sizes.font / 72.0  # inches
    left = 0.55 * em * max(map(len, names)) + em
    widths = [max(4, *map(len, head.split("\n"))) for head in (*heads, "mean rank")]
    width, height = 0.62 * em * max(widths) + 0.3 * em, 2.2 * em
    rows, columns = len(names), len(heads)
    most = max(head.count("\n") + 1 for head in heads)
    total = left + width * (columns + 1)
    heading_lines = textwrap.wrap(escape_figure(heading), max(int(total / (0.6 * em)), 12))
    figure = ResultFigure(
        figsize=(total, height * rows + 1.3 * em * (most + len(heading_lines)) + (2.2 * em if heading else 1.5 * em)),
        layout="constrained",
    )
    figure.file_dpi = sizes.dpi
    axes = figure.subplots()
    axes.set_xlim(-0.5, columns + 0.6)
    axes.set_ylim(rows - 0.5, -0.5)
    for y, (name, mean_rank) in enumerate(mean_ranks.items()):
        for x, game in enumerate(games):
            cell = cells.get((name, game))
            colour = GAP_COLOUR if cell is None else shades(cell.share)
            axes.fill([x - 0.48, x + 0.48, x + 0.48, x - 0.48], [y - 0.46, y - 0.46, y + 0.46, y + 0.46], color=colour)
            words, ink = GAP if cell is None else cell.words, _ink(colour)
            axes.text(x, y, words, color=ink, fontsize=sizes.font, ha="center", va="center")
        axes.text(columns + 0.1, y, f"{mean_rank:.2f}", fontsize=sizes.font, ha="center", va="center")
    axes.set_xticks([*range(columns), columns + 0.1], [*heads, "mean\nrank"], fontsize=sizes.font - 1)
    axes.set_yticks(range(rows), names, fontsize=sizes.font)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)
    if heading:
        figure.suptitle("\n".join(heading_lines), fontsize=sizes.font)
    return write_figure(figure, path)


def _ink(colour: Any) -> str:
    """Return the colour of text on a background: "black" or "white", whichever has more contrast."""
    from matplotlib.colors import to_rgb

    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in to_rgb(colour)
    )
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else "white"
