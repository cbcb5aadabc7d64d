"""Error rates and power of rankings."""

from collections.abc import Iterable

import numpy as np

import jaxonline as jo
from benchmarks.intervals.laws import LAWS, RUNS, Row, coverage_table, errors_by_runs, shares, skewed
from benchmarks.suites import TextbookBandits
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics import joint_p_values, mean_over_runs
from jaxonline.results.statistics.intervals import ConfidenceInterval

TITLE = "Rankings"
STUDIES, REAL_RUNS, BATCH = 1000, 4000, 50
STUDENT, DEFAULT = jo.intervals.Student(), jo.intervals.SkewCorrected()
SHARED, PRIVATE = 10.0, 0.1  # standard deviations of the noise of a run, and of a learner, with shared noise
FEW = "normal", "lognormal", "spikes 5%", "rare 2%"


def differences_of(losses: np.ndarray) -> np.ndarray:
    """Return the paired differences [S, P, R] of losses [S, L, R]."""
    first, second = np.triu_indices(losses.shape[1], 1)
    return losses[:, first] - losses[:, second]


def smallest_p_values(differences: np.ndarray, interval: ConfidenceInterval) -> np.ndarray:
    """Return the smallest p-value after Holm's correction in each of S studies with differences [S, P, R]."""
    studies, pairs, n = differences.shape
    flat = differences.reshape(-1, n)
    p_values = interval.of_difference().p_values(flat, mean_over_runs(flat)).reshape(studies, pairs)
    return np.nanmin(p_values, axis=1, initial=1.0) * pairs


def warns(losses: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """Return which rankings warn: of the means of the losses [S, L, R], or of the differences [S, P, R]."""
    return skewed(losses).any(axis=1) | skewed(differences).any(axis=1)


def errors_of_rankings(
    laws: Iterable[str] = tuple(LAWS),
    numbers_of_learners: Iterable[int] = (2,),
    numbers_of_runs: Iterable[int] = RUNS[1:],
    studies: int = STUDIES,
    shared: bool = False,
) -> list[Row]:
    """Return the family-wise errors of learners with equal means, one of them with another law.

    The others are normal. With `shared`, all learners also have the same large noise in a run, and the others have
    little noise of their own, so that the law is nearly that of the differences.
    """
    rows = []
    for n_learners in numbers_of_learners:
        for law in laws:
            for n in numbers_of_runs:
                rng, parts = np.random.default_rng([5, n_learners, n]), []
                for first in range(0, studies, BATCH):
                    size = min(BATCH, studies - first)
                    losses = rng.normal(size=(size, n_learners, n)) * (PRIVATE if shared else 1.0)
                    losses[:, 0] = LAWS[law].centred(rng, (size, n))
                    losses += SHARED * rng.normal(size=(size, 1, n)) if shared else 0.0
                    differences = differences_of(losses)
                    tests = [smallest_p_values(differences, kind) < 0.05 for kind in (STUDENT, DEFAULT)]
                    parts.append([*tests, warns(losses, differences)])
                student, wrong, warned = np.concatenate(parts, axis=1)
                row = {"learners": n_learners, "law": law, "runs": n, "student": 100 * float(student.mean())}
                rows.append(row | shares(wrong, warned))
    return rows


def bandit_regrets(runs: int = REAL_RUNS, rounds: int = 300) -> np.ndarray:
    """Return the regrets [9, 7, runs] of bandits of the study textbook-bandits, shifted to equal means in each game."""
    games, learners, _ = TextbookBandits().entries()
    learners = {name: learner for name, learner in learners.items() if name != "EXP3-IX"}
    results = jo.benchmark(games, learners, n_runs=runs, n_rounds=rounds).results.values()
    regrets = np.stack([result.regret[:, :, -1] for result in results])
    return regrets - regrets.mean(axis=2, keepdims=True)


def errors_of_benchmarks(
    regrets: np.ndarray, numbers_of_runs: Iterable[int] = (10, 20, 50, 200), studies: int = STUDIES
) -> Table:
    """Family-wise errors of benchmarks of nine games, whose runs are drawn from `regrets` [9, 7, runs]."""
    rows = []
    for learners, chosen in (("all seven", regrets), ("without explore-then-commit", regrets[:, 1:])):
        for n in numbers_of_runs:
            rng, parts = np.random.default_rng([6, n]), []
            for _ in range(studies // BATCH):
                draws = [game[:, rng.integers(game.shape[1], size=(BATCH, n))].swapaxes(0, 1) for game in chosen]
                pairs = [differences_of(losses) for losses in draws]
                tests = [
                    len(chosen) * np.min([smallest_p_values(own, kind) for own in pairs], axis=0) < 0.05
                    for kind in (STUDENT, DEFAULT)
                ]
                parts.append([*tests, np.any([warns(*game) for game in zip(draws, pairs, strict=True)], axis=0)])
            student, wrong, warned = np.concatenate(parts, axis=1)
            of = shares(wrong, warned)
            rows.append({"learners": learners, "runs": str(n), "t-tests wrong": 100 * float(student.mean())}
                        | {"benchmark wrong": of["wrong"], "warns": of["warned"]})  # fmt: skip
    return coverage_table(rows, "t-tests wrong", "benchmark wrong", "warns")


def power_of_rankings(
    numbers_of_runs: Iterable[int] = (10, 20, 50, 100), shifts: Iterable[float] = (0.5, 1.0, 2.0), studies: int = 200
) -> Table:
    """Percentage of differences that are found, for normal losses; one learner is worse than all others."""
    rows = []
    for n_learners in (2, 7, 20):
        for n in numbers_of_runs:
            row: Row = {"learners": str(n_learners), "runs": str(n)}
            for shift in shifts:
                rng, found = np.random.default_rng([8, n_learners, n]), 0.0
                for _ in range(studies):
                    losses = rng.normal(size=(n_learners, n)) / 2**0.5
                    losses[0] += shift
                    found += np.mean(joint_p_values([losses])[0][0, 1:] < 0.05)
                row[f"{shift:g}"] = 100 * found / studies
            rows.append(row)
    return coverage_table(rows, *(f"{shift:g}" for shift in shifts))


def section() -> str:
    """Return the section about rankings."""
    independent, shared = errors_of_rankings(), errors_of_rankings(shared=True)
    many = [row | {"noise": noise} for noise, is_shared in (("independent", False), ("shared", True))
            for row in errors_of_rankings(FEW, (5, 20), (20, 50, 200), 200, is_shared)]  # fmt: skip
    one = next(row for row in shared if (row["law"], row["runs"]) == (FEW[1], 50))
    return f"""\
All learners have equal means, and a ranking (95 %) is wrong if it states any difference. One learner has the named
law, and the others are normal. A ranking warns if the runs of a learner or the differences of two learners are skewed.
A ranking of fewer than 6 runs states no difference.

### Two learners with independent noise

{errors_by_runs(independent).markdown()}
### Two learners with shared noise

Both learners have the same normal noise in a run, with the standard deviation {SHARED:g}. It hides the skewness of each
learner, and not that of the differences, which have nearly the named law. The other learner also has its own noise with
the standard deviation {PRIVATE:g}.

{errors_by_runs(shared).markdown()}
Paired t-tests (`interval=jo.intervals.Student()`) do not correct for skewness: with {one["law"]} and 50 runs, they are
wrong in {one["student"]:.1f} % of the studies, and the ranking in {one["wrong"]:.1f} %.

### Five and twenty learners

200 studies of each kind.

{errors_by_runs(many, "learners", "noise", "law", studies=200).markdown()}
### Benchmarks of bandits

Benchmarks of the nine games of the study `textbook-bandits` and seven of its learners have 189 pairs. The regrets are
those of {REAL_RUNS:,} real runs, shifted to equal means. Explore-then-commit seldom commits to a wrong arm, which
most samples of 20 runs do not show. The table has the percentages of {STUDIES:,} benchmarks that state a difference,
and that name skewed runs.

{errors_of_benchmarks(bandit_regrets()).markdown()}
### How many differences does a ranking find?

The learners are normal, and one is worse than the others by 0.5, 1 or 2 standard deviations of a difference. Percentage
of these differences that are found:

{power_of_rankings().markdown()}"""
