"""The figure and the files of the study of kernel learners under Gaussian noise."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jaxonline.results.plotting import COLOURS
from jaxonline.study.files import write_csv
from jaxonline.study.ready.gaussian_noise import Study
from jaxonline.study.ready.gaussian_noise_learners import ALGORITHM_1, ALGORITHM_2, CLEAN, NAIVE, WIDTH
from jaxonline.study.ready.gaussian_noise_report import all_rows, rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {  # colour, line, marker
    CLEAN: ("#000000", "-", "s"),
    ALGORITHM_2: (COLOURS[0], "-", "o"),
    ALGORITHM_1: (COLOURS[5], "-", "D"),
    NAIVE: (COLOURS[3], "-", "v"),
    "mean of 2 copies": (COLOURS[4], "-", "^"),
    "mean of 5 copies": (COLOURS[4], "--", "^"),
    "mean of 20 copies": (COLOURS[4], ":", "^"),
    "Fourier, 1 copy": (COLOURS[1], ":", "P"),
    "Fourier, 2 copies": (COLOURS[1], "-", "P"),
    "Fourier, mean of 5": (COLOURS[1], "--", "P"),
}


def plot(study: Study) -> "Figure":
    """Regret against the noise, regret against rounds at one noise with the bounds, and exponents with intervals.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results import Result
        >>> from jaxonline.study.ready.gaussian_noise import Played, Study
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> from jaxonline.study.ready.gaussian_noise_figure import plot
        >>> loss, rounds = np.ones((1, 2, 2)) * np.array([1.0, 2.0]), np.array([5, 10])
        >>> result = Result(("Algorithm 1",), np.arange(2), rounds, loss, 0 * loss, loss, np.zeros((1, 2), int))
        >>> played = Played(0.3, result, {"Algorithm 1": 0.06}, {})
        >>> study = Study(disc(10), {}, [], {"disc": 1.0}, [played], played, played, {})
        >>> len(plot(study).axes)
        3
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15.0, 5.6), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=(1.0, 1.15, 1.0))
    _noise_panel(panels[0], study)
    _rounds_panel(panels[1], study)
    _exponent_panel(panels[2], study)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle(
        "Kernel learning from noisy instances: Gaussian kernel, squared loss, Gaussian noise, "
        f"{len(study.shown.result.runs)} runs, 95 % intervals"
    )
    return figure


def _noise_panel(axes: "Axes", study: Study) -> None:
    noises = np.array([played.noise for played in study.by_noise])
    for name, (colour, ls, marker) in STYLES.items():
        found = [(p.noise, p.result.select(name).mean()) for p in study.by_noise if name in p.result.learners]
        if not found:
            continue
        x = np.array([noise for noise, _ in found])
        mean, low, high = (np.array([getattr(e, part)[0, -1] for _, e in found]) for part in ("mean", "low", "high"))
        if name == CLEAN:
            axes.axhline(mean[0], color=colour, ls=ls, lw=1.2)
            continue
        axes.plot(x, mean, color=colour, ls=ls, marker=marker, ms=4.5, lw=1.6)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
    axes.axhline(study.zero["disc"], color="0.5", ls=(0, (1, 2)), lw=1.2)
    axes.annotate("always predict 0", (0.0, study.zero["disc"]), xytext=(0, 4), textcoords="offset points", fontsize=8,
                  color="0.4")  # fmt: skip
    axes.axvline(WIDTH / math.sqrt(2), color="0.5", lw=1.0)
    axes.annotate(
        "no surrogate kernel\nbeyond", (WIDTH / math.sqrt(2), 0.02), xycoords=("data", "axes fraction"),
        xytext=(-3, 0), textcoords="offset points", fontsize=8, color="0.4", ha="right",
    )  # fmt: skip
    rounds = int(study.by_noise[0].result.rounds[-1])
    axes.set(yscale="log", xlabel="noise (standard deviation of a coordinate)", ylabel="regret")
    axes.set_title(f"(a) after {rounds:,} rounds, as the noise grows", fontsize=10)
    axes.set_xticks(noises, [f"{noise:g}" for noise in noises])
    axes.yaxis.set_major_formatter("{x:,g}")


def _rounds_panel(axes: "Axes", study: Study) -> None:
    from matplotlib.ticker import NullFormatter

    plays = dict.fromkeys(study.shown.result.learners, study.shown)
    plays |= dict.fromkeys(study.long.result.learners, study.long)
    for name, (colour, ls, marker) in STYLES.items():
        if name not in plays:
            continue
        result = plays[name].result
        estimate = result.select(name).mean()
        axes.plot(result.rounds, estimate.mean[0], color=colour, ls=ls, marker=marker, ms=3.5, lw=1.6, label=name)
        axes.fill_between(result.rounds, estimate.low[0], estimate.high[0], color=colour, alpha=0.18, lw=0)
        bound = plays[name].bounds.get(name)
        if bound is not None:
            axes.plot(result.rounds, bound, color=colour, ls=(0, (5, 2)), lw=1.1)
            axes.annotate("bound", (result.rounds[0], bound[0]), xytext=(0, 9), textcoords="offset points",
                          fontsize=8, color=colour)  # fmt: skip
    ends = np.array([study.shown.result.rounds[1], study.long.result.rounds[-1]], float)
    base = 0.45 * np.nanmin(np.abs(study.shown.result.mean().mean[:, 1]))
    for slope, text in ((1.0, "slope 1"), (0.5, "slope 1/2")):
        line = base * (ends / ends[0]) ** slope
        axes.plot(ends, line, color="0.65", lw=0.8, zorder=0)
        axes.annotate(text, (ends[1], line[1]), xytext=(-4, 5), textcoords="offset points", fontsize=8, color="0.4",
                      ha="right", va="bottom")  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel="regret")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,g}")
        axis.set_minor_formatter(NullFormatter())
    axes.set_title(f"(b) noise {study.shown.noise:g}; dashed: what the theorems promise", fontsize=10)


def _exponent_panel(axes: "Axes", study: Study) -> None:
    found = [row for row in rows(study.shown, "disc") if row["learner"] != ALGORITHM_1] + rows(study.long, "disc")
    found.sort(key=lambda row: (list(STYLES).index(row["learner"]), row["rounds"]))
    labels = []
    for at, row in enumerate(found):
        colour, _, marker = STYLES[row["learner"]]
        axes.plot([row["exponent_low"], row["exponent_high"]], [at, at], color=colour, lw=2.5, alpha=0.6)
        axes.plot(row["exponent"], at, marker, color=colour, ms=6)
        longer = f"\n({row['rounds']:,} rounds)" if row["rounds"] > study.shown.result.rounds[-1] else ""
        labels.append(f"{row['learner']}{longer}")
    for slope, text in ((0.5, "square root"), (1.0, "linear")):
        axes.axvline(slope, color="0.35", lw=1.0, ls="--")
        axes.annotate(text, (slope, 0.985), xycoords=("data", "axes fraction"), xytext=(4, 0), va="top", fontsize=8,
                      textcoords="offset points", color="0.35")  # fmt: skip
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="exponent over the second half of the rounds", xlim=(-0.1, 1.2))
    axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
    axes.set_title(f"(c) growth at noise {study.shown.noise:g}", fontsize=10)


def write(study: Study, folder: Path) -> list[Path]:
    """Write table.csv and figure.png; returns their paths.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from jaxonline.results import Result
        >>> from jaxonline.study.ready.gaussian_noise import Played, Study
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> from jaxonline.study.ready.gaussian_noise_figure import write
        >>> loss, rounds = np.ones((1, 2, 2)) * np.array([1.0, 2.0]), np.array([5, 10])
        >>> result = Result(("Algorithm 1",), np.arange(2), rounds, loss, 0 * loss, loss, np.zeros((1, 2), int))
        >>> played = Played(0.3, result, {"Algorithm 1": 0.06}, {})
        >>> study = Study(disc(10), {}, [], {"disc": 1.0}, [played], played, played, {})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in write(study, pathlib.Path(folder))]
        ['table.csv', 'figure.png']
    """
    folder.mkdir(parents=True, exist_ok=True)
    figure = folder / "figure.png"
    plot(study).savefig(figure, dpi=150)
    return [write_csv(folder / "table.csv", all_rows(study)), figure]
