"""Runs that are left out of the means, warned about: those with a loss that is not finite, and those in which the
storage of a learner overflowed, which is predicted before a run, too."""

import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from jaxonline.game.defaults import LearnerDefaults, method_of
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.parameters import check
from jaxonline.parameters.warning_classes import DivergedRunsWarning, OverflowWarning

LIKELY_PROBABILITY = 0.01  # in one run


def overflow_probabilities(learners: Mapping[str, object], n_rounds: int) -> dict[str, float]:
    """The probability that a run overflows, by name, for the learners that know it."""
    known = {}
    for name, learner in learners.items():
        probability = method_of(learner, LearnerDefaults.overflow_probability)(n_rounds)
        if probability is not None:
            known[name] = check.number(f"overflow_probability of {name!r}", float(probability), ge=0.0, le=1.0)
    return known


def warn_of_likely_overflow(learners: Mapping[str, object], probabilities: Mapping[str, float], n_rounds: int) -> None:
    """One warning that names all learners with more than 1 %."""
    likely = {name: probability for name, probability in probabilities.items() if probability > LIKELY_PROBABILITY}
    facts = (f"{name!r} with probability {probability:.2g}" for name, probability in likely.items())
    what = f"a run of {n_rounds:,} rounds may end out of storage, and is then left out of the means"
    _warn(learners, likely, what, facts)


def warn_of_overflow(learners: Mapping[str, object], overflowed: np.ndarray, n_runs: int) -> None:
    """One warning that names all learners with runs that overflowed; `overflowed` has their number by learner."""
    counts = {name: int(n) for name, n in zip(learners, overflowed, strict=True) if n}
    facts = (f"{name!r} in {n:,} of {n_runs:,} runs" for name, n in counts.items())
    _warn(learners, counts, "runs ended out of storage, and are left out of the means", facts)


def warn_of_divergence(learners: Mapping[str, object], first_nonfinite: np.ndarray) -> None:
    """One warning that names all learners with a loss that is NaN or infinite; `first_nonfinite` is in [L, R], or 0."""
    facts = []
    for name, first in zip(learners, first_nonfinite, strict=True):
        failed = first[first > 0]
        if failed.size:
            facts.append(f"{name!r} in {failed.size:,} of {first.size:,} runs, from round {failed.min():,} on")
    if facts:
        warnings.warn(
            "losses were NaN or infinite, and these runs are left out of the means: "
            f"{'; '.join(facts)}. Where steps are too large, a smaller one or a radius keeps a learner finite",
            DivergedRunsWarning,
            stacklevel=6,
        )


def _warn(learners: Mapping[str, object], concerned: Mapping[str, object], what: str, facts: Iterator[str]) -> None:
    if concerned:
        hints = dict.fromkeys(traits_of(learners[name], LearnerTraits).capacity_hint for name in concerned)
        ways = "; ".join(hints)
        warnings.warn(f"{what}: {', '.join(facts)}. {ways}", OverflowWarning, stacklevel=6)
