"""Frozen dataclasses that are pytrees: numbers are leaves, sizes and functions are static.

Every learner, estimator, environment, noise distribution and kernel is declared with `struct`. A field is a leaf (it
can be traced, vmapped, swept) unless it is declared with `static()`.
"""

import dataclasses
import functools
import inspect
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from jaxonline.parameters import check
from jaxonline.parameters.closures import Portable, make_portable
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.signatures import check_fields

T = TypeVar("T")

_registered: weakref.WeakSet[type] = weakref.WeakSet()  # structs that are registered as pytrees
_lock = threading.Lock()


def static(default: Any = dataclasses.MISSING, *, init: bool = True) -> Any:
    """Declare a static field of a struct, whose value must be hashable; a new value causes a new compilation.

    Args:
        default: the default value.
        init: whether the constructor takes the field as an argument.

    Example:
        >>> import jax, jaxonline as jo
        >>> @jo.struct
        ... class Power:
        ...     scale: float
        ...     degree: int = jo.static(default=2)
        >>> jax.tree.leaves(Power(3.0))
        [3.0]
    """
    return dataclasses.field(default=default, init=check.flag("init", init), metadata={"static": True})


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
    cls.__getstate__, cls.__setstate__ = _get_state, _set_state  # type: ignore[attr-defined]
    if cls.__repr__ is object.__repr__:
        cls.__repr__ = short_repr  # type: ignore[assignment]
    cls.__struct__ = cls  # type: ignore[attr-defined]
    _register(cls)
    return cls


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


def _get_state(self: Any) -> dict[str, Any]:
    return {name: make_portable(name, value) for name, value in vars(self).items()}


def _set_state(self: Any, state: dict[str, Any]) -> None:
    _register(type(self))
    for name, value in state.items():
        object.__setattr__(self, name, value.value if isinstance(value, Portable) else value)


def set_field(obj: Any, name: str, value: Any) -> None:
    """Set a field of a frozen struct; for use in the `__post_init__` of the struct."""
    object.__setattr__(obj, name, value)


def _check_fields(cls: type) -> None:
    """Make a class check its fields against their annotations before its own `__post_init__` runs."""
    post_init = getattr(cls, "__post_init__", lambda self: None)

    @functools.wraps(post_init)
    def __post_init__(self) -> None:
        _register(type(self))
        leaves = [field.name for field in _fields(self, is_static=False) if field.init]
        for name in leaves:
            value = getattr(self, name)
            for leaf in (value, *jax.tree.leaves(check.nesting(name, value))):
                check.leaf(name, leaf)
        check_fields(self)
        post_init(self)
        for name in leaves:
            for leaf in jax.tree.leaves(getattr(self, name)):
                check.not_string(name, leaf)

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
            raise ValueError(
                f"learners: learners of one sweep must differ in numbers only (got item {index} with {difference})"
            )
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
