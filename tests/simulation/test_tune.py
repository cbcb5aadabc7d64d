"""`tune`: successive halving, settings, independent runs, shared programs, and choices at the edge."""

import warnings

import jax
import numpy as np
import pytest
from count_programs import n_compiled
from tuned_game import GAME, ONE, SIGMA, SIZES, T, make

import jaxonline as jo
from jaxonline.parameters.errors import SettingsWarning
from jaxonline.simulation import tuning

pytestmark = pytest.mark.fast_compile

STEPS = [0.02, 0.2, 0.5, 1e20]
TUNING = 2**32 - 1


def expected_loss(step):
    """Noise, what is left of the distance from 1, and the variance of w, summed over the rounds."""
    left = (1 - 2 * step) ** (2 * np.arange(T))
    return np.sum(SIGMA**2 + left + (2 * step * SIGMA) ** 2 * (1 - left) / (1 - (1 - 2 * step) ** 2))


@pytest.fixture(scope="module")
def tuned():
    before = n_compiled("advance")
    found = jo.tune(GAME, make, {"step": STEPS}, key=3, **SIZES)
    assert n_compiled("advance") == before + 1, "one program for all rungs"
    return found


@pytest.fixture
def no_further_program(tuned):
    before = n_compiled("advance")
    yield
    assert n_compiled("advance") == before, "all is played by the program of the search"


def played(key):
    """Cumulative losses [4, 32] of all steps in the runs of a study with this key, by the program of the search."""
    pairs = {name: jo.sweep([make(step) for step in pair]) for name, pair in (("a", STEPS[:2]), ("b", STEPS[2:]))}
    with warnings.catch_warnings(action="ignore"):
        options = {"n_runs": 32, "n_rounds": T, "record_at": 1, "block_size": 8, "mesh": ONE}
        return jo.simulate(GAME, pairs, key=key, **options).cumulative_loss[:, :, -1]


def reference(losses, rungs):
    """Successive halving in a few lines of lists: who is left in each rung, with which means; and the choice."""
    left, found = list(range(len(losses))), []
    for i, (_, n_runs) in enumerate(rungs):
        means = {}
        for setting in left:
            seen = [value for value in losses[setting][:n_runs] if value == value]
            means[setting] = sum(seen) / len(seen) if seen else float("inf")
        found.append(means)
        ranked = sorted((mean, setting) for setting, mean in means.items() if mean < float("inf"))
        left = sorted(setting for _, setting in ranked[: rungs[i + 1][0]]) if i + 1 < len(rungs) else left
        if len(left) == 1:
            break
    return ranked[0][1], found


@pytest.mark.parametrize("seed", range(8))
def test_successive_halving_matches_a_reference(seed):
    rng = np.random.default_rng(seed)
    n_settings, n_runs, factor = int(rng.integers(1, 30)), int(rng.integers(16, 40)), int(rng.integers(2, 4))
    losses = rng.normal(size=(n_settings, 1)) + rng.normal(size=(n_settings, n_runs))
    losses[rng.uniform(size=losses.shape) < 0.02] = np.inf
    losses[rng.uniform(size=losses.shape) < 0.1] = np.nan
    losses[rng.integers(n_settings)] = 5.0
    rungs = tuning.plan_rungs(n_settings, n_runs, int(rng.integers(1, 4)) if seed % 2 else None, factor)
    asked = np.zeros(losses.shape, int)

    def play(some, runs):
        asked[np.ix_(some, runs)] += 1
        return losses[some][:, runs]

    chosen, found = tuning.successive_halving(play, rungs)
    best, means = reference(losses.tolist(), rungs)
    assert chosen == best
    assert [rung.settings.tolist() for rung in found] == [list(each) for each in means]
    for rung, each in zip(found, means, strict=True):
        np.testing.assert_allclose(np.nan_to_num(rung.of.mean, nan=np.inf, posinf=np.inf), list(each.values()))
    assert asked.max() == 1, "what was played is played once"
    assert asked.sum() == sum(len(rung.settings) * rung.new_runs for rung in found)


@pytest.mark.parametrize(
    ("sizes", "rungs"),
    [
        ((8, 100, 2, 4), [(8, 25), (2, 100)]),
        ((27, 54, None, 3), [(27, 6), (9, 18), (3, 54)]),
        ((27, 8, None, 3), [(27, 3), (9, 8)]),
        ((100, 1, None, 2), [(100, 1)]),
        ((5, 32, 3, 3), [(5, 4), (2, 12), (1, 32)]),
    ],
)
def test_plan_rungs(sizes, rungs):
    assert tuning.plan_rungs(*sizes) == rungs


def test_tune_chooses_the_best_step_size(tuned):
    """Means are within 5 standard errors of the closed form: a false alarm in 1e-4, the test of a wrong step or of
    half the noise fails."""
    expected = [expected_loss(step) for step in STEPS[:3]]
    assert tuned.choice == {"step": STEPS[int(np.argmin(expected))]} == {"step": 0.2}
    assert float(tuned.learner.step_size.value) == 0.2
    for rung in tuned.rungs:
        finite = np.isfinite(rung.of.mean)
        wanted = [expected[i] for i in rung.settings[finite]]
        assert (np.abs(rung.of.mean[finite] - wanted) < 5 * rung.of.standard_error[finite]).all()


def test_tune_matches_manual_halving_on_its_own_runs(tuned, no_further_program):
    losses = played(jax.random.fold_in(jax.random.key(3), TUNING))
    failed = ~np.isfinite(losses)
    assert failed[3].all(), "a step that diverges is out"
    best, means = reference(np.where(failed, np.inf, losses).tolist(), [(4, 16), (2, 32)])
    assert tuned.chosen == best
    assert [rung.settings.tolist() for rung in tuned.rungs] == [list(each) for each in means] == [[0, 1, 2, 3], [1, 2]]
    for rung, each in zip(tuned.rungs, means, strict=True):
        np.testing.assert_allclose(rung.of.mean, list(each.values()), rtol=1e-14)
    assert tuned.rungs[0].failed.tolist() == [0, 0, 0, 16]
    assert [(rung.runs, rung.new_runs) for rung in tuned.rungs] == [(16, 16), (32, 16)]
    assert tuned.rounds == T * (4 * 16 + 2 * 16)
    assert tuned.share == 96 / 128
    assert tuned.seconds > 0


def test_tuning_runs_differ_from_reported_runs():
    tuning = jax.random.fold_in(jax.random.key(3), np.uint32(TUNING))
    assert not np.isin(played(3)[:2], played(tuning)[:2]).any()


def test_grid_search_with_runs_key(tuned):
    """All runs at every setting; `runs_key` says which: as a search by hand in runs of another seed."""
    plain = jo.tune(GAME, make, {"step": STEPS}, key=3, runs_key=4, **SIZES | {"n_runs": 16, "rungs": 1})
    losses = played(4)[:, :16]
    assert plain.chosen == int(np.nanargmin(losses.mean(axis=1)))
    np.testing.assert_allclose(plain.rungs[0].of.mean[:3], losses[:3].mean(axis=1), rtol=1e-14)
    assert len(plain.rungs) == 1
    assert plain.share == 1.0


def test_interrupted_search_resumes(tuned, tmp_path):
    def stop(done, total, what):
        if what.startswith("rung 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jo.tune(GAME, make, {"step": STEPS}, key=3, checkpoint=tmp_path, progress=stop, **SIZES)
    seen = []
    options = {"checkpoint": tmp_path, "progress": lambda *each: seen.append(each)}
    again = jo.tune(GAME, make, {"step": STEPS}, key=3, **options, **SIZES)
    assert not any(what.startswith("rung 1:") for _, _, what in seen), "what was finished is not played again"
    assert seen[-1] == (2, 2, "rung 2")
    for rung, other in zip(again.rungs, tuned.rungs, strict=True):
        np.testing.assert_array_equal(rung.of.mean, other.of.mean)


def test_choice_at_the_edge_warns(no_further_program):
    with pytest.warns(SettingsWarning, match="^step = 0.2 is the largest that was tried"):
        found = jo.tune(GAME, make, {"step": [0.02, 0.05, 0.1, 0.2]}, key=3, **SIZES)
    assert found.at_edge == ("step",)


def test_draw_settings_is_a_latin_hypercube():
    grid = {"step": tuning.Range(1e-4, 1.0, log=True), "radius": tuning.Range(-1.0, 3.0), "kind": ["a", "b"]}
    found = tuning.draw_settings(grid, 8, [5])
    assert sorted(int(np.floor(2 * (4 + np.log10(each["step"])))) for each in found) == list(range(8))
    assert sorted(int(np.floor(2 * (1 + each["radius"]))) for each in found) == list(range(8))
    assert sorted(each["kind"] for each in found) == 4 * ["a"] + 4 * ["b"]
    assert found == tuning.draw_settings(grid, 8, [5]) != tuning.draw_settings(grid, 8, [6])
    assert [each["step"] for each in found] != sorted(each["step"] for each in found)


def test_incomplete_batches_are_padded(tuned, no_further_program):
    """Three settings, two in a program: what fills it up changes nothing, and is not there."""
    three = jo.tune(GAME, make, {"step": STEPS[:3]}, key=3, **SIZES)
    assert [each["step"] for each in three.settings] == STEPS[:3]
    np.testing.assert_array_equal(three.rungs[0].of.mean, tuned.rungs[0].of.mean[:3])
    assert three.rounds == T * (3 * 16 + 2 * 16)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* that was tried")
def test_settings_of_different_kinds_are_simulated_together():
    entrant = lambda step, copies: jo.WithFeedback(  # noqa: E731
        jo.GradientLearner(jo.estimators.MeanOfCopies(copies), step), jo.NoisyCopies(jo.noise.gaussian(0.1))
    )
    grid = {"step": [0.05, 0.1, 0.2], "copies": [1, 2]}
    found = jo.tune(GAME, entrant, grid, key=3, n_runs=8, n_rounds=T, rungs=1, mesh=ONE)
    root = jax.random.fold_in(jax.random.key(3), np.uint32(TUNING))
    for setting, mean in zip(found.settings, found.rungs[0].of.mean, strict=True):
        alone = jo.simulate(GAME, entrant(**setting), n_runs=8, n_rounds=T, key=root, mesh=ONE)
        assert mean == pytest.approx(alone.cumulative_loss[0, :, -1].mean(), rel=1e-6)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* that was tried")
def test_quantity_is_minimised():
    copies = lambda n: jo.GradientLearner(jo.estimators.MeanOfCopies(n), 0.2, radius=2.0)  # noqa: E731
    game = jo.replace(GAME, feedback=jo.NoisyCopies(jo.noise.gaussian(0.1)))
    options = {"n_runs": 8, "n_rounds": T, "rungs": 1, "mesh": ONE, "comparator": jo.L2Ball(2.0)}
    of = {
        quantity: jo.tune(game, copies, {"n": [3, 1, 2]}, quantity=quantity, **options)
        for quantity in (None, "cumulative_loss", "queries")
    }
    assert of[None].quantity == "regret"
    difference = of["cumulative_loss"].rungs[0].of.mean - of[None].rungs[0].of.mean
    np.testing.assert_allclose(difference, difference[0], rtol=1e-6)
    assert difference[0] > 1.0
    assert of["queries"].rungs[0].of.mean.tolist() == [3 * T, T, 2 * T]
    assert of["queries"].choice == {"n": 1}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* that was tried")
def test_grid_may_name_fields_of_a_learner():
    learner = jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(0.1), 1.0)
    etas, options = [0.05, 0.2, 1.0], {"key": 3, "n_runs": 8, "n_rounds": T, "mesh": ONE}
    found = jo.tune(GAME, learner, {"step_size.eta": etas}, **options)
    made = jo.tune(GAME, lambda eta: jo.replace(learner, step_size=jo.InverseSqrt(eta)), {"eta": etas}, **options)
    assert found.choice["step_size.eta"] == made.choice["eta"] == float(found.learner.step_size.eta)
    np.testing.assert_array_equal(found.rungs[0].of.mean, made.rungs[0].of.mean)


BAD = [
    ({"grid": {"step": []}}, ValueError, r"grid\['step'\]: .*got none"),
    ({"grid": {"step": [0.1, np.nan]}}, ValueError, r"grid\['step'\]: .*got nan"),
    ({"grid": {"step": [0.1, 0.1]}}, ValueError, r"grid\['step'\]: .*got 0.1 twice"),
    ({"grid": {"step": [0.1, -0.2]}}, ValueError, ".*got -0.2"),
    ({"grid": {"step": [1e20, 2e20]}}, ValueError, "grid: .*got none in 2"),  # all fail
    ({"grid": {"stop": [0.1]}}, TypeError, "grid: must .*got stop.; missing"),
    ({"grid": {"runs": [0.1]}}, ValueError, "grid: .*got 'runs'"),
    ({"learner": make(0.1), "grid": {"raduis": [1.0]}}, ValueError,
     "grid: a field of GradientLearner: .*got 'raduis'.; did you mean 'radius'?"),
    ({"learner": make(0.1), "grid": {"step_size.eta": [1.0]}}, ValueError, "grid: a field of Constant: must be one of"),
    ({"learner": jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(0.5)), "grid": {"step_size": [0.1]}},
     ValueError, r"grid: must name a field of InverseSqrt\(eta=0.5\), 'step_size.eta' .got 'step_size'"),
    ({"n_settings": 3}, ValueError, "n_settings: .*got 3"),
    ({"grid": {"step": jo.Range(0.1, 1.0)}}, ValueError, "n_settings: .*got None"),
    ({"rungs": 7}, ValueError, "rungs: must .*got 7 for n_runs=32"),
    ({"quantity": "regret"}, ValueError, "quantity: .*got 'regret'"),
    ({"runs_key": 0}, ValueError, "runs_key: must "),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "error", "message"), BAD, ids=[message for _, _, message in BAD])
def test_tune_rejects_bad_arguments(wrong, error, message):
    arguments = {"game": GAME, "learner": make, "grid": {"step": [0.1, 0.2]}} | SIZES | wrong
    with pytest.raises(error, match=message):
        jo.tune(**arguments)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (0.0, 1.0, True)])
def test_range_rejects_bad_ends(ends):
    with pytest.raises(ValueError, match=r"low: must|high: must"):
        jo.Range(*ends)
