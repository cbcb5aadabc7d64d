"""Environments of `benchmarks.tightness` with rows from traced arrays, and regrets on the host."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from jaxonline.game import Environment


@jo.struct
class Rows(Environment):
    """Row t of X and y in round t, as in `DataStream`, which accepts no traced arrays."""

    X: jax.Array
    y: jax.Array
    oblivious = True

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.X.shape[1:], self.X.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.y.shape[1:], self.y.dtype)

    def init(self, key: jax.Array) -> tuple[()]:
        return ()

    def instance(self, key: jax.Array, state: tuple[()], t: jax.Array) -> tuple[jax.Array, tuple[()]]:
        return self.X[t - 1], state

    def outcome(
        self, key: jax.Array, state: tuple[()], t: jax.Array, x: jax.Array, y_hat: Any
    ) -> tuple[jax.Array, tuple[()]]:
        return self.y[t - 1], state


@jo.struct
class ReactingLabels(Rows):
    """Row t of y has two labels: for predictions of at least 0, and below 0."""

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((), self.y.dtype)

    def outcome(
        self, key: jax.Array, state: tuple[()], t: jax.Array, x: jax.Array, y_hat: Any
    ) -> tuple[jax.Array, tuple[()]]:
        return self.y[t - 1, (y_hat < 0).astype(jnp.int32)], state


@jo.struct
class ReactingLosses(Environment):
    """Losses of K arms that depend on the round and the arm drawn in the round before; tables [T, K, K]."""

    losses: jax.Array

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((0,), self.losses.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.losses.shape[2:], self.losses.dtype)

    def init(self, key: jax.Array) -> jax.Array:
        return jnp.int32(0)

    def instance(self, key: jax.Array, state: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.zeros((0,), self.losses.dtype), state

    def outcome(
        self, key: jax.Array, state: jax.Array, t: jax.Array, x: jax.Array, y_hat: Any
    ) -> tuple[jax.Array, jax.Array]:
        return self.losses[t - 1, state], (y_hat.arm if isinstance(y_hat, jo.game.Draw) else y_hat).astype(jnp.int32)


def from_arrays(template: Any, first: jax.Array) -> Any:
    """Return a struct like `template` with another first array, which may be traced."""
    leaves, structure = jax.tree.flatten(template)
    return jax.tree.unflatten(structure, [first, *leaves[1:]])


def play_rows(X: jax.Array | None, y: jax.Array, feedback: Any, loss: Any, learner: Any, key: jax.Array) -> Any:
    """Play all rows once; return the history."""
    X = jnp.zeros((len(y), 0), y.dtype) if X is None else X
    return jo.play(jo.Game(Rows(X, y), feedback, loss=loss), learner, key, len(y))[1]


def directions(angles: Any, module: Any = jnp) -> Any:
    """Unit vectors [..., 2] of numbers in [0, 1]."""
    return module.stack([module.cos(2 * np.pi * angles), module.sin(2 * np.pi * angles)], axis=-1)


def best_in_ball(X: np.ndarray, y: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the w [n, d] with |w| <= radius that minimise sum (<w, x> - y)^2, for X [n, T, d], y [n, T]."""
    values, vectors = np.linalg.eigh(np.einsum("nti,ntj->nij", X, X))
    target = np.einsum("nij,nti,nt->nj", vectors, X, y)
    values = np.maximum(values, 1e-12)
    low, high = np.zeros(len(X)), np.linalg.norm(target, axis=1) / radius  # of the multiplier
    inside = np.linalg.norm(target / values, axis=1) <= radius
    for _ in range(100):
        middle = (low + high) / 2
        outside = np.linalg.norm(target / (values + middle[:, None]), axis=1) > radius
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    multiplier = np.where(inside, 0.0, high)
    return np.einsum("nij,nj->ni", vectors, target / (values + multiplier[:, None]))


def squared_regret(y_hat: np.ndarray, y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return sum (y_hat - y)^2 - sum (predictions - y)^2 [n, runs], for y_hat [n, runs, T] and the others [n, T]."""
    y, predictions = y[:, None], predictions[:, None]
    return ((y_hat - predictions) * (y_hat + predictions - 2 * y)).sum(axis=-1)
