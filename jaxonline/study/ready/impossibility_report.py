"""What the study of one and two copies shows: a verdict for each learner, the table, the files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxonline.results.growth import Growth
from jaxonline.study.files import curves, write_csv
from jaxonline.study.ready.impossibility import ONE, WORLDS, Alike, Impossibility
from jaxonline.study.ready.impossibility_figure import plot_impossibility

# exponents are those of `Result.growth`: of the rounds after an eighth of the horizon
LINEAR, SUBLINEAR, UNDECIDED = "linear", "sublinear", "undecided"
RULE = (
    "linear: in one of the worlds the whole interval of the exponent is above 3/4. sublinear: in both of them it "
    "reaches down to 1/2 and ends below 3/4, or the regret is not above 0. undecided: neither."
)


def verdict(upper: Sequence[float], growths: Sequence[Growth]) -> str:
    """`RULE`: linear, sublinear or undecided, from the numbers of the two worlds.

    Args:
        upper: upper ends of the intervals of the regret at the horizon.
        growths: exponents with their intervals; NaN where there is no power law.

    Example:
        >>> from jaxonline.results.growth import Growth
        >>> from jaxonline.study.ready.impossibility_report import verdict
        >>> root, line, between = Growth(0.5, 0.45, 0.55), Growth(1.0, 0.9, 1.1), Growth(0.65, 0.6, 0.7)
        >>> [verdict((9.0, 9.0), (root, other)) for other in (root, line, between)]
        ['sublinear', 'linear', 'undecided']
    """
    if any(growth.low > 0.75 for growth in growths):
        return LINEAR
    roots = [growth.low <= 0.5 and growth.high < 0.75 for growth in growths]
    return SUBLINEAR if all(root or high <= 0 for root, high in zip(roots, upper, strict=True)) else UNDECIDED


def rows(study: Impossibility) -> list[dict[str, Any]]:
    """The table at the horizon, one row for each learner: regrets a round and exponents of both worlds, and a verdict.

    "larger" is that of the two regrets with the larger mean. "unavoidable" is for the kind to which the theorem
    applies. Intervals have the level 95 %.

    Example:
        >>> from jaxonline.study.ready.impossibility import impossibility
        >>> from jaxonline.study.ready.impossibility_report import rows
        >>> row = rows(impossibility(n_runs=8, n_rounds=200, only=("one copy",)))[0]
        >>> row["verdict"], row["larger"] == row["with_noise"] > row["unavoidable"]
        ('linear', True)
    """
    results = dict(zip(WORLDS, (study.without_noise, study.with_noise), strict=True))
    horizon = int(study.with_noise.rounds[-1])
    tables = {world: result.table() for world, result in results.items()}
    growths = {world: result.growth() for world, result in results.items()}
    found = []
    for i, (name, kind) in enumerate(study.kinds.items()):
        each = {world: tables[world][i] for world in WORLDS}
        most = WORLDS[int(np.argmax([each[world]["regret"] for world in WORLDS]))]
        row: dict[str, Any] = {"learner": name, "kind": kind}
        row["copies_per_round"] = each[most]["queries_per_round"]
        for column, world in (*((world, world) for world in WORLDS), ("larger", most)):
            row[column] = each[world]["regret"] / horizon
            row |= {f"{column}_{end}": each[world][end] / horizon for end in ("low", "high")}
        row["unavoidable"] = study.unavoidable if kind == ONE else None
        for world in WORLDS:
            power = growths[world][name]
            row |= {f"{world}_exponent": power.exponent, f"{world}_exponent_low": power.low}
            row[f"{world}_exponent_high"] = power.high
        row["verdict"] = verdict([each[world]["high"] for world in WORLDS], [growths[w][name] for w in WORLDS])
        row |= {what: sum(each[world][what] for world in WORLDS) for what in ("failed", "overflowed")}
        found.append(row)
    return found


def as_json(study: Impossibility) -> dict[str, Any]:
    """All numbers: the table, the curves in both worlds, and what the hypotheses are there.

    Example:
        >>> from jaxonline.study.ready.impossibility import impossibility
        >>> from jaxonline.study.ready.impossibility_report import as_json
        >>> list(as_json(impossibility(n_runs=8, n_rounds=200, only=("one copy",))))
        ['unavoidable', 'rule', 'table', 'alike', 'worlds']
    """
    return {
        "unavoidable": study.unavoidable,
        "rule": RULE,
        "table": rows(study),
        "alike": {name: each._asdict() for name, each in study.alike.items()},
        "worlds": {world: curves(getattr(study, world)) for world in WORLDS},
    }


def write(study: Impossibility, folder: Path) -> list[Path]:
    """Write table.csv and figure.png; returns their paths.

    Example:
        >>> import tempfile, pathlib
        >>> from jaxonline.study.ready.impossibility import impossibility
        >>> from jaxonline.study.ready.impossibility_report import write
        >>> study = impossibility(n_runs=8, n_rounds=200, only=("one copy",))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in write(study, pathlib.Path(folder))]
        ['table.csv', 'figure.png']
    """
    written = [write_csv(folder / "table.csv", rows(study)), folder / "figure.png"]
    plot_impossibility(study).savefig(written[1], dpi=150)
    return written


def terminal_tables(study: Impossibility) -> list[Any]:
    """The table for a terminal of 80 columns, in two: regret a round, and how it grows.

    Example:
        >>> from jaxonline.study.ready.impossibility import impossibility
        >>> from jaxonline.study.ready.impossibility_report import terminal_tables
        >>> [table.row_count for table in terminal_tables(impossibility(n_runs=8, n_rounds=200, only=("one copy",)))]
        [1, 1]
    """
    found = rows(study)
    left_out = [what for what in ("failed", "overflowed") if any(row[what] for row in found)]
    result = study.with_noise
    title = f"Regret a round against linear predictors, {len(result.runs):,} runs of {result.rounds[-1]:,} rounds"
    heads = "copies", "without noise", "with noise", "larger", *(f"{what}\nruns" for what in left_out)
    regrets = _table(title, heads)
    growths = _table("Exponent of its growth", ("bound", "without\nnoise", "with\nnoise", "verdict"))
    for row, following in zip(found, [*found[1:], None], strict=True):
        last = following is not None and following["kind"] != row["kind"]
        each = [f"{row[w]:.3f} ± {(row[f'{w}_high'] - row[f'{w}_low']) / 2:.3f}" for w in WORLDS]
        cells = f"{row['copies_per_round']:.3g}", *each, f"{row['larger']:.3f}"
        regrets.add_row(row["learner"], *cells, *(str(row[what]) for what in left_out), end_section=last)
        bound = "-" if row["unavoidable"] is None else f"{row['unavoidable']:.3f}"
        powers = [_power(row, world) for world in WORLDS]
        growths.add_row(row["learner"], bound, *powers, row["verdict"], end_section=last)
    return [regrets, growths]


def _table(title: str, heads: Sequence[str]) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left", pad_edge=False)  # 80 columns
    table.add_column("learner", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="left" if head == "verdict" else "right", no_wrap=True)
    return table


def _power(row: dict[str, Any], world: str) -> str:
    exponent, low, high = (row[f"{world}_exponent{end}"] for end in ("", "_low", "_high"))
    return "-" if np.isnan(exponent) else f"{exponent:.2f} ± {(high - low) / 2:.2f}"


def sentence(name: str, alike: Alike) -> str:
    """What a learner plays in both worlds, in words.

    Example:
        >>> from jaxonline.study.ready.impossibility import Alike
        >>> from jaxonline.study.ready.impossibility_report import sentence
        >>> sentence("one copy", Alike(400, (0.2, 0.21), 0.01, -0.01, 0.03, 0.6))[:58]
        'one copy: mean hypothesis after 400 rounds 0.200 e without'
    """
    return (
        f"{name}: mean hypothesis after {alike.rounds} rounds {alike.means[0]:.3f} e without noise, "
        f"{alike.means[1]:.3f} e with; difference {alike.difference:.3f} [{alike.low:.3f}, {alike.high:.3f}], "
        f"Kolmogorov-Smirnov p = {alike.p_value:.2g}"
    )
