"""What would a statistician do with noisy instances? Errors-in-variables methods and online learners on the same data.

The methods of statistics use all rows at once: total least squares, the corrected score (Nakamura 1990), regression
calibration (Carroll, Ruppert, Stefanski and Crainiceanu 2006), SIMEX (Cook and Stefanski 1994) and, for flipped labels,
MC-SIMEX (Kuechenhoff, Mwalili and Lesaffre 2006). The online learners read every row once, and their mean hypothesis
is evaluated. The covariance of the noise is estimated from the copies of the rows (`feedback.replicate_covariance`).

No data set with measured replicates is available to this study: the sets in scikit-learn's package have none. So the
copies of real rows are the rows plus simulated noise, whose variance is a share of the variance of each attribute.
"""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import Count, Interval, Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.study import Context, Report, Study
from jaxonline.study.ready import errors_in_variables_labels as labels
from jaxonline.study.ready import errors_in_variables_regression as regression
from jaxonline.study.ready.errors_in_variables_figure import plot_errors
from jaxonline.study.ready.errors_in_variables_labels import FlippedRegression
from jaxonline.study.ready.errors_in_variables_quadratic import QuadraticRegression
from jaxonline.study.ready.errors_in_variables_regression import Regression, from_rows, simulated
from jaxonline.study.study import Positive, Words, load_set

GAUSSIAN, SKEWED, FLIPPED = "Gaussian instances", "skewed instances", "flipped labels"
QUADRATIC = "quadratic, skewed"
Problem = Regression | QuadraticRegression | FlippedRegression


class ErrorsInVariables(Study):
    """Study of linear and quadratic models, two real sets with simulated noise, and flipped labels.

    Steps of online learners are 2 eta / (L sqrt(t)), where L is E k(x, x) times the largest curvature of the loss. The
    eta of a learner has the least risk on clean held-out rows in separate runs. The methods of statistics have nothing
    to tune. If instances are skewed, regression calibration is consistent in the linear model, and biased in the
    quadratic one.
    """

    title: ClassVar[str] = (
        "Errors in variables: total least squares, corrected score, calibration and SIMEX beside online learners."
    )
    runs: int = Field(40, ge=2, le=100_000, description="Runs of each method.")
    tuning_runs: int = Field(8, ge=1, le=1000, description="Separate runs that choose the steps of online learners.")
    rows: int = Field(1000, ge=50, le=1_000_000, description="Training rows of a simulated run.")
    held_out: int = Field(500, ge=2, le=1_000_000, description="Held-out rows of a simulated run.")
    dimension: int = Field(4, ge=1, le=100, description="Dimension of simulated instances.")
    copies: int = Field(2, ge=2, le=100, description="Copies of each row.")
    noise_variance: float = Field(0.5, gt=0, description="Variance of the noise of simulated instances of variance 1.")
    label_variance: float = Field(0.1, gt=0, description="Variance of the noise of labels.")
    real_noise: float = Field(0.1, gt=0, description="Variance of the noise, as a share of that of a real attribute.")
    flip_rate: float = Field(0.2, gt=0, lt=0.5, description="Rate at which labels are flipped.")
    resamples: int = Field(50, ge=1, le=100_000, description="Simulated data sets at each level of SIMEX.")
    etas: Positive = Field((0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4), min_length=1, description="Candidate steps.")
    sets: Words = Field(("Airfoil", "Concrete"), description="Real sets.")
    data: Path | None = Field(None, description="Folder of the real sets, searched before JAXONLINE_DATA.")

    @model_validator(mode="after")
    def _check_rows(self) -> Self:
        if self.rows < 10 * self.dimension:
            raise ArgumentError("rows", f"must be at least 10 times the dimension, {self.dimension} (got {self.rows})")
        return self

    def run(self, context: Context) -> Report:
        problems, skipped = self.problems()
        settings = self.model_dump(exclude={"data", "sets"}) | {"seed": context.seed}
        with context.parts(len(problems)) as part:
            outcomes = {}
            for i, problem in enumerate(problems):
                inputs = settings | {"problem": problem.name, "w": problem.w.tolist()}
                outcomes[problem.name] = part(problem.name).compute_once(
                    inputs, lambda problem=problem, i=i: self.compute(problem, (context.seed, i))
                )
        rows = [row for problem in problems for row in summarise(problem, outcomes[problem.name])]
        title = "Estimates of w and risks on clean held-out rows"
        caption = (
            f"{self.runs} runs. Bias and root mean squared error (RMSE) are those of the vector w, divided by |w|. "
            "Excess risk: risk minus that of the target w, with 95 % intervals. Copies (labels, if they are flipped): "
            "the largest number, without those that only estimate the covariance of the noise."
        )
        return Report(
            {"table": Table(title, rows)},
            {"figure": lambda: plot_errors(rows, self.runs)},
            [*self.sentences(problems, outcomes), *compare(rows), *skipped],
            numbers={"settings": settings, "rows": rows},
            shown=[Table(title, rows, COLUMNS, group="problem", headed=True, caption=caption)],
        )

    def problems(self) -> tuple[list[Problem], list[str]]:
        """Return the problems, and a sentence for each real set that cannot be fetched."""
        sizes = self.rows, self.held_out, self.dimension, self.noise_variance, self.label_variance
        rest = self.copies, self.resamples
        problems: list[Problem] = [
            simulated(GAUSSIAN, lambda rng, shape: rng.normal(size=shape), *sizes, *rest),
            simulated(SKEWED, lambda rng, shape: rng.exponential(size=shape) - 1.0, *sizes, *rest),
            # twice the copies with twice the noise: the mean of the copies has the same noise
            QuadraticRegression(
                QUADRATIC, np.array([0.0, 1.0, 0.5]), self.rows, self.held_out, 2 * self.noise_variance,
                self.label_variance, 2 * self.copies, self.resamples,
            ),
        ]  # fmt: skip
        skipped = []
        for name in self.sets:
            try:
                rows = load_set(name, () if self.data is None else (str(self.data),))
            except OSError as error:
                skipped.append(f"{name} is skipped: {error}")
            else:
                problems.append(from_rows(name, rows.X, rows.y, self.real_noise, self.label_variance, *rest))
        w = 2 * problems[0].w
        problems.append(FlippedRegression(FLIPPED, w, self.rows, self.held_out, self.flip_rate, self.resamples))
        return problems, skipped

    def compute(self, problem: Problem, seed: tuple[int, int]) -> dict[str, np.ndarray]:
        """Return estimates [methods, runs, d], excess risks [methods, runs], etas, and where the safeguard acted."""
        rng = np.random.default_rng(seed)
        tuning = [problem.draw(rng) for _ in range(self.tuning_runs)]
        samples = [problem.draw(rng) for _ in range(self.runs)]
        batch = [problem.estimate(sample, r) for r, sample in enumerate(samples)]
        w = [[estimates[name] for estimates, _ in batch] for name in batch[0][0]]
        etas = []
        for method in problem.learners(len(samples[0].y)).values():
            risks = [
                np.mean([problem.risk(method.estimate(s, eta, problem.loss, r), s) for r, s in enumerate(tuning)])
                for eta in self.etas
            ]
            etas.append(self.etas[int(np.argmin(risks))])
            w.append([method.estimate(sample, etas[-1], problem.loss, r) for r, sample in enumerate(samples)])
        least = [problem.risk(problem.w, sample) for sample in samples]
        excess = [[problem.risk(v, s) - b for v, s, b in zip(own, samples, least, strict=True)] for own in w]
        guarded = np.array([acted for _, acted in batch])
        return {
            "w": np.array(w), "excess": np.array(excess), "etas": np.array(etas), "guarded": guarded,
            "n_rows": np.array(len(samples[0].y)),
        }  # fmt: skip

    def sentences(self, problems: list[Problem], outcomes: dict[str, dict[str, np.ndarray]]) -> list[str]:
        """Return the origin of the copies, and the number of runs in which the safeguard acted."""
        lines = [
            f"{', '.join(self.sets)}: the rows are real; their copies are simulated, with noise of {self.real_noise:g} "
            "times the variance of each attribute. No set with measured replicates was available."
        ] * bool(self.sets)
        for problem in problems:
            acted = int(outcomes[problem.name]["guarded"].sum())
            lines += [f"{problem.name}: the safeguard of the corrected score acted in {acted} runs."] * bool(acted)
        return lines


def compare(rows: list[dict[str, Any]]) -> list[str]:
    """Return for each problem the least errors of a method of statistics and of an online learner, on noisy data."""
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [row for row in rows if row["problem"] == problem and row["method"] not in NOT_COMPARED]
        least = [
            min((row for row in own if row["method"].startswith("online") == online), key=lambda row: row["rmse"])
            for online in (False, True)
        ]
        texts = (f"{row['rmse']:.3f} ({row['method']})" for row in least)
        lines.append(f"{problem}: least RMSE of a method of statistics {' and of an online learner '.join(texts)}.")
    return lines


NOT_COMPARED = (regression.CLEAN, regression.ONLINE_CLEAN, regression.TLS_RESIDUAL, labels.CLEAN)
COLUMNS = (
    Text("method"),
    Number("rows", "rows", "{:,}"),
    Number("copies", "copies\n/row"),
    Number("eta", "eta", "{:g}"),
    Number("bias", "bias", "{:.3f}"),
    Number("rmse", "RMSE", "{:.3f}"),
    Interval("excess", "excess risk", "{:.4f}"),
    Count("failed", "failed\nruns"),
)


def summarise(problem: Problem, outcome: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return a row for each method; `bias_error` is the standard error of the bias. Failed runs are left out."""
    copies, excess = problem.copies_per_row(), mean_over_runs(outcome["excess"])
    etas = [None] * (len(copies) - len(outcome["etas"])) + outcome["etas"].tolist()
    rows = []
    for i, (name, estimates) in enumerate(zip(copies, outcome["w"] / np.linalg.norm(problem.w), strict=True)):
        errors = estimates[np.isfinite(estimates).all(axis=1)] - problem.w / np.linalg.norm(problem.w)
        bias_error = np.sqrt(np.sum(errors.var(axis=0, ddof=1)) / len(errors)) if len(errors) > 1 else np.nan
        row = {
            "problem": problem.name, "method": name, "rows": int(outcome["n_rows"]), "copies": copies[name],
            "eta": etas[i], "bias": float(np.linalg.norm(errors.mean(axis=0))) if len(errors) else np.nan,
            "bias_error": float(bias_error), "rmse": float(np.sqrt(np.sum(errors**2) / max(len(errors), 1))),
            "failed": len(estimates) - len(errors),
        }  # fmt: skip
        ends = (("", "mean"), ("_low", "low"), ("_high", "high"))
        rows.append(row | {f"excess{end}": float(getattr(excess, part)[i]) for end, part in ends})
    return rows
