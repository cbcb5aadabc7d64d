"""The published table of multi-kernel online least squares, and what it should have been.

Rokhlin and Gurtovaya (2025), Table 2, names its experts after Vovk, Azoury and Warmuth; its numbers are those of
online ridge at both levels (erratum E17). Both are computed here, from the same features.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import jax
import numpy as np
from pydantic import BeforeValidator, Field

from jaxonline import datasets
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.ready import multikernel_draws as many
from jaxonline.study.ready import multikernel_figures as figures
from jaxonline.study.ready.multikernel_runs import SetResult, printed, run_set_once, scaled
from jaxonline.study.study import load_set

MAX_SEEDS = 10_000
SETS = ("AR(4)", "Airfoil", "Concrete")


def parse_seeds(text: str) -> list[int]:
    """Seeds from text: "5" is the first five seeds, "0,3" or "0-4" name them ("7," is seed 7 alone).

    Raises:
        ValueError: the text is none of these, a seed is above 2^32 - 1, or they are more than `MAX_SEEDS`.
    """
    parts = [re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip()) for part in text.split(",") if part.strip()]
    ranges = [range(int(part[1]), int(part[2] or part[1]) + 1) for part in parts if part]
    if re.fullmatch(r"\s*\d+\s*", text):
        ranges = [range(int(text))]
    if None in parts or not any(ranges):
        raise ArgumentError("seeds", f'must be a number as "5" or a list as "0,1,2" or "0-4" (got {text!r})')
    if max(each.stop for each in ranges) > 2**32 or sum(each.stop - each.start for each in ranges) > MAX_SEEDS:
        raise ArgumentError("seeds", f"must be at most {MAX_SEEDS}, each below 2^32 (got {text!r})")
    return [seed for each in ranges for seed in each]


def _seeds(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    return parse_seeds(",".join(texts)) if texts and all(isinstance(text, str) for text in texts) else value


def _places(value: Any) -> list[str]:
    """Items one by one: each may be a list with commas, unless it is a path."""
    items = [value] if isinstance(value, str | Path) else value
    parts = [[str(item)] if Path(item).exists() else str(item).split(",") for item in items]
    return [part.strip() for group in parts for part in group if part.strip()]


Places = Annotated[tuple[str, ...], BeforeValidator(_places)]


class MultiKernelTable(Study):
    """The table's numbers, with features drawn as published by NumPy's legacy generator, in float64.

    With `draws`, many more of them drawn by JAX: which differences of the table are real? (200 take some minutes.)
    """

    title: ClassVar[str] = (
        "Table 2 of the multi-kernel paper beside ours: online ridge, which was published, and VAW, which was meant."
    )
    data: Places = Field((), description="Folders and files of data, before the folder JAXONLINE_DATA.")
    sets: Places = Field(
        (),
        description="Sets, e.g. AR(4),Airfoil, or files (.npz with X and y, .csv); by default those of data, or three.",
    )
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = Field(
        (0, 1, 2, 3, 4),
        min_length=1,
        description="Of the dictionaries: how many from 0 on, or a list or range: 5, 0,1,2, 0-4.",
    )
    forward: bool = Field(False, description="Figures for true VAW instead of online ridge.")
    target: str | int | None = Field(None, description="Column of the target in CSV files, by name or number.")
    impute: Literal["mean", "median"] | None = Field(None, description="Fill gaps with the column's mean or median.")
    draws: int = Field(0, ge=0, le=1_000_000, description="Draws of the features by jax, to compare algorithms.")
    sampler: Literal["correct", "published"] = Field("correct", description="Of OMKL-GF: correct or published.")
    dtype: Literal["float64", "float32"] = Field("float64", description="float64, or float32 to see the drift.")

    def run(self, context: Context) -> Report:
        loaded, rough = self.load_sets(), self.dtype == "float32"
        with jax.enable_x64(True), context.parts(len(loaded) * (1 + rough + (self.draws > 0))) as part:
            results = [self.run_set(each, part(each.name), self.dtype) for each in loaded]
            exact = [self.run_set(each, part(f"{each.name} in float64"), "float64") for each in loaded if rough]
            draws = [
                many.draw_many(name, *scaled(X, y), part(f"{name}, draws"), n_draws=self.draws)
                for name, X, y in loaded
                if self.draws
            ]
        kind = "vaw" if self.forward else "ridge"
        tables = {"table": Table("multi-kernel online least squares", _rows(results))}
        drawn = {"running": lambda: figures.running(results, kind), "weights": lambda: figures.weights(results, kind)}
        if draws:
            tables["draws"] = Table("mean squared errors over the draws", many.interval_rows(draws))
            tables["differences"] = Table("differences over the draws", many.differences(draws))
            drawn["draws"] = lambda: figures.draws(draws)
        lines = [line for each in zip(results, exact, strict=False) for line in drift(*each)]
        lines += many.summary(tables["differences"].rows) if draws else []
        return Report(
            tables, drawn, lines, numbers={each.name: each.by_algorithm() for each in results}, shown=[_shown(results)]
        )

    def load_sets(self) -> list[datasets.DataSet]:
        """The sets asked for: `sets`; or the files in `data`; or AR(4), Airfoil and Concrete.

        Raises:
            ValueError: two sets of the same name, or what `load_set` raises.
        """
        loaded: list[datasets.DataSet] = []
        for name in self.sets or [place for place in self.data if Path(place).is_file()] or SETS:
            own = datasets.canonical_name(str(name)) is not None
            loaded.append(load_set(name, self.data, target=None if own else self.target, impute=self.impute))
            if loaded[-1].name in [other.name for other in loaded[:-1]]:
                raise ArgumentError("sets", f"must have different names (got {loaded[-1].name!r} twice)")
        return loaded

    def run_set(self, data: datasets.DataSet, context: Context, dtype: str) -> SetResult:
        """All algorithms on one set, with a dictionary for each seed."""
        X, y = scaled(data.X, data.y)
        frequencies = np.stack([Dictionary.published(seed, X.shape[1]).frequencies for seed in self.seeds])
        return run_set_once(context, data.name, X, y, frequencies, key=self.seeds[0], sampler=self.sampler, dtype=dtype)


def _rows(results: Sequence[SetResult]) -> list[dict[str, Any]]:
    """One row for each set, algorithm and forecaster: MSE x 1000, as printed, mean and deviation over seeds."""
    return [
        {
            "set": result.name, "algorithm": name, "forecaster": forecaster,
            "printed": printed(result.name)[name] if forecaster != "vaw" else None,
            "mse_x1000": 1e3 * float(mse.mean()),
            "deviation_x1000": 1e3 * float(mse.std(ddof=1)) if len(mse) > 1 else None,
            "seeds": len(mse),
        }
        for result in results
        for name, of in result.by_algorithm().items()
        for forecaster, mse in of.items()
    ]  # fmt: skip


def _shown(results: Sequence[SetResult]) -> Table:
    """For each set what was printed, ours with online ridge, and true VAW."""
    rows = [
        {
            "group": f"{result.name}: {result.shape[0]:,} rounds, d = {result.shape[1]}",
            "algorithm": name, "printed": printed(result.name)[name], "vaw": None,
        }
        | {"vaw" if forecaster == "vaw" else "ridge": 1e3 * float(mse.mean()) for forecaster, mse in of.items()}
        for result in results
        for name, of in result.by_algorithm().items()
    ]  # fmt: skip
    columns = (
        Text("algorithm", "set, algorithm"),
        Number("printed", form="{:.2f}"),
        Number("ridge", "online ridge\n(as published)", "{:.5f}"),
        Number("vaw", "true VAW", "{:.5f}"),
    )
    return Table("mean squared error x 1000, mean over the seeds", rows, columns, group="group", headed=True)


def drift(rough: SetResult, exact: SetResult) -> list[str]:
    """What float32 does to the mean squared errors of the table. (OMKL-GF draws other numbers.)"""
    gaps = {
        which: abs(mse.mean() / exact.mse[which].mean() - 1)
        for which, mse in rough.mse.items()
        if which[0] != "OMKL-GF" and exact.mse[which].mean() > 0
    }
    worst = max(gaps, key=lambda which: gaps[which], default=None)
    if worst is None:
        return []
    return [f"{rough.name}: float32 moves the table by up to {gaps[worst]:.1e} of its values ({', '.join(worst)})"]
