"""Stratified verification: the terms P(N = n) E[theta | N = n] of an estimator that first draws an integer N.

The mean of a series estimator is the sum of these terms, which are the terms of its series. Plain samples show only the
sum, in which a wrong tenth coefficient is invisible. Strata test each term in its own unit, the sum, and the
distribution of N.
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
    describe_kurtosis,
    largest_bias,
    samples_to_decide,
    target_unit,
    target_units,
    worst_coordinate,
)
from jaxonline.verify.sampling import STRATA_STREAM, Moments, Sampler, Summary, as_pytree
from jaxonline.verify.settings import Settings
from jaxonline.verify.strata import Strata, count_errors

# Shares of the false-alarm rate: all terms, their sum, the distribution of N.
_TERMS_SHARE, _SUM_SHARE, _COUNT_SHARE = 0.5, 0.4, 0.1
_SLACK = 0.01  # tolerated error of the sum of the terms, as a share of the bias to detect
_PRECISION = 1e-8  # relative, of a stated second moment


def verify_strata(strata: Strata, target: np.ndarray, settings: Settings) -> Verification:
    """Return the verdict on all terms, their sum and the distribution of N, with the settings of `unbiased`."""
    live = np.flatnonzero(strata.pmf > 0)
    level = settings.level / target.size
    strata_of_n = [_Stratum.create(strata, int(n), target, settings, _TERMS_SHARE * level / len(live)) for n in live]
    sizes = _allocate(strata_of_n, np.abs(target).max(), _SUM_SHARE * level, settings)
    terms = []
    for stratum, size in zip(strata_of_n, sizes, strict=True):
        terms.append(stratum.sample(2 if settings.is_out_of_time() else size, settings))
        if settings.progress is not None:
            settings.progress(sum(sizes[: len(terms)]), sum(sizes))
    return _conclude(strata, target.ravel(), terms, settings)


def _conditional(given, n, key):
    return given(key, n)


def _rounding(n: int, sampler: Sampler, second_moment: np.ndarray) -> np.ndarray:
    """Return the rounding error of a product of n factors, which may also underflow."""
    return (32 + 4 * n) * sampler.epsilon * np.sqrt(second_moment) + sampler.tiny


@dataclasses.dataclass(frozen=True)
class _Stratum:
    """The stratum of one value of N, before sampling."""

    n: int
    p: float
    sampler: Sampler
    interval: KnownVariance | BoundedKurtosis
    variance: np.ndarray
    rounding: np.ndarray
    term: np.ndarray
    level: float
    stated: np.ndarray | None = None
    pilot: Summary | None = None

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
            first_block = None
            interval: KnownVariance | BoundedKurtosis = KnownVariance(variance, level)
        else:
            first_block = sampler.summary(settings.width)
            pilot = first_block.moments
            rounding = _rounding(n, sampler, pilot.second_moment)
            interval = BoundedKurtosis(settings.kurtosis_of_intervals, np.maximum(pilot.variance, rounding**2), level)
            variance = 1.5 * interval.scale
        return cls(n, p, sampler, interval, variance, rounding, term, level, stated, first_block)

    def needed(self, settings: Settings, n_strata: int) -> float:
        """Return how many samples detect an error of `detect` times this term; infinite for a term of 0 or unknown."""
        goal = settings.detect * np.abs(self.term).max() / self.p - self.rounding
        if not np.all(goal > 0):
            return np.inf
        power = 1 - settings.miss_probability / n_strata
        return max(
            self.interval.least_samples(self.level),
            samples_needed(self.interval, self.variance, goal, self.level, power),
        )

    def sample(self, size: int, settings: Settings) -> "_Term":
        """Draw samples of this stratum and test its term."""
        drawn = Summary.empty(self.term.size, self.stated)
        for last in self.sampler.running(size, 1, self.stated):
            drawn = last
            if settings.is_out_of_time():
                break
        stratum, contradiction, is_stated = self, None, True
        if drawn.bets is not None and np.any(drawn.bets.contradicted(self.level)):
            contradiction = f"the samples contradict the second moment for N = {self.n}; give valid second_moments"
            interval = BoundedKurtosis.affordable(
                settings.kurtosis_of_intervals, drawn.moments.n, self.guess, self.level
            )
            stratum, is_stated = dataclasses.replace(self, interval=interval), settings.states(interval.kurtosis)
        term = stratum.to_term(drawn.moments, settings.miss_probability)
        objection = stratum.objection(drawn, term)
        if contradiction and not (is_stated and np.any(term.is_wrong())):
            objection = objection or contradiction
        return dataclasses.replace(term, objection=objection)

    def objection(self, drawn: Summary, term: "_Term") -> str | None:
        """Return the reason why the samples decide nothing, or None."""
        summaries = (drawn,) if self.pilot is None else (self.pilot, drawn)
        not_finite = self.sampler.describe_not_finite(*summaries)
        if not_finite:
            return f"{not_finite} for N = {self.n}; give an estimator that is always finite"
        if isinstance(self.interval, BoundedKurtosis):
            if drawn.moments.kurtosis.max() > self.interval.kurtosis:
                reason = f"the sample's kurtosis given N = {self.n} exceeds {self.interval.kurtosis:.4g}"
                return f"{reason}; give second_moments, or a larger kurtosis"
            if np.any(term.is_wrong()) and not np.any(term.is_wrong() & ~drawn.constant):
                return f"all samples given N = {self.n} are identical and do not bound others; give second_moments"
        return None

    def to_term(self, moments: Moments, miss: float) -> "_Term":
        """Estimate the term from the moments of this stratum."""
        half_width = self.interval.half_width(moments, self.level)
        scale = (self.p / max(moments.n, 1)) ** 2
        return _Term(
            n=self.n,
            mean=self.p * moments.mean,
            half_width=self.p * (half_width + self.rounding),
            detectable=self.p * (half_width + self.interval.half_width(moments, miss) + self.rounding),
            rounding=self.p * self.rounding,
            squares=scale * (moments.m2 + max(moments.n, 1) * half_width**2),
            variance=scale * max(moments.n, 1) * self.interval.variance_bound(moments, half_width, self.level),
            scale=scale * moments.n * self.guess,
            second_moment=self.p * moments.second_moment,
            samples=moments.n,
            target=self.term,
        )

    @property
    def guess(self) -> np.ndarray:
        """A guess of the variance from knowledge independent of the tested samples."""
        return self.interval.variance if isinstance(self.interval, KnownVariance) else self.interval.scale


@dataclasses.dataclass(frozen=True)
class _Term:
    """Estimate of the term P(N = n) E[theta | N = n] by coordinate; `target` is NaN if it is unknown."""

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
    objection: str | None = None

    def is_wrong(self) -> np.ndarray:
        """Whether the interval of the term excludes the stated term, by coordinate."""
        return np.abs(self.mean - self.target) > self.half_width

    def resolved(self, detect: float) -> bool:
        return bool(np.all(self.detectable <= detect * np.abs(self.target).max()))


def _allocate(strata: list[_Stratum], target: float, level: float, settings: Settings) -> list[int]:
    """Allocate samples to the sum first (Neyman), then to the terms that are the cheapest to resolve."""
    budget = settings.samples or settings.max_samples
    spread = np.array([s.p * np.sqrt(s.variance.max()) for s in strata])
    log = np.log(1 / level)
    goal = settings.detect * target / (np.sqrt(2 * log + 5) + np.sqrt(2 * np.log(1 / settings.miss_probability) + 5))
    needed = np.array([s.needed(settings, len(strata)) for s in strata])
    sizes = np.array([float(s.interval.least_samples(s.level)) for s in strata])
    if goal > 0:
        sizes = np.maximum(sizes, spread * spread.sum() / goal**2)
    sizes = np.ceil(sizes * min(1.0, budget / sizes.sum()))
    left = budget - sizes.sum()
    for i in np.argsort(needed):
        extra = max(needed[i] - sizes[i], 0.0)
        if extra <= left:
            sizes[i] += extra
            left -= extra
    return [max(int(size), 2) for size in sizes]


def _half_width_of_sum(terms: list[_Term], tuned_to: float, level: float) -> np.ndarray:
    """Return the half-width of the sum of all terms, from the intervals of the terms."""
    squares, variance, scale, rounding = (
        np.sum([getattr(term, name) for term in terms], axis=0) for name in ("squares", "variance", "scale", "rounding")
    )
    return weighted_sum(squares, variance, scale, tuned_to, level) + rounding


def _conclude(strata: Strata, flat: np.ndarray, terms: list[_Term], settings: Settings) -> Verification:
    second_moment = sum(term.second_moment for term in terms)
    units, unit_name = target_units(flat, np.asarray(second_moment), settings.per_coordinate)
    tolerance = settings.detect * units
    remainder, contradictions = _remainder(strata, flat, tolerance)
    bias = sum(term.mean for term in terms) - flat
    level = _SUM_SHARE * settings.level / flat.size
    half_width = remainder + _half_width_of_sum(terms, level, level)
    detectable = half_width + _half_width_of_sum(terms, level, settings.miss_probability)
    verdict, reason = decide(bias, half_width, tolerance)
    wrong = [term for term in terms if np.any(term.is_wrong()) and term.objection is None]
    count_notes = count_errors(strata, settings, _COUNT_SHARE * settings.level)
    objections = [term.objection for term in terms if term.objection is not None]
    notes = [*contradictions, *count_notes, *objections]
    notes += [f"the term of N = {t.n} is {_largest(t.mean):.4g} instead of {_largest(t.target):.4g}" for t in wrong]
    notes += _coverage(strata, terms, remainder / float(units.min()), settings.detect, float(units.max()))
    if wrong and verdict != BIASED:  # only a term is wrong: report it
        first = wrong[0]
        unit, _ = target_unit(first.target, 1.0)
        units, unit_name = np.full(flat.shape, unit), f"the term of N = {first.n}"
        bias, half_width, detectable = first.mean - first.target, first.half_width, first.detectable
    assumes_kurtosis = strata.second_moments is None and settings.kurtosis is None
    if count_notes or contradictions or (wrong and not assumes_kurtosis):
        verdict = BIASED
    elif objections:
        verdict = UNDECIDED
    elif assumes_kurtosis and (wrong or verdict != UNDECIDED):
        limit = describe_kurtosis(settings.kurtosis_of_intervals)
        condition = f"{BIASED if wrong else verdict} if the kurtosis given N is at most {limit}, which no sample shows"
        verdict = UNDECIDED
        notes.insert(0, f"{condition}; give kurtosis or second_moments")
    elif verdict == UNDECIDED:
        samples = sum(term.samples for term in terms)
        notes.insert(0, f"{reason}; {_advice(samples, bias, half_width, tolerance, remainder, settings)}")
    i = worst_coordinate(bias, half_width)
    return Verification(
        verdict=verdict,
        method="stratified",
        bias=float(bias[i] / units[i]),
        half_width=float(half_width[i] / units[i]),
        detectable=float(np.max(detectable / units)),
        level=settings.level,
        power=settings.power,
        samples=sum(term.samples for term in terms),
        unit=float(units[i]),
        unit_name=unit_name,
        second_moment=float(np.sum(second_moment)),
        notes=tuple(notes),
        assumption=_assumption(strata, settings),
        detect=settings.detect,
        largest_bias=largest_bias(bias, half_width, units, unit_name),
    )


def _remainder(strata: Strata, flat: np.ndarray, tolerance: np.ndarray) -> tuple[float, list[str]]:
    """Return a bound on the sum beyond the strata, and errors if the terms do not sum to the target."""
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
        return 0.0, [f"{text}; give remainder if the rest is at N >= {len(strata.pmf)}"]
    return stated, [f"{text}, further off than the remainder {stated:.3g}"]


def _assumption(strata: Strata, settings: Settings) -> str:
    assumption = "the second moments given N are at most the stated ones"
    text = (
        assumption if strata.second_moments is not None else f"kurtosis given N <= {settings.kurtosis_of_intervals:g}"
    )
    beyond = 1 - strata.pmf.sum()
    if strata.remainder is None and beyond > 1e-6:
        text += f" and the terms of N >= {len(strata.pmf)}, of probability {beyond:.2g}, are 0"
    return text


def _advice(samples: int, bias, half_width, tolerance, remainder: float, settings: Settings) -> str:
    if settings.is_out_of_time():
        return f"the time limit ended the sampling after {samples:,} samples (max_seconds)"
    if np.any(np.abs(bias) + remainder >= tolerance):
        return f"the remainder {remainder:.3g} is too large; give more strata, or a smaller remainder"
    needed = samples_to_decide(samples, bias, half_width - remainder, tolerance - remainder)
    return f"about {float(f'{needed:.2g}'):,.0f} samples are needed (samples, max_samples)"


def _coverage(strata: Strata, terms: list[_Term], remainder: float, detect: float, unit: float) -> list[str]:
    notes = [f"N >= {len(strata.pmf)} not sampled, remainder {remainder:.1g}"]
    if strata.terms is not None:
        nonzero = [term for term in terms if np.any(term.target != 0)]
        unresolved = [term for term in nonzero if not term.resolved(detect)]
        weight = sum(float(np.abs(term.target).max()) for term in unresolved) / unit
        text = f"{len(nonzero) - len(unresolved)} of {len(nonzero)} terms resolved to {detect:g} of themselves"
        notes.insert(0, text + (f", the others weigh {weight:.1g}" if unresolved else ""))
    if strata.draw is None:
        notes.append("the distribution of N is not tested")
    return notes


def _largest(value: np.ndarray) -> float:
    return float(value[int(np.argmax(np.abs(value)))])
