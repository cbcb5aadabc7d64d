"""Tables, sentences and JSON of the study of kernel learners under Gaussian noise."""

import math
from typing import Any

from jaxonline.results.growth import Growth
from jaxonline.study.files import curves
from jaxonline.study.ready.gaussian_noise import Played, Study
from jaxonline.study.ready.gaussian_noise_learners import ALGORITHM_2, CLEAN, NOISY


def late_growth(played: Played) -> dict[str, Growth]:
    """The exponent of each learner's regret over the second half of the rounds, with its 95 % interval.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise import play
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> from jaxonline.study.ready.gaussian_noise_report import late_growth
        >>> list(late_growth(play(disc(64), 0.2, ["one copy"], n_runs=2, n_rounds=64)))
        ['one copy']
    """
    return played.result.growth(first_round=math.ceil(played.result.rounds[-1] / 2))


def rows(played: Played, data: str) -> list[dict[str, Any]]:
    """The table, one row a learner: step, queries, regret, exponent and bound at the horizon.

    Args:
        played: on one problem with one noise.
        data: the problem's name.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise import play
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> from jaxonline.study.ready.gaussian_noise_report import rows
        >>> row = rows(play(disc(64), 0.2, ["mean of 2 copies"], n_runs=2, n_rounds=64), "disc")[0]
        >>> row["data"], row["rounds"], row["queries_per_round"]
        ('disc', 64, 2.0)
    """
    growths = late_growth(played)
    table = played.result.table({name: bound[-1] for name, bound in played.bounds.items()})
    about = {"data": data, "noise": played.noise, "rounds": int(played.result.rounds[-1])}
    return [
        about
        | {"eta": played.etas[row["learner"]]}
        | row
        | dict(zip(("exponent", "exponent_low", "exponent_high"), growths[row["learner"]], strict=True))
        for row in table
    ]


def all_rows(study: Study) -> list[dict[str, Any]]:
    """The rows of everything that was played.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results import Result
        >>> from jaxonline.study.ready.gaussian_noise import Played, Study
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> from jaxonline.study.ready.gaussian_noise_report import all_rows
        >>> loss, rounds = np.ones((1, 2, 2)) * np.array([1.0, 2.0]), np.array([5, 10])
        >>> result = Result(("Algorithm 1",), np.arange(2), rounds, loss, 0 * loss, loss, np.zeros((1, 2), int))
        >>> played = Played(0.3, result, {"Algorithm 1": 0.06}, {})
        >>> study = Study(disc(10), {}, [], {"disc": 1.0}, [played], played, played, {})
        >>> [row["regret"] for row in all_rows(study)]
        [2.0, 2.0, 2.0]
    """
    disc = [*study.by_noise, study.shown, study.long]
    found = [row for played in disc for row in rows(played, study.problem.name)]
    return found + [row for name, each in study.real.items() for played in each for row in rows(played, name)]


def as_json(study: Study) -> dict[str, Any]:
    """Settings, geometry of the target, and the curves of every learner, for JSON.

    `growth` is the exponent over the second half of the rounds; `growth_from` says from which round.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results import Result
        >>> from jaxonline.study.ready.gaussian_noise import Played, Study
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> from jaxonline.study.ready.gaussian_noise_report import as_json
        >>> loss, rounds = np.ones((1, 2, 2)) * np.array([1.0, 2.0]), np.array([5, 10])
        >>> result = Result(("Algorithm 1",), np.arange(2), rounds, loss, 0 * loss, loss, np.zeros((1, 2), int))
        >>> played = Played(0.3, result, {"Algorithm 1": 0.06}, {})
        >>> study = Study(disc(10), {}, [], {"disc": 1.0}, [played], played, played, {})
        >>> as_json(study)["shown"]["learners"]["Algorithm 1"]["regret"]
        [1.0, 2.0]
    """

    def numbers(played: Played) -> dict[str, Any]:
        found = curves(played.result, played.bounds)
        for name, growth in late_growth(played).items():
            found["learners"][name] |= {"growth": growth._asdict(), "eta": played.etas[name]}
        return {"noise": played.noise, "growth_from": math.ceil(played.result.rounds[-1] / 2)} | found

    return {
        "settings": study.settings,
        "geometry": study.geometry,
        "regret_of_zero": study.zero,
        "by_noise": [numbers(played) for played in study.by_noise],
        "shown": numbers(study.shown),
        "long": numbers(study.long),
        "real": {name: [numbers(played) for played in each] for name, each in study.real.items()},
    }


def terminal_tables(study: Study) -> list[Any]:
    """Tables for a terminal: regret by noise; one noise with exponents and bounds; regret per round on real sets.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results import Result
        >>> from jaxonline.study.ready.gaussian_noise import Played, Study
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> from jaxonline.study.ready.gaussian_noise_report import terminal_tables
        >>> loss, rounds = np.ones((1, 2, 2)) * np.array([1.0, 2.0]), np.array([5, 10])
        >>> result = Result(("Algorithm 1",), np.arange(2), rounds, loss, 0 * loss, loss, np.zeros((1, 2), int))
        >>> played = Played(0.3, result, {"Algorithm 1": 0.06}, {})
        >>> study = Study(disc(10), {}, [], {"disc": 1.0}, [played], played, played, {})
        >>> [table.row_count for table in terminal_tables(study)]
        [2, 1]
    """
    disc = {f"noise {played.noise:g}": rows(played, "disc") for played in study.by_noise}
    first = study.by_noise[0].result
    tables = [
        _shown_table(study),
        _across(f"regret after {int(first.rounds[-1]):,} rounds, by noise", disc, "regret"),
    ]
    if study.real:
        columns = {
            f"{name}\nnoise {relative:g} sd": rows(played, name)
            for name, each in study.real.items()
            for relative, played in zip(study.settings["real_noises_in_deviations"], each, strict=True)
        }
        tables.append(_across("regret per round on real sets, one pass", columns, "regret_per_round"))
    return tables


def sentences(study: Study) -> list[str]:
    """What the numbers say: the target's geometry, whose exponents fit a square root or a line, and equal queries.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results import Result
        >>> from jaxonline.study.ready.gaussian_noise import Played, Study
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc, geometry
        >>> from jaxonline.study.ready.gaussian_noise_report import sentences
        >>> loss, rounds = np.ones((2, 2, 3)) * np.array([2.0, 3.0, 4.0]), np.array([2, 5, 10])
        >>> names = ("Algorithm 2", "mean of 2 copies")
        >>> result = Result(names, np.arange(2), rounds, loss, 0 * loss, loss, np.zeros((2, 2), int))
        >>> played = Played(0.3, result, dict.fromkeys(names, 0.06), {})
        >>> study = Study(disc(10), {}, [geometry(disc(10), 0.3)], {"disc": 1.0}, [played], played, played, {})
        >>> for line in sentences(study):
        ...     print(line)
        Target: beta = 68 degrees; at noise 0.3 R = 1.104 and W = 2.332 (2.778 by the angle alone, 5.311 as printed).
        Exponent compatible with at most 1/2, at these horizons: Algorithm 2, mean of 2 copies.
        Exponent compatible with 1: none.
        At two queries a round, Algorithm 2's regret minus that of the mean of 2 copies: 0.0 [0.0, 0.0].
        Regret of the predictor 0: disc 1.
    """
    at = next(each for each in study.geometry if each["noise"] == study.shown.noise)
    found = late_growth(study.shown) | late_growth(study.long)
    root = [name for name, growth in found.items() if growth.low <= 0.5]
    line = [name for name, growth in found.items() if growth.low <= 1.0 <= growth.high]
    pair = study.shown.result.paired_difference(ALGORITHM_2, "mean of 2 copies")
    zeros = ", ".join(f"{name} {zero:,.0f}" for name, zero in study.zero.items())
    return [
        f"Target: beta = {math.degrees(at['angle']):.0f} degrees; at noise {at['noise']:g} R = {at['constant']:.3f} "
        f"and W = {at['W']:.3f} ({at['W_sharp']:.3f} by the angle alone, {at['W_printed']:.3f} as printed).",
        f"Exponent compatible with at most 1/2, at these horizons: {', '.join(root) or 'none'}.",
        f"Exponent compatible with 1: {', '.join(line) or 'none'}.",
        f"At two queries a round, Algorithm 2's regret minus that of the mean of 2 copies: {pair.mean[-1]:.1f} "
        f"[{pair.low[-1]:.1f}, {pair.high[-1]:.1f}].",
        f"Regret of the predictor 0: {zeros}.",
    ]


def _shown_table(study: Study) -> Any:
    found = [*rows(study.shown, "disc"), *rows(study.long, "disc")]
    title = f"noise {study.shown.noise:g}: regret, and its exponent over the second half of the rounds"
    table = _table(title)
    for column in ("learner", "rounds", "queries\n/round", "regret\n(95 %)", "exponent\n(95 %)", "bound"):
        table.add_column(column, justify="left" if column == "learner" else "right", no_wrap=True)
    lost = any(row["failed"] or row["overflowed"] for row in found)
    if lost:
        table.add_column("runs\nlost", justify="right", style="red")
    for row in found:
        cells = [
            row["learner"], f"{row['rounds']:,}", f"{row['queries_per_round']:.2f}",
            f"{row['regret']:,.1f} ± {(row['high'] - row['low']) / 2:.1f}",
            f"{row['exponent']:.2f} [{row['exponent_low']:.2f}, {row['exponent_high']:.2f}]",
            "-" if row["bound"] is None else f"{row['bound']:,.0f}",
        ]  # fmt: skip
        table.add_row(*cells, *([str(row["failed"] + row["overflowed"])] if lost else []))
    return table


def _table(title: str) -> Any:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))


def _across(title: str, columns: dict[str, list[dict[str, Any]]], quantity: str) -> Any:
    """Learners down, noises across: mean and half the width of the interval."""
    table = _table(title)
    table.add_column("learner", no_wrap=True)
    for column in columns:
        table.add_column(
            column.replace("noise ", "", 1) if "\n" not in column else column, justify="right", no_wrap=True
        )
    names = list(dict.fromkeys(row["learner"] for found in columns.values() for row in found))
    for name in sorted(names, key=(CLEAN, *NOISY).index):
        cells = []
        for found in columns.values():
            row = next((row for row in found if row["learner"] == name), None)
            if row is None:  # clean instances have no noise
                cells.append("")
                continue
            half = (row["high"] - row["low"]) / 2
            if quantity == "regret":
                cells.append(f"{row['regret']:.0f} ± {half:.0f}")
            else:
                cells.append(f"{row[quantity]:.3f} ± {half / row['rounds']:.3f}")
        table.add_row(name, *cells)
    return table
