"""Text of a printed result, and tables of a result for notebooks, papers and pandas."""

import textwrap
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.bounds.theorem import unmet_assumptions
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, SkewedRunsWarning
from jaxonline.results import parts
from jaxonline.results.quantities import (
    REWARD_OF_LOSS,
    ROUNDS_PLAYED,
    best_first,
    has_rewards,
    is_reward,
    label_of,
    short_label_of,
)
from jaxonline.results.report.columns import Measured, Number, OptionalNumber, Text
from jaxonline.results.report.formats import (
    escape_html,
    format_number,
    shorten,
    shorten_names,
    to_one_line,
    wrap_for_notebook,
)
from jaxonline.results.report.formulas import formulas_to_text
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Table, bounds_at_horizon
from jaxonline.results.statistics.estimates import choose_test, missing_from
from jaxonline.results.statistics.intervals import ConfidenceInterval
from jaxonline.results.statistics.missing_events import MissingEvents
from jaxonline.results.statistics.ranking import VALID

if TYPE_CHECKING:
    import pandas

MAX_PRINTED_LEARNERS, MAX_NOTEBOOK_LEARNERS, WIDTH = 6, 12, 100
REACTING = "The environment reacts to the learner's moves: theorems for oblivious environments do not apply."
SUMMED_QUANTITIES = ("regret", *REWARD_OF_LOSS, *REWARD_OF_LOSS.values())  # also shown per round


def default_quantity(result: Any, quantity: str | None = None) -> str:
    """Return the given quantity; by default "regret", or without a comparator the cumulative loss or reward."""
    if quantity is not None:
        return check.choice("quantity", quantity, result.quantities)
    if result.comparator_loss is not None:
        return "regret"
    return "cumulative_reward" if has_rewards(result) else "cumulative_loss"


def format_runs(n_runs: int) -> str:
    """Format a number of runs as text.

    Example:
        >>> format_runs(1), format_runs(10_000)
        ('one run', '10,000 runs')
    """
    return "one run" if n_runs == 1 else f"{n_runs:,} runs"


def result_title(result: Any, quantity: str) -> str:
    """Return the title of a result's table: numbers of learners, runs and rounds, and the quantity."""
    n_learners, horizon = len(result.learners), int(result.rounds[-1])
    learners = "one learner" if n_learners == 1 else f"{n_learners:,} learners"
    rounds = "one round" if horizon == 1 else f"{horizon:,} rounds"
    comparator = result.meta.get("comparator") if quantity == "regret" else None
    title = f"{learners}, {format_runs(len(result.runs))} of {rounds}: {label_of(quantity, result.meta)}"
    has_parameters = comparator and not comparator.endswith("()")
    return to_one_line(f"{title}, {comparator}" if has_parameters else title)


def horizon_table(
    result: Any,
    quantity: str | None = None,
    bounds: Mapping[str, float] | None = None,
    *,
    level: float = 0.95,
    interval: ConfidenceInterval | None = None,
    most: int | None = None,
    for_paper: bool = False,
    letters: bool = False,
) -> Table:
    r"""Return the table of the `most` best learners after the last round, sorted from the best mean to the worst.

    The best mean is the smallest, or the largest of a reward. With `for_paper`, the head of the column names the regret
    with its comparator, since a LaTeX tabular has no title. With `for_paper` or `letters`, the best learner is bold if
    it differs from each other learner. `letters` adds the letters of `Result.ranking`. Other arguments are as in
    `Result.table`.

    Example:
        >>> import jaxonline as jo
        >>> loss = np.array([[[2.0], [4.0]], [[1.0], [3.5]]])
        >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
        >>> result = jo.Result(("a_1", "η = 1"), np.arange(2), np.array([1]), measures)
        >>> print(result.to_latex())
        \begin{tabular}{lrrr}
        \toprule
        learner & queries /round & cumulative loss (95 \%) & cumulative loss /round \\
        \midrule
        $\eta$ = 1 & 0 & 2 $\pm$ 16 & 2.250 \\
        a\_1 & 0 & 3 $\pm$ 13 & 3 \\
        \bottomrule
        \end{tabular}
        % With so few runs, any event may be missing.
        <BLANKLINE>
    """
    quantity = default_quantity(result, quantity)
    numbers = bounds_at_horizon(bounds, result.learners)
    last = parts.select_rounds(result, slice(-1, None), quantity, "cumulative_loss", "queries", ROUNDS_PLAYED)
    if last.measures.get(quantity, last.cumulative_loss).ndim > 3:
        raise ArgumentError("quantity", f"must be a number in each round (got {quantity!r}, which is a vector)")
    horizon, head = int(result.rounds[-1]), short_label_of(quantity, result.meta)
    label = label_of(quantity, result.meta) if for_paper else head
    with warnings.catch_warnings(action="ignore", category=SkewedRunsWarning):  # `Result.mean` warns
        estimate, queries = last.mean(quantity, level, interval), last.mean("queries", level)
        ranked = (for_paper or letters) and len(result.learners) > 1 and len(result.runs) > 1
        ranking = last.ranking(quantity, level, interval) if ranked else None
    best = ranking is not None and all(ranking.differ(ranking.learners[0], other) for other in ranking.learners[1:])
    rows = []
    for i in best_first(estimate.mean[:, -1], is_reward(result, quantity))[:most]:
        name, mean = result.learners[i], float(estimate.mean[i, -1])
        row = {"learner": name, "queries_per_round": float(queries.mean[i, -1]) / horizon, quantity: mean}
        row |= {"low": float(estimate.low[i, -1]), "high": float(estimate.high[i, -1])}
        row |= {"per_round": mean / horizon} if quantity in SUMMED_QUANTITIES else {}
        row |= {"bound": None if name not in numbers else float(numbers[name])} if numbers else {}
        row |= {"failed": int(result.failed[i]), "overflowed": int(result.overflowed[i])}
        if letters and ranking is not None:
            row["letters"] = ranking.letters[ranking.learners.index(name)]
        rows.append(row | {"best": bool(best and not rows)})
    columns = [
        Text("learner"),
        *([] if quantity == "queries" else [Number("queries_per_round", "queries\n/round", format_number)]),
        Measured(quantity, f"{label}\n({100 * level:.6g} %)" if len(result.runs) > 1 else label),
        OptionalNumber("per_round", f"{head}\n/round", format_number),
        OptionalNumber("bound", "theorem's\nbound", format_number),
        *([Text("letters", "same letter:\nno difference seen")] if rows and "letters" in rows[0] else []),
        *EXCLUDED_RUNS_COLUMNS,
    ]
    reserved = reservation(last, quantity, level, interval) if ranking is None or not letters else ranking.table.caption
    caption = " ".join([*filter(None, [reserved]), *unmet_assumptions(bounds or {}, result.meta.get("oblivious"))])
    return Table(result_title(result, quantity), rows, columns, caption=caption, strong="best")


def reservation(
    result: Any, quantity: str, level: float = 0.95, interval: ConfidenceInterval | None = None, widest: int = 1000
) -> str:
    """Return `Ranking.reservation`, with names of at most `widest` columns; decisions between few learners only."""
    n_runs = len(result.runs)
    if n_runs < 2:
        return ""
    if len(result.learners) > MAX_NOTEBOOK_LEARNERS:
        return MissingEvents(min(3 / n_runs, 1.0)).sentence
    if choose_test(result, quantity, interval).holds_for_any_runs:
        return VALID
    missing = missing_from(result, quantity, level, interval)
    plain = [formulas_to_text(name) for name in missing.pair]
    return missing._replace(pair=tuple(shorten_names(plain, widest))).sentence


def result_text(result: Any) -> str:
    """Return the text of a printed result: the best learners with their intervals, in about ten lines."""
    quantity = default_quantity(result)
    n_learners = len(result.learners)
    table = horizon_table(result, most=MAX_PRINTED_LEARNERS)
    lines = [shorten(f"Result: {table.title}", WIDTH), *table.text(WIDTH).splitlines()]
    lines += [f"... and {n_learners - MAX_PRINTED_LEARNERS:,} more"] if n_learners > MAX_PRINTED_LEARNERS else []
    others = ", ".join(to_one_line(name) for name in result.quantities if name != quantity)
    lines += [shorten(f"also measured: {others}", WIDTH)]
    lines += precision_notes(result.meta.get("precision")) + decision_notes(result.meta.get("decisions"))
    missing = formulas_to_text(reservation(result, quantity, widest=30))
    lines += [shorten(line, WIDTH) for line in textwrap.wrap(missing, WIDTH)]
    return "\n".join(lines if result.meta.get("oblivious") is not False else [*lines, REACTING])


def precision_notes(precision: Any) -> list[str]:
    """Return what the runs of a study that stopped by `Precision` cannot show, as lines for a printed result.

    Example:
        >>> precision_notes({"biased_mean": True, "runs": 300, "unseen_probability": 0.01})[1]
        'events with a probability below 0.01 per run may be missing from the mean and its interval'
    """
    if not isinstance(precision, Mapping):
        return []
    biased = f"stopped after {precision['runs']:,} runs by looking at the runs, so the mean is biased"
    notes = [biased] if precision.get("biased_mean") else []
    unseen = precision.get("unseen_probability")
    if unseen is not None:
        notes += [f"events with a probability below {unseen:.2g} per run may be missing from the mean and its interval"]
    return notes


def decision_notes(decisions: Any) -> list[str]:
    """Return the outcome of `UntilDecided` as lines for a printed result.

    Example:
        >>> pairs = [["a", "b", "better", 128, -1.0, -2.0, -0.1]]
        >>> decision_notes({"complete": True, "runs": 128, "saved": 872, "pairs": pairs})
        ['decided all pairs in 128 of at most 1,000 runs, so means are biased: see result.decisions']
    """
    if not isinstance(decisions, Mapping) or "pairs" not in decisions:
        return []
    runs, most = decisions["runs"], decisions["runs"] + decisions["saved"]
    outcome = "decided all pairs" if decisions["complete"] else "left some pairs undecided"
    return [f"{outcome} in {runs:,} of at most {most:,} runs, so means are biased: see result.decisions"]


def result_html(result: Any) -> str:
    """Return the HTML of a result for light and dark notebooks: a table of learners, and the metadata."""
    n_learners = len(result.learners)
    more = n_learners - MAX_NOTEBOOK_LEARNERS
    table = horizon_table(result, most=MAX_NOTEBOOK_LEARNERS)
    caption = f"<p>{escape_html(formulas_to_text(to_one_line(table.caption)))}</p>" if table.caption else ""
    rest = f"<p>... and {more:,} more</p>" if more > 0 else ""
    about = description_list(result.meta, result.learners[:MAX_NOTEBOOK_LEARNERS])
    about = f"{about}<p>{REACTING}</p>" if result.meta.get("oblivious") is False else about
    notes = precision_notes(result.meta.get("precision")) + decision_notes(result.meta.get("decisions"))
    rest += "".join(f"<p>{escape_html(note)}</p>" for note in notes)
    details = f"<details><summary>How it was made</summary>{about}</details>" if about else ""
    return wrap_for_notebook(f"{table.html()}{rest}{caption}{details}")


def description_list(meta: Mapping[str, Any], learners: tuple[str, ...]) -> str:
    """Return `Result.meta` as an HTML list, with only the given learners."""
    items = {}
    for name, value in meta.items():
        if name == "methods" or name in meta.get("versions", ()):
            continue
        if name == "learners":
            items |= {f"learner {one}": value[one] for one in learners if one in value}
        elif isinstance(value, Mapping):
            items[name] = ", ".join(f"{key} {entry}" for key, entry in value.items() if not isinstance(entry, list))
        else:
            items[name] = value
    known = {name: value for name, value in items.items() if value not in (None, "", [])}
    if not known:
        return ""
    entries = []
    for name, value in known.items():
        term = name.removeprefix("n_").replace("_", " ")
        entries.append(f"<dt>{escape_html(term)}</dt><dd>{escape_html(value)}</dd>")
    return f"<dl>{''.join(entries)}</dl>"


def to_pandas(
    result: Any, quantity: str | None, level: float = 0.95, interval: ConfidenceInterval | None = None
) -> "pandas.DataFrame":
    """See `Result.to_pandas`."""
    import pandas

    quantity = default_quantity(result, quantity)
    estimate = result.mean(quantity, level, interval)
    indices = np.indices(estimate.mean.shape).reshape(estimate.mean.ndim, -1)
    columns: dict[str, Any] = {
        "learner": np.array(result.learners, object)[indices[0]],
        "round": result.rounds[indices[1]],
    }
    if len(indices) > 2:
        columns["entry"] = indices[2] if len(indices) == 3 else [",".join(map(str, entry)) for entry in indices[2:].T]
    columns |= {"quantity": quantity, "label": label_of(quantity, result.meta)}
    columns |= {name: getattr(estimate, name).ravel() for name in ("mean", "standard_error", "low", "high")}
    return pandas.DataFrame(columns | {"runs": np.broadcast_to(estimate.n_runs, estimate.mean.shape).ravel()})
