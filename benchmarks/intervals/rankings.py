"""Error rates and power of rankings from few runs."""

import warnings
from collections.abc import Callable, Iterable

import numpy as np

import jaxonline as jo
from benchmarks.suites import TextbookBandits
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import joint_p_values, mean_over_runs
from jaxonline.results.statistics.means import skewed_learners

TITLE = "Rankings from few runs"
STUDIES = 1000
REAL_RUNS = 4000
STUDENT, DEFAULT = jo.intervals.Student(), jo.intervals.SkewCorrected()
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def noise_and_event(cost: float, probability: float, noise: str = "normal") -> Draw:
    """Noise with mean 0 and variance 1, plus a loss with the given probability; the mean is 0."""

    def draw(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        small = rng.normal(size=size) if noise == "normal" else rng.uniform(-(3**0.5), 3**0.5, size)
        return small + cost * (rng.random(size) < probability) - cost * probability

    return draw


ONE_LEARNER: dict[str, Draw] = {  # the others are normal
    "normal": noise_and_event(0.0, 0.0),
    "lognormal, sigma 1.5": lambda rng, size: rng.lognormal(sigma=1.5, size=size) - np.exp(1.5**2 / 2),
    "normal, and 10 with probability 0.1": noise_and_event(10.0, 0.1),
    "normal, and 50 with probability 0.02": noise_and_event(50.0, 0.02),
}
EVENTS = {"uniform, and 10 with probability 0.1": (10.0, 0.1), "uniform, and 50 with probability 0.02": (50.0, 0.02)}


def warns(losses: np.ndarray) -> bool:
    """Return whether the ranking of losses [L, R] emits a warning of skewed or few runs."""
    values = losses[:, :, None]
    measures = {"cumulative_loss": values, "queries": np.zeros_like(values)}
    names = tuple(f"learner {i}" for i in range(len(losses)))
    result = jo.Result(names, np.arange(losses.shape[1]), np.array([1]), measures)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SkewedRunsWarning)
        result.ranking("cumulative_loss")
    return bool(caught)


def smallest_p_values(losses: np.ndarray, interval: jo.intervals.ConfidenceInterval) -> np.ndarray:
    """Return the smallest p-value after Holm's correction in each of S studies with losses [S, L, R]."""
    first, second = np.triu_indices(losses.shape[1], 1)
    differences = (losses[:, first] - losses[:, second]).reshape(-1, losses.shape[2])
    p_values = interval.of_difference().p_values(differences, mean_over_runs(differences)).reshape(len(losses), -1)
    return np.nanmin(p_values, axis=1, initial=1.0) * len(first)


def errors_of_rankings(
    distributions: Iterable[str] = tuple(ONE_LEARNER),
    numbers_of_learners: Iterable[int] = (2, 7),
    numbers_of_runs: Iterable[int] = (20, 50, 100),
    studies: int = STUDIES,
) -> Table:
    """Family-wise errors of learners with equal means, one of them with another distribution."""
    rows = []
    for n_learners in numbers_of_learners:
        for distribution in distributions:
            for n in numbers_of_runs:
                rng = np.random.default_rng([5, n_learners, n])
                losses = rng.normal(size=(studies, n_learners, n))
                losses[:, 0] = ONE_LEARNER[distribution](rng, (studies, n))
                student, wrong = (smallest_p_values(losses, kind) < 0.05 for kind in (STUDENT, DEFAULT))
                names = range(studies * n_learners)
                warned = np.zeros(studies, bool)
                warned[[i // n_learners for i in skewed_learners(losses.reshape(-1, n), names)]] = True
                for study in np.flatnonzero(wrong & ~warned):  # a ranking without a decision warns of skewness only
                    warned[study] = warns(losses[study])
                shares = {"student": student, "default": wrong, "silent": wrong & ~warned, "warned": warned}
                shares = {name: 100 * float(which.mean()) for name, which in shares.items()}
                rows.append({"learners": n_learners, "distribution": distribution, "runs": n} | shares)
    columns = (
        Number("learners", "learners", "{:d}"), Text("distribution", "distribution of one"),
        Number("runs", "runs", "{:d}"), Number("student", "t-tests wrong", "{:.1f}"),
        Number("default", "ranking wrong", "{:.1f}"), Number("silent", "wrong without a warning", "{:.1f}"),
        Number("warned", "warned", "{:.1f}"),
    )  # fmt: skip
    return Table("Equal learners", rows, columns)


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
            rng, wrong = np.random.default_rng([6, n]), np.zeros(2)
            for _ in range(studies // 50):
                draws = [game[:, rng.integers(game.shape[1], size=(50, n))].swapaxes(0, 1) for game in chosen]
                for i, kind in enumerate((STUDENT, DEFAULT)):
                    smallest = np.min([smallest_p_values(losses, kind) for losses in draws], axis=0)
                    wrong[i] += (len(chosen) * smallest < 0.05).sum()
            student, default = (float(share) for share in 100 * wrong / (studies // 50 * 50))
            rows.append({"learners": learners, "runs": n, "student": student, "default": default})
    columns = (
        Text("learners"), Number("runs", "runs", "{:d}"), Number("student", "t-tests wrong", "{:.1f}"),
        Number("default", "benchmark wrong", "{:.1f}"),
    )  # fmt: skip
    return Table("Benchmarks", rows, columns)


def errors_of_bounded_rankings(numbers_of_runs: Iterable[int] = (20, 100), studies: int = STUDIES) -> Table:
    """Family-wise errors of two learners with equal means and bounded losses."""
    rows = []
    for distribution, event in EVENTS.items():
        limits = -(3**0.5) - event[0] * event[1], 3**0.5 + event[0]
        kinds = {"default": DEFAULT, "bounded": jo.intervals.Bounded(*limits), "betting": jo.intervals.Betting(*limits)}
        for n in numbers_of_runs:
            rng = np.random.default_rng([7, n])
            losses = noise_and_event(0.0, 0.0, "uniform")(rng, (studies, 2, n))
            losses[:, 0] = noise_and_event(*event, "uniform")(rng, (studies, n))
            shares = {
                name: 100 * float((smallest_p_values(losses, kind) < 0.05).mean()) for name, kind in kinds.items()
            }
            rows.append({"distribution": distribution, "runs": n} | shares)
    heads = {"default": "ranking wrong", "bounded": "Bounded wrong", "betting": "Betting wrong"}
    columns = [Number(name, head, "{:.1f}") for name, head in heads.items()]
    return Table(
        "Bounded", rows, (Text("distribution", "distribution of one"), Number("runs", "runs", "{:d}"), *columns)
    )


def power_of_rankings(
    numbers_of_runs: Iterable[int] = (10, 20, 50, 100), shifts: Iterable[float] = (0.5, 1.0, 2.0), studies: int = 300
) -> Table:
    """Share of differences that are found, for normal losses; one learner is worse than all others."""
    rows = []
    for n_learners in (2, 7):
        for n in numbers_of_runs:
            row: dict = {"learners": n_learners, "runs": n}
            for shift in shifts:
                rng, found = np.random.default_rng([8, n_learners, n]), np.zeros(2)
                for _ in range(studies):
                    losses = rng.normal(size=(n_learners, n)) / 2**0.5
                    losses[0] += shift
                    found += [np.mean(joint_p_values([losses], [kind])[0][0, 1:] < 0.05) for kind in (STUDENT, DEFAULT)]
                row[f"{shift:g} t"], row[f"{shift:g} default"] = 100 * found / studies
            rows.append(row)
    columns = [
        Number(f"{shift:g} {key}", f"{shift:g}: {head}", "{:.0f}")
        for shift in shifts for key, head in (("t", "t-tests"), ("default", "ranking"))
    ]  # fmt: skip
    return Table("Power", rows, (Number("learners", "learners", "{:d}"), Number("runs", "runs", "{:d}"), *columns))


def section() -> str:
    """Return the section about rankings."""
    return f"""\
The tables show the percentage of {STUDIES:,} studies of learners with *equal* means in which a ranking (95 %) states a
difference. If the share is 5 %, then 3.6 to 6.4 % are seen. `Result.ranking` and `benchmark` use the paired tests of
`jo.intervals.SkewCorrected`. The column "t-tests" shows paired t-tests with Holm's correction, which are
`interval=jo.intervals.Student()`.

The promise: at most 5 % of rankings of normal runs, and of benchmarks of real bandits, are wrong. Of rankings of skewed
runs, at most 6 % are wrong without a warning, for 20 runs or more, and skewness that samples show. Normal samples of
100 runs cause no warning.

In the first table, one learner has the given distribution, and the others are normal, with the same mean. A ranking
emits a `SkewedRunsWarning` if the runs of a learner are skewed, or if few runs decide (`Ranking.missing`).

{errors_of_rankings().markdown()}

No test knows an event that the runs do not show: a loss of 50 with probability 0.02 is missing from 36 % of samples of
50 runs, and from 13 % of samples of 100 runs. Each ranking says so in one line. If losses are bounded, then the tests
of `jo.intervals.Bounded` and `jo.intervals.Betting` hold for these events also, at the price of power: after 20 runs
of two learners, `Betting` finds a constant difference of 36 % of the width of the limits, and after 100 runs of 7 %.

{errors_of_bounded_rankings().markdown()}

Benchmarks of the nine games of the study `textbook-bandits` and seven of its learners have 189 pairs. The regrets are
those of {REAL_RUNS:,} real runs, shifted to equal means. Explore-then-commit seldom commits to a wrong arm, which most
samples of 20 runs do not show.

{errors_of_benchmarks(bandit_regrets()).markdown()}

The price is the power of rankings of many normal learners from few runs. The table shows the percentage of differences
that are found, if one learner is worse than the others by 0.5, 1 or 2 standard deviations of a difference:

{power_of_rankings().markdown()}
"""
