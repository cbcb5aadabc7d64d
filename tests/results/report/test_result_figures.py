"""Figures of results: start of curves, several quantities, own axes, resolution, distributions, sweeps and pulls."""

import itertools

import numpy as np
import pytest
from made_results import made_result
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

import jaxonline as jo
from jaxonline.results.report.parameter_axis import ParameterAxis
from jaxonline.results.report.plotting import COLOURS, is_geometric

pytestmark = pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")


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


# ---------------------------------------------------------------------------------------------------------------------
# Curves


def test_curves_of_sums_start_at_zero():
    result = made_result(2)
    axes = result.plot().axes[0]
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
    assert result.plot(quantity=quantity).axes[0].get_lines()[0].get_xdata()[0] == start


def test_no_start_on_logarithmic_axes_and_of_failed_learners():
    logarithmic = made_result(n_runs=2, log=True)
    assert logarithmic.plot().axes[0].get_lines()[0].get_xdata()[0] == logarithmic.rounds[0]
    failed = made_result(2, n_runs=3, failed=tuple((0, run) for run in range(3)))
    lines = failed.plot().axes[0].get_lines()
    assert np.isnan(lines[0].get_ydata()).all()
    assert lines[1].get_ydata()[0] == 0.0


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("recorded", [1, 10])
def test_several_quantities_have_a_panel_each_with_common_rounds(style, recorded):
    result = made_result(4, recorded=recorded)
    names = ["queries", "regret", "cumulative_loss"]
    figure = result.plot(quantity=names, style=style, title="three")
    assert len(figure.axes) == 3
    for axes, name in zip(figure.axes, names, strict=True):
        ends = [line.get_xdata()[-1] if recorded == 1 else line.get_ydata()[-1] for line in axes.get_lines()]
        assert set(result.mean(name).mean[:, -1]) <= set(ends)
    colours = [[line.get_color() for line in axes.get_lines()] for axes in figure.axes]
    assert colours[0] == colours[1] == colours[2]
    assert_readable(figure)
    if recorded > 1:
        assert len({axes.get_xlim() for axes in figure.axes}) == 1
        assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "round"]


def test_own_axes():
    result = made_result(3)
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    assert result.plot(ax=left, title="A title") is left
    assert left.get_title() == "A title"
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["learner 2", "learner 1", "learner 0"]
    assert result.plot(ax=right, bounds={"learner 0": 50.0 * np.sqrt(result.rounds)}) is right
    assert (right.get_xscale(), right.get_yscale()) == ("log", "log")
    assert right.get_legend().get_texts()[-1].get_text() == "theorem's bound"
    assert result.plot(ax=right, style="paper") is right
    rendered(figure)
    own = Figure().subplots()
    own.set_xscale("log")
    assert result.plot(ax=own) is own
    assert own.get_lines()[0].get_xdata()[0] == result.rounds[0]


@pytest.mark.parametrize("method", ["plot", "plot_final", "plot_sweep"])
def test_bad_axes_are_named(method):
    plot = getattr(made(["a[1]", "a[2]"], np.ones((2, 3))), method)
    with pytest.raises(TypeError, match=r"ax: must be Matplotlib axes \(got"):
        plot(ax="left")
    with pytest.raises(ValueError, match=r"path: must be None if ax is given"):
        plot("figure.png", ax=Figure().subplots())
    with pytest.raises(ValueError, match=r"style: .*got 'print'"):
        plot(style="print")
    with pytest.raises(ValueError, match=r"quantity: "):
        plot(quantity="regrets")


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("quantity", {"quantity": []}), ("quantity", {"quantity": ["regret", "regrets"]}),
        ("quantity", {"quantity": ["regret", 3]}), ("quantity", {"quantity": 3}),
        ("bounds", {"quantity": ["regret"], "bounds": {"learner 0": np.ones(10)}}),
        ("ax", {"quantity": ["regret", "queries"], "ax": Figure().subplots()}),
    ],
)  # fmt: skip
def test_bad_lists_of_quantities_are_named(argument, options):
    with pytest.raises((TypeError, ValueError), match=f"{argument}: "):
        made_result().plot(**options)


# ---------------------------------------------------------------------------------------------------------------------
# Files


SIZES = [pytest.param("screen", 1110, 150, marks=pytest.mark.long), ("paper", 975, 300)]


@pytest.mark.parametrize(("style", "pixels", "dpi"), SIZES)
def test_the_resolution_of_png_files(tmp_path, style, pixels, dpi):
    result = made(["a[1]", "a[2]"], np.ones((2, 3, 2)) * [1, 2], (5, 10), pulls=np.ones((2, 3, 2, 2)))
    for method in (result.plot, result.plot_final, result.plot_sweep, result.plot_pulls):
        method(tmp_path / "direct.png", style=style)
        with Image.open(tmp_path / "direct.png") as image:
            assert image.width == pixels
            assert round(image.info["dpi"][0]) == dpi
    figure = result.plot(style=style)
    figure.savefig(tmp_path / "later.png")
    figure.savefig(tmp_path / "own.png", dpi=50)
    with Image.open(tmp_path / "later.png") as later, Image.open(tmp_path / "own.png") as own:
        assert (later.width, own.width) == (pixels, pixels * 50 // dpi)
    figure.savefig(tmp_path / "figure.pdf")
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


# ---------------------------------------------------------------------------------------------------------------------
# The distribution of final values


def test_the_distribution_of_final_values():
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(20.0, 3.0, 200), rng.normal(10.0, 1.0, 200)])
    result = made(["worse", "better"], values)
    axes = result.plot_final().axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["better", "worse"]
    estimate = result.mean("cumulative_loss")
    for row, i in enumerate((1, 0)):
        histogram = axes.patches[row]
        heights, edges, _ = histogram.get_data()
        counts = np.histogram(values[i], edges)[0]
        np.testing.assert_allclose(row - heights, 0.6 * counts / counts.max(), atol=1e-12)
        points, line, box, median = axes.get_lines()[7 * row : 7 * row + 4]
        low, high = np.quantile(values[i], [0.05, 0.95])
        outside = values[i][(values[i] < low) | (values[i] > high)]
        np.testing.assert_allclose(points.get_xdata(), outside)
        np.testing.assert_allclose(line.get_xdata(), [low, high])
        np.testing.assert_allclose(box.get_xdata(), np.quantile(values[i], [0.25, 0.75]))
        assert median.get_xdata() == [np.median(values[i])]
        assert axes.containers[row].lines[0].get_xdata() == [estimate.mean[i, 0]]
        (bar,) = axes.containers[row].lines[2][0].get_segments()
        np.testing.assert_allclose(bar[:, 0], [estimate.low[i, 0], estimate.high[i, 0]])
    assert axes.get_xscale() == "linear"


def test_the_axis_of_heavy_tails_is_logarithmic():
    values = np.append(np.full(99, 1.0), 31.0)
    assert made(["a"], values).plot_final().axes[0].get_xscale() == "log"
    assert made(["a"], np.append(np.full(99, 1.0), 29.0)).plot_final().axes[0].get_xscale() == "linear"
    assert made(["a"], np.append(np.full(99, -1.0), 31.0)).plot_final().axes[0].get_xscale() == "linear"
    assert made_result(2).select(runs=slice(1)).plot_final() is not None, "one run"


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("n_learners", [1, 45])
def test_final_values_are_readable(style, n_learners):
    result = made_result(n_learners, 20, failed=tuple((0, run) for run in range(20)))
    figure = result.plot_final(style=style)
    assert_readable(figure)
    assert len(figure.axes[0].get_yticklabels()) == min(n_learners, 40)
    if n_learners == 45 and style == "screen":
        assert figure.axes[0].get_title() == "distribution over 20 runs, the best 40 of 45 learners"


# ---------------------------------------------------------------------------------------------------------------------
# Sweeps


def sweep(values, means, spread=1.0):
    means = np.asarray(means, float)[:, None] + spread * np.array([-1.0, 0.0, 1.0])
    return made([f"a[{value}]" for value in values], means)


def ring_of(axes):
    (ring,) = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
    return ring.get_xdata()[0], ring.get_ydata()[0]


def position_is_number(values):
    return not {"adam", "nan"} & set(map(str, values))


@pytest.mark.parametrize(
    ("values", "scale", "best"),
    [
        ((10, 0.1, 1), "log", 1.0), (("3", "1", "2"), "linear", 2.0), (("adam", "sgd", "other"), "linear", 2.0),
        ((1, 2, 4), "log", 4.0), ((0, 1, 100), "linear", 100.0), (("-1", "nan", "2"), "linear", 2.0),
    ],
)  # fmt: skip
def test_a_sweep_against_its_parameter(values, scale, best):
    result = sweep(values, [5.0, 4.0, 3.0])
    axes = result.plot_sweep(label="step_size").axes[0]
    assert axes.get_xscale() == scale
    assert axes.get_xlabel() == "step_size"
    assert ring_of(axes) == (best, 3.0)
    curve = next(line for line in axes.get_lines() if line.get_marker() == "o" and line.get_zorder() == 3)
    assert (np.diff(curve.get_xdata()) > 0).all()
    joined = [line for line in axes.get_lines() if line.get_linestyle() == "-" and len(line.get_xdata()) == 3]
    assert len(joined) == position_is_number(values)
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
    figure = failed.plot_sweep()
    assert ring_of(figure.axes[0]) == (2.0, 4.0)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["a", "some runs left out (failed)", "smallest mean: 2"]


def test_other_learners_are_horizontal_lines():
    names = ["a[1]", "a[2]", "b[1]", "b[2]", "plain", "c[1]"]
    result = made(names, np.arange(6.0)[:, None] + np.array([-1.0, 0.0, 1.0]))
    for style in ("screen", "paper"):
        figure = result.plot_sweep(style=style)
        axes = figure.axes[0]
        level = [line for line in axes.get_lines() if line.get_transform() == axes.get_yaxis_transform(which="grid")]
        assert [line.get_ydata()[0] for line in level] == [4.0, 5.0]
        words = [text.get_text() for text in figure.legends[0].get_texts()]
        assert words == ["a", "b", "smallest mean", "plain", "c[1]"]
        assert_readable(figure)


def test_the_best_reward_is_the_largest():
    result = sweep((1, 2, 3), [5.0, 4.0, 3.0])
    result.measures["cumulative_reward"] = 10.0 - result.cumulative_loss
    figure = result.plot_sweep(quantity="cumulative_reward")
    assert ring_of(figure.axes[0]) == (3.0, 7.0)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "largest mean: 3"]
    rows = result.plot_final(quantity="cumulative_reward").axes[0].get_yticklabels()
    assert [row.get_text() for row in rows] == ["a[3]", "a[2]", "a[1]"]


def test_a_large_range_of_means_has_a_logarithmic_axis():
    for means, spread, scale in (
        ([2.0, 90.0, 101.0], 0.1, "log"), ([2.0, 90.0, 95.0], 0.1, "linear"), ([2.0, 90.0, 101.0], 1.0, "linear"),
    ):  # fmt: skip
        assert sweep((1, 2, 3), means, spread).plot_sweep().axes[0].get_yscale() == scale


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
    figure = result.plot_pulls(arms=["first", "second", "third"])
    for axes in figure.axes:
        tops = np.array([patch.get_data().values for patch in axes.patches])
        bases = np.array([patch.get_data().baseline for patch in axes.patches])
        np.testing.assert_allclose((tops - bases)[:, 0], shares)
        np.testing.assert_allclose((tops - bases)[:, 1], 1 / 3)
        assert axes.patches[0].get_data().edges.tolist() == [0, 10, 30]
        assert axes.get_ylim() == (0.0, 1.0)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["first", "second", "third"]
    assert [axes.get_title() for axes in figure.axes] == ["learner 0", "learner 1"]
    assert [axes.get_title() for axes in result.plot_pulls(learners=["learner 1"]).axes] == ["learner 1"]


def test_of_many_arms_those_with_most_pulls_have_colours():
    result, shares = pulled(n_arms=10)
    figure = result.plot_pulls()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *(f"arm {k}" for k in range(4, 10)), "4 other arms"
    ]  # fmt: skip
    others = figure.axes[0].patches[-1].get_data()
    np.testing.assert_allclose((others.values - others.baseline)[0], shares[:4].sum())
    np.testing.assert_allclose(others.values, 1.0)
    assert len({patch.get_facecolor() for patch in figure.axes[0].patches}) == 7


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("n_learners", [1, 3])
def test_pulls_are_readable(style, n_learners):
    assert_readable(pulled(n_arms=9, n_learners=n_learners)[0].plot_pulls(style=style))


def test_the_table_of_pulls():
    result, shares = pulled()
    table = result.pulls_table(arms=["a", "b", "c"])
    assert [(row["learner"], row["arm"]) for row in table.rows[:4]] == [
        ("learner 0", "a"), ("learner 0", "b"), ("learner 0", "c"), ("learner 1", "a")
    ]  # fmt: skip
    np.testing.assert_allclose([row["pulls"] for row in table.rows[:3]], 10 * shares + 20 / 3)
    np.testing.assert_allclose([row["per_round"] for row in table.rows[:3]], (10 * shares + 20 / 3) / 30)
    assert "learner 1  c" in table.text()


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
    tops = [patch.get_data().values for patch in result.plot_pulls().axes[0].patches]
    np.testing.assert_allclose(tops[-1], 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Searches


@pytest.fixture(scope="module")
def tuned():
    game = jo.Game(jo.environments.DataStream(np.eye(1), np.ones(1)), jo.FullInformation())

    def learner(step, radius=1.0):
        return jo.GradientLearner(jo.estimators.FullGradient(), step, radius=radius)

    grid = {"step": [0.01, 0.1, 0.5, 1e30, 0.8]}
    return jo.tune(game, learner, grid, n_runs=4, n_rounds=10, rungs=2, factor=2)


def test_settings_of_a_search_against_the_parameter(tuned):
    rows = {row["step"]: row for row in tuned.rows()}
    for style in ("screen", "paper"):
        figure = tuned.plot(style=style)
        axes = figure.axes[0]
        assert axes.get_xlabel() == "step"
        assert axes.get_xscale() == "log"
        assert ring_of(axes) == (tuned.choice["step"], rows[tuned.choice["step"]]["cumulative_loss"])
        hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
        dropped = {step for step, row in rows.items() if row["rung"] == 1 and np.isfinite(row["cumulative_loss"])}
        assert set(hollow[0].get_xdata()) == dropped
        assert_readable(figure)
    ax = Figure().subplots()
    assert tuned.plot(ax=ax, parameter="step") is ax
    with pytest.raises(ValueError, match="parameter: "):
        tuned.plot(parameter="radius")


def test_colours_of_curves_are_distinct():
    names = [f"{name}[{value}]" for name in "abcdefg" for value in (1, 2)]
    axes = made(names, np.arange(14.0)[:, None] + np.array([-1.0, 1.0])).plot_sweep().axes[0]
    joined = [line.get_color() for line in axes.get_lines() if line.get_marker() == "None" and line.get_alpha()]
    assert joined == list(COLOURS[:7])


def test_a_folder_is_no_path_of_a_figure(tmp_path):
    """Otherwise a file with the folder's name and an ending would be written beside it."""
    folder = tmp_path / "figures"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"path: must be a file \(got the folder"):
        made(["a"], np.ones((1, 3, 1))).plot(folder)
    assert list(tmp_path.iterdir()) == [folder]
