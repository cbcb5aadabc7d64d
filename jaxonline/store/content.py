"""Hashes of objects by content: numbers, structure, the code of the user's functions, and the globals that they read.

The hashes are the same in every process with the same version of Python. An object of a library enters by its name and
the version of the library. The code of a function enters as the interpreter compiled it, so comments, docstrings and
line breaks do not count, and functions without a file (a notebook) have a hash too.
"""

import builtins
import contextlib
import copyreg
import dis
import enum
import functools
import hashlib
import importlib.metadata
import random
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxonline.parameters.errors import ArgumentTypeError

ATOMS = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
# objects that change with each use
GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
# functions and modules that read files, the environment, or a value by a computed name
READERS = (eval, exec, globals, __import__)
READING_MODULES = ("_io", "importlib", "io", "nt", "os", "pathlib", "posix", "runpy", "subprocess", "sys")
HASHED_ATTRIBUTES = (*ATOMS, types.MethodType, types.BuiltinFunctionType)  # attributes of libraries with a value
CONSTRUCTORS = ("__init__", "__new__", "__post_init__")  # may read: an instance is compared by its attributes
PARTS = {  # the attributes that make up an object of one of these types
    enum.Enum: ("__class__", "name", "value"),
    types.MethodType: ("__func__", "__self__"),
    property: ("fget", "fset", "fdel"),
    (classmethod, staticmethod): ("__func__",),
    functools.cached_property: ("func",),
}
HAS_DOCSTRING = 0x4000000  # the flag of a code object, from Python 3.14 on


class ContentHasher:
    """Hashes items recursively by content; `details` has the hashes of code and globals on the way, by name.

    Args:
        vouched: whether the user gave a version of the study; then the hash leaves out code, globals and libraries.
        strict: whether an item that cannot be inspected raises an ArgumentTypeError (if not `vouched`).
    """

    def __init__(self, vouched: bool, strict: bool = True):
        self.details: dict[str, str] = {}
        self.clear_caches: list[Callable[[], Any]] = []
        self._vouched, self._strict = vouched, strict and not vouched
        # by id and strictness; the items are kept, so that their ids stay unique
        self._hashes: dict[tuple[int, bool], tuple[Any, bytes]] = {}
        self._inside: set[Any] = set()
        self._trail: list[str] = []

    def hash_of(self, item: Any, name: str) -> str:
        """Return the hash of an object as 16 hexadecimal digits; `name` is its name in messages."""
        return self._named(name, item).hex()[:16]

    def _named(self, name: str, item: Any, record: bool = False) -> bytes:
        self._trail.append(name)
        digest = self._hash(item)
        self._trail.pop()
        if record:
            known = self.details.get(name, "").split()
            self.details[name] = " ".join(sorted({*known, digest.hex()[:16]}))
        return digest

    def _hash(self, item: Any) -> bytes:
        if type(item) in ATOMS:
            return hashlib.sha256(f"{type(item).__name__} {item!r}".encode()).digest()
        key = id(item), self._strict
        if key not in self._hashes:
            if id(item) in self._inside:
                return b"inside itself"
            self._inside.add(id(item))
            digest = hashlib.sha256()
            for part in self._parts(item):
                digest.update(self._hash(part))
            self._hashes[key] = item, digest.digest()
            self._inside.remove(id(item))
        return self._hashes[key][1]

    def _parts(self, item: Any) -> Iterator[Any]:
        yield type(item).__qualname__
        if isinstance(item, GENERATORS):
            self._reject(str(type(item)))
        elif (known := self._known_name(item)) is not None:
            yield known
            if isinstance(item, type) and not self._vouched:
                yield _replaced_methods(item)
        elif isinstance(item, jax.Array | np.ndarray | np.generic):
            yield from _array(item)
        elif type(item) in (dict, types.MappingProxyType):
            yield [part for pair in item.items() for part in pair]
        elif type(item) in (set, frozenset):
            yield from sorted(map(self._hash, item))
        elif type(item) in (tuple, list):
            yield from (len(item), *item)
        elif isinstance(item, tuple(PARTS)):
            yield [getattr(item, name) for kind, names in PARTS.items() if isinstance(item, kind) for name in names]
        elif hasattr(item, "__objclass__"):  # a slot, or a method of a compiled class
            yield item.__name__
        elif isinstance(item, types.CodeType):
            yield from _code_parts(item)
        elif isinstance(item, types.FunctionType):
            yield from self._function(item)
        elif isinstance(item, type):
            yield from self._class(item)
        elif isinstance(item, types.ModuleType):
            yield from self._module(item, set())
        elif isinstance(item, types.BuiltinFunctionType):
            yield item.__qualname__
            yield self._library(item.__module__ or "") or item.__self__  # a method; a function of a user's module
        elif not isinstance(item, types.GenericAlias | types.UnionType) and type(item).__module__ != "typing":
            yield from self._instance(item)  # other than annotations

    def _reject(self, unseen: str) -> None:
        if self._strict:
            raise ArgumentTypeError(
                "checkpoint",
                f"must identify all inputs, but cannot inspect {unseen} ({', '.join(self._trail)}); read it into a "
                "number or an array before the study, or pass checkpoint=jo.Checkpoint(folder, version='1'), and "
                "change the version whenever the code changes",
            )

    def _library(self, module: str) -> str | None:
        """Return name and version of a library, only the name if the user vouches; None for a module of the user."""
        installed = library_version(module)
        return installed and installed.partition(" ")[0] if self._vouched else installed

    def _known_name(self, item: Any) -> str | None:
        """Return the name of an object that belongs to a library; None for other objects."""
        module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", getattr(item, "__name__", None))
        is_own = isinstance(item, types.ModuleType) or (isinstance(item, types.FunctionType) and is_user_code(item))
        if is_own or not isinstance(module, str) or not isinstance(name, str):
            return None
        installed, target = self._library(module), sys.modules.get(module)
        for part in name.split("."):
            target = getattr(target, part, None)
        return f"{installed} {name}" if installed is not None and target is item else None

    # -----------------------------------------------------------------------------------------------------------------
    # Instances and classes

    def _instance(self, item: Any) -> Iterator[Any]:
        """Yield the class of an instance, its attributes, and the further state that `pickle` would write."""
        kind, attributes = type(item), _attributes_of(item)
        yield kind
        if isinstance(item, functools._lru_cache_wrapper):
            self.clear_caches.append(item.cache_clear)
        if _root(kind.__module__) in ("jaxlib", "functools") and "__wrapped__" in attributes:
            yield item.__wrapped__  # a compiled or cached function; its other attributes depend on its file
            return
        for name in sorted(attributes):
            if not isinstance(cached := getattr(kind, name, None), functools.cached_property):
                yield from (name, self._named(f".{name}", attributes[name]))
            elif is_user_code(cached.func):
                self.clear_caches.append(functools.partial(vars(item).pop, name, None))
        reduce = copyreg.dispatch_table.get(kind)
        try:
            reduced: Any = reduce(item) if reduce else item.__reduce_ex__(4)
        except Exception:  # a class may raise any error
            reduced = None
        if not isinstance(reduced, tuple):
            self._reject(str(kind))
            return
        maker, arguments, state, *contents = (*reduced, None, None)[:5]
        yield from arguments or ()
        if maker not in (copyreg.__newobj__, copyreg.__newobj_ex__):  # type: ignore[attr-defined]
            yield from (maker, state)
        yield from (None if content is None else list(content) for content in contents)

    def _class(self, kind: type) -> Iterator[Any]:
        yield kind.__qualname__
        installed = self._library(kind.__module__)
        if installed is not None or self._vouched:
            yield installed
            return
        yield from kind.__mro__[1:]
        for name, value in sorted(vars(kind).items()):
            if _is_written_by_author(kind, name, value):
                yield from (name, self._named(f"{kind.__qualname__}.{name}", value))

    # -----------------------------------------------------------------------------------------------------------------
    # Functions and modules

    def _function(self, function: types.FunctionType) -> Iterator[Any]:
        yield from (function.__code__.co_qualname, function.__defaults__, function.__kwdefaults__)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # not bound yet
                yield cell.cell_contents
        yield {name: value for name, value in sorted(vars(function).items()) if not name.startswith("__")}
        installed = self._library(owner_of(function))
        if installed is not None:
            yield installed
        elif not self._vouched:
            yield self._named(f"the code of {function.__qualname__}", function.__code__, record=True)
            yield from self._globals(function)

    def _globals(self, function: types.FunctionType) -> Iterator[Any]:
        """Yield the globals and attributes of libraries that a function reads, and the modules that it imports."""
        names, values = _values_read_by(function)
        for name, value in values.items():
            if function.__name__ not in CONSTRUCTORS and _is_reader(value):
                self._reject(f"what {function.__qualname__} reads with {name}")
            is_global = name in function.__globals__
            yield name
            if isinstance(value, types.ModuleType):
                yield from self._module(value, names)
            elif is_global or isinstance(value, HASHED_ATTRIBUTES) or is_user_code(value):
                record = is_global and not isinstance(value, types.FunctionType | type)
                yield self._named(f"the global {name} of {function.__qualname__}", value, record)
            else:
                yield getattr(value, "__qualname__", type(value).__qualname__)

    def _module(self, module: types.ModuleType, names: set[str]) -> Iterator[Any]:
        """Yield the version of a library, or the attributes of a module of the user.

        All attributes count, since code may read them by a computed name; those among `names` must be inspectable.
        """
        installed, strict, key = self._library(module.__name__), self._strict, ("module", id(module))
        yield installed or module.__name__
        if installed is not None or self._vouched or key in self._inside:
            return
        self._inside.add(key)
        for name, value in sorted(vars(module).items()):
            if not name.startswith("__"):
                self._strict = strict and name in names
                yield name
                if isinstance(value, types.ModuleType):
                    yield from self._module(value, names)
                else:
                    yield self._named(f"{name} of the module {module.__name__}", value, record=True)
        self._strict = strict
        self._inside.remove(key)


# ---------------------------------------------------------------------------------------------------------------------
# Code


def _values_read_by(function: types.FunctionType) -> tuple[set[str], dict[str, Any]]:
    """Return the names of all globals and attributes in the code of a function, and values by name.

    The values are those of globals, of attributes of libraries ("numpy.pi"), and the modules that the function imports.
    """
    codes, values = list(_nested(function.__code__)), dict[str, Any]()
    for code in codes:
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        for i, step in enumerate(steps):
            name = step.argval
            if "GLOBAL" in step.opname or step.opname == "LOAD_NAME":
                value = function.__globals__.get(name, getattr(builtins, name, None))
                for after in steps[i + 1 : i + 9]:
                    if not _is_library(value) or after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                        break
                    name, value = f"{name}.{after.argval}", getattr(value, after.argval, None)
                values[name] = value
            elif step.opname == "IMPORT_NAME":
                level, taken = (before.argval for before in steps[i - 2 : i])
                with contextlib.suppress(Exception):  # a module may raise any error; the function will raise it too
                    values[f"import {name}"] = __import__(name, function.__globals__, None, taken or (), level)
    return {name for code in codes for name in code.co_names}, values


def _is_library(value: Any) -> bool:
    """Return whether a value is a module of a library whose attributes do not change by themselves."""
    if not isinstance(value, types.ModuleType) or _root(value.__name__) in READING_MODULES:
        return False
    return library_version(value.__name__) is not None


def _is_reader(value: Any) -> bool:
    """Return whether a function that uses this global may read files or the environment."""
    owner = value.__name__ if isinstance(value, types.ModuleType) else owner_of(value)
    return any(value is reader for reader in READERS) or _root(owner) in READING_MODULES


def _code_parts(code: types.CodeType) -> Iterator[Any]:
    """Yield what the interpreter executes, without docstrings and the lines of the source."""
    is_flagged = sys.version_info >= (3, 14)
    has_docstring = code.co_flags & HAS_DOCSTRING if is_flagged else not code.co_name.startswith("<")
    constants = list(code.co_consts)
    if has_docstring and constants and isinstance(constants[0], str):
        constants[0] = None
    yield from (code.co_code, code.co_exceptiontable, code.co_flags & ~HAS_DOCSTRING, constants, code.co_names)
    yield from (code.co_varnames, code.co_freevars, code.co_cellvars)
    yield from (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


# ---------------------------------------------------------------------------------------------------------------------
# Code of the user, and libraries


def owner_of(value: Any) -> str:
    """Return the module that defines a function, a class, or the class of another object."""
    while isinstance(value, functools.partial) or hasattr(value, "__wrapped__"):
        if isinstance(value, types.FunctionType):  # a wrapper of the user may have a library's names
            break
        value = value.func if isinstance(value, functools.partial) else value.__wrapped__
    if isinstance(value, types.FunctionType):
        return value.__globals__.get("__name__", "")
    value = value if isinstance(value, type | types.BuiltinFunctionType) else type(value)
    return getattr(value, "__module__", "") or ""


def is_user_code(value: Any) -> bool:
    """Return whether a module of the user defines a function, a class, or the class of another object."""
    owner = owner_of(value)
    return _root(owner) in sys.modules and library_version(owner) is None


@functools.cache
def library_version(module: str) -> str | None:
    """Return name and version of the library that contains a module; None for a module of the user.

    A module in an editable install counts as a module of the user. For the standard library and jaxonline, only the
    name is returned.
    """
    root = _root(module)
    if root in (_root(__name__), *sys.stdlib_module_names, *sys.builtin_module_names):
        return root
    package = sys.modules.get(root) if root != "__main__" else None
    file = next(iter(getattr(package, "__path__", ())), None) or getattr(package, "__file__", None)
    if not {"site-packages", "dist-packages"}.intersection(Path(file or "").resolve().parts):
        return None
    version = getattr(package, "__version__", None)
    if not isinstance(version, str):
        distributions = importlib.metadata.packages_distributions().get(root, ())
        version = ", ".join(map(importlib.metadata.version, distributions))
    return f"{root} {version}"


def _root(module: str) -> str:
    return module.partition(".")[0]


def _replaced_methods(kind: type) -> dict[str, Any]:
    """Return the user's functions among the methods of a library's class."""
    methods = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    functions = {name: getattr(value, "__func__", value) for name, value in sorted(methods.items())}
    return {name: f for name, f in functions.items() if isinstance(f, types.FunctionType) and is_user_code(f)}


# ---------------------------------------------------------------------------------------------------------------------
# Attributes


def _attributes_of(item: Any) -> dict[str, Any]:
    """Return the attributes of an instance."""
    slots = [slot for base in type(item).__mro__ for slot in np.atleast_1d(vars(base).get("__slots__", ())).tolist()]
    attributes = {slot: getattr(item, slot) for slot in slots if hasattr(item, slot)} | getattr(item, "__dict__", {})
    return {name: value for name, value in attributes.items() if name == "__wrapped__" or not name.startswith("__")}


def _is_written_by_author(kind: type, name: str, value: Any) -> bool:
    """Return whether the author of a class wrote an entry of the class; Python or a library adds other entries."""
    if not name.startswith("__") or name == "__dataclass_fields__":
        is_generated = name == "_abc_impl" or (issubclass(kind, enum.Enum) and name.startswith("_"))
        return not is_generated or name == "_member_map_"
    value = getattr(value, "__func__", value)
    if isinstance(value, types.FunctionType):
        return is_user_code(value) and not value.__code__.co_qualname.startswith("__create_fn__")
    return callable(value) and not isinstance(value, type)


def _array(item: Any) -> Iterator[Any]:
    if isinstance(item, jax.Array) and jax.dtypes.issubdtype(item.dtype, jax.dtypes.prng_key):
        yield str(jax.random.key_impl(item))
        item = jax.random.key_data(item)
    array = np.asarray(item)
    yield from (f"{array.dtype}{array.shape}", np.ma.getmask(item).tobytes())
    yield array.tolist() if array.dtype.hasobject else array.tobytes()
