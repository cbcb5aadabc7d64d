"""Frozen dataclasses that are pytrees: numbers are leaves, sizes and functions are static.

Every learner, estimator, environment, noise law and kernel of jaxonline is declared with `struct`. A field is a
leaf (it can be traced, vmapped, swept) unless it is declared with `static()`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

T = TypeVar("T")


def static(default: Any = dataclasses.MISSING, **kwargs: Any) -> Any:
    """A field that is part of the structure: hashable, and a new value means a new compilation.

    Example:
        >>> import jax, jaxonline as jo
        >>> @jo.struct
        ... class Power:
        ...     scale: float
        ...     degree: int = jo.static(default=2)
        >>> jax.tree.leaves(Power(3.0))
        [3.0]
    """
    return dataclasses.field(default=default, metadata={"static": True}, **kwargs)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static, dataclasses.field))
def struct(cls: type[T]) -> type[T]:
    """Turn a class with annotated fields into a frozen dataclass registered as a pytree.

    `__post_init__` is where arguments are checked; it runs when a user constructs the object and never when jax
    rebuilds it, so checks may look at values.

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
    cls = dataclasses.dataclass(frozen=True, eq=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    leaves = [field.name for field in fields if not field.metadata.get("static")]
    statics = [field.name for field in fields if field.metadata.get("static")]

    def flatten_with_keys(obj):
        children = [(jax.tree_util.GetAttrKey(name), getattr(obj, name)) for name in leaves]
        return children, tuple(getattr(obj, name) for name in statics)

    def flatten(obj):
        return [getattr(obj, name) for name in leaves], tuple(getattr(obj, name) for name in statics)

    def unflatten(aux, children):
        obj = object.__new__(cls)
        for name, value in zip(leaves, children, strict=True):
            object.__setattr__(obj, name, value)
        for name, value in zip(statics, aux, strict=True):
            object.__setattr__(obj, name, value)
        return obj

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


def set_field(obj: Any, name: str, value: Any) -> None:
    """Set a field of a frozen struct from its own `__post_init__`."""
    object.__setattr__(obj, name, value)


def cast_leaves(tree: T, dtype: Any) -> T:
    """Make every leaf an array: floating leaves of `dtype`, integers, booleans and keys as they are.

    Done once at the door of the simulator, so that `0.1`, `numpy.float64(0.1)` and `jnp.array(0.1)` are one
    program, and no leaf is weakly typed.
    """

    def cast(leaf):
        leaf = jnp.asarray(leaf)
        return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else jnp.asarray(leaf, leaf.dtype)

    return jax.tree.map(cast, tree)


def stack(trees: Sequence[T]) -> T:
    """Stack structs of one structure along a new leading axis of every leaf.

    Raises ValueError if the structures (static fields, leaf shapes) differ.
    """
    first = jax.tree.structure(trees[0])
    for index, tree in enumerate(trees):
        if jax.tree.structure(tree) != first:
            raise ValueError(
                f"learners of one sweep must differ in numbers only: item {index} has the structure "
                f"{jax.tree.structure(tree)}, item 0 has {first}"
            )
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *trees)


def replace(obj: T, **changes: Any) -> T:
    """A copy of a struct with some fields changed; the arguments are checked again.

    Example:
        >>> import jaxonline as jo
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
        >>> jo.replace(learner, step_size=0.2).step_size.value
        0.2
    """
    return dataclasses.replace(obj, **changes)  # type: ignore[type-var]
