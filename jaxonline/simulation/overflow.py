"""Learners that may run out of storage: how likely it is, and what became of it, said aloud."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline._util import check

LIKELY = 0.01  # in one run


class Member(NamedTuple):
    """A single learner of a study: its name, and the learner or, with an `index`, the stacked learners of its sweep."""

    name: str
    learner: Any
    index: int | None = None

    def ask(self, what: str, *arguments: Any) -> Any:
        """What the learner's method of this name returns, or the attribute; None where there is none."""
        if not hasattr(self.learner, what):
            return None
        learner = self.learner
        if self.index is not None:
            learner = jax.tree.map(lambda leaf: np.asarray(leaf)[self.index], learner)
        answer = getattr(learner, what)
        return answer(*arguments) if callable(answer) else answer


def overflow_probabilities(members: Sequence[Member], n_rounds: int) -> dict[str, float]:
    """The probability that a run overflows, by name, for the learners that know it."""
    answers = {member.name: member.ask("overflow_probability", n_rounds) for member in members}
    known = {name: float(answer) for name, answer in answers.items() if answer is not None}
    for name, probability in known.items():
        check.number(f"overflow_probability of {name!r}", probability, ge=0.0, le=1.0)
    return known


def warn_of_likely_overflow(members: Sequence[Member], probabilities: Mapping[str, float], n_rounds: int) -> None:
    """One warning that names all learners with more than 1 %."""
    likely = {name: probability for name, probability in probabilities.items() if probability > LIKELY}
    facts = (f"{name!r} with probability {probability:.2g}" for name, probability in likely.items())
    what = f"a run of {n_rounds:,} rounds may end out of storage, and is then left out of the means"
    _warn(members, likely, what, facts)


def warn_of_overflow(members: Sequence[Member], overflowed: np.ndarray, n_runs: int) -> None:
    """One warning that names all learners with runs that overflowed; `overflowed` has their number by learner."""
    counts = {member.name: int(n) for member, n in zip(members, overflowed, strict=True) if n}
    facts = (f"{name!r} in {n:,} of {n_runs:,} runs" for name, n in counts.items())
    _warn(members, counts, "runs ended out of storage, and are left out of the means", facts)


def _warn(members: Sequence[Member], concerned: Mapping[str, Any], what: str, facts: Iterator[str]) -> None:
    if concerned:
        hints = [member.ask("capacity_hint") for member in members if member.name in concerned]
        given = dict.fromkeys(hint for hint in hints if hint is not None)
        ways = "; ".join(given) or "give it more capacity"
        warnings.warn(f"{what}: {', '.join(facts)}. {ways}", RuntimeWarning, stacklevel=4)
