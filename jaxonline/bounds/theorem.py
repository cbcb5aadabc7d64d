"""The record of a bound, the assumptions of a theorem, and the decorator that declares them.

A function with the decorator `theorem` is a theorem: `theorem` declares its papers and its assumptions, and checks its
arguments. The function returns a `Bound`, which is used as a number.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.signatures import parameters_of, validate_arguments
from jaxonline.parameters.types import Ge, Numbers

F = TypeVar("F", bound=Callable[..., Any])
OBLIVIOUS, STOCHASTIC, ANY = "oblivious", "stochastic", "any"
RoundNumbers = Annotated[Numbers, Ge(0)]
"""Numbers of rounds after which a bound is computed."""


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


NO_ASSUMPTIONS = Assumptions()


class Bound(NDArrayOperatorsMixin):
    """Bound of a theorem: a number, or one number for each of several horizons, with the parameters of the theorem.

    A bound is used as its number in arithmetic, comparisons, formats, tables and figures. Arithmetic returns plain
    numbers, without the assumptions. The parameters are also attributes, such as `bound.step_size`.

    Args:
        value: the bound, at the horizon.
        curve: the bound after other numbers of rounds, a function of this record, of the rounds, and of steps by name.
            None if only the bound at the horizon is known.
        reacting: a function that takes this record, with the assumption of any environment, and returns the bound for
            environments that react to the moves. None if no such bound is known.
        assumptions: the assumptions of the theorem.
        **parameters: numbers of the theorem, such as the step size that it prescribes.

    Example:
        >>> from jaxonline import bounds
        >>> bound = bounds.gradient_descent(radius=2.0, G=4.0, n_rounds=100)
        >>> bound
        Bound(40.0, step_size=0.1, G=4.0, radius=2.0, diameter=4.0)
        >>> bound.step_size, bound / 100, bound < 50
        (0.1, 0.4, True)
        >>> bound.at_rounds([25, 100]).value.tolist()  # with the step size of the theorem
        [25.0, 40.0]
        >>> f"{bound.at_rounds(100, eta=2.0):.1f}"  # with the steps eta / sqrt(t)
        '120.0'
    """

    def __init__(
        self, value: Any, curve: Callable[..., Any] | None = None, reacting: Callable[["Bound"], "Bound"] | None = None,
        assumptions: Assumptions = NO_ASSUMPTIONS, **parameters: Any,
    ) -> None:  # fmt: skip
        value = np.asarray(value)
        fields = {"curve": curve, "reacting": reacting, "assumptions": assumptions, "parameters": parameters}
        vars(self).update(fields, value=value if value.ndim else value.item())

    def replace(self, **changes: Any) -> "Bound":
        """Return the bound with another value, other parameters or other assumptions."""
        given = {**vars(self), **self.parameters, **changes}
        del given["parameters"]
        return Bound(**given)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: a bound cannot be changed; bound.replace({name}=...) returns another one")

    def __getattr__(self, name: str) -> Any:
        parameters = vars(self).get("parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError(f"{name}: this bound has no such attribute; its parameters are {', '.join(parameters)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.parameters]

    def __repr__(self) -> str:
        numbers = (f"{name}={short_repr(number)}" for name, number in self.parameters.items())
        return f"Bound({', '.join([short_repr(self.value), *numbers])})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        numbers = (given.value if isinstance(given, Bound) else given for given in inputs)
        result = getattr(ufunc, method)(*numbers, **options)
        return result.item() if isinstance(result, np.generic) else result

    def __getitem__(self, index: Any) -> "Bound":
        return self.replace(value=self.value[index])

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else repr(self)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value, digits)

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps that `at_rounds` takes."""
        return () if self.curve is None else tuple(parameter.name for parameter in parameters_of(self.curve)[2:])

    def at_rounds(self, rounds: Any, **steps: Any) -> "Bound":
        """Return the bound after each number of rounds in `rounds`.

        Args:
            rounds: one or several numbers of rounds.
            **steps: other steps than those that the theorem prescribes, by name. Gradient descent has the constant
                `step_size`, or `eta` of the steps eta / sqrt(t); `aer_regret` has `regularizer`. The property `steps`
                has the names.

        Raises:
            ValueError: only the bound at the horizon is known.
        """
        if self.curve is None:
            raise ArgumentError("rounds", "must not be given, as this theorem is about the horizon only")
        return self.replace(value=self.curve(self, rounds, **steps))

    def in_any_environment(self) -> "Bound":
        """Return the bound on the regret in hindsight if the environment may react to the moves.

        For gradient descent the bound is twice as large. It corrects Cesa-Bianchi et al. (2010a), Theorem 1 (erratum
        E21), and Cesa-Bianchi et al. (2010b), Theorem 1 and the bound with the corrected G of Theorem 2 (E37), whose
        proofs fix the comparator u.

        Proof: let g~ be the estimates of the gradients g, and w_1 the first hypothesis. The sum of <g, w_t - u> is that
        of <g~, w_t - u> plus that of <g - g~, w_t - u>. The first sum satisfies the theorem for every u, also one that
        depends on the noise. The mean of <g - g~, w_t - w_1> is 0, as w_t depends on earlier noise only. The mean of
        <sum of (g~ - g), u - w_1> is at most radius times the root of the sum of E|g~ - g|^2, which is at most radius
        sqrt(G T), since the differences are uncorrelated.

        With a surrogate kernel the hypotheses are in another Hilbert space than the clean features. The proof holds
        there, if g is the mean of the estimate g~ psi^(x~), given the past.

        Raises:
            ValueError: no such bound is known.
        """
        if self.assumptions.environment == ANY:
            return self
        if self.reacting is None:
            problem = f"must have a version for environments that react (this one {self.assumptions.unmet(False)})"
            raise ArgumentError("bound", problem)
        return self.reacting(self.replace(assumptions=self.assumptions._replace(environment=ANY)))


def with_value(bound: Bound) -> Bound:
    """Return a bound with the value of its curve after `n_rounds` rounds, which is one of its parameters."""
    return bound.at_rounds(bound.n_rounds)


def theorem(
    environment: Literal["any", "oblivious", "stochastic"] | None,
    *papers: str,
    quantity: str = "regret",
    losses: tuple[float, float] | None = None,
    prescribed_rate: bool = False,
) -> Callable[[F], F]:
    """Decorator: declare the papers and the assumptions of a function that computes a `Bound`; check its arguments.

    Args:
        environment: the environments that the theorem covers; None for a theorem that is not about the regret of a
            learner in a game, such as a lower bound, which returns a number.
        *papers: keys of `references.bib`.
        quantity: the bounded number, as in `Assumptions`.
        losses: the smallest and the largest loss.
        prescribed_rate: whether the bound is for the step size or rate that the theorem prescribes.

    Example:
        >>> from jaxonline.bounds.theorem import STOCHASTIC, Bound, theorem
        >>> @theorem(STOCHASTIC, quantity="pseudo-regret", losses=(0.0, 1.0))
        ... def linear(n_rounds) -> Bound:
        ...     return Bound(2.0 * n_rounds)
        >>> linear(3), linear(3).assumptions.quantity, linear.assumptions.losses
        (Bound(6.0), 'pseudo-regret', (0.0, 1.0))
    """

    def declare(function: F) -> F:
        checked = validate_arguments(function)
        if environment is None:
            return cites(*papers)(checked)

        @functools.wraps(function)
        def declared(*args: Any, **kwargs: Any) -> Bound:
            return checked(*args, **kwargs).replace(assumptions=assumptions)

        declared.assumptions = assumptions = Assumptions(environment, quantity, losses, prescribed_rate)  # type: ignore[attr-defined]
        return cites(*papers)(declared)  # type: ignore[return-value]

    return declare


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
        problem = getattr(bound, "assumptions", NO_ASSUMPTIONS).unmet(oblivious)
        if problem is not None:
            names.setdefault(problem, []).append(name)
    return [
        f"{', '.join(learners)}: the bound {problem}, but this environment reacts to the learner's moves."
        for problem, learners in names.items()
    ]
