"""Best-arm identification: errors of learners that stop, in 30 games, and stopping rounds beside the lower bound.

    python -m benchmarks.best_arm --json FILE --figure FILE    # 10,000 runs of each learner in each game
    python -m benchmarks.best_arm --learner LUCB --json FILE   # one of the learners
    python -m benchmarks.best_arm --quick

An error is a run that stops before the horizon with a wrong recommendation. Each of several equal best arms is right.
"""

import argparse
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import jaxonline as jo
from jaxonline import bounds, learners
from jaxonline.results.report.plotting import COLOURS, PAGE_WIDTH, set_log_scales, use_style, write_figure

DELTA, QUICK = 0.05, ("2 arms, best first", "2 equal arms, 0.5")
FIXED_CONFIDENCE = {  # learner, horizon, multiple of the lower bound that it has at least, if the best arm is unique
    "Track-and-Stop": (learners.TrackAndStop(DELTA), 500, 8),
    "top-two Thompson": (learners.TopTwoThompson(DELTA), 500, 8),
    "LUCB": (learners.LUCB(DELTA), 3000, 0),
    "successive elimination": (learners.SuccessiveElimination(DELTA), 3000, 0),
    "lil'UCB, delta 7e-9": (learners.LilUCB(7e-9), 3000, 0),
    "Track-and-Stop, heuristic": (learners.TrackAndStop(DELTA, threshold="heuristic"), 500, 5),
}
BUDGET = 400
FIXED_BUDGET = {
    "uniform allocation": learners.UniformAllocation(BUDGET),
    "successive rejects": learners.SuccessiveRejects(BUDGET),
    "sequential halving": learners.SequentialHalving(BUDGET),
}
THRESHOLDS = {  # mean losses that APT compares with 0.5
    "far": [0.1, 0.2, 0.8, 0.9],
    "near": [0.1, 0.4, 0.6, 0.9],
    "one side": [0.55, 0.6, 0.7, 0.8],
    "many": [0.3, 0.35, 0.4, 0.42, 0.45, 0.55, 0.58, 0.6, 0.65, 0.7],
}


def games() -> dict[str, list[float]]:
    """Return the mean losses of the arms in 30 games, by name."""
    zoo: dict[str, list[float]] = {}
    for name, best, others in (
        ("2 arms", 0.2, [0.6]),
        ("2 arms, rare losses", 0.02, [0.3]),
        ("2 arms, tiny gap", 0.45, [0.5]),
        ("4 arms", 0.2, [0.6, 0.6, 0.6]),
        ("4 arms, spread", 0.2, [0.5, 0.7, 0.9]),
        ("4 arms, tiny gap", 0.4, [0.5, 0.5, 0.5]),
        ("4 arms, frequent losses", 0.7, [0.95, 0.97, 0.99]),
        ("10 arms", 0.1, [0.6] * 9),
        ("10 arms, spread", 0.1, np.linspace(0.45, 0.9, 9).tolist()),
    ):
        for place, where in {len(others) // 2: "middle", 0: "first", len(others): "last"}.items():
            zoo[f"{name}, best {where}"] = [*others[:place], best, *others[place:]]
    zoo |= {f"{K} equal arms, {mean}": [mean] * K for K, mean in ((2, 0.5), (2, 0.1), (4, 0.5), (10, 0.5))}
    zoo["2 equal best of 4"], zoo["9 equal best of 10"] = [0.3, 0.3, 0.8, 0.8], [0.4] * 9 + [0.8]
    return zoo


def play(means: list[float], learner: Any, n_runs: int, n_rounds: int, *measures: Any) -> list[np.ndarray]:
    """Return the values of the measures after the last round [n_runs]."""
    arms = jo.environments.BernoulliArms(np.array(means, np.float32))
    game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
    sizes = {"n_runs": n_runs, "n_rounds": n_rounds, "record_at": [n_rounds], "key": 1, "block_size": 128}
    result = jo.simulate(game, learner, measures=measures, **sizes)
    return [result.measures[measure.name][0, :, 0] for measure in measures]


def interval(errors: np.ndarray) -> tuple[float, float, float]:
    """Return the share of errors with its Clopper-Pearson interval of level 95 %."""
    share = stats.binomtest(int(errors.sum()), len(errors)).proportion_ci(0.95, "exact")
    return float(errors.mean()), float(share.low), float(share.high)


def measure(learner: str, name: str, n_runs: int, quick: bool) -> dict[str, Any]:
    """Return the entry of a learner with a fixed confidence in a game.

    The horizon is halved if the best arm is not unique.
    """
    (policy, horizon, multiple), means = FIXED_CONFIDENCE[learner], games()[name]
    bits = (1 - 2 * DELTA) * math.log((1 - DELTA) / DELTA)  # kl(delta, 1 - delta)
    limit = bounds.characteristic_time(means) * bits if means.count(min(means)) == 1 else None
    horizon = 200 if quick else max(horizon, math.ceil(multiple * limit)) if limit else horizon // 2
    stopping, wrong = play(means, policy, n_runs, horizon, jo.StoppingRound(), jo.WrongRecommendation())
    stopped = np.isfinite(stopping)
    entry = {"game": name, "learner": learner, "means": means, "horizon": horizon, "lower_bound": limit}
    rounds = float(stopping.clip(max=horizon).mean()) if stopped.mean() > 0.99 else None
    numbers = {"error": interval(stopped & (wrong > 0)), "stopped": float(stopped.mean()), "rounds": rounds}
    print(learner, name, numbers["error"], file=sys.stderr, flush=True)
    return entry | numbers


def confidence_table(entries: list[dict[str, Any]]) -> list[str]:
    """Return a row for each learner: the largest error over games, and rounds beside the lower bound."""
    head = "learner | largest error | in the game | games above 0.05 | stops if arms are equal | rounds / lower bound"
    lines = [f"| {head} |", "| --- | --- | --- | ---: | --- | --- |"]
    for learner in FIXED_CONFIDENCE:
        rows = [entry for entry in entries if entry["learner"] == learner]
        if not rows:
            continue
        worst = max(rows, key=lambda row: row["error"][0])
        above = sum(row["error"][1] > DELTA for row in rows)
        ratios = [row["rounds"] / row["lower_bound"] for row in rows if row["rounds"] and row["lower_bound"]]
        equal = max(row["stopped"] for row in rows if min(row["means"]) == max(row["means"]))
        spread = f"{min(ratios):.1f} to {max(ratios):.1f} ({len(ratios)} games)" if ratios else ""
        lines.append(f"| {learner} | {show(worst['error'])} | {worst['game']} | {above} | {equal:.4f} | {spread} |")
    return lines


def budget_table(n_runs: int, quick: bool) -> list[str]:
    """Return the errors of learners with a fixed budget."""
    zoo, lines = games(), [f"| game | {' | '.join(FIXED_BUDGET)} | bound of successive rejects |",
                           f"| --- | {' | '.join('---' for _ in FIXED_BUDGET)} | ---: |"]  # fmt: skip
    names = ("4 arms, tiny gap", "4 arms, frequent losses", "10 arms", "10 arms, spread")
    for name in names[:1] if quick else names:
        means = np.array(zoo[f"{name}, best middle"])
        errors = [play(means.tolist(), policy, n_runs, BUDGET, jo.WrongRecommendation())[0]
                  for policy in FIXED_BUDGET.values()]  # fmt: skip
        bound = bounds.successive_rejects(means - means.min(), BUDGET)
        lines.append(f"| {name} | {' | '.join(show(interval(error)) for error in errors)} | {bound:.3g} |")
    return lines


def threshold_table(n_runs: int, quick: bool) -> list[str]:
    """Return the errors of APT after three budgets."""
    budgets = (50,) if quick else (100, 200, 400)
    lines = [f"| arms | {' | '.join(f'{budget} pulls' for budget in budgets)} |",
             f"| --- | {' | '.join('---' for _ in budgets)} |"]  # fmt: skip
    for name, means in list(THRESHOLDS.items())[: 1 if quick else None]:
        errors = [play(means, learners.APT(budget, 0.5), n_runs, budget, jo.WrongSides())[0] for budget in budgets]
        lines.append(f"| {name} | {' | '.join(show(interval(error)) for error in errors)} |")
    return lines


def show(error: tuple[float, float, float]) -> str:
    """Return a share and its interval."""
    return f"{error[0]:.4f} ({error[1]:.4f} to {error[2]:.4f})"


@use_style("paper")
def draw(entries: list[dict[str, Any]], path: Path) -> None:
    """Draw mean stopping rounds against the lower bound T* kl(delta, 1 - delta)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE_WIDTH, 0.6 * PAGE_WIDTH), layout="constrained")
    axes = figure.subplots()
    for learner, marker, colour in zip(FIXED_CONFIDENCE, "osD^vx", COLOURS[:6], strict=True):
        rows = [row for row in entries if row["learner"] == learner and row["rounds"] and row["lower_bound"]]
        points = [row["lower_bound"] for row in rows], [row["rounds"] for row in rows]
        axes.plot(*points, marker, color=colour, mfc="none", label=learner)
    limits = [row["lower_bound"] for row in entries if row["lower_bound"] and row["rounds"]]
    ends = [min(limits, default=1), max(limits, default=1)]
    axes.plot(ends, ends, color="0.3", lw=0.8, label="lower bound")
    axes.set_xlabel("lower bound T* kl(delta, 1 - delta)")
    axes.set_ylabel("mean stopping round")
    set_log_scales(axes)
    axes.legend(loc="upper center", fontsize=7)
    write_figure(figure, path)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables; write the numbers and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two games and 64 runs")
    names = list(FIXED_CONFIDENCE)
    parser.add_argument("--learner", nargs="*", choices=names, default=names, help="learners with a fixed confidence")
    parser.add_argument("--json", type=Path, help="file for the numbers; games that are in it are not played again")
    parser.add_argument("--figure", type=Path, help="file for the figure")
    options = parser.parse_args(arguments)
    size = 64 if options.quick else 10_000, options.quick
    entries = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    known = {(entry["learner"], entry["game"]) for entry in entries}
    for learner, name in itertools.product(options.learner, QUICK if options.quick else games()):
        if (learner, name) not in known:
            entries.append(measure(learner, name, *size))
            if options.json:
                options.json.write_text(json.dumps(entries, indent=1) + "\n")
    if options.figure:
        draw(entries, options.figure)
    tables = [confidence_table(entries)]
    tables += [budget_table(*size), threshold_table(*size)] if options.learner == list(FIXED_CONFIDENCE) else []
    print("\n\n".join("\n".join(lines) for lines in tables))


if __name__ == "__main__":
    main()
