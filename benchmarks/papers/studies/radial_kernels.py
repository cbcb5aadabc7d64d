"""Radial kernels under Gaussian noise: Algorithm 2 with surrogates of truncated kernels.

A radial kernel g is a mixture of Gaussian kernels exp(-u r^2). Only its part u <= c/d, the kernel k, has a surrogate.
The study compares g and k for the paper's kernel (1 + r^2/d)^-1, and plays Algorithm 2 with k of this kernel and of two
others. Other learners have the same k: with full information, or with one copy or the mean of two as if clean. The
kernels are functions of r / sqrt(d), so the figure of g and k does not depend on d.

Source: Cesa-Bianchi, Shalev-Shwartz and Shamir 2010, distributional assumptions, section 6.1 and Appendix E.
"""

import math
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from benchmarks.papers.studies.radial_kernels_figure import plot_radial_kernels
from benchmarks.papers.studies.radial_kernels_problem import RadialProblem
from jaxonline.kernels.radial import Cauchy, RadialExponential, SchoenbergKernel
from jaxonline.parameters import check
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.comparison import (
    format_places,
    ignore_skewness_warnings,
    missing_events_sentence,
    skewness_sentences,
)
from jaxonline.study.study import Names, Positive, select_by_name

WORKED_CASE = "(1 + r^2/d)^-1"
KERNELS = WORKED_CASE, "(1 + r^2/d)^-2", "exp(-r/sqrt d)"


class RadialKernels(Study):
    """Study of regression with instances in a cube, and a target in the RKHS of k with two parts of opposite sign.

    Steps are eta / sqrt(t), with the best eta of separate runs by losses on clean instances. Algorithm 2 is also played
    with the constant step of its theorem: Theorem 5 for (1 + r^2/d)^-1, and Theorem 3 with the exact R for other
    kernels.
    """

    title: ClassVar[str] = (
        "Radial kernels cut at c/d under Gaussian noise: the paper's figure of g and k, and the regret of Algorithm 2."
    )
    runs: int = Field(24, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(2048, ge=64, le=2**16, description="The horizon.")
    only: Names = Field((), description="Kernels, named as in the table; by default all.")
    dimension: int = Field(5, ge=2, le=1000, description="d, the dimension of the instances.")
    noise: float = Field(0.5, gt=0, description="Standard deviation sigma of the noise of a coordinate.")
    c: float = Field(4.0, gt=0, description="d times the largest u of k, below d / (4 sigma^2).")
    label_noise: float = Field(0.1, ge=0, description="Standard deviation of the noise of the labels.")
    etas: Positive = Field((0.1, 0.3, 1.0, 3.0), min_length=1, description="Candidate steps.")

    @model_validator(mode="after")
    def _check_c(self) -> Self:
        check.number("c", self.c, lt=self.dimension / (4.0 * self.noise**2))
        return self

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        chosen = select_by_name("only", self.only, self.kernels())
        compared, facts = {}, {}
        with context.parts(2 * len(chosen)) as part:
            for name, kernel in chosen.items():
                problem = self.problem(kernel, context.seed)
                compared[name] = problem.run(part, name, self.etas, self.runs)
                facts[name] = problem.facts()
        every = {f"{name}{end}": own for name, pair in compared.items() for end, own in zip(ENDS, pair, strict=True)}
        rows = [row for own in every.values() for row in own.rows()]
        edge = format_places({name: chosen.at_edge for name, (chosen, _) in compared.items()})
        return Report(
            {"table": Table("Regret with radial kernels under Gaussian noise", rows)},
            {"figure": lambda: plot_radial_kernels(compared, facts, self.dimension, self.noise)},
            [
                *(_sentence(name, own) for name, own in facts.items()),
                *([_printed(facts[WORKED_CASE], self)] if WORKED_CASE in facts else []),
                f"Steps at the edge of the grid: {edge}.",
                *skewness_sentences(every),
                missing_events_sentence(every),
            ],
            {f"results/kernel {i}{ENDS[j]}": own.result for i, pair in enumerate(compared.values())
             for j, own in enumerate(pair)},
            {
                "settings": self.model_dump() | {"seed": context.seed}, "kernels": facts, "table": rows,
                "curves": {name: own.curves() for name, own in every.items()},
            },
            [Table(f"Regret after {self.rounds:,} rounds", rows, COLUMNS, group="kernel", caption=CAPTION)],
        )  # fmt: skip

    def kernels(self) -> dict[str, SchoenbergKernel]:
        """Return the radial kernels by name."""
        d = float(self.dimension)
        return dict(zip(KERNELS, (Cauchy(d), Cauchy(d, 2.0), RadialExponential(math.sqrt(d))), strict=True))

    def problem(self, kernel: SchoenbergKernel, seed: int) -> RadialProblem:
        """Return the data set for a kernel."""
        return RadialProblem(kernel, self.dimension, self.noise, self.c, self.label_noise, self.rounds, seed)


ENDS = "", ", step of the theorem"
COLUMNS = (
    Text("kernel"),
    Text("learner"),
    Number("eta", form="{:g}"),
    Number("queries_per_round", "queries\n/round", "{:.3g}"),
    Interval("regret", "regret\n(95 %)", "{:,.1f}"),
    Number("bound", form="{:,.0f}"),
    *EXCLUDED_RUNS_COLUMNS,
)
CAPTION = (
    "Regret on clean instances against the best predictor of norm at most B_w in the RKHS of k. The eta of a learner "
    "is chosen in other runs, by losses on clean instances, which no learner sees."
)


def _sentence(name: str, facts: dict[str, Any]) -> str:
    return (
        f"{name}: g - k is at most {facts['truncation_error']:.3g}, the quadrature errors of k and its surrogate are "
        f"{facts['quadrature_error']:.1g} and {facts['surrogate_error']:.1g}; R = {facts['R']:.3f}, B_w = "
        f"{facts['B_w']:.3f}, W = {facts['W']:.3f}, beta = {math.degrees(facts['angle']):.0f} degrees. The theorem's "
        f"bound is {facts['bound']:,.0f} ({facts['bound_exact_R']:,.0f} with the exact R), the regret of the predictor "
        f"0 is {facts['predictor_0']:,.0f}."
    )


def _printed(facts: dict[str, Any], study: RadialKernels) -> str:
    """Compare the constants of Theorem 5 with those in print (errata E12 and E13)."""
    allowed = "allows" if study.c < facts["c_limit_printed"] else "excludes"
    return (
        f"Theorem 5 as printed {allowed} c = {study.c:g}: it needs c < d/(4 sigma) = {facts['c_limit_printed']:g}, "
        f"where c < d/(4 sigma^2) = {facts['c_limit']:g} is right (E13). Its R is e^(sigma c) = "
        f"{facts['R_printed']:.3f}, and e^(sigma^2 c) = {facts['R_lemma7']:.3f} is enough; its bound is "
        f"{facts['bound_printed']:,.0f} (E12, E13)."
    )
