"""Damaged and foreign stores: the error names the damage, and stale numbers are never used."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import stores
from made_up import made_up
from opened_store import ABOUT, BEST, BLOCKS, A, B, made, opened, same, with_blocks
from tiers import some

from jaxonline.parameters.errors import DamagedStoreWarning, UnfinishedStudyWarning
from jaxonline.results import load_result
from jaxonline.store.checkpoints import DamagedStoreError, Store, seal_document


@pytest.fixture
def folder(tmp_path):
    return with_blocks(tmp_path / "kept")


def path_of(folder, block=1) -> Path:
    return folder / "blocks" / "learner 0" / f"{block}.npz"


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
    shutil.copy(path_of(path.parents[2], 2), path)


def the_first_block(path):
    shutil.copy(path_of(path.parents[2], 0), path)


def plain_arrays(path):
    with path.open("wb") as file:
        np.savez(file, **{name: array for name, array in BLOCKS[0].items() if name != "file"})


DAMAGE = {f"truncated at {share}": cut(share) for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999)}
DAMAGE |= {f"a bit at {share}": flip(share) for share in np.linspace(0, 1, 41).round(3).tolist()}
DAMAGE |= {
    "text": replace(b"My thesis\n"), "JSON": replace(b"[1, 2]\n"), "JSON of another kind": replace(b'{"study": 1}\n'),
    "zeros": replace(bytes(4096)), "more": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "plain arrays": plain_arrays, "another block": another_block, "the first block": the_first_block,
    "a folder": as_folder,
}  # fmt: skip
SHORT = (
    "truncated at 0.0", "truncated at 0.999", "a bit at 0.0", "a bit at 0.5", "a bit at 1.0", "zeros", "more",
    "plain arrays", "another block", "the first block", "a folder",
)  # fmt: skip


@pytest.mark.parametrize("name", some(DAMAGE, *SHORT))
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
    "nothing": b"", "text": b"not JSON", "a list": b"[]", "something else": b'{"about": 3}', "bytes": b"\xff\xfe\x00",
    "without its digest": b'{"format": "jaxonline study 1"}', "a digest alone": b'{"sha256": ""}',
    "a number": b'{"sha256": 3}',
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


def test_damaged_state_warns(tmp_path):
    with opened(tmp_path) as store:
        for block in (1, 2):
            store.save_state(A, block, {"leaf 0": np.full(3, float(block))})
        first, second = stores.in_progress(tmp_path)
        first.write_bytes(second.read_bytes())
        flip(0.5)(second)
        for block in (1, 2):
            with pytest.warns(DamagedStoreWarning, match=rf"states/learner 0/{block}\.npz: is damaged"):
                assert store.load_state(A, block) is None
        with warnings.catch_warnings(action="error"):
            assert store.load_state(A, 1) is None
        assert stores.in_progress(tmp_path) == []


def test_a_block_is_not_a_state(folder):
    with opened(folder) as store:
        (folder / "states" / "learner 0").mkdir(parents=True)
        shutil.copy(path_of(folder), folder / "states" / "learner 0" / "1.npz")
        with pytest.warns(DamagedStoreWarning):
            assert store.load_state(A, 1) is None


def test_missing_comparator_blocks_are_counted(tmp_path):
    """Their runs have no regret."""
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


# ---------------------------------------------------------------------------------------------------------------------
# Another study


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": "(0, 4)"}, r"another study: key \(was \(0, 3\), is \(0, 4\)\)$"),
        ({"the code of update": "b" * 16}, r"another study: the code of update$"),
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


def test_stale_blocks_are_set_aside_without_the_description(folder):
    """Each block knows its study."""
    (folder / "study.json").unlink()
    with opened(folder, key="(0, 4)") as store, pytest.warns(DamagedStoreWarning, match="belongs to another"):
        assert store.read_block(A, 0) is None
    assert len(stores.finished(folder)) == 2


def test_block_of_another_store_is_rejected(folder, tmp_path):
    with opened(tmp_path / "other", key="(0, 4)") as store:
        path_of(tmp_path / "other").parent.mkdir(parents=True)
        shutil.copy(path_of(folder), path_of(tmp_path / "other"))
        with pytest.warns(DamagedStoreWarning, match="belongs to another block or study"):
            assert store.read_block(A, 1) is None


def test_store_of_another_format_is_rejected(folder):
    (folder / "study.json").write_bytes(seal_document({"format": "jaxonline study 2", "about": ABOUT}))
    for use in (load_result, lambda folder: opened(folder).__enter__()):
        with pytest.raises(ValueError, match=r"study\.json: was not written by this version"):
            use(folder)


def test_saved_result_is_no_checkpoint(tmp_path):
    path = made_up().save(tmp_path / "result.npz")
    before = stores.tree(tmp_path)
    with pytest.raises(OSError, match=r"result\.npz"):
        opened(path).__enter__()
    assert stores.tree(tmp_path) == before
