"""How close are the regret and mistake bounds of `jaxonline.bounds` to being reached?

    python -m benchmarks.tightness [NAME ...] [--restarts N] [--seed S] [--json FILE]

For the bounds of `CASES` the learner plays, with the prescribed step size, against the worst environment that a search
with random restarts finds in a small game. The table shows the largest fraction regret / bound. Where random numbers
are drawn, it is the mean (or, for a bound that fails with probability delta, the quantile 1 - delta) over runs with
fresh seeds. A search finds a lower limit of the largest fraction. A fraction above 1 in a game that the theorem covers
is an error.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import (
    _tightness_bandits,
    _tightness_classifiers,
    _tightness_experts,
    _tightness_kernels,
    _tightness_linear_losses,
    _tightness_squared_loss,
)
from benchmarks._tightness_search import Case, find_worst
from benchmarks._timing import machine

ROUNDING = 1e-4  # of float32, relative
MODULES = (
    _tightness_linear_losses, _tightness_squared_loss, _tightness_kernels, _tightness_experts, _tightness_classifiers,
    _tightness_bandits,
)  # fmt: skip
CASES: tuple[Callable[[], Case], ...] = tuple(make for module in MODULES for make in module.CASES)
HEAD = ("bound", "game", "regret / bound", "95 % interval", "restarts")


def name_of(case: Case) -> str:
    """Return the function of a bound."""
    return case.bound.split(",")[0]


def measure(case: Case, restarts: int, seed: int) -> dict[str, Any]:
    """Search the worst environment of a case; return a row of the table."""
    found = find_worst(case, restarts, seed)
    return {
        "bound": case.bound, "game": case.game, "covered": case.covered, "random": case.runs > 1,
        **{name: getattr(found, name) for name in ("fraction", "low", "high", "searched", "restarts")},
        "environment": [round(float(number), 5) for number in found.candidate],
    }  # fmt: skip


def exceeds(row: dict[str, Any]) -> bool:
    """Whether a bound is exceeded in a game that its theorem covers."""
    return row["covered"] and row["low"] > 1 + ROUNDING


def line(row: dict[str, Any]) -> str:
    """Return a line of the table, in Markdown, where a bar ends a cell."""
    interval = f"{row['low']:.4f} to {row['high']:.4f}" if row["random"] else ""
    game = row["game"] if row["covered"] else f"{row['game']} (not covered by the theorem)"
    game = game.replace("|", "\\|")
    restarts = ", ".join(f"{one:.3f}" for one in row["restarts"])
    mark = " (**above 1**)" if row["low"] > 1 + ROUNDING else ""
    return f"| `{row['bound']}` | {game} | {row['fraction']:.4f}{mark} | {interval} | {restarts} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = [make() for make in CASES]
    names = sorted({name_of(case) for case in cases})
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"bounds, of {', '.join(names)}; all by default")
    parser.add_argument("--restarts", type=int, default=5, help="restarts of the search")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search and of the confirmation")
    parser.add_argument("--json", type=Path, help="write the table and the environments to this file")
    options = parser.parse_args()
    for name in options.names:
        if name not in names:
            parser.error(f"NAME: must be one of {', '.join(names)} (got {name!r})")
    for option, least in (("restarts", 1), ("seed", 0)):
        if (value := getattr(options, option)) < least:
            parser.error(f"--{option}: must be at least {least} (got {value})")
    print(f"| {' | '.join(HEAD)} |\n| --- | --- | ---: | --- | --- |", flush=True)
    rows = []
    for case in cases:
        if not options.names or name_of(case) in options.names:
            rows.append(measure(case, options.restarts, options.seed))
            print(line(rows[-1]), flush=True)
    if options.json:
        text = json.dumps({"machine": machine(), "restarts": options.restarts, "seed": options.seed, "rows": rows})
        options.json.write_text(text + "\n")
    if wrong := [row["bound"] for row in rows if exceeds(row)]:
        sys.exit(f"exceeded: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
