"""An interrupted study resumes, also inside a block, and never uses the numbers of another study."""

import functools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stores
from fresh_python import ROOT
from small_study import assert_same_bits, learner, study
from tiers import some

import jaxonline as jo
from jaxonline.game.round import States
from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.jobs import InProgress, Pace, Position, split_segments
from jaxonline.simulation.segments import Carry, Totals
from jaxonline.store.checkpoints import JobArrays, Store


class Killed(BaseException):
    pass


@pytest.fixture
def kept(monkeypatch, one_core):
    """The rounds at which blocks in progress were kept; the process ends after so many of them."""
    rounds, limit = [], [10**9]
    keep = InProgress.save

    def counted(self, position):
        keep(self, position)
        rounds.append(position.round)
        if len(rounds) == limit[0]:
            raise Killed

    def stop_after(number):
        rounds.clear()
        limit[0] = number

    monkeypatch.setattr(InProgress, "save", counted)
    rounds_kept = rounds
    stop_after.rounds = rounds_kept
    return stop_after


@pytest.fixture(scope="module")
def reference():
    return study(n_runs=4)


def resumed(kept, path, at, **options):
    """A study of two blocks that was interrupted after the first, the third, ... keeping; and where it went on. Its
    store has the same bytes as that of one that was not interrupted."""
    folder, whole = path / "kept", path / "whole"
    kept(10**9)
    study(n_runs=4, checkpoint=whole, **options)
    checkpoint, starts = jo.Checkpoint(folder, every=0.0), []
    for number in at:
        kept(number)
        with pytest.raises(Killed):
            study(n_runs=4, checkpoint=checkpoint, **options)
        starts.append(kept.rounds[-1])
    kept(10**9)
    result = study(n_runs=4, checkpoint=checkpoint, **options)
    assert kept.rounds[0] > starts[-1], "it went on where it was"
    assert len(stores.finished(folder)) == 4
    assert stores.tree(folder) == stores.tree(whole), "nothing is left over"
    return result


@pytest.mark.long
@pytest.mark.parametrize("at", some([[1], [3, 2, 1], [20]], [3, 2, 1]))
def test_unfinished_block_resumes(kept, reference, tmp_path, at):
    """A single segment, whose rounds are played in pieces: between recorded rounds nothing is lost either."""
    result = resumed(kept, tmp_path, at, record_at=1)
    assert_same_bits(result, reference, record_at=[3])


def test_resumed_block_keeps_recorded_rounds(kept, reference, tmp_path):
    assert_same_bits(resumed(kept, tmp_path, (25, 20)), reference)


@pytest.mark.long
def test_blocks_resume_on_several_devices_with_a_sweep(kept, tmp_path):
    """Three devices for two blocks, one of them filled up; members have an axis of their own."""
    options = {"learners": jo.sweep([learner(0.1), learner(0.2)]), "mesh": default_mesh(jax.devices()[:3])}
    assert_same_bits(resumed(kept, tmp_path, (5,), **options), study(n_runs=4, **options))


@pytest.mark.long
def test_wave_with_states_at_different_rounds_restarts(kept, reference, tmp_path):
    """Two devices kept two blocks; the second of them was lost, or is not where the first is."""
    two = {"n_runs": 4, "checkpoint": jo.Checkpoint(tmp_path, every=0.0), "mesh": default_mesh(jax.devices()[:2])}
    kept(4)
    with pytest.raises(Killed):
        study(**two)
    for path in stores.in_progress(tmp_path)[1:]:
        path.unlink()
    kept(2)
    with pytest.raises(Killed):
        study(**two)
    assert kept.rounds[0] == 16, "from the beginning"
    kept(10**9)
    assert_same_bits(study(**two), reference)


def test_damaged_state_warns_and_restarts(kept, reference, tmp_path):
    kept(3)
    with pytest.raises(Killed):
        study(n_runs=4, checkpoint=jo.Checkpoint(tmp_path, every=0.0))
    (path,) = stores.in_progress(tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    kept(10**9)
    with pytest.warns(DamagedStoreWarning, match=r"states.comparator.0.npz: is damaged"):
        result = study(n_runs=4, checkpoint=jo.Checkpoint(tmp_path, every=0.0))
    assert_same_bits(result, reference)


def test_kill_after_a_block_leaves_a_state_that_is_removed(kept, reference, tmp_path, monkeypatch):
    """Nothing is left over."""

    def die(*arguments):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Store, "delete_state", die)
        with pytest.raises(Killed):
            study(n_runs=4, checkpoint=jo.Checkpoint(tmp_path, every=0.0))
    assert (len(stores.finished(tmp_path)), len(stores.in_progress(tmp_path))) == (1, 1)
    assert_same_bits(study(n_runs=4, checkpoint=jo.Checkpoint(tmp_path)), reference)
    assert (len(stores.finished(tmp_path)), len(stores.in_progress(tmp_path))) == (4, 0)


def test_saving_states_is_rare_and_does_not_change_the_bits(kept, reference, tmp_path):
    kept(10**9)
    assert_same_bits(study(n_runs=4, checkpoint=tmp_path), reference)
    assert kept.rounds == [], "a study of seconds is kept when its blocks are finished"


def test_split_segments_follows_the_pace():
    """Calls grow as long as they take less than an eighth of the time between two saved states."""
    segments = [(0, 40), (40, 80)]
    assert list(split_segments(segments, 0, Pace(1.0, rounds=40), 9)) == [(0, [40]), (40, [80])]
    assert list(split_segments(segments, 50, Pace(1.0, rounds=40), 9)) == [(50, [80])]
    assert list(split_segments(segments, 10, Pace(1.0, rounds=40), 9)) == [(10, [40, 50]), (50, [80])]
    pace, seen = Pace(every=1e6), []
    for call in split_segments([(0, 100), (100, 130)], 5, pace, 9):
        seen.append(call)
        pace.played()
    assert seen == [(5, [21]), (21, [53]), (53, [100, 117]), (117, [130])]
    slow = Pace(every=0.0)
    for _ in range(10):
        slow.played()
    assert slow.rounds == 1


def test_a_call_has_at_most_as_many_ends_as_fit():
    segments = [(t, t + 10) for t in range(0, 50, 10)]
    calls = list(split_segments(segments, 0, Pace(1.0, rounds=1000), 2))
    assert calls == [(0, [10, 20]), (20, [30, 40]), (40, [50])]


def test_state_round_trips_through_the_store(tmp_path):
    """Keys, small and large floats, integers and booleans, NaN with its bits: on two devices."""
    mesh = default_mesh(jax.devices()[:2])
    on = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("blocks"))
    odd = np.array([0x7FC00123, 0x80000001], np.uint32).view(np.float32)
    leaves = {
        "key": jax.random.split(jax.random.key(1), 2), "bfloat16": jnp.array([1.5, -2.5], jnp.bfloat16),
        "odd": jnp.asarray(odd), "integer": jnp.array([[1], [2]]), "flag": jnp.array([True, False]),
    }  # fmt: skip
    leaves = jax.device_put(leaves, on)
    carry = Carry(States(leaves, None, None), Totals({}, (), jnp.zeros(2), jnp.zeros(2)))
    read = [{"a": np.arange(2.0), "b/c": np.ones((2, 3), np.float32)}, {"a": np.zeros(2)}]
    with Store(tmp_path, {}, 1.0) as store:
        progress = InProgress(store, JobArrays("learner 0", "learner", ("a",), (0, 1), 2), np.array([4, 5]), 2)
        assert progress.restore(carry) is None
        progress.save(Position(17, carry, read))
        found = progress.restore(carry)
    assert found.round == 17
    for name, leaf in found.carry.states[0].items():
        assert (leaf.dtype, leaf.sharding) == (leaves[name].dtype, leaves[name].sharding)
        bits = [jax.random.key_data(each) if name == "key" else each for each in (leaf, leaves[name])]
        assert np.asarray(bits[0]).tobytes() == np.asarray(bits[1]).tobytes()
    for before, after in zip(read, found.read, strict=True):
        assert list(before) == list(after)
        for one, other in zip(before.values(), after.values(), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


# ---------------------------------------------------------------------------------------------------------------------
# Nothing stale

SCALE = np.float32(0.1)


def law(key, t, x):
    return SCALE * jax.random.normal(key, x.shape, x.dtype)


@jo.struct
class Shifting(jo.GradientLearner):
    """The user's own update."""

    def update(self, key, state, oracle):
        state, info = jo.GradientLearner.update(self, key, state, oracle)
        return state, info


def edited(self, key, state, oracle):
    state, info = jo.GradientLearner.update(self, key, state, oracle)
    return state._replace(w=state.w * np.float32(0.5)), info


def noisy(**options):
    model = jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.1)
    game = jo.Game(model, jo.NoisyCopies(jo.noise.CustomNoise(law)))
    own = Shifting(jo.estimators.TwoCopies(), step_size=0.1, radius=1.0)
    return jo.simulate(game, own, **{"n_runs": 2, "n_rounds": 10, "record_at": 1} | options)


@pytest.mark.long
def test_edited_code_is_a_different_study(tmp_path, monkeypatch):
    """A learner's update, and a global that a law of noise reads: refused in the old folder, played in a new one."""
    first = noisy(checkpoint=tmp_path / "old")
    folders = []
    for name, owner, attribute, value in [
        ("the code of edited", Shifting, "update", edited),
        ("the global SCALE of law", sys.modules[__name__], "SCALE", np.float32(3.0)),
    ]:
        monkeypatch.setattr(owner, attribute, value)
        with pytest.raises(ValueError, match=f"another study: .*{name}"):
            noisy(checkpoint=tmp_path / "old")
        folders.append(noisy(checkpoint=tmp_path / name).cumulative_loss)
        monkeypatch.undo()
        np.testing.assert_array_equal(noisy(checkpoint=tmp_path / "old").cumulative_loss, first.cumulative_loss)
    numbers = [first.cumulative_loss, *folders]
    assert len({each.tobytes() for each in numbers}) == 3, "also in one process, where programs are remembered"


RNG = np.random.default_rng(0)


def law_with_a_generator(key, t, x):
    return np.float32(RNG.normal()) * jax.random.normal(key, x.shape, x.dtype)


def test_unidentifiable_inputs_need_a_version(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "law", law_with_a_generator)
    with pytest.raises(TypeError, match=r"the global RNG of law_with_a_generator.*version"):
        noisy(checkpoint=tmp_path)
    assert list(tmp_path.iterdir()) == []
    first = noisy(checkpoint=jo.Checkpoint(tmp_path, version="1"))
    again = noisy(checkpoint=jo.Checkpoint(tmp_path, version="1"))
    np.testing.assert_array_equal(first.cumulative_loss, again.cumulative_loss)
    with pytest.raises(ValueError, match=r"the version of the study \(was '1', is '2'\)"):
        noisy(checkpoint=jo.Checkpoint(tmp_path, version="2"))


@pytest.mark.long
def test_blocks_of_another_key_are_set_aside_without_the_description(tmp_path):
    noisy(checkpoint=tmp_path, key=1)
    (tmp_path / "study.json").unlink()
    with pytest.warns(DamagedStoreWarning, match="is damaged, or belongs to another block or study"):
        found = noisy(checkpoint=tmp_path, key=2)
    np.testing.assert_array_equal(found.cumulative_loss, noisy(key=2).cumulative_loss)


# ---------------------------------------------------------------------------------------------------------------------
# Forty kills

DRILL = """
import sys
import numpy as np
import jaxonline as jo

environment = jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.1)
game = jo.Game(environment, jo.NoisyCopies(jo.noise.gaussian(0.2), reveal_covariance=True))
learners = {
    "two": jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.2), radius=1.0),
    "known": jo.GradientLearner(jo.estimators.KnownCovariance(), step_size=jo.InverseSqrt(0.2), radius=1.0),
    "naive": jo.sweep([jo.GradientLearner(jo.estimators.NaiveCopy(), step_size=s, radius=1.0) for s in (0.1, 0.2)]),
}
folder, out, n_runs, n_rounds, names = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
print("begin", flush=True)
result = jo.simulate(
    game, {name: learners[name] for name in names.split()}, n_runs=n_runs, n_rounds=n_rounds, key=7, block_size=8,
    record_at=3, comparator=jo.L2Ball(1.0), checkpoint=jo.Checkpoint(folder, every=0.05),
)
np.savez(out, loss=result.cumulative_loss, best=result.comparator_loss, queries=result.queries)
"""
MANY_BLOCKS = ("96", "6000", "two known naive")  # 48 blocks
LEARNERS = {"comparator": [], "learner 0": [0], "learner 1": [1], "learner 2": [2, 3]}


def check_readable(folder, blocks):
    """`load_result` has the finished blocks, and NaN elsewhere."""
    recorded = np.zeros((4, 96), bool)
    for path in blocks:
        job, block = path.parent.name, int(path.stem)
        recorded[LEARNERS[job], 8 * block : 8 * (block + 1)] = True
    if not recorded.any():  # the comparator is played first
        return
    with warnings.catch_warnings(action="ignore"):
        result = jo.load_result(folder)
    assert result.runs.tolist() == np.flatnonzero(recorded.any(axis=0)).tolist()
    missing = result.meta.get("missing", {})
    assert [96 - missing.get(name, 0) for name in result.learners] == recorded.sum(axis=1).tolist()
    np.testing.assert_array_equal(np.isfinite(result.cumulative_loss[:, :, 0]), recorded[:, result.runs])


def start(folder, out, size):
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", DRILL, str(folder), str(out), *size]
    # in the background of a shell SIGINT is ignored, which children inherit
    listening = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=environment, preexec_fn=listening, **pipes)


def interrupt(process, moment, kind):
    """Wait for the beginning of the study and some seconds more, and send a signal; None if it had ended before."""
    process.stdout.readline()
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(kind)
    code = process.wait(timeout=120)
    process.stdout.close()
    return code


def check_same_numbers(one, other):
    with np.load(one) as first, np.load(other) as second:
        for name in ("loss", "best", "queries"):
            assert first[name].tobytes() == second[name].tobytes()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # the child becomes another program at once
@pytest.mark.parametrize(("kind", "times"), [(signal.SIGKILL, 30), (signal.SIGINT, 20)], ids=["SIGKILL", "SIGINT"])
def test_study_survives_signals_at_random_moments(tmp_path, kind, times):
    """The store of an interrupted study is that of another one, byte for byte, no finished block is computed twice, and
    after each signal `load_result` reads what is finished."""
    folder, whole, moments = tmp_path / "kept", tmp_path / "whole", random.Random(3)
    began = time.monotonic()
    assert interrupt(start(whole, tmp_path / "whole.npz", MANY_BLOCKS), 300.0, kind) == 0
    longest = 0.7 * (time.monotonic() - began)
    seen, sent, inside, starts = {}, 0, 0, 0
    while sent < times and starts < 3 * times:
        starts += 1
        code = interrupt(start(folder, tmp_path / "cut.npz", MANY_BLOCKS), moments.uniform(0.0, longest), kind)
        now = {path: path.stat().st_mtime_ns for path in stores.finished(folder)}
        assert {path: now.get(path) for path in seen} == seen, "no finished block is computed again"
        seen = now
        check_readable(folder, seen)
        sent, inside = sent + (code != 0), inside + bool(stores.in_progress(folder))
        if code == 0:  # it was finished: begin again
            assert stores.tree(folder) == stores.tree(whole)
            check_same_numbers(tmp_path / "whole.npz", tmp_path / "cut.npz")
            shutil.rmtree(folder)
            seen = {}
    assert interrupt(start(folder, tmp_path / "cut.npz", MANY_BLOCKS), 300.0, kind) == 0
    print(f"{sent} times {kind.name} in {starts} starts, {inside} times with saved states inside blocks: the same bits")
    assert sent == times
    assert stores.tree(folder) == stores.tree(whole), "the final store has the same bytes"
    check_same_numbers(tmp_path / "whole.npz", tmp_path / "cut.npz")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
def test_block_of_more_than_a_minute_survives_ten_kills(tmp_path):
    """One learner, one block: each start continues from the state that the one before it saved."""
    n_rounds, moments, rounds, kills = 11_000_000, random.Random(5), [0], 0
    sizes, kept, whole = ("8", str(n_rounds), "two"), tmp_path / "kept", tmp_path / "whole"
    began = time.monotonic()
    assert interrupt(start(whole, tmp_path / "whole.npz", sizes), 900.0, signal.SIGKILL) == 0
    seconds = time.monotonic() - began
    while kills < 10:
        moment = moments.uniform(0.5, 1.5) * seconds / 18 + 1.0
        if interrupt(start(kept, tmp_path / "kept.npz", sizes), moment, signal.SIGKILL) == 0:
            shutil.rmtree(kept)  # the machine was faster than before: begin again
            rounds.clear()
            continue
        kills += 1
        for path in stores.in_progress(kept):
            with np.load(path) as state:  # the comparator is played first
                rounds.append(int(state["round"]) + n_rounds * (path.parent.name != "comparator"))
    assert interrupt(start(kept, tmp_path / "kept.npz", sizes), 900.0, signal.SIGKILL) == 0
    print(f"{kills} SIGKILLs in blocks of {n_rounds:,} rounds ({seconds:.0f} s in all), at {rounds}: the same bits")
    assert rounds == sorted(rounds)
    assert stores.tree(kept) == stores.tree(whole)
    check_same_numbers(tmp_path / "whole.npz", tmp_path / "kept.npz")
