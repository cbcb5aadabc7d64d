"""What the theorem of a bound assumes about the game; tables and figures compare it with the game."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
OBLIVIOUS, STOCHASTIC, ANY = "oblivious", "stochastic", "any"


class Assumptions(NamedTuple):
    """What a theorem assumes about the environment, and what it bounds.

    Attributes:
        environment: "any" environment, also one that reacts to the learner's moves; an "oblivious" one, which does not;
            or a "stochastic" one, whose rounds are independent with the same distribution.
        quantity: the bounded number: the expected "regret" to the best comparator in hindsight, the "pseudo-regret" to
            the comparator that is best on average, the "regret with high probability", "mistakes", or a "risk".
        losses: the smallest and the largest loss, or None for losses without a range.
        prescribed_rate: whether the bound is for the step size or rate that the theorem prescribes.

    A bound for an oblivious environment also holds in any environment if the comparator is fixed beforehand. The best
    comparator in hindsight depends on the learner's noise if the environment reacts to its moves.

    Example:
        >>> from jaxonline import bounds
        >>> bounds.exp3(4, 1000).assumptions.environment, bounds.two_copies(1.0, 1.0, 1.0, 100).assumptions.losses
        ('oblivious', None)
    """

    environment: Literal["any", "oblivious", "stochastic"] = ANY
    quantity: str = "regret"
    losses: tuple[float, float] | None = None
    prescribed_rate: bool = False

    def unmet(self, oblivious: bool) -> str | None:
        """Return the assumption that a game violates, in words, or None.

        Args:
            oblivious: whether the game's environment does not react to the learner's moves (`Game.oblivious`).
        """
        if self.environment == ANY or oblivious:
            return None
        return f"assumes {'an oblivious' if self.environment == OBLIVIOUS else 'a stochastic'} environment"


class BoundNumber(float):
    """A bound that is one number, with its assumptions."""

    assumptions: Assumptions


class BoundArray(np.ndarray):
    """A bound for several horizons, with its assumptions."""

    assumptions: Assumptions

    def __array_finalize__(self, source: Any) -> None:
        self.assumptions = getattr(source, "assumptions", Assumptions())


def assumes(
    environment: Literal["any", "oblivious", "stochastic"] = ANY,
    quantity: str = "regret",
    losses: tuple[float, float] | None = None,
    prescribed_rate: bool = False,
) -> Callable[[F], F]:
    """Declare the assumptions of a function that computes a bound; the function and its results then have them.

    Example:
        >>> from jaxonline.bounds.assumptions import assumes
        >>> @assumes("stochastic", "pseudo-regret", losses=(0.0, 1.0))
        ... def bound(n_rounds):
        ...     return 2.0 * n_rounds
        >>> bound(3), bound(3).assumptions.quantity, bound.assumptions.losses
        (6.0, 'pseudo-regret', (0.0, 1.0))
    """
    assumptions = Assumptions(environment, quantity, losses, prescribed_rate)

    def declare(function: F) -> F:
        @functools.wraps(function)
        def declared(*args: Any, **kwargs: Any) -> Any:
            return with_assumptions(function(*args, **kwargs), assumptions)

        declared.assumptions = assumptions  # type: ignore[attr-defined]
        return declared  # type: ignore[return-value]

    return declare


def with_assumptions(bound: Any, assumptions: Assumptions) -> Any:
    """Return a bound, a record or numbers, with its assumptions; whole numbers of mistakes stay as they are.

    The number `value` of a record has the assumptions, too.
    """
    if isinstance(bound, tuple):  # a record of this package
        numbers = {"value": bound.value} if "value" in bound._fields else {}  # type: ignore[attr-defined]
        numbers = {name: with_assumptions(number, assumptions) for name, number in numbers.items()}
        return bound._replace(assumptions=assumptions, **numbers)  # type: ignore[attr-defined]
    if isinstance(bound, int):
        return bound
    result = BoundNumber(bound) if isinstance(bound, float) else np.asarray(bound).view(BoundArray)
    result.assumptions = assumptions
    return result


def unmet_assumptions(bounds: Mapping[str, Any], oblivious: bool | None) -> list[str]:
    """Return a sentence for each assumption that the game violates, with the learners whose bounds make it.

    Args:
        bounds: bounds by the name of the learner.
        oblivious: whether the game's environment does not react to the moves; None if that is unknown.
    """
    if oblivious is None:
        return []
    names: dict[str, list[str]] = {}
    for name, bound in bounds.items():
        problem = getattr(bound, "assumptions", Assumptions()).unmet(oblivious)
        if problem is not None:
            names.setdefault(problem, []).append(name)
    return [
        f"{', '.join(learners)}: the bound {problem}, but this environment reacts to the learner's moves."
        for problem, learners in names.items()
    ]
