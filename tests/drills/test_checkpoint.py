"""An interrupted study resumes, also inside a block, and never uses the numbers of another study."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stores
from small_study import RUNS, assert_same_bits, learner, study
from stopping import Stop, stop_after

import jaxonline as jo
from jaxonline.estimators import KnownCovariance
from jaxonline.game.round import States
from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.jobs import InProgress, Pace, Position, split_segments
from jaxonline.simulation.progress import Reporter
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

    def stop_at(number):
        rounds.clear()
        limit[0] = number

    monkeypatch.setattr(InProgress, "save", counted)
    stop_at.rounds = rounds
    return stop_at


@pytest.fixture(scope="module")
def whole():
    return study()


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
def test_unfinished_block_resumes(kept, reference, tmp_path):
    result = resumed(kept, tmp_path, (3, 2, 1), record_at=1)
    assert_same_bits(result, reference, record_at=[3])


def test_resumed_block_keeps_recorded_rounds(kept, reference, tmp_path):
    assert_same_bits(resumed(kept, tmp_path, (25, 20)), reference)


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


def test_calls_of_a_block_follow_the_pace():
    """Calls grow as long as they take less than an eighth of the time between two saved states, and end where at most
    so many recorded rounds fit."""
    assert list(split_segments([(0, 40), (40, 80)], 0, Pace(1.0, rounds=1000), 1)) == [(0, [40]), (40, [80])]
    pace, seen = Pace(every=1e6), []
    for call in split_segments([(0, 100), (100, 130)], 5, pace, 9):
        seen.append(call)
        pace.played()
    assert seen == [(5, [21]), (21, [53]), (53, [100, 117]), (117, [130])]
    slow = Pace(every=0.0)
    for _ in range(10):
        slow.played()
    assert slow.rounds == 1


def test_state_round_trips_through_the_store(tmp_path):
    """Keys, small floats, integers and booleans, NaN with its bits: on two devices."""
    mesh = default_mesh(jax.devices()[:2])
    on = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("blocks"))
    odd = np.array([0x7FC00123, 0x80000001], np.uint32).view(np.float32)
    leaves = {
        "key": jax.random.split(jax.random.key(1), 2), "bfloat16": jnp.array([1.5, -2.5], jnp.bfloat16),
        "odd": jnp.asarray(odd), "integer": jnp.array([[1], [2]]), "flag": jnp.array([True, False]),
    }  # fmt: skip
    leaves = jax.device_put(leaves, on)
    carry = Carry(States(leaves, None, None), Totals({}, (), *[jnp.zeros(2)] * 3))
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
    jax.tree.map(functools.partial(np.testing.assert_array_equal, strict=True), read, list(found.read))


def test_interrupted_study_resumes(whole, tmp_path, one_core):
    """Pieces are segments of a block: four for each of ten blocks, for the learner and the comparator."""
    with pytest.raises(Stop):
        study(checkpoint=tmp_path / "folder", progress=stop_after(17))
    finished = {path: path.read_bytes() for path in stores.finished(tmp_path / "folder")}
    assert len(finished) == 4
    seen = []
    assert_same_bits(study(checkpoint=tmp_path / "folder", progress=lambda *each: seen.append(each)), whole)
    assert len(seen) == 80 - 4 * 4, "finished blocks are not played again"
    assert seen[-1][0] == seen[-1][1] == 80
    assert all(path.read_bytes() == content for path, content in finished.items())
    assert_same_bits(study(checkpoint=tmp_path / "folder"), whole)
    print("interrupted in piece 17 of 80: 4 finished blocks, 0 of them computed again")


@pytest.mark.long
def test_study_resumes_with_other_devices_and_more_runs(whole, tmp_path):
    with pytest.raises(Stop):
        study(checkpoint=tmp_path, progress=stop_after(13))
    assert_same_bits(study(checkpoint=tmp_path, mesh=default_mesh(jax.devices()[:8])), whole)
    assert_same_bits(whole, study(checkpoint=tmp_path, n_runs=24), runs=slice(RUNS))
    assert_same_bits(study(checkpoint=tmp_path, runs=[11]), whole, runs=[11])


CHANGES = (
    {"key": 4}, {"n_rounds": 60}, {"n_rounds": 120}, {"record_at": 2}, {"block_size": 4},
    {"comparator": jo.L2Ball(2.0)}, {"learners": learner(0.3)}, {"learners": learner(estimator=KnownCovariance())},
    {"learners": {"another name": learner()}},
)  # fmt: skip


def test_checkpoint_of_a_different_study_raises(tmp_path):
    study(n_runs=2, checkpoint=tmp_path)
    for change in CHANGES:
        with pytest.raises(ValueError, match="checkpoint"):
            study(**{"n_runs": 2, "checkpoint": tmp_path, **change})
    print(f"{len(CHANGES)} changes of the key, the sizes, the comparator and the learners: all are seen")


def test_progress_is_reported_from_the_host(whole, one_core):
    seen = []
    assert_same_bits(study(progress=lambda *each: seen.append(each)), whole)
    assert [done for done, _, _ in seen] == list(range(1, 81))
    told = [what for what, _ in itertools.groupby(what for _, _, what in seen)]
    assert told == [f"{of}, block {n} of 10" for of in ("best in hindsight", "learner") for n in range(1, 11)]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_written_to_standard_error_without_control_characters(terminal, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with Reporter(True, total=1) as reporter:
        reporter.advance("[/b]\x1b[2J\x07")
    written = capsys.readouterr()
    assert (written.out, "[/b]�[2J�" in written.err) == ("", True)
    assert not any(part in written.err for part in ("\x1b[2J", "\x07"))


@jo.struct
class Slower(jo.learners.UCB1):
    """A learner of the user, whose code enters the description of the study."""

    def predict(self, key, state, x):
        return super().predict(key, state, x)


@pytest.mark.long
def test_a_learner_joins_a_stored_study(tmp_path, monkeypatch):
    """Only its blocks are computed, the others keep their bits, and earlier learners must be the same, in order."""
    game, a, b, c = jo.bandit_game([0.2, 0.5]), jo.learners.UCB1(), jo.sweep([jo.learners.EXP3(0.1)] * 2), Slower()
    options = {"n_runs": 6, "n_rounds": 20, "block_size": 2, "comparator": jo.BestArm(), "record_at": 3}
    written, write_block = [], Store.write_block

    def write(self, job, block, numbers):
        written.append((job.name, block))
        write_block(self, job, block, numbers)

    monkeypatch.setattr(Store, "write_block", write)

    def play(checkpoint=tmp_path, game=game, **learners):
        written.clear()
        return jo.simulate(game, learners, checkpoint=checkpoint, **options)

    play(a=a)
    assert {name for name, _ in written} == {"comparator", "learner 0"}
    for learners, job in (({"a": a, "b": b}, "learner 1"), ({"a": a, "b": b, "c": c}, "learner 3")):
        result = play(**learners)
        assert sorted(written) == [(job, block) for block in range(3)]
    again = jo.load_result(tmp_path)
    whole = jo.simulate(game, {"a": a, "b": b, "c": c}, **options)
    for one in (result, again):
        assert one.learners == whole.learners
        np.testing.assert_array_equal(one.regret, whole.regret)
        np.testing.assert_array_equal(one.queries, whole.queries)
    play(a=a, b=b, c=c)
    assert written == []
    for wrong, message in (
        ({"a": a}, "learners"), ({"c": c, "a": a, "b": b}, "learners"), ({"a": a, "b": b, "d": c, "c": c}, "learners"),
        ({"a": jo.learners.UCB1(1.0), "b": b, "c": c, "d": a}, "learner a"),
        ({"game": jo.bandit_game([0.2, 0.6]), "a": a, "b": b, "c": c, "d": a}, "game"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"another study: .*{message}"):
            play(**wrong)
