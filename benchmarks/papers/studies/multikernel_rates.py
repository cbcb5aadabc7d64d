"""Rates and costs of multi-kernel least squares with m = ceil(sqrt(T)) random features (Rokhlin, Gurtovaya 2025).

The paper bounds the regret by a constant times sqrt(T) ln T, for VAW on the features of all N kernels (Eq. 18) and for
VAW over the N kernels' VAW forecasters, "VAW2" (Eq. 21). A round costs about N^2 m^2 operations for the first learner
and N m^2 for the second one. The study fits exponents to measured regrets and to operations of the compiled programs.
The regrets of these learners, and of EWA over truncated VAW forecasters (Eq. 31), stand beside the bounds as printed
and beside tighter ones (E61, E62).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from pydantic import Field
from scipy import stats

from benchmarks.papers.claims.multikernel import printed_concatenated
from benchmarks.papers.engines.kernels import BLOCK_ROUNDS, scan_blocks
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Items, Study
from jaxonline import bounds, kernels
from jaxonline.estimators.fourier import Dictionary
from jaxonline.feedback import FullOracle
from jaxonline.game.roles import Specs
from jaxonline.learners import VAW, MultiKernel
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.plotting import bound_look, line_looks
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.study import Context, Report

CONCATENATED, TWO_LEVELS, WITH_EWA, ONE = "concatenated VAW", "VAW2", "VAW-EWA", "VAW, the comparator's kernel"
LEARNERS = (CONCATENATED, TWO_LEVELS, WITH_EWA, ONE)
ROOT, FIXED = "ceil(sqrt(T))", "fixed"
COST_EXPONENTS = {CONCATENATED: (2.0, 2.0), TWO_LEVELS: (1.0, 2.0)}  # of N and m, in the paper
CENTRES = 20  # the comparator f is a combination of so many kernel functions
LABEL_NOISE = 0.5  # labels are f(x) + noise, uniform in [-LABEL_NOISE, LABEL_NOISE]
Y_BOUND = 1.0 + LABEL_NOISE  # |f(x)| <= |f| k(x, x)^(1/2) = 1
SENTENCES = [
    'The columns "theory" have the exponents of the bounds over the same T, fitted in the same way, or those that the '
    "paper states for operations. Counts have no random error: their intervals are those of the regression.",
    "The theorems are upper bounds on the regret. A regret below its bound, with a smaller exponent, agrees with them "
    "but does not show that the rate is sharp. sqrt(T) ln T has an exponent above 1/2 at every T.",
]
REGRET_COLUMNS = (
    Text("features", "features of\neach kernel"), Text("learner"), Number("rounds", "T", "{:,.0f}"),
    Number("m", "m", "{:.0f}"),
    Interval("regret", form="{:.2f}"),
    Number("printed", "bound, as\nprinted", "{:.0f}"), Number("bound", "bound,\ntighter", "{:.0f}"),
)  # fmt: skip
EXPONENT_COLUMNS = (
    Text("of", "exponent of"), Text("learner"), Interval("exponent", "fitted", "{:.3f}", brackets=True),
    Number("printed", "theory, as\nprinted", "{:.3f}"), Number("tighter", "theory,\ntighter", "{:.3f}"),
)  # fmt: skip
Sizes = Annotated[tuple[Annotated[int, Field(ge=1, le=1000)], ...], Items]


class Fit(NamedTuple):
    """Fitted exponents, one for each regressor, and half of the 95 % intervals; NaN if a number is not positive."""

    exponents: np.ndarray
    halves: np.ndarray


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

    title: ClassVar[str] = "Rates of multi-kernel VAW with sqrt(T) random features, and operations of a round."
    rounds: Annotated[tuple[Annotated[int, Field(ge=16, le=100_000)], ...], Items] = Field(
        (256, 512, 1024, 2048, 4096), min_length=2, description="Horizons T, at least two."
    )
    n_kernels: int = Field(4, ge=2, le=16, description="Number N of kernels, with scales 1/4, 1/2, 1, 2, ...")
    kernel: Literal["laplacian", "gaussian"] = Field("laplacian", description="Family of the kernels.")
    dimension: int = Field(2, ge=1, le=100, description="Dimension of the instances.")
    draws: int = Field(12, ge=3, le=10_000, description="Draws of problem and features.")
    fixed: int = Field(4, ge=1, le=1000, description="Features of each kernel in the second run.")
    cost_kernels: Sizes = Field((2, 4, 8), min_length=2, description="Numbers N of kernels of counted operations.")
    cost_features: Sizes = Field((32, 64, 128, 256), min_length=2, description="Numbers m of features, likewise.")

    def run(self, context: Context) -> Report:
        for name in ("rounds", "cost_kernels", "cost_features"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ArgumentError(name, f"must have distinct numbers (got {getattr(self, name)})")
        with jax.enable_x64(True):
            samples, costs = self.measure(context), self.costs()
        rows = [row for (choice, T), values in samples.items() for row in self._rows(choice, T, values)]
        exponents = [*self._regret_exponents(samples), *self._cost_exponents(costs)]
        title = f"Regret to f after T rounds, half squared losses, mean over {self.draws} draws"
        tables = {
            "regret": Table(title, rows, REGRET_COLUMNS, group="features"),
            "exponents": Table("Fitted exponents, with 95 % intervals", exponents, EXPONENT_COLUMNS),
        }
        return Report(
            {**tables, "costs": Table("Operations of one round", costs)},
            {"figure": lambda: plot_rates(rows, costs)},
            [*SENTENCES, *(_polynomial(name, costs) for name in COST_EXPONENTS)],
            shown=list(tables.values()),
        )

    def n_frequencies(self, n_rounds: int, choice: str) -> int:
        """Return the number m of features of each kernel for a horizon."""
        return int(np.ceil(np.sqrt(n_rounds))) if choice == ROOT else self.fixed

    def measure(self, context: Context) -> dict[tuple[str, int], dict[str, np.ndarray]]:
        """Return the regrets of the draws by choice of m and horizon, and by learner."""
        cases = [(choice, T) for choice in (ROOT, FIXED) for T in sorted(self.rounds)]
        samples = {}
        with context.parts(len(cases)) as part:
            for choice, T in cases:
                sizes = self.kernel, self.n_kernels, self.dimension, T, self.n_frequencies(T, choice)
                samples[choice, T] = part(f"{choice}, T = {T}").compute_once(
                    (*sizes, self.draws, context.seed),
                    lambda sizes=sizes: regrets(*sizes, range(self.draws), context.seed),
                )
        return samples

    def costs(self) -> list[dict[str, Any]]:
        """Return one row of operations for each learner, N and m."""
        return [
            {"learner": name, "kernels": N, "features": m, "operations": operations(name, N, m, self.dimension)}
            for name in COST_EXPONENTS
            for N in sorted(self.cost_kernels)
            for m in sorted(self.cost_features)
        ]

    def bound(self, name: str, choice: str, n_rounds: int, printed: bool = False) -> float:
        """Return the bound of Theorem 1, 2 or 3, as printed or tighter; for one kernel, Theorem 1 with N = 1.

        In `vaw2`, the combiner's lambda = N cancels the factor N in the logarithm of Eq. 20 (E62), and its term
        lambda/2 is then (N - 1)/2 too large.
        """
        features, N = bounds.Features(self.n_frequencies(n_rounds, choice)), 1 if name == ONE else self.n_kernels
        arguments = 1.0, N, features, Y_BOUND, n_rounds
        if name == TWO_LEVELS:
            combiner = 1 if printed else N
            return float(bounds.vaw2(*arguments, combiner_regularizer=combiner)) - (combiner - 1) / 2
        if name == WITH_EWA:
            return float(bounds.vaw_ewa(*arguments))
        return float((printed_concatenated if printed else bounds.concatenated)(*arguments))

    def _rows(self, choice: str, T: int, samples: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
        return [
            {
                "features": choice, "learner": name, "rounds": T, "m": self.n_frequencies(T, choice),
                "regret": float(samples[name].mean()),
                **dict(zip(("low", "high"), mean_interval(samples[name]), strict=True)),
                "printed": self.bound(name, choice, T, printed=True), "bound": self.bound(name, choice, T),
            }
            for name in LEARNERS
        ]  # fmt: skip

    def _regret_exponents(self, samples: Mapping[tuple[str, int], Mapping[str, np.ndarray]]) -> list[dict[str, Any]]:
        T, rows = np.array(sorted(self.rounds), float), []
        for choice in (ROOT, FIXED):
            for name in LEARNERS:
                fit = fit_means(T, np.stack([samples[choice, int(t)][name] for t in T]))
                limits = np.array([[self.bound(name, choice, int(t), printed) for t in T] for printed in (True, False)])
                theory = [fit_power([T], limit).exponents[0] for limit in limits]
                of = f"regret against T, m = {self.fixed if choice == FIXED else choice}"
                rows.append(_exponent_row(of, name, fit, 0, *theory))
        return rows

    def _cost_exponents(self, costs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        rows = []
        for name, claimed in COST_EXPONENTS.items():
            own = [row for row in costs if row["learner"] == name]
            regressors = [np.array([row[size] for row in own], float) for size in ("kernels", "features")]
            fit = fit_power(regressors, np.array([row["operations"] for row in own]))
            rows += [
                _exponent_row(f"operations against {size}", name, fit, i, claimed[i]) for i, size in enumerate("Nm")
            ]
            last, most = sorted(self.cost_features)[-2:], max(self.cost_kernels)
            pair = [row["operations"] for row in own if row["kernels"] == most and row["features"] in last]
            slope = fit_power([np.array(last, float)], np.array(pair))
            of = f"operations, m from {last[0]} to {last[1]}, N = {most}"
            rows.append(_exponent_row(of, name, slope, 0, claimed[1]))
        return rows


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


def _exponent_row(of: str, learner: str, fit: Fit, i: int, printed: float, tighter: float = np.nan) -> dict[str, Any]:
    exponent, half = fit.exponents[i], fit.halves[i]
    numbers = {"exponent": exponent, "printed": printed, "tighter": tighter}
    finite = {name: float(value) if np.isfinite(value) else None for name, value in numbers.items()}
    return {"of": of, "learner": learner} | finite | {"low": float(exponent - half), "high": float(exponent + half)}


def fit_power(regressors: Sequence[np.ndarray], values: np.ndarray) -> Fit:
    """Fit values = c prod_i x_i^(a_i) by least squares of logarithms, with the usual intervals of the a_i."""
    n = len(regressors)
    if not (values > 0).all():
        return Fit(np.full(n, np.nan), np.full(n, np.nan))
    A, logs = np.column_stack([np.ones(len(values)), *np.log(regressors)]), np.log(values)
    solution = np.linalg.lstsq(A, logs)[0]
    freedom = len(values) - n - 1
    variance = np.sum((logs - A @ solution) ** 2) / freedom if freedom > 0 else np.nan
    errors = np.sqrt(variance * np.diagonal(np.linalg.pinv(A.T @ A)))[1:]
    return Fit(solution[1:], stats.t.ppf(0.975, max(freedom, 1)) * errors)


def fit_means(x: np.ndarray, samples: np.ndarray) -> Fit:
    """Fit mean over draws = c x^a to samples [x, draws]; the interval has the jackknife's error over the draws."""
    n = samples.shape[1]
    without = np.array([fit_power([x], np.delete(samples, s, axis=1).mean(axis=1)).exponents[0] for s in range(n)])
    error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    return Fit(fit_power([x], samples.mean(axis=1)).exponents, np.array([stats.t.ppf(0.975, n - 1) * error]))


def mean_interval(sample: np.ndarray) -> tuple[float, float]:
    """Return Student's 95 % interval of the mean."""
    half = stats.t.ppf(0.975, len(sample) - 1) * stats.sem(sample)
    return float(sample.mean() - half), float(sample.mean() + half)


@figures.paper_style
def plot_rates(rows: Sequence[Mapping[str, Any]], costs: Sequence[Mapping[str, Any]]) -> Any:
    """Plot regrets (bars: 95 % intervals) and bounds against T for both choices of m, and operations against m."""
    figure, ((*left, right),) = figures.panels(1, 3, 3.6)
    for axes, choice in zip(left, (ROOT, FIXED), strict=True):
        for name, look in zip(LEARNERS, line_looks(len(LEARNERS)), strict=True):
            own = [row for row in rows if (row["learner"], row["features"]) == (name, choice)]
            T, bound, printed = (np.array([row[key] for row in own]) for key in ("rounds", "bound", "printed"))
            look.pop("markevery")
            figures.plot_rows(axes, own, "rounds", "regret", **look, label=name)
            if name != ONE:
                axes.plot(T, bound, **look | bound_look(), label=f"bound of {name}")
            if not np.array_equal(bound, printed):
                axes.plot(T, printed, **look | bound_look() | {"linestyle": ":"}, label="the same, as printed")
        m = ROOT if choice == ROOT else own[0]["m"]
        figures.finish(axes, "T", "regret to f (bars: 95 %)", f"m = {m}", log="xy")
    for name, look in zip(COST_EXPONENTS, line_looks(len(COST_EXPONENTS)), strict=True):
        for dashes, N in zip(("-", "--", ":"), sorted({row["kernels"] for row in costs}), strict=False):
            line = [row for row in costs if (row["learner"], row["kernels"]) == (name, N)]
            m, counted = ([row[key] for row in line] for key in ("features", "operations"))
            line = look | {"linestyle": dashes, "markevery": 1}
            right.plot(m, counted, **line, label=f"{name}, N = {N}")
    figures.finish(right, "m, features of each kernel", "operations of a round, counted by XLA", "Costs", log="xy")
    figures.legend_below(figure, 3)
    return figure


# ---------------------------------------------------------------------------------------------------------------------
# Regrets and operations


class RegressionProblem(NamedTuple):
    """Instances X [T, d], values of the comparator f [T], and labels y [T]."""

    X: np.ndarray
    f: np.ndarray
    y: np.ndarray


def dictionary_kernels(name: str, n_kernels: int) -> list[Any]:
    """Return N kernels with scales 1/4, 1/2, 1, 2, ..., of the family "laplacian" or "gaussian"."""
    family = {"laplacian": kernels.Laplacian, "gaussian": kernels.Gaussian}[name]
    return [family(2.0 ** (i - 2)) for i in range(n_kernels)]


def draw_problem(kernel: Any, dimension: int, n_rounds: int, seed: tuple[int, ...]) -> RegressionProblem:
    """Draw instances uniform in [0, 1]^d, and a comparator f of norm 1 in the RKHS of the kernel."""
    rng = np.random.default_rng(seed)
    centres, coefficients = rng.uniform(size=(CENTRES, dimension)), rng.normal(size=CENTRES)
    X, noise = rng.uniform(size=(n_rounds, dimension)), rng.uniform(-LABEL_NOISE, LABEL_NOISE, n_rounds)
    coefficients /= np.sqrt(coefficients @ _gram(kernel, centres, centres) @ coefficients)
    f = _gram(kernel, X, centres) @ coefficients
    return RegressionProblem(X, f, f + noise)


def _gram(kernel: Any, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.asarray(_gram_program(kernel, jnp.asarray(X), jnp.asarray(Z)))


@jax.jit
def _gram_program(kernel, X, Z):
    return jax.vmap(lambda x: jax.vmap(lambda z: kernel(x, z))(Z))(X)


def regrets(
    family: str, n_kernels: int, dimension: int, n_rounds: int, n_frequencies: int, seeds: range, seed: int
) -> dict[str, Float[np.ndarray, "S"]]:
    """Return the regret of each learner to f, in half squared losses, for each draw of problem and features.

    The features are those of the theorems, sqrt(2) cos(<omega, x> + b), with lambda = 1. A `Dictionary` divides them by
    sqrt(m), so that lambda becomes 1 / m. The comparator is in the RKHS of the second kernel (of the only one for N =
    1), so that it is a comparator of both theorems.
    """
    members = dictionary_kernels(family, n_kernels)
    own = min(1, n_kernels - 1)
    problems = [draw_problem(members[own], dimension, n_rounds, (seed, s)) for s in seeds]
    keys = [jax.random.fold_in(jax.random.key(seed), s) for s in seeds]
    draws = [Dictionary.draw(key, members, dimension, n_frequencies, "cosine") for key in keys]
    X, y = (jnp.asarray(np.stack([getattr(problem, part) for problem in problems])) for part in ("X", "y"))
    frequencies, phases = (
        jnp.stack([jnp.asarray(getattr(draw, part)) for draw in draws]) for part in ("frequencies", "phases")
    )
    predictions = jax.tree.map(np.asarray, _play(frequencies, phases, X, y, own))
    own_losses = np.stack([(problem.f - problem.y) ** 2 for problem in problems]).sum(axis=1)
    return {name: (((p - np.asarray(y)) ** 2).sum(axis=1) - own_losses) / 2 for name, p in predictions.items()}


@jax.jit
def _play(frequencies, phases, X, y, own):
    def play(draw):
        frequencies, phases, X, y = draw
        regularizer = jnp.ones((), X.dtype) / frequencies.shape[1]

        def kernel(omega, b):
            return scan_blocks(Dictionary(omega[None], b[None]), X, y, regularizer, BLOCK_ROUNDS)[0].vaw

        z = jax.vmap(kernel)(frequencies, phases)
        truncated = jnp.clip(z, -Y_BOUND, Y_BOUND)
        losses = (truncated - y[None]) ** 2 / 2
        weights = jax.nn.softmax((losses - jnp.cumsum(losses, axis=1)) / (4 * Y_BOUND**2), axis=0)
        return {
            CONCATENATED: scan_blocks(Dictionary(frequencies, phases), X, y, regularizer, BLOCK_ROUNDS)[0].vaw,
            TWO_LEVELS: scan_blocks(None, z.T, y, jnp.ones((), X.dtype), BLOCK_ROUNDS)[0].vaw,
            WITH_EWA: jnp.sum(weights * truncated, axis=0),
            ONE: z[own],
        }

    return jax.lax.map(play, (frequencies, phases, X, y))


def operations(name: str, n_kernels: int, n_frequencies: int, dimension: int) -> float:
    """Return the operations of one round, as XLA counts them in the compiled program.

    One round is a prediction and an update of the learner in float64, with m features (layout "cosine") for each
    kernel.
    """
    shape = n_kernels, n_frequencies
    dictionary = Dictionary(np.ones((*shape, dimension)), np.ones(shape))
    learner: Any = VAW(features=dictionary) if name == CONCATENATED else MultiKernel(dictionary, VAW())
    x, y, key = jnp.ones(dimension), jnp.ones(()), jax.random.key(0)
    specs = Specs(jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((), y.dtype))
    state = jax.eval_shape(lambda: learner.init(key, specs))  # counting needs shapes only

    def play_round(learner: Any, state: Any, x: Array, y: Array) -> Any:
        return learner.predict(key, state, x), learner.update(key, state, FullOracle(x, y))[0]

    analysis: Any = jax.jit(play_round).lower(learner, state, x, y).compile().cost_analysis()
    return float(analysis["flops"])
