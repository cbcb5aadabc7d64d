"""A result as people meet it: printed, in a notebook, as a table of pandas, Markdown and LaTeX; and its meta."""

import re
import warnings

import numpy as np
import pytest
from made_results import NASTY, Tags, made_result

import jaxonline as jo
from jaxonline.results.report.summary import horizon_table

KINDS = {
    "many": {"n_learners": 14}, "one run": {"n_runs": 1}, "one learner, one round": {"n_learners": 1, "recorded": 1},
    "no comparator": {"comparator": False}, "all failed": {"n_runs": 2, "failed": ((1, 0), (1, 1))},
    "nasty": {"n_learners": len(NASTY), "names": NASTY, "meta": {"comparator": NASTY[0], "game": "L2\n" * 99}},
    "long": {"names": tuple(f"{'a very long name ' * 8}[{i}]" for i in range(3))},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_printed_in_a_few_lines_and_safe_html(kind):
    result = made_result(**KINDS[kind])
    lines = repr(result).splitlines()
    assert 3 < len(lines) <= 12
    assert all(line.isprintable() for line in lines)
    page = Tags(result._repr_html_())
    assert not {tag for tag, _ in page.all} & {"script", "img", "a", "b", "link"}
    for name in result.learners[:12]:
        assert name.replace("\x1b", "�") in page.words or " ".join(name.split()).replace("\x1b", "�") in page.words


def test_a_printed_result_has_the_numbers_of_the_best_learners():
    lines = repr(made_result(14, failed=((0, 1),), meta={"comparator": "L2Ball(radius=1.0)"})).splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in lines if line.startswith("learner ")][1:3] == [
        ["learner 0", "10.5 ± 1.4", "0.1053", "1"],
        ["learner 1", "20.5 ± 2.5", "0.2055", "0"],
    ]
    assert "L2Ball(radius=1.0)" in lines[0]
    assert "and 8 more" in lines[-2]


def test_learners_are_printed_from_the_best_to_the_worst():
    """Those of which no run is left come last."""
    rows = horizon_table(made_result(3, failed=tuple((0, run) for run in range(30)))).rows
    assert [row["learner"] for row in rows] == ["learner 1", "learner 2", "learner 0"]


def test_pandas_has_a_row_for_each_learner_round_and_entry():
    result = made_result(failed=((0, 1),), vector=True)
    of, frame = result.mean("queries", 0.9), result.to_pandas("queries", 0.9)
    one = frame[(frame.learner == "learner 1") & (frame["round"] == 50)].iloc[0]
    assert (one["mean"], one.low, one.high, one.runs) == (of.mean[1, 4], of.low[1, 4], of.high[1, 4], 30)
    assert frame.runs.tolist() == [29] * 10 + [30] * 20
    np.testing.assert_array_equal(frame["mean"].to_numpy().reshape(3, 10), of.mean)
    for options, quantity in (({}, "regret"), ({"comparator": False}, "cumulative_loss"), ({"n_runs": 1}, "regret")):
        frame = made_result(**options).to_pandas()
        assert set(frame.quantity) == {quantity}
        np.testing.assert_array_equal(frame["mean"], made_result(**options).mean(quantity).mean.ravel())
        assert frame.low.isna().all() == (options.get("n_runs") == 1)
    frame = result.to_pandas("pulls")
    assert len(frame) == 3 * 10 * 2
    at = frame[(frame.learner == "learner 2") & (frame["round"] == 100) & (frame.entry == 1)]
    assert at["mean"].item() == result.mean("pulls").mean[2, -1, 1]


@pytest.mark.parametrize("show", [jo.Result.to_latex, jo.Result.to_markdown])
def test_tables_have_a_line_for_each_learner_and_reject_vectors(show):
    result = made_result(vector=True)
    for quantity in (None, "regret", "comparator_loss", "queries"):
        text = show(result, quantity)
        assert [sum(f"learner {i}" in line for line in text.splitlines()) for i in range(3)] == [1, 1, 1]
    with pytest.raises(ValueError, match=r"quantity: .*got 'pulls', which is a vector"):
        show(result, "pulls")


def test_the_best_is_in_bold_type_only_if_it_differs_from_all_others():
    apart = made_result()
    ranking = apart.ranking()
    assert all(ranking.differ("learner 0", other) for other in ("learner 1", "learner 2"))
    assert [line.count("bfseries") for line in apart.to_latex().splitlines() if "learner " in line][:4] == [0, 1, 0, 0]
    assert apart.to_markdown().count("**") == 2
    alike = made_result(names=("a", "b", "c"))
    alike.measures["cumulative_loss"][1] = alike.measures["cumulative_loss"][0] + np.resize([1.0, -1.0], (30, 1))
    assert not alike.ranking().differ("a", "b")
    assert alike.ranking().differ("a", "c")
    for result in (alike, made_result(1), made_result(n_runs=1)):
        assert "bfseries" not in result.to_latex()
        assert "**" not in result.to_markdown()


def test_the_table_shows_bounds_and_excluded_runs():
    result = made_result(failed=((0, 1),))
    tex = result.to_latex(bounds={"learner 1": 1234.5})
    assert "theorem's bound & failed runs" in tex
    assert next(line for line in tex.splitlines() if "learner 1" in line).endswith(r"& 1,234 & 0 \\")


def test_printing_does_not_warn_of_skewness():
    """`mean` warns of it; what is only looked at does not."""
    result = made_result(n_runs=20)
    result.measures["cumulative_loss"][0, 0] += 1e4
    with pytest.warns(RuntimeWarning, match="is skewed"):
        result.mean()
    with warnings.catch_warnings(action="error"):
        repr(result), result._repr_html_(), result.to_latex(), result.to_markdown()
