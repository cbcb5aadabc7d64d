"""Fingerprints of the inputs that determine the numbers of a study: a short text for each named input.

The texts are the same in every process. A text is made from the numbers and the structure of an input, and from the
source and the globals of every function and class in the input. An installed library enters by its name and version,
and jaxonline by the content of its files. An input that cannot be inspected (such as a function without source) causes
an error, unless the user gives a version of the study.
"""

import functools
import hashlib
import importlib
import importlib.metadata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline.store.content import ContentHasher
from jaxonline.store.layout import fingerprint
from jaxonline.store.source_code import top_level_package

PACKAGE = top_level_package(__name__)
NUMERIC_LIBRARIES = ("jax", "jaxlib", "numpy", "optax")
JAX_OPTIONS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable")
NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, jax.Array)


def describe_inputs(study: Mapping[str, Any], version: str | None = None) -> dict[str, str]:
    """Return fingerprints of all inputs that determine the numbers: parts of the study, sources, globals, versions.

    If the user gives a `version` of the code, the fingerprints leave out sources, globals and versions of libraries,
    and inputs that cannot be inspected. Without a `version`, inputs that cannot be inspected raise TypeError.
    """
    walk = ContentHasher(vouched=version is not None)
    about = {name: _short_text(item) or walk.hash_of(item, name) for name, item in study.items()}
    if version is not None:
        return {"the version of the study": repr(version), **about}
    versions = {f"the version of {name}": importlib.metadata.version(name) for name in NUMERIC_LIBRARIES}
    options = {name: str(getattr(jax.config, name)) for name in JAX_OPTIONS}
    return {**walk.details, **about, **versions, f"the code of {PACKAGE}": package_hash(), **options}


class UserCode(NamedTuple):
    """The user's code in some items.

    Attributes:
        hash: hash of sources, globals, and all content of the items but numbers; "" if there is no code of the user.
        clear_caches: functions that clear the user's caches (`functools.lru_cache`, `functools.cached_property`).
        imports: modules of the user that functions import when they are called.
    """

    hash: str
    clear_caches: list[Callable[[], Any]]
    imports: list["ImportedModule"]


class ImportedModule(NamedTuple):
    """A module of the user, and the names of its attributes that functions read; all attributes if `whole` is True."""

    module: str
    names: tuple[str, ...]
    whole: bool

    def hash(self) -> str:
        """Return a hash of the attributes in this process.

        Raises:
            ImportError: this process cannot import the module.
        """
        module = importlib.import_module(self.module)
        walk = ContentHasher(vouched=False, strict=False)
        return fingerprint({"": repr([walk.hash_of(part, "") for part in walk.module_parts(module, *self[1:])])})


def find_user_code(items: Mapping[str, Any], strict: bool = True) -> UserCode:
    """Find the user's code in named items; TypeError if `strict` and something cannot be inspected."""
    walk = ContentHasher(vouched=False, strict=strict)
    for name, item in items.items():
        walk.hash_of(item, name)
    if not walk.details:
        return UserCode("", walk.clear_caches, [])
    bare = {name: jax.tree.map(lambda leaf: None if isinstance(leaf, NUMBERS) else leaf, items[name]) for name in items}
    hash_ = fingerprint(walk.details | {"items": walk.hash_of(bare, "items")})
    return UserCode(hash_, walk.clear_caches, [ImportedModule(*item) for item in sorted(walk.imports)])


def _short_text(item: Any) -> str | None:
    return repr(item) if isinstance(item, str | int | float) and len(repr(item)) < 60 else None


@functools.cache
def package_hash() -> str:
    """Return a hash of the files of this package."""
    folder, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
