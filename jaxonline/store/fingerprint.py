"""Fingerprints of the inputs that determine the numbers of a study: a short text for each named input.

A text is made from the numbers and the structure of an input, and from the code and the globals of every function and
class in the input (`store.content`). An installed library enters by its name and version, and jaxonline by the content
of its files. An input that cannot be inspected (such as a random generator) causes an error, unless the user gives a
version of the study.
"""

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxonline.store.content import ContentHasher

NUMERIC_LIBRARIES = ("jax", "jaxlib", "numpy", "optax")
JAX_OPTIONS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable")
NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, jax.Array)


def describe_inputs(study: Mapping[str, Any], version: str | None = None) -> dict[str, str]:
    """Return fingerprints of all inputs that determine the numbers: parts of the study, code, globals, versions.

    If the user gives a `version` of the code, the fingerprints leave out code, globals and versions of libraries, and
    inputs that cannot be inspected. Without a `version`, inputs that cannot be inspected raise TypeError.
    """
    walk = ContentHasher(vouched=version is not None)
    about = {name: item if isinstance(item, str) else walk.hash_of(item, name) for name, item in study.items()}
    if version is not None:
        return {"the version of the study": repr(version), **about}
    python = {"the version of Python": platform.python_version()} if walk.details else {}  # it compiles the code
    options = {name: str(getattr(jax.config, name)) for name in JAX_OPTIONS}
    return {**walk.details, **about, **python, **library_versions(), **options}


def fingerprint(about: Mapping[str, str]) -> str:
    """Return the hash of a description of a study's inputs."""
    return hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()[:16]


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that compute, and a hash of the files of jaxonline."""
    versions = {f"the version of {name}": importlib.metadata.version(name) for name in NUMERIC_LIBRARIES}
    return {**versions, "the code of jaxonline": package_hash()}


def hash_user_code(items: Mapping[str, Any], strict: bool = True, clear_caches: bool = False) -> str:
    """Return a hash of the user's code in named items: code, globals, and all content of the items but numbers.

    The hash is "" if there is no code of the user. TypeError if `strict` and something cannot be inspected. If
    `clear_caches`, the caches of `functools.lru_cache` and `functools.cached_property` in the user's code are cleared.
    """
    walk = ContentHasher(vouched=False, strict=strict)
    for name, item in items.items():
        walk.hash_of(item, name)
    for clear in walk.clear_caches if clear_caches else ():
        clear()
    bare = {name: jax.tree.map(lambda leaf: None if isinstance(leaf, NUMBERS) else leaf, items[name]) for name in items}
    return fingerprint(walk.details | {"items": walk.hash_of(bare, "items")}) if walk.details else ""


@functools.cache
def package_hash() -> str:
    """Return a hash of the files of this package."""
    folder, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
