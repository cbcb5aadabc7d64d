"""Rates and costs of multi-kernel least squares with m = ceil(sqrt(T)) random features (Rokhlin, Gurtovaya 2025).

The paper bounds the regret by a constant times sqrt(T) ln T, for VAW on the features of all N kernels (Eq. 18) and for
VAW over the N kernels' VAW forecasters, "VAW2" (Eq. 21). A round costs about N^2 m^2 operations for the first learner
and N m^2 for the second one. The study fits exponents to measured regrets and to operations of the compiled programs.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import jax
import numpy as np
from pydantic import Field

from benchmarks.papers.studies.multikernel_rates_runs import (
    CONCATENATED,
    ONE,
    SECOND_ORDER,
    TWO_LEVELS,
    Y_BOUND,
    regrets,
    round_cost,
    second_order_run,
)
from jaxonline import bounds
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.plotting import COLOURS, set_log_scales, style_axes
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import Items

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT, FIXED = "ceil(sqrt(T))", "fixed"
LEARNERS = (CONCATENATED, TWO_LEVELS, ONE)
COST_EXPONENTS = {CONCATENATED: (2.0, 2.0), TWO_LEVELS: (1.0, 2.0)}  # of N and m, in the paper


class Fit(NamedTuple):
    """Fitted exponents, one for each regressor, with their standard errors; NaN if a number is not positive."""

    exponents: np.ndarray
    errors: np.ndarray


class MultiKernelRates(Study):
    """Study of regrets to a function f of norm 1 in the RKHS of one kernel, and of the operations of a round.

    Instances are uniform in [0, 1]^d, and labels are f(x) plus uniform noise. Losses are half squared errors, the
    features are those of the theorems, and lambda is 1. A second run with a fixed number of features has a regret that
    grows faster: its approximation error grows with T.

    Example:
        >>> from jaxonline.study import Context
        >>> from benchmarks.papers.studies.multikernel_rates import MultiKernelRates
        >>> MultiKernelRates(rounds=(100, 10_000)).n_frequencies(100, "ceil(sqrt(T))")
        10
    """

    title: ClassVar[str] = (
        "Rates of multi-kernel VAW with sqrt(T) random features: regret against T, operations against N and m."
    )
    rounds: Annotated[tuple[Annotated[int, Field(ge=16, le=100_000)], ...], Items] = Field(
        (256, 512, 1024, 2048, 4096), min_length=2, description="Horizons T, at least two."
    )
    n_kernels: int = Field(4, ge=2, le=16, description="Number N of kernels, with scales 1/4, 1/2, 1, 2, ...")
    kernel: Literal["laplacian", "gaussian"] = Field("laplacian", description="Family of the kernels.")
    dimension: int = Field(2, ge=1, le=100, description="Dimension of the instances.")
    draws: int = Field(12, ge=3, le=10_000, description="Draws of problem and features.")
    fixed: int = Field(4, ge=1, le=1000, description="Features of each kernel in the second run.")
    cost_kernels: Annotated[tuple[Annotated[int, Field(ge=1, le=256)], ...], Items] = Field(
        (2, 4, 8), min_length=2, description="Numbers N of kernels whose operations are counted."
    )
    cost_features: Annotated[tuple[Annotated[int, Field(ge=1, le=1000)], ...], Items] = Field(
        (32, 64, 128, 256), min_length=2, description="Numbers m of features whose operations are counted."
    )
    times: bool = Field(False, description="Also measure the seconds of a round.")

    def run(self, context: Context) -> Report:
        for name in ("rounds", "cost_kernels", "cost_features"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ArgumentError(name, f"must have distinct numbers (got {getattr(self, name)})")
        with jax.enable_x64(True):
            samples, curves = self.measure(context)
            costs = self.costs()
        rows = [row for (choice, T), values in samples.items() for row in self._rows(choice, T, values)]
        exponents = [*self._regret_exponents(samples), *self._cost_exponents(costs)]
        return Report(
            {
                "regret": Table("Regret to f, half squared losses", rows),
                "costs": Table("Operations of one round", costs),
                "exponents": Table("Fitted exponents", exponents),
                "second_order": Table("Regret to the best forecaster, squared losses, one draw", _last(curves)),
            },
            {"figure": lambda: plot_rates(rows, costs), "second-order": lambda: plot_second_order(curves)},
            [*SENTENCES, *(_polynomial(name, costs) for name in COST_EXPONENTS)],
            shown=[
                Table(
                    f"Regret to f after T rounds, mean over {self.draws} draws", rows, REGRET_COLUMNS,
                    group="features", headed=True,
                ),
                Table("Fitted exponents, with standard errors", exponents, EXPONENT_COLUMNS),
                Table(
                    f"Regret to the best forecaster after {max(self.rounds):,} rounds, squared losses, one draw",
                    _last(curves), SECOND_ORDER_COLUMNS,
                ),
            ],
        )  # fmt: skip

    def n_frequencies(self, n_rounds: int, choice: str) -> int:
        """Return the number m of features of each kernel for a horizon."""
        return int(np.ceil(np.sqrt(n_rounds))) if choice == ROOT else self.fixed

    def measure(self, context: Context) -> tuple[dict[tuple[str, int], dict[str, np.ndarray]], dict[str, np.ndarray]]:
        """Return the regrets of the draws by choice of m and horizon, and by learner; and `second_order_run`."""
        cases = [(choice, T) for choice in (ROOT, FIXED) for T in sorted(self.rounds)]
        setting = (self.kernel, self.n_kernels, self.dimension)
        samples, longest = {}, max(self.rounds)
        single = (*setting, longest, self.n_frequencies(longest, ROOT), context.seed)
        with context.parts(len(cases) + 1) as part:
            for choice, T in cases:
                m = self.n_frequencies(T, choice)
                samples[choice, T] = part(f"{choice}, T = {T}").compute_once(
                    (*setting, T, m, self.draws, context.seed),
                    lambda T=T, m=m: regrets(*setting, T, m, range(self.draws), context.seed),
                )
            curves = part("second order").compute_once(("second order", *single), lambda: second_order_run(*single))
        return samples, curves

    def costs(self) -> list[dict[str, Any]]:
        """Return one row of operations for each learner, N and m."""
        return [
            {"learner": name, "kernels": N, "features": m} | round_cost(name, N, m, self.dimension, self.times)
            for name in COST_EXPONENTS
            for N in sorted(self.cost_kernels)
            for m in sorted(self.cost_features)
        ]

    def bound(self, name: str, choice: str, n_rounds: int) -> float:
        """Return the bound of Theorem 1 or 2; for one kernel, Theorem 1 with N = 1."""
        features = bounds.Features(self.n_frequencies(n_rounds, choice))
        if name == TWO_LEVELS:
            return float(bounds.vaw2(1.0, self.n_kernels, features, Y_BOUND, n_rounds))
        return float(bounds.concatenated(1.0, 1 if name == ONE else self.n_kernels, features, Y_BOUND, n_rounds))

    def _rows(self, choice: str, T: int, samples: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
        return [
            {
                "features": choice, "learner": name, "rounds": T, "m": self.n_frequencies(T, choice),
                "regret": float(samples[name].mean()),
                "standard_error": float(samples[name].std(ddof=1) / np.sqrt(self.draws)),
                "bound": self.bound(name, choice, T),
            }
            for name in LEARNERS
        ]  # fmt: skip

    def _regret_exponents(self, samples: Mapping[tuple[str, int], Mapping[str, np.ndarray]]) -> list[dict[str, Any]]:
        T, rows = np.array(sorted(self.rounds), float), []
        for choice in (ROOT, FIXED):
            for name in LEARNERS:
                fit = fit_means(T, np.stack([samples[choice, int(t)][name] for t in T]))
                bound = fit_power([T], np.array([self.bound(name, choice, int(t)) for t in T])).exponents[0]
                of = f"regret against T, m = {self.fixed if choice == FIXED else choice}"
                rows.append(_exponent_row(of, name, fit, 0, bound))
        return rows

    def _cost_exponents(self, costs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        rows = []
        for quantity in ("operations", *(("seconds",) if self.times else ())):
            for name, claimed in COST_EXPONENTS.items():
                own = [row for row in costs if row["learner"] == name]
                regressors = [np.array([row[size] for row in own], float) for size in ("kernels", "features")]
                fit = fit_power(regressors, np.array([row[quantity] for row in own]))
                for i, size in enumerate("Nm"):
                    rows.append(_exponent_row(f"{quantity} against {size}", name, fit, i, claimed[i]))
                last, most = sorted(self.cost_features)[-2:], max(self.cost_kernels)
                pair = [row[quantity] for row in own if row["kernels"] == most and row["features"] in last]
                slope = fit_power([np.array(last, float)], np.array(pair))
                of = f"{quantity}, m from {last[0]} to {last[1]}, N = {most}"
                rows.append(_exponent_row(of, name, slope, 0, claimed[1]))
        return rows


SENTENCES = [
    'The column "theory" has the exponent of the theorem\'s bound over the same T, fitted in the same way, or the '
    "exponent that the paper states for operations.",
    "The theorems are upper bounds on the regret. A regret below its bound, with a smaller exponent, agrees with them "
    "but does not show that the rate is sharp. sqrt(T) ln T has an exponent above 1/2 at every T.",
    "Standard errors of regret exponents are those of a jackknife over the draws. The counts of operations are exact, "
    "so that their errors only measure the deviation from a power law, which the term N m causes.",
]
REGRET_COLUMNS = (
    Text("learner", "features of each kernel,\nlearner"),
    Number("rounds", "T", "{:,.0f}"),
    Number("m", "m", "{:.0f}"),
    Number("regret", "regret", "{:.2f}"),
    Number("standard_error", "standard\nerror", "{:.2f}"),
    Number("bound", "bound", "{:.0f}"),
)
EXPONENT_COLUMNS = (
    Text("of", "exponent of"),
    Text("learner"),
    Number("exponent", "fitted", "{:.3f}"),
    Number("standard_error", "standard\nerror", "{:.3f}"),
    Number("theory", "theory", "{:.3f}"),
)


def leading_terms(name: str, costs: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Fit operations = a N^p m^2 + b N m, p the exponent of the paper, with equal relative weights; return a and b."""
    own = [row for row in costs if row["learner"] == name]
    N, m, operations = (np.array([row[key] for row in own], float) for key in ("kernels", "features", "operations"))
    power_N, power_m = COST_EXPONENTS[name]
    A = np.column_stack([N**power_N * m**power_m, N * m]) / operations[:, None]
    a, b = np.linalg.lstsq(A, np.ones(len(own)))[0]
    return float(a), float(b)


def _polynomial(name: str, costs: Sequence[Mapping[str, Any]]) -> str:
    a, b = leading_terms(name, costs)
    lead = "N^2 m^2" if COST_EXPONENTS[name][0] == 2.0 else "N m^2"
    return f"Operations of {name}, fitted: {a:.2f} {lead} + {b:.0f} N m."


SECOND_ORDER_COLUMNS = (
    Text("rule"),
    Number("regret", form="{:.2f}"),
    Number("bound", form="{:.2f}"),
    Number("squares", "sum of squared\ninstantaneous regrets", "{:.2f}"),
)


def _last(curves: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    numbers = "regret", "bound", "squares"
    return [{"rule": rule} | {name: float(curves[f"{rule}/{name}"][-1]) for name in numbers} for rule in SECOND_ORDER]


def _exponent_row(of: str, learner: str, fit: Fit, i: int, theory: float) -> dict[str, Any]:
    numbers = {"exponent": fit.exponents[i], "standard_error": fit.errors[i], "theory": theory}
    finite = {name: float(value) if np.isfinite(value) else None for name, value in numbers.items()}
    return {"of": of, "learner": learner} | finite


def fit_power(regressors: Sequence[np.ndarray], values: np.ndarray) -> Fit:
    """Fit values = c prod_i x_i^(a_i) by least squares of logarithms, with the usual standard errors of the a_i."""
    n = len(regressors)
    if not (values > 0).all():
        return Fit(np.full(n, np.nan), np.full(n, np.nan))
    A, logs = np.column_stack([np.ones(len(values)), *np.log(regressors)]), np.log(values)
    solution = np.linalg.lstsq(A, logs)[0]
    freedom = len(values) - n - 1
    variance = np.sum((logs - A @ solution) ** 2) / freedom if freedom > 0 else np.nan
    return Fit(solution[1:], np.sqrt(variance * np.diagonal(np.linalg.pinv(A.T @ A)))[1:])


def fit_means(x: np.ndarray, samples: np.ndarray) -> Fit:
    """Fit mean over draws = c x^a to samples [x, draws]; the standard error is that of the jackknife over draws."""
    n = samples.shape[1]
    without = np.array([fit_power([x], np.delete(samples, s, axis=1).mean(axis=1)).exponents[0] for s in range(n)])
    error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    return Fit(fit_power([x], samples.mean(axis=1)).exponents, np.array([error]))


def plot_second_order(curves: Mapping[str, np.ndarray]) -> "Figure":
    """Plot the regret of three rules to the best forecaster (solid) below their second-order bounds (dashed)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.subplots()
    for i, rule in enumerate(SECOND_ORDER):
        rounds = np.arange(1, len(curves[f"{rule}/regret"]) + 1)
        axes.plot(rounds, curves[f"{rule}/regret"], color=COLOURS[i], lw=1.5, label=rule)
        axes.plot(rounds, curves[f"{rule}/bound"], "--", color=COLOURS[i], lw=1.0)
    axes.plot([], [], "--", color="0.4", lw=1.0, label="second-order bound of the run")
    style_axes(axes, "round", "regret to the best forecaster, squared losses")
    axes.set_xscale("log")
    axes.legend(frameon=False, fontsize=9)
    return figure


def plot_rates(rows: Sequence[Mapping[str, Any]], costs: Sequence[Mapping[str, Any]]) -> "Figure":
    """Plot regrets against T, for both choices of m, and operations against N m."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.4), layout="constrained")
    panels: Any = figure.subplots(1, 3)
    for axes, choice in zip(panels, (ROOT, FIXED), strict=False):
        _regret_panel(axes, [row for row in rows if row["features"] == choice])
    for i, name in enumerate(COST_EXPONENTS):
        own = [row for row in costs if row["learner"] == name]
        for j, N in enumerate(sorted({row["kernels"] for row in own})):
            line = [row for row in own if row["kernels"] == N]
            panels[2].plot(
                [row["features"] for row in line], [row["operations"] for row in line], "o-", color=COLOURS[i], ms=4,
                lw=0.6 + 0.6 * j, label=f"{name}, N = {N}",
            )  # fmt: skip
    style_axes(panels[2], "m, features of each kernel", "operations of a round, counted by XLA", "Costs")
    set_log_scales(panels[2])
    panels[2].legend(frameon=False, fontsize=8)
    return figure


def _regret_panel(axes: "Axes", rows: Sequence[Mapping[str, Any]]) -> None:
    for i, name in enumerate(LEARNERS):
        own = [row for row in rows if row["learner"] == name]
        T, mean, error = (np.array([row[key] for row in own]) for key in ("rounds", "regret", "standard_error"))
        axes.errorbar(T, mean, 2 * error, fmt="o-", color=COLOURS[i], ms=4, lw=1.5, label=name)
        if name != ONE:
            axes.plot(T, [row["bound"] for row in own], "--", color=COLOURS[i], lw=1.0)
    axes.plot([], [], "--", color="0.4", lw=1.0, label="bound of the theorem")
    m = "ceil(sqrt(T))" if rows[0]["features"] == ROOT else rows[0]["m"]
    style_axes(axes, "T", "regret to f (bars: 2 standard errors)", f"m = {m}")
    set_log_scales(axes)
    if rows[0]["features"] == ROOT:
        axes.legend(frameon=False, fontsize=8)
