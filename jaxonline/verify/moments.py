"""Verification of second moments, of numbers of queries, and of any computed bound."""

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import OrInfinity, PyTree
from jaxonline.verify.bias import UnbiasedOptions, unbiased
from jaxonline.verify.intervals import bernstein_lower, mean_shortfall
from jaxonline.verify.result import BOUND, RESPECTED, UNDECIDED, VIOLATED, Verification, describe_kurtosis
from jaxonline.verify.sampling import (
    Moments,
    Progress,
    Settings,
    Summary,
    as_pytree,
    estimate_of,
    square_of_estimate,
    with_estimate,
)

_ROUNDING = 1e-9
_AGREEMENT = 1e-5  # relative tolerance of an exact value against samples in float32
_SHORTFALL = 0.25  # relative excess of a wrong exact value that the samples detect


def bound(
    value: Annotated[float, OrInfinity()], limit: Annotated[float, OrInfinity()], *, note: str = ""
) -> Verification:
    """Compare a computed number with the bound that is claimed for it.

    Args:
        value: the number, exact up to rounding.
        limit: the claimed bound on `value`.
        note: a remark for the verdict.

    Raises:
        ValueError: `value` is NaN, or `limit` is not positive.

    Example:
        >>> from jaxonline import verify
        >>> verify.bound(17.0, limit=34.0).verdict, verify.bound(125.0, limit=48.0).verdict
        ('respected', 'violated')
    """
    if isinstance(value, float) and math.isnan(value):
        raise ArgumentError("value", "must be a number (got nan)")
    for name, number in (("value", value), ("limit", limit)):
        if not (isinstance(number, float) and number == math.inf):  # a bound may be infinite
            check.number(name, number)
    if not limit > 0:
        raise ArgumentError("limit", f"must be above 0 (got {limit!r})")
    check.instance("note", note, str, "a string")
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
    estimator: Callable[[jax.Array], PyTree],
    limit: float,
    *,
    exact: float | None = None,
    level: float = 1e-9,
    kurtosis: float | None = None,
    samples: int | None = None,
    seed: int = 0,
    max_samples: int = 1 << 22,
    width: int = 8192,
    mesh: Mesh | None = None,
    progress: Progress | None = None,
    few: bool = False,
) -> Verification:
    """Verify that E |theta|^2 is at most a bound.

    The verdict "violated" needs no assumption: min(|theta|^2, c) has a known range and at most the mean of |theta|^2.
    So a lower confidence limit of its mean above the bound (empirical Bernstein, c from separate samples) is a proof at
    the stated level. The verdict "respected" follows from the exact value if it is given. Otherwise the verdict assumes
    E |theta|^4 <= kurtosis (E |theta|^2)^2 and states this assumption; identical samples then decide nothing. Without
    `kurtosis` the verdict is "undecided", and its note states the weakest such assumption that decides. In the result,
    `bias` is E |theta|^2 / limit - 1.

    Args:
        estimator: a function of a key that returns an estimate (arrays as in `unbiased`) or `Capped`.
        limit: the bound on E |theta|^2, the squares summed over all coordinates.
        exact: the exact E |theta|^2 if it is known. The samples detect a value that is too small. Under the assumption
            on the kurtosis they also detect a value that is 25 % too large.
        level: probability of a wrong verdict.
        kurtosis: bound on E |theta|^4 / (E |theta|^2)^2. If it is None, the number of samples is that for 1000.
        samples: number of samples, instead of the number derived from a first block.
        seed: seed of the samples.
        max_samples: maximum of the derived number of samples.
        width: samples in a block.
        mesh: the devices.
        progress: called as `progress(done, total)` from the host.
        few: compile without optimisation, as in `unbiased`.

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
    drawn, n, cut, not_finite = _squared_norms(estimator, limit, exact, settings)
    sample, assumed = float(drawn.moments.mean[0]), settings.kurtosis_of_intervals
    spread = (
        float(drawn.moments.second_moment[0]) / sample**2 if sample > 0 else 1.0
    )  # E Z^2 / (E Z)^2 of Z = |theta|^2
    low = max(float(bernstein_lower(drawn.moments, cut, level / 2)[1]), 0.0)
    shortfall = mean_shortfall(assumed, n, level / 2)
    high = sample / (1 - shortfall) if shortfall < 1 and spread <= assumed else math.inf
    notes = []
    if exact is None:
        value, half_width = sample, max(high - sample, sample - low)
        verdict = VIOLATED if low > limit else RESPECTED if high <= limit else UNDECIDED
        if verdict != VIOLATED and drawn.constant[0] and assumed > 1:
            verdict = UNDECIDED
            reason = f"all {n:,} samples of |theta| are identical and do not bound other values"
            notes.append(f"{reason}; give exact, or kurtosis=1 if |theta| is constant")
        elif verdict == RESPECTED and kurtosis is None:
            verdict = UNDECIDED
            weakest = describe_kurtosis((1 - sample / limit) ** 2 * n / (2 * math.log(2 / level)))
            condition = f"{RESPECTED} if E |theta|^4 <= {weakest} (E |theta|^2)^2, which no sample shows"
            notes.append(f"{condition}; give kurtosis or exact")
        elif verdict == UNDECIDED:
            notes.append(_advice(sample, spread, limit, settings))
    else:
        value, half_width = float(exact), _ROUNDING * exact
        verdict = VIOLATED if exact > limit * (1 + _ROUNDING) else RESPECTED
        if not low <= exact * (1 + _AGREEMENT) or exact * (1 - _AGREEMENT) > high:
            verdict = UNDECIDED
            sampled = f"at least {low:.6g}" if low > exact else f"at most {high:.6g}"
            notes.append(f"the samples contradict the exact value {exact:.6g}: E |theta|^2 is {sampled}; check exact")
        else:
            notes.append(f"the samples put E |theta|^2 between {low:.4g} and {high:.4g}")
    if not_finite:
        verdict = UNDECIDED
        notes.insert(0, f"{not_finite}, in |theta|^2; give an estimator that is always finite")
    assumption = f"E |theta|^4 <= {assumed:g} (E |theta|^2)^2"
    if exact is not None:
        assumption = f"the exact value is right, and {assumption}"
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
        assumption=assumption if verdict == RESPECTED else "",
    )


def queries(
    counts: Callable[[jax.Array], PyTree], expected: PyTree, **options: Unpack[UnbiasedOptions]
) -> Verification:
    """Verify the mean number of queries of an estimator.

    Args:
        counts: a function of a key that returns the number of queries of one estimate, an integer (any shape), or
            `Capped(number, exceeded)`.
        expected: expected number, for example p / (p - 1)^2 for one round of Algorithm 1 of Cesa-Bianchi,
            Shalev-Shwartz and Shamir (2010) with a dot-product kernel.
        **options: options of `unbiased`.

    Example:
        >>> import jax
        >>> from jaxonline import verify
        >>> p = 2.0  # N with P(N = n) = (p - 1) / p^(n + 1) has the mean 1 / (p - 1)
        >>> verify.queries(lambda key: jax.random.geometric(key, 1 - 1 / p) - 1, 1 / (p - 1), kurtosis=10.0).verdict
        'within tolerance'
    """
    check.function("counts", counts, "a key")
    return unbiased(_AsNumbers(as_pytree(counts)), expected, **options)


@struct
class _Norms:
    estimator: Any
    cut: Any

    def __call__(self, key):
        out = self.estimator(key)
        square = square_of_estimate(estimate_of(out))
        return with_estimate(out, jnp.stack([square, jnp.minimum(square, jnp.asarray(self.cut, square.dtype))]))


@struct
class _AsNumbers:
    counts: Any

    def __call__(self, key):
        out = self.counts(key)
        return with_estimate(out, jax.tree.map(lambda count: jnp.asarray(count).astype(jnp.float32), estimate_of(out)))


def _squared_norms(
    estimator: Any, limit: float, exact: float | None, settings: Settings
) -> tuple[Summary, int, float, str | None]:
    """Sample |theta|^2, whole and truncated, with the number of samples and the truncation from a separate block.

    The text that is returned last describes samples that are not finite.
    """
    norms = _Norms(as_pytree(estimator), np.float32(np.inf))
    sampler = settings.sampler(norms)
    first_block = np.concatenate([values for values, _ in sampler.blocks(settings.width)])
    pilot = first_block[np.isfinite(first_block).all(axis=1), 0].astype(float)
    pilot = pilot if len(pilot) else np.zeros(2)
    n = settings.samples or _required_samples(float(pilot.mean()), limit, exact, settings)
    cut = _choose_truncation(pilot, n, settings.level / 2)
    sampler = dataclasses.replace(sampler, estimator=_Norms(norms.estimator, np.float32(cut)))
    drawn = Summary.empty(2, None)
    for drawn in sampler.running(n, 1):
        if settings.progress is not None:
            settings.progress(drawn.samples, n)
    pilot_summary = Summary.empty(2, None).update(first_block, 0)
    return drawn, n, cut, sampler.describe_not_finite(pilot_summary, drawn)


def _required_samples(pilot: float, limit: float, exact: float | None, settings: Settings) -> int:
    least = math.ceil(2 * settings.kurtosis_of_intervals * math.log(2 / settings.level) / _SHORTFALL**2)
    if exact is not None:
        return min(least, settings.max_samples)
    if pilot >= limit:
        return min(1 << 18, settings.max_samples)
    gap = min(max((limit - pilot) / (2 * limit), 0.01), 0.5)
    needed = 2 * settings.kurtosis_of_intervals * math.log(2 / settings.level) / gap**2
    return min(math.ceil(needed), settings.max_samples)


def _advice(sample: float, spread: float, limit: float, settings: Settings) -> str:
    assumed = settings.kurtosis_of_intervals
    if spread > assumed:
        reason = f"the sample's E |theta|^4 / (E |theta|^2)^2 of {spread:.3g} exceeds {assumed:g}"
        return f"{reason}; give exact, or a larger kurtosis"
    gap = abs(1 - sample / limit)
    needed = 2 * assumed * math.log(2 / settings.level) / max(gap, 1e-9) ** 2
    if needed > 1 << 40:
        return "the samples are too close to the bound; give exact"
    return f"about {float(f'{needed:.2g}'):,.0f} samples are needed (samples, max_samples), or exact, or less kurtosis"


def _choose_truncation(pilot: np.ndarray, n: int, level: float) -> float:
    best, cut = -math.inf, max(float(pilot.max(initial=0.0)), float(np.finfo(np.float32).tiny))
    for candidate in cut * 2.0 ** np.arange(-20, 4):
        moments = Moments.from_samples(np.minimum(pilot, candidate))
        scaled = Moments(n, moments.mean, moments.m2 * n / moments.n, moments.m3, moments.m4)
        low = float(bernstein_lower(scaled, candidate, level))
        if low > best:
            best, cut = low, float(candidate)
    return cut
