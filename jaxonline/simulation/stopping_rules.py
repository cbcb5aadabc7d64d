"""Rules that stop a study when its intervals are narrow enough, or when its learners are compared."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, PrecisionWarning
from jaxonline.parameters.signatures import check_fields
from jaxonline.parameters.types import FiniteFloat, NonNegativeFloat, OpenUnitFloat, PositiveFloat, Text
from jaxonline.results import Result
from jaxonline.results.statistics import Estimate, estimates, mean_over_runs
from jaxonline.results.statistics.intervals import Anytime, Betting, ConfidenceInterval
from jaxonline.results.statistics.means import paired_differences
from jaxonline.results.statistics.ranking import PairStates, encode_pairs, has_normal_mean, look

# ---------------------------------------------------------------------------------------------------------------------
# Simulation of as many runs as are needed for confidence intervals of a given width.


ANYTIME = Anytime()
MAX_NEEDED = 1_000_000  # runs


@dataclass(frozen=True)
class Precision:
    """Stopping rule: a study ends when every learner's interval at the horizon is narrow enough.

    The rule looks at the intervals repeatedly, so it uses intervals that hold for all numbers of runs at once.
    `Result.mean` uses them too.

    * `jo.intervals.Betting` covers with the requested probability for every distribution of bounded losses. It is used
      if the limits of the quantity are given as `low` and `high`, for example 0 and 1 for the losses of arms, and -1
      and 1 for their regret.
    * `jo.intervals.Anytime` is used otherwise, and if `n_runs` are too few for a betting interval of this width; then a
      warning says so. It relies on the central limit theorem, so the study stops only if the runs vary (unless the game
      is deterministic) and if their skewness divided by sqrt(runs) is at most 0.1. No number of runs guarantees its
      coverage: an event that is too rare for the simulated runs, and that costs much, is missing from the mean and from
      the interval. The printed result names the probability of such an event, about 3 / runs.

    The mean of a study that stops by its own runs is biased. It is too small if the study stops before large losses
    occur, and can be too large if `half_width` is relative. The interval holds in spite of this bias.

    Args:
        half_width: largest allowed half-width of the intervals.
        relative: whether `half_width` is relative to the mean.
        quantity: the quantity whose intervals are checked: "regret", or the name of a measure.
        level: probability with which an interval covers its quantity.
        rarest_event: the smallest probability per run of an event that matters; the rule looks first after 3 /
            rarest_event runs, which miss such an event with probability 5 %.
        low: the smallest value that the quantity can have in one round.
        high: the largest value that the quantity can have in one round.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> precision = jo.Precision(0.05, relative=True, quantity="cumulative_loss", low=0.0, high=1.0)
        >>> options = dict(n_rounds=50, n_runs=10_000, block_size=64, stop=precision)
        >>> result = jo.simulate(game, jo.learners.UCB1(), **options)
        >>> of = result.mean("cumulative_loss")
        >>> bool(((of.high - of.mean)[:, -1] <= 0.05 * of.mean[:, -1]).all()), len(result.runs) < 2000
        (True, True)
    """

    half_width: PositiveFloat
    relative: bool = False
    quantity: Text = "regret"
    level: OpenUnitFloat = 0.95
    rarest_event: OpenUnitFloat = 0.03
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.low is None) != (self.high is None):
            missing, given = ("low", "high") if self.low is None else ("high", "low")
            raise ArgumentError(missing, f"must be given together with {given} (got None)")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ArgumentError("low", f"must be at most high (got {self.low} and {self.high})")

    def choose_interval(self, n_rounds: int, most_runs: int) -> ConfidenceInterval:
        """Return the interval of a study of at most `most_runs` runs, which does not depend on its runs."""
        if self.low is None or self.high is None:
            return ANYTIME
        betting = Betting(self.low, self.high, self.quantity)
        fewest = 0 if self.relative else betting.after(n_rounds).fewest_runs(self.half_width, self.level)
        if fewest <= most_runs:
            return betting
        warnings.warn(
            f"precision: a betting interval of the {self.quantity} with the half-width {self.half_width:g} needs at "
            f"least {fewest:,} runs (n_runs={most_runs:,}); the study uses jo.intervals.Anytime(), which does not "
            "cover events that occur in no run",
            PrecisionWarning, stacklevel=5,
        )  # fmt: skip
        return ANYTIME

    def attributes(self, reached: bool, runs: int, interval: ConfidenceInterval = ANYTIME) -> dict[str, Any]:
        """Return attributes of a store: the requested precision, whether it is reached, and the kind of interval."""
        return {"precision": self.summary(reached, runs, interval), "interval": interval.to_json()}

    def summary(self, reached: bool, runs: int, interval: ConfidenceInterval = ANYTIME) -> dict[str, Any]:
        """Return the requested precision, whether it is reached, and what the runs cannot show, for `Result.meta`."""
        requested = {name: getattr(self, name) for name in ("half_width", "relative", "quantity", "level")}
        unseen = None if isinstance(interval, Betting) else unseen_probability(runs, self.level)
        return requested | {"reached": reached, "runs": runs, "biased_mean": reached, "unseen_probability": unseen}

    def excess(
        self,
        result: Result,
        interval: ConfidenceInterval = ANYTIME,
        is_deterministic: Callable[[], bool] = lambda: False,
    ) -> float:
        """Return the widest half-width at the horizon divided by the requested one; at most 1 means reached.

        The result is infinite if the interval relies on nearly normal means, and the runs of a learner do not vary or
        are too skewed.
        """
        if isinstance(interval, Anytime) and not self.normal_means(result, is_deterministic).all():
            return math.inf
        return self._excess(result.mean(self.quantity, self.level, interval), is_deterministic)

    def normal_means(self, result: Result, is_deterministic: Callable[[], bool]) -> np.ndarray:
        """Return which learners have nearly normal means at the horizon [L]."""
        return has_normal_mean(result.values(self.quantity)[:, :, -1], is_deterministic)

    def runs_needed(self, result: Result, interval: ConfidenceInterval) -> int:
        """Return about how many runs reach the precision, from 1, 2, 4, ... copies of the runs; `MAX_NEEDED` at most.

        The half-width is a power of the number of runs between the last two numbers of copies.
        """
        values, interval = result.values(self.quantity)[:, :, -1], interval.after(result.rounds[-1])
        before = math.inf
        while values.shape[1] < MAX_NEEDED:
            estimate = mean_over_runs(values[..., None], self.level, interval=interval)
            excess = self._excess(estimate, lambda: False)
            if excess <= 1.0:
                power = math.log2(before / excess) if math.isfinite(before) else 0.5
                return int(float(f"{values.shape[1] * excess ** (1.0 / power):.2g}"))
            before, values = excess, np.tile(values, 2)
        return MAX_NEEDED

    def _excess(self, estimate: Estimate, is_deterministic: Callable[[], bool]) -> float:
        mean = estimate.mean[:, -1]
        requested = self.half_width * (np.abs(mean) if self.relative else np.ones(len(mean)))
        half = np.maximum(estimate.high[:, -1] - mean, mean - estimate.low[:, -1])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = half / requested
        if (half == 0).any():
            ratios = np.where(half == 0, 0.0 if is_deterministic() else np.inf, ratios)
        return float(np.max(np.where(np.isnan(ratios), np.inf, ratios)))


def first_look(rule: "Precision | UntilDecided") -> int:
    """Return the number of runs that miss the rarest event that matters with probability 5 % at most."""
    return math.ceil(3.0 / rule.rarest_event)


def unseen_probability(runs: int, level: float) -> float:
    """Return the probability of an event that occurs in no run of a study with probability 1 - level; 3 / runs at 95 %.

    Example:
        >>> round(unseen_probability(1000, 0.95), 6)
        0.002991
    """
    return -math.expm1(math.log1p(-level) / runs)


def until_precise(
    play: Callable[[range, Result | None], Result], precision: Precision, most_runs: int, step: int,
    interval: ConfidenceInterval = ANYTIME, is_deterministic: Callable[[], bool] = lambda: False,
) -> Result:  # fmt: skip
    """Simulate runs 0, 1, 2, ... until the precision is reached; `PrecisionWarning` if `most_runs` do not suffice.

    `play` maps a range of runs and the result of earlier runs to the result of all these runs. The number of runs is a
    multiple of `step`, or `most_runs`.
    """
    result, n = None, 0
    until = _round_up(first_look(precision), step, most_runs)
    while True:
        result, n = play(range(n, until), result), until
        excess = precision.excess(result, interval, is_deterministic)
        if excess <= 1.0 or n == most_runs:
            break
        estimated = n * min(4.0, max(1.0, excess**2)) if math.isfinite(excess) else 2 * n
        until = _round_up(max(int(estimated), n + 1), step, most_runs)
    summary = precision.summary(excess <= 1.0, n, interval)
    if excess > 1.0:
        _warn_of_width(precision, result, interval, excess)
    return dataclasses.replace(result, meta=result.meta | {"precision": summary}, interval=interval)


def _warn_of_width(precision: Precision, result: Result, interval: ConfidenceInterval, excess: float) -> None:
    advice = "the runs of a learner do not vary or are too skewed, so the interval is unknown; give low and high"
    if math.isfinite(excess):
        needed = precision.runs_needed(result, interval)
        advice = (
            f"about {needed:,} runs are needed" if needed < MAX_NEEDED else f"more than {MAX_NEEDED:,} runs are needed"
        )
        if isinstance(interval, Betting):
            needed = precision.runs_needed(result, ANYTIME)
            advice += f" (about {needed:,} without low and high, but then events that occur in no run are not covered)"
    warnings.warn(
        f"precision: not reached in n_runs={len(result.runs):,}; the widest interval of the {precision.quantity} has "
        f"{excess:.3g} times the requested half-width {precision.half_width:g}"
        f"{' of the mean' if precision.relative else ''}; {advice}",
        PrecisionWarning, stacklevel=4,
    )  # fmt: skip


def _round_up(runs: int, step: int, most: int | None = None) -> int:
    rounded = -(-runs // step) * step
    return rounded if most is None else min(most, rounded)


# ---------------------------------------------------------------------------------------------------------------------
# Simulation of as many runs as are needed to decide about all pairs of learners.


MAX_LISTED_PAIRS = 3
GROWTH = 10  # the next look is at 1 / GROWTH more runs, rounded up to a block


@dataclass(frozen=True)
class UntilDecided:
    """Stopping rule: a study ends when each pair of learners is decided: better, worse, or no difference that matters.

    The rule compares the means of the quantity at the horizon, run by run, after each further block of runs (or after
    10 % more runs). A pair is decided as soon as the interval of its mean difference excludes 0, or lies between
    -`margin` and `margin`. A decision is final. `Result.decisions` has the decisions and the number of saved runs.

    All decisions of a study are correct together with probability `level`, although the rule looks many times: the
    intervals hold for all numbers of runs at once, and are corrected for the number of pairs (Bonferroni). With
    `Anytime`, this requires that no event matters which is missing from the runs; the printed decisions say so. The
    means of a stopped study are biased. `docs/intervals.md` reports measured error rates.

    * `jo.intervals.Betting` holds for every distribution of bounded losses.
    * `jo.intervals.Anytime` holds for many runs of finite variance. It does not decide if the differences have no
      variance (unless the game is deterministic), or if their skewness divided by sqrt(runs) is above 0.1. It cannot
      know an event that occurs in no run.

    Args:
        margin: the largest difference of means that does not matter; 0 if each difference matters. With 0, the
            comparison of learners with equal means is never decided.
        quantity: the compared quantity: "regret", or the name of a measure.
        level: probability that all decisions are correct together.
        rarest_event: the smallest probability per run of an event that matters; the first decision comes after 3 /
            rarest_event runs, which miss such an event with probability 5 %.
        interval: `jo.intervals.Anytime()`, or `jo.intervals.Betting(low, high)` with the limits of the quantity in one
            round.

    Raises:
        ValueError: a number is out of its range.
        TypeError: the interval does not hold for all numbers of runs at once.

    References:
        Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), "Time-uniform central limit theory and asymptotic
        confidence sequences", for the default interval.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learners = {"UCB1": jo.learners.UCB1(), "random": jo.learners.EpsilonGreedy(1.0)}
        >>> rule = jo.UntilDecided(margin=0.5, quantity="cumulative_loss")
        >>> result = jo.simulate(game, learners, n_rounds=50, n_runs=10_000, block_size=64, stop=rule)
        >>> result.decisions.between("UCB1", "random"), result.decisions.runs, result.decisions.saved
        ('better', 128, 9872)
    """

    margin: NonNegativeFloat
    quantity: Text = "regret"
    level: OpenUnitFloat = 0.95
    rarest_event: OpenUnitFloat = 0.03
    interval: ConfidenceInterval = ANYTIME

    def __post_init__(self) -> None:
        check_fields(self)
        valid = isinstance(self.interval, Anytime | Betting)
        advice = (
            "an interval for all numbers of runs at once: jo.intervals.Anytime() or jo.intervals.Betting(low, high)"
        )
        check.instance("interval", self.interval, valid, advice)

    def check_study(self, learners: int, n_runs: int) -> None:
        """Check that a study has at least two learners and enough runs."""
        if learners < 2:
            raise ArgumentError(
                "learners", f"must be at least two to be compared by stop=UntilDecided (got {learners})"
            )
        if n_runs < first_look(self):
            problem = f"must be at least {first_look(self)}, 3 / rarest_event of stop=UntilDecided (got {n_runs})"
            raise ArgumentError("n_runs", problem)

    def choose_interval(self, n_rounds: int, most_runs: int) -> ConfidenceInterval:
        """Return the interval of a study, which does not depend on its runs."""
        if isinstance(self.interval, Betting):
            return dataclasses.replace(self.interval, quantity=self.quantity)
        return self.interval

    def attributes(self, reached: bool, runs: int, interval: ConfidenceInterval) -> dict[str, Any]:
        """Return attributes of the store of an unfinished study: the rule, and the kind of interval."""
        outcome = {"complete": reached, "runs": runs}
        return {"decisions": self.summary(interval) | outcome, "interval": interval.to_json()}

    def summary(self, interval: ConfidenceInterval) -> dict[str, Any]:
        """Return the numbers of the rule, for `Result.meta`."""
        named = {name: getattr(self, name) for name in ("margin", "quantity", "level", "rarest_event")}
        return named | {"tests": interval.test}

    def differences(self, result: Result, n_runs: int) -> np.ndarray:
        """Return the differences of all pairs of learners [P, R] in the first `n_runs` runs of a result."""
        estimates.check_number(result, self.quantity)
        values = estimates.costs(result, self.quantity)[:, :n_runs]
        return paired_differences(values)


def until_decided(
    play: Callable[[range, Result | None], Result], rule: UntilDecided, most_runs: int, width: int, step: int,
    interval: ConfidenceInterval = ANYTIME, is_deterministic: Callable[[], bool] = lambda: False,
) -> Result:  # fmt: skip
    """Simulate runs 0, 1, 2, ... until all pairs are decided; `PrecisionWarning` if `most_runs` do not suffice.

    `play` is as in `until_precise`. The looks depend on the block size `width`, and not on the number of runs `step`
    that are played at the same time; so the result does not depend on the number of devices.
    """
    result: Any = None  # there is at least one look
    states: Any = None
    computed, n = 0, 0
    for n in looks(first_look(rule), width, most_runs):
        if n > computed:
            until = min(most_runs, _round_up(n, step))
            result, computed = play(range(computed, until), result), until
        differences, between = rule.differences(result, n), interval.after(result.rounds[-1]).of_difference()
        states = look(
            states or PairStates.begin(len(differences)), differences, rule, between, len(differences), is_deterministic
        )
        if not states.undecided.any():
            break
    pairs = encode_pairs(result.learners, states)
    if states.undecided.any():
        _warn(pairs, n)
    outcome = {"complete": not states.undecided.any(), "runs": n, "saved": most_runs - n, "pairs": pairs}
    result = result if n == computed else result.select(runs=slice(n))
    return dataclasses.replace(
        result, meta=result.meta | {"decisions": rule.summary(interval) | outcome}, interval=interval
    )


def looks(least_runs: int, width: int, most_runs: int) -> Iterator[int]:
    """Yield the numbers of runs at which the rule looks: a further block, or 10 % more runs, each time.

    Example:
        >>> list(looks(100, 64, 500))
        [128, 192, 256, 320, 384, 448, 500]
    """
    n = _round_up(least_runs, width)
    while n < most_runs:
        yield n
        n += max(width, _round_up(n // GROWTH, width))
    yield most_runs


def _warn(pairs: list[list[Any]], n_runs: int) -> None:
    undecided = [f"{first!r} and {second!r}" for first, second, decision, *_ in pairs if decision == "undecided"]
    listed = ", ".join(undecided[:MAX_LISTED_PAIRS]) + (", ..." if len(undecided) > MAX_LISTED_PAIRS else "")
    warnings.warn(
        f"until: {len(undecided)} of {len(pairs)} pairs undecided after n_runs={n_runs:,} ({listed}); give more runs "
        "or a larger margin; if the differences do not vary or are very skewed, only "
        "interval=jo.intervals.Betting(low, high) decides",
        PrecisionWarning, stacklevel=5,
    )  # fmt: skip
