"""Files with the state of a live learner: arrays (npz, no pickle) and metadata in JSON."""

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PyTree

from jaxonline.parameters import check
from jaxonline.store.atomic_files import DAMAGED_ARCHIVE_ERRORS, write_atomically
from jaxonline.store.fingerprint import describe_inputs
from jaxonline.store.key_arrays import leaf_like, plain_leaf

FORMAT = "state of jaxonline.Live, 1"


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


def identity(parts: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of learner, feedback and loss by name, without their code: a state survives new package versions."""
    return describe_inputs(parts, version=FORMAT)


def check_same(path: str, saved: Saved, own: dict[str, str], words: str) -> None:
    """Check that a state belongs to this learner, feedback and loss."""
    other = [name for name in own if saved.identity.get(name) != own[name]]
    if other:
        raise ValueError(f"path: {path} is a state of {saved.words}, with another {' and '.join(other)} than {words}")


def leaves_of(states: PyTree) -> list[np.ndarray]:
    """The leaves of states, on the host."""
    return [np.asarray(plain_leaf(leaf)) for leaf in jax.tree.leaves(states)]


def restore_leaves(path: str, states: PyTree, leaves: list[np.ndarray]) -> PyTree:
    """States with the numbers of a file; a ValueError if shapes or dtypes differ."""
    own, structure = jax.tree.flatten(states)
    kinds = [[(leaf.shape, leaf.dtype) for leaf in arrays] for arrays in (map(plain_leaf, own), leaves)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"{path}: must hold the state of this version of the learner, arrays {kinds[0]} (got {kinds[1]})"
        )
    return jax.tree.unflatten(structure, map(leaf_like, own, leaves))


def pack(saved: Saved) -> bytes:
    """The content of a file as bytes."""
    about = {
        "format": FORMAT, "identity": saved.identity, "words": saved.words, "instance": saved.instance,
        "outcome": saved.outcome, "dtype": saved.dtype, "generator": str(jax.random.key_impl(saved.key)),
        "round": saved.round, "leaves": len(saved.leaves),
    }  # fmt: skip
    arrays = {f"leaf {i}": leaf for i, leaf in enumerate(saved.leaves)} | {"key": np.asarray(plain_leaf(saved.key))}
    if saved.x is not None:
        arrays["open"] = saved.x
    content = io.BytesIO()
    np.savez(content, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def unpack(path: str, content: bytes) -> Saved:
    """Read the content of a file; a ValueError if it is damaged or of another kind."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(arrays["about"].tobytes())
        if about["format"] != FORMAT:
            raise ValueError(about["format"])
        key = jax.random.wrap_key_data(jnp.asarray(arrays["key"]), impl=about["generator"])
        return Saved(
            about["identity"], about["words"], tuple(about["instance"]), tuple(about["outcome"]), about["dtype"], key,
            about["round"], [arrays[f"leaf {i}"] for i in range(about["leaves"])], arrays.get("open"),
        )  # fmt: skip
    except (*DAMAGED_ARCHIVE_ERRORS, TypeError, AttributeError, OSError) as error:
        raise ValueError(f"{path}: must be a file that Live.save wrote (got another kind, or a damaged one)") from error


def write_state(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a file atomically."""
    write_atomically(Path(check.instance("path", path, (str, os.PathLike), "a path")), pack(saved))


def read_state(path: str | os.PathLike[str]) -> Saved:
    """Read a file; an OSError or ValueError if it cannot be read."""
    content = Path(check.instance("path", path, (str, os.PathLike), "a path")).read_bytes()
    return unpack(str(path), content)
