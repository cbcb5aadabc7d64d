"""Interrupted studies resume, and report progress."""

import itertools

import jax
import optax
import pytest
import stores
from small_study import RUNS, assert_same_bits, learner, study

import jaxonline as jo
from jaxonline.estimators import KnownCovariance, TwoCopies
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.progress import Reporter


class Interrupted(Exception):
    pass


def stop_after(pieces: int):
    def progress(done, total, what):
        if done == pieces:
            raise Interrupted

    return progress


@pytest.fixture(scope="module")
def reference() -> jo.Result:
    return study()


@pytest.mark.parametrize("pieces", [1, 17, 41])
def test_interrupted_study_resumes(reference, tmp_path, one_core, pieces):
    """Pieces are segments of a block: four for each of ten blocks, for the learner and the comparator."""
    with pytest.raises(Interrupted):
        study(checkpoint=tmp_path / "folder", progress=stop_after(pieces))
    finished = {path: path.read_bytes() for path in stores.finished(tmp_path / "folder")}
    assert len(finished) == (pieces - 1) // 4
    seen = []
    result = study(checkpoint=tmp_path / "folder", progress=lambda *each: seen.append(each))
    assert_same_bits(result, reference)
    assert len(seen) == 80 - 4 * len(finished), "finished blocks are not played again"
    assert seen[-1][0] == seen[-1][1], "progress arrives at its total"
    assert all(path.read_bytes() == content for path, content in finished.items())
    assert_same_bits(study(checkpoint=tmp_path / "folder"), reference)
    print(f"interrupted in piece {pieces} of 80: {len(finished)} finished blocks, 0 of them computed again")


def test_study_resumes_with_other_devices_and_more_runs(reference, tmp_path):
    with pytest.raises(Interrupted):
        study(checkpoint=tmp_path, progress=stop_after(13))
    assert_same_bits(study(checkpoint=tmp_path, mesh=default_mesh(jax.devices()[:8])), reference)
    assert_same_bits(reference, study(checkpoint=tmp_path, n_runs=24), runs=slice(RUNS))
    assert_same_bits(study(checkpoint=tmp_path, runs=[11]), reference, runs=[11])


@pytest.mark.parametrize(
    "change",
    [
        {"key": 4},
        {"n_rounds": 60},
        {"n_rounds": 120},
        {"record_at": 2},
        {"block_size": 4},
        {"comparator": jo.L2Ball(2.0)},
        {"learners": learner(0.3)},
        {"learners": learner(estimator=KnownCovariance())},
        {"learners": {"another name": learner()}},
    ],
)
def test_checkpoint_of_a_different_study_raises(tmp_path, change):
    study(n_runs=2, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="checkpoint"):
        study(**{"n_runs": 2, "checkpoint": tmp_path, **change})


@pytest.mark.long
def test_checkpoint_identifies_numbers_inside_optax(tmp_path):
    """Two optimisers that differ in a number only, which optax keeps in a closure, are two studies."""
    first, second = (
        jo.GradientLearner(TwoCopies(), step_size=0.1, optimizer=optax.sgd(1.0, momentum=momentum))
        for momentum in (0.5, 0.9)
    )
    study(first, n_runs=2, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="checkpoint"):
        study(second, n_runs=2, checkpoint=tmp_path)


def test_progress_is_reported_from_the_host(reference, one_core):
    seen = []
    assert_same_bits(study(progress=lambda *each: seen.append(each)), reference)
    assert [done for done, _, _ in seen] == list(range(1, 81))
    assert {total for _, total, _ in seen} == {80}
    told = [what for what, _ in itertools.groupby(what for _, _, what in seen)]
    assert told == [f"{of}, block {n} of 10" for of in ("best in hindsight", "learner") for n in range(1, 11)]


def test_progress_true_writes_to_standard_error(capsys):
    study(n_runs=2, progress=True)
    written = capsys.readouterr()
    assert written.out == ""
    assert "8/8" in written.err


def test_progress_bar_escapes_names(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        with Reporter(True, total=1) as reporter:
            reporter.advance("[/b]\x1b[2J\x07")
        written = capsys.readouterr().err
        assert "[/b]�[2J�" in written
        assert "\x1b[2J" not in written
        assert "\x07" not in written
