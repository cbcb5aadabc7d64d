"""The simulator: the same key gives the same bits however the work is divided, and programs are compiled once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from count_programs import n_compiled
from hypothesis import given
from hypothesis import strategies as st
from small_study import BALL, ROUNDS, RUNS, WIDTH, assert_same_bits, learner, small_game, study

import jaxonline as jo
from jaxonline.estimators import FullGradient
from jaxonline.simulation import record_rounds
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.jobs import Plan


@pytest.fixture(scope="module")
def reference() -> jo.Result:
    return study()


def test_result_has_the_requested_sizes(reference):
    assert reference.cumulative_loss.shape == (1, RUNS, 4)
    assert reference.cumulative_loss.dtype == reference.regret.dtype == np.float64
    assert reference.rounds.tolist() == [20, 40, 60, 80]
    assert reference.runs.tolist() == list(range(RUNS))
    np.testing.assert_array_equal(reference.queries[0, 0], 2 * reference.rounds)
    assert len(np.unique(reference.cumulative_loss[0, :, -1])) == RUNS, "every run is another one"
    assert (reference.meta["block_size"], reference.meta["n_rounds"], reference.meta["dtype"]) == (2, 80, "float32")


def test_simulate_equals_play_for_each_run(reference):
    for run in (0, RUNS - 1):
        _, history = jo.play(small_game(), learner(), jax.random.fold_in(jax.random.key(3), run), ROUNDS)
        sums = np.cumsum(np.asarray(history.loss, float))[reference.rounds - 1]
        np.testing.assert_allclose(reference.cumulative_loss[0, run], sums, rtol=2e-6)
        for i, t in enumerate(reference.rounds):
            X, y = np.asarray(history.x, float)[:t], np.asarray(history.y, float)[:t]
            w = np.linalg.lstsq(X, y, rcond=None)[0]
            least = np.sum((X @ w - y) ** 2)
            if np.linalg.norm(w) <= 1:
                np.testing.assert_allclose(reference.comparator_loss[0, run, i], least, rtol=1e-4)
            else:
                assert reference.comparator_loss[0, run, i] > least


def test_number_of_devices_does_not_change_the_bits(reference):
    assert_same_bits(study(mesh=default_mesh(jax.devices()[:8])), reference)


@pytest.mark.long
def test_key_changes_numbers_and_block_size_only_last_bits(reference):
    assert_same_bits(study(key=jax.random.key(3)), reference)
    assert (study(key=4).cumulative_loss != reference.cumulative_loss).all()
    wide = study(block_size=RUNS)
    np.testing.assert_allclose(wide.cumulative_loss, reference.cumulative_loss, rtol=1e-5)
    np.testing.assert_allclose(wide.comparator_loss, reference.comparator_loss, rtol=1e-4)


def test_selected_runs_are_the_same_as_in_the_full_study(reference):
    replayed = study(runs=[19, 0, 7])
    assert replayed.runs.tolist() == [19, 0, 7]
    assert_same_bits(replayed, reference, runs=[19, 0, 7])


def test_more_runs_keep_the_first_runs(reference):
    assert_same_bits(reference, study(n_runs=RUNS + 5), runs=slice(RUNS))


def test_recorded_rounds_do_not_change_the_bits(reference):
    """Many of them, and read-outs at unequal distances: segments of one round, and sums of unfinished chunks."""
    many = study(record_at=40)
    assert len(many.rounds) == 40
    assert_same_bits(reference, many, record_at=np.flatnonzero(np.isin(many.rounds, reference.rounds)))
    few = study(record_at=[1, 33, 40, 79], n_runs=4)
    assert few.rounds.tolist() == [1, 33, 40, 79, 80]
    np.testing.assert_array_equal(few.regret[..., [2, 4]], reference.regret[:, :4, [1, 3]])


def test_horizon_need_not_be_a_multiple_of_segments():
    """Segments of 27 rounds overrun 80, and what is beyond the horizon is not played."""
    cut = study(record_at=3, n_rounds=79, n_runs=4)
    assert cut.rounds.tolist() == [27, 54, 79]
    assert cut.queries[0, 0].tolist() == [54, 108, 158]
    assert_same_bits(cut, study(record_at=[27, 54, 79], n_runs=4), record_at=slice(3))


def test_horizon_does_not_change_earlier_rounds(reference):
    assert_same_bits(study(n_rounds=60, record_at=3), reference, record_at=slice(3))


@pytest.mark.long
def test_float64_is_used_if_enabled(x64):
    result = study(n_runs=4)
    assert result.meta["dtype"] == "float64"
    _, history = jo.play(small_game(), learner(), jax.random.fold_in(jax.random.key(3), 1), ROUNDS)
    X, y = np.asarray(history.x), np.asarray(history.y)
    np.testing.assert_allclose(result.cumulative_loss[0, 1, -1], np.sum(np.asarray(history.loss)), rtol=1e-13)
    sums = jo.comparators.QuadraticSums(X.T @ X, X.T @ y, y @ y)
    np.testing.assert_allclose(result.comparator_loss[0, 1, -1], BALL.best_loss(sums), rtol=1e-11)


@pytest.mark.long
def test_deterministic_data_stream_shares_its_comparator():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 3)), rng.normal(size=10)
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(0.2)))
    options = {"n_runs": RUNS, "n_rounds": 20, "block_size": WIDTH, "record_at": 2, "comparator": jo.L2Ball(np.inf)}
    result = jo.simulate(game, learner(), **options)
    least = np.linalg.lstsq(X, y, rcond=None)[1].item()
    np.testing.assert_allclose(result.comparator_loss, np.broadcast_to([least, 2 * least], (1, RUNS, 2)), rtol=1e-5)
    for runs in ([7], [0], [3, 9]):
        assert_same_bits(jo.simulate(game, learner(), runs=runs, **options), result, runs=runs)


ETAS = [0.01 * 1.3**i for i in range(20)]


@pytest.fixture(scope="module")
def swept() -> jo.Result:
    return study({"eta": jo.sweep({f"{eta:.3g}": learner(eta) for eta in ETAS})}, n_runs=4)


def test_sweep_equals_its_learners_simulated_separately(swept):
    assert swept.learners[:2] == ("eta[0.01]", "eta[0.013]")
    for i in (0, 7, 19):
        alone = study(learner(ETAS[i]), n_runs=4)
        np.testing.assert_allclose(swept.cumulative_loss[[i]], alone.cumulative_loss, rtol=1e-6)
        np.testing.assert_array_equal(swept.comparator_loss[[i]], alone.comparator_loss)


def test_selected_runs_of_a_sweep_are_the_same(swept):
    replayed = study({"eta": jo.sweep([learner(eta) for eta in ETAS])}, n_runs=4, runs=[2, 3])
    assert replayed.learners[3] == "eta[3]"
    assert_same_bits(replayed, swept, runs=[2, 3])


@pytest.mark.long
def test_learners_of_a_study_are_independent(reference):
    """In any company a learner's numbers are its own, and all face the same instances and the same noise."""
    company = {
        "full": jo.WithFeedback(learner(estimator=FullGradient()), jo.FullInformation()),
        "copies": learner(),
        "again": learner(),
        "sweep": jo.WithFeedback(jo.sweep([learner(estimator=FullGradient())]), jo.FullInformation()),
    }
    result = study(company)
    assert result.learners == ("full", "copies", "again", "sweep[0]")
    assert_same_bits(result.select("copies"), reference)
    assert_same_bits(result.select("again"), reference)
    np.testing.assert_allclose(result.cumulative_loss[3], result.cumulative_loss[0], rtol=1e-6)
    assert result.mean("queries").mean[:, -1].tolist() == [80.0, 160.0, 160.0, 80.0]


@jo.struct
class LastOutcome(jo.Learner):
    def init(self, key, specs):
        return 0.0

    def predict(self, key, state, x):
        return state

    def update(self, key, state, oracle):
        return oracle.y, ()


def test_initial_state_may_be_a_python_number():
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.array([1.0, 3.0, 6.0])), jo.FullInformation())
    result = jo.simulate(game, LastOutcome(), n_runs=1, n_rounds=3, record_at=[1, 2, 3])
    assert result.cumulative_loss[0].tolist() == [[1.0, 1.0 + 4.0, 1.0 + 4.0 + 9.0]]


@pytest.mark.long
def test_sweep_of_twenty_step_sizes_compiles_once():
    options = {"n_runs": 3, "block_size": 3, "comparator": None, "n_rounds": 8, "record_at": 2}
    before = n_compiled("advance")
    study(jo.sweep([learner(eta) for eta in ETAS]), **options)
    assert n_compiled("advance") == before + 1
    for eta in [*ETAS, np.float64(0.1), np.float32(0.1), jnp.asarray(0.1)]:
        study(learner(eta), **options)
    assert n_compiled("advance") == before + 2


def test_a_second_call_compiles_nothing(reference):
    before = n_compiled()
    assert_same_bits(study(), reference)
    study(learner(0.3), key=9, runs=[3])
    assert n_compiled() == before
    jax.jit(lambda x: x * 1.2345)(1.0)
    assert n_compiled() == before + 1, "the counter works"


def test_other_horizons_rounds_and_runs_compile_nothing():
    study(n_runs=4)
    before = n_compiled()
    for options in ({"record_at": 40}, {"record_at": 7}, {"n_rounds": 79}, {"n_rounds": 61, "record_at": [1, 33]}):
        study(n_runs=4, **options)
    study(n_runs=7)
    assert n_compiled() == before


@given(st.integers(1, 5000), st.integers(1, 60), st.sampled_from(["linear", "log"]))
def test_record_rounds(n_rounds, record_at, spacing):
    rounds = record_rounds(n_rounds, record_at, spacing)
    assert rounds[-1] == n_rounds
    assert (np.diff(rounds, prepend=0) > 0).all()
    assert len(rounds) <= record_at
    if spacing == "linear":
        assert set(np.diff(rounds, prepend=0)[:-1]) <= {rounds[0]}
    plan = Plan(None, n_rounds, rounds, 1, default_mesh(jax.devices()[:1]), [0])
    segments = list(plan.segments())
    assert [t for t, _ in segments] == [0, *(until for _, until in segments[:-1])]
    assert set(rounds) <= {until for _, until in segments}
    assert len(segments) <= (1 if spacing == "linear" else 2) * len(rounds)
    assert plan.n_steps() == len(segments)
