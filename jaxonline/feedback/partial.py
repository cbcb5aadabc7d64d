"""Feedback that shows a part of the losses: feedback graphs, and finite games with signals (partial monitoring)."""

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline.feedback.moves import MoveOracle
from jaxonline.game.roles import Draw, Feedback, Specs
from jaxonline.losses.arms import MatrixLoss
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
        self.adjacency = adjacency
        self.observed = adjacency[move.arm if isinstance(move, Draw) else move] > 0

    def losses(self) -> Float[Array, "K"]:
        """Return the losses that the pulled arm shows, and 0 for all others; each shown loss costs a query."""
        self._queries = jnp.sum(self.observed, dtype=jnp.int32)
        return jnp.where(self.observed, self._y, 0.0)


def _as_adjacency(value: Any, name: str) -> Array:
    array = jax_array(name, value, ndim=2, ge=0.0, le=1.0)
    entries = check.concrete_array(array)
    if array.shape[0] != array.shape[1]:
        raise ArgumentError(name, f"must be a square matrix (got shape {array.shape})")
    if entries is not None and not np.isin(entries, (0, 1)).all():
        raise ArgumentError(name, f"must have entries 0 and 1 (got {check.quote(value)})")
    return array


Adjacency = Annotated[Any, Shape("K", "K"), Interval(ge=0, le=1), Convert(_as_adjacency)]
"""A square matrix of 0 and 1: the pull of arm i shows the loss of arm j if entry [i, j] is 1."""


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
        """Raise a ValueError if outcomes are not vectors with an entry for each arm of the graph."""
        shape, n_arms = getattr(specs.outcome, "shape", None), self.adjacency.shape[-1]
        if shape != (n_arms,):
            raise ArgumentError("adjacency", f"must have a row for each arm (got {n_arms} rows, outcomes {shape})")

    def open(
        self, key: Any, t: Int[Array, ""], x: PyTree, y: Float[Array, "K"], y_hat: Any, state: PyTree = ()
    ) -> GraphOracle:
        """Return the oracle of one round."""
        return GraphOracle(x, y_hat, y, self.adjacency)

    @property
    def observability(self) -> Literal["strong", "weak", "none"]:
        """How well the losses can be observed, which decides the growth of the regret.

        "strong": every arm shows its own loss, or all other arms show it; the regret grows as T^(1/2). "weak": at least
        an arm is shown only by some other arms; T^(2/3). "none": no arm shows the loss of some arm; the regret is
        linear.
        """
        shows = np.asarray(self.adjacency) > 0
        if not shows.any(axis=0).all():
            return "none"
        shown_by_all_others = (shows | np.eye(len(shows), dtype=bool)).all(axis=0)
        return "strong" if (shows.diagonal() | shown_by_all_others).all() else "weak"

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


def _nearest_fraction(entry: Any) -> Fraction:
    """Return the fraction with a denominator of at most a million that rounds to this number, else the number."""
    simple = Fraction(float(entry)).limit_denominator(1_000_000)
    return simple if type(entry)(float(simple)) == entry else Fraction(float(entry))


def _as_rationals(value: Any, name: str) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as a tuple of rows, which is hashable; 1/3 in float32 becomes 1/3 in float64."""
    entries = np.asarray(value if hasattr(value, "dtype") else check.array(name, value, ndim=2))
    check.array(name, entries, ndim=2)
    return tuple(tuple(float(_nearest_fraction(entry)) for entry in row) for row in entries)


Rationals = Annotated[Any, Shape("N", "M"), Convert(_as_rationals)]


@cites("bartok2014partial")
@struct
class PartialMonitoring(Feedback):
    """Finite partial monitoring: the learner observes only a symbol, given by a matrix of its action and the outcome.

    An outcome is the index of a column, 0 to M - 1, such as the outcomes of `DataStream(None, columns)`. Moves are
    actions, 0 to N - 1, or `Draw`s. The loss of the game is the property `loss`, and the comparator is
    `comparators.BestAction(feedback.loss)`. All linear algebra is exact: a number is read as the fraction with a
    denominator of at most a million that has the same floating-point value, if there is one.

    Args:
        losses: losses [N, M] of the actions.
        signals: symbols [N, M], any numbers; the oracle shows their ranks 0, 1, ... among the different numbers.

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
        shapes = np.shape(self.losses), np.shape(self.signals)
        if shapes[0] != shapes[1]:
            raise ArgumentError("signals", f"must have the shape of losses, {shapes[0]} (got {shapes[1]})")

    @property
    def loss(self) -> MatrixLoss:
        """The loss of the game."""
        return MatrixLoss(self.losses)

    def check_specs(self, specs: Specs) -> None:
        """Raise a ValueError if outcomes are not single numbers, the indices of columns."""
        if getattr(specs.outcome, "shape", None) != ():
            raise ArgumentError("outcomes", f"must be indices of columns for PartialMonitoring (got {specs.outcome})")

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Array, y_hat: Any, state: PyTree = ()) -> SymbolOracle:
        """Return the oracle of one round; a number that is no index has the symbol of the nearest column."""
        symbols = jnp.asarray(self.symbols, jnp.int32)
        column = jnp.clip(y.astype(jnp.int32), 0, symbols.shape[1] - 1)
        return SymbolOracle(x, y_hat, symbols[y_hat.arm if isinstance(y_hat, Draw) else y_hat, column])

    @property
    def symbols(self) -> Int[np.ndarray, "N M"]:
        """The symbols as ranks 0, 1, ... among the different numbers in `signals`."""
        return np.unique(self.signals, return_inverse=True)[1].reshape(np.shape(self.signals)).astype(np.int32)

    @property
    def observability(self) -> Literal["trivial", "local", "global", "hopeless"]:
        """The class of the game, which decides the growth of its minimax regret.

        "trivial": an action is always the best; no regret. "local": neighbouring actions show the difference of their
        losses; the regret grows as T^(1/2). "global": all actions together show it; T^(2/3). "hopeless": linear.
        """
        return _analyse(self.losses, self.signals).observability

    @property
    def candidates(self) -> tuple[int, ...]:
        """The Pareto-optimal actions: each has the smallest expected loss in an open set of laws of the outcome."""
        return _analyse(self.losses, self.signals).candidates

    @property
    def estimators(self) -> Float[np.ndarray, "C N S"]:
        """Numbers for each candidate, action and symbol: over the actions they add up to the loss of the candidate.

        It is the loss minus the mean loss of all candidates, for every outcome. The numbers have the smallest sum of
        squares. Raises a ValueError if the game is hopeless.
        """
        table = _analyse(self.losses, self.signals).estimators
        if table is None:
            raise ArgumentError("signals", "must show the losses of the candidates (got a hopeless game)")
        return table


# ---------------------------------------------------------------------------------------------------------------------
# Classes of finite games: Bartok, Foster, Pal, Rakhlin and Szepesvari (2014), by exact linear algebra.


class _Analysis(NamedTuple):
    candidates: tuple[int, ...]
    observability: Any
    estimators: np.ndarray | None


_Row = Sequence[Fraction]


@functools.lru_cache(maxsize=256)
def _analyse(losses: tuple[tuple[float, ...], ...], signals: tuple[tuple[float, ...], ...]) -> _Analysis:
    rows = [tuple(_nearest_fraction(entry) for entry in row) for row in losses]
    actions, n_columns = range(len(rows)), range(len(rows[0]))

    def solve(targets: list[_Row], shown: Sequence[int]) -> list[list[Fraction]] | None:
        """Solve S'S w = target, where S has a row for each symbol of the shown actions; S w is the smallest v."""
        gram = [[Fraction(sum(signals[k][y] == signals[k][z] for k in shown)) for z in n_columns] for y in n_columns]
        return _solutions(gram, targets)

    candidates = tuple(i for i in actions if _is_positive_somewhere([_minus(r, rows[i]) for r in rows if r != rows[i]]))
    pairs = [(i, j) for i in candidates for j in candidates if i < j and rows[i] != rows[j]]
    # the set of laws at which both actions are best is a facet of their cells; `between` are the actions best there
    between = {pair: [k for k in actions if _is_between(rows[k], *(rows[i] for i in pair))] for pair in pairs}
    neighbours = [pair for pair in pairs if _are_neighbours(rows, *pair, between[pair])]
    differences = [_minus(rows[i], rows[j]) for i, j in neighbours]
    mean = [sum(column) / len(candidates) for column in zip(*(rows[i] for i in candidates), strict=True)]
    solutions = solve([_minus(rows[i], mean) for i in candidates], actions)
    if not neighbours:
        observability = "trivial"
    elif solutions is None:
        observability = "hopeless"
    else:
        is_local = all(solve([d], between[pair]) for d, pair in zip(differences, neighbours, strict=True))
        observability = "local" if is_local else "global"
    if solutions is None:
        return _Analysis(candidates, observability, None)
    ranks = {symbol: rank for rank, symbol in enumerate(sorted({s for row in signals for s in row}))}
    table = np.zeros((len(candidates), len(rows), len(ranks)))
    for c, w in enumerate(solutions):
        for k in actions:
            for symbol in set(signals[k]):
                table[c, k, ranks[symbol]] = sum(w[y] for y in n_columns if signals[k][y] == symbol)
    return _Analysis(candidates, observability, table)


def _minus(first: _Row, second: _Row) -> list[Fraction]:
    return [a - b for a, b in zip(first, second, strict=True)]


def _is_between(row: _Row, first: _Row, second: _Row) -> bool:
    """Whether row = a first + (1 - a) second with a in [0, 1]."""
    difference, offset = _minus(first, second), _minus(row, second)
    a = next(o / d for o, d in zip(offset, difference, strict=True) if d)
    return 0 <= a <= 1 and all(o == a * d for o, d in zip(offset, difference, strict=True))


def _are_neighbours(rows: Sequence[_Row], i: int, j: int, between: Sequence[int]) -> bool:
    """Whether a law of the outcome exists at which i and j are equal, and better than all actions not between them."""
    d = _minus(rows[i], rows[j])
    rays = [{y: Fraction(1)} for y in range(len(d)) if not d[y]]  # they span the laws at which i and j are equal
    rays += [{y: -d[z], z: d[y]} for y in range(len(d)) for z in range(len(d)) if d[y] > 0 > d[z]]
    others = [_minus(rows[k], rows[i]) for k in range(len(rows)) if k not in between]
    return _is_positive_somewhere(
        [[sum((o[y] * r for y, r in ray.items()), Fraction(0)) for ray in rays] for o in others]
    )


def _pivot(table: list[list[Fraction]], row: int, column: int) -> None:
    """Make a column of the table a unit vector, by row operations."""
    table[row] = [entry / table[row][column] for entry in table[row]]
    for i, other in enumerate(table):
        if i != row and (factor := other[column]):
            table[i] = [a - factor * b for a, b in zip(other, table[row], strict=True)]


def _solutions(matrix: list[list[Fraction]], targets: list[_Row]) -> list[list[Fraction]] | None:
    """Solve matrix w = target for each target; None if a target has no solution."""
    n, pivots = len(matrix), []
    table = [[*matrix[y], *(target[y] for target in targets)] for y in range(n)]
    for column in range(n):
        row = next((i for i in range(len(pivots), n) if table[i][column]), None)
        if row is not None:
            table[len(pivots)], table[row] = table[row], table[len(pivots)]
            _pivot(table, len(pivots), column)
            pivots.append(column)
    if any(any(row[n:]) for row in table[len(pivots) :]):
        return None
    at = {column: row for row, column in enumerate(pivots)}
    return [[table[at[y]][n + k] if y in at else Fraction(0) for y in range(n)] for k in range(len(targets))]


def _is_positive_somewhere(matrix: Sequence[_Row]) -> bool:
    """Whether weights w >= 0 exist with matrix w > 0 in every row: whether the value of a matrix game is positive.

    The simplex method with Bland's rule, which ends, solves the game: with positive entries, 1 / value is the largest
    sum of x >= 0 with x' entries <= 1.
    """
    if not matrix:
        return True
    shift = 1 - min(min(row) for row in matrix)
    n, n_columns = len(matrix), len(matrix[0])
    unit = [[Fraction(int(c == d)) for d in range(n_columns)] for c in range(n_columns)]
    table = [[*(row[c] + shift for row in matrix), *unit[c], Fraction(1)] for c in range(n_columns)]
    table.append([Fraction(-1)] * n + [Fraction(0)] * (n_columns + 1))
    basis = list(range(n, n + n_columns))
    while (enters := next((k for k, cost in enumerate(table[-1][:-1]) if cost < 0), None)) is not None:
        ratios = [(row[-1] / row[enters], basis[c], c) for c, row in enumerate(table[:-1]) if row[enters] > 0]
        leaves = min(ratios)[2]
        _pivot(table, leaves, enters)
        basis[leaves] = enters
    return table[-1][-1] * shift < 1
