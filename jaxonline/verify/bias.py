"""Is this estimator unbiased? A verdict with stated error rates, by the strongest method that applies."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.verify.enumeration import Support, enumerate_support
from jaxonline.verify.intervals import Bernstein, BoundedKurtosis, IntervalMethod, KnownVariance, detectable
from jaxonline.verify.layout import AsVector, Layout
from jaxonline.verify.result import (
    BIASED,
    UNDECIDED,
    Verification,
    target_unit,
    target_units,
    worst_coordinate,
)
from jaxonline.verify.sampling import Progress, Sampler, Summary
from jaxonline.verify.sequential_test import SequentialTest, derived_samples, draw
from jaxonline.verify.settings import Settings
from jaxonline.verify.strata import Strata
from jaxonline.verify.stratum_terms import verify_strata

NEEDS = {"enumeration": "support", "stratified": "strata", "bernstein": "range", "second moment": "second_moment"}
METHODS = ("auto", *NEEDS, "kurtosis")
_PRECISION = 1e-7  # of a second moment that is stated: a float32, and what is computed from one
_LOOSE = 1.25


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
    per_coordinate: bool = False,
    seed: int = 0,
    max_samples: int = 1 << 22,
    max_seconds: float | None = None,
    width: int = 8192,
    mesh: Mesh | None = None,
    progress: Progress | None = None,
    few: bool = False,
) -> Verification:
    """Verify that the mean of an estimator is its target.

    The method follows from what is known about the estimator, the strongest first:

    * `support`: exact enumeration, the bias up to rounding;
    * `strata`: each value of a random integer N on its own, so that a wrong term is seen where its weight is tiny;
    * `range`: empirical Bernstein (Maurer and Pontil 2009);
    * `second_moment`: a self-normalised bound that needs nothing but the variance;
    * otherwise: the same bound under an assumption, a kurtosis of at most `kurtosis`.

    Each holds for every number of samples where what it assumes is true, so that heavy tails cost width, not truth:
    the mean of a correct estimator is called biased with probability at most `level`, all coordinates together. (A
    z-test at the same level is wrong far more often on the weights p^N of this field.) The verdict carries the
    assumption, which no sample can check: 1/q with probability q, else 0, has the mean 1 and the kurtosis 1/q, and
    shows nothing but zeros where q is small. What contradicts the assumption in the samples makes the verdict
    "undecided": a value outside the range, a second moment or a kurtosis that is larger, or, where there is nothing
    but the kurtosis, samples that are all identical.

    The number of samples is derived from `level`, `power` and `detect`, and a first block of samples that is not used
    again. The intervals hold for all numbers of samples together, so that a bias that shows earlier ends the sampling.

    Args:
        estimator: a function of a key that returns an estimate (an array of any shape, real or complex, or any pytree
            of them), or `Capped(estimate, exceeded)`; a plain function or a struct of this package. Not used, and may
            be None, with `support` or `strata`, whose estimates are real arrays.
        target: what its mean should be, of the estimate's structure and shapes.
        detect: a bias of this size, in units of the largest |target|, must be found; a verdict "unbiased" means
            that the whole interval lies within it.
        level: the probability of calling a correct estimator biased.
        power: the probability of finding a bias of `detect`.
        samples: the number of samples, instead of the derived one (for strata: in all of them together); all of them
            are drawn, whatever they show.
        method: "enumeration", "stratified", "bernstein", "second moment" or "kurtosis"; "auto" takes the first
            whose knowledge is given.
        support: pairs (probability, value), or a function that returns them.
        strata: the estimator given N = n, and what is known of it (`Strata`).
        range: the smallest and the largest value an estimate can take (numbers, or arrays of the target's shape).
        second_moment: E theta^2 coordinate by coordinate, exact or an upper bound, of the target's structure; samples
            that contradict it are noticed. Infinite: the verdict is "undecided", for then no number of samples would
            do. Not for complex estimates.
        kurtosis: the largest kurtosis E (theta - E theta)^4 / Var^2 of a coordinate for which the last method's error
            rates are to hold; a sample that looks heavier is refused.
        cap_bias: a proven bound on the bias that a cap inside the estimator causes, in the target's units. It must be
            below the bias to detect.
        per_coordinate: whether `detect` is in units of each coordinate of the target itself (of the estimator's root
            mean square, where that is 0), and not of the largest one.
        seed: the seed of the samples.
        max_samples: the largest number of samples to draw when `samples` is None.
        max_seconds: no more samples after this time. The numbers then depend on the machine; the error rates hold.
        width: samples in a block: the unit of compilation and of reproducibility.
        mesh: the devices (`jaxonline.simulation.blocks.default_mesh`); the numbers do not depend on how many.
        progress: called as `progress(done, total)` from the host.
        few: whether a few blocks of samples will do, 30 or less: their program is compiled without optimisations, which
            take longer than they save.

    Warns:
        UserWarning: all samples are identical, as those of an estimator that does not use its key.

    Raises:
        TypeError: if `estimator` is not callable, or does not return numbers.
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
    settings = Settings(
        detect, level, power, kurtosis, samples, max_samples, seed, width, mesh, progress, max_seconds, per_coordinate,
        few,
    )  # fmt: skip
    if cap_bias is not None:
        check.non_negative("cap_bias", cap_bias)
    method = _method(method, support=support, strata=strata, range=range, second_moment=second_moment)
    if method == "enumeration":
        exact = check.finite_array("target", target).astype(float)
        return enumerate_support(support, exact, detect, per_coordinate)  # type: ignore[arg-type]
    if method == "stratified":
        check.instance("strata", strata, Strata, "Strata")
        exact = check.finite_array("target", target).astype(float)
        return verify_strata(strata, exact, settings)  # type: ignore[arg-type]
    sampler = settings.sampler(estimator)  # type: ignore[arg-type]
    layout = Layout.from_estimate(sampler.estimate)
    if not layout.is_array:
        sampler = dataclasses.replace(sampler, estimator=AsVector(sampler.estimator))
    flat = layout.vector("target", target)
    limits = None if method != "bernstein" else _bernstein(range, layout, settings)
    stated = None if second_moment is None else _second_moment(second_moment, flat, layout)
    if stated is not None and np.any(np.isinf(stated)):
        return _refused(flat, settings)
    return _by_sampling(sampler, flat, settings, method, stated, limits, cap_bias)


def _by_sampling(sampler: Sampler, flat, settings: Settings, method, stated, limits, cap_bias) -> Verification:
    level = settings.level / max(flat.size, 1)
    pilot = sampler.summary(settings.width).moments
    units, unit_name = target_units(flat, pilot.second_moment if stated is None else stated, settings.per_coordinate)
    tolerance = settings.detect * units
    rounding = 32 * sampler.epsilon * np.maximum(units, np.sqrt(pilot.second_moment))
    if method == "bernstein":
        interval: IntervalMethod = limits
    elif method == "second moment":
        least = np.maximum(rounding, math.sqrt(_PRECISION) * np.abs(flat)) ** 2
        interval = KnownVariance(np.maximum(stated - flat**2, least), level)
    else:
        interval = BoundedKurtosis(settings.kurtosis, np.maximum(pilot.variance, rounding**2), level)
    wanted = settings.samples or derived_samples(interval, pilot.variance, tolerance - rounding, level, settings.power)
    n = wanted if settings.samples else min(wanted, settings.max_samples)
    if settings.stops_early or not isinstance(interval, Bernstein):
        interval = interval.planned_for(n)
    test = SequentialTest(flat, interval, level, tolerance, rounding, cap_bias, settings)
    drawn = draw(sampler, n, stated, test)
    _warn_of_constant(drawn)
    wrong = test.contradiction(drawn)
    if wrong:
        test = test.without_second_moment(drawn.moments.n, np.maximum(pilot.variance, rounding**2))
    interval = test.interval
    half_width, bias = test.half_width(drawn), drawn.moments.mean - flat
    verdict, notes = test.verdict(drawn)
    if wrong:
        verdict, notes = verdict if verdict == BIASED else UNDECIDED, [wrong, *notes]
    if drawn.samples < n and verdict == UNDECIDED:
        notes = [*notes, f"the time was up after {drawn.samples:,} of {n:,} samples (max_seconds)"]
    i = worst_coordinate(bias, half_width)
    smallest = detectable(interval, drawn.moments, level, settings.power) + rounding
    assumption = interval.assumption
    if interval.method == "second moment" and stated is not None and flat.size == 1:
        assumption = f"E theta^2 <= {stated[0]:.6g}"
    return Verification(
        verdict=verdict,
        method=interval.method,
        bias=float(bias[i] / units[i]),
        half_width=float(half_width[i] / units[i]),
        detectable=float((smallest / units).max()),
        level=settings.level,
        power=settings.power,
        samples=drawn.samples,
        unit=float(units[i]),
        unit_name=unit_name,
        second_moment=float(drawn.moments.second_moment.sum()),
        exact_second_moment=None if stated is None else float(stated.sum()),
        cap_bias=None if cap_bias is None else float(cap_bias / units[i]),
        exceeded=drawn.exceeded,
        notes=(*notes, *_remarks(drawn)),
        assumption=assumption,
        detect=settings.detect,
    )


def _warn_of_constant(drawn: Summary) -> None:
    if drawn.low.size and drawn.constant.all():
        same = f"all {drawn.moments.n:,} samples of the estimator are identical: does it use its key?"
        warnings.warn(same, UserWarning, stacklevel=4)


def _remarks(drawn: Summary) -> Iterator[str]:
    """What does not change the verdict."""
    if drawn.bets is None:
        return
    stated, found = drawn.bets.stated, drawn.moments.second_moment
    excess = np.max(stated / np.where(found > 0, found, np.inf), initial=0.0)
    if excess > _LOOSE:
        yield f"the stated second moment is up to {excess:.3g} times the samples'"


def _method(method: str, **known: Any) -> str:
    """The method to use, given what is known."""
    check.choice("method", method, METHODS)
    if method == "auto":
        return next((name for name, need in NEEDS.items() if known[need] is not None), "kurtosis")
    if method in NEEDS and known[NEEDS[method]] is None:
        raise ArgumentError(NEEDS[method], f"must be given for the method {method!r} (got None)")
    return method


def _second_moment(value: Any, flat: np.ndarray, layout: Layout) -> np.ndarray:
    """The stated second moments, checked against the target: E theta^2 is at least (E theta)^2."""
    if layout.is_complex:
        raise ArgumentTypeError(
            "second_moment", "must be left out for complex estimates; pass range, or estimate both parts"
        )
    shapes = [leaf.shape for leaf in layout.leaves]
    leaves = layout.structure.flatten_up_to(value)
    arrays = [
        check.real_array("second_moment", leaf).astype(float) for leaf in leaves
    ]  # infinite where nothing would do
    if [array.shape for array in arrays] != shapes:
        wanted, got = shapes, [array.shape for array in arrays]
        if layout.is_array:
            wanted, got = wanted[0], got[0]
        raise ArgumentError("second_moment", f"must have the target's shape {wanted} (got {got})")
    vector = np.concatenate([array.ravel() for array in arrays])
    if not np.all(vector >= flat**2 * (1 - 10 * _PRECISION)):
        raise ArgumentError("second_moment", f"must be at least the target squared {flat**2} (got {vector})")
    return np.maximum(vector, flat**2)


def _bernstein(limits: Any, layout: Layout, settings: Settings) -> Bernstein:
    check.instance("range", limits, isinstance(limits, tuple | list) and len(limits) == 2, "a pair (low, high)")
    ends = []
    size = sum(math.prod(leaf.shape) * (1 + jnp.issubdtype(leaf.dtype, jnp.complexfloating)) for leaf in layout.leaves)
    for end in limits:
        if jax.tree.structure(end) == jax.tree.structure(0) and np.ndim(end) == 0:
            ends.append(np.full(size, float(check.finite_array("range", end))))
        else:
            ends.append(layout.vector("range", end))
    low, high = ends
    if not np.all(low < high):
        raise ArgumentError("range", f"must be (low, high) with low below high (got {limits})")
    return Bernstein(low, high, 0 if settings.stops_early else None)


def _refused(flat: np.ndarray, settings: Settings) -> Verification:
    unit, unit_name = target_unit(flat, 1.0)
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
        unit_name=unit_name,
        second_moment=math.nan,
        exact_second_moment=math.inf,
        notes=("the second moment is infinite: no number of samples would decide; give range, strata or support",),
        detect=settings.detect,
    )
