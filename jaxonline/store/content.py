"""Hashes of objects by content: numbers, structure, the source of the user's functions, and what these functions read.

The hashes are the same in every process. An object of a library enters by its name and the version of the library.
"""

import ast
import copyreg
import dataclasses
import enum
import functools
import hashlib
import io
import random
import sys
import types
from collections.abc import Callable, Iterator, Set
from typing import Any

import jax
import numpy as np

from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.store.code_reads import Reads, is_user_code, replaced_functions
from jaxonline.store.source_code import (
    attributes_of,
    cell_content,
    defining_module,
    is_written_by_author,
    library_version,
    names_read_by,
    syntax_of,
    top_level_package,
)

IGNORED_DECORATORS = ("beartype", "jaxtyping")  # libraries whose decorators do not change numbers
CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
ATOMS = (type(None), bool, int, float, complex, str, type(...), type(NotImplemented))
# they change with each use, or refer to something outside of Python
UNINSPECTABLE = (
    np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random, io.IOBase, types.GeneratorType,
)  # fmt: skip
DESCRIPTORS = (
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)  # fmt: skip


class ContentHasher:
    """Hashes items recursively by content; `details` has the hashes of the sources and globals on the way, by name."""

    def __init__(self, vouched: bool, strict: bool = True):
        self.details: dict[str, str] = {}
        self.clear_caches: list[Callable[[], Any]] = []
        self.imports: set[tuple[str, tuple[str, ...], bool]] = set()
        self._vouched, self._strict = vouched, strict
        self._constructors: set[types.FunctionType] = set()
        self._hashes: dict[int, tuple[Any, bytes]] = {}  # keeps the items, so that their ids stay unique
        self._inside: set[Any] = set()
        self._trail: list[str] = []

    def hash_of(self, item: Any, name: str) -> str:
        """Return the hash of an object as 16 hexadecimal digits; `name` is its name in messages."""
        return self._hash_named(name, item).hex()[:16]

    def _hash_named(self, name: str, item: Any) -> bytes:
        self._trail.append(name)
        digest = self._hash(item)
        self._trail.pop()
        return digest

    def _hash(self, item: Any) -> bytes:
        if isinstance(item, bytes):
            return hashlib.sha256(b"bytes " + item).digest()
        if type(item) in ATOMS:
            return hashlib.sha256(f"{type(item).__name__} {item!r}".encode()).digest()
        if id(item) not in self._hashes:
            if id(item) in self._inside:
                return b"inside itself"
            self._inside.add(id(item))
            self._hashes[id(item)] = item, self._hash_of_parts(self._parts(item))
            self._inside.remove(id(item))
        return self._hashes[id(item)][1]

    def _hash_of_parts(self, parts: Iterator[Any]) -> bytes:
        digest = hashlib.sha256()
        for part in parts:
            digest.update(self._hash(part))
        return digest.digest()

    def _record(self, name: str, digest: bytes) -> None:
        known = self.details.get(name, "").split()
        self.details[name] = " ".join(sorted({*known, digest.hex()[:16]}))

    def _parts(self, item: Any) -> Iterator[Any]:
        yield type(item).__qualname__
        if isinstance(item, UNINSPECTABLE):
            self._reject(item)
        elif (known := self._known_name(item)) is not None:
            yield known
            if isinstance(item, type) and not self._vouched:
                for base in item.__mro__:
                    yield from self._replaced(base.__module__, base)
        elif isinstance(item, jax.Array | np.ndarray | np.generic):
            yield from _array(item)
        elif type(item) in (dict, types.MappingProxyType):
            yield [part for pair in item.items() for part in pair]
        elif type(item) in (set, frozenset):
            yield from sorted(map(self._hash, item))
        elif type(item) in (tuple, list):
            yield len(item)
            yield from item
        elif isinstance(item, enum.Enum):
            yield from (type(item), item.name, item.value)
        elif isinstance(item, types.FunctionType):
            yield from self._function(item)
        elif isinstance(item, type):
            yield from self._class(item)
        elif isinstance(item, types.ModuleType):
            yield from self.module_parts(item, (), whole=True)
        elif isinstance(item, types.MethodType):
            yield from (item.__func__, item.__self__)
        elif isinstance(item, types.BuiltinFunctionType):
            yield from self._builtin(item)
        elif isinstance(item, property):
            yield from (item.fget, item.fset, item.fdel)
        elif isinstance(item, classmethod | staticmethod):
            yield item.__func__
        elif isinstance(item, functools.cached_property):
            yield item.func
        elif isinstance(item, DESCRIPTORS):
            yield item.__name__
        elif not isinstance(item, types.GenericAlias | types.UnionType) and type(item).__module__ != "typing":
            yield from self._instance(item)  # other than annotations

    def _reject(self, item: Any) -> None:
        if self._strict and not self._vouched:
            unseen = f"{type(item).__module__}.{type(item).__qualname__}"
            if isinstance(item, types.FunctionType):
                unseen = (
                    f"the source of {item.__qualname__}, which has no file, or a file that changed since its import"
                )
            raise self._error(unseen)

    def _error(self, unseen: str, remedy: str = "") -> ArgumentTypeError:
        return ArgumentTypeError(
            "checkpoint",
            f"must identify all inputs, but cannot inspect {unseen} ({', '.join(self._trail)}); {remedy}pass "
            "checkpoint=jo.Checkpoint(folder, version='1'), and change the version whenever the code changes",
        )

    def _check_reads(self, function: types.FunctionType, reads: Reads) -> None:
        """Raise an error if a function reads a file, the environment, or names that it computes."""
        if self._strict and not self._vouched and (reader := reads.find_reader()) is not None:
            unseen = f"what {function.__qualname__} reads with {reader}"
            raise self._error(unseen, "read it into a global or an attribute before the study, whose value counts, or ")

    def _instance(self, item: Any) -> Iterator[Any]:
        """Yield the class of an instance, its attributes, and the further state that `pickle` would write."""
        kind = type(item)
        yield kind
        attributes = attributes_of(item)
        if isinstance(item, functools._lru_cache_wrapper):
            self.clear_caches.append(item.cache_clear)
        for name in set(vars(item)) - set(attributes) if hasattr(item, "__dict__") else ():
            cached = getattr(kind, name, None)
            if isinstance(cached, functools.cached_property) and is_user_code(cached.func):
                self.clear_caches.append(functools.partial(vars(item).pop, name, None))
        if top_level_package(kind.__module__) in ("jaxlib", "functools") and "__wrapped__" in attributes:
            yield item.__wrapped__  # a compiled or cached function; its other attributes depend on its file
            return
        for name in sorted(attributes):
            yield name
            yield self._hash_named(f".{name}", attributes[name])
        if callable(item) and "__wrapped__" in attributes:
            return
        reduce = copyreg.dispatch_table.get(kind)
        try:
            reduced: Any = reduce(item) if reduce else item.__reduce_ex__(4)
        except Exception:  # a class may raise any error
            return self._reject(item)
        if isinstance(reduced, str):
            return self._reject(item)
        maker, arguments, state, *contents = (*reduced, None, None)[:5]
        yield from arguments or ()
        if maker not in (copyreg.__newobj__, copyreg.__newobj_ex__):  # type: ignore[attr-defined]
            yield from (maker, state)
        for content in contents:
            yield None if content is None else list(content)
        return None

    def _library(self, module: str) -> str | None:
        installed = library_version(module)
        return installed and top_level_package(installed.replace(" ", ".")) if self._vouched else installed

    def _known_name(self, item: Any) -> str | None:
        """Return the name of an object that belongs to a library; None for other objects."""
        module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", getattr(item, "__name__", None))
        if not isinstance(module, str) or not isinstance(name, str) or isinstance(item, types.ModuleType):
            return None
        if isinstance(item, types.FunctionType) and is_user_code(item):
            return None
        installed, target = self._library(module), sys.modules.get(module)
        for part in name.split("."):
            target = getattr(target, part, None)
        return f"{installed} {name}" if installed is not None and target is item else None

    def _builtin(self, item: Any) -> Iterator[Any]:
        yield item.__qualname__
        if item.__self__ is not None and not isinstance(item.__self__, types.ModuleType):
            yield item.__self__
        elif (installed := self._library(item.__module__ or "")) is not None:
            yield installed
        else:
            self._reject(item)

    def _function(self, function: types.FunctionType) -> Iterator[Any]:
        home = defining_module(function)
        if top_level_package(home) in IGNORED_DECORATORS and hasattr(function, "__wrapped__"):
            yield function.__wrapped__
            return
        yield from (function.__code__.co_qualname, function.__defaults__, function.__kwdefaults__)
        yield from map(cell_content, function.__closure__ or ())
        for name, value in sorted(vars(function).items()):
            if not name.startswith("__"):
                yield from (name, value)
        installed = self._library(home)
        if installed is not None:
            yield installed
        elif not self._vouched:
            nodes = syntax_of(function)
            if nodes:
                source = "\n".join(map(ast.unparse, nodes))
                self._record(f"the source of {function.__qualname__}", hashlib.sha256(source.encode()).digest())
                yield source
            else:
                self._reject(function)
                yield function.__code__.co_code
            yield from self._globals(function, Reads(function, nodes))

    def _globals(self, function: types.FunctionType, reads: Reads) -> Iterator[Any]:
        """Yield the globals and the attributes of libraries that a function reads, and the modules that it imports."""
        if function not in self._constructors:
            self._check_reads(function, reads)
        names = names_read_by(function.__code__)
        for name in filter(function.__globals__.__contains__, names):
            value = function.__globals__[name]
            yield name
            if isinstance(value, types.ModuleType):
                yield from self.module_parts(value, names, name in reads.values, reads.values)
                continue
            if isinstance(value, type):
                self._check_constructors(value)
            label = f"the global {name} of {function.__qualname__}"
            digest = self._hash_named(label, value)
            yield digest
            if not isinstance(value, types.FunctionType | type):
                self._record(label, digest)
        for module, taken in reads.imports:
            whole = module.__name__.rpartition(".")[2] in reads.values
            taken_names = tuple(sorted({*names, *taken}))
            if library_version(module.__name__) is None:
                self.imports.add((module.__name__, taken_names, whole))
            yield from self.module_parts(module, taken_names, whole, reads.values)
        for name, value in reads.library_attributes():
            yield name
            if type(value) in (bool, int, float, complex):
                yield value
            elif callable(value) and (is_user_code(value) or _has_state(value)):
                yield self._hash_and_record(name, value)
            else:
                yield getattr(value, "__qualname__", type(value).__qualname__)

    def _check_constructors(self, kind: type) -> None:
        """Check the reads of the constructors of a class that a function may call."""
        for base in kind.__mro__:
            for name, value in sorted(vars(base).items()) if is_user_code(base) else ():
                function = getattr(value, "__func__", value)
                if _is_constructor(name, value) and isinstance(function, types.FunctionType):
                    self._check_reads(function, Reads(function, syntax_of(function)))

    def _hash_and_record(self, label: str, value: Any) -> bytes:
        digest = self._hash_named(label, value)
        self._record(label, digest)
        return digest

    def _replaced(self, module: str, kind: type | None = None) -> Iterator[Any]:
        """Yield the user's functions that replace functions of a library's module, or methods of its class."""
        for name, function in replaced_functions(module, kind).items():
            yield self._hash_and_record(f"{name} of the module {module}", function)

    def module_parts(
        self, module: types.ModuleType, names: tuple[str, ...], whole: bool, values: Set[str] = frozenset()
    ) -> Iterator[Any]:
        """Yield the attributes of a user's module that code reads, or all attributes if `whole` is True.

        Args:
            module: a module; of a library, only the name and the version are yielded.
            names: names that the code reads.
            whole: whether the code uses the module as a value.
            values: names that the code uses as values.
        """
        installed, place = self._library(module.__name__), (id(module), names, whole)
        if installed is not None or self._vouched:
            yield installed or module.__name__
            if whole and not self._vouched:
                yield from self._replaced(module.__name__)
        elif place not in self._inside:
            self._inside.add(place)
            own = [name for name in sorted(vars(module)) if not name.startswith("__")]
            for name in own if whole else filter(vars(module).__contains__, names):
                value = vars(module)[name]
                yield name
                if isinstance(value, types.ModuleType):
                    yield from self.module_parts(value, names, whole or name in values, values)
                else:
                    yield self._hash_and_record(f"{name} of the module {module.__name__}", value)
            self._inside.remove(place)

    def _class(self, kind: type) -> Iterator[Any]:
        yield kind.__qualname__
        installed = self._library(kind.__module__)
        if installed is not None or self._vouched:
            yield installed
            return
        yield from kind.__mro__[1:]
        if dataclasses.is_dataclass(kind):
            for field in dataclasses.fields(kind):
                yield from (field.name, field.default, field.default_factory, dict(field.metadata))
        if issubclass(kind, enum.Enum):
            yield [(name, member.value) for name, member in kind.__members__.items()]
        for name, value in sorted(vars(kind).items()):
            if is_written_by_author(kind, name, value):
                if _is_constructor(name, value):
                    self._constructors.add(getattr(value, "__func__", value))
                yield name
                yield self._hash_named(f"{kind.__qualname__}.{name}", value)


def _has_state(value: Any) -> bool:
    """Return whether a value is a compiled method of an object, such as `np.random.normal`."""
    return isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, types.ModuleType | None)


def _is_constructor(name: str, value: Any) -> bool:
    """Return whether an entry of a class makes instances; an instance that exists is compared by its attributes."""
    return name in CONSTRUCTORS or isinstance(value, classmethod)


def _array(item: Any) -> Iterator[Any]:
    if isinstance(item, jax.Array) and jax.dtypes.issubdtype(item.dtype, jax.dtypes.prng_key):
        yield str(jax.random.key_impl(item))
        item = jax.random.key_data(item)
    if isinstance(item, np.ma.MaskedArray):
        yield np.ma.getmaskarray(item)
        item = item.data
    array = np.asarray(item)
    yield f"{array.dtype}{array.shape}"
    yield array.tolist() if array.dtype.hasobject else array.tobytes()
