"""Figures of results: the numbers that they draw, texts, own axes and files."""

import dataclasses

import matplotlib
import numpy as np
import pytest
from made_results import NASTY, made_result
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

import jaxonline as jo
from jaxonline.results import Standings
from jaxonline.results.report.parameters import ParameterAxis
from jaxonline.results.report.plotting import COLOURS, figure_text, line_looks, plot_band, set_log_scales
from jaxonline.results.statistics import Estimate

pytestmark = pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def made(learners, values, rounds=(10,), **more):
    """A result with the given losses [L, R] or [L, R, G]."""
    loss = np.asarray(values, float).reshape(len(learners), -1, len(rounds))
    measures = {"cumulative_loss": loss, "queries": np.ones_like(loss)} | more
    return jo.Result(tuple(learners), np.arange(loss.shape[1]), np.array(rounds), measures)


def rendered(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def legend_of(axes):
    return [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_curves_of_sums_start_at_zero():
    result = made_result(2)
    axes = result.plot()
    rendered(axes.figure)
    for i, line in enumerate(axes.get_lines()):
        assert line.get_xdata().tolist() == [0, *result.rounds]
        assert line.get_ydata().tolist() == [0, *result.mean().mean[i]]
    assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0.0
    bands = result.bands()
    drawn = axes.collections[0].get_paths()[0].vertices
    assert [0.0, 0.0] in drawn.tolist()
    assert [100.0, bands.high[0, -1]] in drawn.tolist()


def test_scales_and_the_first_round_of_curves():
    """Sums that are recorded early start at 0, unless the rounds are logarithmic; bounds have a logarithmic panel."""
    results = [made_result(n_runs=2, log=log) for log in (False, True, True)]
    results[2].measures["cumulative_loss"][0] -= 1e6  # regret below 0
    axes = [result.plot() for result in results]
    assert [(own.get_xscale(), own.get_yscale()) for own in axes] == [
        ("linear", "linear"), ("log", "log"), ("log", "linear")
    ]  # fmt: skip
    assert [own.get_lines()[0].get_xdata()[0] for own in axes] == [0, *(result.rounds[0] for result in results[1:])]
    for rounds, quantity, first in (
        ((10, 20, 30), "mistakes", 0), ((10, 20, 30), "coverage", 10), ((900, 950, 1000), "mistakes", 900),
    ):  # fmt: skip
        loss = np.ones((1, 4, 3))
        own = made(["a"], loss, rounds, mistakes=loss, coverage=loss).plot(quantity=quantity)
        assert own.get_lines()[0].get_xdata()[0] == first
    bound = 50.0 * np.sqrt(results[0].rounds)
    _, panel = results[0].plot(bounds={"learner 0": bound}).figure.axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert any(np.array_equal(line.get_ydata(), bound) for line in panel.get_lines())


def test_own_axes():
    result, sweep = made_result(3), made(["a[1]", "a[2]"], np.ones((2, 3)))
    left, right = Figure(figsize=(9, 4), layout="constrained").subplots(1, 2)
    assert result.plot(ax=left, title="A title") is left
    assert left.get_title() == "A title"
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["learner 2", "learner 1", "learner 0"]
    for draw in (result.plot, result.plot_final, sweep.plot_sweep, Standings({"a": result}).plot):
        assert draw(ax=right) is right


def test_learners_labels_and_colours_of_a_figure_are_those_of_the_user():
    result = made_result(4)
    axes = Figure().subplots()
    labels = {"learner 3": r"ours, $\eta$", "learner 0": "not shown"}
    bounds = dict.fromkeys(("learner 0", "learner 3"), 9.0 * result.rounds)
    options = {"labels": labels, "colours": {"learner 1": "red"}, "ax": axes}
    result.plot(learners=["learner 3", "learner 1"], bounds=bounds, **options)
    drawn = [line for line in axes.get_lines() if len(line.get_xdata())]
    assert [line.get_ydata().tolist() for line in drawn[:2]] == [result.mean().mean[i].tolist() for i in (3, 1)]
    assert [line.get_color() for line in drawn] == [COLOURS[0], "red", COLOURS[0]]
    assert len({line.get_marker() for line in drawn[:2]}) == 2, "also distinct in grey"
    assert drawn[0].get_marker() == drawn[2].get_marker(), "of the learner and its bound"
    assert (drawn[2].get_markerfacecolor(), drawn[2].is_dashed()) == ("white", True)
    words = {text.get_text() for text in axes.get_legend().get_texts()}
    assert words == {labels["learner 3"], "learner 1", "theorem's bound"}
    rows = result.plot_final(learners=["learner 3"], labels=labels).get_yticklabels()
    assert [row.get_text() for row in rows] == [labels["learner 3"]]
    for method in (result.plot, result.plot_final):
        for arguments, words in (
            ({"learners": ["lerner 1"]}, "learners: must be one of .*did you mean 'learner 1'"),
            ({"labels": {"learner1": "a"}}, "labels: .*did you mean 'learner 1'"),
            ({"labels": {"learner 1": " "}}, r"labels\['learner 1'\]: must not be empty"),
            ({"colours": {"learner 1": "rot"}}, r"colours\['learner 1'\]: must be a colour of Matplotlib \(got 'rot'"),
        ):
            with pytest.raises(ValueError, match=words):
                method(**arguments)


def test_titles_have_at_most_two_lines_and_axes_start_at_zero_if_the_smallest_value_is_close():
    title = made_result(1).plot(title="many words " * 40).figure.get_suptitle()
    assert (len(title.splitlines()), title[-1]) == (2, "…")
    for values, start in (([[2.0, 2.0], [9.0, 9.0]], True), ([[8.0, 8.0], [9.0, 9.0]], False)):
        result = made(["a[1]", "a[2]"], values)
        assert (result.plot_sweep().get_ylim()[0] == 0.0, result.plot_final().get_xlim()[0] == 0.0) == (start, start)


def test_bad_arguments_are_named(tmp_path):
    plot = made(["a[1]", "a[2]"], np.ones((2, 3))).plot_sweep
    with pytest.raises(ValueError, match=r"learners: must include a sweep .*got 'a\[1\]', 'b'.*jo\.sweep"):
        made(["a[1]", "b"], np.ones((2, 3))).plot_sweep()
    for arguments, error, words in (
        ({"ax": "left"}, TypeError, r"ax: must be Matplotlib axes \(got"),
        ({"path": "figure.png", "ax": Figure().subplots()}, ValueError, r"path: must be None if ax is given"),
        ({"style": "print"}, ValueError, r"style: .*got 'print'"),
        ({"path": tmp_path}, ValueError, r"path: must be a file \(got the folder"),
    ):
        with pytest.raises(error, match=words):
            plot(**arguments)
    result, own = pulled()[0], Figure().subplots()
    for method in (result.plot_pulls, result.pulls_table):
        with pytest.raises(ValueError, match=r"arms: must hold a name for each of the 3 arms \(got 2 names\)"):
            method(arms=["a", "b"])
    with pytest.raises(ValueError, match=r"measures: must include Pulls \(got no pulls\)"):
        made_result().plot_pulls()
    with pytest.raises(ValueError, match=r"ax: must be None for several learners"):
        result.plot_pulls(ax=own)
    assert result.plot_pulls(learners=["learner 1"], ax=own).tolist() == [own]


def test_the_legend_has_every_curve_by_its_own_name():
    """Names that are shortened alike, one that matplotlib would hide, and one that the legend has already."""
    long = "GradientLearner[estimator={}, radius=0.1, eta=0.1]"
    names = long.format("TwoCopies"), long.format("NaiveCopy"), "_hidden", "theorem's bound"
    result = made_result(names=names, n_learners=4, n_runs=2)
    axes = result.plot(style="paper", bounds={"_hidden": 9.0 * np.sqrt(result.rounds)})
    words = legend_of(axes)
    assert words[:2] == ["theorem's bound", " _hidden"]
    assert len(set(words)) == 4
    handles = axes.figure.legends[0].legend_handles
    assert [line.get_color() for line in handles] == [*reversed(COLOURS[:4]), "0.4"]


def test_files_of_figures(tmp_path):
    before = dict(matplotlib.rcParams)
    result = made(["a[1]", "a[2]"], np.ones((2, 3, 2)) * [1, 2], (5, 10), pulls=np.ones((2, 3, 2, 2)))
    for method in (result.plot, result.plot_final, result.plot_sweep, result.plot_pulls):
        method(tmp_path / "new" / "a.png", style="paper")
        with Image.open(tmp_path / "new" / "a.png") as image:
            assert image.width == 975
    result.plot(tmp_path / "figure.pdf")
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert (b"/FontFile2" in pdf, b"/Type3" in pdf) == (True, False)
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == [], "nobody must close a figure that is written"


PLAIN = "$5 to $10", r"$\foo$", r"a $\frac$ b", "$$", "$ x $", "${$", "$5-$10", "no dollar, 50 % a_b"
FORMULAS = r"$\epsilon$-greedy", r"$\eta_t = 0.1$, 50% of a_b", r"$x^2$ from $5"


@pytest.mark.parametrize("words", [*PLAIN, *FORMULAS, *NASTY[:-1], "$" * 7, f"${'{' * 80}{'}' * 80}$", "\n$\\$"])
@pytest.mark.filterwarnings("ignore:.*missing from font")
def test_every_text_can_be_drawn_and_other_dollars_begin_no_formula(words):
    text = Text(text=figure_text(words))
    drawn, is_formula = text._preprocess_math(text.get_text())
    if words in PLAIN + FORMULAS:
        assert is_formula == (words in FORMULAS)
        assert is_formula or drawn == words
    with matplotlib.rc_context({"text.usetex": True}):
        figure = made_result(1, n_runs=1, recorded=2, names=(words,)).plot(title=words).figure
    rendered(figure)
    rendered(Standings({words or "a": made_result(n_runs=2)}).plot(title=words).figure)


def test_the_distribution_of_final_values():
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(20.0, 3.0, 200), rng.normal(10.0, 1.0, 200)])
    result = made(["worse", "better"], values)
    axes = result.plot_final()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["better", "worse"]
    estimate = result.mean("cumulative_loss")
    (means,) = [container for container in axes.containers if hasattr(container, "has_xerr")]
    assert means.lines[0].get_xdata().tolist() == estimate.mean[::-1, 0].tolist()
    bars = [segment[:, 0] for segment in means.lines[2][0].get_segments()]
    np.testing.assert_allclose(bars, np.stack([estimate.low, estimate.high], axis=1)[::-1, :, 0])
    histograms = [patch for patch in axes.patches if hasattr(patch, "get_data")]
    lines = [np.sort(line.get_xdata()) for line in axes.get_lines()]
    for row, i in enumerate((1, 0)):
        heights, edges, _ = histograms[row].get_data()
        counts = np.histogram(values[i], edges)[0]
        np.testing.assert_allclose(row - heights, 0.6 * counts / counts.max(), atol=1e-12)
        low, high = np.quantile(values[i], [0.05, 0.95])
        outside = np.sort(values[i][(values[i] < low) | (values[i] > high)])
        assert any(np.array_equal(line, outside) for line in lines)
        assert any(np.allclose(line, np.median(values[i])) for line in lines if len(line) == 2)


def sweep(values, means, spread=1.0):
    means = np.asarray(means, float)[:, None] + spread * np.array([-1.0, 0.0, 1.0])
    return made([f"a[{value}]" for value in values], means)


def ring_of(axes):
    (ring,) = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
    return ring.get_xdata()[0], ring.get_ydata()[0]


@pytest.mark.parametrize(
    ("values", "scale", "best"),
    [
        ((10, 0.1, 1), "log", 1.0), (("3", "1", "2"), "linear", 2.0), (("adam", "sgd", "other"), "linear", 2.0),
        ((1, 2, 4), "log", 4.0), ((1, 10, 11), "linear", 11.0), (("-1", "nan", "2"), "linear", 2.0),
    ],
)  # fmt: skip
def test_a_sweep_against_its_parameter(values, scale, best):
    result = sweep(values, [5.0, 4.0, 3.0])
    axes = result.plot_sweep(label="step_size", interval=jo.intervals.Student())
    assert axes.get_xscale() == scale
    assert axes.get_xlabel() == "step_size"
    assert ring_of(axes) == (best, 3.0)
    curve = next(line for line in axes.get_lines() if line.get_marker() == "o" and line.get_zorder() == 3)
    assert (np.diff(curve.get_xdata()) > 0).all()
    position = ParameterAxis(map(str, values))
    assert dict(zip(curve.get_xdata(), curve.get_ydata(), strict=True)) == {
        position.position(value): mean for value, mean in zip(values, (5.0, 4.0, 3.0), strict=True)
    }
    estimate = result.mean("cumulative_loss", interval=jo.intervals.Student())
    (bars,) = [c for c in axes.collections if len(c.get_segments()) == 3]
    ends = sorted(tuple(segment[:, 1]) for segment in bars.get_segments())
    np.testing.assert_allclose(ends, sorted(zip(estimate.low[:, 0], estimate.high[:, 0], strict=True)))


def test_settings_with_failed_runs_are_not_the_best_and_the_best_reward_is_the_largest():
    result = sweep((1, 2, 3), [5.0, 4.0, 3.0])
    first = np.array([[0, 0, 0], [0, 0, 0], [0, 7, 0]])
    axes = dataclasses.replace(result, first_nonfinite=first).plot_sweep()
    assert (ring_of(axes), len(legend_of(axes))) == ((2.0, 4.0), 3)
    result.measures["cumulative_reward"] = 10.0 - result.cumulative_loss
    assert ring_of(result.plot_sweep(quantity="cumulative_reward")) == (3.0, 7.0)
    rows = result.plot_final(quantity="cumulative_reward").get_yticklabels()
    assert [row.get_text() for row in rows] == ["a[3]", "a[2]", "a[1]"]


LEVELS = ["a[1]", "a[2]", "b[1]", "b[2]", "plain", "c[1]"]


def test_other_learners_are_horizontal_lines():
    axes = made(LEVELS, np.arange(6.0)[:, None] + [-1.0, 0.0, 1.0]).plot_sweep()
    level = [line for line in axes.get_lines() if line.get_transform() == axes.get_yaxis_transform(which="grid")]
    assert [line.get_ydata()[0] for line in level] == [4.0, 5.0]
    assert legend_of(axes) == ["a", "b", "smallest mean", "plain", "c[1]"]


def pulled(n_arms=3, n_learners=2):
    """Pulls of 4 runs at rounds 10 and 30; arm k has a share in proportion to k + 1 until round 10, then 1 / K."""
    shares = np.arange(1.0, n_arms + 1) / np.arange(1.0, n_arms + 1).sum()
    pulls = np.stack([10 * shares, 10 * shares + 20 / n_arms])
    pulls = np.broadcast_to(pulls, (n_learners, 4, 2, n_arms))
    return made([f"learner {i}" for i in range(n_learners)], np.ones((n_learners, 4, 2)), (10, 30), pulls=pulls), shares


def test_pulls_over_time_are_stacked_shares():
    result, shares = pulled()
    rows = result.pulls_table(arms=["a", "b", "c"]).rows
    assert [(row["learner"], row["arm"]) for row in rows[2:4]] == [("learner 0", "c"), ("learner 1", "a")]
    np.testing.assert_allclose([row["pulls"] for row in rows[:3]], 10 * shares + 20 / 3)
    np.testing.assert_allclose([row["per_round"] for row in rows[:3]], (10 * shares + 20 / 3) / 30)
    panels = result.plot_pulls(arms=["first", "second", "third"])
    for axes in panels:
        tops = np.array([patch.get_data().values for patch in axes.patches])
        bases = np.array([patch.get_data().baseline for patch in axes.patches])
        np.testing.assert_allclose((tops - bases)[:, 0], shares)
        np.testing.assert_allclose((tops - bases)[:, 1], 1 / 3)
        assert axes.patches[0].get_data().edges.tolist() == [0, 10, 30]
        assert axes.get_ylim() == (0.0, 1.0)
    assert legend_of(panels[0]) == ["first", "second", "third"]
    assert [axes.get_title() for axes in panels] == ["learner 0", "learner 1"]


def test_of_many_arms_those_with_most_pulls_have_colours():
    result, shares = pulled(n_arms=10)
    axes = result.plot_pulls()[0]
    assert legend_of(axes) == [*(f"arm {k}" for k in range(4, 10)), "4 other arms"]
    others = axes.patches[-1].get_data()
    np.testing.assert_allclose((others.values - others.baseline)[0], shares[:4].sum())
    np.testing.assert_allclose(others.values, 1.0)
    assert len({patch.get_facecolor() for patch in axes.patches}) == 7


def test_settings_of_a_search_against_the_parameter():
    game = jo.Game(jo.environments.DataStream(np.eye(1), np.ones(1)), jo.FullInformation())

    def learner(step, radius=1.0):
        return jo.GradientLearner(jo.estimators.FullGradient(), step, radius=radius)

    grid = {"step": [0.01, 0.1, 0.5, 1e30, 0.8]}
    tuned = jo.tune(game, learner, grid, n_runs=4, n_rounds=10, rungs=2, factor=2)
    rows, ax = {row["step"]: row for row in tuned.rows()}, Figure().subplots()
    axes = tuned.plot(ax=ax, parameter="step")
    assert axes is ax
    assert (axes.get_xlabel(), axes.get_xscale()) == ("step", "log")
    assert ring_of(axes) == (tuned.choice["step"], rows[tuned.choice["step"]]["cumulative_loss"])
    hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
    dropped = {step for step, row in rows.items() if row["rung"] == 1 and np.isfinite(row["cumulative_loss"])}
    assert set(hollow[0].get_xdata()) == dropped
    with pytest.raises(ValueError, match="parameter: "):
        tuned.plot(parameter="radius")


FIGURES = {
    "14 curves": lambda style: made_result(14, n_runs=1, log=True).plot(style=style, title="A title"),
    "40 curves": lambda style: made_result(40, n_runs=1).plot(style=style, title="A title"),
    "long names": lambda style: made_result(names=("a " * 40, "b", "c"), failed=((0, 1), (0, 2))).plot(style=style),
    "1 final value": lambda style: made_result(1, failed=tuple((0, r) for r in range(20))).plot_final(style=style),
    "45 final values": lambda style: made_result(45, 20).plot_final(style=style),
    "pulls": lambda style: pulled(n_arms=9, n_learners=3)[0].plot_pulls(style=style)[0],
    "sweep": lambda style: made(LEVELS, np.arange(6.0)[:, None] + [-1.0, 0.0, 1.0]).plot_sweep(style=style),
    "ranks": lambda style: Standings({f"game {k}": made_result(4, 10) for k in range(5)}).plot(style=style),
}


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_many_or_no_numbers_have_their_texts_inside(name, style):
    figure = FIGURES[name](style).figure
    renderer = rendered(figure)
    labels = [part for axes in figure.axes for part in (axes.xaxis.label, axes.yaxis.label, axes.title)]
    for text in labels + [text for legend in figure.legends for text in legend.get_texts()]:
        box = text.get_window_extent(renderer)
        assert not text.get_text() or (box.x0 > -2 and box.y0 > -2)
        assert not text.get_text() or (box.x1 < figure.bbox.x1 + 2 and box.y1 < figure.bbox.y1 + 2)
    assert style == "screen" or name == "ranks" or figure.get_size_inches()[0] == 3.25


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("points", [[-1.0, 0.0, -2.0], [np.nan] * 3])
def test_lines_without_a_point_on_logarithmic_axes_are_drawn_without_markers(points, is_first):
    axes = Figure().subplots()
    estimate = Estimate(*np.full((4, 1, 3), points), np.ones((1, 3)))
    axes.plot([1, 4], [1.0, 2.0])
    if is_first:
        set_log_scales(axes)
    plot_band(axes, [1, 2, 4], estimate, 0, alpha=0.0, **line_looks(2)[0])
    if not is_first:
        set_log_scales(axes)
    rendered(axes.figure)
