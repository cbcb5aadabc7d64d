"""The check that an estimator is unbiased, and exact enumeration of its outcomes."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypedDict, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from numpy.typing import ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.types import PyTree
from jaxonline.verify.intervals import (
    Bernstein,
    BoundedKurtosis,
    IntervalMethod,
    KnownVariance,
    SequentialTest,
    derived_samples,
    detectable,
    draw,
)
from jaxonline.verify.result import (
    BIASED,
    UNDECIDED,
    Verification,
    decide,
    largest_bias,
    target_unit,
    target_units,
    worst_coordinate,
)
from jaxonline.verify.sampling import AsVector, Layout, Progress, Sampler, Settings, Summary

# ---------------------------------------------------------------------------------------------------------------------
# Exact verification from the whole support of the estimator with its probabilities.


Support = Iterable[tuple[float, Any]]


def enumerate_support(
    support: Support | Callable[[], Support], target: np.ndarray, detect: float, per_coordinate: bool = False
) -> Verification:
    """Compute the bias of an estimator from its support, pairs (probability, value), up to rounding."""
    outcomes: Any = support() if callable(support) else support
    outcomes = list(outcomes) if isinstance(outcomes, Iterable) else [outcomes]
    if not outcomes:
        raise ArgumentError("support", "must have at least one outcome (got none)")
    for outcome in outcomes:
        is_pair = isinstance(outcome, tuple | list) and len(outcome) == 2
        check.instance("support", outcome, is_pair, "pairs (probability, value)")
    p = check.finite_array("support's probabilities", [p for p, _ in outcomes]).astype(float)
    values = [check.finite_array("support's values", value) for _, value in outcomes]
    if np.any(p < 0) or abs(p.sum() - 1) > 1e-6:
        raise ArgumentError("support", f"must have probabilities of at least 0 and sum 1 (got a sum of {p.sum():.9g})")
    shapes = {value.shape for value in values}
    if shapes != {target.shape}:
        raise ArgumentError("support", f"must have values of the target's shape {target.shape} (got {sorted(shapes)})")
    table = np.stack([value.astype(float).ravel() for value in values])
    flat = target.astype(float).ravel()
    second = p @ table**2
    units, unit_name = target_units(flat, second, per_coordinate)
    # Sums cancel, so that the rounding error is that of the largest value.
    dtypes: list[Any] = [
        value.dtype if np.issubdtype(value.dtype, np.floating) else np.dtype(float) for value in values
    ]
    epsilon = max(float(np.finfo(dtype).eps) for dtype in dtypes)
    half_width = np.full(flat.shape, 16 * epsilon * max(np.abs(table).max(initial=0.0), units.max()))
    bias = p @ table - flat
    verdict, reason = decide(bias, half_width, detect * units)
    i = worst_coordinate(bias, half_width)
    return Verification(
        verdict=verdict,
        method="enumeration",
        bias=float(bias[i] / units[i]),
        half_width=float(half_width[i] / units[i]),
        detectable=2 * float((half_width / units).max()),
        level=0.0,
        power=1.0,
        samples=len(outcomes),
        unit=float(units[i]),
        unit_name=unit_name,
        second_moment=float(second.sum()),
        exact_second_moment=float(second.sum()),
        notes=(f"{reason}; give values in float64, or a larger detect",) if reason else (),
        detect=detect,
        largest_bias=largest_bias(bias, half_width, units, unit_name),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Verification that an estimator is unbiased, by the strongest method that applies.


REQUIRED_ARGUMENTS = {"enumeration": "support", "bernstein": "range", "second moment": "second_moment"}
Method = Literal["auto", "enumeration", "bernstein", "second moment", "kurtosis"]
_PRECISION = 1e-7  # relative, of a stated second moment, which may be a float32
_LOOSE_RATIO = 1.25  # of the stated second moment to that of the samples


class UnbiasedOptions(TypedDict, total=False):
    """Keyword arguments of `unbiased`, which describes them."""

    detect: float
    level: float
    power: float
    samples: int | None
    method: Method
    support: Support | Callable[[], Support] | None
    range: tuple[ArrayLike, ArrayLike] | None
    second_moment: PyTree
    kurtosis: float | None
    cap_bias: float | None
    per_coordinate: bool
    seed: int
    max_samples: int
    width: int
    mesh: Mesh | None
    progress: Progress | None
    few: bool


def unbiased(
    estimator: Callable[[jax.Array], PyTree] | None,
    target: PyTree,
    *,
    detect: float = 0.04,
    level: float = 1e-9,
    power: float = 0.999,
    samples: int | None = None,
    method: Method = "auto",
    support: Support | Callable[[], Support] | None = None,
    range: tuple[ArrayLike, ArrayLike] | None = None,
    second_moment: PyTree = None,
    kurtosis: float | None = None,
    cap_bias: float | None = None,
    per_coordinate: bool = False,
    seed: int = 0,
    max_samples: int = 1 << 22,
    width: int = 8192,
    mesh: Mesh | None = None,
    progress: Progress | None = None,
    few: bool = False,
) -> Verification:
    """Verify that the mean of an estimator is its target.

    The given knowledge determines the method; this list starts with the strongest method:

    * `support`: exact enumeration, up to rounding;
    * `range`: the empirical Bernstein inequality (Maurer and Pontil 2009);
    * `second_moment`: a self-normalised bound that needs only the variance;
    * `kurtosis`: a self-normalised bound for a kurtosis of at most this number;
    * otherwise the verdict is "undecided", since samples without any knowledge say nothing about rare values. Its note
      states the weakest bound on the kurtosis with which the same samples decide.

    Under its assumption each method is valid for every number of samples, also with heavy tails: a correct estimator is
    called biased with probability at most `level`, all coordinates together. (A z-test fails far more often on the
    weights p^N of this field.) The verdict contains the assumption, which no sample can check: an estimator that is 1/q
    with probability q, else 0, has mean 1 and a kurtosis of about 1/q, and is 0 in all samples if q is small. Samples
    that contradict the assumption make the verdict "undecided": a value outside the range, a larger second moment or
    kurtosis, or identical samples where only the kurtosis is assumed.

    `level`, `power`, `detect` and a separate first block of samples determine the number of samples. The intervals hold
    for all numbers of samples together, so a visible bias ends the sampling early.

    Args:
        estimator: a function of a key, or a struct of this package, that returns an estimate (a real or complex array,
            or a pytree of them) or `Capped(estimate, exceeded)`; None with `support`, which describes real arrays.
        target: expected mean, with the structure and shapes of the estimate.
        detect: bias to detect, in units of the largest |target|. This is the tolerance: the verdict "within tolerance"
            means that the whole interval of the bias is within +-`detect`.
        level: probability of calling a correct estimator biased.
        power: probability of detecting a bias of `detect`.
        samples: number of samples, instead of the derived number; all these samples are drawn.
        method: "enumeration", "bernstein", "second moment" or "kurtosis"; "auto" takes the first of these
            methods for which the knowledge is given.
        support: pairs (probability, value), or a function that returns them.
        range: smallest and largest value of an estimate (numbers, or arrays of the target's shape).
        second_moment: E theta^2 by coordinate, exact or an upper bound, with the target's structure; infinite gives the
            verdict "undecided". This option is not for complex estimates.
        kurtosis: bound on the kurtosis E (theta - E theta)^4 / Var^2 of each coordinate. It is 3 for a normal number, 9
            for an exponential number and about 1/q for a value with a small probability q. Give a larger bound than the
            exact value, since samples with a larger kurtosis make the verdict "undecided". None states no bound; the
            number of samples is then that for 1000.
        cap_bias: proven bound on the bias of a cap inside the estimator, in the target's units, below the bias to
            detect.
        per_coordinate: use each coordinate of the target as its own unit of `detect`, instead of the largest
            coordinate; where the target is 0, the unit is the estimator's root mean square.
        seed: seed of the samples.
        max_samples: maximum of the derived number of samples.
        width: samples in a block, the unit of compilation and of reproducibility.
        mesh: the devices (`jaxonline.simulation.blocks.default_mesh`); their number does not change the result.
        progress: called as `progress(done, total)` from the host.
        few: compile without optimisation, which is faster overall for at most about 30 blocks.

    Warns:
        UserWarning: all samples are identical, as if the estimator ignored its key.

    Raises:
        TypeError: `estimator` is not callable, or does not return numbers.
        ValueError: a shape differs from the target's, an error rate is outside (0, 1), or the knowledge for `method` is
            missing.

    Example:
        >>> import jax
        >>> from jaxonline import verify
        >>> def estimator(key):  # the sixth power of a uniform number: its mean is 1/7
        ...     return jax.random.uniform(key) ** 6
        >>> print(verify.unbiased(estimator, 1 / 7, range=(0, 1)).verdict)
        within tolerance
        >>> print(verify.unbiased(estimator, 1.05 / 7, range=(0, 1)).verdict)
        biased
    """
    settings = Settings(
        detect, level, power, kurtosis, samples, max_samples, seed, width, mesh, progress, per_coordinate, few
    )  # fmt: skip
    if cap_bias is not None:
        check.non_negative("cap_bias", cap_bias)
    if estimator is not None:
        check.instance("estimator", estimator, callable(estimator), "a function of a key")
    if range is not None:
        is_pair = isinstance(range, list | tuple) and len(range) == 2
        check.instance("range", range, is_pair, "a pair of the smallest and the largest value")
    chosen = _method(method, support=support, range=range, second_moment=second_moment)
    if chosen == "enumeration":
        exact = check.finite_array("target", target).astype(float)
        return enumerate_support(support, exact, detect, per_coordinate)  # type: ignore[arg-type]
    sampler = settings.sampler(estimator)  # type: ignore[arg-type]
    layout = Layout.from_estimate(sampler.estimate)
    if not layout.is_array:
        sampler = dataclasses.replace(sampler, estimator=AsVector(sampler.estimator))
    flat = layout.vector("target", target)
    interval = None if chosen != "bernstein" else _bernstein(range, layout, settings)
    stated = None if second_moment is None else _second_moment(second_moment, flat, layout)
    if stated is not None and np.any(np.isinf(stated)):
        return _infinite_second_moment(flat, settings)
    return _verify_by_sampling(sampler, flat, settings, chosen, stated, interval, cap_bias)


def _verify_by_sampling(
    sampler: Sampler, flat, settings: Settings, method, stated, bernstein: Bernstein | None, cap_bias
) -> Verification:
    level = settings.level / max(flat.size, 1)
    first_block = sampler.summary(settings.width)
    pilot = first_block.moments
    units, unit_name = target_units(flat, pilot.second_moment if stated is None else stated, settings.per_coordinate)
    tolerance = settings.detect * units
    rounding = 32 * sampler.epsilon * np.maximum(units, np.sqrt(pilot.second_moment))
    if method == "bernstein":
        interval: IntervalMethod = bernstein  # type: ignore[assignment]
    elif method == "second moment":
        least = np.maximum(rounding, math.sqrt(_PRECISION) * np.abs(flat)) ** 2
        interval = KnownVariance(np.maximum(stated - flat**2, least), level)
    else:
        interval = BoundedKurtosis(settings.kurtosis_of_intervals, np.maximum(pilot.variance, rounding**2), level)
    n = settings.samples or min(
        derived_samples(interval, pilot.variance, tolerance - rounding, level, settings.power), settings.max_samples
    )
    if settings.samples is None or not isinstance(interval, Bernstein):
        interval = dataclasses.replace(interval, planned=n)
    test = SequentialTest(sampler, first_block, flat, interval, level, tolerance, rounding, cap_bias, settings)
    drawn = draw(sampler, n, stated, test)
    if drawn.low.size and drawn.constant.all():
        message = f"estimator: all {drawn.moments.n:,} samples are identical; check that it uses its key"
        warnings.warn(message, UserWarning, stacklevel=3)
    contradiction = test.contradiction(drawn)
    if contradiction:
        test = test.without_second_moment(drawn.moments.n, np.maximum(pilot.variance, rounding**2))
    interval = test.interval
    half_width, bias = test.half_width(drawn), drawn.moments.mean - flat
    verdict, notes = test.verdict(drawn)
    condition = test.unstated_kurtosis(drawn)
    if condition:
        verdict, notes = UNDECIDED, [condition, *notes]
    if contradiction:
        verdict, notes = verdict if verdict == BIASED else UNDECIDED, [contradiction, *notes]
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
        largest_bias=largest_bias(bias, half_width, units, unit_name),
    )


def _remarks(drawn: Summary) -> Iterator[str]:
    if drawn.bets is None:
        return
    stated, sampled = drawn.bets.stated, drawn.moments.second_moment
    excess = np.max(stated / np.where(sampled > 0, sampled, np.inf), initial=0.0)
    if excess > _LOOSE_RATIO:
        yield f"the stated second moment is up to {excess:.3g} times the samples'"


def _method(method: str, **known: Any) -> str:
    check.choice("method", method, get_args(Method))
    if method == "auto":
        return next((name for name, argument in REQUIRED_ARGUMENTS.items() if known[argument] is not None), "kurtosis")
    if method in REQUIRED_ARGUMENTS and known[REQUIRED_ARGUMENTS[method]] is None:
        raise ArgumentError(REQUIRED_ARGUMENTS[method], f"must be given for the method {method!r} (got None)")
    return method


def _second_moment(value: Any, flat: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the stated second moments E theta^2 as a vector, after a check that they are at least (E theta)^2."""
    if layout.is_complex:
        raise ArgumentTypeError(
            "second_moment", "must not be given for complex estimates; give range, or estimate both parts"
        )
    shapes = [leaf.shape for leaf in layout.leaves]
    leaves = layout.structure.flatten_up_to(value)
    arrays = [check.real_array("second_moment", leaf).astype(float) for leaf in leaves]  # may be infinite
    if [array.shape for array in arrays] != shapes:
        expected, actual = shapes, [array.shape for array in arrays]
        if layout.is_array:
            expected, actual = expected[0], actual[0]
        raise ArgumentError("second_moment", f"must have the target's shape {expected} (got {actual})")
    vector = np.concatenate([array.ravel() for array in arrays])
    if not np.all(vector >= flat**2 * (1 - 10 * _PRECISION)):
        raise ArgumentError("second_moment", f"must be at least the target squared {flat**2} (got {vector})")
    return np.maximum(vector, flat**2)


def _bernstein(limits: Any, layout: Layout, settings: Settings) -> Bernstein:
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
    return Bernstein(low, high, 0 if settings.samples is None else None)


def _infinite_second_moment(flat: np.ndarray, settings: Settings) -> Verification:
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
        notes=("the second moment is infinite, and no number of samples decides; give range or support",),
        detect=settings.detect,
    )
