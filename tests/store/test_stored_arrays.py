"""Numbers that stay in the store of a study: read in parts, they are those in memory."""

import json
import shutil
import warnings

import numpy as np
import pytest
from fresh_python import run_python
from made_up import made_up
from small_study import ROUNDS, RUNS, assert_same_bits, learner, study

import jaxonline as jo
from jaxonline.parameters.errors import PrecisionWarning
from jaxonline.store import lazy_arrays as stored_arrays
from jaxonline.store.lazy_arrays import StoredArray

LEARNERS = {"one": learner(), "two": jo.sweep([learner(0.1), learner(0.3)])}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "kept"
    return study(LEARNERS, checkpoint=folder), folder


@pytest.fixture
def nothing_held(monkeypatch):
    """As if all numbers were too many for memory; some 30 are worked on at a time."""
    monkeypatch.setattr(stored_arrays, "MAX_BYTES_IN_MEMORY", 0)
    monkeypatch.setattr(stored_arrays, "PORTION_ENTRIES", 30)


@pytest.fixture
def stored(played, nothing_held):
    found = jo.load_result(played[1])
    assert all(isinstance(array, StoredArray) for array in (*found.measures.values(), found.comparator_loss))
    return found


def test_stored_numbers_equal_those_in_memory(played, stored):
    """What is estimated, too, up to the order of additions."""
    held = played[0]
    assert_same_bits(stored, held)
    for quantity in held.quantities:
        assert stored.values(quantity).tobytes() == held.values(quantity).tobytes()
        for of in ("mean", "bands"):
            for theirs, own in zip(getattr(held, of)(quantity), getattr(stored, of)(quantity), strict=True):
                np.testing.assert_allclose(own, theirs, rtol=1e-12)
        np.testing.assert_array_equal(stored.quantiles([0.1, 0.5], quantity), held.quantiles([0.1, 0.5], quantity))
        np.testing.assert_array_equal(stored.quantiles(0.5, quantity), held.quantiles(0.5, quantity))
        one, other = (np.array(each.paired_difference("one", "two[1]", quantity)) for each in (stored, held))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert stored.growth() == held.growth()
    assert str(stored) == str(held)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        assert stored.ranking().letters == held.ranking().letters
        bounded = [each.mean(interval=jo.intervals.Bounded(-2.0, 9.0)) for each in (stored, held)]
    np.testing.assert_allclose(*map(np.array, bounded), rtol=1e-12)


INDICES = (
    0, -1, slice(1, 3), (slice(None), 3), (1, slice(2, 17, 3), slice(1, 3)), (slice(None), slice(None), -1),
    (2, 5, 1), (slice(2, 0, -1), slice(None, None, -2)), (0, ...), ([2, 0],), (slice(None), slice(4, 4)),
    (np.array([True, False, True]),), (slice(None), np.array([3, 1])), None,
)  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_work_as_in_numpy(played, stored, index):
    for name in ("cumulative_loss", "comparator_loss"):
        held, array = getattr(played[0], name), getattr(stored, name)
        np.testing.assert_array_equal(array[index], held[index])
        assert np.shape(array[index]) == np.shape(held[index])


def test_arithmetic_works_as_in_numpy(played, stored):
    held, array = played[0].cumulative_loss, stored.cumulative_loss
    np.testing.assert_array_equal(array - 1.0, held - 1.0)
    np.testing.assert_array_equal(1.0 - array, 1.0 - held)
    np.testing.assert_array_equal(np.exp(-array), np.exp(-held))
    np.testing.assert_array_equal([each.sum() for each in array], [each.sum() for each in held])
    assert (len(array), array.ndim, array.shape, array.dtype, array.nbytes) == (3, 3, held.shape, float, held.nbytes)
    assert "read when indexed" in repr(array)
    with pytest.raises(ValueError, match="copy=False"):
        np.array(array, copy=False)


def test_a_stored_result_is_saved_and_loaded(played, stored, tmp_path):
    """The files are those of a result in memory."""
    folders = [each.save(tmp_path / name) for each, name in ((stored, "stored"), (played[0], "held"))]
    files = [{path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()} for folder in folders]
    assert files[0].keys() == files[1].keys()
    arrays = [name for name in files[0] if name.name != "zarr.json"]
    assert len(arrays) > 3 * RUNS / 2
    assert all(files[0][name].read_bytes() == files[1][name].read_bytes() for name in arrays)
    again = jo.load_result(folders[0])
    assert isinstance(again.cumulative_loss, StoredArray)
    assert_same_bits(again, played[0])


def test_a_study_keeps_no_numbers_in_memory(played, nothing_held, tmp_path):
    """Played anew, continued, with some of its runs, and until it is precise."""
    found = study(LEARNERS, checkpoint=tmp_path / "kept")
    assert isinstance(found.cumulative_loss, StoredArray)
    assert_same_bits(found, played[0])
    again = study(LEARNERS, checkpoint=tmp_path / "kept", runs=[17, 3], record_at=4)
    assert again.runs.tolist() == [17, 3]
    assert_same_bits(again, played[0], runs=[17, 3])
    with pytest.warns(PrecisionWarning, match="precision.*not reached"):
        precise = study(LEARNERS, checkpoint=tmp_path / "precise", stop=jo.Precision(1e-6, least_runs=4), n_runs=8)
    assert isinstance(precise.cumulative_loss, StoredArray)
    assert_same_bits(precise, played[0], runs=slice(8))


def test_an_extended_study_leaves_earlier_results_unchanged(nothing_held, tmp_path):
    """Of a result whose study went on, the numbers are still there, and no more of them."""
    checkpoint = jo.Checkpoint(tmp_path, keep_states=True)
    short = study(n_rounds=ROUNDS // 2, n_runs=6, record_at=2, checkpoint=checkpoint)
    before = short.regret.copy()
    longer = study(n_rounds=ROUNDS, n_runs=6, record_at=4, checkpoint=checkpoint)
    assert longer.rounds.tolist() == [20, 40, 60, 80]
    np.testing.assert_array_equal(short.regret, before)
    np.testing.assert_array_equal(longer.regret[:, :, :2], before)


def test_a_missing_or_damaged_store_raises_an_error(played, nothing_held, tmp_path):
    shutil.copytree(played[1], tmp_path / "kept")
    found = jo.load_result(tmp_path / "kept")
    chunk = max((tmp_path / "kept" / "cumulative_loss").glob("c.*"))
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
    found.queries[0]
    with pytest.raises(ValueError, match="kept: is damaged; 'cumulative_loss'"):
        found.mean()
    shutil.rmtree(tmp_path / "kept")
    with pytest.raises(FileNotFoundError, match=r"'queries' .*kept: a result of more than 0 MB"):
        found.mean("queries")


def test_an_exchanged_chunk_of_a_saved_result_raises_an_error(nothing_held, tmp_path):
    """Its numbers match their checksum, but not the digest of the position."""
    made_up().save(tmp_path / "saved")
    result = jo.load_result(tmp_path / "saved")
    one, two = (tmp_path / "saved" / "cumulative_loss" / f"c.{learner}.0.0" for learner in (0, 1))
    one.write_bytes(two.read_bytes())
    result.cumulative_loss[1]
    with pytest.raises(ValueError, match="saved: is damaged; 'cumulative_loss'"):
        result.cumulative_loss[0]


@pytest.fixture
def place(tmp_path):
    return tmp_path / "saved"


def test_a_replaced_store_raises_an_error(nothing_held, place):
    """Its numbers are not those of the result."""
    made_up().save(place)
    old = jo.load_result(place)
    made_up(comparator=False).select(runs=slice(None, None, -1)).save(place)
    with pytest.raises(FileNotFoundError, match=r"'cumulative_loss' .*saved"):
        old.mean("cumulative_loss")
    with pytest.raises(FileNotFoundError, match="'comparator_loss'"):
        old.save(place)
    with pytest.raises(FileNotFoundError):
        np.asarray(old.queries)
    assert jo.load_result(place).comparator_loss is None, "nothing was saved"


def test_a_replaced_study_raises_an_error(played, nothing_held, tmp_path):
    """Another key, or other recorded rounds."""
    for name, was, now in (("key", "study", "0" * 16), ("rounds", "rounds", [10, 20, 30, 80])):
        shutil.copytree(played[1], tmp_path / name)
        found, path = jo.load_result(tmp_path / name), tmp_path / name / "zarr.json"
        root = json.loads(path.read_bytes())
        root["attributes"] |= {"title": "noted"}
        path.write_text(json.dumps(root))
        found.queries[0]
        marker = root["attributes"]["jaxonline"]
        (marker if was == "study" else marker["layout"])[was] = now
        path.write_text(json.dumps(root))
        with pytest.raises(FileNotFoundError, match="removed or replaced"):
            found.queries[0]


def test_the_working_directory_may_change(played, nothing_held, monkeypatch, tmp_path):
    monkeypatch.chdir(played[1].parent)
    found = jo.load_result("kept")
    monkeypatch.chdir(tmp_path)
    assert_same_bits(found, played[0])


MEMORY = """
import resource
import numpy as np, jaxonline as jo
X = np.random.default_rng(0).standard_normal((50, 5)).astype(np.float32)
game = jo.Game(jo.environments.DataStream(X, X[:, 0]), jo.NoisyCopies(jo.noise.gaussian(0.1)))
estimator = jo.estimators.TwoCopies()
learners = {str(s): jo.GradientLearner(estimator, step_size=s, radius=1.0) for s in (0.1, 0.2, 0.3)}
options = dict(n_rounds=40, comparator=jo.L2Ball(1.0), block_size=512)
for n_runs in (1_000, RUNS):
    result = jo.simulate(game, learners, n_runs=n_runs, checkpoint=str(n_runs), **options)
    result.mean(), result.bands(), result.ranking(), result.growth(), str(result), result.plot(f"{n_runs}.png")
    result.save(f"{n_runs}.zarr")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""


@pytest.mark.long
def test_memory_does_not_grow_with_the_runs(tmp_path):
    """From 10^3 to 10^5 runs of three learners, whose numbers are 192 MB, it grows by less than 15 %."""
    few, many = map(float, run_python(MEMORY.replace("RUNS", "100_000"), tmp_path).split())
    assert many < 1.15 * few, (few, many)
