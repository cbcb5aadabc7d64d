"""Verification by strata: an estimator that draws an integer N first is checked for each value of N on its own.

A series estimator's mean is sum_n P(N = n) E[theta | N = n], and its n-th summand is the n-th term of the series. A
plain sample sees the sum only, in which a wrong tenth coefficient is lost; the strata see each term in units of
itself, as well as the sum, and the law of N.
"""

import dataclasses

import jax
import numpy as np

from jaxonline.verify.intervals import BoundedKurtosis, KnownVariance, samples_needed, weighted_sum
from jaxonline.verify.result import BIASED, UNDECIDED, Verification, judge, unit_of, worst
from jaxonline.verify.sampling import Moments, Sampler, as_pytree
from jaxonline.verify.settings import Settings
from jaxonline.verify.strata import Strata, law_errors

# How the false-alarm rate is shared out: each term, their sum, the law of N.
_TERMS, _SUM, _LAW = 0.5, 0.4, 0.1


def verify_strata(strata: Strata, target: np.ndarray, settings: Settings) -> Verification:
    """The verdict on all terms, their sum and the law of N; the settings are those of `unbiased`."""
    live = np.flatnonzero(strata.pmf > 0)
    level = settings.level / target.size
    strata_of_n = [_Stratum.create(strata, int(n), target, settings, _TERMS * level / len(live)) for n in live]
    sizes = _allocate(strata_of_n, np.abs(target).max(), _SUM * level, settings)
    terms = []
    for stratum, size in zip(strata_of_n, sizes, strict=True):
        terms.append(stratum.sample(size, settings))
        if settings.progress is not None:
            settings.progress(sum(sizes[: len(terms)]), sum(sizes))
    return _conclude(strata, target.ravel(), terms, settings)


def _conditional(given, n, key):
    return given(key, n)


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

    @classmethod
    def create(cls, strata: Strata, n: int, target: np.ndarray, settings: Settings, level: float) -> "_Stratum":
        p = float(strata.pmf[n])
        estimator = jax.tree_util.Partial(_conditional, as_pytree(strata.given), np.int32(n))
        sampler = Sampler.create(estimator, settings.seed, settings.width, settings.mesh)
        sampler = dataclasses.replace(sampler, key=jax.random.fold_in(sampler.key, n))
        sampler.check_shape(target)
        term = np.full(target.size, np.nan) if strata.terms is None else strata.terms[n].ravel()
        if strata.second_moments is not None:
            second_moment = strata.second_moments[n].ravel()
            variance = np.maximum(second_moment - np.nan_to_num(term / p) ** 2, 0.0)
            interval: KnownVariance | BoundedKurtosis = KnownVariance(variance, level)
        else:
            pilot = sampler.summary(settings.width).moments
            second_moment, variance = pilot.second_moment, 1.5 * pilot.variance
            interval = BoundedKurtosis(settings.kurtosis, pilot.variance, level)
        # A product of n factors carries the rounding of n operations, and may vanish altogether.
        rounding = (32 + 4 * n) * sampler.epsilon * np.sqrt(second_moment) + sampler.tiny
        return cls(n, p, sampler, interval, variance, rounding, term, level)

    def needed(self, settings: Settings, n_strata: int) -> float:
        """The samples that resolve this term to `detect` of itself; infinite where it is zero or not known."""
        goal = settings.detect * np.abs(self.term).max() / self.p - self.rounding
        if not np.all(goal > 0):
            return np.inf
        power = 1 - settings.miss / n_strata
        return max(
            self.interval.least_samples(self.level),
            samples_needed(self.interval, self.variance, goal, self.level, power),
        )

    def sample(self, size: int, settings: Settings) -> "_Term":
        """Draw samples of this stratum and judge its term."""
        drawn = self.sampler.summary(size, first=1)
        term = self.judge(drawn.moments, settings.miss)
        refusal = None
        if drawn.not_finite:
            refusal = f"{drawn.not_finite} samples given N = {self.n} are not finite"
        elif isinstance(self.interval, BoundedKurtosis) and drawn.moments.kurtosis.max() > settings.kurtosis:
            refusal = f"the sample's kurtosis given N = {self.n} exceeds the assumed {settings.kurtosis:g}"
        return dataclasses.replace(term, refusal=refusal)

    def judge(self, moments: Moments, miss: float) -> "_Term":
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
            second_moment=self.p * moments.second_moment,
            samples=moments.n,
            target=self.term,
        )


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
    wanted = settings.detect * target / (np.sqrt(2 * log + 5) + np.sqrt(2 * np.log(1 / settings.miss) + 5))
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
    squares, variance, rounding = (
        np.sum([getattr(term, name) for term in terms], axis=0) for name in ("squares", "variance", "rounding")
    )
    return weighted_sum(squares, variance, tuned_to, level) + rounding


def _conclude(strata: Strata, flat: np.ndarray, terms: list[_Term], settings: Settings) -> Verification:
    second_moment = sum(term.second_moment for term in terms)
    unit, unit_is = unit_of(flat, float(np.sqrt(np.max(second_moment))))
    remainder = strata.remainder
    if remainder is None:
        remainder = float(np.abs(flat - strata.terms.reshape(len(strata.pmf), -1).sum(axis=0)).max())
    bias = sum(term.mean for term in terms) - flat
    level = _SUM * settings.level / flat.size
    half_width = remainder + _half_width_of_sum(terms, level, level)
    seen = half_width + _half_width_of_sum(terms, level, settings.miss)
    verdict, reason = judge(bias, half_width, settings.detect * unit)
    wrong, law = [term for term in terms if np.any(term.wrong())], law_errors(strata, settings, _LAW * settings.level)
    refusals = [term.refusal for term in terms if term.refusal is not None]
    notes = [*law, *refusals]
    notes += [f"the term of N = {t.n} is {_largest(t.mean):.4g} instead of {_largest(t.target):.4g}" for t in wrong]
    notes += _coverage(strata, terms, remainder / unit, settings.detect, unit)
    if wrong and verdict != BIASED:  # the sum does not show it: report the term that does
        first = wrong[0]
        unit, _ = unit_of(first.target, 1.0)
        unit_is = f"the term of N = {first.n}"
        bias, half_width, seen = first.mean - first.target, first.half_width, first.detectable
    if wrong or law:
        verdict = BIASED
    elif refusals and verdict != BIASED:
        verdict = UNDECIDED
    elif verdict == UNDECIDED:
        notes.insert(0, str(reason))
    i = worst(bias, half_width)
    return Verification(
        verdict=verdict,
        method="stratified",
        bias=float(bias[i]) / unit,
        half_width=float(half_width[i]) / unit,
        detectable=float(np.max(seen)) / unit,
        level=settings.level,
        power=settings.power,
        samples=sum(term.samples for term in terms),
        unit=unit,
        unit_is=unit_is,
        second_moment=float(np.sum(second_moment)),
        notes=tuple(notes),
    )


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
