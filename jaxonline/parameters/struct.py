"""Frozen dataclasses that are pytrees: numbers are leaves, sizes and functions are static.

Every learner, estimator, environment, noise distribution and kernel is declared with `struct`. A field is a leaf (it
can be traced, vmapped, swept) unless it is declared with `static()`.
"""

import dataclasses
import functools
import inspect
import operator
import pickle
import threading
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.short_repr import closure_values, short_repr
from jaxonline.parameters.signatures import check_call, check_fields

T = TypeVar("T")

_registered: weakref.WeakSet[type] = weakref.WeakSet()  # structs that are registered as pytrees
_lock = threading.Lock()


def static(default: Any = dataclasses.MISSING, *, init: bool = True, kw_only: bool = False) -> Any:
    """Declare a static field of a struct, whose value must be hashable; a new value causes a new compilation.

    Args:
        default: the default value.
        init: whether the constructor takes the field as an argument.
        kw_only: whether the argument must be given by name, for fields of base classes.

    Example:
        >>> import jax, jaxonline as jo
        >>> @jo.struct
        ... class Power:
        ...     scale: float
        ...     degree: int = jo.static(default=2)
        >>> jax.tree.leaves(Power(3.0))
        [3.0]
    """
    init, kw_only = check.flag("init", init), check.flag("kw_only", kw_only)
    return dataclasses.field(default=default, init=init, kw_only=kw_only, metadata={"static": True})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static, dataclasses.field))
def struct(cls: type[T]) -> type[T]:
    """Turn a class with annotated fields into a frozen dataclass registered as a pytree.

    `__post_init__` checks arguments. The method `__post_init__` runs when a user constructs the object, and never when
    JAX rebuilds the object, so it may read values. No leaf may be a class, string or masked array. A static field
    declared `bool` must be True or False. If a struct checks a number, build a stack of such structs inside `vmap`, as
    in `jax.vmap(Line)(slopes)`.

    Example:
        >>> import jax, jaxonline as jo
        >>> @jo.struct
        ... class Line:
        ...     slope: float
        ...     def __call__(self, x):
        ...         return self.slope * x
        >>> jax.vmap(lambda line: line(2.0))(Line(jax.numpy.array([1.0, 2.0]))).tolist()
        [2.0, 4.0]
    """
    if not isinstance(cls, type):
        raise ArgumentTypeError("cls", f"must be a class (got {check.quote(cls)})")
    _check_fields(cls)
    for name in inspect.get_annotations(cls):
        if name not in vars(cls):  # a field without a default, also if a base class has a fact of this name
            setattr(cls, name, dataclasses.field())
    cls = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
    if "__init__" in vars(cls):
        cls.__init__ = _explained(cls, cls.__init__)  # type: ignore[method-assign]
    cls.__getstate__, cls.__setstate__ = _get_state, _set_state  # type: ignore[attr-defined]
    if cls.__repr__ is object.__repr__:
        cls.__repr__ = short_repr  # type: ignore[assignment]
    cls.__struct__ = cls  # type: ignore[attr-defined]
    _register(cls)
    return cls


def _explained(cls: type, init: Any) -> Any:
    """Return a constructor whose error for unknown and missing arguments says what the class needs."""

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            if not isinstance(error, ArgumentTypeError):
                others = [f"{cls.__name__}.{name}" for name in vars(cls) if isinstance(vars(cls)[name], classmethod)]
                instead = f"; or use {' or '.join(others)}" if others else ""
                check_call(init, cls.__name__, (self, *args), kwargs, instead)
            raise

    return __init__


def _register(cls: type) -> None:
    """Register a struct as a pytree, once; a class that was pickled by value is not registered in another process."""
    with _lock:
        if cls not in _registered and vars(cls).get("__struct__") is cls:  # not a class that inherits from a struct
            _register_fields(cls)
            _registered.add(cls)


def _fields(cls: Any, is_static: bool) -> list[dataclasses.Field]:
    return [field for field in dataclasses.fields(cls) if field.metadata.get("static", False) is is_static]


def _register_fields(cls: type) -> None:
    leaves, statics = ([field.name for field in _fields(cls, is_static)] for is_static in (False, True))

    def flatten_with_keys(obj):
        children = [(jax.tree_util.GetAttrKey(name), getattr(obj, name)) for name in leaves]
        return children, tuple(getattr(obj, name) for name in statics)

    def flatten(obj):
        return [getattr(obj, name) for name in leaves], tuple(getattr(obj, name) for name in statics)

    def unflatten(aux, children):
        obj = object.__new__(cls)
        for name, value in zip((*leaves, *statics), (*children, *aux), strict=True):
            object.__setattr__(obj, name, value)
        return obj

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def set_field(obj: Any, name: str, value: Any) -> None:
    """Set a field of a frozen struct; for use in the `__post_init__` of the struct."""
    object.__setattr__(obj, name, value)


def _check_fields(cls: type) -> None:
    """Make a class check its fields against their annotations before its own `__post_init__` runs."""
    post_init = getattr(cls, "__post_init__", lambda self: None)

    @functools.wraps(post_init)
    def __post_init__(self) -> None:
        _register(type(self))
        check_fields(self)
        names = [field.name for field in _fields(self, is_static=False) if field.init]
        for name in names:
            check.leaves(name, getattr(self, name))
        post_init(self)
        for name in names:
            check.leaves(name, getattr(self, name), strings=False)

    cls.__post_init__ = __post_init__  # type: ignore[attr-defined]


def cast_leaves(tree: T, dtype: Any, name: str = "") -> T:
    """Convert every leaf to an array: floating leaves to `dtype`, while integers, booleans and keys keep their dtype.

    The simulator converts the leaves once. Then `0.1`, `numpy.float64(0.1)` and `jnp.array(0.1)` give the same compiled
    program, and no leaf is weakly typed. Raises a TypeError for a leaf that is no number, and a ValueError for a number
    that is infinite in `dtype`; both messages use `name`.
    """

    def cast(path, leaf):
        where = (name + jax.tree_util.keystr(path)).lstrip(".")
        if not isinstance(leaf, check.NUMBERS):
            got = f"(got {check.quote(leaf)}); write @jo.struct above its class"
            raise ArgumentTypeError(where, f"must be a number, an array or a struct {got}")
        if jnp.issubdtype(jnp.result_type(leaf), jnp.floating) and not isinstance(leaf, jax.Array):
            check.fits_dtype(where, leaf, dtype)
        leaf = jnp.asarray(leaf)
        return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else jnp.asarray(leaf, leaf.dtype)

    return jax.tree_util.tree_map_with_path(cast, tree)


def stack(trees: Sequence[T]) -> T:
    """Stack structs along a new leading axis of every leaf; ValueError if static fields or shapes differ."""
    first, kind = trees[0], structure_of(trees[0])
    for index, tree in enumerate(trees):
        if structure_of(tree) != kind:
            difference = next(_differences(first, tree), "another structure than item 0")
            raise ArgumentError("learners", f"must differ in numbers only (got item {index} with {difference})")
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *trees)


def structure_of(tree: Any) -> Any:
    """Return the static fields and leaf shapes of a tree; trees with equal fields and shapes can be stacked."""
    return jax.tree.structure(tree), [jnp.shape(leaf) for leaf in jax.tree.leaves(tree)]


def _differences(first: Any, other: Any, at: str = "") -> Iterator[str]:
    """Yield the differences of two structs in classes, static fields and shapes; numbers may differ."""
    if isinstance(first, check.NUMBERS) and isinstance(other, check.NUMBERS):
        if jnp.shape(first) != jnp.shape(other):
            hint = "; give all the same size (n_terms=, for coefficients of a series)"
            yield f"{at} of shape {jnp.shape(other)}, item 0 of {jnp.shape(first)}{hint}"
    elif type(first) is not type(other):
        yield f"{at or 'its root'} a {type(other).__name__}, item 0 a {type(first).__name__}"
    elif dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            parts = getattr(first, field.name), getattr(other, field.name)
            path = f"{at}.{field.name}".lstrip(".")
            if not field.metadata.get("static"):
                yield from _differences(*parts, path)
            elif parts[0] is not parts[1] and parts[0] != parts[1]:
                yield f"{path} = {check.quote(parts[1])}, item 0 {check.quote(parts[0])}"


def replace(obj: T, **changes: Any) -> T:
    """Copy a struct with some fields changed; all arguments are checked again.

    Example:
        >>> import jaxonline as jo
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
        >>> jo.replace(learner, step_size=0.2).step_size.value
        0.2
    """
    is_struct = dataclasses.is_dataclass(obj) and not isinstance(obj, type)
    check.instance("obj", obj, is_struct, "an object of a class with @jo.struct or @dataclass")
    return dataclasses.replace(obj, **changes)  # type: ignore[type-var]


def replace_at(obj: Any, path: str, value: Any, name: str, keep_classes: bool = True) -> Any:
    """Copy a struct with a (possibly nested) field changed, such as "step_size.eta".

    Args:
        obj: the struct.
        path: the names of the field and of the fields that contain it, with dots.
        value: the new value.
        name: the name of the argument that has the path, for messages.
        keep_classes: whether a number must not replace a struct of another class than the field's constructor makes
            from a number, such as a schedule by a constant.

    Raises:
        ValueError: a field does not exist, or a number would replace a struct, and `keep_classes` is True.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.parameters.struct import replace_at
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.1))
        >>> replace_at(learner, "step_size.eta", 0.2, "grid").step_size
        InverseSqrt(eta=0.2)
    """
    field, _, rest = path.partition(".")
    fields = [each.name for each in dataclasses.fields(obj) if each.init] if dataclasses.is_dataclass(obj) else []
    check.choice(f"{name}: a field of {type(obj).__name__}", field, fields)
    before = getattr(obj, field)
    after = replace(obj, **{field: replace_at(before, rest, value, name, keep_classes) if rest else value})
    changes_class = not rest and isinstance(value, int | float) and type(before) is not type(getattr(after, field))
    if keep_classes and changes_class and dataclasses.is_dataclass(before):
        inner = " or ".join(f"'{path}.{each.name}'" for each in dataclasses.fields(before))
        problem = f"must name a field of {short_repr(before)}, {inner} (got {path!r}, which a number would replace)"
        raise ArgumentError(name, problem)
    return after


# ---------------------------------------------------------------------------------------------------------------------
# Functions of optax in static fields: equal functions become one object.
#
# `optax.adam(1.0)` builds new functions at each call. JAX compares functions by identity, so equal learners would be
# compiled twice. Here, functions of optax with the same code are equal if the values in their closures are equal.
# Closures of other libraries stay as they are, since the values in these closures may change after construction.


_FIRST: dict[Any, Any] = {}  # by their keys
_KEPT: dict[int, Any] = {}  # values that are compared by identity: no other object gets their address
_BY_CONTENT: dict[bytes, Any] = {}  # what cloudpickle wrote or read in this process


def intern_functions(value: Any) -> Any:
    """Return the first function (or tuple of functions) equal to `value`.

    Example:
        >>> import optax
        >>> from jaxonline.parameters.struct import intern_functions
        >>> optax.sgd(0.1) == optax.sgd(0.1), intern_functions(optax.sgd(0.1)) is intern_functions(optax.sgd(0.1))
        (False, True)
    """
    return _FIRST.setdefault(_key_of(value), value)


build_cached = functools.cache(operator.call)  # what a factory without arguments returns at its first call


def _key_of(value: Any, inside: tuple[Any, ...] = ()) -> Any:
    """Return a key that is equal for equal values; `inside` has the enclosing values, which a function may contain."""

    def keys_of(values: Any) -> tuple[Any, ...]:
        return tuple(_key_of(part, (*inside, value)) for part in values)

    if isinstance(value, tuple):
        return type(value), keys_of(value)
    if isinstance(value, functools.partial):
        return type(value), keys_of((value.func, *value.args, *sorted(value.keywords.items())))
    module = value.__globals__.get("__name__") if isinstance(value, types.FunctionType) else None
    if str(module).split(".")[0] == "optax":
        if any(value is outer for outer in inside):
            return "itself", [value is outer for outer in inside].index(True)
        parts = value.__defaults__, *(value.__kwdefaults__ or {}).items(), *closure_values(value).items()
        return module, value.__code__, keys_of(parts)
    if value is None or type(value) in (bool, int, str, bytes):
        return type(value), value
    if type(value) is float:
        return float, value.hex()  # 0.0 is not -0.0, and nan is nan
    _KEPT[id(value)] = value
    return "identity", id(value)


# ---------------------------------------------------------------------------------------------------------------------
# Pickle: `pickle` cannot write a function that was made inside another function; `cloudpickle` writes it as a whole.


def _get_state(self: Any) -> dict[str, Any]:
    return {name: make_portable(name, value) for name, value in vars(self).items()}


def _set_state(self: Any, state: dict[str, Any]) -> None:
    _register(type(self))
    for name, value in state.items():
        object.__setattr__(self, name, value.value if isinstance(value, Portable) else value)


class Portable:
    """Wrapper of functions in a pickled field of a struct; unpickling returns the functions, deepcopy keeps them."""

    def __init__(self, field: str, value: Any):
        self.field, self.value = field, value

    def __deepcopy__(self, memo: Any) -> "Portable":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.value)
        except (pickle.PicklingError, AttributeError, TypeError) as error:  # a function made inside another function
            return _load, (_dump(self.field, self.value, error),)
        return intern_functions, (self.value,)


def make_portable(field: str, value: Any) -> Any:
    """Return the value of a field in a form that `pickle` can write: functions become `Portable`."""
    is_function = any(isinstance(leaf, types.FunctionType | functools.partial) for leaf in jax.tree.leaves(value))
    return Portable(field, value) if is_function else value


def _dump(field: str, value: Any, error: Exception) -> bytes:
    try:
        import cloudpickle
    except ModuleNotFoundError:
        raise pickle.PicklingError(f"{field}: {error}; pip install cloudpickle, or 'jaxonline[cluster]'") from None
    content = cloudpickle.dumps(value)
    _BY_CONTENT.setdefault(content, value)
    return content


def _load(content: bytes) -> Any:
    """Return what cloudpickle wrote; equal bytes give the same functions, so that their programs are reused."""
    if content not in _BY_CONTENT:
        _BY_CONTENT[content] = intern_functions(pickle.loads(content))
    return _BY_CONTENT[content]
