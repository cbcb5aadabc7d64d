"""Search for the environment with the largest fraction regret / bound in a small game, with random restarts.

A candidate is a table of numbers in [0, 1], one row a round, and a few more numbers ("extras") in [0, 1]; a `Case` says
what they mean. The search starts at the best of many structured candidates and then takes the best of random changes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import stats

Settings = dict[str, Any]
CONFIDENCE = 0.95
STARTS, STEPS = 4, 60  # batches of a restart
STEPS_WITHOUT_TABLE = 16


class Case(NamedTuple):
    """A bound and a family of small games in which it holds.

    Attributes:
        bound: the name of the function in `jaxonline.bounds`.
        game: the game in words.
        shape: rounds, and numbers in a row of the table.
        settings: numbers of the game from the extras [E], such as the bound and the prescribed step size.
        play: (table, settings, key) -> arrays of one run; traced.
        ratios: (arrays [n, runs, ...], tables [n, ...], settings [n, ...]) -> regret / bound [n, runs].
        extras: their number E.
        runs: runs of a candidate during the search; 1 if no random numbers are drawn.
        delta: of a bound that fails with probability delta: the fraction is the quantile 1 - delta over runs.
        covered: whether the theorem covers this game.
        first: a known candidate, one of the starts.
    """

    bound: str
    game: str
    shape: tuple[int, int]
    settings: Callable[[np.ndarray], Settings]
    play: Callable[..., Any]
    ratios: Callable[..., np.ndarray]
    extras: int = 0
    runs: int = 1
    delta: float | None = None
    covered: bool = True
    first: np.ndarray | None = None

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1] + self.extras


class Found(NamedTuple):
    """The largest fraction: confirmed with fresh seeds, with a confidence interval, and as the search saw it."""

    fraction: float
    low: float
    high: float
    searched: float
    restarts: list[float]
    candidate: np.ndarray


class Evaluation:
    """The ratios of candidates of a case. All calls share one program."""

    def __init__(self, case: Case):
        self.case = case
        self.width = 64 if case.runs == 1 else 16
        runs = jax.vmap(case.play, (None, None, 0))
        self.program = jax.jit(jax.vmap(runs))

    def _outputs(self, candidates: np.ndarray, keys: jax.Array) -> tuple[Any, np.ndarray, Settings]:
        rounds, columns = self.case.shape
        candidates = np.asarray(candidates, np.float32)
        tables = candidates[:, : rounds * columns].reshape(len(candidates), rounds, columns)
        chosen = [self.case.settings(one.astype(float)) for one in candidates[:, rounds * columns :]]
        settings = {name: np.array([one[name] for one in chosen], np.float32) for name in chosen[0]}
        outputs = jax.tree.map(lambda leaf: np.asarray(leaf, float), self.program(tables, settings, keys))
        return outputs, tables.astype(float), {name: value.astype(float) for name, value in settings.items()}

    def scores(self, candidates: np.ndarray, seed: int) -> np.ndarray:
        """Return the fractions of candidates, all with the same random numbers."""
        keys = jax.random.split(jax.random.key(seed), self.case.runs)
        ratios = self.case.ratios(*self._outputs(candidates, jax.numpy.broadcast_to(keys, (self.width, *keys.shape))))
        if self.case.delta is None:
            return ratios.mean(axis=1)
        return np.quantile(ratios, 1 - self.case.delta, axis=1, method="inverted_cdf")

    def sample(self, candidate: np.ndarray, seed: int, batches: int) -> np.ndarray:
        """Return the ratios of independent runs of one candidate."""
        parts = []
        for batch in range(batches if self.case.runs > 1 else 1):
            key = jax.random.fold_in(jax.random.key(seed), batch)
            keys = jax.random.split(key, (self.width, self.case.runs))
            parts.append(self._outputs(np.tile(candidate, (self.width, 1)), keys))
        _, tables, settings = parts[0]

        def joined(*leaves):
            return np.concatenate([leaf.reshape(1, -1, *leaf.shape[2:]) for leaf in leaves], axis=1)

        outputs = jax.tree.map(joined, *(outputs for outputs, _, _ in parts))
        ratios = self.case.ratios(outputs, tables[:1], {name: value[:1] for name, value in settings.items()})[0]
        return ratios if self.case.runs > 1 else ratios[:1]


def find_worst(case: Case, restarts: int, seed: int, steps: int | None = None, batches: int = 2) -> Found:
    """Search `restarts` times, choose the best result with new random numbers, and confirm it with others."""
    evaluation, results = Evaluation(case), []
    steps = steps or (STEPS if case.shape[0] else STEPS_WITHOUT_TABLE)
    for restart in range(restarts):
        rng = np.random.default_rng([seed, restart])
        results.append(_search(evaluation, rng, int(rng.integers(2**31)), steps))
    # fresh seeds: a maximum over noisy estimates is too large
    validated = [_summary(case, evaluation.sample(best, seed + 1, batches))[0] for best, _ in results]
    best, searched = results[int(np.argmax(validated))]
    return Found(*_summary(case, evaluation.sample(best, seed + 2, 4 * batches)), searched, validated, best)


def _summary(case: Case, ratios: np.ndarray) -> tuple[float, float, float]:
    """Return the mean or quantile over runs, with a confidence interval."""
    n = len(ratios)
    if case.runs == 1:
        return (float(ratios[0]),) * 3
    if case.delta is None:
        half = stats.norm.ppf((1 + CONFIDENCE) / 2) * ratios.std(ddof=1) / np.sqrt(n)
        return float(ratios.mean()), float(ratios.mean() - half), float(ratios.mean() + half)
    ordered, level = np.sort(ratios), 1 - case.delta
    ranks = stats.binom.ppf([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], n, level).astype(int)
    middle = np.quantile(ratios, level, method="inverted_cdf")
    return float(middle), float(ordered[max(ranks[0] - 1, 0)]), float(ordered[min(ranks[1], n - 1)])


def _search(evaluation: Evaluation, rng: np.random.Generator, seed: int, steps: int) -> tuple[np.ndarray, float]:
    best, score = np.zeros(evaluation.case.size), -np.inf
    for step in range(STARTS + steps):
        make = _start if step < STARTS else _changed
        candidates = np.stack([make(evaluation.case, rng, best) for _ in range(evaluation.width)])
        if step == 0 and evaluation.case.first is not None:
            candidates[0] = evaluation.case.first
        scores = evaluation.scores(candidates, seed)
        if scores.max() > score:
            best, score = candidates[scores.argmax()], float(scores.max())
    return best, score


def _start(case: Case, rng: np.random.Generator, best: np.ndarray) -> np.ndarray:
    """Columns of known patterns; some are the complement of the column before."""
    rounds, columns = case.shape
    table = np.empty((rounds, columns))
    for column in range(columns):
        complement = column > 0 and rng.random() < 0.4
        table[:, column] = 1 - table[:, column - 1] if complement else _pattern(rng, rounds)
    return np.concatenate([table.ravel(), rng.random(case.extras)])


def _pattern(rng: np.random.Generator, n: int) -> np.ndarray:
    """A constant, alternating, switching, random or growing sequence in [0, 1]."""
    t = np.arange(n)
    low, high = rng.choice([0.0, 1.0, rng.random()], 2)
    kind = rng.integers(6)
    if kind == 0:
        return np.full(n, low)
    if kind == 1:
        return np.where((t + rng.integers(2)) // rng.integers(1, 4) % 2, low, 1 - low)
    if kind == 2:
        return np.where(t < rng.integers(n + 1), low, high)
    if kind == 3:
        return (rng.random(n) < rng.random()).astype(float)
    if kind == 4:
        return rng.random(n)
    return (rng.random() + 2.5 * rng.random() * np.sqrt((t + rng.random()) / n)) % 1.0


def _changed(case: Case, rng: np.random.Generator, best: np.ndarray) -> np.ndarray:
    """Change some entries, a part of a column, rows, extras, or all numbers a little."""
    rounds, columns = case.shape
    table, extras = best[: rounds * columns].reshape(case.shape).copy(), best[rounds * columns :].copy()
    kind = rng.integers(5) if table.size else 4
    if kind == 0:
        for _ in range(rng.integers(1, 4)):
            row, column = rng.integers(rounds), rng.integers(columns)
            table[row, column] = rng.choice([0.0, 1.0, rng.random(), 1 - table[row, column]])
    elif kind == 1:
        first, column = rng.integers(rounds), rng.integers(columns)
        last = rng.integers(first, rounds) + 1
        table[first:last, column] = _pattern(rng, last - first)
    elif kind == 2:
        first, second = rng.integers(rounds, size=2)
        table[[first, second]] = table[[second, first]]
        if rng.random() < 0.5:
            table = np.roll(table, rng.integers(-2, 3), axis=0)
    elif kind == 3 or not case.extras:
        where = rng.random(table.shape) < rng.choice([0.1, 1.0])
        table += where * rng.normal(size=table.shape) * 10 ** -rng.uniform(0.5, 3)
    if case.extras and (kind == 4 or rng.random() < 0.2):
        where = rng.random(case.extras) < 0.7
        moved = extras + rng.normal(size=case.extras) * 10 ** -rng.uniform(0, 2.5)
        extras = np.where(where, rng.random(case.extras) if rng.random() < 0.1 else moved, extras)
    return np.clip(np.concatenate([table.ravel(), extras]), 0.0, 1.0)
