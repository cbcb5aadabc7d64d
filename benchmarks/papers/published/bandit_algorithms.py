"""Figures of "Bandit Algorithms" (Lattimore and Szepesvari 2020): explore-then-commit, UCB, MOSS, Thompson sampling."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import special

import jaxonline as jo
from benchmarks.papers.published import statements as published
from benchmarks.papers.published.statements import Regrets, Statement
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Items, Positive, Study
from jaxonline.results.report.plotting import COLOURS, bound_look, set_log_scale
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.study import Context, Report

TUNED = "ETC, m of (6.5)"
COMMITMENTS = {f"ETC, m = {m}": m for m in (25, 50, 75, 100)}
UCB, ASYMPTOTIC, MINIMAX, THOMPSON = "UCB, delta = 1/n²", "UCB, f(t) = 1 + t ln² t", "MOSS", "Thompson sampling"
THOMPSON_GAP, THOMPSON_ROUNDS = 0.2, 2000  # experiment 36.1
UNIVERSAL_AT = {25: 0.3, 50: 1.0, 75: 1.0, 100: 1.0}  # the gap at which UCB is compared with ETC, by m
PUBLISHED_THOMPSON = 29.9  # experiment 36.1, mean of 100,000 runs
LARGE_K = 60  # section 9.2: from here on the leading terms give MOSS more regret, 0.8 k^2 against about 12 k ln k
STYLES = dict(zip((UCB, ASYMPTOTIC, MINIMAX, THOMPSON), ((COLOURS[i], "-") for i in (0, 1, 3, 4)), strict=True))
COLUMNS = Text("learner"), Interval("regret", "regret\n(95 %)", "{:.2f}")
GAP_COLUMNS = Number("gap"), *COLUMNS, Number("exact", "closed\nform", "{:.2f}")


class BanditAlgorithms(Study):
    """Regret against the gap of two Gaussian arms (chapters 6 to 9), and the games of sections 9.2 and 36.2.

    The losses are Gaussian with variance 1. The closed form of the regret of explore-then-commit checks the simulation.
    """

    title: ClassVar[str] = "Figures of Bandit Algorithms (Lattimore and Szepesvari 2020), and what agrees."
    runs: int = Field(4000, ge=2, le=1_000_000, description="Runs of each learner for each gap.")
    rounds: int = Field(1000, ge=300, le=10_000_000, description="The horizon n of the figures against the gap.")
    gaps: Positive = Field(
        (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0), min_length=2, description="Gaps between the two arms."
    )
    arms: Annotated[tuple[Annotated[int, Field(ge=3, le=1000)], ...], Items] = Field(
        (5, 10, 20), min_length=2, description="Numbers of arms k of section 9.2 (n = k^3)."
    )
    thompson_runs: int = Field(20_000, ge=2, le=1_000_000, description="Runs of the experiment of section 36.2.")

    def run(self, context: Context) -> Report:
        with context.parts(3) as part:
            by_gap = regrets_by_gap(part("gaps"), self.gaps, self.runs, self.rounds)
            by_arms = many_arms_regrets(part("many arms"), self.arms, self.runs)
            thompson = thompson_regrets(part("Thompson sampling"), self.thompson_runs)
        statements = book_statements(self.rounds, by_gap, by_arms, thompson)
        verdicts = published.statements_table("Statements of the book", statements)
        gaps, arms = self.rows(by_gap), _regret_rows("arms", by_arms)
        means = _regret_rows("gap", {THOMPSON_GAP: thompson})
        tables = {
            "statements": verdicts,
            "gaps": Table(f"{self.runs:,} runs of {self.rounds:,} rounds, two arms", gaps, GAP_COLUMNS),
            "arms": Table("n = k^3 rounds, section 9.2", arms, (Number("arms"), *COLUMNS)),
            "thompson": Table("2,000 rounds, means 1/5 and 0, section 36.2", means, COLUMNS),
        }
        return Report(
            tables,
            {"figure": lambda: self.plot(gaps, arms, thompson)},
            published.verdict_sentences(verdicts.rows),
            shown=[tables[name] for name in ("statements", "arms", "thompson")],
        )

    def rows(self, by_gap: Mapping[float, Regrets]) -> list[dict[str, Any]]:
        """Return the rows by gap and learner, with the closed form of the regret of explore-then-commit."""
        rows = _regret_rows("gap", by_gap)
        for row in rows:
            pulls = commitment(row["gap"], self.rounds) if row["learner"] == TUNED else COMMITMENTS.get(row["learner"])
            row["exact"] = None if pulls is None else expected_regret(row["gap"], pulls, self.rounds)
        best = [(gap, best_commitment(gap, self.rounds)) for gap in self.gaps]
        rows += [
            {"gap": gap, "learner": f"ETC, optimal m = {m}", "exact": expected_regret(gap, m, self.rounds)}
            | dict.fromkeys(("regret", "regret_low", "regret_high"))
            for gap, m in best
        ]
        return sorted(rows, key=lambda row: row["gap"])

    @figures.paper_style
    def plot(self, gaps: list[dict[str, Any]], arms: list[dict[str, Any]], thompson: Regrets) -> Any:
        """Draw the regrets with 95 % intervals; lines without dots are closed forms and bounds."""
        title = "Bandit Algorithms (Lattimore and Szepesvari 2020): Gaussian arms with variance 1"
        figure, panels = figures.panels(2, 3, 4.7, title)
        first, second, third, fourth, fifth, last = panels.ravel()
        fine, n = np.linspace(0.02, max(self.gaps), 197), self.rounds

        def closed_form(axes: Any, pulls: Any, label: str, **line: Any) -> None:
            axes.plot(fine, [expected_regret(gap, pulls(gap), n) for gap in fine], label=label, **line)

        def simulated(axes: Any, rows: list[dict[str, Any]], x: str, name: str, **line: Any) -> None:
            own = [row for row in rows if row["learner"] == name]
            look = figures.look_of(name, STYLES) if name in STYLES else {}
            look.pop("markevery", None)
            figures.plot_rows(axes, own, x, "regret", **{**look, "label": name} | line)

        first.plot(fine, [commitment_bound(gap, n) for gap in fine], color="0.25", **bound_look(), label="bound (6.6)")
        closed_form(first, lambda gap: commitment(gap, n), "ETC, closed form", color="0.25")
        simulated(first, gaps, "gap", TUNED, color="0.25", ls="none", label="ETC, simulated")
        for (name, m), grey in zip(COMMITMENTS.items(), ("0.75", "0.6", "0.4", "0.2"), strict=True):
            closed_form(second, lambda _, m=m: m, name, color=grey)
            simulated(second, gaps, "gap", name, color=grey, ls="none", label=None)
        best = {"color": "black", "ls": ":"}
        closed_form(second, lambda gap: best_commitment(gap, n), "ETC, optimal m", **best)
        simulated(second, gaps, "gap", UCB)
        for name in STYLES:
            simulated(third, gaps, "gap", name)
        for name in (ASYMPTOTIC, MINIMAX):
            simulated(fourth, arms, "arms", name)
        for name, values in thompson.items():
            share = 1.0 - np.arange(len(values)) / len(values)
            look = figures.look_of(name, STYLES)
            fifth.plot(np.sort(values), share, **look, label=name)
            fifth.axvline(float(values.mean()), color=look["color"], lw=0.8, ls="--", label="its mean")
        fifth.plot(PUBLISHED_THOMPSON, 1.0, "*", color="black", ms=6, clip_on=False, label="mean in the book")
        titles = (
            f"Figure 6.1: ETC, n = {n:,}", f"Figure 7.1: UCB and ETC, n = {n:,}",
            f"Chapters 7, 8, 9 and 36, n = {n:,}", "Section 9.2: n = k³, one close arm",
        )  # fmt: skip
        for axes, name in zip((first, second, third, fourth), titles, strict=True):
            figures.finish(axes, "arms k" if axes is fourth else "gap", "regret", name)
            axes.set_ylim(0, 110 if axes is second else None)
        figures.finish(fifth, "regret", "share of runs above", "Experiment 36.1: gap 0.2, n = 2,000")
        set_log_scale(fifth, "y")
        fourth.set_xticks(self.arms)
        figures.legend_in(last, third, first, second, fourth, fifth)
        return figure


# ---------------------------------------------------------------------------------------------------------------------
# Explore-then-commit on two Gaussian arms of variance 1


def expected_regret(gap: float, pulls_each: int, n_rounds: int) -> float:
    """Return the expected regret of explore-then-commit on two Gaussian arms of variance 1, in closed form.

    After m pulls of each arm the difference of the means is normal with variance 2 / m. So the learner commits to the
    worse arm with probability Phi(-gap sqrt(m / 2)). The regret is m gap + (n - 2 m) gap times this probability.

    Example:
        >>> from benchmarks.papers.published.bandit_algorithms import expected_regret
        >>> round(expected_regret(0.5, 25, 1000), 2)  # 12.5 + 475 Phi(-1.7678)
        30.81
    """
    wrong = float(special.ndtr(-gap * math.sqrt(pulls_each / 2)))
    return gap * (pulls_each + (n_rounds - 2 * pulls_each) * wrong)


def commitment(gap: float, n_rounds: int) -> int:
    """Return m of equation (6.5): the smallest integer at least 4 / gap^2 ln(n gap^2 / 4), and at least 1.

    Example:
        >>> from benchmarks.papers.published.bandit_algorithms import commitment
        >>> commitment(0.1, 1000), commitment(1.0, 1000), commitment(0.01, 1000)
        (367, 23, 1)
    """
    return max(1, math.ceil(4 / gap**2 * math.log(n_rounds * gap**2 / 4)))


def commitment_bound(gap: float, n_rounds: int) -> float:
    """Return the bound (6.6): min(n gap, gap + 4 / gap (1 + max(0, ln(n gap^2 / 4)))).

    Example:
        >>> from benchmarks.papers.published.bandit_algorithms import commitment_bound
        >>> round(commitment_bound(0.1, 1000), 2), commitment_bound(0.01, 1000)
        (76.75, 10.0)
    """
    return min(n_rounds * gap, gap + 4 / gap * (1 + max(0.0, math.log(n_rounds * gap**2 / 4))))


def best_commitment(gap: float, n_rounds: int) -> int:
    """Return the m from 1 to n / 2 with the least expected regret.

    Example:
        >>> from benchmarks.papers.published.bandit_algorithms import best_commitment
        >>> best_commitment(1.0, 1000)
        14
    """
    m = np.arange(1, n_rounds // 2 + 1)
    wrong = special.ndtr(-gap * np.sqrt(m / 2))
    return int(m[np.argmin(m + (n_rounds - 2 * m) * wrong)])


# ---------------------------------------------------------------------------------------------------------------------
# Simulations


def gaussian_policies(n_rounds: int) -> dict[str, Any]:
    """Return the policies of chapters 7, 8, 9 and 36 for Gaussian losses of variance 1.

    The prior of Thompson sampling is flat, and each arm is pulled first, as in Theorem 36.3.
    """
    return {
        UCB: jo.learners.FixedConfidenceUCB.over_horizon(n_rounds),
        ASYMPTOTIC: jo.learners.AsymptoticUCB(),
        MINIMAX: jo.learners.MOSS(n_rounds, exploration=4.0),
        THOMPSON: jo.learners.GaussianThompson(1.0, prior_std=None),
    }


def regrets_by_gap(context: Context, gaps: Sequence[float], runs: int, rounds: int) -> dict[float, Regrets]:
    """Return by gap the regrets of explore-then-commit and of the policies, on arms with mean losses 0 and gap."""
    regrets = {}
    with context.parts(len(gaps)) as part:
        for gap in gaps:
            pulls = {TUNED: commitment(gap, rounds), **COMMITMENTS}
            commitments = jo.sweep({name: jo.learners.ExploreThenCommit(float(m)) for name, m in pulls.items()})
            learners = {"ETC": commitments, **gaussian_policies(rounds)}
            values = _final_regrets(part(f"gap {gap:g}"), [0.0, gap], learners, runs, rounds)
            regrets[gap] = dict(zip((*pulls, *list(learners)[1:]), values, strict=True))
    return regrets


def many_arms_regrets(context: Context, arms: Sequence[int], runs: int) -> dict[int, Regrets]:
    """Return by k the regrets of the UCB of chapter 8 and of MOSS in section 9.2.

    There are n = k^3 rounds, and the mean losses are 0, sqrt(k / n) and k - 2 times 1.
    """
    regrets = {}
    with context.parts(len(arms)) as part:
        for k in arms:
            rounds = k**3
            learners = {name: gaussian_policies(rounds)[name] for name in (ASYMPTOTIC, MINIMAX)}
            means = [0.0, (k / rounds) ** 0.5, *[1.0] * (k - 2)]
            values = _final_regrets(part(f"k = {k}"), means, learners, max(2, runs // 10), rounds)
            regrets[k] = dict(zip(learners, values, strict=True))
    return regrets


def thompson_regrets(context: Context, runs: int) -> Regrets:
    """Return the regrets of UCB and Thompson sampling in experiment 36.1: means 1/5 and 0 and 2,000 rounds."""
    learners = {name: gaussian_policies(THOMPSON_ROUNDS)[name] for name in (UCB, THOMPSON)}
    values = _final_regrets(context, [0.0, THOMPSON_GAP], learners, runs, THOMPSON_ROUNDS)
    return dict(zip(learners, values, strict=True))


def _final_regrets(context: Context, means: list[float], learners: dict[str, Any], runs: int, rounds: int) -> Any:
    """Return the pseudo-regrets at the horizon [learners, runs]."""
    result = published.play(context, jo.environments.GaussianArms(means), learners, runs, rounds, record_at=[rounds])
    return np.asarray(result.regret[..., -1])


def _regret_rows(key: str, regrets: Mapping[Any, Regrets]) -> list[dict[str, Any]]:
    rows = []
    for value, by_learner in regrets.items():
        estimate = mean_over_runs(np.stack(list(by_learner.values())))
        for i, name in enumerate(by_learner):
            ends = {"regret_low": float(estimate.low[i]), "regret_high": float(estimate.high[i])}
            rows.append({key: value, "learner": name, "regret": float(estimate.mean[i])} | ends)
    return rows


# ---------------------------------------------------------------------------------------------------------------------
# Statements


def book_statements(
    n_rounds: int, by_gap: Mapping[float, Regrets], by_arms: Mapping[int, Regrets], thompson: Regrets
) -> list[Statement]:
    """Return the statements of the book with the measured regrets."""

    def mean(name: str) -> np.ndarray:
        return np.mean([regrets[name] for regrets in by_gap.values()], axis=0)

    def mean_exact(pulls: Any) -> Any:
        return np.mean([expected_regret(gap, pulls(gap, n_rounds), n_rounds) for gap in by_gap])

    values = {
        "closed-form": {"": mean(TUNED) / mean_exact(commitment)},
        "below-bound": {f"gap {gap:g}": runs[TUNED] / commitment_bound(gap, n_rounds) for gap, runs in by_gap.items()},
        "optimal": {"": mean(UCB) / mean_exact(best_commitment)},
        "asymptotic": {"": mean(ASYMPTOTIC) - mean(UCB)},
        "minimax": {f"gap {gap:g}": runs[MINIMAX] / (38 * (2 * n_rounds) ** 0.5 + gap) for gap, runs in by_gap.items()},
        "thompson": {"": thompson[THOMPSON]},
        "thompson-ucb": {"": thompson[THOMPSON] - thompson[UCB]},
    }
    values["close-to-bound"] = values["below-bound"]
    for name, m in COMMITMENTS.items():
        gap = min(by_gap, key=lambda gap, m=m: abs(gap - UNIVERSAL_AT[m]))
        values[f"universal-{m}"] = {f"gap {gap:g}": by_gap[gap][UCB] - by_gap[gap][name]}
    if (k := max(by_arms)) > LARGE_K:
        values["many-arms"] = {f"k = {k}": by_arms[k][MINIMAX] - by_arms[k][ASYMPTOTIC]}
    return published.read_statements("book", values)
