"""Verification by strata: an estimator that draws an integer N first is checked for each value of N on its own.

A series estimator's mean is sum_n P(N = n) E[theta | N = n], and its n-th summand is the n-th term of the series. A
plain sample sees the sum only, in which a wrong tenth coefficient is lost; the strata see each term in units of
itself, as well as the sum, and the law of N.
"""

import dataclasses

import jax
import numpy as np

from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.verify.intervals import BoundedKurtosis, KnownVariance, samples_needed, weighted_sum
from jaxonline.verify.layout import Layout
from jaxonline.verify.result import (
    BIASED,
    UNDECIDED,
    Verification,
    decide,
    samples_to_decide,
    target_unit,
    target_units,
    worst_coordinate,
)
from jaxonline.verify.sampling import STRATA_STREAM, Moments, Sampler, Summary, as_pytree
from jaxonline.verify.settings import Settings
from jaxonline.verify.strata import Strata, count_errors

# How the false-alarm rate is shared out: each term, their sum, the law of N.
_TERMS, _SUM, _LAW = 0.5, 0.4, 0.1
_SLACK = 0.01  # a share of the bias to detect that terms may be off by without a finding, as sums that are cut off are
_PRECISION = 1e-8  # of a second moment that is stated


def verify_strata(strata: Strata, target: np.ndarray, settings: Settings) -> Verification:
    """The verdict on all terms, their sum and the law of N; the settings are those of `unbiased`."""
    live = np.flatnonzero(strata.pmf > 0)
    level = settings.level / target.size
    strata_of_n = [_Stratum.create(strata, int(n), target, settings, _TERMS * level / len(live)) for n in live]
    sizes = _allocate(strata_of_n, np.abs(target).max(), _SUM * level, settings)
    terms = []
    for stratum, size in zip(strata_of_n, sizes, strict=True):
        terms.append(stratum.sample(2 if settings.is_out_of_time() else size, settings))
        if settings.progress is not None:
            settings.progress(sum(sizes[: len(terms)]), sum(sizes))
    return _conclude(strata, target.ravel(), terms, settings)


def _conditional(given, n, key):
    return given(key, n)


def _rounding(n: int, sampler: Sampler, second_moment: np.ndarray) -> np.ndarray:
    """A product of n factors carries the rounding of n operations, and may vanish altogether."""
    return (32 + 4 * n) * sampler.epsilon * np.sqrt(second_moment) + sampler.tiny


@dataclasses.dataclass(frozen=True)
class _Stratum:
    """One value of N before it is sampled."""

    n: int
    p: float
    sampler: Sampler
    interval: KnownVariance | BoundedKurtosis
    variance: np.ndarray
    rounding: np.ndarray
    term: np.ndarray
    level: float
    stated: np.ndarray | None = None

    @classmethod
    def create(cls, strata: Strata, n: int, target: np.ndarray, settings: Settings, level: float) -> "_Stratum":
        p = float(strata.pmf[n])
        estimator = jax.tree_util.Partial(_conditional, as_pytree(strata.given), np.int32(n))
        sampler = settings.sampler(estimator, STRATA_STREAM, n)
        layout = Layout.from_estimate(sampler.estimate)
        if not layout.is_array:
            raise ArgumentTypeError("given", f"must return one array of real numbers (got {sampler.estimate})")
        layout.vector("target", target)
        term = np.full(target.size, np.nan) if strata.terms is None else strata.terms[n].ravel()
        stated = None if strata.second_moments is None else strata.second_moments[n].ravel()
        if stated is not None:
            rounding = _rounding(n, sampler, stated)
            least = np.maximum(rounding**2, _PRECISION * stated)
            variance = np.maximum(stated - np.nan_to_num(term / p) ** 2, least)
            interval: KnownVariance | BoundedKurtosis = KnownVariance(variance, level)
        else:
            pilot = sampler.summary(settings.width).moments
            rounding = _rounding(n, sampler, pilot.second_moment)
            interval = BoundedKurtosis(settings.kurtosis, np.maximum(pilot.variance, rounding**2), level)
            variance = 1.5 * interval.scale
        return cls(n, p, sampler, interval, variance, rounding, term, level, stated)

    def needed(self, settings: Settings, n_strata: int) -> float:
        """The samples that resolve this term to `detect` of itself; infinite where it is zero or not known."""
        goal = settings.detect * np.abs(self.term).max() / self.p - self.rounding
        if not np.all(goal > 0):
            return np.inf
        power = 1 - settings.miss_probability / n_strata
        return max(
            self.interval.least_samples(self.level),
            samples_needed(self.interval, self.variance, goal, self.level, power),
        )

    def sample(self, size: int, settings: Settings) -> "_Term":
        """Draw samples of this stratum and judge its term."""
        drawn = Summary.empty(self.term.size, self.stated)
        for last in self.sampler.running(size, 1, self.stated):
            drawn = last
            if settings.is_out_of_time():
                break
        judged, wrong = self, None
        if drawn.bets is not None and np.any(drawn.bets.contradicted(self.level)):
            wrong = f"the samples contradict the second moment stated for N = {self.n}: give second_moments that hold"
            interval = BoundedKurtosis.affordable(settings.kurtosis, drawn.moments.n, self.guess, self.level)
            judged = dataclasses.replace(self, interval=interval)
        term = judged.to_term(drawn.moments, settings.miss_probability)
        refusal = judged.objection(drawn, term) or (None if np.any(term.wrong()) else wrong)
        return dataclasses.replace(term, refusal=refusal)

    def objection(self, drawn: Summary, term: "_Term") -> str | None:
        """Why the samples do not count, if there is a reason."""
        if drawn.not_finite:
            return f"{drawn.not_finite} samples given N = {self.n} are not finite: such an estimate has no mean"
        if isinstance(self.interval, BoundedKurtosis):
            if drawn.moments.kurtosis.max() > self.interval.kurtosis:
                heavy = f"the sample's kurtosis given N = {self.n} exceeds the assumed {self.interval.kurtosis:.4g}"
                return f"{heavy}: give second_moments, or a larger kurtosis"
            if np.any(term.wrong()) and not np.any(term.wrong() & ~drawn.constant):
                return f"all samples given N = {self.n} are identical, and say nothing of others: give second_moments"
        return None

    def to_term(self, moments: Moments, miss: float) -> "_Term":
        """What the moments of this stratum say of its term."""
        half_width = self.interval.half_width(moments, self.level)
        scale = (self.p / max(moments.n, 1)) ** 2
        return _Term(
            n=self.n,
            mean=self.p * moments.mean,
            half_width=self.p * (half_width + self.rounding),
            detectable=self.p * (half_width + self.interval.half_width(moments, miss) + self.rounding),
            rounding=self.p * self.rounding,
            squares=scale * (moments.m2 + moments.n * half_width**2),
            variance=scale * moments.n * self.interval.variance_bound(moments, half_width, self.level),
            scale=scale * moments.n * self.guess,
            second_moment=self.p * moments.second_moment,
            samples=moments.n,
            target=self.term,
        )

    @property
    def guess(self) -> np.ndarray:
        """The variance, as it is known without the samples that are judged."""
        return self.interval.variance if isinstance(self.interval, KnownVariance) else self.interval.scale


@dataclasses.dataclass(frozen=True)
class _Term:
    """What the samples of one stratum say of its term P(N = n) E[theta | N = n], coordinate by coordinate.

    `target` is NaN where the term is not known.
    """

    n: int
    mean: np.ndarray
    half_width: np.ndarray
    detectable: np.ndarray
    rounding: np.ndarray
    squares: np.ndarray
    variance: np.ndarray
    scale: np.ndarray
    second_moment: np.ndarray
    samples: int
    target: np.ndarray
    refusal: str | None = None

    def wrong(self) -> np.ndarray:
        """Whether the interval excludes the term, coordinate by coordinate."""
        return np.abs(self.mean - self.target) > self.half_width

    def resolved(self, detect: float) -> bool:
        return bool(np.all(self.detectable <= detect * np.abs(self.target).max()))


def _allocate(strata: list[_Stratum], target: float, level: float, settings: Settings) -> list[int]:
    """Samples for the sum first (Neyman), then for the terms that are the cheapest to resolve."""
    budget = settings.samples or settings.max_samples
    spread = np.array([s.p * np.sqrt(s.variance.max()) for s in strata])
    log = np.log(1 / level)
    wanted = settings.detect * target / (np.sqrt(2 * log + 5) + np.sqrt(2 * np.log(1 / settings.miss_probability) + 5))
    own = np.array([s.needed(settings, len(strata)) for s in strata])
    sizes = np.array([float(s.interval.least_samples(s.level)) for s in strata])
    if wanted > 0:
        sizes = np.maximum(sizes, spread * spread.sum() / wanted**2)
    sizes = np.ceil(sizes * min(1.0, budget / sizes.sum()))
    left = budget - sizes.sum()
    for i in np.argsort(own):
        extra = max(own[i] - sizes[i], 0.0)
        if extra <= left:
            sizes[i] += extra
            left -= extra
    return [max(int(size), 2) for size in sizes]


def _half_width_of_sum(terms: list[_Term], tuned_to: float, level: float) -> np.ndarray:
    """The half-width of the sum of all terms: the intervals of the terms bound what it needs to know."""
    squares, variance, scale, rounding = (
        np.sum([getattr(term, name) for term in terms], axis=0) for name in ("squares", "variance", "scale", "rounding")
    )
    return weighted_sum(squares, variance, scale, tuned_to, level) + rounding


def _conclude(strata: Strata, flat: np.ndarray, terms: list[_Term], settings: Settings) -> Verification:
    second_moment = sum(term.second_moment for term in terms)
    units, unit_name = target_units(flat, np.asarray(second_moment), settings.per_coordinate)
    tolerance = settings.detect * units
    remainder, contradiction = _remainder(strata, flat, tolerance)
    bias = sum(term.mean for term in terms) - flat
    level = _SUM * settings.level / flat.size
    half_width = remainder + _half_width_of_sum(terms, level, level)
    seen = half_width + _half_width_of_sum(terms, level, settings.miss_probability)
    verdict, reason = decide(bias, half_width, tolerance)
    wrong, law = [term for term in terms if np.any(term.wrong())], count_errors(strata, settings, _LAW * settings.level)
    wrong = [term for term in wrong if term.refusal is None]
    refusals = [term.refusal for term in terms if term.refusal is not None]
    notes = [*contradiction, *law, *refusals]
    notes += [f"the term of N = {t.n} is {_largest(t.mean):.4g} instead of {_largest(t.target):.4g}" for t in wrong]
    notes += _coverage(strata, terms, remainder / float(units.min()), settings.detect, float(units.max()))
    if wrong and verdict != BIASED:  # the sum does not show it: report the term that does
        first = wrong[0]
        unit, _ = target_unit(first.target, 1.0)
        units, unit_name = np.full(flat.shape, unit), f"the term of N = {first.n}"
        bias, half_width, seen = first.mean - first.target, first.half_width, first.detectable
    if wrong or law or contradiction:
        verdict = BIASED
    elif refusals:
        verdict = UNDECIDED
    elif verdict == UNDECIDED:
        samples = sum(term.samples for term in terms)
        notes.insert(0, f"{reason}; {_advice(samples, bias, half_width, tolerance, remainder, settings)}")
    i = worst_coordinate(bias, half_width)
    return Verification(
        verdict=verdict,
        method="stratified",
        bias=float(bias[i] / units[i]),
        half_width=float(half_width[i] / units[i]),
        detectable=float(np.max(seen / units)),
        level=settings.level,
        power=settings.power,
        samples=sum(term.samples for term in terms),
        unit=float(units[i]),
        unit_name=unit_name,
        second_moment=float(np.sum(second_moment)),
        notes=tuple(notes),
        assumption=_assumption(strata, settings),
        detect=settings.detect,
    )


def _remainder(strata: Strata, flat: np.ndarray, tolerance: np.ndarray) -> tuple[float, list[str]]:
    """A bound on the sum of what lies beyond the strata; and what is wrong where the terms do not sum to the target."""
    stated = strata.remainder
    if strata.terms is None:
        return float(stated), []  # type: ignore[arg-type]
    total = strata.terms.reshape(len(strata.pmf), -1).sum(axis=0)
    gap = np.abs(flat - total)
    if not np.any(gap > (stated or 0.0) + _SLACK * tolerance):
        return float(gap.max()) if stated is None else stated, []
    i = int(np.argmax(gap / tolerance))
    text = f"the terms sum to {total[i]:.6g} and not to the target {flat[i]:.6g}"
    if stated is None:
        return 0.0, [f"{text}: give remainder if what is missing lies at N >= {len(strata.pmf)}"]
    return stated, [f"{text}, further off than the remainder {stated:.3g}"]


def _assumption(strata: Strata, settings: Settings) -> str:
    known = "the second moments given N are at most the stated ones"
    text = known if strata.second_moments is not None else f"kurtosis given N <= {settings.kurtosis:g}"
    beyond = 1 - strata.pmf.sum()
    if strata.remainder is None and beyond > 1e-6:
        text += f" and nothing comes from N >= {len(strata.pmf)}, of probability {beyond:.2g}"
    return text


def _advice(samples: int, bias, half_width, tolerance, remainder: float, settings: Settings) -> str:
    if settings.is_out_of_time():
        return f"the time was up after {samples:,} samples (max_seconds)"
    if np.any(np.abs(bias) + remainder >= tolerance):
        return f"the remainder {remainder:.3g} leaves too little room: give more strata, or a smaller remainder"
    needed = samples_to_decide(samples, bias, half_width - remainder, tolerance - remainder)
    return f"about {float(f'{needed:.2g}'):,.0f} samples are needed (samples, max_samples)"


def _coverage(strata: Strata, terms: list[_Term], remainder: float, detect: float, unit: float) -> list[str]:
    """What the verdict does not cover."""
    notes = [f"N >= {len(strata.pmf)} not sampled, weighs {remainder:.1g}"]
    if strata.terms is not None:
        there = [term for term in terms if np.any(term.target != 0)]
        blurred = [term for term in there if not term.resolved(detect)]
        weight = sum(float(np.abs(term.target).max()) for term in blurred) / unit
        text = f"{len(there) - len(blurred)} of {len(there)} terms resolved to {detect:g} of themselves"
        notes.insert(0, text + (f", the others weigh {weight:.1g}" if blurred else ""))
    if strata.draw is None:
        notes.append("the law of N is taken as stated")
    return notes


def _largest(value: np.ndarray) -> float:
    return float(value[int(np.argmax(np.abs(value)))])
