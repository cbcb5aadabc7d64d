"""Learners of full information over sequences that are known from the start: the same algorithms, in blocks.

Nothing is learned here that is not learned in the game: each function says which learner it plays, and tests hold the
predictions equal to those of `jo.play`. What is gained is time. `VAW` absorbs a block of rounds by matrix products
(`vaw.absorb`); many kernels go through the rounds side by side, on every core; and no game is built, so that all of it
can be jitted and vmapped over sequences and dictionaries.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PyTree

from jaxonline import random
from jaxonline._xla.compile_options import jitted, matmul_options
from jaxonline._xla.threads import default_at_once, in_parallel
from jaxonline.feedback import FullOracle
from jaxonline.game.protocols import DeclaresRange, Specs
from jaxonline.learners.experts.over_advice import as_learner
from jaxonline.learners.experts.truncated import Truncated
from jaxonline.learners.linear.vaw import VAW, absorb, initial_state
from jaxonline.linalg.programs import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.dtypes import working_dtype

BLOCK = 32  # rounds absorbed at once: measured best for 20 to 200 features
KERNELS_AT_ONCE = 12  # of a core, at most: their matrices of 100 x 100 float64 fit its second cache
TURNS_OF_A_JOB = 4  # at most: so that cores which are not equally fast are done at about the same time


class Aggregation(NamedTuple):
    """What `aggregate` returns.

    Attributes:
        predictions: one a round [T], each from the rounds before it.
        weights: of the experts after the last round [K].
    """

    predictions: Float[Array, "T"]
    weights: Float[Array, "K"]


class Forecasts(NamedTuple):
    """Predictions of both forecasters, which cost no more than those of one.

    Attributes:
        ridge: of online ridge, which uses S_(t-1): `VAW(forward=False)`.
        vaw: of VAW, which uses S_t.
    """

    ridge: Float[Array, "..."]
    vaw: Float[Array, "..."]


# ---------------------------------------------------------------------------------------------------------------------
# Any learner over advice


def aggregate(
    combiner: Any,
    experts: Float[ArrayLike, "T K"],
    targets: Float[ArrayLike, "T"],
    loss: Any = None,
    *,
    dtype: str = "float64",
) -> Aggregation:
    """Combine the predictions of any experts over a sequence: their predictions and the targets are enough.

    Args:
        combiner: `EWA`, `BOA`, `MLPoly`, `MLProd`, another `Combiner`, or a learner over advice: `Aggregating`, `VAW`,
            `Truncated`, any learner with `weights(state)` whose instances are the vectors of expert predictions.
        experts: predictions of K experts, one row a round, at least one.
        targets: one a round.
        loss: by which a combiner judges experts, `loss(prediction, target)`; the squared loss when None. A learner
            has its own.
        dtype: "float64" or "float32".

    Raises:
        ValueError: shapes that do not match, entries that are not finite, targets outside the combiner's declared
            range, a `loss` for a learner, or float64 where JAX has it disabled.
        TypeError: `combiner` is neither a combiner nor a learner.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA
        >>> with jax.enable_x64(True):
        ...     result = jo.aggregate(EWA(0.5), np.tile([0.0, 1.0], (40, 1)), np.ones(40))
        >>> np.round(result.predictions[:3], 3).tolist(), bool(np.asarray(result.weights)[1] > 0.999)
        ([0.5, 0.622, 0.731], True)
    """
    learner = as_learner(combiner, loss)
    experts, targets = check.rows("experts", experts, "targets", targets)
    of_dtype = _cast(dtype, experts=experts, targets=targets)
    _check_labels(learner, np.asarray(targets))
    return _aggregate(learner, *of_dtype)


def _check_labels(learner: Any, targets: np.ndarray) -> None:
    """Check targets against the range that a learner declares, if it does."""
    if not isinstance(learner, DeclaresRange):
        return
    low, high = (check.concrete(end) for end in learner.label_range)
    if low is None or high is None:
        return
    outside = np.flatnonzero((targets < low) | (targets > high))
    if len(outside):
        raise ValueError(
            f"targets must be in [{float(low):g}, {float(high):g}], the range that {type(learner).__name__} declares, "
            f"got {targets[outside[0]]:g} in round {outside[0] + 1} ({len(outside)} such rounds)"
        )


_aggregate = jax.jit(lambda learner, experts, targets: play_sequence(learner, experts, targets)[0])


@exact_products()
def play_sequence(
    learner: Any,
    X: Float[Array, "T d"],
    y: Float[Array, "T"],
    key: Array | None = None,
    n_rounds: Int[Array, ""] | int | None = None,
) -> tuple[Aggregation, PyTree]:
    """Play a learner of full information, or a combiner, over a sequence, as a pure function.

    It is the round of the game without a referee: nothing is hidden, and nothing but predictions is recorded. `VAW`,
    truncated or not, is played in blocks. Round t = 1, 2, ... has the key `fold_in(key, t)`, of which `predict` has
    the part 0 and `update` the part 1; `init` has the part 0 of round 0. A learner that draws nothing needs no key.

    Of `n_rounds` only the first are played, and later predictions mean nothing: it may be traced, so that sequences of
    all lengths, padded to the same one by finite numbers, are played by one program.

    Returns:
        Predictions and final weights, and the learner's final state.
    """
    learner = as_learner(learner)
    if isinstance(learner, Truncated) and isinstance(learner.learner, VAW):
        return play_sequence(learner.learner, learner.clip(X), learner.nan_outside_range(y), key, n_rounds)
    if isinstance(learner, VAW):
        forecasts, state = scan_blocks(learner.features, X, y, learner.regularizer, BLOCK, n_rounds)
        return Aggregation(forecasts.vaw if learner.forward else forecasts.ridge, learner.weights(state)), state

    key = None if key is None else random.inlined(key)

    def of_round(t):
        return [None if key is None else jax.random.fold_in(jax.random.fold_in(key, t), part) for part in range(2)]

    def play_round(state, row):
        keys, x, target = row
        prediction = learner.predict(keys[0], state, x)
        state, _ = learner.update(keys[1], state, FullOracle(x, target))
        return state, prediction

    keys = jax.vmap(of_round)(jnp.arange(len(y) + 1, dtype=jnp.int32))
    specs = Specs(jax.ShapeDtypeStruct(X.shape[1:], X.dtype), jax.ShapeDtypeStruct((), y.dtype))
    first = learner.init(jax.tree.map(lambda of: of[0], keys)[0], specs)
    rows = jax.tree.map(lambda of: of[1:], keys), X, y
    state, predictions = _scan_first(play_round, first, rows, jnp.zeros(len(y), X.dtype), n_rounds)
    return Aggregation(predictions, learner.weights(state)), state


def _scan_first(step, state, rows, outputs, n):
    """`jax.lax.scan` over the first n of the rows (all if None), which may be traced; other outputs stay as given."""

    def at(t, carry):
        state, filled = carry
        row = jax.tree.map(lambda of: jax.lax.dynamic_index_in_dim(of, t, keepdims=False), rows)
        state, output = step(state, row)
        put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=t, axis=0)
        return state, jax.tree.map(put, filled, output)

    n_rows = len(jax.tree.leaves(outputs)[0])
    return jax.lax.fori_loop(0, n_rows if n is None else n, at, (state, outputs))


# ---------------------------------------------------------------------------------------------------------------------
# VAW and online ridge in blocks


def forecast(
    Z: Float[ArrayLike, "T m"],
    y: Float[ArrayLike, "T"],
    *,
    regularizer: ArrayLike = 1.0,
    block: int = BLOCK,
    dtype: str = "float64",
) -> tuple[Forecasts, Any]:
    """All predictions of `VAW` and of online ridge over a sequence, and the final `VAWState` of both.

    Args:
        Z: instances, one row a round, at least one.
        y: targets. The prediction of round t does not depend on y_t or later ones.
        regularizer: lambda, above 0.
        block: rounds absorbed at once, at least 1; predictions depend on it by rounding only.
        dtype: "float64", or "float32" in which long runs drift.

    Raises:
        ValueError: shapes that do not match, entries that are not finite, a `regularizer` not above 0, or float64
            where JAX has it disabled.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.engines.expert_sequences import forecast
        >>> with jax.enable_x64(True):
        ...     forecasts, state = forecast(np.ones((3, 1)), np.ones(3))
        >>> [f"{mean:.3f}" for mean in forecasts.vaw], f"{state.w[0]:.3f}"
        (['0.000', '0.333', '0.500'], '0.750')
    """
    Z, y = check.rows("Z", Z, "y", y)
    check.positive("regularizer", regularizer)
    check.count("block", block)
    return _forecast(*_cast(dtype, Z=Z, y=y, regularizer=regularizer), block)


@jax.jit(static_argnames=("block",))
def _forecast(Z, y, regularizer, block):
    return scan_blocks(None, Z, y, regularizer, block)


def scan_blocks(
    features: Any,
    X: Float[Array, "T d"],
    y: Float[Array, "T"],
    regularizer: ArrayLike,
    block: int,
    n_rounds: Int[Array, ""] | int | None = None,
) -> tuple[Forecasts, Any]:
    """`forecast` as a pure function, with features computed block by block (None for the instances themselves).

    Those of a block come from `features.of_rows`, [n, ...], where there is such a method, as of a `Dictionary`.
    Of `n_rounds` only the first are played, as `play_sequence` has it.
    """
    n, block = len(y), min(block, len(y))
    n_blocks = -(-n // block)

    def columns(rows):
        if features is None:
            return rows.T
        of_rows = getattr(features, "of_rows", None) or jax.vmap(features)
        return of_rows(rows).reshape(len(rows), -1).T

    def step(state, rows):
        x, target, n_left = rows
        state, means, leverages = absorb(state, columns(x), target, n_left)
        return state, Forecasts(means, means / leverages)

    def blocks(rows):
        padded = jnp.concatenate([rows, jnp.zeros((n_blocks * block - n, *rows.shape[1:]), rows.dtype)])
        return padded.reshape(n_blocks, block, *rows.shape[1:])

    n_features = jax.eval_shape(columns, X[:1]).shape[0]
    played = n if n_rounds is None else n_rounds
    n_left = None if n_rounds is None and n % block == 0 else played - block * jnp.arange(n_blocks)
    rows = blocks(X), blocks(y), n_left
    first, none = initial_state(n_features, regularizer, X.dtype), jnp.zeros((n_blocks, block), X.dtype)
    state, forecasts = _scan_first(step, first, rows, Forecasts(none, none), -(-played // block))
    return jax.tree.map(lambda values: values.reshape(-1)[:n], forecasts), state


# ---------------------------------------------------------------------------------------------------------------------
# One forecaster for each kernel of a dictionary


def expert_forecasts(
    features: Any,
    X: Float[ArrayLike, "T d"],
    y: Float[ArrayLike, "T"],
    *,
    regularizer: float = 1.0,
    dtype: str = "float64",
) -> Forecasts:
    """Predictions [T, N] of online ridge and of VAW for each of N kernels: the experts of a `MultiKernel`.

    Args:
        features: a pytree whose leaves have a leading axis of N kernels and which, for each kernel, maps an instance to
            its features: a `Dictionary`, stacked `FourierFeatures`.
        X: instances, one row a round, at least one.
        y: targets.
        regularizer: lambda, above 0.
        dtype: "float64", or "float32" in which long runs drift.

    Raises:
        ValueError: shapes that do not match, entries that are not finite, a `regularizer` not above 0, or float64
            where JAX has it disabled.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.engines.expert_sequences import expert_forecasts
        >>> with jax.enable_x64(True):
        ...     forecasts = expert_forecasts(Dictionary(np.zeros((2, 1, 1))), np.ones((3, 1)), np.ones(3))
        >>> np.round(forecasts.vaw[:, 0], 3).tolist(), forecasts.vaw.shape  # 0, 1/3, 2/4
        ([0.0, 0.333, 0.5], (3, 2))
    """
    X, y = check.rows("X", X, "y", y)
    check.positive("regularizer", regularizer)
    jobs, gather = expert_jobs(*_cast(dtype, features=features, X=X, y=y, regularizer=regularizer))
    return gather(in_parallel(jobs))


def expert_jobs(
    features: Any,
    X: Float[Array, "T d"],
    y: Float[Array, "T"],
    regularizer: Float[Array, ""],
    n_rounds: Int[Array, ""] | int | None = None,
) -> tuple[list[Callable[[], Forecasts]], Callable[[list[Forecasts]], Forecasts]]:
    """`expert_forecasts` as jobs that may run side by side, and the function that joins their results.

    Of `n_rounds` only the first are played, as `play_sequence` has it.
    """
    N, platform, cores = len(jax.tree.leaves(features)[0]), jax.default_backend(), default_at_once()
    n_jobs, turns = 1, 1
    if platform == "cpu":
        n_jobs = cores * -(-N // (KERNELS_AT_ONCE * TURNS_OF_A_JOB * cores))
        turns = -(-N // (KERNELS_AT_ONCE * n_jobs))
    at_once = -(-N // (turns * n_jobs))
    features = jax.tree.map(np.asarray, features)

    def job(first):
        kernels = np.arange(first, first + turns * at_once).reshape(turns, at_once) % N  # too many repeat the first
        part = jax.tree.map(lambda leaf: leaf[kernels], features)
        return lambda: _forecast_in_turns(part, X, y, regularizer, n_rounds)

    def gather(parts):
        joined: list[Any] = [np.concatenate(of)[:N].T for of in zip(*parts, strict=True)]
        return Forecasts(*joined)

    return [job(first) for first in range(0, N, turns * at_once)], gather


@jitted(matmul_options)
def _forecast_in_turns(features, X, y, regularizer, n_rounds):
    """Forecasts [kernels, T], with two leading axes of the features: turns, and kernels that are played at once."""
    of_kernels = jax.vmap(lambda kernel: scan_blocks(kernel, X, y, regularizer, BLOCK, n_rounds)[0])
    return jax.tree.map(lambda values: values.reshape(-1, len(y)), jax.lax.map(of_kernels, features))


def _cast(dtype: str, **trees: Any) -> tuple[Any, ...]:
    """Arguments by name, their leaves as arrays of the dtype "float64" or "float32"."""
    to = working_dtype(dtype)
    for name, leaf in ((name, leaf) for name, tree in trees.items() for leaf in jax.tree.leaves(tree)):
        check.fits(name, leaf, to)
    return tuple(jax.tree.map(lambda leaf: jnp.asarray(leaf, to), tree) for tree in trees.values())
