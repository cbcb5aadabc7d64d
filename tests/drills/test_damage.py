"""Damaged files: each damage gives an error or a warning that names the file, and no loader returns other numbers.

A folder has a saved result, a checkpoint with a saved state, and a store of named arrays. Bytes are flipped, files are
truncated, exchanged, and replaced by other bytes and by files of another study.
"""

import itertools
import random
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import stores
from made_up import made_up
from opened_store import ABOUT, BEST, BLOCKS, A, B, made, opened, same, with_blocks
from tiers import some

import jaxonline as jo
from jaxonline.parameters.errors import DamagedStoreWarning, UnfinishedStudyWarning
from jaxonline.results import load_result
from jaxonline.store.checkpoints import DamagedStoreError, Store, seal_document


def make_folder(folder: Path, seed: int = 0) -> Path:
    result = made_up(failed=((0, 3),), overflowed=((1, 2),))
    jo.Result(**{**vars(result), "meta": result.meta | {"seed": seed}}).save(folder / "result.npz")
    with opened(folder / "checkpoint", key=f"(1, {seed})") as store:
        for job, block in itertools.product((A, B, BEST), range(3)):
            store.write_block(job, block, made(10 + seed + block, job))
        store.save_state(B, 7, {"round": np.array(16), "leaf 0": np.arange(5.0) + seed})
    arrays = {"a/b": np.arange(6.0) + seed, "none": np.empty((0, 2))}
    jo.Checkpoint(folder / "arrays").compute_once(seed, lambda: arrays)
    return folder


def load_checkpoint(folder: Path) -> list:
    result, store = load_result(folder), Store.read_only(folder)
    return [*numbers_of(result), store.load_state(B, 7)]


def load_arrays(folder: Path) -> list:
    def compute():
        raise RuntimeError("computed again")

    arrays = jo.Checkpoint(folder).compute_once(0, compute)
    return [(name, array.tolist()) for name, array in arrays.items()]


def numbers_of(result) -> list:
    arrays = {**result.measures, "best": result.comparator_loss, "runs": result.runs, "rounds": result.rounds}
    arrays |= {"nan": result.first_nonfinite, "full": result.first_overflow}
    return [result.learners, sorted(result.meta.items()), *((name, array.tolist()) for name, array in arrays.items())]


PARTS = {
    "result.npz": lambda path: numbers_of(load_result(path)), "checkpoint": load_checkpoint, "arrays": load_arrays,
}  # fmt: skip


def outcome(part: str, folder: Path) -> tuple[str, list[str]]:
    """What loading returns, as a text, or "error", and the messages of errors and warnings of damage."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            loaded, messages = repr(PARTS[part](folder / part)), []
        except (OSError, ValueError, RuntimeError) as error:
            loaded, messages = "error", [str(error)]
    return loaded, messages + [str(warning.message) for warning in seen if warning.category is DamagedStoreWarning]


def damages(files: dict[str, bytes], other: dict[str, bytes], flips: int) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The kind of each damage, and the new contents of the files; `flips` flipped bytes in each file."""
    rng = random.Random(0)
    for path, content in files.items():
        for i in rng.sample(range(len(content)), min(flips, len(content))):
            yield "flipped", {path: content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :]}
        for size in rng.sample(range(len(content)), min(flips // 10 + 1, len(content))):
            yield "truncated", {path: content[:size]}
        for _ in range(flips // 50):
            yield "random", {path: rng.randbytes(len(content))}
        yield "zeros", {path: bytes(len(content))}
        yield "longer", {path: content + b"\n"}
        if path != "result.npz":  # another result is a result
            yield "of another study", {path: other[path]}
    for one, two in itertools.combinations(files, 2):
        yield "exchanged", {one: files[two], two: files[one]}


def drill(folder: Path, other: Path, flips: int) -> tuple[Counter, Counter]:
    """Damage the files of a folder; return the number of damages by kind, and of those that nobody notices."""
    files = {path: content for path, content in stores.tree(folder).items() if content}
    whole = {part: outcome(part, folder) for part in PARTS}
    assert all(loaded != "error" and not messages for loaded, messages in whole.values())
    counts, silent = Counter(), Counter()
    for kind, changes in damages(files, stores.tree(other), flips):
        for path, content in changes.items():
            (folder / path).write_bytes(content)
        for part in {path.partition("/")[0] for path in changes}:
            _, messages = outcome(part, folder)
            # a damaged description hides its blocks, and the intact one of another study is named by its folder
            names = [Path(path).name for path in changes if path.startswith(part)] + [str(folder / part)]
            is_named = any(name in message for message in messages for name in names)
            if not is_named:
                silent[kind] += 1
                print(f"silent: {kind}, {list(changes)}: {messages or 'no message'}")
        counts[kind] += 1
        for path in folder.rglob("*.damaged"):
            path.unlink()
        for path in {*changes, "arrays/study.json"}:
            (folder / path).write_bytes(files[path])
    assert {part: outcome(part, folder) for part in PARTS} == whole
    return counts, silent


@pytest.fixture
def folders(tmp_path):
    return make_folder(tmp_path / "study"), make_folder(tmp_path / "other", seed=3)


@pytest.mark.parametrize(("flips", "least"), some([(2, 100), (400, 5_000)], (2, 100)))
def test_all_damages_are_noticed(folders, flips, least):
    counts, silent = drill(*folders, flips)
    for kind, n in counts.items():
        print(f"{kind:18s}{n:8,d}, silent {silent[kind]:,d}")
    print(f"{'sum':18s}{counts.total():8,d}, silent {silent.total():,d}")
    assert counts.total() > least
    assert silent.total() == 0


@pytest.fixture
def folder(tmp_path):
    return with_blocks(tmp_path / "kept")


def path_of(folder, block=1) -> Path:
    return folder / "blocks" / "learner 0" / f"{block}.npz"


def as_folder(path):
    path.unlink()
    (path / "inside").mkdir(parents=True)


def another_block(path):
    shutil.copy(path_of(path.parents[2], 2), path)


def plain_arrays(path):
    with path.open("wb") as file:
        np.savez(file, **{name: array for name, array in BLOCKS[0].items() if name != "file"})


DAMAGE = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "plain arrays": plain_arrays, "another block": another_block, "a folder": as_folder,
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_block_warns_and_is_computed_again(folder, name):
    path = path_of(folder)
    DAMAGE[name](path)
    with pytest.warns(DamagedStoreWarning, match=r"0/1\.npz: is damaged, or belongs to another block or study$"):
        arrays, finished = Store.read_only(folder).load_arrays()
    assert np.isnan(arrays["cumulative_loss"][0, 2:4]).all()
    assert finished["cumulative_loss"][0].tolist() == [True, True, False, False, True]
    with opened(folder) as store:
        with pytest.warns(DamagedStoreWarning, match=r"learner 0/1\.npz: is damaged.* renamed to 1\.npz\.damaged"):
            assert store.read_block(A, 1) is None
        assert not path.exists()
        assert path.with_name("1.npz.damaged").exists()
        with warnings.catch_warnings(action="error"):
            assert store.read_block(A, 1) is None
            store.write_block(A, 1, BLOCKS[1])
            for block, numbers in enumerate(BLOCKS):
                same(store.read_block(A, block), numbers)


GARBAGE = {
    "nothing": b"", "a list": b"[]", "bytes": b"\xff\xfe\x00", "without its digest": b'{"format": "jaxonline study 1"}',
    "a digest alone": b'{"sha256": ""}', "a number": b'{"sha256": 3}',
}  # fmt: skip


@pytest.mark.parametrize("name", GARBAGE)
def test_damaged_description_is_written_again(folder, name):
    (folder / "study.json").write_bytes(GARBAGE[name])
    with pytest.raises(DamagedStoreError, match=r"study\.json: is damaged"):
        load_result(folder)
    with (
        pytest.warns(DamagedStoreWarning, match=r"study\.json: is damaged.*study\.json\.damaged"),
        opened(folder) as store,
    ):
        same(store.read_block(A, 2), BLOCKS[2])
    assert (folder / "study.json.damaged").read_bytes() == GARBAGE[name]
    with warnings.catch_warnings(action="error"), opened(folder):
        pass


def test_missing_comparator_blocks_are_counted(tmp_path):
    with opened(with_blocks(tmp_path)) as store:
        for block in range(3):
            store.write_block(B, block, made(block, B))
            store.write_block(BEST, block, made(block, BEST))
    assert "missing" not in load_result(tmp_path).meta
    (tmp_path / "blocks" / "comparator" / "1.npz").unlink()
    with pytest.warns(UnfinishedStudyWarning, match="of 5 runs, 2 of 'comparator_loss' are missing"):
        result = load_result(tmp_path)
    assert result.meta["missing"] == {"comparator_loss": 2}
    assert np.isnan(result.regret).any(axis=(0, 2)).tolist() == [False, False, True, True, False]


def test_stale_blocks_are_set_aside_without_the_description(folder):
    (folder / "study.json").unlink()
    with opened(folder, key="(0, 4)") as store, pytest.warns(DamagedStoreWarning, match="belongs to another"):
        assert store.read_block(A, 0) is None
    assert len(stores.finished(folder)) == 2


def test_store_of_another_format_is_rejected(folder):
    (folder / "study.json").write_bytes(seal_document({"format": "jaxonline study 2", "about": ABOUT}))
    for use in (load_result, lambda folder: opened(folder).__enter__()):
        with pytest.raises(ValueError, match=r"study\.json: was not written by this version"):
            use(folder)
