"""Tables, figures and numbers of the study of Algorithm 1."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.results.plotting import COLOURS, log_log, tidy
from jaxonline.study.files import curves, write_csv, write_json
from jaxonline.study.ready import noisy_kernels as study_module
from jaxonline.study.ready.noisy_kernels import BEST, KERNELS, LOSSES, THEOREM, LawRow, NoisyKernels, Played

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def as_json(study: NoisyKernels) -> dict[str, Any]:
    """All numbers: the curves by kernel and loss, and by law; settings, steps, bounds, queries, growth exponents.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import NoisyKernels
        >>> from jaxonline.study.ready.noisy_kernels_report import as_json
        >>> sorted(as_json(NoisyKernels({}, [])))
        ['laws', 'losses', 'settings']
    """
    names = ("N_INSTANCES", "DIMENSION", "NOISE_VARIANCE", "RADIUS", "P", "ETAS")
    losses: dict[str, dict[str, Any]] = {}
    for (kernel, loss), played in study.cells.items():
        losses.setdefault(kernel, {})[loss] = _numbers(played)
    laws = [
        {"kernel": row.kernel, "law": row.law, "parameter": row.parameter} | _numbers(row.played) for row in study.laws
    ]
    settings = {name.lower(): getattr(study_module, name) for name in names}
    return {"settings": settings, "losses": losses, "laws": laws}


def _numbers(played: Played) -> dict[str, Any]:
    return {
        "theorem": {"bound": played.bound.value, "step": played.bound.step_size, "G": played.bound.G},
        "expected_queries_per_round": played.queries_per_round,
        "overflow_probability": played.result.meta["overflow_probability"],
        "etas": played.etas,
    } | curves(played.result, played.bounds)


def rows(study: NoisyKernels) -> list[dict[str, Any]]:
    """One row for each kernel, loss, law and step, at the horizon.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import NoisyKernels
        >>> from jaxonline.study.ready.noisy_kernels_report import rows
        >>> rows(NoisyKernels({}, []))
        []
    """
    found = [
        (kernel, loss, "geometric", study_module.P[kernel], played) for (kernel, loss), played in study.cells.items()
    ]
    found += [(row.kernel, "squared", row.law, row.parameter, row.played) for row in study.laws]
    return [
        {"kernel": kernel, "loss": loss, "law": law, "parameter": parameter, "step": line["learner"]}
        | {"eta": played.etas[line["learner"]], "expected_queries_per_round": played.queries_per_round}
        | {name: line[name] for name in ("queries_per_round", "regret", "low", "high", "bound", "failed", "overflowed")}
        | dict(zip(("exponent", "exponent_low", "exponent_high"), growths[line["learner"]], strict=True))
        for kernel, loss, law, parameter, played in found
        for growths in [played.result.growth()]
        for line in played.result.table({name: bound[-1] for name, bound in played.bounds.items()})
    ]


def terminal_tables(study: NoisyKernels) -> list[Any]:
    """The rows for a terminal: one table for the losses, one for the laws.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import NoisyKernels
        >>> from jaxonline.study.ready.noisy_kernels_report import terminal_tables
        >>> [table.row_count for table in terminal_tables(NoisyKernels({}, []))]
        [0, 0]
    """
    from rich import box
    from rich.table import Table

    lines = rows(study)
    pairs = list(zip(lines[::2], lines[1::2], strict=True))  # the theorem's step, the best step tried
    left_out = sum(line["failed"] + line["overflowed"] for line in lines)
    risks = [max(each.result.meta["overflow_probability"].values(), default=0.0) for each in _all(study)]
    risk = f"; a run is out of storage with probability {max(risks, default=0.0):.1g} at most"
    losses = Table(
        box=box.SIMPLE,
        title="Algorithm 1 with the paper's law: regret at the horizon (95 % intervals)", title_justify="left",
        caption=f"runs left out (failed, out of storage): {left_out}{risk}", caption_justify="left",
    )  # fmt: skip
    laws = Table(
        box=box.SIMPLE, title="The same for other laws of the number of copies, squared loss", title_justify="left"
    )
    last = ("queries\n/round", "theorem's\nstep", "its\nbound", "best step\ntried", "exponent")
    for table, columns in ((losses, ("kernel", "loss", "p", *last)), (laws, ("kernel", "law", *last))):
        for column in columns:
            words = column in ("kernel", "loss", "law")
            table.add_column(column, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    for i, (own, best) in enumerate(pairs):
        numbers = (
            f"{best['queries_per_round']:.2f}", _with_half_width(own), _short(own["bound"]), _with_half_width(best),
            f"{best['exponent']:.2f} ± {(best['exponent_high'] - best['exponent_low']) / 2:.2f}",
        )  # fmt: skip
        kernel = best["kernel"].removesuffix(" kernel")
        if i < len(study.cells):
            losses.add_row(kernel, best["loss"], f"{best['parameter']:g}", *numbers)
        else:
            laws.add_row(kernel, _name(study.laws[i - len(study.cells)]), *numbers)
    return [losses, laws]


def _all(study: NoisyKernels) -> list[Played]:
    return [*study.cells.values(), *(row.played for row in study.laws)]


def _with_half_width(line: dict[str, Any]) -> str:
    return f"{line['regret']:.1f} ± {(line['high'] - line['low']) / 2:.1f}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number < 1e6 else f"{number:.0e}"


def losses_figure(study: NoisyKernels) -> "Figure":
    """A panel for each kernel and loss: regret against rounds with both steps, and what the theorem promises.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import NoisyKernels
        >>> from jaxonline.study.ready.noisy_kernels_report import losses_figure
        >>> len(losses_figure(NoisyKernels({}, [])).axes)
        8
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.0, 7.4), layout="constrained")
    panels = figure.subplots(len(KERNELS), len(LOSSES), sharex=True, sharey=True, squeeze=False)
    for row, kernel in zip(panels, KERNELS, strict=True):
        for axes, loss in zip(row, LOSSES, strict=True):
            tidy(axes, title=f"{loss} loss\n{kernel}, p = {study_module.P[kernel]:g}")
            if (kernel, loss) in study.cells:
                _regret_panel(axes, study.cells[kernel, loss])
        row[0].set_ylabel("regret")
    for axes in panels[-1]:
        axes.set_xlabel("round")
    if study.cells:
        panels[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
    figure.suptitle(
        "Algorithm 1 on noisy copies, steps eta / sqrt(t). Dashed: the theorem's bound (its anytime form). "
        "Grey: slope 1/2"
    )
    return figure


def _regret_panel(axes: "Axes", played: Played) -> None:
    result, estimate = played.result, played.result.mean()
    rounds = np.asarray(result.rounds, float)
    log_log(axes)
    for i, (name, colour) in enumerate(((THEOREM, COLOURS[0]), (BEST, COLOURS[3]))):
        axes.plot(rounds, estimate.mean[i], color=colour, lw=1.8, label=name)
        axes.fill_between(rounds, estimate.low[i], estimate.high[i], color=colour, alpha=0.25, lw=0)
        if name == THEOREM:
            axes.plot(rounds, played.bounds[name], color=colour, ls="--", lw=1.3)
    found = played.result.growth()[BEST]
    axes.plot(rounds, estimate.mean[1, -1] * 0.5 * np.sqrt(rounds / rounds[-1]), color="0.6", lw=0.8)
    text = (
        f"exponent {found.exponent:.2f} ({found.low:.2f} .. {found.high:.2f})\n"
        f"bound at the end {_short(played.bounds[THEOREM][-1])}"
    )
    axes.annotate(text, (0.97, 0.03), xycoords="axes fraction", ha="right", fontsize=8, color="0.25")
    axes.set_ylim(2.0, 4.0 * rounds[-1])


def laws_figure(study: NoisyKernels) -> "Figure":
    """For each kernel: regret against queries a round, and regret per round against the queries spent so far.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import NoisyKernels
        >>> from jaxonline.study.ready.noisy_kernels_report import laws_figure
        >>> len(laws_figure(NoisyKernels({}, [])).axes)
        4
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 8.2), layout="constrained")
    panels = figure.subplots(len(KERNELS), 2, squeeze=False)
    for (left, right), kernel in zip(panels, KERNELS, strict=True):
        own = [row for row in study.laws if row.kernel == kernel]
        tidy(left, "queries a round", "regret at the horizon", f"{kernel}, squared loss, the best step tried")
        tidy(right, "queries spent", "regret per round so far", "at equal cost: further down and left is better")
        for law, colour in (("geometric", "0.35"), ("best", COLOURS[0])):
            _frontier(left, [row for row in own if row.law == law], colour)
        for i, row in enumerate(own):
            _at_equal_cost(right, row, i)
        if own:
            log_log(left, linear_y=True)
            left.margins(x=0.12)
            left.set_ylim(bottom=0.0)
            log_log(right)
            left.legend(frameon=False, fontsize=9)
            right.legend(frameon=False, fontsize=8, ncols=2, loc="lower left")
    figure.suptitle("What the law of the number of copies is worth")
    return figure


def _frontier(axes: "Axes", own: list[LawRow], colour: str) -> None:
    estimates = [row.played.result.mean() for row in own]
    if not own:
        return
    means = np.array([estimate.mean[1, -1] for estimate in estimates])
    halves = np.array([(estimate.high - estimate.low)[1, -1] / 2 for estimate in estimates])
    queries = [row.played.queries_per_round for row in own]
    label = "the paper's: (p-1)/p^(n+1)" if own[0].law == "geometric" else "the best for a price"
    axes.errorbar(queries, means, halves, color=colour, marker="o", ms=5, lw=1.4, capsize=3, label=label)
    for x, y, row in zip(queries, means, own, strict=True):
        axes.annotate(_name(row), (x, y), xytext=(5, 6), textcoords="offset points", fontsize=8, color=colour)


def _at_equal_cost(axes: "Axes", row: LawRow, i: int) -> None:
    result = row.played.result
    spent, regret = result.mean("queries").mean[1], result.mean().mean[1] / result.rounds
    geometric = row.law == "geometric"
    shade = str(0.1 + 0.17 * i) if geometric else COLOURS[(0, 1, 3)[i % 3]]
    axes.plot(spent, regret, color=shade, lw=1.3 if geometric else 2.0, label=_name(row))


def _name(row: LawRow) -> str:
    if row.law == "geometric":
        return f"p = {row.parameter:g}"
    return "best" if math.isinf(row.parameter) else f"best, overhead {row.parameter:g}"


def write(study: NoisyKernels, folder: Path) -> list[Path]:
    """Write table.csv, regret.png, laws.png and numbers.json; returns their paths.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.study.ready.noisy_kernels import NoisyKernels
        >>> from jaxonline.study.ready.noisy_kernels_report import write
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in write(NoisyKernels({}, []), pathlib.Path(folder))]
        ['table.csv', 'numbers.json', 'regret.png', 'laws.png']
    """
    paths = [write_csv(folder / "table.csv", rows(study)), write_json(folder / "numbers.json", as_json(study))]
    for name, figure in (("regret.png", losses_figure(study)), ("laws.png", laws_figure(study))):
        figure.savefig(folder / name, dpi=150)
        paths.append(folder / name)
    return paths
