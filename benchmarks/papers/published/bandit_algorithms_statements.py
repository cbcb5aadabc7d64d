"""Statements of "Bandit Algorithms" (Lattimore and Szepesvari 2020) on the measured regrets."""

from collections.abc import Mapping

import numpy as np

from benchmarks.papers.published.bandit_algorithms_runs import (
    ASYMPTOTIC,
    COMMITMENTS,
    MINIMAX,
    THOMPSON,
    TUNED,
    UCB,
    Regrets,
)
from benchmarks.papers.published.explore_then_commit import (
    best_commitment,
    commitment,
    commitment_bound,
    expected_regret,
)
from benchmarks.papers.published.statements import Statement

UNIVERSAL_AT = {25: 0.3, 50: 1.0, 75: 1.0, 100: 1.0}  # the gap at which UCB is compared with ETC, by m
PUBLISHED_THOMPSON = 29.9  # experiment 36.1, mean of 100,000 runs
TOLERANCE = 0.05
LARGE_K = 60  # section 9.2: from here on the leading terms give MOSS more regret, 0.8 k^2 against about 12 k ln k

ByGap = Mapping[float, Regrets]


def book_statements(n_rounds: int, by_gap: ByGap, by_arms: Mapping[int, Regrets], thompson: Regrets) -> list[Statement]:
    """Return the statements, with the regrets of `bandit_algorithms_runs`."""
    return [
        *_explore_then_commit(n_rounds, by_gap),
        *_universality(n_rounds, by_gap),
        Statement(
            "Chapter 8", "The asymptotically optimal UCB has less regret than the UCB of chapter 7.", "memory",
            "difference of the regrets, mean over all gaps",
            {"": _mean(by_gap, ASYMPTOTIC) - _mean(by_gap, UCB)}, high=0.0,
        ),
        Statement(
            "Theorem 8.1", "The regret divided by ln n tends to 2 / gap.", "formula",
            reason="A limit cannot be checked at one horizon.",
        ),
        Statement(
            "Theorem 9.1", "The regret of MOSS is at most 38 sqrt(kn) + gap at every gap.", "text", "regret / bound",
            {f"gap {gap:g}": runs[MINIMAX] / (38 * (2 * n_rounds) ** 0.5 + gap) for gap, runs in by_gap.items()},
            high=1.0,
        ),
        _many_arms(by_arms),
        *_thompson(thompson),
    ]  # fmt: skip


def _many_arms(by_arms: Mapping[int, Regrets]) -> Statement:
    place = "Section 9.2"
    claim = "For large k MOSS has more regret than the UCB of chapter 8 if n = k^3 and all arms but two are much worse."
    k = max(by_arms)
    if k <= LARGE_K:
        reason = f"By the leading terms of both regrets k must exceed {LARGE_K}; the largest k played is {k}."
        return Statement(place, claim, "text", reason=reason)
    values = {f"k = {k}": by_arms[k][MINIMAX] - by_arms[k][ASYMPTOTIC]}
    return Statement(place, claim, "text", "difference of the regrets, MOSS - UCB", values, low=0.0)


def _explore_then_commit(n_rounds: int, by_gap: ByGap) -> list[Statement]:
    exact = np.mean([expected_regret(gap, commitment(gap, n_rounds), n_rounds) for gap in by_gap])
    shares = {f"gap {gap:g}": runs[TUNED] / commitment_bound(gap, n_rounds) for gap, runs in by_gap.items()}
    return [
        Statement(
            "Figure 6.1", "The regret of ETC with m of (6.5) is that of its closed form (we allow 5 %).", "formula",
            "mean regret over all gaps / closed form", {"": _mean(by_gap, TUNED) / exact},
            low=1 - TOLERANCE, high=1 + TOLERANCE,
        ),
        Statement(
            "Figure 6.1", "The regret of ETC with m of (6.5) is below the bound (6.6) at every gap.", "text",
            "regret / bound", shares, high=1.0,
        ),
        Statement(
            "Figure 6.1", "The bound (6.6) is close to the regret (we read: at most three times as large).", "text",
            "regret / bound", shares, low=1 / 3,
        ),
    ]  # fmt: skip


def _universality(n_rounds: int, by_gap: ByGap) -> list[Statement]:
    statements = []
    for name, m in COMMITMENTS.items():
        gap = min(by_gap, key=lambda gap, m=m: abs(gap - UNIVERSAL_AT[m]))
        statements.append(
            Statement(
                "Figure 7.1", f"UCB has less regret than ETC with m = {m} at some gap.", "text",
                "difference of the regrets, UCB - ETC", {f"gap {gap:g}": by_gap[gap][UCB] - by_gap[gap][name]},
                high=0.0,
            )
        )  # fmt: skip
    optimal = np.mean([expected_regret(gap, best_commitment(gap, n_rounds), n_rounds) for gap in by_gap])
    statements.append(
        Statement(
            "Figure 7.1", "ETC with the optimal m, which depends on the gap, has less regret than UCB.", "memory",
            "mean regret of UCB over all gaps / closed form of ETC", {"": _mean(by_gap, UCB) / optimal}, low=1.0,
        )
    )  # fmt: skip
    return statements


def _thompson(regrets: Regrets) -> list[Statement]:
    return [
        Statement(
            "Experiment 36.1", "The regret of Thompson sampling is 29.9 (we allow 5 %).", "text", "regret",
            {"": regrets[THOMPSON]}, low=PUBLISHED_THOMPSON * (1 - TOLERANCE),
            high=PUBLISHED_THOMPSON * (1 + TOLERANCE),
        ),
        Statement(
            "Experiment 36.1", "Thompson sampling has less regret than the UCB of chapter 7.", "text",
            "difference of the regrets, Thompson sampling - UCB", {"": regrets[THOMPSON] - regrets[UCB]}, high=0.0,
        ),
        Statement(
            "Experiment 36.1", "The regret of AdaUCB is 23.8, and its second moment is smaller than that of Thompson "
            "sampling.", "text", reason="AdaUCB is not in this package.",
        ),
    ]  # fmt: skip


def _mean(by_gap: ByGap, name: str) -> np.ndarray:
    """Return the mean over all gaps of the regrets of a learner [R]."""
    return np.mean([regrets[name] for regrets in by_gap.values()], axis=0)
