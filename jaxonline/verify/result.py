"""The result of a verification: its verdict, numbers and assumptions."""

import dataclasses
import html
import math

import numpy as np

BIASED, WITHIN_TOLERANCE, UNDECIDED = "biased", "within tolerance", "undecided"
RESPECTED, VIOLATED = "respected", "violated"
BOUND = "the bound"  # name of the unit of bounds
ZERO_TARGET = "the estimator's root mean square (the target is 0)"


@dataclasses.dataclass(frozen=True, repr=False)
class Verification:
    """The outcome of the check of an estimator or a bound.

    For `unbiased` and `queries`, `bias` is the estimator's mean minus its target, in units of `unit`, for the
    coordinate with the largest relative deviation. For `second_moment` and `bound`, `bias` is value / bound - 1. The
    interval `bias +- half_width` holds for all coordinates at once, except with probability at most `level`.

    A verification within tolerance prints the end of the interval that is further from 0, as "no bias above 2.4 %
    found". There, 100 % is the largest |target| of all coordinates, or with `per_coordinate` the coordinate's own
    target. If the target is 0, the number is absolute, in units of the estimator.

    Attributes:
        verdict: "biased", "within tolerance" or "undecided"; for bounds "respected", "violated" or "undecided".
        method: name of the method of verification.
        bias: estimated bias (or value / bound - 1).
        half_width: half-width of the interval of the bias, including rounding and remainders.
        detectable: minimum detectable bias, which is found with probability at least `power`.
        level: probability of a false alarm, over all coordinates together.
        power: probability of finding a bias of `detectable`.
        samples: number of samples, or of outcomes in an enumeration.
        unit: the unit of `bias`, `half_width`, `detectable` and `cap_bias`, measured in units of the estimator.
        unit_name: definition of the unit.
        second_moment: E |theta|^2 of the sample.
        exact_second_moment: exact E |theta|^2 if it is given, else None.
        second_moment_bound: a paper's bound on E |theta|^2, else None.
        cap_bias: bound on the bias of a cap, in units of `unit`, if it is given, else None.
        exceeded: number of samples that exceeded a cap.
        notes: reasons and remarks, one sentence each; undecided verdicts contain advice.
        assumption: assumption of the error rates, which the samples cannot verify; "" without an assumption.
        detect: the smallest bias to detect, which is the tolerance; NaN if the check has no tolerance.
        largest_bias: largest |bias| inside the intervals, in units of each coordinate, or absolute if the target is 0;
            NaN for bounds.

    Example:
        >>> from jaxonline import verify
        >>> coin = [(0.5, 0.0), (0.5, 1.0)]
        >>> verify.unbiased(None, 0.5, support=coin).verdict
        'within tolerance'
    """

    verdict: str
    method: str
    bias: float
    half_width: float
    detectable: float
    level: float
    power: float
    samples: int
    unit: float
    unit_name: str
    second_moment: float
    exact_second_moment: float | None = None
    second_moment_bound: float | None = None
    cap_bias: float | None = None
    exceeded: int = 0
    notes: tuple[str, ...] = ()
    assumption: str = ""
    detect: float = math.nan
    largest_bias: float = math.nan

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal; NaN, for unknown values, equals NaN."""
        return self._fields() == other._fields() if isinstance(other, Verification) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple:
        """Return the values of the fields, with the same object for every NaN, since tuples compare identity first."""
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]
        return tuple(math.nan if isinstance(value, float) and math.isnan(value) else value for value in values)

    def __str__(self) -> str:
        """Return two lines: the verdict with its number, and the method with its error rates."""
        is_exact = self.method == "enumeration"
        kind = "outcomes" if is_exact else "samples"
        details = [
            f"{self.method}, {self.samples:,} {kind}" if self.samples else self.method,
            f"minimum detectable bias {self.detectable:.2g} (power {self.power:g})" if self.unit_name != BOUND else "",
            f"false alarms {self.level:g}",
        ]
        assumption = f", if {self.assumption}" if self.assumption else ""
        return f"{'; '.join([self._headline() + assumption, *self.notes])}\n  {'; '.join(filter(None, details))}"

    def _headline(self) -> str:
        """Return the verdict with its number and unit."""
        if self.unit_name == BOUND:
            value = f"{1 + self.bias:.4g} ± {self.half_width:.2g}"
            return f"{self.verdict}: {value} times {self.unit_name} ({self.unit:.4g})"
        bias = f"bias {self.bias:+.2g} ± {self.half_width:.2g} in units of {self.unit_name}"
        if self.verdict != WITHIN_TOLERANCE:
            return f"{self.verdict}: {bias} ({self.unit:.4g})"
        bias = f"{bias}, {self.unit:.4g}"
        if self.method == "enumeration":
            return f"no bias above rounding found ({bias})"
        if self.unit_name == ZERO_TARGET:
            absolute = f"bias {self.bias * self.unit:+.2g} ± {self.half_width * self.unit:.2g}, the target is 0"
            return f"no bias above {_format_upwards(self.largest_bias)} found ({absolute})"
        return f"no bias above {_format_upwards(100 * self.largest_bias)} % found ({bias})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the verification as an HTML table with one row, and the notes below it."""
        import pandas as pd

        is_bound = self.unit_name == BOUND
        row = {
            "verdict": self.verdict,
            "value / bound" if is_bound else "bias": f"{1 + self.bias if is_bound else self.bias:.4g}",
            "half-width": f"{self.half_width:.2g}", "in units of": f"{self.unit_name} ({self.unit:.4g})",
            "method": self.method, "samples": f"{self.samples:,}",
            "minimum detectable bias": "" if is_bound else f"{self.detectable:.2g}",
            "false alarms": f"{self.level:g}",
        }  # fmt: skip
        assumption = (f"valid if {self.assumption}",) if self.assumption else ()
        notes = html.escape("; ".join((*self.notes, *assumption)))
        return f"{pd.DataFrame([row]).to_html(index=False)}<p>{notes}</p>"


def _format_upwards(value: float) -> str:
    """Return the number with two digits, rounded up, so that "no bias above" stays true."""
    if not 0 < value < math.inf:
        return f"{value:g}"
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / digit * (1 - 1e-12)) * digit:.12g}"


def describe_kurtosis(kurtosis: float) -> str:
    """Return the number with two digits, rounded down, so that "at most" stays true."""
    digit = 10.0 ** (math.floor(math.log10(kurtosis)) - 1)
    return f"{math.floor(kurtosis / digit * (1 + 1e-12)) * digit:,.12g}"


def target_unit(target: np.ndarray, root_mean_square: float) -> tuple[float, str]:
    """Return the unit of biases: the largest |target|, or the estimator's root mean square if the target is zero."""
    largest = float(np.max(np.abs(target), initial=0.0))
    if largest > 0:
        return largest, "the target" if target.size == 1 else "the target's largest coordinate"
    if root_mean_square > 0:
        return root_mean_square, ZERO_TARGET
    return 1.0, "1 (the target and the estimator are 0)"


def target_units(target: np.ndarray, second_moment: np.ndarray, per_coordinate: bool) -> tuple[np.ndarray, str]:
    """Return the unit of each coordinate: `target_unit` for all, or each coordinate's own target."""
    roots = np.sqrt(second_moment)
    if not per_coordinate:
        unit, unit_name = target_unit(target, float(roots.max(initial=0.0)))
        return np.full(target.shape, unit), unit_name
    units = np.where(target != 0, np.abs(target), np.where(roots > 0, roots, 1.0))
    if not np.any(target):
        return units, ZERO_TARGET
    return units, "the target's coordinate (the estimator's root mean square where that is 0)"


def largest_bias(bias: np.ndarray, half_width: np.ndarray, units: np.ndarray, unit_name: str) -> float:
    """Return the largest |bias| inside the intervals, in units of the coordinates, or absolute if the target is 0."""
    ends = np.abs(bias) + half_width
    return float(np.max(ends if unit_name == ZERO_TARGET else ends / units, initial=0.0))


def worst_coordinate(bias: np.ndarray, half_width: np.ndarray) -> int:
    """Return the index of the coordinate with the largest bias relative to its interval."""
    return int(np.argmax(np.abs(bias) / np.maximum(half_width, np.finfo(float).tiny)))


def decide(
    bias: np.ndarray, half_width: np.ndarray, tolerance: float | np.ndarray, cap_bias: float = 0.0
) -> tuple[str, str | None]:
    """Return the verdict of simultaneous intervals, and the reason if it is undecided.

    The verdict is "biased" if an interval excludes all biases that the cap explains. It is "within tolerance" if every
    interval contains 0 (up to the cap's bias) and is within the tolerance.
    """
    if np.any(np.abs(bias) > half_width + cap_bias):
        return BIASED, None
    reach = float(np.max((np.abs(bias) + half_width) / tolerance))
    if reach <= 1:
        return WITHIN_TOLERANCE, None
    return UNDECIDED, f"the interval reaches {reach:.3g} times the bias it must exclude"


def samples_to_decide(n: int, bias: np.ndarray, half_width: np.ndarray, tolerance: float | np.ndarray) -> float:
    """Return the approximate number of samples for a decision if `n` samples give none (half-widths ~ n^(-1/2))."""
    goal = np.maximum(np.abs(bias), tolerance - np.abs(bias))
    return float(n * np.max(half_width / np.maximum(goal, np.finfo(float).tiny)) ** 2)
