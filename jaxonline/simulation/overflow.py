"""Warnings of runs that are excluded from the means: diverged runs, and runs in which a learner's storage overflows."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import DivergedRunsWarning, OverflowWarning

LIKELY_PROBABILITY = 0.01  # of overflow in one run


def overflow_probabilities(learners: Mapping[str, Any], n_rounds: int) -> dict[str, float]:
    """Return the probability that a run overflows, by name, for learners that declare this probability."""
    by_name = {}
    for name, learner in learners.items():
        probability = learner.overflow_probability(n_rounds)
        if probability is not None:
            by_name[name] = check.number(f"overflow_probability of {name!r}", float(probability), ge=0.0, le=1.0)
    return by_name


def warn_of_likely_overflow(learners: Mapping[str, object], probabilities: Mapping[str, float], n_rounds: int) -> None:
    """Warn of all learners that overflow with a probability above 1 %."""
    likely = {name: probability for name, probability in probabilities.items() if probability > LIKELY_PROBABILITY}
    facts = (f"{name!r} with probability {probability:.2g}" for name, probability in likely.items())
    headline = f"a run of {n_rounds:,} rounds may run out of storage, and is then excluded from the means"
    _warn(learners, likely, headline, facts)


def warn_of_overflow(learners: Mapping[str, object], overflowed: np.ndarray, n_runs: int) -> None:
    """Warn of all learners with runs that overflowed; `overflowed` counts these runs per learner."""
    counts = {name: int(n) for name, n in zip(learners, overflowed, strict=True) if n}
    facts = (f"{name!r} in {n:,} of {n_runs:,} runs" for name, n in counts.items())
    _warn(learners, counts, "runs that ran out of storage are excluded from the means", facts)


def warn_of_divergence(
    learners: Mapping[str, object], first_nonfinite: np.ndarray, max_copies: Mapping[str, int | None]
) -> None:
    """Warn of learners with NaN or infinite losses; `first_nonfinite` [L, R] is the first round with one, or 0.

    `max_copies` has the number of measured copies of an instance by name; None for copies that are not measured.
    """
    facts, limits = [], set()
    for name, first in zip(learners, first_nonfinite, strict=True):
        failed = first[first > 0]
        if failed.size:
            facts.append(f"{name!r} in {failed.size:,} of {first.size:,} runs, from round {failed.min():,} on")
            limits |= {limit for limit in [max_copies[name]] if limit is not None}
    advice = "If steps are too large, use a smaller step size or a radius"
    if limits:
        advice += (
            f". A round with more copies than the {' or '.join(map(str, sorted(limits)))} measured has the loss NaN"
        )
    if facts:
        warnings.warn(
            f"runs with NaN or infinite numbers are excluded from the means: {'; '.join(facts)}. {advice}",
            DivergedRunsWarning,
            stacklevel=6,
        )


def _warn(learners: Mapping[str, Any], affected: Mapping[str, object], headline: str, facts: Iterator[str]) -> None:
    if affected:
        hints = dict.fromkeys(learners[name].capacity_hint for name in affected)
        warnings.warn(f"{headline}: {', '.join(facts)}. {'; '.join(hints)}", OverflowWarning, stacklevel=6)
