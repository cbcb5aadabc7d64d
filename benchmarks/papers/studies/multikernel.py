"""Table 2 of Rokhlin and Gurtovaya (2025) on multi-kernel online least squares: printed and corrected numbers.

The paper's table names its experts after Vovk, Azoury and Warmuth (VAW). Online ridge at both levels reproduces most of
its numbers in all digits (E17). Both forecasters are computed here from the same features.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import jax
import numpy as np
from pydantic import BeforeValidator, Field

from benchmarks.papers.studies import multikernel_competitors as others
from benchmarks.papers.studies import multikernel_figures as figures
from benchmarks.papers.studies.multikernel_runs import SetResult, printed, run_set_once, scaled
from jaxonline import datasets
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import load_set

MAX_SEEDS = 10_000
SETS = ("AR(4)", "Airfoil", "Concrete")


def parse_seeds(text: str) -> list[int]:
    """Parse seeds: "5" means the first five seeds, "0,3" and "0-4" list the seeds, and "7," means only seed 7.

    Raises a ValueError for other text, a seed above 2^32 - 1, or more than `MAX_SEEDS`.
    """
    matches = [re.fullmatch(r"(\d+)(?:-(\d+))?", item.strip()) for item in text.split(",") if item.strip()]
    ranges = [range(int(match[1]), int(match[2] or match[1]) + 1) for match in matches if match]
    if re.fullmatch(r"\s*\d+\s*", text):
        ranges = [range(int(text))]
    if None in matches or not any(ranges):
        raise ArgumentError("seeds", f'must be a number as "5" or a list as "0,1,2" or "0-4" (got {text!r})')
    if max(span.stop for span in ranges) > 2**32 or sum(span.stop - span.start for span in ranges) > MAX_SEEDS:
        raise ArgumentError("seeds", f"must be at most {MAX_SEEDS}, each below 2^32 (got {text!r})")
    return [seed for span in ranges for seed in span]


def _seeds(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    return parse_seeds(",".join(texts)) if texts and all(isinstance(text, str) for text in texts) else value


def _split_items(value: Any) -> list[str]:
    items = [value] if isinstance(value, str | Path) else value
    groups = [[str(item)] if Path(item).exists() else str(item).split(",") for item in items]
    return [item.strip() for group in groups for item in group if item.strip()]


Items = Annotated[tuple[str, ...], BeforeValidator(_split_items)]


class MultiKernelTable(Study):
    """Study that computes the paper's Table 2 in float64, with features of NumPy's legacy generator as published."""

    title: ClassVar[str] = (
        "Table 2 of the multi-kernel paper beside ours: with online ridge, as published, and with VAW."
    )
    data: Items = Field((), description="Folders and files of data, searched before JAXONLINE_DATA.")
    sets: Items = Field(
        (),
        description="Sets such as AR(4),Airfoil, or files (.npz with X and y, .csv); by default data, or three.",
    )
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = Field(
        (0, 1, 2, 3, 4),
        min_length=1,
        description="Seeds of the dictionaries: their number, a list or a range: 5, 0,1,2, 0-4.",
    )
    forward: bool = Field(False, description="Figures for true VAW instead of online ridge.")
    target: str | int | None = Field(None, description="Column of the target in CSV files, by name or number.")
    impute: Literal["mean", "median"] | None = Field(None, description="Fill gaps with the column's mean or median.")
    competitors: bool = Field(
        False, description="Also run exact kernels, Nystroem features, NORMA with a budget, and OGD-OGD."
    )
    sampler: Literal["correct", "published"] = Field("correct", description="Sampler of OMKL-GF.")
    dtype: Literal["float64", "float32"] = Field(
        "float64", description="float64, or float32 to show its rounding errors."
    )

    def run(self, context: Context) -> Report:
        loaded, is_float32 = self.load_sets(), self.dtype == "float32"
        with jax.enable_x64(True), context.parts(len(loaded) * self._parts()) as part:
            results = [self.run_set(data, part(data.name), self.dtype) for data in loaded]
            exact = [self.run_set(data, part(f"{data.name} in float64"), "float64") for data in loaded if is_float32]
            rivals = [self.run_rivals(data, part(f"{data.name}, others")) for data in loaded if self.competitors]
        kind = "vaw" if self.forward else "ridge"
        tables = {"table": Table("multi-kernel online least squares", _rows(results))}
        shown = [_shown(results)]
        if rivals:
            rows = others.competitor_rows(rivals)
            tables["competitors"] = Table("learners outside the paper's table", rows)
            title = "mean squared error x 1000 of learners outside the table, steps not tuned"
            shown.append(Table(title, rows, others.COLUMNS, group="set", headed=True))
        plots = {"running": lambda: figures.running(results, kind), "weights": lambda: figures.weights(results, kind)}
        lines = [line for pair in zip(results, exact, strict=False) for line in drift(*pair)]
        return Report(
            tables,
            plots,
            lines,
            numbers={result.name: result.by_algorithm() for result in results},
            shown=shown,
        )

    def load_sets(self) -> list[datasets.DataSet]:
        """Load the sets `sets` or the files in `data`; by default AR(4), Airfoil, Concrete. Names must be distinct."""
        loaded: list[datasets.DataSet] = []
        for name in self.sets or [path for path in self.data if Path(path).is_file()] or SETS:
            is_known = datasets.canonical_name(str(name)) is not None
            loaded.append(load_set(name, self.data, target=None if is_known else self.target, impute=self.impute))
            if loaded[-1].name in [other.name for other in loaded[:-1]]:
                raise ArgumentError("sets", f"must have different names (got {loaded[-1].name!r} twice)")
        return loaded

    def _parts(self) -> int:
        return 1 + (self.dtype == "float32") + self.competitors

    def run_rivals(self, data: datasets.DataSet, context: Context) -> others.Errors:
        """Run the learners outside the table on one data set, in float64."""
        X, y = scaled(data.X, data.y)
        frequencies = np.stack([Dictionary.published(seed, X.shape[1]).frequencies for seed in self.seeds])
        return others.run_competitors(context, data.name, X, y, frequencies)

    def run_set(self, data: datasets.DataSet, context: Context, dtype: str) -> SetResult:
        """Run all algorithms on one data set, with one dictionary of random features per seed."""
        X, y = scaled(data.X, data.y)
        frequencies = np.stack([Dictionary.published(seed, X.shape[1]).frequencies for seed in self.seeds])
        return run_set_once(
            context, data.name, X, y, frequencies, seed=self.seeds[0], sampler=self.sampler, dtype=dtype
        )


def _rows(results: Sequence[SetResult]) -> list[dict[str, Any]]:
    """Return one row per set, algorithm and forecaster: the printed MSE x 1000, and mean and deviation over seeds."""
    return [
        {
            "set": result.name, "algorithm": name, "forecaster": forecaster,
            "printed": printed(result.name)[name] if forecaster != "vaw" else None,
            "mse_x1000": 1e3 * float(mse.mean()),
            "deviation_x1000": 1e3 * float(mse.std(ddof=1)) if len(mse) > 1 else None,
            "seeds": len(mse),
        }
        for result in results
        for name, errors in result.by_algorithm().items()
        for forecaster, mse in errors.items()
    ]  # fmt: skip


def _shown(results: Sequence[SetResult]) -> Table:
    rows = [
        {
            "group": f"{result.name}: {result.shape[0]:,} rounds, d = {result.shape[1]}",
            "algorithm": name, "printed": printed(result.name)[name], "vaw": None,
        }
        | {"vaw" if forecaster == "vaw" else "ridge": 1e3 * float(mse.mean()) for forecaster, mse in errors.items()}
        for result in results
        for name, errors in result.by_algorithm().items()
    ]  # fmt: skip
    columns = (
        Text("algorithm", "set, algorithm"),
        Number("printed", form="{:.2f}"),
        Number("ridge", "online ridge\n(as published)", "{:.5f}"),
        Number("vaw", "true VAW", "{:.5f}"),
    )
    return Table("mean squared error x 1000, mean over the seeds", rows, columns, group="group", headed=True)


def drift(inexact: SetResult, exact: SetResult) -> list[str]:
    """Return a sentence on how float32 changes the table; OMKL-GF is left out, because its random draws differ."""
    gaps = {
        which: abs(mse.mean() / exact.mse[which].mean() - 1)
        for which, mse in inexact.mse.items()
        if which[0] != "OMKL-GF" and exact.mse[which].mean() > 0
    }
    worst = max(gaps, key=lambda which: gaps[which], default=None)
    if worst is None:
        return []
    return [f"{inexact.name}: float32 changes the table by up to {gaps[worst]:.1e} of its values ({', '.join(worst)})"]
