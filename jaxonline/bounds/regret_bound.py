"""The record of a bound, and the assumptions of a theorem."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Ge, Numbers, PositiveFloat, Rounds

# ---------------------------------------------------------------------------------------------------------------------
# What the theorem of a bound assumes about the game; tables and figures compare it with the game.


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
        >>> from jaxonline.bounds.regret_bound import assumes
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


# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds of projected gradient descent, at the horizon and after every round.


class RegretBound(NamedTuple):
    """Bound on the expected regret of projected gradient descent with E|g|^2 <= G and |w| <= radius.

    Attributes:
        value: regret bound at the horizon for the step size `step_size`.
        step_size: constant step size of the theorem.
        G: bound on the second moment of the gradient estimate.
        radius: radius of the ball of hypotheses and comparators; for another set, the largest distance of a comparator
            from the first hypothesis.
        diameter: largest distance between two hypotheses, twice the radius of a ball.
        assumptions: the environments that the theorem covers. With noisy estimates they are oblivious.
        noise_cost: its product with sqrt(t) is added after t rounds, for a comparator that depends on the noise.

    Example:
        >>> from jaxonline.bounds import two_copies
        >>> bound = two_copies(radius=1.0, x_bound=1.0, y_bound=1.0, n_rounds=400)
        >>> bound.G, bound.value, bound.step_size
        (16.0, 80.0, 0.0125)
        >>> bound.in_any_environment().value
        160.0
    """

    value: float
    step_size: float
    G: float
    radius: float
    diameter: float
    assumptions: Assumptions = Assumptions(OBLIVIOUS, prescribed_rate=True)
    noise_cost: float = 0.0

    def in_any_environment(self) -> "RegretBound":
        """Return the bound on the regret in hindsight if the environment may react to the moves: twice the value.

        It corrects paper A, Theorem 1 (erratum E21), and paper B, Theorem 1 and the bound with the corrected G of
        Theorem 2 (E37), whose proofs fix the comparator u.

        Proof: let g~ be the estimates of the gradients g, and w_1 the first hypothesis. The sum of <g, w_t - u> is that
        of <g~, w_t - u> plus that of <g - g~, w_t - u>. The first sum satisfies the theorem for every u, also one that
        depends on the noise. The mean of <g - g~, w_t - w_1> is 0, as w_t depends on earlier noise only. The mean of
        <sum of (g~ - g), u - w_1> is at most radius times the root of the sum of E|g~ - g|^2, which is at most radius
        sqrt(G T), since the differences are uncorrelated.

        With a surrogate kernel the hypotheses are in another Hilbert space than the clean features. The proof holds
        there, if g is the mean of the estimate g~ psi^(x~), given the past.
        """
        if self.assumptions.environment == ANY:
            return self
        corrected = self._replace(value=2 * self.value, noise_cost=self.radius * math.sqrt(self.G))
        return with_assumptions(corrected, self.assumptions._replace(environment=ANY))

    @validate_arguments
    def constant_step(self, step_size: PositiveFloat, rounds: Annotated[Numbers, Ge(0)]) -> Float[np.ndarray, "..."]:
        """Regret bound after each of `rounds` for constant steps: radius^2/(2 step) + step G t/2 (paper B, Lemma 3)."""
        t = np.asarray(rounds, float)
        bound = self.radius**2 / (2 * step_size) + step_size * self.G * t / 2 + self.noise_cost * np.sqrt(t)
        return with_assumptions(bound, self.assumptions)

    @validate_arguments
    def inverse_sqrt_step(self, eta: PositiveFloat, rounds: Annotated[Numbers, Ge(0)]) -> Float[np.ndarray, "..."]:
        """Regret bound after each round in `rounds` for steps eta / sqrt(t): (diameter^2 / (2 eta) + eta G) sqrt(t).

        Zinkevich (2003), Theorem 1, has the bound D^2/(2 step_t) + G/2 sum of steps, and the sum of 1/sqrt(s) is at
        most 2 sqrt(t). If the diameter is infinite, there is no bound for decreasing steps, and the value is inf.
        """
        t = np.asarray(rounds, float)
        if math.isinf(self.diameter):
            return with_assumptions(np.full(t.shape, math.inf), self.assumptions)
        factor = self.diameter**2 / (2 * eta) + eta * self.G + self.noise_cost
        return with_assumptions(factor * np.sqrt(t), self.assumptions)


@cites("zinkevich2003online", "cesabianchi2010online", "cesabianchi2010learning")
@assumes(OBLIVIOUS, prescribed_rate=True)
@validate_arguments
def gradient_descent(radius: PositiveFloat, G: PositiveFloat, n_rounds: Rounds) -> RegretBound:
    """Regret bound of projected gradient descent with E|g|^2 <= G: radius sqrt(G T), with step size radius / sqrt(G T).

    The bound holds for convex losses and any comparator in the ball: Zinkevich (2003); paper A, Theorem 4; paper B,
    Lemma 3.

    Args:
        radius: radius of the ball of hypotheses and comparators; its centre is the first hypothesis.
        G: bound on the second moment of the estimates.
        n_rounds: horizon T.

    Example:
        >>> from jaxonline.bounds import gradient_descent
        >>> gradient_descent(radius=2.0, G=4.0, n_rounds=100).value
        40.0
    """
    value, step_size = radius * np.sqrt(G * n_rounds), radius / np.sqrt(G * n_rounds)
    return RegretBound(float(value), float(step_size), float(G), radius, 2 * radius)
