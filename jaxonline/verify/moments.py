"""Is a bound on the second moment, or on any number, respected? How many queries does an estimator make?"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.verify.bias import unbiased
from jaxonline.verify.intervals import bernstein_lower, mean_shortfall
from jaxonline.verify.layout import square_of_estimate
from jaxonline.verify.result import BOUND, RESPECTED, UNDECIDED, VIOLATED, Verification
from jaxonline.verify.sampling import Moments, Progress, Summary, as_pytree, estimate_of, with_estimate
from jaxonline.verify.settings import Settings

_ROUNDING = 1e-9
_AGREEMENT = 1e-5  # of an exact value with samples in float32
_SHORTFALL = 0.25  # how far above the samples an exact value must be to be found wrong


def bound(value: float, limit: float, *, note: str = "") -> Verification:
    """Compare a computed number with the bound that is claimed for it.

    Args:
        value: the number, exact up to rounding.
        limit: the bound on it, above 0.
        note: a remark to keep with the verdict.

    Raises:
        ValueError: if `value` is not a number, or `limit` is not positive.

    Example:
        >>> from jaxonline import verify
        >>> verify.bound(17.0, limit=34.0).verdict, verify.bound(125.0, limit=48.0).verdict
        ('respected', 'violated')
    """
    if isinstance(value, float) and math.isnan(value):
        raise ArgumentError("value", "must be a number (got nan)")
    for name, each in (("value", value), ("limit", limit)):
        if not (isinstance(each, float) and math.isinf(each)):  # a bound may be infinite
            check.number(name, each)
    if not limit > 0:
        raise ArgumentError("limit", f"must be above 0 (got {limit!r})")
    ratio = value / limit
    verdict = VIOLATED if ratio > 1 + _ROUNDING else RESPECTED
    return Verification(
        verdict=verdict,
        method="computation",
        bias=ratio - 1,
        half_width=_ROUNDING,
        detectable=2 * _ROUNDING,
        level=0.0,
        power=1.0,
        samples=0,
        unit=float(limit),
        unit_name=BOUND,
        second_moment=math.nan,
        notes=(f"{value:.6g} against {limit:.6g}", *([note] if note else [])),
    )


def second_moment(
    estimator: Callable[[jax.Array], Any],
    limit: float,
    *,
    exact: float | None = None,
    level: float = 1e-9,
    kurtosis: float = 1000.0,
    samples: int | None = None,
    seed: int = 0,
    max_samples: int = 1 << 22,
    width: int = 8192,
    mesh: Mesh | None = None,
    progress: Progress | None = None,
    few: bool = False,
) -> Verification:
    """Verify that E |theta|^2 is at most a bound.

    A violation needs no assumption: min(|theta|^2, c) has a smaller mean and a range, so that a lower confidence
    limit of it above the bound (empirical Bernstein; c is chosen on samples not used again) is a proof at the stated
    level. That the bound is respected rests on the exact value where that is given, and otherwise on the kurtosis:
    E |theta|^4 <= kurtosis (E |theta|^2)^2, which the verdict says, and of which samples that are all identical say
    nothing. In the result, `bias` is E |theta|^2 / limit - 1.

    Args:
        estimator: a function of a key that returns an estimate (arrays as in `unbiased`), or `Capped`.
        limit: the bound on E |theta|^2, the squares summed over all coordinates; above 0.
        exact: the exact E |theta|^2 where it is known; the samples then only have to agree with it: one that is too
            small, or a quarter too large (if the kurtosis holds), is found.
        level: the probability of a wrong verdict.
        kurtosis: see above.
        samples: the number of samples, instead of one derived from a first block.
        seed: the seed of the samples.
        max_samples: the largest number of samples to draw when `samples` is None.
        width: samples in a block.
        mesh: the devices.
        progress: called as `progress(done, total)` from the host.
        few: whether a few blocks of samples will do, 30 or less: their program is compiled without optimisations, which
            take longer than they save.

    Raises:
        TypeError: if `estimator` is not callable.
        ValueError: if `limit` is not above 0, or a rate is not inside (0, 1).

    Example:
        >>> import jax
        >>> from jaxonline import verify
        >>> verify.second_moment(lambda key: jax.random.normal(key, (3,)), limit=4.0, kurtosis=3.0).verdict
        'respected'
    """
    check.positive("limit", limit)
    if exact is not None:
        check.non_negative("exact", exact)
    settings = Settings(1.0, level, 0.5, kurtosis, samples, max_samples, seed, width, mesh, progress, few=few)
    drawn, n, cut = _squared_norms(estimator, limit, exact, settings)
    sample, spread = float(drawn.moments.mean[0]), _spread(drawn.moments)
    low = max(float(bernstein_lower(drawn.moments, cut, level / 2)[1]), 0.0)
    shortfall = mean_shortfall(kurtosis, n, level / 2)
    high = sample / (1 - shortfall) if shortfall < 1 and spread <= kurtosis else math.inf
    notes = []
    if exact is None:
        value, half_width = sample, max(high - sample, sample - low)
        verdict = VIOLATED if low > limit else RESPECTED if high <= limit else UNDECIDED
        if verdict != VIOLATED and drawn.constant[0] and kurtosis > 1:
            verdict = UNDECIDED
            same = f"all {n:,} samples of |theta| are identical"
            notes.append(f"{same}, which says nothing of others: give exact, or kurtosis=1 if |theta| is constant")
        elif verdict == UNDECIDED:
            notes.append(_advice(sample, spread, limit, settings))
    else:
        value, half_width = float(exact), _ROUNDING * exact
        verdict = VIOLATED if exact > limit * (1 + _ROUNDING) else RESPECTED
        if not low <= exact * (1 + _AGREEMENT) or exact * (1 - _AGREEMENT) > high:
            verdict = UNDECIDED
            found = f"at least {low:.6g}" if low > exact else f"at most {high:.6g}"
            notes.append(f"the samples contradict the exact value {exact:.6g}: E |theta|^2 is {found}; check exact")
        else:
            notes.append(f"the samples put E |theta|^2 between {low:.4g} and {high:.4g}")
    if drawn.not_finite:
        verdict = UNDECIDED
        notes.append(f"{drawn.not_finite} samples are not finite: such an estimate has no second moment")
    assumed = f"E |theta|^4 <= {kurtosis:g} (E |theta|^2)^2"
    if exact is not None:
        assumed = f"the exact value is right, and {assumed}"
    notes.append(f"the bound is {limit / value:.4g} times the value" if value > 0 else "the value is 0")
    return Verification(
        verdict=verdict,
        method="sampled moment" if exact is None else "exact moment",
        bias=value / limit - 1,
        half_width=half_width / limit,
        detectable=2 * half_width / limit,
        level=level,
        power=1 - level,
        samples=n,
        unit=float(limit),
        unit_name=BOUND,
        second_moment=sample,
        exact_second_moment=None if exact is None else float(exact),
        second_moment_bound=float(limit),
        exceeded=drawn.exceeded,
        notes=tuple(notes),
        assumption=assumed if verdict == RESPECTED else "",
    )


def queries(counts: Callable[[jax.Array], Any], expected: Any, **options: Any) -> Verification:
    """Verify the mean number of queries of an estimator.

    Args:
        counts: a function of a key that returns the number of queries of one estimate, an integer (any shape), or
            `Capped(number, exceeded)`.
        expected: its expectation, for instance p / (p - 1)^2 for one round of Algorithm 1 of Cesa-Bianchi,
            Shalev-Shwartz and Shamir (2010) with a dot-product kernel.
        **options: the options of `unbiased`.

    Raises:
        TypeError: if `counts` is not callable.
        ValueError: as `unbiased`.

    Example:
        >>> import jax
        >>> from jaxonline import verify
        >>> p = 2.0  # N with P(N = n) = (p - 1) / p^(n + 1) has the mean 1 / (p - 1)
        >>> verify.queries(lambda key: jax.random.geometric(key, 1 - 1 / p) - 1, 1 / (p - 1)).verdict
        'unbiased'
    """
    check.function("counts", counts, "a key")
    return unbiased(_AsNumbers(as_pytree(counts)), expected, **options)


@struct
class _Norms:
    """|theta|^2 and min(|theta|^2, cut) of an estimator."""

    estimator: Any
    cut: Any

    def __call__(self, key):
        out = self.estimator(key)
        square = square_of_estimate(estimate_of(out))
        return with_estimate(out, jnp.stack([square, jnp.minimum(square, jnp.asarray(self.cut, square.dtype))]))


@struct
class _AsNumbers:
    """Counts as floating-point numbers."""

    counts: Any

    def __call__(self, key):
        out = self.counts(key)
        return with_estimate(out, jax.tree.map(lambda count: jnp.asarray(count).astype(jnp.float32), estimate_of(out)))


def _squared_norms(estimator: Any, limit: float, exact: float | None, settings: Settings) -> tuple[Summary, int, float]:
    """Samples of |theta|^2, whole and cut off; how many; and the cut, which a first block of other samples chooses."""
    norms = _Norms(as_pytree(estimator), np.float32(np.inf))
    sampler = settings.sampler(norms)
    pilot = np.concatenate([values[:, 0] for values, _ in sampler.blocks(settings.width)]).astype(float)
    n = settings.samples or _samples(float(pilot.mean()), limit, exact, settings)
    cut = _cut(pilot, n, settings.level / 2)
    sampler = dataclasses.replace(sampler, estimator=_Norms(norms.estimator, np.float32(cut)))
    drawn = Summary.empty(2, None)
    for drawn in sampler.running(n, 1):
        if settings.progress is not None:
            settings.progress(drawn.samples, n)
    return drawn, n, cut


def _spread(moments: Moments) -> float:
    """The sample's E Z^2 / (E Z)^2 of the first entry."""
    mean = float(moments.mean[0])
    return float(moments.second_moment[0]) / mean**2 if mean > 0 else 1.0


def _samples(pilot: float, limit: float, exact: float | None, settings: Settings) -> int:
    """Enough samples to separate the first block's second moment from the bound."""
    least = math.ceil(2 * settings.kurtosis * math.log(2 / settings.level) / _SHORTFALL**2)
    if exact is not None:
        return min(least, settings.max_samples)
    if pilot >= limit:
        return min(1 << 18, settings.max_samples)
    gap = min(max((limit - pilot) / (2 * limit), 0.01), 0.5)
    return min(math.ceil(2 * settings.kurtosis * math.log(2 / settings.level) / gap**2), settings.max_samples)


def _advice(sample: float, spread: float, limit: float, settings: Settings) -> str:
    """What would decide."""
    if spread > settings.kurtosis:
        heavy = f"the sample's E |theta|^4 / (E |theta|^2)^2 of {spread:.3g} exceeds the assumed {settings.kurtosis:g}"
        return f"{heavy}: give exact, or a larger kurtosis"
    gap = abs(1 - sample / limit)
    needed = 2 * settings.kurtosis * math.log(2 / settings.level) / max(gap, 1e-9) ** 2
    if needed > 1 << 40:
        return "the samples are too close to the bound: give exact"
    return f"about {float(f'{needed:.2g}'):,.0f} samples are needed (samples, max_samples), or exact, or less kurtosis"


def _cut(pilot: np.ndarray, n: int, level: float) -> float:
    """The truncation with the largest lower confidence limit, judged by the first block."""
    best, cut = -math.inf, max(float(pilot.max(initial=0.0)), float(np.finfo(np.float32).tiny))
    for candidate in cut * 2.0 ** np.arange(-20, 4):
        moments = Moments.from_samples(np.minimum(pilot, candidate))
        scaled = Moments(n, moments.mean, moments.m2 * n / moments.n, moments.m3, moments.m4)
        low = float(bernstein_lower(scaled, candidate, level))
        if low > best:
            best, cut = low, float(candidate)
    return cut
