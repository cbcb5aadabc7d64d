"""Figures that can be read: many learners, logarithmic read-outs, one run, one round, a column of a paper."""

import contextlib
import io
import itertools
import re

import matplotlib
import numpy as np
import pytest
from made_results import NASTY, made_result
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from jaxonline.results import Standings
from jaxonline.results.report.curves import spread_positions
from jaxonline.results.report.figure import ResultFigure
from jaxonline.results.report.plotting import COLOURS, is_logarithmic, set_log_scales, style_axes


def drawn(figure):
    """Drawn once, so that everything has its place; what renders it."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def boxes_of_words(figure):
    """Where the words beside the axes are."""
    renderer = drawn(figure)
    return [Text.get_window_extent(text, renderer) for axes in figure.axes for text in axes.texts if text.get_text()]


@pytest.mark.parametrize(
    "options",
    [
        {"n_learners": 14}, {"n_learners": 14, "n_runs": 1, "log": True}, {"n_learners": 21, "n_runs": 1},
        {"n_learners": 40, "n_runs": 1}, {"names": ("a " * 40, "b", "c")},
        {"n_learners": len(NASTY), "n_runs": 1, "names": NASTY}, {"failed": ((0, 1), (0, 2))},
    ],
)  # fmt: skip
def test_names_do_not_overlap_and_are_inside(options):
    figure = made_result(**options).plot()
    foreign = options.get("names") == NASTY
    with pytest.warns(UserWarning, match="missing from font") if foreign else contextlib.nullcontext():
        boxes = boxes_of_words(figure)
    assert len(boxes) == {40: 8}.get(options.get("n_learners", 3), options.get("n_learners", 3))
    for first, second in itertools.combinations(boxes, 2):
        assert not first.padded(-2).overlaps(second.padded(-2))
    for box in boxes:
        assert figure.bbox.padded(2).containsx(box.x0)
        assert figure.bbox.padded(2).containsx(box.x1)
        assert figure.bbox.padded(2).containsy(box.y0)
        assert figure.bbox.padded(2).containsy(box.y1)


@pytest.mark.parametrize("n_learners", [7, 14, 21])
def test_no_two_of_21_learners_look_alike(n_learners):
    lines = made_result(n_learners, n_runs=1).plot().axes[0].get_lines()
    looks = {(line.get_color(), line._dash_pattern[1] and tuple(line._dash_pattern[1])) for line in lines}
    assert len(looks) == len(lines) == n_learners


def test_of_more_the_best_are_named_and_the_others_grey():
    axes = made_result(30).plot().axes[0]
    grey = [line for line in axes.get_lines() if line.get_color() == "0.7"]
    assert len(grey) == 23
    assert {text.get_text() for text in axes.texts} == {f"learner {i}" for i in range(7)} | {"23 others"}
    assert len(axes.collections) == 7


def test_axes_are_logarithmic_where_the_rounds_are():
    results = [made_result(n_runs=1, log=log) for log in (False, True, True)]
    results[2].measures["cumulative_loss"][0] -= 1e6  # regret below 0
    axes = [result.plot().axes[0] for result in results]
    assert [(each.get_xscale(), each.get_yscale()) for each in axes] == [
        ("linear", "linear"), ("log", "log"), ("log", "linear")
    ]  # fmt: skip
    assert not is_logarithmic([5])
    assert is_logarithmic(np.unique(np.geomspace(2, 1e6, 40).astype(int)))
    assert not is_logarithmic(np.arange(25, 1001, 25))


def test_an_interval_only_where_there_are_runs_to_make_it():
    one = made_result(n_runs=1).plot().axes[0]
    assert len(one.collections) == 0
    assert one.get_title() == "one run"
    some = made_result(n_runs=5, failed=tuple((0, run) for run in range(1, 5))).plot().axes[0]
    assert len(some.collections) == 2
    assert some.get_title() == "mean of 1 to 5 of 5 runs, 95 % simultaneous bands"


def test_of_one_round_learners_are_points():
    result = made_result(9, recorded=1)
    axes = result.plot(bounds={"learner 0": np.array([50.0])}).axes
    assert len(axes) == 1
    assert [tick.get_text() for tick in axes[0].get_yticklabels()] == [f"learner {i}" for i in range(9)]
    points = [line for line in axes[0].get_lines() if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in points] == result.mean().mean[:, 0].tolist()
    assert axes[0].get_xlabel() == "regret against the best in hindsight after 100 rounds"


def test_by_default_the_loss_where_there_is_no_comparator():
    assert made_result(comparator=False).plot().axes[0].get_ylabel() == "cumulative loss"
    with pytest.raises(ValueError, match=r"quantity: .*got 'pulls'"):
        made_result(vector=True).plot(quantity="pulls")
    with pytest.raises(ValueError, match=r"style: .*got 'print'"):
        made_result().plot(style="print")


# ---------------------------------------------------------------------------------------------------------------------
# Papers


@pytest.mark.parametrize("options", [{}, {"n_learners": 14, "n_runs": 1, "log": True}, {"recorded": 1}])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_figure_for_a_column(options, bounded):
    result = made_result(**options)
    bounds = {"learner 0": 50.0 * np.sqrt(result.rounds)} if bounded else None
    figure = result.plot(style="paper", bounds=bounds)
    renderer = drawn(figure)
    assert figure.get_size_inches()[0] == 3.25
    assert figure.get_suptitle() == figure.axes[0].get_title() == ""
    (axes,) = figure.axes
    words = [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label, *axes.texts]
    words += [text for legend in figure.legends for text in legend.get_texts()]
    assert {text.get_fontsize() for text in words if text.get_text()} <= {6.0, 7.0, 8.0}
    box = figure.get_tightbbox(renderer)
    assert box.x0 > -0.05
    assert box.x1 < 3.3
    if result.rounds.size > 1:
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert names[: len(result.learners)] == list(reversed(result.learners))
        assert names[len(result.learners) :] == ["theorem's bound"] * bounded


def test_numbers_at_the_axes_of_a_paper_do_not_overlap():
    for log, n_rounds in itertools.product((False, True), (50, 2000, 10**6)):
        figure = made_result(n_runs=1, log=log, n_rounds=n_rounds).plot(style="paper")
        renderer, axes = drawn(figure), figure.axes[0]
        low, high = axes.get_xlim()
        labels = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
        boxes = [label.get_window_extent(renderer) for label in labels]
        assert len(boxes) >= 2
        assert all(not first.overlaps(second) for first, second in itertools.pairwise(boxes))


def test_fonts_are_embedded_and_nothing_global_changes(tmp_path):
    before = dict(matplotlib.rcParams)
    figure = made_result().plot(tmp_path / "figure.pdf", style="paper")
    again = io.BytesIO()
    figure.savefig(again, format="pdf")
    assert isinstance(figure, ResultFigure)
    assert dict(matplotlib.rcParams) == before
    for pdf in ((tmp_path / "figure.pdf").read_bytes(), again.getvalue()):
        assert b"/FontFile2" in pdf
        assert b"/Type3" not in pdf
    assert figure._repr_png_().startswith(b"\x89PNG")


# ---------------------------------------------------------------------------------------------------------------------
# Words that anyone typed

DOLLARS = r"a $\frac$ b", "$5 to $10", r"$\foo$"


@pytest.mark.parametrize("options", [{}, {"style": "paper"}])
@pytest.mark.parametrize("recorded", [1, 10])
def test_a_dollar_begins_no_formula(options, recorded):
    result = made_result(names=DOLLARS, n_runs=2, recorded=recorded)
    result.measures[r"cost_in_$\bar$"] = result.cumulative_loss
    bounds = {DOLLARS[0]: 9.0 * np.sqrt(result.rounds)}
    quantity = r"cost_in_$\bar$"
    figure = result.plot(quantity=quantity, bounds=bounds, title=r"Is $\eta_{opt}=\foo$ best?", **options)
    drawn(figure)
    texts = [each for each in figure.findobj(Text) if "$" in each.get_text()]
    assert len(texts) >= len(DOLLARS) + 1
    assert [text.get_text() for text in texts if text.get_text().count("$") != text.get_text().count(r"\$")] == []


def test_a_dollar_in_standings():
    made = made_result(names=DOLLARS, n_runs=2)
    drawn(Standings({r"game $\foo$": made, "$1 and $2": made}).plot(title=r"$\foo$"))


def test_the_legend_has_every_curve_by_its_own_name():
    """Names that are shortened alike, one that matplotlib would hide, and one that the legend has already."""
    long = "GradientLearner[estimator={}, radius=0.1, eta=0.1]"
    names = long.format("TwoCopies"), long.format("NaiveCopy"), "_hidden", "theorem's bound"
    result = made_result(names=names, n_learners=4, n_runs=2)
    figure = result.plot(style="paper", bounds={"_hidden": 9.0 * np.sqrt(result.rounds)})
    legend = figure.legends[0]
    words = [text.get_text() for text in legend.get_texts()]
    assert words[:2] == ["theorem's bound", "_hidden"]
    assert [each[-5:] for each in words[2:]] == ["] (2)", "] (1)", "bound"]
    assert [line.get_color() for line in legend.legend_handles] == [*reversed(COLOURS[:4]), "0.4"]
    screen = result.plot(bounds={"_hidden": 9.0 * np.sqrt(result.rounds)}).axes[1].get_legend()
    assert [line.get_color() for line in screen.legend_handles] == ["0.4"]
    ticks = Standings({"first": result, "second": result}).plot().axes[0].get_yticklabels()
    assert len({tick.get_text() for tick in ticks}) == 4


# ---------------------------------------------------------------------------------------------------------------------
# Parts


def test_spread_positions():
    found = spread_positions([0.1, 0.1, 0.1, 0.9], 0.2, 0.0, 1.0)
    np.testing.assert_allclose(found, [0.0, 0.2, 0.4, 0.9], atol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = np.sort(rng.random(6))
        found = spread_positions(wanted, 0.15, 0.0, 1.0)
        assert (np.diff(found) > 0.15 - 1e-12).all()
        assert found[0] >= 0.0
        assert found[-1] <= 1.0 + 1e-12
    assert spread_positions([], 0.1, 0.0, 1.0).tolist() == []
    np.testing.assert_allclose(spread_positions([0.2, 0.6], 0.1, 0.0, 1.0), [0.2, 0.6])


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((10, 2000), ["10", "20", "50", "100", "200", "500", "1,000", "2,000"]),
        ((1e-7, 1e7), ["10⁻⁶", "0.001", "1", "1,000", "1,000,000"]),
        ((30, 40), ["30", "32", "34", "36", "38", "40"]),
    ],
)
def test_numbers_at_logarithmic_axes(limits, words):
    axes = Figure(figsize=(6.0, 4.0)).subplots()
    axes.plot(limits, limits)
    set_log_scales(axes)
    axes.set_xlim(*limits)
    axes.figure.canvas.draw()
    low, high = limits
    shown = [t.get_text() for t in axes.get_xticklabels() if low <= t.get_position()[0] <= high * (1 + 1e-9)]
    assert shown == words


def test_one_format_of_numbers_at_linear_axes_and_words_stay_words():
    first, second = Figure().subplots(1, 2)
    first.plot([0, 25000], [-0.5, 0.5])
    second.plot(["a", "b"], [0, 1])
    for axes in (first, second):
        style_axes(axes)
        axes.figure.canvas.draw()
    assert "10,000" in [tick.get_text() for tick in first.get_xticklabels()]
    assert "−0.4" in [tick.get_text() for tick in first.get_yticklabels()]
    assert [tick.get_text() for tick in second.get_xticklabels()] == ["a", "b"]
    assert not any(re.search("e[+-]", tick.get_text()) for tick in first.get_xticklabels())
