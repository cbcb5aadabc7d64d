"""Damaged and foreign stores: the error names the damage, and stale numbers are never used."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import stores
import xarray
from made_up import made_up
from opened_store import ABOUT, BEST, BLOCKS, A, B, made, opened, same, with_blocks
from tiers import some

from jaxonline.parameters.errors import DamagedStoreWarning, UnfinishedStudyWarning
from jaxonline.results import load_result
from jaxonline.store.blocks import Store
from jaxonline.store.filesystem import Folder
from jaxonline.store.fingerprint import fingerprint
from jaxonline.store.verification import find_damage


@pytest.fixture
def folder(tmp_path):
    return with_blocks(tmp_path / "kept")


def record(folder, block=1) -> Path:
    return folder / "blocks" / "finished" / "learner 0" / f"c.{block}.0"


def cut(share):
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def flip(share):
    def damage(path):
        content = bytearray(path.read_bytes())
        content[int(share * (len(content) - 1))] ^= 4
        path.write_bytes(bytes(content))

    return damage


def replace(content):
    return lambda path: path.write_bytes(content)


def as_folder(path):
    path.unlink()
    (path / "inside").mkdir(parents=True)


def another_block(path):
    shutil.copy(path.with_name(path.name.replace(".1.", ".2.")), path)


def another_array(path):
    shutil.copy(path.parents[0] / "c.0.2.0" if path.name == "c.0.1.0" else record(path.parents[3], 0), path)


def plain_arrays(path):
    with path.open("wb") as file:
        np.savez(file, **BLOCKS[0].arrays)


DAMAGE = {f"truncated at {share}": cut(share) for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999)}
DAMAGE |= {f"a bit at {share}": flip(share) for share in np.linspace(0, 1, 41).round(3).tolist()}
DAMAGE |= {
    "text": replace(b"My thesis\n"), "JSON": replace(b"[1, 2]\n"), "JSON of another kind": replace(b'{"study": 1}\n'),
    "zeros": replace(bytes(4096)), "more": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "plain arrays": plain_arrays, "another block": another_block, "the first block": another_array,
    "a folder": as_folder,
}  # fmt: skip
SHORT = (
    "truncated at 0.0", "truncated at 0.999", "a bit at 0.0", "a bit at 0.5", "a bit at 1.0", "zeros", "more",
    "plain arrays", "another block", "the first block", "a folder",
)  # fmt: skip


@pytest.mark.parametrize("name", some(DAMAGE, *SHORT))
def test_damaged_block_warns_and_is_computed_again(folder, name):
    """A chunk, or the record of a block."""
    chunk, own = folder / "cumulative_loss" / "c.0.1.0", record(folder)
    for path, first, second in ((chunk, "", ".2"), (own, ".3", ".4")):
        DAMAGE[name](path)
        with opened(folder) as store:
            aside = path.with_name(f"{path.name}{first}.damaged")
            with pytest.warns(DamagedStoreWarning, match=rf"block 1 of 'learner a' is damaged.*{aside.name}"):
                assert store.blocks.read(A, 1) is None
            assert not path.exists()
            assert aside.exists()
            with warnings.catch_warnings(action="error"):
                assert store.blocks.read(A, 1) is None
                store.blocks.write(A, 1, BLOCKS[1])
                for each, kept in enumerate(BLOCKS):
                    same(store.blocks.read(A, each), kept)
            DAMAGE[name](path)
            with pytest.warns(DamagedStoreWarning, match=rf"{path.name}{second}.damaged"):
                assert store.blocks.read(A, 1) is None
            store.blocks.write(A, 1, BLOCKS[1])


def test_missing_chunk_is_computed_again(folder):
    (folder / "pulls" / "c.0.1.0.0").unlink()
    with opened(folder) as store, pytest.warns(DamagedStoreWarning, match=r"block 1 of 'learner a' is damaged"):
        assert store.blocks.read(A, 1) is None


@pytest.mark.parametrize("damage", [cut(0.0), flip(0.2), Path.unlink])
@pytest.mark.parametrize("path", ["learner/c.0", "run/c.0", "round/c.0", "pulls/zarr.json"])
def test_damaged_labels_and_documents_are_repaired(folder, path, damage):
    before = stores.tree(folder)
    damage(folder / path)
    with opened(folder) as store:
        same(store.blocks.read(A, 1), BLOCKS[1])
    assert stores.tree(folder) == before


GARBAGE = {
    "nothing": b"", "text": b"not JSON", "a list": b"[]", "something else": b'{"about": 3}', "bytes": b"\xff\xfe\x00",
    "changed by hand": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {
        "jaxonline": {"format": "jaxonline study 2", "study": "0" * 16, "about": ABOUT}}}).encode(),
    "without its layout": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"jaxonline": {
        "format": "jaxonline study 2", "study": fingerprint(ABOUT), "about": ABOUT, "layout": {}}}}).encode(),
    "not ours": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"jaxonline": 3}}).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", GARBAGE)
def test_damaged_description_is_rebuilt_from_the_blocks(folder, name):
    (folder / "zarr.json").write_bytes(GARBAGE[name])
    with pytest.warns(DamagedStoreWarning, match=r"zarr.json is damaged.*zarr.json.damaged"), opened(folder) as store:
        same(store.blocks.read(A, 2), BLOCKS[2])
    assert (folder / "zarr.json.damaged").read_bytes() == GARBAGE[name]
    with warnings.catch_warnings(action="error"), opened(folder):
        pass
    (folder / "zarr.json").write_bytes(GARBAGE[name])
    with (
        pytest.warns(DamagedStoreWarning, match=r"zarr.json.2.damaged"),
        pytest.raises(ValueError, match="block of another study"),
        opened(folder, key="(0, 4)"),
    ):
        pass


def test_damaged_state_warns_and_the_previous_one_is_used(tmp_path):
    """A state that was being written when the process was killed is none, without a word."""
    with opened(tmp_path) as store:
        for rounds in (16, 32):
            store.save_state(A, 1, rounds, {"states/learner/w": np.full(3, float(rounds))})
        assert (store.blocks_in_progress(A), store.blocks_in_progress(B)) == ({1}, set())
        assert store.load_state(A, 1)[0] == 32
        (later,) = stores.in_progress(tmp_path)
        content = later.read_bytes()
        later.unlink()
        store.save_state(A, 1, 16, {"states/learner/w": np.full(3, 16.0)})
        (earlier,) = stores.in_progress(tmp_path)
        later.write_bytes(content)  # the process was killed before the earlier one was removed
        assert (earlier.name, later.name) == ("learner 0, block 1, round 16.npz", "learner 0, block 1, round 32.npz")
        assert store.load_state(A, 1)[0] == 32
        store.save_state(A, 2, 48, {"states/learner/w": np.full(3, 48.0)})
        with np.load(later) as arrays:
            assert arrays["states/learner/w"].tolist() == [32.0] * 3, "a state is a file of NumPy's"
        flip(0.5)(later)
        with pytest.warns(DamagedStoreWarning, match="block 1 of 'learner a', in progress, is damaged"):
            rounds, arrays = store.load_state(A, 1)
        assert (rounds, arrays["states/learner/w"].tolist()) == (16, [16.0] * 3)
        assert stores.in_progress(tmp_path)[0] == earlier
        earlier.unlink()
        with warnings.catch_warnings(action="error"):
            assert store.load_state(A, 1) is None
            store.delete_state(A, 1)
            store.delete_state(A, 2)
        assert stores.in_progress(tmp_path) == []


def test_state_of_another_block_is_rejected(tmp_path):
    with opened(tmp_path) as store:
        for block in (1, 2):
            store.save_state(A, block, 16, {"w": np.full(3, float(block))})
        first, second = stores.in_progress(tmp_path)
        first.write_bytes(second.read_bytes())
        assert find_damage(store.place) == [f"blocks/states/{first.name}: does not match its digest"]
        with pytest.warns(DamagedStoreWarning, match="block 1 of 'learner a', in progress, is damaged"):
            assert store.load_state(A, 1) is None


def test_missing_comparator_blocks_are_counted(tmp_path):
    """Their runs have no regret."""
    with opened(with_blocks(tmp_path)) as store:
        for block in range(3):
            store.blocks.write(B, block, made(block, B))
            store.blocks.write(BEST, block, made(block, BEST))
    assert "missing" not in load_result(tmp_path).meta
    (tmp_path / "blocks" / "finished" / "comparator" / "c.1.0").unlink()
    with pytest.warns(UnfinishedStudyWarning, match="of 5 runs, 2 of 'comparator_loss' are missing"):
        result = load_result(tmp_path)
    assert result.meta["missing"] == {"comparator_loss": 2}
    assert np.isnan(result.regret).any(axis=(0, 2)).tolist() == [False, False, True, True, False]
    assert find_damage(Folder(tmp_path)) == [
        "block 1 of 'comparator': has numbers but no record; it is being written, or the record was deleted"
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Another study


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": "(0, 4)"}, r"another study: key \(was \(0, 3\), is \(0, 4\)\)$"),
        ({"the source of update": "b" * 16}, r"another study: the source of update$"),
        ({"the global SCALE of law": "b" * 16}, r"another study: the global SCALE of law \(new\)$"),
        ({str(i): "b" * 16 for i in range(7)}, r"0 \(new\); .* \.\.\.$"),
    ],
)
def test_error_names_the_different_input(folder, changes, message):
    before = stores.tree(folder)
    with pytest.raises(ValueError, match=message) as error, opened(folder, **changes):
        pass
    assert str(error.value).startswith(f"checkpoint {folder}")
    assert stores.tree(folder) == before


def test_error_for_another_block_size_names_the_remedy(folder):
    with opened(folder / "part", block_size="512"):
        pass
    with pytest.raises(ValueError, match=r"block_size \(was 512, is 100\): give block_size=512"):
        opened(folder / "part", block_size="100").__enter__()


def test_stale_blocks_are_rejected_without_the_description(folder):
    """Each block knows its study."""
    (folder / "zarr.json").unlink()
    with pytest.raises(ValueError, match=r"a block of another study: .*learner 0/c.0.0"):
        opened(folder, key="(0, 4)").__enter__()
    assert len(stores.finished(folder)) == 3
    with opened(folder) as store:
        same(store.blocks.read(A, 0), BLOCKS[0])


def test_block_of_another_store_is_rejected(folder, tmp_path):
    with opened(tmp_path / "other", key="(0, 4)") as store:
        shutil.copy(record(folder), record(tmp_path / "other"))
        with pytest.raises(ValueError, match="block of another study"):
            store.blocks.read(A, 1)


FOREIGN = {
    "a saved result": (lambda path: made_up().save(path), "saved result"),
    "a zarr store": (
        lambda path: xarray.Dataset({"a": ("b", [1.0])}).to_zarr(path, consolidated=False),
        "a zarr store of another program",
    ),
    "numbers": (lambda path: Store(Folder(path), ABOUT, 1.0).__enter__().__exit__(), "its format, 'jaxonline numbers"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_store_is_rejected_unchanged(tmp_path, name):
    make, message = FOREIGN[name]
    make(tmp_path / "there")
    before = stores.tree(tmp_path)
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / "there").__enter__()
    assert stores.tree(tmp_path) == before
    assert (tmp_path / "there" / "blocks").exists() == (name == "numbers")
