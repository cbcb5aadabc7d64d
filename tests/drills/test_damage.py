"""Damaged files: each damage gives an error or a warning that names the file, and no loader returns other numbers.

A folder has a saved result, a checkpoint with a saved state, and a store of named arrays. Bytes are flipped, files are
truncated, exchanged, replaced by other bytes and by files of another study. Hostile files have the right digest.
"""

import copy
import functools
import hashlib
import io
import itertools
import json
import math
import random
import shutil
import tracemalloc
import warnings
import zipfile
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
from jaxonline import datasets
from jaxonline.live import states
from jaxonline.parameters.errors import DamagedStoreWarning, UnfinishedStudyWarning
from jaxonline.results import load_result
from jaxonline.results.report.summary import notes
from jaxonline.results.saving import SEAL
from jaxonline.store.archives import (
    DIGEST,
    NO_DIGEST,
    open_arrays,
    open_document,
    read_archive,
    seal_arrays,
    seal_document,
)
from jaxonline.store.checkpoints import Store
from jaxonline.store.files import DamagedStoreError
from jaxonline.study.files.commands import folder_report


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


@pytest.mark.long
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
    "nothing": b"", "a list": b"[]", "bytes": b"\xff\xfe\x00", "without its digest": b'{"format": "jaxonline study 2"}',
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
    (folder / "study.json").write_bytes(seal_document({"format": "jaxonline study 1", "about": ABOUT}))
    for use in (load_result, lambda folder: opened(folder).__enter__()):
        with pytest.raises(ValueError, match=r"study\.json: was not written by this version"):
            use(folder)


# ---------------------------------------------------------------------------------------------------------------------
# Hostile files, whose digests are right


VALUES = (None, -1, 10**12, 10**400, 0.5, math.nan, "x", [], [[1]], {}, "deep")
MAX_BYTES = 2**27  # of memory, far below that of the claimed shapes
ARRAYS = {
    "text": lambda array: array.astype(str), "complex": lambda array: array.astype(complex),
    "empty": lambda array: np.ravel(array)[:0], "a number": lambda array: np.float64(1),
    "longer": lambda array: np.resize(array, 99), "another axis": lambda array: array[None],
    "dates": lambda array: np.zeros(array.shape, "M8[s]"),
}  # fmt: skip


def with_values(document, at=()):
    """The texts of the document with each of its nodes replaced by each of the values."""
    node = functools.reduce(lambda node, key: node[key], at, document)
    for value in VALUES if at else ():
        edited = copy.deepcopy(document)
        functools.reduce(lambda node, key: node[key], at[:-1], edited)[at[-1]] = value
        yield json.dumps(edited).replace('"deep"', "[" * 100_000 + "]" * 100_000)
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield from with_values(document, (*at, key))


def sealed(text: str) -> bytes:
    text = f'{{"{DIGEST}": "{NO_DIGEST}", {text[1:]}'
    return text.replace(NO_DIGEST, hashlib.sha256(text.encode()).hexdigest(), 1).encode()


def hostile_files(folder):
    """Of each kind of file: its path, contents, and the function that reads it."""
    path = folder / "checkpoint" / "study.json"
    texts = list(with_values(open_document(path.read_bytes())))
    yield path, map(sealed, texts), lambda: notes((result := load_result(path.parent)).meta, 5, result.interval)
    block = folder / "checkpoint" / "blocks" / A.name / "1.npz"
    seal = Store.read_only(path.parent)._seal(block)
    arrays = open_arrays(block.read_bytes(), seal)
    changed = [arrays | {name: make(array)} for name, array in arrays.items() for make in ARRAYS.values()]
    contents = [seal_arrays(each, seal) for each in (*changed, {})]
    yield block, contents, lambda: load_result(path.parent)
    path = folder / "result.npz"
    arrays = open_arrays(path.read_bytes(), SEAL)
    texts = with_values(json.loads(arrays["about"].tobytes()))
    changed = [arrays | {"about": np.frombuffer(text.encode(), np.uint8)} for text in texts]
    changed += [arrays | {name: make(array)} for name, array in arrays.items() for make in ARRAYS.values()]
    yield path, [seal_arrays(each, SEAL) for each in changed], lambda: repr(load_result(path))
    path.with_name("numbers.json").touch()
    numbers = {"title": "T", "rounds": [5, 10, 15], "learners": {"α": {"mean": [1.0] * 3, "bound": [None, 1.0, 2.0]}}}
    yield path.with_name("numbers.json"), map(str.encode, with_values(numbers)), lambda: folder_report(folder)
    state, learner = folder / "state", jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
    jo.Live(learner, instance=2).save(state)
    header, arrays = states.read_sealed(state)
    texts = [*with_values(header), json.dumps(header)]
    changed = [arrays | {"header": np.frombuffer(text.encode(), np.uint8)} for text in texts]
    changed += [changed[-1] | {name: make(array)} for name, array in arrays.items() for make in ARRAYS.values()]
    contents = [seal_arrays(each, states.FORMAT) for each in changed]
    yield state, contents, lambda: jo.Live(learner).load(state)


@pytest.mark.long
@pytest.mark.parametrize("step", [1, 9])
def test_hostile_files_raise_the_error_of_damage(tmp_path, step):
    """Each file is read, or the error names it or its folder; no other error, and no memory for claimed sizes."""
    folder = make_folder(tmp_path / "study")
    for path, contents, read in hostile_files(folder):
        counts, whole = Counter(), path.read_bytes()
        for content in itertools.islice(contents, 0, None, step):
            path.write_bytes(content)
            tracemalloc.start()
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                try:
                    read()
                    is_noticed = any(warning.category is DamagedStoreWarning for warning in seen)
                    counts["read, without a block" if is_noticed else "read"] += 1
                except ValueError as error:
                    counts[type(error).__name__ if str(folder) in str(error) else repr(error)] += 1
            assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
            tracemalloc.stop()
        path.write_bytes(whole)
        print(f"{path.name:12s} {dict(counts)}")
        assert set(counts) <= {"DamagedStoreError", "ValueError", "ArgumentError", "read", "read, without a block"}
        assert counts["DamagedStoreError"] + counts["read, without a block"] > 20 / step


def npz(compression=zipfile.ZIP_STORED, shape="(3,)", dtype="<f8", content=bytes(24), names=("X.npy",)) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name in names:
            archive.writestr(name, member)
    return file.getvalue()


BOMBS = {
    "compressed": npz(zipfile.ZIP_DEFLATED, f"({2**25},)", "|u1", bytes(2**25)), "huge": npz(shape=f"({10**15},)"),
    "an object": npz(dtype="|O"), "no bytes": npz(shape=f"({10**15},)", dtype="|S0"),
    "negative": npz(shape="(-1, -3)"), "bzip2": npz(zipfile.ZIP_BZIP2), "deep": npz(shape="(" * 60 + ")" * 60),
    "short": npz(content=bytes(8)), "twice": npz(names=("X.npy", "X")),
    "many axes": npz(shape=str((3,) + (1,) * 64).replace(" ", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_archives_are_checked_before_they_are_unpacked(tmp_path, name):
    path = tmp_path / "a.npz"
    path.write_bytes(BOMBS[name])
    tracemalloc.start()
    with pytest.raises(DamagedStoreError):
        read_archive(io.BytesIO(BOMBS[name]), compressed=True)
    with pytest.raises(ValueError, match=r"a\.npz: must"):
        datasets.load(path)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
    np.savez_compressed(path, X=np.zeros((1000, 10)), y=np.ones(1000))
    assert datasets.load(path).X.shape == (1000, 10)
