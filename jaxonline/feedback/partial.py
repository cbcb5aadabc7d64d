"""Feedback that shows a part of the losses: feedback graphs, and finite games with signals (partial monitoring)."""

import functools
import math
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline.feedback.moves import MoveOracle
from jaxonline.game.roles import Draw, Feedback, Specs
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, Interval, PyTree, Shape, jax_array

# ---------------------------------------------------------------------------------------------------------------------
# Feedback graphs: a pull of an arm shows the losses of the arm's out-neighbours.


class GraphOracle(MoveOracle):
    """Oracle of a feedback graph: the losses that the pulled arm shows, and which losses these are.

    Attributes:
        move: the learner's move, an arm or a `Draw`.
        x: the instance.
        adjacency: the graph [K, K].
        observed: whether the pulled arm shows the loss of each arm [K].

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import GraphOracle
        >>> oracle = GraphOracle((), jnp.int32(0), jnp.array([0.5, 0.25]), jnp.array([[0.0, 1.0], [1.0, 1.0]]))
        >>> oracle.losses().tolist(), oracle.queries().item()
        ([0.0, 0.25], 1)
    """

    def __init__(self, x: PyTree, move: Any, y: Float[Array, "K"], adjacency: Float[Array, "K K"]):
        super().__init__(x, move, y)
        self.adjacency = adjacency.astype(y.dtype)
        self.observed = adjacency[move.arm if isinstance(move, Draw) else move] > 0

    def losses(self) -> Float[Array, "K"]:
        """Return the losses that the pulled arm shows, and 0 for all others; each shown loss costs a query."""
        self._queries = jnp.sum(self.observed, dtype=jnp.int32)
        return jnp.where(self.observed, self._y, 0.0)


def check_vectors(name: str, number: int, specs: Specs) -> None:
    """Raise a ValueError if outcomes are not vectors of the losses of a number of arms or actions."""
    if (shape := getattr(specs.outcome, "shape", None)) != (number,):
        raise ArgumentError(name, f"must have a row for each arm (got {number} rows, and outcomes of shape {shape})")


def _as_adjacency(value: Any, name: str) -> Array:
    array = jax_array(name, value, ndim=2, ge=0.0, le=1.0)
    entries = check.concrete_array(array)
    if array.shape[0] != array.shape[1] or (entries is not None and not np.isin(entries, (0, 1)).all()):
        raise ArgumentError(name, f"must be a square matrix of 0 and 1 (got {check.quote(value)})")
    return array


Adjacency = Annotated[Any, Shape("K", "K"), Interval(ge=0, le=1), Convert(_as_adjacency)]


@cites("alon2015online")
@struct
class FeedbackGraph(Feedback):
    """Feedback graph: a pull of arm i shows the losses of the arms j with `adjacency[i, j] = 1`.

    Outcomes are vectors of the losses of all arms; moves are arms or `Draw`s. The identity is bandit feedback, and a
    matrix of ones is full information. Every shown loss is a query.

    Args:
        adjacency: matrix [K, K] of 0 and 1. The pulled arm shows its own loss only if the diagonal says so.

    Example:
        >>> import jaxonline as jo
        >>> apple_tasting = jo.FeedbackGraph([[1, 1], [0, 0]])  # the first arm tastes, and so shows both losses
        >>> apple_tasting.observability, apple_tasting.dominating_set
        ('strong', (0,))
    """

    adjacency: Adjacency

    def check_specs(self, specs: Specs) -> None:
        """Raise a ValueError if no arm shows the loss of some arm, or outcomes have another number of arms."""
        self.check_observable()
        check_vectors("adjacency", self.adjacency.shape[-1], specs)

    def open(self, key: Any, t: Any, x: PyTree, y: Float[Array, "K"], y_hat: Any, state: PyTree = ()) -> GraphOracle:
        """Return the oracle of one round."""
        return GraphOracle(x, y_hat, y, self.adjacency)

    @property
    def observability(self) -> Literal["strong", "weak", "none"]:
        """How well the losses can be observed, which decides the growth of the regret.

        "strong": every arm shows its own loss, or all other arms show it; the regret grows as T^(1/2). "weak": at least
        an arm is shown only by some other arms; T^(2/3). "none": no arm shows the loss of some arm; the regret is
        linear.
        """
        if not (np.asarray(self.adjacency) > 0).any(axis=0).all():
            return "none"
        return "weak" if self.weak_arms else "strong"

    @property
    def weak_arms(self) -> tuple[int, ...]:
        """Arms that neither show themselves nor are shown by all other arms: only exploration can show their losses."""
        shows = np.asarray(self.adjacency) > 0
        by_all_others = (shows | np.eye(len(shows), dtype=bool)).all(axis=0)
        return tuple(np.flatnonzero(~(shows.diagonal() | by_all_others)).tolist())

    def check_observable(self) -> None:
        """Raise a ValueError if no arm shows the loss of some arm."""
        if check.concrete_array(self.adjacency) is not None and self.observability == "none":
            raise ArgumentError("adjacency", "must have a 1 in each column, as hidden losses cannot be learned")

    @property
    def dominating_set(self) -> tuple[int, ...]:
        """Arms that show every arm that does not show itself: a weakly dominating set, found by the greedy rule."""
        shows, chosen = np.asarray(self.adjacency) > 0, []
        left = ~shows.diagonal() & shows.any(axis=0)
        while left.any():
            chosen.append(int((shows & left).sum(axis=1).argmax()))
            left = left & ~shows[chosen[-1]]
        return tuple(chosen)


# ---------------------------------------------------------------------------------------------------------------------
# Partial monitoring: the learner observes a symbol that depends on its action and on the outcome.


class SymbolOracle(MoveOracle):
    """Oracle of partial monitoring: the symbol, the learner's move and the instance.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import SymbolOracle
        >>> SymbolOracle((), jnp.int32(0), jnp.int32(1)).symbol().item()
        1
    """

    def symbol(self) -> Int[Array, ""]:
        """Return the symbol; it costs one query, even if it is read repeatedly."""
        self._queries = 1
        return self._y


def _simplest_fraction(entry: Any) -> Fraction:
    """Return the fraction with the smallest denominator that rounds to this number in its floating-point type."""
    number = Fraction(float(entry))
    if number.denominator == 1:
        return number
    low, high = ((abs(number) + abs(Fraction(float(np.nextafter(entry, end * entry))))) / 2 for end in (0, 2))
    return _simplest_between(low, high) * (1 if number > 0 else -1)


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator between two positive numbers, from continued fractions."""
    if (whole := math.ceil(low)) <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest_between(1 / (high - whole + 1), 1 / (low - whole + 1))


def _as_rationals(value: Any, name: str) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as a tuple of rows, which is hashable; 1/3 in float32 becomes 1/3 in float64."""
    return tuple(tuple(float(_simplest_fraction(e)) for e in r) for r in np.asarray(check.array(name, value, ndim=2)))


Rationals = Annotated[Any, Shape("N", "M"), Convert(_as_rationals)]


@cites("bartok2014partial")
@struct
class PartialMonitoring(Feedback):
    """Finite partial monitoring: the learner observes only a symbol, given by a matrix of its action and the outcome.

    Moves are actions, 0 to N - 1, or `Draw`s. An outcome of the environment is a column of the matrix of losses, such
    as a row of `DataStream(None, np.transpose(losses)[columns])`, so that `losses.ArmLoss` and `BestArm` apply. All
    linear algebra is exact: a number is read as the fraction with the smallest denominator that has the same
    floating-point value. So numbers with at most three decimals (seven in float64) are read as they are written, if
    they are below 10.

    Args:
        losses: losses [N, M] of the actions.
        signals: symbols [N, M], any numbers. The oracle shows the number of the first column in which the action has
            the same symbol, from 0.

    Raises:
        ValueError: the matrices have different shapes.

    Example:
        >>> import jaxonline as jo
        >>> losses = [[0, 1], [1, 0]]  # matching pennies
        >>> [jo.PartialMonitoring(losses, signals).observability for signals in ([[0, 1], [0, 0]], [[0, 0], [0, 0]])]
        ['local', 'hopeless']
    """

    losses: Rationals = static()
    signals: Rationals = static()

    def __post_init__(self) -> None:
        if (shape := np.shape(self.losses)) != np.shape(self.signals):
            raise ArgumentError("signals", f"must have the shape of losses, {shape} (got {np.shape(self.signals)})")

    def check_specs(self, specs: Specs) -> None:
        """Raise a ValueError if outcomes are not columns of losses, or equal columns of losses have other symbols."""
        check_vectors("losses", len(self.losses), specs)
        columns = set(zip(*self.losses, *self.symbols.tolist(), strict=True))
        if len(columns) > len(set(zip(*self.losses, strict=True))):
            raise ArgumentError("losses", "must have different columns, or equal symbols in equal columns")

    def open(self, key: Any, t: Any, x: PyTree, y: Float[Array, "N"], y_hat: Any, state: PyTree = ()) -> SymbolOracle:
        """Return the oracle of one round; the outcome is the nearest column of the losses."""
        distances = jnp.sum(jnp.abs(jnp.asarray(self.losses, y.dtype) - y[:, None]), axis=0)
        arm = y_hat.arm if isinstance(y_hat, Draw) else y_hat
        return SymbolOracle(x, y_hat, jnp.asarray(self.symbols, jnp.int32)[arm, jnp.argmin(distances)])

    @property
    def symbols(self) -> Int[np.ndarray, "N M"]:
        """The symbols as the numbers that the oracle shows."""
        return _same_symbol(self.signals).argmax(axis=2)

    @property
    def observability(self) -> Literal["trivial", "local", "global", "hopeless"]:
        """The class of the game, which decides the growth of its minimax regret.

        "trivial": an action is always the best; no regret. "local": neighbouring actions, and those between them, show
        the difference of their losses; the regret grows as T^(1/2). "global": all actions together show it; T^(2/3).
        "hopeless": linear.
        """
        return self.analysis.observability

    @property
    def analysis(self) -> "GameAnalysis":
        """The class, the Pareto-optimal actions, and estimators of their losses."""
        return _analyse(self.losses, self.signals)


# ---------------------------------------------------------------------------------------------------------------------
# Classes of finite games: Bartok, Foster, Pal, Rakhlin and Szepesvari (2014), by exact linear algebra with fractions.


class GameAnalysis(NamedTuple):
    """Properties of a finite game.

    Attributes:
        candidates: the Pareto-optimal actions: each has the smallest expected loss in an open set of laws of the
            outcome.
        observability: as in `PartialMonitoring`.
        estimators: numbers [C, N, M] of each candidate, action and shown symbol. For every outcome, their sum over the
            actions is the loss of the candidate minus the mean loss of all candidates. Of all such numbers, these have
            the smallest sum of squares. None if the game is hopeless.
    """

    candidates: tuple[int, ...]
    observability: Any
    estimators: Float[np.ndarray, "C N M"] | None


def _same_symbol(signals: Any) -> Int[np.ndarray, "N M M"]:
    """Return 1 where an action has the same symbol for two outcomes, else 0."""
    return np.equal(np.array(signals)[:, :, None], np.array(signals)[:, None, :]).astype(int)


@functools.lru_cache(maxsize=256)
def _analyse(losses: tuple[tuple[float, ...], ...], signals: tuple[tuple[float, ...], ...]) -> GameAnalysis:
    L, same = np.array([[_simplest_fraction(entry) for entry in row] for row in losses]), _same_symbol(signals)
    candidates = [i for i in range(len(L)) if _is_positive_somewhere(L[(L[i] != L).any(axis=1)] - L[i])]
    # S has a row for each action and symbol, with 1 for the outcomes that show the symbol, so same.sum(axis=0) is S'S.
    # The smallest numbers v with S'v = target are v = S w with S'S w = target.
    w = _solve(same.sum(axis=0), L[candidates] - L[candidates].sum(axis=0) / len(candidates))
    pairs = [(L[i] - L[j], _neighbourhood(L, i, j)) for i in candidates for j in candidates if (L[i] != L[j]).any()]
    shown = [_solve(same[around].sum(axis=0), difference[None]) for difference, around in pairs if around]
    if not shown or w is None:
        return GameAnalysis(tuple(candidates), "hopeless" if shown else "trivial", None)
    estimators = np.tensordot(w, same, ([1], [2])).astype(float)
    return GameAnalysis(tuple(candidates), "global" if any(v is None for v in shown) else "local", estimators)


def _neighbourhood(L: np.ndarray, i: int, j: int) -> list[int]:
    """Return the actions that are best wherever i and j are both best; none if i and j are not neighbours.

    These have the losses a L[i] + (1 - a) L[j] with a in [0, 1]. Actions are neighbours if a law of the outcome exists
    at which they are equal, and better than all others.
    """
    d, offsets, columns = L[i] - L[j], L - L[j], range(L.shape[1])
    a = offsets[:, d.nonzero()[0][0]] / d[d.nonzero()[0][0]]
    around = [k for k in range(len(L)) if 0 <= a[k] <= 1 and (offsets[k] == a[k] * d).all()]
    e = np.eye(len(d), dtype=int)
    # rays that span the laws of the outcome at which i and j are equal
    rays = [d[y] * e[z] - d[z] * e[y] for y in columns for z in columns if d[y] > 0 > d[z]] + list(e[d == 0])
    return around if _is_positive_somewhere((np.delete(L, around, axis=0) - L[i]) @ np.array(rays).T) else []


def _pivot(table: np.ndarray, row: int, column: int) -> None:
    """Make a column of the table a unit vector, by row operations."""
    table[row] /= table[row, column]
    others = np.arange(len(table)) != row
    table[others] -= np.outer(table[others, column], table[row])


def _solve(matrix: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    """Solve matrix w = target for each row of targets; None if a target has no solution."""
    n, pivots = len(matrix), {}  # the row of each column
    table, solution = np.concatenate([matrix, targets.T], axis=1) + Fraction(0), np.zeros_like(targets.T)
    for column in range(n):
        if rows := [row for row in range(n) if table[row, column] and row not in pivots.values()]:
            _pivot(table, rows[0], column)
            pivots[column] = rows[0]
    solution[list(pivots)] = table[list(pivots.values()), n:]
    return None if np.delete(table, list(pivots.values()), axis=0)[:, n:].any() else solution.T


def _is_positive_somewhere(rows: np.ndarray) -> bool:
    """Whether weights w >= 0 exist with rows w > 0: whether the value of a matrix game is positive.

    The simplex method with Bland's rule, which ends, solves the game: if all entries are positive, 1 / value is the
    largest sum of x >= 0 with x' rows <= 1.
    """
    matrix = np.vstack([rows, np.ones((1, rows.shape[1]), int)])  # the last row is always positive
    (n, m), shift = matrix.shape, 1 - matrix.min()
    walls, basis = [(matrix + shift).T, np.eye(m, dtype=int), np.ones((m, 1), int)], np.arange(n, n + m)
    table = np.vstack([np.hstack(walls), [-1] * n + [0] * (m + 1)]) + Fraction(0)
    while (enters := (table[-1, :-1] < 0).nonzero()[0]).size:
        ratios = [(table[c, -1] / table[c, enters[0]], basis[c], c) for c in range(m) if table[c, enters[0]] > 0]
        _pivot(table, leaves := min(ratios)[2], enters[0])
        basis[leaves] = enters[0]
    return bool(table[-1, -1] * shift < 1)
