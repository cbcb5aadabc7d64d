"""What the studies' reports share: panels, curves with bands, dots and legends of figures, and closing sentences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.papers.comparison import ComparisonResult
from jaxonline.results.report import plotting
from jaxonline.results.statistics.ranking import closest_decision

GUIDE = {"color": "0.7", "lw": 0.6, "zorder": 0}  # a line with a meaning, which the legend names: start of a phase
ZERO = {"color": "0.25", "ls": ":"}  # the predictor 0
Styles = Mapping[str, tuple[str, str]]  # colour and line of each learner
paper_style = plotting.use_style("paper")  # a decorator of all functions that draw


def panels(rows: int, columns: int, height: float, title: str = "", **options: Any) -> tuple[Any, Any]:
    """Return a figure as wide as a page of a paper, with a title of at most two lines, and panels [rows, columns]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, height), layout="constrained")
    figure.suptitle(plotting.wrap_title(title, plotting.PAGE_WIDTH))
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    for axes in grid.flat:
        axes.locator_params(nbins=5)
    return figure, grid


def grid(n: int, columns: int, height: float, title: str = "", **options: Any) -> tuple[Any, list[Any]]:
    """Return a figure with n panels in rows of at most `columns` panels, each row with a height in inches."""
    columns = min(n, columns)
    rows = -(-n // columns)
    figure, grid = panels(rows, columns, 0.6 + rows * height, title, **options)
    for axes in grid.flat[n:]:
        axes.set_axis_off()
    return figure, list(grid.flat[:n])


def finish(axes: Any, xlabel: str = "", ylabel: str = "", title: str = "", log: str = "") -> None:
    """Set the labels and the grid of a panel, and the logarithmic scales "x" or "xy"."""
    inches = axes.figure.get_figwidth() * axes.get_position().width
    labels = (plotting.axis_label(words, axes, axis) for words, axis in ((xlabel, "x"), (ylabel, "y")))
    plotting.style_axes(axes, *labels, plotting.wrap_title(title, inches))
    if log:
        plotting.set_log_scales(axes, linear_y=log == "x")


def look_of(name: str, styles: Styles) -> dict[str, Any]:
    """Return colour, line and marker of a learner; learners have different markers."""
    colour, line = styles[name]
    i = list(styles).index(name)
    marker = plotting.line_looks(len(styles))[i]
    return {"color": colour, "linestyle": line, "marker": marker["marker"] or "o", "markevery": (0.1 * i % 0.25, 0.25)}


def plot_bands(axes: Any, x: Any, estimate: Any, names: Iterable[str], styles: Styles, **options: Any) -> None:
    """Draw the curve of each learner with its band."""
    for i, name in enumerate(names):
        plotting.plot_band(axes, x, estimate, i, **{**look_of(name, styles), "label": name} | options)


def plot_rows(axes: Any, rows: Sequence[Mapping[str, Any]], x: str, y: str, **options: Any) -> None:
    """Draw the column y of a table against the column x as dots with the intervals of y."""
    ends = [[abs(row.get(f"{y}_{end}", row.get(end)) - row[y]) for row in rows] for end in ("low", "high")]
    options = {"marker": "o", "capsize": 2} | options
    axes.errorbar([row[x] for row in rows], [row[y] for row in rows], ends, **options)


def legend_below(figure: Any, columns: int, *panels: Any) -> None:
    """Add a legend of panels, by default of all, below the figure."""
    figure.legend(**plotting.legend_entries(*(panels or figure.axes)), loc="outside lower center", ncols=columns)


def legend_in(empty: Any, *panels: Any) -> None:
    """Add a legend of panels in an empty panel."""
    empty.set_axis_off()
    empty.legend(**plotting.legend_entries(*panels), loc="center")


def format_places(learners_at: Mapping[str, tuple[str, ...]]) -> str:
    """Format the places of each learner, such as "a (noise 0.1 / noise 0.3); b (noise 0.3)", or "none".

    Example:
        >>> from benchmarks.papers.studies.figures import format_places
        >>> format_places({"noise 0.1": ("a",), "noise 0.3": ("a", "b")}), format_places({"noise 0.1": ()})
        ('a (noise 0.1 / noise 0.3); b (noise 0.3)', 'none')
    """
    places_of: dict[str, list[str]] = {}
    for place, names in learners_at.items():
        for name in names:
            places_of.setdefault(name, []).append(place)
    return "; ".join(f"{name} ({' / '.join(places)})" for name, places in places_of.items()) or "none"


def skewness_sentences(results: Mapping[str, ComparisonResult]) -> list[str]:
    """Return a sentence that names the learners with skewed runs, if there are any."""
    skewed = {place: result.skewed_learners for place, result in results.items()}
    start = "The runs are skewed, and Student's interval understates the longer side, of"
    return [f"{start}: {format_places(skewed)}."] if any(skewed.values()) else []


def missing_events_sentence(results: Mapping[str, ComparisonResult]) -> str:
    """Return a sentence on the events that the runs may have missed, for the closest decision between two learners."""
    return closest_decision({place: result.missing for place, result in results.items()}).sentence


def closing_sentences(results: Mapping[str, ComparisonResult], tuned: bool = True) -> list[str]:
    """Return sentences on steps at the edge of the candidates (if steps were tuned), skewed runs and missing events."""
    edge = format_places({name: compared.at_edge for name, compared in results.items()})
    sentence = f"The step is at the edge of the candidates, and a better one may lie beyond, for: {edge}."
    return [*([sentence] if tuned else []), *skewness_sentences(results), missing_events_sentence(results)]
