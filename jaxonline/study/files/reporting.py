"""The report of a study file: tables, figures and numbers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jaxonline.bounds.theorem import Bound
from jaxonline.learners import Constant, InverseSqrt
from jaxonline.results import Result
from jaxonline.results.quantities import default_quantity, label_of
from jaxonline.results.report.summary import notes
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, REGRET_COLUMNS, Interval, Number, Table, Text
from jaxonline.results.statistics.estimates import learners_with_skewed_runs
from jaxonline.results.tuned import Tuned
from jaxonline.study.comparison import ignore_skewness_warnings
from jaxonline.study.study import Report


def build_report(
    result: Result,
    title: str,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    tuned: Mapping[str, Tuned] = MappingProxyType({}),
) -> Report:
    """Build the report of a study's result; the study may be unfinished.

    For each learner, `bounds` holds a regret bound and the learner's step, and `tuned` holds the search for the step.
    """
    curves = {
        name: bound_curve(*bound_and_step, result.rounds)
        for name, bound_and_step in (bounds or {}).items()
        if name in result.learners
    }
    lines = {name: curve for name, curve in curves.items() if np.isfinite(curve).all()}
    promised = {name: float(curve[-1]) for name, curve in curves.items() if np.isfinite(curve[-1])}
    quantity = default_quantity(result)
    further = [name for name in result.measures if name in _scalar_measures(result)]
    with ignore_skewness_warnings(), np.errstate(invalid="ignore"):  # stopping rounds may be infinite
        table = _table(result, title, quantity, promised, further)
        means = result.mean(quantity)
        skewed = learners_with_skewed_runs(result, quantity)
        numbers = {
            "rounds": result.rounds, "runs": len(result.runs), "level": 0.95, "quantity": quantity,
            "learners": {
                name: {"mean": means.mean[i], "low": means.low[i], "high": means.high[i], "bound": curves.get(name)}
                | {measure: float(result.mean(measure).mean[i, -1]) for measure in further}
                for i, name in enumerate(result.learners)
            },
        }  # fmt: skip
    sentences = []
    if skewed:
        start = "Skewed distribution over the runs; Student's interval understates the longer side"
        sentences.append(f"{start}: {', '.join(skewed)}.")
    if len(promised) < len(curves):
        sentences.append(f"The bounds do not cover the steps of {', '.join(n for n in curves if n not in promised)}.")
    at_edge = [name for name, tuning in tuned.items() if tuning.at_edge]
    if at_edge:
        sentences.append(f"The best step is the smallest or largest one tried: {', '.join(at_edge)}.")
    if tuned:
        rounds = sum(tuning.rounds for tuning in tuned.values())
        sentences.append(f"Steps were chosen in {rounds:,} rounds of separate runs.")
    reached = result.meta.get("precision")
    if isinstance(reached, Mapping):
        word = "reached" if reached.get("reached") else "not reached"
        sentences.append(f"The requested precision was {word} with {reached.get('runs'):,} runs.")
        sentences += [f"{note[0].upper()}{note[1:]}." for note in notes({"precision": reached})]

    tables = {"table": table}
    if "pairs" in result.meta.get("decisions", {}):  # otherwise the study is unfinished
        tables["decisions"] = result.decisions.pair_table
        sentences.append(result.decisions.table.caption)

    figures = {"figure": _plot_later(result, quantity, bounds=lines or None, title=title or None)}
    figures |= {f"figure-{measure}": _plot_later(result, measure) for measure in further}
    return Report(tables, figures, sentences, {"result": result}, numbers)


def _plot_later(result: Result, quantity: str, **options: Any) -> Any:
    def draw() -> Any:
        with ignore_skewness_warnings(), np.errstate(invalid="ignore"):
            return result.plot(quantity=quantity, **options)

    return draw


def _scalar_measures(result: Result) -> set[str]:
    """Return the measures beyond losses and queries that are numbers, not vectors."""
    plain = {name for name, values in result.measures.items() if values.ndim == 3}
    return {name for name in plain - {"cumulative_loss", "queries"} if " " not in name and not name.startswith("_")}


def _table(result: Result, title: str, quantity: str, bounds: dict[str, float], further: list[str]) -> Table:
    means = {name: result.mean(name).mean[:, -1] for name in further}
    beside = [{name: float(mean[i]) for name, mean in means.items()} for i in range(len(result.learners))]
    columns = [Number(name, name.replace("_", "\n", 1), "{:.4g}") for name in further]
    runs = f"{len(result.runs):,} runs" if len(result.runs) > 1 else "1 run"
    sized = f"{runs} of {result.rounds[-1]:,} rounds"
    title = f"{title} ({sized})" if title else sized
    if quantity == "regret":
        title = f"{title}: {label_of(quantity, result.meta)}"
        rows = [row | more for row, more in zip(result.table(bounds), beside, strict=True)]
        shown = [column for column in REGRET_COLUMNS if column.key != "bound" or bounds]
        return Table(title, rows, (*shown, *columns))
    total, queries, horizon = result.mean(quantity), result.mean("queries"), int(result.rounds[-1])
    short = quantity.removeprefix("cumulative_")  # "loss" or "reward"
    rows = [
        {
            "learner": name, "queries_per_round": float(queries.mean[i, -1]) / horizon,
            quantity: float(total.mean[i, -1]), "low": float(total.low[i, -1]), "high": float(total.high[i, -1]),
            f"{short}_per_round": float(total.mean[i, -1]) / horizon, "failed": int(result.failed[i]),
            "overflowed": int(result.overflowed[i]), **({"bound": bounds.get(name)} if bounds else {}), **beside[i],
        }
        for i, name in enumerate(result.learners)
    ]  # fmt: skip
    summed = (
        Text("learner"), Number("queries_per_round", "queries\n/round", "{:.2f}"),
        Interval(quantity, f"{short}\n(95 %)", "{:.4g}"), Number(f"{short}_per_round", f"{short}\n/round", "{:.5g}"),
        *(column for column in REGRET_COLUMNS if column.key == "bound" and bounds),
    )  # fmt: skip
    return Table(title, rows, (*summed, *EXCLUDED_RUNS_COLUMNS, *columns))


def bound_curve(bound: Any, step: Any, rounds: np.ndarray) -> np.ndarray:
    """Return a regret bound at each round; NaN if unknown, NaN or inf if the theorem does not cover the step."""
    steps = bound.steps if isinstance(bound, Bound) else ()
    if "eta" in steps and isinstance(step, InverseSqrt):
        return np.asarray(bound.at_rounds(rounds, eta=float(np.asarray(step.eta))))
    if "step_size" in steps and isinstance(step, Constant):
        return np.asarray(bound.at_rounds(rounds, step_size=float(np.asarray(step.value))))
    if isinstance(bound, Bound) and bound.curve is not None and not steps:
        return np.asarray(bound.at_rounds(rounds))
    curve = np.full(len(rounds), np.nan)
    if "step_size" not in steps or step is None:  # otherwise the theorem is for other steps
        curve[-1] = float(bound)
    return curve
