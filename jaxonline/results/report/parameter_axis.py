"""The horizontal axis of a parameter: numbers, on a logarithmic axis if they are spaced that way, or names."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.results.report.formats import format_tick, shorten
from jaxonline.results.report.formulas import escape_figure
from jaxonline.results.report.plotting import is_geometric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_TICKS = 10  # values with a tick each


class ParameterAxis:
    """The positions of the values of a parameter on the horizontal axis.

    Args:
        values: numbers, or labels. Labels that are all numbers have the positions of their numbers.

    Example:
        >>> axis = ParameterAxis(["0.1", "1", "10"])
        >>> axis.position("1"), axis.logarithmic
        (1.0, True)
        >>> ParameterAxis(["adam", "sgd"]).position("sgd")
        1.0
    """

    def __init__(self, values: Iterable[Any]):
        names = {str(value): value for value in values}
        numbers = {name: _as_number(value) for name, value in names.items()}
        self.numeric = None not in numbers.values()
        self.places = {name: number if self.numeric else float(at) for at, (name, number) in enumerate(numbers.items())}
        self.logarithmic = self.numeric and is_geometric([float(place or 0) for place in self.places.values()])

    def position(self, value: Any) -> float:
        """Return the position of a value."""
        return float(self.places[str(value)])  # type: ignore[arg-type]

    def name(self, value: Any) -> str:
        """Return a value as text."""
        return f"{self.position(value):g}" if self.numeric else str(value)

    def sort(self, values: Iterable[Any]) -> list[Any]:
        """Return values in the order of their positions."""
        return sorted(values, key=self.position)

    def set_up(self, axes: "Axes", gap: float) -> None:
        """Set the scale and the ticks of the axis; neighbouring ticks are at least `gap` of the axis apart."""
        from jaxonline.results.report.figure import set_ticks

        at = np.array(sorted({float(place or 0) for place in self.places.values()}))
        if not self.numeric:
            axes.set_xticks(at, [escape_figure(shorten(name, 16, drawn=True)) for name in self.places])
            longest = max((len(name) for name in self.places), default=0)
            if min(longest, 16) * len(at) > 60:
                for tick in axes.get_xticklabels():
                    tick.set(rotation=30, ha="right", rotation_mode="anchor")
            axes.set_xlim(-0.5, len(at) - 0.5)
            return
        if self.logarithmic:
            axes.set_xscale("log")
            set_ticks(axes.xaxis, format_tick)
        if 1 < len(at) <= MAX_TICKS and _smallest_gap(at, self.logarithmic) >= gap:
            axes.set_xticks(at, [format_tick(float(f"{place:.6g}")) for place in at])


def _as_number(value: Any) -> float | None:
    """Return a number or the number in a text; None for others."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | np.number):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _smallest_gap(at: Sequence[float] | np.ndarray, logarithmic: bool) -> float:
    """Return the smallest distance between neighbours, as a share of the axis."""
    places = np.log(at) if logarithmic else np.asarray(at)
    return float(np.diff(places).min() / (places[-1] - places[0]))
