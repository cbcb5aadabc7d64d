"""Figures of results: the numbers that they draw, texts that can be read at both sizes, own axes and files."""

import itertools

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
from jaxonline.results.report.curves import spread_positions
from jaxonline.results.report.parameters import ParameterAxis
from jaxonline.results.report.plotting import COLOURS, figure_text, is_geometric, is_logarithmic, set_log_scales

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


def assert_readable(figure):
    """All texts are inside the figure, and no two texts of titles, labels and legends overlap."""
    renderer = rendered(figure)
    boxes = [Text.get_window_extent(text, renderer) for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        if axes.get_visible():
            shown = (axes.xaxis.label, axes.yaxis.label, axes.title, *axes.texts)
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                shown += tuple(tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)
            shown = [text for text in shown if text.get_visible() and text.get_text()]
            boxes += [Text.get_window_extent(text, renderer) for text in shown]
    boxes = [box for box in boxes if box.width > 0 and box.height > 0]
    for box in boxes:
        assert box.x0 > figure.bbox.x0 - 2
        assert box.x1 < figure.bbox.x1 + 2
        assert box.y0 > figure.bbox.y0 - 2
        assert box.y1 < figure.bbox.y1 + 2
    for first, second in itertools.combinations(boxes, 2):
        assert not first.padded(-2).overlaps(second.padded(-2))


def legend_of(axes):
    return [text.get_text() for text in axes.figure.legends[0].get_texts()]


# ---------------------------------------------------------------------------------------------------------------------
# Curves


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


@pytest.mark.parametrize(
    ("rounds", "quantity", "start"),
    [
        ((10, 20, 30), "mistakes", 0), ((10, 20, 30), "coverage", 10), ((900, 950, 1000), "mistakes", 900),
        ((1, 50, 100), "cumulative_loss", 0),
    ],
)  # fmt: skip
def test_only_sums_that_are_recorded_early_start_at_zero(rounds, quantity, start):
    loss = np.ones((1, 4, 3))
    result = made(["a"], loss, rounds, mistakes=loss, coverage=loss)
    assert result.plot(quantity=quantity).get_lines()[0].get_xdata()[0] == start


def test_no_start_on_logarithmic_axes_and_of_failed_learners():
    logarithmic = made_result(n_runs=2, log=True)
    assert logarithmic.plot().get_lines()[0].get_xdata()[0] == logarithmic.rounds[0]
    failed = made_result(2, n_runs=3, failed=tuple((0, run) for run in range(3)))
    lines = failed.plot().get_lines()
    assert np.isnan(lines[0].get_ydata()).all()
    assert lines[1].get_ydata()[0] == 0.0


def test_bounds_have_a_panel_with_logarithmic_axes():
    result = made_result()
    bound = 50.0 * np.sqrt(result.rounds)
    axes = result.plot(bounds={"learner 0": bound})
    _, second = axes.figure.axes
    assert (axes.get_xscale(), second.get_xscale(), second.get_yscale()) == ("linear", "log", "log")
    assert any(np.array_equal(line.get_ydata(), bound) for line in second.get_lines())


def test_own_axes():
    result = made_result(3)
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    assert result.plot(ax=left, title="A title") is left
    assert left.get_title() == "A title"
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["learner 2", "learner 1", "learner 0"]
    assert result.plot(ax=right, bounds={"learner 0": 50.0 * np.sqrt(result.rounds)}) is right
    assert (right.get_xscale(), right.get_yscale()) == ("log", "log")
    rendered(figure)
    for draw in (result.plot_final, made(["a[1]", "a[2]"], np.ones((2, 3))).plot_sweep):
        own = Figure().subplots()
        assert draw(ax=own) is own
    own = Figure().subplots()
    assert Standings({"a": result}).plot(ax=own) is own


@pytest.mark.parametrize("method", ["plot", "plot_final", "plot_sweep"])
def test_bad_arguments_are_named(method, tmp_path):
    plot = getattr(made(["a[1]", "a[2]"], np.ones((2, 3))), method)
    for arguments, error, words in (
        ({"ax": "left"}, TypeError, r"ax: must be Matplotlib axes \(got"),
        ({"path": "figure.png", "ax": Figure().subplots()}, ValueError, r"path: must be None if ax is given"),
        ({"style": "print"}, ValueError, r"style: .*got 'print'"),
        ({"quantity": "regrets"}, ValueError, "quantity: "),
        ({"path": tmp_path}, ValueError, r"path: must be a file \(got the folder"),
        ({"path": tmp_path / "a.docx"}, ValueError, r"the ending of path: .*got 'docx'"),
    ):
        with pytest.raises(error, match=words):
            plot(**arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"n_learners": 14}, {"n_learners": 21, "n_runs": 1}, {"n_learners": 40, "n_runs": 1},
        {"n_learners": 14, "n_runs": 1, "log": True}, {"names": ("a " * 40, "b", "c")}, {"failed": ((0, 1), (0, 2))},
    ],
)  # fmt: skip
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_curves_are_readable(options, style):
    result = made_result(**options)
    assert_readable(result.plot(style=style, title="A title").figure)


@pytest.mark.parametrize("n_learners", [7, 14, 21])
def test_no_two_of_21_learners_look_alike(n_learners):
    lines = made_result(n_learners, n_runs=1).plot().get_lines()
    looks = {(line.get_color(), line._dash_pattern[1] and tuple(line._dash_pattern[1])) for line in lines}
    assert len(looks) == len(lines) == n_learners


def test_of_more_the_best_are_named_and_the_others_grey():
    axes = made_result(30).plot()
    assert sum(line.get_color() == "0.7" for line in axes.get_lines()) == 23
    assert {text.get_text() for text in axes.texts} == {f"learner {i}" for i in range(7)} | {"23 others"}


def test_axes_are_logarithmic_where_the_rounds_are():
    results = [made_result(n_runs=1, log=log) for log in (False, True, True)]
    results[2].measures["cumulative_loss"][0] -= 1e6  # regret below 0
    axes = [result.plot() for result in results]
    assert [(own.get_xscale(), own.get_yscale()) for own in axes] == [
        ("linear", "linear"), ("log", "log"), ("log", "linear")
    ]  # fmt: skip
    assert not is_logarithmic([5])
    assert is_logarithmic(np.unique(np.geomspace(2, 1e6, 40).astype(int)))
    assert not is_logarithmic(np.arange(25, 1001, 25))


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        ({"n_runs": 1}, "one run"),
        ({"n_runs": 5, "failed": tuple((0, run) for run in range(1, 5))}, "1 to 5 of 5 runs"),
        ({"n_runs": 5, "failed": ((0, 1), (1, 1), (2, 1))}, "4 of 5 runs"),
        ({"n_runs": 5}, "mean of 5 runs"),
    ],
)
def test_the_figure_says_how_many_runs_are_in_the_means(options, runs):
    axes = made_result(**options).plot(level=0.9)
    assert runs in axes.get_title()
    assert (len(axes.collections) == 0) == (options["n_runs"] == 1)
    assert ("90 %" in axes.get_title()) == (options["n_runs"] > 1)


@pytest.mark.parametrize("options", [{}, {"n_learners": 14, "n_runs": 1, "log": True}])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_figure_for_a_column(options, bounded):
    result = made_result(**options)
    bounds = {"learner 0": 50.0 * np.sqrt(result.rounds)} if bounded else None
    axes = result.plot(style="paper", bounds=bounds)
    figure = axes.figure
    box = figure.get_tightbbox(rendered(figure))
    assert figure.get_size_inches()[0] == 3.25
    assert figure.axes == [axes]
    assert figure.get_suptitle() == axes.get_title() == ""
    words = [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label, *axes.texts]
    words += [text for legend in figure.legends for text in legend.get_texts()]
    assert {text.get_fontsize() for text in words if text.get_text()} <= {6.0, 7.0, 8.0}
    assert -0.05 < box.x0 < box.x1 < 3.3
    assert legend_of(axes) == [*reversed(result.learners), *["theorem's bound"] * bounded]


def test_numbers_at_the_axes_of_a_paper_do_not_overlap():
    for log, n_rounds in itertools.product((False, True), (50, 2000, 10**6)):
        axes = made_result(n_runs=1, log=log, n_rounds=n_rounds).plot(style="paper")
        renderer, (low, high) = rendered(axes.figure), axes.get_xlim()
        labels = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
        boxes = [label.get_window_extent(renderer) for label in labels]
        assert len(boxes) >= 2
        assert all(not first.overlaps(second) for first, second in itertools.pairwise(boxes))


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


# ---------------------------------------------------------------------------------------------------------------------
# Files


def test_files_of_figures(tmp_path):
    before = dict(matplotlib.rcParams)
    result = made(["a[1]", "a[2]"], np.ones((2, 3, 2)) * [1, 2], (5, 10), pulls=np.ones((2, 3, 2, 2)))
    for method in (result.plot, result.plot_final, result.plot_sweep, result.plot_pulls):
        for style, pixels in (("screen", 1110), ("paper", 975)):
            method(tmp_path / "new" / f"{style}.png", style=style)
            with Image.open(tmp_path / "new" / f"{style}.png") as image:
                assert image.width == pixels
    result.plot(tmp_path / "figure.pdf")
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == [], "nobody must close a figure that is written"


# ---------------------------------------------------------------------------------------------------------------------
# Texts


PLAIN = "$5 to $10", r"$\foo$", r"a $\frac$ b", "$$", "$ x $", "${$", "$5-$10", "no dollar, 50 % a_b"


@pytest.mark.parametrize("words", PLAIN)
def test_other_dollars_begin_no_formula(words):
    text = Text(text=figure_text(words))
    assert text._preprocess_math(text.get_text()) == (words, False)


@pytest.mark.parametrize("words", [r"$\epsilon$-greedy", r"$\eta_t = 0.1$, 50% of a_b", r"$x^2$ from $5"])
def test_formulas_are_drawn(words):
    text = Text(text=figure_text(words))
    assert text._preprocess_math(text.get_text())[1] is True


@pytest.mark.parametrize("words", [*PLAIN, *NASTY[:-1], "$" * 7, "$x" * 40, f"${'{' * 80}{'}' * 80}$", "\n$\\$"])
@pytest.mark.filterwarnings("ignore:.*missing from font")
def test_every_text_can_be_drawn(words):
    with matplotlib.rc_context({"text.usetex": True}):
        figure = made_result(1, n_runs=1, recorded=2, names=(words,)).plot(title=words).figure
    rendered(figure)
    rendered(Standings({words or "a": made_result(n_runs=2)}).plot(title=words).figure)


# ---------------------------------------------------------------------------------------------------------------------
# The distribution of final values


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


def test_the_axis_of_heavy_tails_is_logarithmic():
    values = np.append(np.full(99, 1.0), 31.0)
    assert made(["a"], values).plot_final().get_xscale() == "log"
    assert made(["a"], np.append(np.full(99, 1.0), 29.0)).plot_final().get_xscale() == "linear"
    assert made(["a"], np.append(np.full(99, -1.0), 31.0)).plot_final().get_xscale() == "linear"
    assert made_result(2).select(runs=slice(1)).plot_final() is not None, "one run"


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("n_learners", [1, 45])
def test_final_values_are_readable(style, n_learners):
    result = made_result(n_learners, 20, failed=tuple((0, run) for run in range(20)))
    axes = result.plot_final(style=style)
    assert_readable(axes.figure)
    assert len(axes.get_yticklabels()) == min(n_learners, 40)


def test_one_recorded_round_is_the_figure_of_final_values():
    result = made_result(9, recorded=1)
    axes = result.plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [f"learner {i}" for i in range(9)]
    assert_readable(axes.figure)


# ---------------------------------------------------------------------------------------------------------------------
# Sweeps


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
        ((1, 2, 4), "log", 4.0), ((0, 1, 100), "linear", 100.0), (("-1", "nan", "2"), "linear", 2.0),
    ],
)  # fmt: skip
def test_a_sweep_against_its_parameter(values, scale, best):
    result = sweep(values, [5.0, 4.0, 3.0])
    axes = result.plot_sweep(label="step_size")
    assert axes.get_xscale() == scale
    assert axes.get_xlabel() == "step_size"
    assert ring_of(axes) == (best, 3.0)
    curve = next(line for line in axes.get_lines() if line.get_marker() == "o" and line.get_zorder() == 3)
    assert (np.diff(curve.get_xdata()) > 0).all()
    position = ParameterAxis(map(str, values))
    assert dict(zip(curve.get_xdata(), curve.get_ydata(), strict=True)) == {
        position.position(value): mean for value, mean in zip(values, (5.0, 4.0, 3.0), strict=True)
    }
    estimate = result.mean("cumulative_loss")
    (bars,) = [c for c in axes.collections if len(c.get_segments()) == 3]
    ends = sorted(tuple(segment[:, 1]) for segment in bars.get_segments())
    np.testing.assert_allclose(ends, sorted(zip(estimate.low[:, 0], estimate.high[:, 0], strict=True)))
    assert_readable(axes.figure)


def test_settings_with_failed_runs_are_not_the_best():
    result = sweep((1, 2, 3), [5.0, 4.0, 3.0])
    first = np.array([[0, 0, 0], [0, 0, 0], [0, 7, 0]])
    failed = jo.Result(result.learners, result.runs, result.rounds, result.measures, first_nonfinite=first)
    axes = failed.plot_sweep()
    assert ring_of(axes) == (2.0, 4.0)
    assert legend_of(axes)[0] == "a"
    assert len(legend_of(axes)) == 3


def test_other_learners_are_horizontal_lines():
    names = ["a[1]", "a[2]", "b[1]", "b[2]", "plain", "c[1]"]
    result = made(names, np.arange(6.0)[:, None] + np.array([-1.0, 0.0, 1.0]))
    for style in ("screen", "paper"):
        axes = result.plot_sweep(style=style)
        level = [line for line in axes.get_lines() if line.get_transform() == axes.get_yaxis_transform(which="grid")]
        assert [line.get_ydata()[0] for line in level] == [4.0, 5.0]
        assert legend_of(axes) == ["a", "b", "smallest mean", "plain", "c[1]"]
        assert_readable(axes.figure)


def test_the_best_reward_is_the_largest():
    result = sweep((1, 2, 3), [5.0, 4.0, 3.0])
    result.measures["cumulative_reward"] = 10.0 - result.cumulative_loss
    assert ring_of(result.plot_sweep(quantity="cumulative_reward")) == (3.0, 7.0)
    rows = result.plot_final(quantity="cumulative_reward").get_yticklabels()
    assert [row.get_text() for row in rows] == ["a[3]", "a[2]", "a[1]"]


def test_a_large_range_of_means_has_a_logarithmic_axis():
    for means, spread, scale in (
        ([2.0, 90.0, 101.0], 0.1, "log"), ([2.0, 90.0, 95.0], 0.1, "linear"), ([2.0, 90.0, 101.0], 1.0, "linear"),
    ):  # fmt: skip
        assert sweep((1, 2, 3), means, spread).plot_sweep().get_yscale() == scale


def test_a_result_without_sweep_is_an_error():
    with pytest.raises(ValueError, match=r"learners: must include a sweep .*got 'a\[1\]', 'b'.*jo\.sweep"):
        made(["a[1]", "b"], np.ones((2, 3))).plot_sweep()


def test_spacing_of_parameters():
    assert is_geometric([0.5, 1, 2, 4])
    assert is_geometric([1, 1000])
    assert not is_geometric([1, 10])
    assert not is_geometric([1, 2, 3])
    assert not is_geometric([-1, 10, 100])
    assert not is_geometric(np.arange(1, 101))


# ---------------------------------------------------------------------------------------------------------------------
# Pulls


def pulled(n_arms=3, n_learners=2):
    """Pulls of 4 runs at rounds 10 and 30; arm k has a share in proportion to k + 1 until round 10, then 1 / K."""
    shares = np.arange(1.0, n_arms + 1) / np.arange(1.0, n_arms + 1).sum()
    pulls = np.stack([10 * shares, 10 * shares + 20 / n_arms])
    pulls = np.broadcast_to(pulls, (n_learners, 4, 2, n_arms))
    return made([f"learner {i}" for i in range(n_learners)], np.ones((n_learners, 4, 2)), (10, 30), pulls=pulls), shares


def test_pulls_over_time_are_stacked_shares():
    result, shares = pulled()
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
    own = Figure().subplots()
    assert result.plot_pulls(learners=["learner 1"], ax=own).tolist() == [own]
    with pytest.raises(ValueError, match=r"ax: must be None for several learners"):
        result.plot_pulls(ax=own)


def test_of_many_arms_those_with_most_pulls_have_colours():
    result, shares = pulled(n_arms=10)
    axes = result.plot_pulls()[0]
    assert legend_of(axes) == [*(f"arm {k}" for k in range(4, 10)), "4 other arms"]
    others = axes.patches[-1].get_data()
    np.testing.assert_allclose((others.values - others.baseline)[0], shares[:4].sum())
    np.testing.assert_allclose(others.values, 1.0)
    assert len({patch.get_facecolor() for patch in axes.patches}) == 7


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("n_learners", [1, 3])
def test_pulls_are_readable(style, n_learners):
    assert_readable(pulled(n_arms=9, n_learners=n_learners)[0].plot_pulls(style=style)[0].figure)


def test_the_table_of_pulls():
    result, shares = pulled()
    table = result.pulls_table(arms=["a", "b", "c"])
    assert [(row["learner"], row["arm"]) for row in table.rows[:4]] == [
        ("learner 0", "a"), ("learner 0", "b"), ("learner 0", "c"), ("learner 1", "a")
    ]  # fmt: skip
    np.testing.assert_allclose([row["pulls"] for row in table.rows[:3]], 10 * shares + 20 / 3)
    np.testing.assert_allclose([row["per_round"] for row in table.rows[:3]], (10 * shares + 20 / 3) / 30)


@pytest.mark.parametrize("method", ["plot_pulls", "pulls_table"])
def test_bad_arguments_of_pulls_are_named(method):
    result, _ = pulled()
    with pytest.raises(ValueError, match=r"arms: must hold a name for each of the 3 arms \(got 2 names\)"):
        getattr(result, method)(arms=["a", "b"])
    with pytest.raises(ValueError, match=r"measures: must include Pulls \(got no pulls\)"):
        getattr(made_result(), method)()
    with pytest.raises(ValueError, match=r"learners: "):
        result.plot_pulls(learners=["learner 9"])
    with pytest.raises(ValueError, match=r"learners: "):
        result.plot_pulls(learners=[])


def test_a_bandit_game_has_its_pulls_in_table_and_figure():
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
    result = jo.simulate(game, {"UCB1": jo.learners.UCB1()}, n_runs=4, n_rounds=40, measures=[jo.Pulls()])
    assert sum(row["pulls"] for row in result.pulls_table().rows) == 40
    tops = [patch.get_data().values for patch in result.plot_pulls()[0].patches]
    np.testing.assert_allclose(tops[-1], 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Searches and ranks


def test_settings_of_a_search_against_the_parameter():
    game = jo.Game(jo.environments.DataStream(np.eye(1), np.ones(1)), jo.FullInformation())

    def learner(step, radius=1.0):
        return jo.GradientLearner(jo.estimators.FullGradient(), step, radius=radius)

    grid = {"step": [0.01, 0.1, 0.5, 1e30, 0.8]}
    tuned = jo.tune(game, learner, grid, n_runs=4, n_rounds=10, rungs=2, factor=2)
    rows = {row["step"]: row for row in tuned.rows()}
    for style in ("screen", "paper"):
        axes = tuned.plot(style=style)
        assert axes.get_xlabel() == "step"
        assert axes.get_xscale() == "log"
        assert ring_of(axes) == (tuned.choice["step"], rows[tuned.choice["step"]]["cumulative_loss"])
        hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
        dropped = {step for step, row in rows.items() if row["rung"] == 1 and np.isfinite(row["cumulative_loss"])}
        assert set(hollow[0].get_xdata()) == dropped
        assert_readable(axes.figure)
    ax = Figure().subplots()
    assert tuned.plot(ax=ax, parameter="step") is ax
    with pytest.raises(ValueError, match="parameter: "):
        tuned.plot(parameter="radius")


@pytest.mark.parametrize("style", ["screen", "paper"])
def test_the_grid_of_ranks_is_readable(style, tmp_path):
    games = {f"game {k}": made_result(4, n_runs=10) for k in range(5)}
    gaps = {("game 0", "late learner"): "no"}
    axes = Standings(games, gaps).plot(style=style)
    assert_readable(axes.figure)
    words = [text.get_text() for text in axes.texts]
    assert words.count("1 a") == 5
    assert words.count("–") == 5
    Standings(games, gaps).plot(tmp_path / "ranks.png", style=style)


# ---------------------------------------------------------------------------------------------------------------------
# Parts


def test_spread_positions():
    found = spread_positions([0.1, 0.1, 0.1, 0.9], 0.2, 0.0, 1.0)
    np.testing.assert_allclose(found, [0.0, 0.2, 0.4, 0.9], atol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = np.sort(rng.random(6))
        found = spread_positions(list(wanted), 0.15, 0.0, 1.0)
        assert (np.diff(found) > 0.15 - 1e-12).all()
        assert 0.0 <= found[0] <= found[-1] <= 1.0 + 1e-12
    assert spread_positions([], 0.1, 0.0, 1.0).tolist() == []


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((10, 2000), ["10", "20", "50", "100", "200", "500", "1,000", "2,000"]),
        ((30, 40), ["30", "32", "34", "36", "38", "40"]),
    ],
)
def test_numbers_at_logarithmic_axes(limits, words):
    axes = Figure(figsize=(8.0, 4.0)).subplots()
    axes.plot(limits, limits)
    set_log_scales(axes)
    axes.set_xlim(*limits)
    axes.figure.canvas.draw()
    low, high = limits
    shown = [t.get_text() for t in axes.get_xticklabels() if low <= t.get_position()[0] <= high * (1 + 1e-9)]
    assert shown == words
