"""The figure that `Result.plot` returns. This module imports Matplotlib, so import it only to draw a figure."""

import io
import math
from typing import Any

import matplotlib
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

FONT_SETTINGS: Any = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path"}  # journals require these


class ResultFigure(Figure):
    """A Matplotlib figure that notebooks display; PDF files of the figure embed TrueType fonts.

    Attributes:
        file_dpi: dots per inch of PNG files, unless `savefig` has the argument `dpi` or Matplotlib's setting
            `savefig.dpi` is a number.
    """

    file_dpi: float = 150.0

    def savefig(self, *args: Any, **options: Any) -> None:
        """Save the figure as `Figure.savefig` does; Matplotlib's global settings stay unchanged."""
        if matplotlib.rcParams["savefig.dpi"] == "figure":
            options.setdefault("dpi", self.file_dpi)
        with matplotlib.rc_context(FONT_SETTINGS):
            super().savefig(*args, **options)

    def draw(self, renderer: Any) -> None:
        """Draw the figure; Matplotlib draws its texts, even if `text.usetex` is set."""
        with matplotlib.rc_context({"text.usetex": False}):
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=100)
        return image.getvalue()


class FewDecades(LogLocator):
    """Ticks of a logarithmic axis at powers of ten, at 2 and 5 times these if they fit, or even ticks in one decade."""

    axis: Any

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks from the smallest to the largest visible value."""
        low, high = min(vmin, vmax), max(vmin, vmax)
        if not 0 < low < high:
            return super().tick_values(vmin, vmax)
        room, widest = self.axis.get_tick_space(), math.ceil(math.log10(high))
        if self.axis.axis_name == "x" and widest > 4:  # long tick labels
            room = 3 * room // (1 + 0.62 * min(widest, 9))
        subs = (1, 2, 5) if 4.5 * math.log10(high / low) < min(room, 13) else (1,)
        self.set_params(subs=subs, numticks=max(3, int(room)))
        ticks = super().tick_values(vmin, vmax)
        if sum(low <= tick <= high for tick in ticks) > 1:
            return ticks
        return [tick for tick in MaxNLocator(4).tick_values(low, high) if tick > 0]


def set_ticks(axis: Axis, formatter: Any) -> None:
    """Set the ticks and the number format of an axis."""
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    if axis.get_scale() == "log":
        axis.set_major_locator(FewDecades())
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: formatter(value)))
    axis.set_minor_formatter(NullFormatter())
