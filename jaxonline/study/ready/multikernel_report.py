"""Tables and figures of the multi-kernel study."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.datasets import known_as
from jaxonline.results.plotting import COLOURS
from jaxonline.study.files import write_csv, write_json
from jaxonline.study.ready.multikernel import ALGORITHMS, DESCENT, PUBLISHED, SetResult, as_json
from jaxonline.study.ready.multikernel_draws import Draws, differences, intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("VAW2", "EWA", "Aggregating", "BOA", "ML-Poly", "ML-Prod", "Raker", "OMKL-GF")
WEIGHTED = ("VAW2", "EWA", "ML-Prod")


def parse_seeds(text: str) -> list[int]:
    """Seeds from text: "5" is the first five seeds, "0,3" or "0-4" name them ("7," is seed 7 alone).

    Raises:
        ValueError: the text is none of these, or a seed is negative.

    Example:
        >>> from jaxonline.study.ready.multikernel_report import parse_seeds
        >>> parse_seeds("3"), parse_seeds("0,4"), parse_seeds("2-4"), parse_seeds("7,")
        ([0, 1, 2], [0, 4], [2, 3, 4], [7])
    """
    try:
        if "," not in text and "-" not in text:
            seeds = list(range(int(text)))
        else:
            seeds = []
            for part in filter(None, text.split(",")):
                first, _, last = part.partition("-")
                seeds += range(int(first), int(last or first) + 1)
    except ValueError:
        raise ValueError(f'seeds must be a number as "5" or a list as "0,1,2" or "0-4", got {text!r}') from None
    if not seeds or min(seeds) < 0:
        raise ValueError(f'seeds must be a number as "5" or a list as "0,1,2" or "0-4", got {text!r}')
    return seeds


def rows(results: Sequence[SetResult]) -> list[dict[str, Any]]:
    """The table, one row for each set, algorithm and forecaster: MSE x 1000, as printed, mean and deviation over seeds.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel import SetResult
        >>> from jaxonline.study.ready.multikernel_report import rows
        >>> mse = {("EWA", "ridge"): np.array([0.027, 0.029])}
        >>> rows([SetResult("Airfoil", (1, 1), mse, {}, {}, 0.0)])[0]["printed"]
        27.61
    """
    found = []
    for result in results:
        printed = _printed(result.name)
        for algorithm in ALGORITHMS:
            for (name, forecaster), mse in result.mse.items():
                if name != algorithm:
                    continue
                found.append({
                    "set": result.name, "algorithm": name, "forecaster": forecaster,
                    "printed": printed[name] if forecaster != "vaw" else None,
                    "mse_x1000": 1e3 * float(mse.mean()),
                    "deviation_x1000": 1e3 * float(mse.std(ddof=1)) if len(mse) > 1 else None,
                    "seeds": len(mse),
                })  # fmt: skip
    return found


def terminal_table(results: Sequence[SetResult]) -> Any:
    """The table for a terminal: for each set what was printed, ours with online ridge, and true VAW.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel import SetResult
        >>> from jaxonline.study.ready.multikernel_report import terminal_table
        >>> terminal_table([SetResult("Airfoil", (1, 1), {("EWA", "ridge"): np.ones(2)}, {}, {}, 0.0)]).row_count
        2
    """
    from rich.table import Table

    table = Table(title="mean squared error x 1000, mean over the seeds", title_justify="left")
    table.add_column("set, algorithm", no_wrap=True)
    for column in ("printed", "online ridge\n(as published)", "true VAW"):
        table.add_column(column, justify="right", no_wrap=True)
    cells = {(row["set"], row["algorithm"], row["forecaster"]): row for row in rows(results)}
    for result in results:
        table.add_section()
        n_rounds, d = result.shape
        table.add_row(f"{result.name}: {n_rounds:,} rounds, d = {d}", style="bold")
        for algorithm in ALGORITHMS:
            ours = cells.get((result.name, algorithm, "ogd" if algorithm in DESCENT else "ridge"))
            true = cells.get((result.name, algorithm, "vaw"))
            if ours is not None or true is not None:
                printed = ours["printed"] if ours else None
                table.add_row(
                    f"  {algorithm}",
                    "-" if printed is None else f"{printed:.2f}",
                    f"{ours['mse_x1000']:.5f}" if ours else "-",
                    f"{true['mse_x1000']:.5f}" if true else "-",
                )
    return table


def running_figure(results: Sequence[SetResult], forecaster: str = "ridge") -> "Figure":
    """Mean squared error up to each round, averaged over dictionaries, one panel a set.

    Args:
        results: one for each set.
        forecaster: "ridge" or "vaw".

    Example:
        >>> from jaxonline.study.ready.multikernel_report import running_figure
        >>> len(running_figure([]).axes)
        1
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, panels = _panels(max(len(results), 1))
    for axes, result in zip(panels, results, strict=False):
        positive = False
        for i, algorithm in enumerate(SHOWN):
            curve = result.running.get((algorithm, "ogd" if algorithm in DESCENT else forecaster))
            if curve is not None:
                rounds = np.arange(1, len(curve) + 1)[len(curve) // 100 :]
                axes.plot(rounds, 1e3 * curve[rounds - 1], color=COLOURS[i], label=algorithm, lw=1.5)
                positive |= bool((curve[rounds - 1] > 0).any())
        axes.set(title=result.name, xlabel="round", xscale="log")
        if positive:  # all errors are 0 where all targets are equal
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
    panels[0].set_ylabel("mean squared error up to the round, x 1000")
    if results:
        panels[-1].legend(frameon=False, fontsize=8)
    figure.suptitle(f"Running mean squared error, experts: {_NAMES[forecaster]}")
    return figure


def weights_figure(results: Sequence[SetResult], forecaster: str = "ridge") -> "Figure":
    """Weights of the kernels after the last round (first dictionary), one panel a set.

    Example:
        >>> from jaxonline.study.ready.multikernel_report import weights_figure
        >>> len(weights_figure([]).axes)
        1
    """
    figure, panels = _panels(max(len(results), 1))
    for axes, result in zip(panels, results, strict=False):
        for i, algorithm in enumerate(WEIGHTED):
            weights = result.weights.get((algorithm, forecaster))
            if weights is not None:
                axes.plot(weights, "o-", color=COLOURS[(0, 1, 3)[i]], label=algorithm, lw=0.8, ms=2.5)
        axes.set(title=result.name, xlabel="kernel")
    panels[0].set_ylabel("weight after the last round")
    if results:
        panels[-1].legend(frameon=False, fontsize=8)
    figure.suptitle(f"Final weights, experts: {_NAMES[forecaster]}")
    return figure


def draws_figure(studies: Sequence[Draws]) -> "Figure":
    """Mean over many draws with 95 % intervals, the middle 90 % of single draws, and the printed number.

    Example:
        >>> from jaxonline.study.ready.multikernel_report import draws_figure
        >>> len(draws_figure([]).axes)
        1
    """
    figure, panels = _panels(max(len(studies), 1))
    for axes, draws in zip(panels, studies, strict=False):
        printed = _printed(draws.name)
        found = intervals(draws)
        for (algorithm, forecaster), (mean, low, high, _) in found.items():
            at = ALGORITHMS.index(algorithm) + (0.2 if forecaster == "vaw" else -0.1)
            colour = COLOURS[3] if forecaster == "vaw" else COLOURS[0]
            spread = 1e3 * np.quantile(draws.mse[algorithm, forecaster], [0.05, 0.95])
            axes.plot(spread, [at, at], color=colour, alpha=0.35, lw=5, solid_capstyle="butt")
            axes.plot([1e3 * low, 1e3 * high], [at, at], color=colour, lw=2)
            axes.plot(1e3 * mean, at, "o", color=colour, ms=3)
            if printed[algorithm] is not None and forecaster != "vaw":
                axes.plot(printed[algorithm], at, "x", color="black", ms=6)
        axes.set(title=f"{draws.name}, {len(next(iter(draws.mse.values())))} draws", xlabel="MSE x 1000", xscale="log")
        axes.set_yticks(range(len(ALGORITHMS)), ALGORITHMS if axes is panels[0] else [""] * len(ALGORITHMS))
        axes.invert_yaxis()
        axes.xaxis.set_minor_formatter("{x:g}")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.tick_params(axis="x", which="both", labelsize=7, rotation=45)
    figure.suptitle("Blue: online ridge; red: true VAW; bands: 90 % of single draws; crosses: as printed (5 draws)")
    return figure


def write(
    results: Sequence[SetResult], folder: Path, forecaster: str = "ridge", draws: Sequence[Draws] = ()
) -> list[Path]:
    """Write table.csv, table.json, running.png, weights.png; with draws, draws.csv, differences.csv, draws.png.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.study.ready.multikernel_report import write
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in write([], pathlib.Path(folder))]
        ['table.csv', 'table.json', 'running.png', 'weights.png']
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in ("table.csv", "table.json", "running.png", "weights.png")]
    write_csv(paths[0], rows(results))
    write_json(paths[1], as_json(results))
    running_figure(results, forecaster).savefig(paths[2], dpi=150)
    weights_figure(results, forecaster).savefig(paths[3], dpi=150)
    if draws:
        names = ("mean", "low", "high", "deviation")
        spread = [
            {"set": study.name, "algorithm": a, "forecaster": f} | dict(zip(names, values, strict=True))
            for study in draws
            for (a, f), values in intervals(study).items()
        ]
        more = [folder / name for name in ("draws.csv", "differences.csv", "draws.png")]
        write_csv(more[0], spread)
        write_csv(more[1], [pair._asdict() | {"real": pair.real} for pair in differences(draws)])
        draws_figure(draws).savefig(more[2], dpi=150)
        paths += more
    return paths


def summary(draws: Sequence[Draws]) -> list[str]:
    """A few lines: which differences of the table are real, and which five draws cannot tell.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel_draws import Draws
        >>> from jaxonline.study.ready.multikernel_report import summary
        >>> mse = {("EWA", "ridge"): np.array([1.0, 1.1, 0.9]), ("BOA", "ridge"): np.array([2.0, 2.1, 2.05])}
        >>> summary([Draws("a", mse)])[0]
        'a, ridge: 1 of 1 differences are real (simultaneous 95 % intervals)'
    """
    lines = []
    pairs = differences(draws)
    for name, forecaster in dict.fromkeys((pair.name, pair.forecaster) for pair in pairs):
        mine = [pair for pair in pairs if (pair.name, pair.forecaster) == (name, forecaster)]
        real = sum(pair.real for pair in mine)
        lines.append(f"{name}, {forecaster}: {real} of {len(mine)} differences are real (simultaneous 95 % intervals)")
        lines += [
            f"  not resolved: {p.better} < {p.worse} by {1e3 * p.mean:.4f} ({1e3 * p.low:.4f} .. {1e3 * p.high:.4f})e-3"
            for p in mine
            if not p.real
        ]
        lines += [
            f"  real, but five draws show the other order with probability {p.misleading:.0%}: {p.better} < {p.worse}"
            for p in mine
            if p.real and p.misleading > 0.025
        ]
    return lines


def drift(rough: Sequence[SetResult], exact: Sequence[SetResult]) -> list[str]:
    """A line a set: what float32 does to the mean squared errors of the table. (OMKL-GF draws other numbers.)

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel import SetResult
        >>> from jaxonline.study.ready.multikernel_report import drift
        >>> rough, exact = (SetResult("a", (1, 1), {("EWA", "vaw"): np.ones(2) * mse}, {}, {}, 0.0) for mse in (1.1, 1))
        >>> drift([rough], [exact])
        ['a: float32 moves the table by up to 1.0e-01 of its values (EWA, vaw)']
    """
    lines = []
    for ours, theirs in zip(rough, exact, strict=True):
        gaps = {
            which: abs(mse.mean() / theirs.mse[which].mean() - 1)
            for which, mse in ours.mse.items()
            if which[0] != "OMKL-GF" and theirs.mse[which].mean() > 0
        }
        if gaps:
            worst = max(gaps, key=lambda which: gaps[which])
            lines.append(
                f"{ours.name}: float32 moves the table by up to {gaps[worst]:.1e} of its values ({', '.join(worst)})"
            )
    return lines


def _printed(name: str) -> dict[str, float | None]:
    numbers = PUBLISHED.get(known_as(name) or name, [None] * len(ALGORITHMS))
    return dict(zip(ALGORITHMS, numbers, strict=True))


_NAMES = {"ridge": "online ridge (as published)", "vaw": "true VAW"}


def _panels(n: int) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * n + 0.8, 4.4), layout="constrained")
    panels = figure.subplots(1, n, squeeze=False)[0]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return figure, panels
