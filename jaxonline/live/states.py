"""Files with the state of a live learner: a sealed .npz of arrays (no pickle) with a header in JSON.

The header names the learner by a hash of its numbers, fields, classes and functions, without their code: a state
survives new versions of the package.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Interval

from jaxonline.parameters.types import NonNegativeInt
from jaxonline.store.archives import open_arrays, read_json, seal_arrays
from jaxonline.store.files import DamagedStoreError, read_file, write_atomically

FORMAT = "state of jaxonline.Live, 2 "  # a part of the digest
HEADER = {
    "of": str, "belongs to": dict[str, str], "instance": tuple[NonNegativeInt, ...],
    "round": Annotated[int, Interval(ge=0, lt=2**31)], "opened": Annotated[int, Interval(ge=0, lt=2**31)],
    "generator": str,
}  # fmt: skip


def write_sealed(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file atomically: after an error, an earlier file of this name is unchanged.

    Args:
        path: the path of the file.
        header: numbers, texts, lists and dictionaries, which become JSON.
        arrays: arrays by name, without objects.

    Raises:
        OSError: the file cannot be written.
    """
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    write_atomically(Path(path), seal_arrays({"header": text, **arrays}, FORMAT))


def read_sealed(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and the arrays of a file.

    Raises:
        OSError: the file cannot be read.
        DamagedStoreError: a byte of the file is damaged, or `write_sealed` did not write it.
    """
    content = read_file(Path(path))
    try:
        arrays = open_arrays(content, FORMAT)
        return read_json(arrays.pop("header").tobytes(), HEADER), arrays
    except (DamagedStoreError, KeyError):
        raise DamagedStoreError(f"{path}: must be a file that Live.save wrote (got a damaged or another one)") from None


@contextlib.contextmanager
def damage_named(path: str) -> Iterator[None]:
    """Context manager: an error of the content of a file becomes a DamagedStoreError that names the file."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedStoreError(f"{path}: is damaged, or of another learner; {error}") from None


def state_array(leaf: Any) -> Any:
    """Return a leaf of a state, or the key data of a leaf that is a key of JAX."""
    return jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def restore_leaf(leaf: jax.Array, numbers: np.ndarray) -> jax.Array:
    """Convert numbers from a file, of the right shape, to an array or key with the type and device of `leaf`."""
    plain = state_array(leaf)
    # NumPy writes a dtype that it does not know, such as bfloat16, as bytes
    array = jax.device_put(numbers.view(plain.dtype), plain.sharding)
    return array if plain is leaf else jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf))


def identity_hash(item: Any) -> str:
    """Return a hash of the numbers, fields, classes and names of functions in an object, the same in every process."""
    return hashlib.sha256(json.dumps(_content(item)).encode()).hexdigest()


def _content(item: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return the content of an object as nested lists of texts."""
    item = getattr(item, "__wrapped__", item)  # a compiled or cached function
    if id(item) in inside:
        return "inside itself"
    content = functools.partial(_content, inside=(*inside, id(item)))
    if isinstance(item, str | bool | None):
        return repr(item)
    if isinstance(item, int | float | complex | np.ndarray | np.generic | jax.Array):
        array = np.asarray(state_array(item) if isinstance(item, jax.Array) else item)
        return [array.dtype.name, array.shape, array.tobytes().hex()]
    if isinstance(item, type | types.BuiltinFunctionType):
        return item.__qualname__
    if isinstance(item, types.FunctionType):  # an optimizer of optax has its numbers in closures, some of them empty
        cells = [cell.cell_contents for cell in item.__closure__ or () if cell != types.CellType()]
        return [item.__qualname__, content((cells, item.__defaults__, item.__kwdefaults__))]
    if isinstance(item, Mapping):
        return [list(map(content, pair)) for pair in item.items()]
    if isinstance(item, tuple | list):
        return [type(item).__qualname__, *map(content, item)]
    if dataclasses.is_dataclass(item):
        return [type(item).__qualname__, *(content(getattr(item, field.name)) for field in dataclasses.fields(item))]
    return content(item.__reduce_ex__(4)[:3])  # the class, arguments and state of other objects
