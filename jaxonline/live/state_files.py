"""Files with the state of a live learner: arrays (npz, no pickle) and metadata in JSON."""

import contextlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from jaxonline.game.round import format_spec
from jaxonline.parameters import check
from jaxonline.parameters.errors import to_one_line
from jaxonline.parameters.types import PyTree
from jaxonline.simulation.resuming import leaf_like, plain_leaf
from jaxonline.store.files import DAMAGED_ARCHIVE_ERRORS, write_atomically
from jaxonline.store.fingerprint import describe_inputs

FORMAT = "state of jaxonline.Live, 1"
UNUSED = np.zeros((), np.int32)  # the first leaf, which was the state of the environment
MAX_ABOUT_BYTES, MAX_KEY_BYTES = 2**20, 2**8
MAX_ROUND = 2**31 - 2  # rounds are int32
MAX_UNSEEN_ENTRIES = 2**20  # a file may state instances of this size, or of its own size if that is larger


class Saved(NamedTuple):
    """The content of a file: hashes and text of learner and feedback, shapes, dtype, key, round, state, instance."""

    identity: dict[str, str]
    words: str
    instance: tuple[int, ...]
    outcome: tuple[int, ...]
    dtype: str
    key: Key[Array, ""]
    round: int
    leaves: list[np.ndarray]
    x: np.ndarray | None


class Header(NamedTuple):
    """What is read of a file before its arrays: like `Saved`, with shapes and dtypes of the arrays by name."""

    identity: dict[str, str]
    words: str
    instance: tuple[int, ...]
    outcome: tuple[int, ...]
    dtype: str
    key: Key[Array, ""]
    round: int
    arrays: dict[str, jax.ShapeDtypeStruct]


def identity(parts: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of learner, feedback and loss by name, without their code: a state survives new package versions."""
    return describe_inputs(parts, version=FORMAT)


def check_same(path: str, header: Header, own: dict[str, str], words: str) -> None:
    """Check that a state belongs to this learner, feedback and loss."""
    other = [name for name in own if header.identity.get(name) != own[name]]
    if other:
        stored = to_one_line(header.words)
        raise ValueError(f"path: {path} is a state of {stored}, with another {' and '.join(other)} than {words}")


def leaves_of(states: PyTree) -> list[np.ndarray]:
    """The leaves of states, on the host, as they are in a file."""
    return [UNUSED, *(np.asarray(plain_leaf(leaf)) for leaf in jax.tree.leaves(states))]


def check_instance_size(path: str, instance: tuple[int, ...], n_bytes: int) -> None:
    """Check that a learner for instances of the stated shape cannot need far more memory than the file."""
    if math.prod(instance) > max(MAX_UNSEEN_ENTRIES, n_bytes):
        raise ValueError(
            f"{path}: states instances of shape {instance}, too large for a file of {n_bytes:,} bytes; if they have "
            "this shape, give instance= to Live"
        )


def pack(saved: Saved) -> bytes:
    """The content of a file as bytes."""
    about = {
        "format": FORMAT, "identity": saved.identity, "words": saved.words, "instance": saved.instance,
        "outcome": saved.outcome, "dtype": saved.dtype, "generator": str(jax.random.key_impl(saved.key)),
        "round": saved.round,
    }  # fmt: skip
    arrays = {f"leaf {i}": leaf for i, leaf in enumerate(saved.leaves)} | {"key": np.asarray(plain_leaf(saved.key))}
    if saved.x is not None:
        arrays["open"] = saved.x
    content = io.BytesIO()
    np.savez(content, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def read_header(path: str, content: bytes) -> Header:
    """Read the metadata and the key of a file; a ValueError if it is damaged, of another kind, or has a bad round.

    No array is read that is larger than the limits of this module. `Live.save` does not compress the arrays, so a file
    with compressed ones is rejected, and reading needs no more memory than the file.
    """
    with _damage_as_value_error(path), zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("compressed")
        arrays = {name.removesuffix(".npy"): _array_header(archive, name) for name in archive.namelist()}
        for name, most in (("about", MAX_ABOUT_BYTES), ("key", MAX_KEY_BYTES)):
            if arrays[name].size * arrays[name].dtype.itemsize > most:
                raise ValueError(name)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            about, key_data = json.loads(file["about"].tobytes()), file["key"]
        identity, words, shapes = about["identity"], about["words"], (about["instance"], about["outcome"])
        lengths = [length for shape in shapes for length in shape]
        if (
            about["format"] != FORMAT
            or not (isinstance(identity, dict) and isinstance(words, str))
            or any(type(length) is not int or length < 0 for length in lengths)
        ):
            raise ValueError("about")
        key = jax.random.wrap_key_data(jnp.asarray(key_data), impl=about["generator"])
        if key.shape != ():
            raise ValueError("key")
        instance, outcome = map(tuple, shapes)
        header = Header(identity, words, instance, outcome, about["dtype"], key, about["round"], arrays)
    if type(header.round) is not int or not 0 <= header.round <= MAX_ROUND:
        raise ValueError(f"{path}: must have a round from 0 to {MAX_ROUND:,} (got {check.quote(header.round)})")
    return header


def read_state_arrays(
    path: str, content: bytes, header: Header, leaves: Sequence[jax.ShapeDtypeStruct]
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Read the leaves of a state, and the instance of an open round; a ValueError if shapes or dtypes differ.

    The shapes in the headers of the arrays are compared before an array is read.
    """
    leaves = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in (UNUSED, *leaves)]
    expected = {f"leaf {i}": leaf for i, leaf in enumerate(leaves)}
    if "open" in header.arrays:
        expected["open"] = jax.ShapeDtypeStruct(header.instance, np.dtype(header.dtype))
    stored = {name: array for name, array in header.arrays.items() if name not in ("about", "key")}
    if stored != expected:
        listed = [", ".join(map(format_spec, arrays.values())) for arrays in (expected, stored)]
        raise ValueError(
            f"{path}: must hold the state of this version of the learner, arrays {listed[0]} (got {listed[1]})"
        )
    with _damage_as_value_error(path), np.load(io.BytesIO(content), allow_pickle=False) as file:
        return [file[f"leaf {i}"] for i in range(1, len(leaves))], file["open"] if "open" in stored else None


def restore_leaves(states: PyTree, leaves: Sequence[np.ndarray]) -> PyTree:
    """Return states with the numbers of a file."""
    own, structure = jax.tree.flatten(states)
    return jax.tree.unflatten(structure, map(leaf_like, own, leaves))


def _array_header(archive: zipfile.ZipFile, name: str) -> jax.ShapeDtypeStruct:
    """Return the shape and dtype of an array of an archive, without reading the array."""
    with archive.open(name) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(name)
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
    return jax.ShapeDtypeStruct(shape, dtype)


@contextlib.contextmanager
def _damage_as_value_error(path: str) -> Iterator[None]:
    try:
        yield
    except (*DAMAGED_ARCHIVE_ERRORS, TypeError, AttributeError, OSError, NotImplementedError) as error:
        raise ValueError(f"{path}: must be a file that Live.save wrote (got another kind, or a damaged one)") from error


def write_state(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a file atomically."""
    write_atomically(Path(check.instance("path", path, (str, os.PathLike), "a path")), pack(saved))


def read_content(path: str | os.PathLike[str]) -> bytes:
    """Read the bytes of a file; an OSError if it cannot be read."""
    return Path(check.instance("path", path, (str, os.PathLike), "a path")).read_bytes()
