"""Is this estimator unbiased? A verdict with stated error rates, by the strongest method that applies."""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline._util import check
from jaxonline.verify.enumeration import Support, enumerate_support
from jaxonline.verify.intervals import (
    Bernstein,
    BoundedKurtosis,
    IntervalMethod,
    KnownVariance,
    detectable,
    samples_needed,
)
from jaxonline.verify.result import UNDECIDED, Verification, judge, unit_of, worst
from jaxonline.verify.sampling import Progress, Sampler, Summary
from jaxonline.verify.settings import Settings
from jaxonline.verify.strata import Strata
from jaxonline.verify.stratified import verify_strata

NEEDS = {"enumeration": "support", "stratified": "strata", "bernstein": "range", "second moment": "second_moment"}
METHODS = ("auto", *NEEDS, "kurtosis")


def unbiased(
    estimator: Callable[[jax.Array], Any] | None,
    target: Any,
    *,
    detect: float = 0.04,
    level: float = 1e-9,
    power: float = 0.999,
    samples: int | None = None,
    method: str = "auto",
    support: Support | Callable[[], Support] | None = None,
    strata: Strata | None = None,
    range: tuple[Any, Any] | None = None,
    second_moment: Any = None,
    kurtosis: float = 1000.0,
    cap_bias: float | None = None,
    seed: int = 0,
    max_samples: int = 1 << 22,
    width: int = 8192,
    mesh: Mesh | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Verify that the mean of an estimator is its target.

    The method follows from what is known about the estimator, the strongest first:

    * `support`: exact enumeration, the bias up to rounding;
    * `strata`: each value of a random integer N on its own, so that a wrong term is seen where its weight is tiny;
    * `range`: empirical Bernstein (Maurer and Pontil 2009);
    * `second_moment`: a self-normalised bound that needs nothing but the variance;
    * otherwise: the same bound under an assumption that is stated, a kurtosis of at most `kurtosis`.

    All of them hold for every number of samples, so heavy tails cost width, not truth: the mean of a correct
    estimator is called biased with probability at most `level`, all coordinates together. (A z-test at the same
    level is wrong far more often on the weights p^N of this field.) With the second moment given, what is tested is
    the joint statement "this mean, and a second moment of at most this". The number of samples is derived from
    `level`, `power` and `detect`, and a first block of samples that is not used again.

    Args:
        estimator: a function of a key that returns an estimate (an array of any shape), or `Capped(estimate,
            exceeded)`; a plain function or a struct of this package. Not used, and may be None, with `support` or
            `strata`.
        target: what its mean should be, of the estimate's shape.
        detect: a bias of this size, in units of the largest |target|, must be found; a verdict "unbiased" means
            that the whole interval lies within it.
        level: the probability of calling a correct estimator biased.
        power: the probability of finding a bias of `detect`.
        samples: the number of samples, instead of the derived one (for strata: in all of them together).
        method: "enumeration", "stratified", "bernstein", "second moment" or "kurtosis"; "auto" takes the first
            whose knowledge is given.
        support: pairs (probability, value), or a function that returns them.
        strata: the estimator given N = n, and what is known of it (`Strata`).
        range: the smallest and the largest value an estimate can take (numbers, or arrays of the target's shape).
        second_moment: E theta^2 coordinate by coordinate, exact or an upper bound, of the target's shape. Infinite:
            the verdict is "undecided", for then no number of samples would do.
        kurtosis: the largest kurtosis E (theta - E theta)^4 / Var^2 of a coordinate for which the last method's error
            rates are to hold; a sample that looks heavier is refused.
        cap_bias: a proven bound on the bias that a cap inside the estimator causes, in the target's units. It must be
            below the bias to detect.
        seed: the seed of the samples.
        max_samples: the largest number of samples to draw when `samples` is None.
        width: samples in a block: the unit of compilation and of reproducibility.
        mesh: the devices (`jaxonline.simulation.blocks.default_mesh`); the numbers do not depend on how many.
        progress: called as `progress(done, total)` from the host.

    Warns:
        UserWarning: all samples are identical, as those of an estimator that does not use its key.

    Raises:
        TypeError: if `estimator` is not callable.
        ValueError: if a shape differs from the target's, an error rate is not inside (0, 1), or a method lacks what
            it needs.

    Example:
        >>> import jax
        >>> from jaxonline import verify
        >>> def estimator(key):  # the sixth power of a uniform number: its mean is 1/7
        ...     return jax.random.uniform(key) ** 6
        >>> print(verify.unbiased(estimator, 1 / 7, range=(0, 1)).verdict)
        unbiased
        >>> print(verify.unbiased(estimator, 1.05 / 7, range=(0, 1)).verdict)
        biased
    """
    target = check.finite_array("target", target).astype(float)
    if cap_bias is not None:
        check.not_negative("cap_bias", cap_bias)
    settings = Settings(detect, level, power, kurtosis, samples, max_samples, seed, width, mesh, progress)
    method = _method(method, support=support, strata=strata, range=range, second_moment=second_moment)
    if method == "enumeration":
        return enumerate_support(support, target, detect)  # type: ignore[arg-type]
    if method == "stratified":
        check.instance("strata", strata, Strata, "Strata")
        return verify_strata(strata, target, settings)  # type: ignore[arg-type]
    limits = None if method != "bernstein" else _bernstein(range, target)
    exact = None if second_moment is None else _second_moment(second_moment, target)
    sampler = Sampler.create(estimator, seed, width, mesh)  # type: ignore[arg-type]
    sampler.check_shape(target)
    if exact is not None and np.any(np.isinf(exact)):
        return _refused(target, settings)
    return _by_sampling(sampler, target, settings, method, exact, limits, cap_bias)


def _by_sampling(sampler: Sampler, target, settings: Settings, method, exact, limits, cap_bias) -> Verification:
    flat = target.ravel()
    level = settings.level / max(flat.size, 1)
    pilot = sampler.summary(settings.width).moments
    squares = pilot.second_moment if exact is None else exact
    unit, unit_is = unit_of(flat, math.sqrt(float(squares.max(initial=0.0))))
    tolerance = settings.detect * unit
    rounding = 32 * sampler.epsilon * np.maximum(unit, np.sqrt(pilot.second_moment))
    if method == "bernstein":
        interval: IntervalMethod = limits
    elif method == "second moment":
        interval = KnownVariance(exact - flat**2, level)
    else:
        interval = BoundedKurtosis(settings.kurtosis, pilot.variance, level)
    wanted = settings.samples or _samples(interval, pilot.variance, tolerance - rounding, level, settings.power)
    n = wanted if settings.samples else min(wanted, settings.max_samples)
    drawn = sampler.summary(n, first=1, progress=settings.progress)
    half_width = interval.half_width(drawn.moments, level) + rounding
    if drawn.moments.n > 1 and drawn.low.size and np.all(drawn.low == drawn.high):
        same = f"all {drawn.moments.n:,} samples of the estimator are identical: does it use its key?"
        warnings.warn(same, UserWarning, stacklevel=3)
    bias = drawn.moments.mean - flat
    notes = list(_objections(drawn, interval, cap_bias, tolerance))
    verdict, reason = judge(bias, half_width, tolerance, cap_bias or 0.0)
    if notes:
        verdict = UNDECIDED
    elif reason is not None:
        notes.append(reason if n >= wanted else f"{reason}; about {wanted:,} samples are needed")
    i = worst(bias, half_width)
    return Verification(
        verdict=verdict,
        method=interval.method,
        bias=float(bias[i]) / unit,
        half_width=float(half_width[i]) / unit,
        detectable=float((detectable(interval, drawn.moments, level, settings.power) + rounding).max()) / unit,
        level=settings.level,
        power=settings.power,
        samples=n,
        unit=unit,
        unit_is=unit_is,
        second_moment=float(drawn.moments.second_moment.sum()),
        exact_second_moment=None if exact is None else float(exact.sum()),
        cap_bias=None if cap_bias is None else cap_bias / unit,
        exceeded=drawn.exceeded,
        notes=tuple(notes),
    )


def _method(method: str, **known: Any) -> str:
    """The method to use, given what is known."""
    check.choice("method", method, METHODS)
    if method == "auto":
        return next((name for name, need in NEEDS.items() if known[need] is not None), "kurtosis")
    if method in NEEDS and known[NEEDS[method]] is None:
        raise ValueError(f"{NEEDS[method]} must be given for the method {method!r}, got None")
    return method


def _second_moment(value: Any, target: np.ndarray) -> np.ndarray:
    """The exact second moments, checked against the target: E theta^2 is at least (E theta)^2."""
    array = check.reals("second_moment", value).astype(float)  # infinite where no number of samples would do
    if array.shape != target.shape:
        raise ValueError(f"second_moment must have the target's shape {target.shape}, got {array.shape}")
    if not np.all(array >= target**2 * (1 - 1e-6)):
        raise ValueError(f"second_moment must be at least the target squared {target**2}, got {array}")
    return np.maximum(array, target**2).ravel()


def _bernstein(limits: Any, target: np.ndarray) -> Bernstein:
    check.instance("range", limits, isinstance(limits, tuple | list) and len(limits) == 2, "a pair (low, high)")
    ends = [check.finite_array("range", end).astype(float) for end in limits]
    if any(end.shape not in ((), target.shape) for end in ends):
        raise ValueError(f"range must hold numbers, or arrays of the target's shape {target.shape}, got {limits}")
    low, high = (np.broadcast_to(end, target.shape).ravel() for end in ends)
    if not np.all(low < high):
        raise ValueError(f"range must be (low, high) with low below high, got {limits}")
    return Bernstein(low, high)


def _samples(interval: IntervalMethod, pilot: np.ndarray, tolerance: np.ndarray, level: float, power: float) -> int:
    """The number of samples that the error rates ask for."""
    variance = interval.variance if isinstance(interval, KnownVariance) else 1.5 * pilot
    if np.any(tolerance <= 0):
        return 1 << 50
    return max(interval.least_samples(level), samples_needed(interval, variance, tolerance, level, power))


def _objections(drawn: Summary, interval: IntervalMethod, cap_bias: float | None, tolerance: float) -> Iterator[str]:
    """Reasons not to give a verdict at all."""
    if drawn.not_finite:
        yield f"{drawn.not_finite} samples are not finite"
    if isinstance(interval, Bernstein):
        slack = 1e-5 * (interval.high - interval.low)
        if np.any(drawn.low < interval.low - slack) or np.any(drawn.high > interval.high + slack):
            yield f"a sample lies outside the stated range: [{drawn.low.min():.6g}, {drawn.high.max():.6g}]"
    if isinstance(interval, BoundedKurtosis):
        kurtosis = float(drawn.moments.kurtosis.max(initial=1.0))
        if kurtosis > interval.kurtosis:
            yield (
                f"the sample's kurtosis {kurtosis:.3g} exceeds the {interval.kurtosis:g} that the error rates assume: "
                "give second_moment, or a larger kurtosis"
            )
    if drawn.exceeded and cap_bias is None:
        yield f"a cap was exceeded {drawn.exceeded} times and no bound on its bias is given (cap_bias)"
    if cap_bias is not None and cap_bias >= tolerance:
        yield f"the cap's bias of up to {cap_bias:.3g} is not below the bias to detect, {tolerance:.3g}"


def _refused(target: np.ndarray, settings: Settings) -> Verification:
    unit, unit_is = unit_of(target.ravel(), 1.0)
    return Verification(
        verdict=UNDECIDED,
        method="second moment",
        bias=math.nan,
        half_width=math.inf,
        detectable=math.inf,
        level=settings.level,
        power=settings.power,
        samples=0,
        unit=unit,
        unit_is=unit_is,
        second_moment=math.nan,
        exact_second_moment=math.inf,
        notes=("the second moment is infinite: no number of samples would decide",),
    )
