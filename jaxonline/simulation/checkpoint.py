"""Finished blocks on disk, so that an interrupted study goes on where it was."""

import dataclasses
import functools
import hashlib
import inspect
import json
import os
import re
import types
from collections.abc import Callable, Mapping
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

    def read(self, name: str, block: int) -> dict[str, np.ndarray] | None:
        """The arrays of a finished block by name, or None."""
        path = self._path(name, block)
        if not path.exists():
            return None
        with np.load(path) as arrays:
            return dict(arrays)

    def write(self, name: str, block: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep a finished block."""
        path = self._path(name, block)
        unfinished = path.with_suffix(".unfinished.npz")
        np.savez(unfinished, **arrays)  # type: ignore[arg-type]
        os.replace(unfinished, path)


def fingerprint(study: Any) -> str:
    """A hash of everything that determines the numbers, the same in another process.

    Functions count with their code and with what they have closed over: the learning rate inside an optax
    transformation is such a number.
    """
    digest = hashlib.sha256()
    _digest(study, digest.update, [])
    return digest.hexdigest()[:16]


def _digest(item: Any, update: Callable[[bytes], None], inside: list[Any]) -> None:
    if any(item is outer for outer in inside):  # a function that closes over itself
        return update(b"recursion")
    inside = [*inside, item]
    if isinstance(item, jax.Array) and jax.dtypes.issubdtype(item.dtype, jax.dtypes.prng_key):
        item = jax.random.key_data(item)
    if isinstance(item, jax.Array | np.ndarray | np.generic | bool | int | float):
        array = np.asarray(item)
        return update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    parts: list[Any] = []
    function = inspect.unwrap(item) if callable(item) else item
    if isinstance(item, functools.partial):
        parts = [item.func, item.args, item.keywords]
    elif isinstance(function, types.FunctionType):
        cells = [_content(cell) for cell in function.__closure__ or ()]
        parts = [function.__qualname__, function.__code__, function.__defaults__, function.__kwdefaults__, cells]
    elif isinstance(item, types.MethodType):
        parts = [item.__func__, item.__self__]
    elif isinstance(item, types.CodeType):
        parts = [item.co_code.hex(), list(item.co_names), list(item.co_consts)]
    elif isinstance(item, Mapping):
        parts = [part for pair in item.items() for part in pair]
    elif isinstance(item, tuple | list):
        parts = list(item)
    elif dataclasses.is_dataclass(item) and not isinstance(item, type):
        parts = [getattr(item, field.name) for field in dataclasses.fields(item)]
    else:
        return update(re.sub(r"0x[0-9a-f]+", "", repr(item)).encode())
    update(f"{type(item).__qualname__}{len(parts)}".encode())
    for part in parts:
        _digest(part, update, inside)
    return None


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
