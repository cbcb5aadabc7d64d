"""Text of a printed result, and its tables for notebooks, papers and pandas."""

import html
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.bounds.theorem import unmet_assumptions
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, SkewedRunsWarning, to_one_line
from jaxonline.results.parts import select_rounds
from jaxonline.results.quantities import (
    REWARD_OF_LOSS,
    ROUNDS_PLAYED,
    best_first,
    default_quantity,
    is_reward,
    label_of,
)
from jaxonline.results.report.rankings import rank
from jaxonline.results.report.tables import (
    EXCLUDED_RUNS_COLUMNS,
    WIDTH,
    Count,
    Interval,
    Number,
    Table,
    Text,
    Varying,
    format_number,
    shorten,
)
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate
from jaxonline.results.statistics.means import LEAST_RUNS

if TYPE_CHECKING:
    import pandas

MAX_PRINTED_LEARNERS, MAX_NOTEBOOK_LEARNERS = 6, 12
MAX_TITLE_WIDTH = 120  # characters
PULLS = "pulls"
REACTING = "The environment reacts to the learner's moves: theorems for oblivious environments do not apply."
SUMMED_QUANTITIES = ("regret", *REWARD_OF_LOSS, *REWARD_OF_LOSS.values())  # also shown per round


def count_words(n: int, word: str) -> str:
    """Return a number with a noun.

    Example:
        >>> count_words(1, "run"), count_words(10_000, "run")
        ('one run', '10,000 runs')
    """
    return f"one {word}" if n == 1 else f"{n:,} {word}s"


def result_title(result: Any, quantity: str) -> str:
    """Return the title of a result's table: numbers of learners, runs and rounds, and the quantity."""
    learners, runs = count_words(len(result.learners), "learner"), count_words(len(result.runs), "run")
    title = f"{learners}, {runs} of {count_words(int(result.rounds[-1]), 'round')}: {label_of(quantity, result.meta)}"
    comparator = result.meta.get("comparator") if quantity == "regret" else None
    has_parameters = comparator and not comparator.endswith("()")
    return to_one_line(f"{title}, {comparator}" if has_parameters else title)


def bounds_at_horizon(bounds: Mapping[str, Any] | None, learners: Sequence[str]) -> dict[str, Any]:
    """Return the bounds by learner as numbers; a bound is a number, or a record of `jaxonline.bounds` with `value`.

    Infinity means that there is no bound. Assumptions of numbers are kept.
    """
    given = check.dictionary("bounds", bounds, learners)
    numbers = {name: getattr(bound, "value", bound) for name, bound in given.items()}
    for name, bound in numbers.items():
        if not isinstance(bound, float | np.floating) or np.isnan(bound):
            check.number(f"bounds[{name!r}]", bound)
    return numbers


def regret_rows(result: Any, bounds: Mapping[str, float] | None, level: float, interval: Any) -> list[dict[str, Any]]:
    """Return the rows of `Result.table`."""
    numbers = bounds_at_horizon(bounds, result.learners)
    return _rows(result, "regret", result.mean("regret", level, interval), result.mean("queries"), numbers)


def _rows(result: Any, quantity: str, mean: Estimate, queries: Estimate, bounds: dict) -> list[dict[str, Any]]:
    """Return a row for each learner with its estimates after the last round."""
    horizon = int(result.rounds[-1])
    return [
        {
            "learner": name,
            "queries_per_round": float(queries.mean[i, -1]) / horizon,
            quantity: float(mean.mean[i, -1]),
            "low": float(mean.low[i, -1]),
            "high": float(mean.high[i, -1]),
            f"{quantity}_per_round": float(mean.mean[i, -1]) / horizon,
            "bound": bounds.get(name),
            "failed": int(result.failed[i]),
            "overflowed": int(result.overflowed[i]),
        }
        for i, name in enumerate(result.learners)
    ]


def horizon_table(
    result: Any, quantity: str | None = None, bounds: Mapping[str, float] | None = None, *,
    level: float = 0.95, interval: ConfidenceInterval | None = None, most: int | None = None,
    for_paper: bool = False, columns: Sequence[str] | None = None,
) -> Table:  # fmt: skip
    r"""Return the table of the `most` best learners after the last round, sorted from the best mean to the worst.

    The best mean is the smallest, or the largest of a reward. With `for_paper`, the head of the column names the regret
    with its comparator, since a LaTeX tabular has no title, and the best learner is bold if it differs from each other
    learner. `columns` are keys of the rows of `Result.table`. Other arguments are as in `Result.table`.

    Example:
        >>> import jaxonline as jo
        >>> loss = np.array([[[2.0], [4.0]], [[1.0], [3.5]]])
        >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
        >>> result = jo.Result(("a_1", r"$\eta$ = 1"), np.arange(2), np.array([1]), measures)
        >>> print(result.to_latex())
        \begin{tabular}{lrr}
        \toprule
        learner & cumulative loss (95 \%) & cumulative loss /round \\
        \midrule
        $\eta$ = 1 & 2.250 & 2.250 \\
        a\_1 & 3 & 3 \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
    """
    quantity = default_quantity(result, quantity)
    estimates.check_number(result, quantity)
    numbers = bounds_at_horizon(bounds, result.learners)
    last = select_rounds(result, slice(-1, None), quantity, "cumulative_loss", "queries", ROUNDS_PLAYED)
    with warnings.catch_warnings(action="ignore", category=SkewedRunsWarning):  # `Result.mean` warns
        mean, queries = last.mean(quantity, level, interval), last.mean("queries", level)
        ranked = for_paper and min(len(result.learners), len(result.runs)) > 1
        ranking = rank(last, quantity, level, interval) if ranked else None
    best = ranking is not None and all(ranking.differ(ranking.learners[0], other) for other in ranking.learners[1:])
    every = _rows(last, quantity, mean, queries, numbers)
    rows = [every[i] for i in best_first(mean.mean[:, -1], is_reward(result, quantity))[:most]]
    rows = [row | {"best": best and i == 0} for i, row in enumerate(rows)]
    head = "pseudo-regret" if quantity == "regret" and result.meta.get("pseudo") else label_of(quantity)
    label = label_of(quantity, result.meta) if for_paper else head
    shown: list[Text] = [
        Text("learner"),
        *([] if quantity == "queries" else [Varying("queries_per_round", "queries\n/round", format_number)]),
        Interval(quantity, f"{label}\n({100 * level:.6g} %)" if len(result.runs) > 1 else label),
        *([Number(f"{quantity}_per_round", f"{head}\n/round", format_number)] if quantity in SUMMED_QUANTITIES else []),
        *([Number("bound", "theorem's\nbound", format_number)] if numbers else []),
        *EXCLUDED_RUNS_COLUMNS,
    ]
    if columns is not None:
        known = {column.key: column for column in shown}
        chosen = [known[check.choice("columns", key, known)] for key in check.sequence("columns", columns, "column")]
        shown = [Number(col.key, col.head, col.form) if isinstance(col, Count | Varying) else col for col in chosen]
    caption = " ".join(unmet_assumptions(bounds or {}, result.meta.get("oblivious")))
    return Table(result_title(result, quantity), rows, shown, caption=caption, strong="best")


def result_text(result: Any) -> str:
    """Return the text of a printed result: the best learners with their intervals, in about ten lines."""
    quantity, n_learners = default_quantity(result), len(result.learners)
    table = horizon_table(result, most=MAX_PRINTED_LEARNERS)
    title = to_one_line(f"Result: {table.title}")
    lines = [*textwrap.wrap(title, MAX_TITLE_WIDTH, max_lines=2, placeholder=" …"), *table.text().splitlines()]
    lines += [f"... and {n_learners - MAX_PRINTED_LEARNERS:,} more"] if n_learners > MAX_PRINTED_LEARNERS else []
    others = ", ".join(name for name in result.quantities if name != quantity)
    return "\n".join([*lines, shorten(f"also measured: {others}", WIDTH), *notes_of(result)])


def notes_of(result: Any) -> list[str]:
    """Return the notes of a result; runs that are all equal are not called few."""
    last = result.values(default_quantity(result))[:, :, -1]
    return notes(result.meta, len(result.runs) if (last != last[:, :1]).any() else 1, result.interval)


def notes(meta: Mapping[str, Any], n_runs: int, interval: ConfidenceInterval) -> list[str]:
    """Return what a reader of the means must know: few runs, how the study stopped, and a reacting environment.

    Example:
        >>> from jaxonline.results.statistics.intervals import Anytime
        >>> notes({"precision": {"biased_mean": True, "runs": 300, "unseen_probability": 0.01}}, 300, Anytime())[1]
        'events with a probability below 0.01 per run may be missing from the mean and its interval'
        >>> notes({"decisions": {"complete": True, "runs": 128, "saved": 872, "pairs": []}}, 128, Anytime())
        ['decided all pairs in 128 of at most 1,000 runs, so means are biased: see result.decisions']
    """
    lines, precision, decisions = [], meta.get("precision") or {}, meta.get("decisions") or {}
    if 1 < n_runs < LEAST_RUNS and not interval.holds_for_any_runs:
        lines.append(f"{n_runs} runs are too few to show whether they are skewed: intervals need {LEAST_RUNS} or more")
    if precision.get("biased_mean"):
        lines.append(f"stopped after {precision['runs']:,} runs by looking at the runs, so the mean is biased")
    if (unseen := precision.get("unseen_probability")) is not None:
        lines.append(
            f"events with a probability below {unseen:.2g} per run may be missing from the mean and its interval"
        )
    if "pairs" in decisions:
        runs, most = decisions["runs"], decisions["runs"] + decisions["saved"]
        outcome = "decided all pairs" if decisions["complete"] else "left some pairs undecided"
        lines.append(f"{outcome} in {runs:,} of at most {most:,} runs, so means are biased: see result.decisions")
    return [*lines, REACTING] if meta.get("oblivious") is False else lines


def result_html(result: Any) -> str:
    """Return the HTML of a result for notebooks: a table of learners, and the metadata."""
    more = len(result.learners) - MAX_NOTEBOOK_LEARNERS
    rest = [f"... and {more:,} more"] if more > 0 else []
    lines = "".join(f"<p>{html.escape(line)}</p>" for line in [*rest, *notes_of(result)])
    shown = {name: value for name, value in result.meta.items() if name != "methods" and value not in (None, "", [])}
    about = "\n".join(f"{name}: {value}" for name, value in shown.items())
    details = f"<details><summary>How it was made</summary><pre>{html.escape(about)}</pre></details>" if about else ""
    return f"{horizon_table(result, most=MAX_NOTEBOOK_LEARNERS)._repr_html_()}{lines}{details}"


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


def table_of_pulls(result: Any, level: float, arms: Sequence[str] | None) -> Table:
    """Return the table of pulls as `Result.pulls_table` does."""
    check.number("level", level, gt=0.0, lt=1.0)
    check_pulls(result)
    estimate = estimates.at_horizon(select_rounds(result, slice(-1, None)).mean(PULLS, level))
    n_arms, horizon = estimate.mean.shape[-1], int(result.rounds[-1])
    names = [str(arm) for arm in range(n_arms)] if arms is None else arm_names(arms, n_arms)
    rows = []
    for i, learner in enumerate(result.learners):
        for k, name in enumerate(names):
            mean, low, high = (float(field[i, k]) for field in (estimate.mean, estimate.low, estimate.high))
            row = {"learner": learner, "arm": name, PULLS: mean, "low": low, "high": high}
            rows.append(row | {"per_round": mean / horizon})
    head = f"{PULLS}\n({100 * level:.6g} %)" if len(result.runs) > 1 else PULLS
    columns = Text("learner"), Text("arm"), Interval(PULLS, head), Number("per_round", "pulls\n/round", format_number)
    return Table(result_title(result, PULLS), rows, columns, group="learner")


def check_pulls(result: Any) -> None:
    """Raise an error unless the result has pulls of arms."""
    pulls = result.measures.get(PULLS)
    if pulls is None:
        raise ArgumentError("measures", "must include Pulls (got no pulls); pass simulate(..., measures=[jo.Pulls()])")
    if pulls.ndim != 4:
        raise ArgumentError("measures", f"must have pulls with an entry for each arm (got the shape {pulls.shape})")


def arm_names(arms: Sequence[str], n_arms: int) -> list[str]:
    """Check the names of all arms, and return them."""
    check.sequence("arms", arms, "arm name")
    names = [check.text("arms", arm) for arm in arms]
    if len(names) != n_arms:
        raise ArgumentError("arms", f"must hold a name for each of the {n_arms} arms (got {len(names)} names)")
    return names
