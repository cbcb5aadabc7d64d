"""Observability of feedback graphs and of finite games, against known games and an independent program."""

import itertools
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.game import Draw


def vertices(losses, actions):
    """Return the vertices of the set of laws of the outcome at which all the given actions are best."""
    M = losses.shape[1]
    walls = np.concatenate([np.eye(M), *(losses - losses[i] for i in actions)])
    found = []
    for tight in itertools.combinations(range(len(walls)), M - 1):
        system = np.vstack([np.ones(M), walls[list(tight)]])
        if abs(np.linalg.det(system)) > 1e-9:
            p = np.linalg.solve(system, np.eye(M)[0])
            if (walls @ p > -1e-9).all():
                found.append(p)
    return np.array(found).reshape(-1, M)


def class_of(losses, signals):
    """Return the class by the definitions: dimensions of cells from their vertices, and least squares."""
    n, M = losses.shape

    def shows(difference, actions):
        S = np.array([signals[k] == symbol for k in actions for symbol in np.unique(signals)], float)
        return np.abs(S.T @ np.linalg.lstsq(S.T, difference)[0] - difference).max() < 1e-9

    def rank(points):
        return np.linalg.matrix_rank(points, tol=1e-9) if len(points) else 0

    optimal = [i for i in range(n) if rank(vertices(losses, [i])) == M]
    kinds = set()
    for i, j in itertools.combinations(optimal, 2):
        common = vertices(losses, [i, j])
        if rank(common) == M - 1:
            means = common @ losses.T
            around = [k for k in range(n) if (means[:, k] <= means[:, i] + 1e-9).all()]
            d = losses[i] - losses[j]
            kinds.add("local" if shows(d, around) else "global" if shows(d, range(n)) else "hopeless")
    worst = [kind for kind in ("hopeless", "global", "local") if kind in kinds]
    return worst[0] if worst else "trivial", tuple(optimal)


def pricing(n, unsold=2):
    """Sellers' prices 0 to n - 1, buyers' values 0 to n - 1; the signal is whether the buyer buys."""
    prices, values = np.indices((n, n))
    return np.where(prices <= values, values - prices, unsold), (prices <= values).astype(int)


THIRDS = [[Fraction(1, 3), 0, 1], [0, Fraction(2, 3), 0.1]]
KNOWN = {  # the classes that the literature gives them, or that follow from the definitions
    "apple tasting": ([[1, 0], [0, 1]], [[0, 1], [2, 2]], "local"),
    "label-efficient": ([[1, 1], [0, 1], [1, 0]], [[0, 1], [2, 2], [2, 2]], "global"),
    "matching pennies, no signal": ([[0, 1], [1, 0]], [[0, 0], [0, 0]], "hopeless"),
    "full information": ([[0, 1, 2], [2, 1, 0]], [[0, 1, 2], [0, 1, 2]], "local"),
    "bandit": (THIRDS, THIRDS, "local"),
    "dominating action": ([[0, 0], [1, 1]], [[0, 0], [0, 0]], "trivial"),
    "dynamic pricing, 3": (*pricing(3), "global"),
    "dynamic pricing, 5": (*pricing(5), "global"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_games_have_their_class(name):
    losses, signals, kind = KNOWN[name]
    game = jo.PartialMonitoring(np.array(losses, float), np.array(signals, float))
    assert game.observability == kind
    assert (kind, game.analysis.candidates) == class_of(np.array(losses, float), np.array(signals, float))


def test_random_games_have_the_class_of_the_definitions():
    """With few different numbers, so that actions are equal, dominated, or the best only at the border of a cell."""
    rng, seen = np.random.default_rng(0), set()
    for _ in range(150):
        n, M = rng.integers(2, 5), rng.integers(2, 4)
        losses = rng.integers(0, 3, (n, M)) / rng.choice([1, 3, 10])
        signals = np.where(rng.random((n, 1)) < 0.5, 0, rng.integers(0, 2, (n, M)))
        game = jo.PartialMonitoring(losses, signals)
        assert (game.observability, game.analysis.candidates) == class_of(losses, signals), (losses, signals)
        seen.add(game.observability)
        if (estimators := game.analysis.estimators) is not None:
            symbols, actions = game.symbols, np.arange(n)[:, None]
            sums = estimators[:, actions, symbols].sum(axis=1)
            candidates = losses[list(game.analysis.candidates)]
            np.testing.assert_allclose(sums, candidates - candidates.mean(axis=0), atol=1e-12)
    assert seen == {"trivial", "local", "global", "hopeless"}


def test_float32_numbers_are_read_as_the_same_fractions():
    losses, signals = pricing(3, unsold=1 / 3)
    games = [jo.PartialMonitoring(dtype(losses / 10), signals) for dtype in (np.float32, np.float64)]
    assert games[0].losses == games[1].losses
    assert games[0].observability == "global"


def test_decimals_in_float32_are_those_in_float64():
    """Games with three decimals; the first one is local, although its rounded differences are not shown."""
    rng, signals = np.random.default_rng(3), [[0, 0, 1], [0, 0, 1]]
    games = [([[0.102, 0.365, 0.109], [0.078, 0.341, 0.652]], signals)]
    games += [(rng.integers(-9999, 10_000, (2, 3)) / 1000, rng.integers(0, 2, (2, 3))) for _ in range(150)]
    games += [(np.append(L[:1], L[:1] - L[:1, ::2].sum() / 9, axis=0).round(3), signals) for L, _ in games[1:]]
    for losses, shown in games:
        single, double = (jo.PartialMonitoring(np.array(losses, t), shown) for t in (np.float32, np.float64))
        assert single.losses == double.losses
        assert single.observability == double.observability
    assert jo.PartialMonitoring(*map(np.float32, games[0])).observability == "local"
    assert jo.PartialMonitoring([[1e-7, 0.1234567, 2**-30]], [[0, 0, 0]]).losses == ((1e-7, 0.1234567, 2**-30),)


def test_observability_of_graphs():
    """The graphs of Alon, Cesa-Bianchi, Dekel and Koren (2015): loops, all others, a revealing arm."""
    star = np.eye(4)[:1].T @ np.ones((1, 4))
    graphs = {
        "bandit": (np.eye(4), "strong", (), ()),
        "full information": (np.ones((4, 4)), "strong", (), ()),
        "all others": (1 - np.eye(4), "strong", (), (0, 1)),
        "apple tasting": ([[1, 1], [0, 0]], "strong", (), (0,)),
        "label-efficient": (star, "weak", (1, 2, 3), (0,)),
        "cycle": (np.roll(np.eye(3), 1, axis=1), "weak", (0, 1, 2), (0, 1, 2)),
        "itself, one arm, all others": ([[1, 1, 1], [0, 0, 1], [0, 0, 0]], "weak", (1,), (0,)),
        "hidden arm": ([[1, 0], [1, 0]], "none", (1,), ()),
    }
    for name, (adjacency, kind, weak, explored) in graphs.items():
        graph = jo.FeedbackGraph(adjacency)
        assert (graph.observability, graph.weak_arms, graph.dominating_set) == (kind, weak, explored), name


def test_oracles_show_and_count_the_answer_only():
    graph, y = jo.FeedbackGraph([[0, 1, 1], [1, 0, 0], [0, 0, 0]]), jnp.array([0.25, 0.5, 0.75])
    for move in (jnp.int32(0), Draw(jnp.int32(0), y)):
        oracle = graph.open(None, 1, (), y, move)
        assert int(oracle.queries()) == 0
        assert oracle.losses().tolist() == [0.0, 0.5, 0.75]
        assert int(oracle.queries()) == 2
    game = jo.PartialMonitoring([[0, 1, 2], [1, 0, 1]], [[7, 3, 7], [3, 3, 3]])
    for column, symbol in enumerate((0, 1, 0)):
        oracle = game.open(None, 1, (), jnp.array(game.losses)[:, column] + 1e-3, jnp.int32(0))
        assert (int(oracle.queries()), int(oracle.symbol()), int(oracle.queries())) == (0, symbol, 1)
