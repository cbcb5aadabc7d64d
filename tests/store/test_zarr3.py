"""Arrays as zarr keeps them: what zarr writes for the same array, what zarr reads, and what is damaged."""

import json
import warnings

import numpy as np
import pytest
import stores
import zarr

from jaxonline.store import zarr_format as zarr3
from jaxonline.store.filesystem import Folder
from jaxonline.store.zarr_format import (
    DOCUMENT,
    STRING,
    ArraySpec,
    decode_array,
    encode_array,
    encode_document,
    encode_name,
    group_document,
)

KINDS = ("float64", "float32", "float16", "int32", "int64", "uint8", "uint64", "bool", "complex64")
SHAPES = ((), (5,), (4, 3), (5, 7, 2), (0, 2))


def written(folder, arrays, chunks=None):
    """Arrays by name below a group, in a folder."""
    specs = {name: ArraySpec.whole(name, array) for name, array in arrays.items()}
    if chunks is not None:
        specs = {name: spec._replace(chunks=chunks) for name, spec in specs.items()}
    files = {
        f"{name}/{key}": of for name, array in arrays.items() for key, of in encode_array(specs[name], array).items()
    }
    files |= {f"{name}/{DOCUMENT}": encode_document(spec.document()) for name, spec in specs.items()}
    Folder(folder).write(files | {DOCUMENT: group_document({"title": "arrays", "number": 3}, specs)})
    return specs


@pytest.mark.parametrize("consolidated", [True, False])
def test_zarr_reads_the_arrays(tmp_path, consolidated):
    """Arrays of any kind and shape, through the first document and without it."""
    rng = np.random.default_rng(0)
    arrays = {f"{kind} {shape}": (9 * rng.random(shape)).astype(kind) for kind in KINDS for shape in SHAPES}
    specs = written(tmp_path, arrays)
    with warnings.catch_warnings(action="error"):
        found = zarr.open_group(tmp_path, mode="r", use_consolidated=consolidated)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name][...], array, strict=True)
    assert dict(found.attrs) == {"title": "arrays", "number": 3}
    for name, spec in specs.items():
        again = ArraySpec.of(json.loads((tmp_path / name / DOCUMENT).read_bytes()))
        assert again == spec._replace(attributes={})
        read = Folder(tmp_path / name).read
        np.testing.assert_array_equal(decode_array(again, read), arrays[name], strict=True)


def test_chunks_may_reach_beyond_the_array(tmp_path):
    array = np.arange(35.0).reshape(5, 7)
    specs = written(tmp_path, {"a": array}, (2, 3))
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "a", mode="r")[...], array)
    np.testing.assert_array_equal(decode_array(specs["a"], Folder(tmp_path / "a").read), array)
    (tmp_path / "a" / "c.1.1").unlink()
    there = zarr.open_array(tmp_path / "a", mode="r")[...]
    assert np.isnan(there[2:4, 3:6]).all()
    assert np.isnan(there).sum() == 6
    with pytest.raises(ValueError, match="checksum"):
        decode_array(specs["a"], Folder(tmp_path / "a").read)


def test_zarr_reads_texts(tmp_path):
    names = np.array(["", "α", "two copies, naive", "x" * 300], object)
    spec = ArraySpec(("name",), (4,), (4,), STRING)
    Folder(tmp_path).write(encode_array(spec, names) | {DOCUMENT: encode_document(spec.document())})
    with warnings.catch_warnings(action="error"):
        assert zarr.open_array(tmp_path, mode="r")[...].tolist() == names.tolist()


def test_the_document_is_that_of_zarr(tmp_path):
    """What zarr's own writer says of the same array, and the same bytes in the chunk."""
    spec, array = ArraySpec(("a", "b"), (5, 4), (2, 4), "float64", {"title": "mine"}), np.arange(20.0).reshape(5, 4)
    theirs = zarr.create_array(
        tmp_path, shape=(5, 4), chunks=(2, 4), dtype="float64", fill_value=np.nan,
        compressors=zarr.codecs.Crc32cCodec(),
        chunk_key_encoding={"name": "default", "separator": "."}, dimension_names=("a", "b"),
        attributes={"title": "mine"},
    )  # fmt: skip
    theirs[...] = array
    files = stores.tree(tmp_path)
    told = json.loads(files.pop(DOCUMENT))
    ours = spec.document()
    assert {key: told[key] for key in ours if key != "codecs"} == {key: ours[key] for key in ours if key != "codecs"}
    assert [codec["name"] for codec in told["codecs"]] == [codec["name"] for codec in ours["codecs"]]
    assert encode_array(spec, array) == files


def test_the_checksum_is_that_of_the_standard():
    """RFC 3720, B.4: of the digits, of 32 bytes of zeros and of ones; also where google_crc32c is not installed."""
    known = {b"123456789": 0xE3069283, bytes(32): 0x8A9136AA, b"\xff" * 32: 0x62A8AB43, bytes(range(32)): 0x46DD794E}
    for content, value in known.items():
        assert zarr3._checksum(content) == zarr3._slow_checksum(content) == value.to_bytes(4, "little")


def test_names_stay_inside_the_folder():
    names = ("loss", "a/b", "..", ".", "../..", "a%2Fb", "α, mean")
    assert [encode_name(name) for name in names] == ["loss", "a%2Fb", "%2E%2E", "%2E", "..%2F..", "a%252Fb", "α, mean"]


def test_arrays_without_numbers_raise_an_error():
    for array in (np.array(["a"]), np.array([None]), np.array(["2020"], "datetime64[D]")):
        with pytest.raises(TypeError, match="loss: must be an array of numbers"):
            ArraySpec.whole("loss", array)
