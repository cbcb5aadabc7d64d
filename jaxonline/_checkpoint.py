"""Finished blocks on disk, so that an interrupted study goes on where it was."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np


class Checkpoint:
    """A folder of finished blocks: one file each, written beside its place and moved there.

    Args:
        folder: made when absent.
        study: anything that determines the numbers (a pytree); its fingerprint guards the folder.

    Raises:
        ValueError: if the folder holds the blocks of another study.
    """

    def __init__(self, folder: Path, study: Any):
        self._folder = folder
        manifest = folder / "study.json"
        mine = fingerprint(study)
        folder.mkdir(parents=True, exist_ok=True)
        if manifest.exists():
            theirs = json.loads(manifest.read_text())["fingerprint"]
            if theirs != mine:
                raise ValueError(f"checkpoint {folder} holds another study (its fingerprint is {theirs}, not {mine})")
        else:
            _write(manifest, json.dumps({"fingerprint": mine}).encode())

    def _path(self, name: str, block: int) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:12]}-{block}.npz"

    def read(self, name: str, block: int) -> tuple | None:
        """The parts of a finished block, or None."""
        path = self._path(name, block)
        if not path.exists():
            return None
        with np.load(path) as parts:
            return tuple(parts.get(f"part{i}") for i in range(int(parts["n_parts"])))

    def write(self, name: str, block: int, parts: tuple) -> None:
        """Keep a finished block."""
        path = self._path(name, block)
        unfinished = path.with_suffix(".unfinished.npz")
        arrays = {f"part{i}": part for i, part in enumerate(parts) if part is not None}
        np.savez(unfinished, n_parts=len(parts), **arrays)
        os.replace(unfinished, path)


def fingerprint(study: Any) -> str:
    """A hash of a pytree's structure and numbers that is the same in another process."""
    leaves, structure = jax.tree.flatten(study)
    digest = hashlib.sha256(re.sub(r"0x[0-9a-f]+", "", repr(structure)).encode())
    for leaf in leaves:
        if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        array = np.asarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:16]


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
