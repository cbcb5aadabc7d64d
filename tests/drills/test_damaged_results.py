"""Damaged files of results: `find_damage` names each damage, and no loader returns other numbers without a message.

A folder has a saved result, a checkpoint and named arrays. Every byte of every document is
changed once, except those of a checkpoint that the study determines: of these, one document and some bytes of the
others. All files are truncated, exchanged, deleted, and replaced by other bytes.
"""

import collections
import hashlib
import itertools
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import stores
from made_up import made_up
from opened_store import BEST, B, opened, with_blocks
from opened_store import made as made_block

from jaxonline.results import Result, load_result
from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import Folder
from jaxonline.store.verification import find_damage

ABOUT = {"inputs": "1"}


def make_folder(folder: Path, seed: int = 0) -> Path:
    """A study's folder, with a checkpoint and named arrays that are unlike each other."""
    result = made_up().select(runs=slice(seed, seed + 8))
    result.save(folder / "result.zarr")
    with opened(with_blocks(folder / "checkpoint")) as store:
        for rows, block in itertools.product((B, BEST), range(3)):
            store.blocks.write(rows, block, made_block(seed + 10 * block, rows))
        for block in range(2):
            store.save_state(B, block, 40, {"w": np.full(3, float(block))})
    with Store(Folder(folder / "arrays"), ABOUT, 1.0) as store:
        store.write_numbers({"a": np.arange(4.0) + seed, "b": np.ones((2, 2)) + seed})
    return folder


# ---------------------------------------------------------------------------------------------------------------------
# What a user sees


def numbers_of(result: Result) -> str:
    arrays = {"runs": result.runs, "rounds": result.rounds, "best": result.comparator_loss, **result.measures}
    arrays |= {"first_nonfinite": result.first_nonfinite, "first_overflow": result.first_overflow}
    digest = hashlib.sha256(repr((result.learners, result.interval, result.meta)).encode())
    for name, array in arrays.items():
        digest.update(f"{name} {np.shape(array)}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def load_arrays(folder: Path) -> str:
    with Store(Folder(folder), ABOUT, 1.0) as store:
        arrays = store.read_numbers()
    if arrays is None:
        raise ValueError("the arrays are computed again")
    return repr(arrays)


PARTS = {
    "result.zarr": lambda folder: numbers_of(load_result(folder)),
    "checkpoint": lambda folder: numbers_of(load_result(folder)), "arrays": load_arrays,
}  # fmt: skip


def outcome(load, folder: Path) -> str:
    """What is loaded; "message" if an error or a warning says that something is wrong."""
    with warnings.catch_warnings(action="error"):
        try:
            return load(folder)
        except (OSError, ValueError, RuntimeWarning, UserWarning):
            return "message"


# ---------------------------------------------------------------------------------------------------------------------
# Damages


def part_of(path: str) -> str:
    return path.partition("/")[0] if "/" in path else "."


def damages(
    files: dict[str, bytes], other: dict[str, bytes], few: bool
) -> Iterator[tuple[str, dict[str, bytes | None]]]:
    """The kind of each damage, and the new contents of the files, None for a deleted file."""
    rng = random.Random(0)
    if few:  # the other parts have most of the files
        files = {path: content for path, content in files.items() if part_of(path) == "result.zarr"}
    for path, content in files.items():
        every = range(len(content))
        if part_of(path) == "checkpoint" and path not in ("checkpoint/zarr.json", "checkpoint/pulls/zarr.json"):
            every = sorted(rng.sample(every, min(len(every), 60)))  # the study determines the other documents
        for i in rng.sample(every, 1) if few else every:
            yield "flipped", {path: content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :]}
        sizes = range(len(content)) if len(content) < 30 else rng.sample(range(len(content)), 30)
        for size in rng.sample(sizes, 1) if few else sizes:
            yield "truncated", {path: content[:size]}
        if few:
            continue
        if not path.endswith(".npz"):  # a block without its state starts again
            yield "deleted", {path: None}
        for _ in range(5):
            yield "random", {path: rng.randbytes(len(content))}
        yield "zeros", {path: bytes(len(content))}
        yield "longer", {path: content + b"\n"}
        if path in other:
            yield "of another study", {path: other[path]}
    pairs = [pair for pair in itertools.combinations(files, 2) if len(files[pair[0]]) == len(files[pair[1]])]
    for one, two in rng.sample(pairs, 10) if few else pairs:
        yield "exchanged", {one: files[two], two: files[one]}


def drill(folder: Path, other: Path, few: bool) -> collections.Counter:
    """Damage the files of a folder; return the number of damages by kind and by what notices them."""
    files = {path: content for path, content in stores.tree(folder).items() if content}
    whole = {part: outcome(load, folder / part) for part, load in PARTS.items()}
    assert "message" not in whole.values()
    assert not any(find_damage(Folder(folder / part)) for part in PARTS)
    counts: collections.Counter = collections.Counter()
    for kind, changes in damages(files, stores.tree(other), few):
        changes = {path: content for path, content in changes.items() if content != files[path]}
        if not changes:
            continue
        for path, content in changes.items():
            (folder / path).unlink() if content is None else (folder / path).write_bytes(content)
        parts = sorted({part_of(path) for path in changes})
        lines = [line for part in parts for line in find_damage(Folder(folder / part))]
        loaded = {part: outcome(PARTS[part], folder / part) for part in parts}
        wrong = any(seen not in ("message", whole[part]) for part, seen in loaded.items())
        counts[kind, "all"] += 1
        counts[kind, "found by check"] += bool(lines)
        counts[kind, "message when loaded"] += "message" in loaded.values()
        if wrong or not lines:
            counts[kind, "silent"] += 1
            print(f"silent: {kind}, {list(changes)}, {'other numbers' if wrong else 'not found by check'}")
        restore(folder, files, changes)
    return counts


def restore(folder: Path, files: dict[str, bytes], changed: dict) -> None:
    for path in (*folder.rglob("*.damaged"),):
        path.unlink()
    for path in {*changed, "arrays/zarr.json"}:
        (folder / path).write_bytes(files[path])


def print_counts(counts: collections.Counter) -> None:
    columns = ("all", "found by check", "message when loaded", "silent")
    print(f"{'damage':18s}" + "".join(f"{column:>22s}" for column in columns))
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    for kind in kinds:
        print(f"{kind:18s}" + "".join(f"{counts[kind, column]:22,d}" for column in columns))
    print(f"{'sum':18s}" + "".join(f"{sum(counts[kind, c] for kind in kinds):22,d}" for c in columns))


def total(counts: collections.Counter, column: str) -> int:
    return sum(n for (_, name), n in counts.items() if name == column)


@pytest.fixture
def folders(tmp_path):
    return make_folder(tmp_path / "study"), make_folder(tmp_path / "other", seed=3)


def test_some_damages_are_noticed(folders):
    counts = drill(*folders, few=True)
    assert total(counts, "all") > 30
    assert (total(counts, "silent"), total(counts, "found by check")) == (0, total(counts, "all"))


@pytest.mark.long
def test_all_damages_are_noticed(folders):
    counts = drill(*folders, few=False)
    print_counts(counts)
    assert total(counts, "all") > 7_000
    assert total(counts, "silent") == 0
    assert total(counts, "found by check") == total(counts, "all")
