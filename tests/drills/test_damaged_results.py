"""Damaged files: each damage gives an error or a warning that names the file, and no loader returns other numbers.

A folder has a saved result, a checkpoint with a saved state, and a store of named arrays. Bytes are flipped, files are
truncated, exchanged, replaced by other bytes and by files of another study, and JSON documents are edited.
"""

import collections
import copy
import itertools
import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import stores
from made_up import made_up
from opened_store import BEST, A, B, opened
from opened_store import made as made_block

import jaxonline as jo
from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.results import load_result
from jaxonline.store.checkpoints import Store


def make_folder(folder: Path, seed: int = 0) -> Path:
    """A folder with numbers that depend on the seed; the inputs are the same."""
    result = made_up(failed=((0, 3),), overflowed=((1, 2),))
    jo.Result(**{**vars(result), "meta": result.meta | {"seed": seed}}).save(folder / "result.npz")
    with opened(folder / "checkpoint", key=f"(1, {seed})") as store:
        for job, block in itertools.product((A, B, BEST), range(3)):
            store.write_block(job, block, made_block(10 + seed + block, job))
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
    """All numbers and names, comparable by their text."""
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


# ---------------------------------------------------------------------------------------------------------------------
# Damages


def edits(content: bytes) -> Iterator[bytes]:
    """The JSON document with one number or text changed, for each of them."""
    document = json.loads(content)

    def leaves(node, path=()):
        if isinstance(node, dict | list):
            for key, child in node.items() if isinstance(node, dict) else enumerate(node):
                yield from leaves(child, (*path, key))
        else:
            yield path, node

    for path, value in list(leaves(document)):
        edited = copy.deepcopy(document)
        node = edited
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = f"{value}1" if isinstance(value, str) else 1 if value is None else value + 1
        yield json.dumps(edited, indent=1, ensure_ascii=False).encode()


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
        if path.endswith(".json"):
            for edited in edits(content):
                yield "edited JSON", {path: edited}
    for one, two in itertools.combinations(files, 2):
        yield "exchanged", {one: files[two], two: files[one]}


def drill(folder: Path, other: Path, flips: int) -> collections.Counter:
    """Damage the files of a folder; return the number of damages by kind, and of those that nobody notices."""
    files = {path: content for path, content in stores.tree(folder).items() if content}
    whole = {part: outcome(part, folder) for part in PARTS}
    assert all(loaded != "error" and not messages for loaded, messages in whole.values())
    counts: collections.Counter = collections.Counter()
    for kind, changes in damages(files, stores.tree(other), flips):
        for path, content in changes.items():
            (folder / path).write_bytes(content)
        for part in {path.partition("/")[0] for path in changes}:
            _, messages = outcome(part, folder)
            # a damaged description hides its blocks, and the intact one of another study is named by its folder
            names = [Path(path).name for path in changes if path.startswith(part)] + [str(folder / part)]
            is_named = any(name in message for message in messages for name in names)
            if not is_named:
                counts[kind, "silent"] += 1
                print(f"silent: {kind}, {list(changes)}: {messages or 'no message'}")
        counts[kind, "all"] += 1
        for path in folder.rglob("*.damaged"):
            path.unlink()
        for path in {*changes, "arrays/study.json"}:
            (folder / path).write_bytes(files[path])
    assert {part: outcome(part, folder) for part in PARTS} == whole
    return counts


def total(counts: collections.Counter, column: str) -> int:
    return sum(n for (_, name), n in counts.items() if name == column)


def print_counts(counts: collections.Counter) -> None:
    for kind in dict.fromkeys(kind for kind, _ in counts):
        print(f"{kind:18s}{counts[kind, 'all']:8,d}, silent {counts[kind, 'silent']:,d}")
    print(f"{'sum':18s}{total(counts, 'all'):8,d}, silent {total(counts, 'silent'):,d}")


@pytest.fixture
def folders(tmp_path):
    return make_folder(tmp_path / "study"), make_folder(tmp_path / "other", seed=3)


def test_some_damages_are_noticed(folders):
    counts = drill(*folders, flips=2)
    assert total(counts, "all") > 100
    assert total(counts, "silent") == 0


@pytest.mark.long
def test_all_damages_are_noticed(folders):
    counts = drill(*folders, flips=400)
    print_counts(counts)
    assert total(counts, "all") > 5_000
    assert total(counts, "silent") == 0
