"""How fast must arms change until adapting pays? `python -m benchmarks.changing_arms` prints the tables of the page.

Regret against the best arm of each round, for policies that know the number of changes and for policies that do not.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

import jaxonline as jo
from jaxonline import learners

CHANGES = 0, 1, 4, 16, 64  # in T rounds
STEPS = 0, 0.001, 0.01, 0.1  # of the random walks of drifting arms
MARKOV_AND_ROTTING = "UCB1", "Thompson", "SW-UCB, unknown", "D-TS, unknown", "GLR-klUCB, unknown"
N_ARMS, GAP = 3, 0.4
SEED = 1
BEST = jo.comparators.BestOfEachRound()


def switching_arms(n_changes: int, n_rounds: int) -> jo.environments.SwitchingArms:
    """Return arms whose best one changes `n_changes` times; all of these have the same shapes."""
    segments = max(CHANGES) + 1
    best = np.arange(segments) * (n_changes + 1) // segments % N_ARMS
    means = np.where(np.arange(N_ARMS) == best[:, None], 0.5 - GAP / 2, 0.5 + GAP / 2)
    return jo.environments.SwitchingArms(means, 1 + np.arange(1, segments) * n_rounds // segments)


def tuned(n_changes: int, T: int) -> dict[str, jo.Learner]:
    """Return the policies that know the number of changes; with no change they are tuned for one."""
    C = max(1, n_changes)
    discount, window = 1 - math.sqrt(C / T) / 4, max(N_ARMS, round(2 * math.sqrt(T * math.log(T) / C)))
    # M-UCB compares halves of a window of w losses. In this one a change makes their sums differ by GAP w / 2 in
    # expectation, more than twice the threshold sqrt(w ln(2 K T^2) / 2) (from memory of the paper, not checked).
    noise = math.sqrt(math.log(2 * N_ARMS * T**2)) + math.sqrt(math.log(2 * T))
    halves = 2 * round(2 * (noise / GAP) ** 2)
    return {
        "D-UCB": learners.DiscountedUCB(discount),
        "D-TS": learners.DiscountedThompson(discount),
        "SW-UCB": learners.SlidingWindowUCB(window),
        "SW-TS": learners.SlidingWindowThompson(window),
        "EXP3.S": learners.EXP3S.over_horizon(N_ARMS, T, n_changes),
        "Rexp3": learners.Restarting.rexp3(N_ARMS, T, C * GAP),
        "CUSUM-UCB": learners.CUSUMUCB.over_horizon(T, C, warmup=20),
        "M-UCB": learners.MonitoredUCB.over_horizon(N_ARMS, T, C, window=halves),
        "GLR-klUCB": learners.GLRKLUCB.over_horizon(T, C),
    }


def study(n_runs: int, n_rounds: int) -> dict[str, dict[str, np.ndarray]]:
    """Return, for each kind of arms and each policy, the mean regrets with the half-widths of their 95 % intervals."""
    unknown = tuned(1, n_rounds) | {"EXP3.S": learners.EXP3S.over_horizon(N_ARMS, n_rounds)}
    static = {"UCB1": learners.UCB1(), "KL-UCB": learners.KLUCB(), "Thompson": learners.BernoulliThompson()}
    fixed = static | {f"{name}, unknown": learner for name, learner in unknown.items()}

    def regrets(
        environment: jo.Environment, policies: dict[str, jo.Learner], comparator: Any = BEST
    ) -> dict[str, tuple[float, float]]:
        game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
        options = {"n_runs": n_runs, "n_rounds": n_rounds, "key": SEED, "record_at": 1, "progress": False}
        result = jo.simulate(game, policies, comparator=comparator, **options)
        runs = result.values("regret")[:, :, -1]
        widths = 1.96 * runs.std(axis=1, ddof=1) / math.sqrt(n_runs)
        return dict(zip(result.learners, zip(runs.mean(axis=1), widths, strict=True), strict=True))

    switching = [regrets(switching_arms(m, n_rounds), fixed | tuned(m, n_rounds)) for m in CHANGES]
    drifting = [regrets(jo.environments.DriftingArms([0.3, 0.5, 0.7], step=step), fixed) for step in STEPS]
    few = {name: fixed[name] for name in MARKOV_AND_ROTTING}
    n = np.minimum(np.arange(n_rounds // 4 + 1)[:, None] / (n_rounds // 4), 1.0)
    rotting = [0.2, 0.3, 0.4] + 0.5 * n  # after each number of pulls
    stay = 1 - 1 / 1000
    chains = jo.environments.RestlessArms([[0.3] * N_ARMS, [0.7] * N_ARMS], [[stay, 1 - stay], [1 - stay, stay]])
    others = [
        regrets(jo.environments.RestedArms(rotting), few, jo.comparators.BestPulls(rotting)),
        regrets(chains, few),
    ]
    columns = {"switching": switching, "drifting": drifting, "others": others}
    return {kind: {name: np.array([row[name] for row in rows]) for name in rows[0]} for kind, rows in columns.items()}


def table(rows: dict[str, np.ndarray], head: tuple[Any, ...], title: str) -> str:
    """Return a table in Markdown; the smallest regret of a column is bold."""
    best = np.min(list(rows.values()), axis=0)[:, 0]
    lines = [f"| {title} | {' | '.join(map(str, head))} |", "| --- " + "| ---: " * len(head) + "|"]
    for name, regrets in rows.items():
        cells = (
            f"**{r:.0f}** ± {width:.0f}" if r == least else f"{r:.0f} ± {width:.0f}"
            for (r, width), least in zip(regrets, best, strict=True)
        )  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(rows: dict[str, np.ndarray], path: Path) -> None:
    """Draw the regret against the number of changes: on the left without knowing this number, on the right with it."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
    adaptive = [name.removesuffix(", unknown") for name in rows if name.endswith(", unknown")]
    static = [name for name in rows if name not in adaptive and not name.endswith(", unknown")]
    for axes, suffix, title in zip(panels, (", unknown", ""), ("unknown", "known"), strict=True):
        for name, line in zip(static, ("-", "--", ":"), strict=True):
            axes.plot(range(len(CHANGES)), rows[name][:, 0], line, color="black", label=name)
        for i, name in enumerate(adaptive):
            axes.plot(range(len(CHANGES)), rows[name + suffix][:, 0], ".-", color=f"C{i}", label=name)
        axes.set(xticks=range(len(CHANGES)), xticklabels=CHANGES, yscale="log", xlabel="changes")
        axes.set_title(f"number of changes {title}")
    panels[0].set_ylabel("dynamic regret")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(path)


def main() -> None:
    """Print the tables, and draw the figure if a file is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--figure", type=Path, help="file of the figure, such as changing-arms.png")
    arguments = parser.parse_args()
    results = study(arguments.runs, arguments.rounds)
    print(table(results["switching"], CHANGES, "changes"))
    print()
    print(table(results["drifting"], STEPS, "step of the random walk"))
    print()
    print(table(results["others"], ("rotting arms", "Markov arms"), "policy"))
    if arguments.figure is not None:
        draw(results["switching"], arguments.figure)


if __name__ == "__main__":
    main()
