"""What the studies' reports share: panels, curves with bands, dots and legends of figures, and closing sentences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.papers.comparison import ComparisonResult
from jaxonline.results.report.plotting import plot_band, set_log_scales, style_axes
from jaxonline.results.statistics.ranking import closest_decision

FAINT = {"color": "0.6", "lw": 0.9, "zorder": 0}  # lines for the eye: slopes, starts of phases
ZERO = {"color": "0.25", "ls": ":", "lw": 1.6}  # the predictor 0
Styles = Mapping[str, tuple[str, str]]  # colour and line of each learner


def panels(rows: int, columns: int, size: tuple[float, float], title: str = "", **options: Any) -> tuple[Any, Any]:
    """Return a figure with a title, and its panels [rows, columns]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, fontsize=11)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def finish(axes: Any, xlabel: str = "", ylabel: str = "", title: str = "", log: str = "") -> None:
    """Set the labels and the grid of a panel, and the logarithmic scales "x" or "xy"."""
    style_axes(axes, xlabel, ylabel, title)
    if log:
        set_log_scales(axes, linear_y=log == "x")


def plot_bands(axes: Any, x: Any, estimate: Any, names: Iterable[str], styles: Styles, **options: Any) -> None:
    """Draw the curve of each learner with its band."""
    for i, name in enumerate(names):
        colour, line = styles[name]
        plot_band(axes, x, estimate, i, **{"color": colour, "ls": line, "lw": 1.6, "label": name} | options)


def plot_rows(axes: Any, rows: Sequence[Mapping[str, Any]], x: str, y: str, **options: Any) -> None:
    """Draw the column y of a table against the column x as dots with the intervals of y."""
    ends = [[abs(row.get(f"{y}_{end}", row.get(end)) - row[y]) for row in rows] for end in ("low", "high")]
    options = {"marker": "o", "ms": 4, "lw": 1.4, "capsize": 2} | options
    axes.errorbar([row[x] for row in rows], [row[y] for row in rows], ends, **options)


def legend(axes: Any, **options: Any) -> None:
    """Add a legend without a frame."""
    axes.legend(**{"frameon": False, "fontsize": 9} | options)


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    """Add the legend of a panel below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


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
