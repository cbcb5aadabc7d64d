"""VAW and combiners of experts over known sequences, without a game, for the multi-kernel studies.

Tests check that the predictions equal those of `jo.play`. The functions here take less time: they can be jitted and
vmapped over sequences, VAW runs in blocks of rounds that use matrix products (`vaw.absorb`), and the forecasts of many
kernels run in parallel on every core.
"""

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxonline import random
from jaxonline._xla.compile_options import jit_with_options, matmul_options
from jaxonline._xla.threads import default_threads, run_parallel
from jaxonline.estimators.fourier import AnyFeatures
from jaxonline.feedback import FullOracle
from jaxonline.game.keys import INIT, PREDICT, UPDATE, part_key
from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.experts.advice import OverAdvice, Truncated, as_learner
from jaxonline.learners.linear.vaw import VAW, absorb, initial_state
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import ENABLE_X64_HINT, Component, Count, Positive, PyTree

BLOCK_ROUNDS = 32  # rounds per block, fastest for 20 to 200 features
KERNELS_PER_CORE = 12  # at most: their matrices of 100 x 100 float64 fit a core's second cache
BATCHES_PER_JOB = 4  # at most: so that cores which are not equally fast are done at about the same time


class Forecasts(NamedTuple):
    """Predictions of VAW and of online ridge, at the cost of one of the two.

    Attributes:
        ridge: predictions of online ridge, which uses S_(t-1): `VAW(forward=False)`.
        vaw: predictions of VAW, which uses S_t.
    """

    ridge: Float[Array, "..."]
    vaw: Float[Array, "..."]


@validate_arguments
def forecast(
    Z: Float[ArrayLike, "T m"],
    y: Float[ArrayLike, "T"],
    *,
    regularizer: Positive = 1.0,
    block: Count = BLOCK_ROUNDS,
    dtype: Literal["float64", "float32"] = "float64",
) -> tuple[Forecasts, Any]:
    """All predictions of `VAW` and of online ridge over a sequence, and their final `VAWState`.

    Args:
        Z: instances, one row per round.
        y: targets; the prediction of round t does not depend on y_t or later targets.
        regularizer: lambda.
        block: rounds per block, which changes predictions by rounding only.
        dtype: "float64", or "float32", in which rounding errors of long runs accumulate.

    Raises:
        ValueError: shapes do not match, entries are not finite, or float64 is disabled in JAX.

    Example:
        >>> import jax, numpy as np
        >>> from benchmarks.papers.engines.kernels import forecast
        >>> with jax.enable_x64(True):
        ...     forecasts, state = forecast(np.ones((3, 1)), np.ones(3))
        >>> [f"{mean:.3f}" for mean in forecasts.vaw], f"{state.w[0]:.3f}"
        (['0.000', '0.333', '0.500'], '0.750')
    """
    Z, y = check.rows("Z", Z, "y", y)
    return _forecast(*cast_to(dtype, Z=Z, y=y, regularizer=regularizer), block)


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
    """Compute `forecast` as a pure function of features, block by block; None takes the instances as features.

    A method `features.map_rows` [n, ...], such as that of `Dictionary`, computes the features of a block at once. Only
    the first `n_rounds` rounds are played, as in `play_sequence`.
    """
    n, block = len(y), min(block, len(y))
    n_blocks = -(-n // block)

    def columns(rows):
        if features is None:
            return rows.T
        map_rows = getattr(features, "map_rows", None) or jax.vmap(features)
        return map_rows(rows).reshape(len(rows), -1).T

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
    state, forecasts = scan_first(step, first, rows, Forecasts(none, none), -(-played // block))
    return jax.tree.map(lambda values: values.reshape(-1)[:n], forecasts), state


# ---------------------------------------------------------------------------------------------------------------------
# Forecasts of many kernels


@validate_arguments
def expert_forecasts(
    features: AnyFeatures,
    X: Float[ArrayLike, "T d"],
    y: Float[ArrayLike, "T"],
    *,
    regularizer: Positive = 1.0,
    dtype: Literal["float64", "float32"] = "float64",
) -> Forecasts:
    """Predictions [T, N] of online ridge and of VAW for each of N kernels: the experts of a `MultiKernel`.

    Args:
        features: feature maps of N kernels, a pytree whose leaves have a leading axis of N: a `Dictionary`, or stacked
            `FourierFeatures`.
        X: instances, one row per round.
        y: targets.
        regularizer: lambda.
        dtype: "float64", or "float32", in which rounding errors of long runs accumulate.

    Raises:
        ValueError: shapes do not match, entries are not finite, or float64 is disabled in JAX.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.estimators.fourier import Dictionary
        >>> from benchmarks.papers.engines.kernels import expert_forecasts
        >>> with jax.enable_x64(True):
        ...     forecasts = expert_forecasts(Dictionary(np.zeros((2, 1, 1))), np.ones((3, 1)), np.ones(3))
        >>> np.round(forecasts.vaw[:, 0], 3).tolist(), forecasts.vaw.shape  # 0, 1/3, 2/4
        ([0.0, 0.333, 0.5], (3, 2))
    """
    X, y = check.rows("X", X, "y", y)
    jobs, gather = expert_jobs(*cast_to(dtype, features=features, X=X, y=y, regularizer=regularizer))
    return gather(run_parallel(jobs))


def expert_jobs(
    features: Any,
    X: Float[Array, "T d"],
    y: Float[Array, "T"],
    regularizer: Float[Array, ""],
    n_rounds: Int[Array, ""] | int | None = None,
) -> tuple[list[Callable[[], Forecasts]], Callable[[list[Forecasts]], Forecasts]]:
    """Return `expert_forecasts` of the first `n_rounds` rounds as jobs for threads, and a function that joins them."""
    N, platform, cores = len(jax.tree.leaves(features)[0]), jax.default_backend(), default_threads()
    n_jobs, n_batches = 1, 1
    if platform == "cpu":
        n_jobs = cores * -(-N // (KERNELS_PER_CORE * BATCHES_PER_JOB * cores))
        n_batches = -(-N // (KERNELS_PER_CORE * n_jobs))
    batch_size = -(-N // (n_batches * n_jobs))
    job_size = n_batches * batch_size
    features = jax.tree.map(np.asarray, features)

    def job(first):
        kernels = np.arange(first, first + job_size).reshape(n_batches, batch_size) % N  # pads with the first kernels
        job_features = jax.tree.map(lambda leaf: leaf[kernels], features)
        return lambda: _forecast_batches(job_features, X, y, regularizer, n_rounds)

    def gather(results):
        joined: list[Any] = [np.concatenate(forecasts)[:N].T for forecasts in zip(*results, strict=True)]
        return Forecasts(*joined)

    return [job(first) for first in range(0, N, job_size)], gather


@jit_with_options(matmul_options)
def _forecast_batches(features, X, y, regularizer, n_rounds):
    """Forecasts [kernels, T] for features with two leading axes: batches, and the kernels of a batch."""
    of_kernels = jax.vmap(lambda kernel: scan_blocks(kernel, X, y, regularizer, BLOCK_ROUNDS, n_rounds)[0])
    return jax.tree.map(lambda values: values.reshape(-1, len(y)), jax.lax.map(of_kernels, features))


# ---------------------------------------------------------------------------------------------------------------------
# Combiners of experts


class Aggregation(NamedTuple):
    """Result of `aggregate`.

    Attributes:
        predictions: predictions [T]; each one is based on the rounds before it.
        weights: weights of the experts after the last round [K].
    """

    predictions: Float[Array, "T"]
    weights: Float[Array, "K"]


def aggregate(
    combiner: Annotated[Any, Component("combiner", "learner")],
    experts: Float[ArrayLike, "T K"],
    targets: Float[ArrayLike, "T"],
    loss: Annotated[Any, Component("loss")] = None,
    *,
    dtype: Literal["float64", "float32"] = "float64",
) -> Aggregation:
    """Aggregate (combine) the predictions of experts over a sequence.

    Args:
        combiner: `EWA`, `BOA`, `MLPoly`, `MLProd`, another `Combiner`, or a learner over advice: `Aggregating`, `VAW`,
            `Truncated`, any learner with `weights(state)` whose instances are vectors of expert predictions.
        experts: predictions of K experts, one row per round.
        targets: targets.
        loss: loss of the experts for a combiner, `loss(prediction, target)`, by default the squared loss. A learner
            has its own loss.
        dtype: "float64" or "float32".

    Raises:
        ValueError: shapes do not match, entries are not finite, targets are outside the combiner's declared range,
            `loss` is given for a learner, or float64 is disabled in JAX.
        TypeError: `combiner` is neither a combiner nor a learner.

    Example:
        >>> import jax, numpy as np
        >>> from benchmarks.papers.engines.kernels import aggregate
        >>> from jaxonline.learners import EWA
        >>> with jax.enable_x64(True):
        ...     result = aggregate(EWA(0.5), np.tile([0.0, 1.0], (40, 1)), np.ones(40))
        >>> np.round(result.predictions[:3], 3).tolist(), bool(np.asarray(result.weights)[1] > 0.999)
        ([0.5, 0.622, 0.731], True)
    """
    if loss is not None and isinstance(combiner, Learner):
        kind = type(combiner).__name__
        raise ArgumentError("loss", f"must be left out for a learner with its own, {kind} (got {check.quote(loss)})")
    learner = as_learner(combiner) if loss is None else OverAdvice(combiner, loss)
    experts, targets = check.rows("experts", experts, "targets", targets)
    of_dtype = cast_to(dtype, experts=experts, targets=targets)
    _check_labels(learner, np.asarray(targets))
    return _aggregate(learner, *of_dtype)


def _check_labels(learner: Any, targets: np.ndarray) -> None:
    """Check targets against the range that a learner declares, if any."""
    low, high = (check.concrete_array(getattr(learner, end, None)) for end in ("low", "high"))
    if low is None or high is None:
        return
    outside = np.flatnonzero((targets < low) | (targets > high))
    if len(outside):
        raise ArgumentError(
            "targets",
            f"must be in [{float(low):g}, {float(high):g}], the range of {type(learner).__name__} (got "
            f"{targets[outside[0]]:g} in round {outside[0] + 1}, and {len(outside)} such rounds in all)",
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
    """Run a full-information learner, or a combiner, over a sequence, as a pure function.

    It plays the rounds of the game and records only predictions; `VAW`, truncated or not, runs in blocks. Round t = 1,
    2, ... has the keys `part_key(key, t, PREDICT)` and `part_key(key, t, UPDATE)`, and `init` has `part_key(key, 0,
    INIT)`. A deterministic learner needs no key.

    Only the first `n_rounds` rounds are played; later predictions are meaningless. `n_rounds` may be traced, so that
    one program handles sequences of different lengths, padded with finite numbers.

    Returns predictions and final weights, and the learner's final state.
    """
    learner = as_learner(learner)
    if isinstance(learner, Truncated) and isinstance(learner.learner, VAW):
        return play_sequence(learner.learner, learner.clip(X), learner.nan_outside_range(y), key, n_rounds)
    if isinstance(learner, VAW):
        forecasts, state = scan_blocks(learner.features, X, y, learner.regularizer, BLOCK_ROUNDS, n_rounds)
        return Aggregation(forecasts.vaw if learner.forward else forecasts.ridge, learner.weights(state)), state

    key = None if key is None else random.inlined(key)

    def keys_of(t):
        return [None if key is None else part_key(key, t, part) for part in (PREDICT, UPDATE)]

    def play_round(state, row):
        keys, x, target = row
        prediction = learner.predict(keys[0], state, x)
        state, _ = learner.update(keys[1], state, FullOracle(x, target))
        return state, prediction

    keys = jax.vmap(keys_of)(jnp.arange(1, len(y) + 1, dtype=jnp.int32))
    specs = Specs(jax.ShapeDtypeStruct(X.shape[1:], X.dtype), jax.ShapeDtypeStruct((), y.dtype))
    first = learner.init(None if key is None else part_key(key, 0, INIT), specs)
    state, predictions = scan_first(play_round, first, (keys, X, y), jnp.zeros(len(y), X.dtype), n_rounds)
    return Aggregation(predictions, learner.weights(state)), state


def working_dtype(dtype: str) -> np.dtype:
    """Return the dtype "float64" or "float32"; ValueError if it is neither, or if JAX has float64 disabled."""
    check.choice("dtype", dtype, ("float64", "float32"))
    if dtype == "float64" and jnp.result_type(float) != jnp.float64:
        raise ValueError(f"dtype: float64 is disabled in JAX; {ENABLE_X64_HINT}, or pass dtype='float32'")
    return np.dtype(dtype)


def cast_to(dtype: str, **trees: Any) -> tuple[Any, ...]:
    """Cast the leaves of named arguments to the dtype "float64" or "float32"."""
    target = working_dtype(dtype)
    for name, leaf in ((name, leaf) for name, tree in trees.items() for leaf in jax.tree.leaves(tree)):
        check.fits_dtype(name, leaf, target)
    return tuple(jax.tree.map(lambda leaf: jnp.asarray(leaf, target), tree) for tree in trees.values())


def scan_first(
    step: Callable[[PyTree, PyTree], tuple[PyTree, PyTree]], state: PyTree, rows: PyTree, outputs: PyTree, n: Any
) -> tuple[PyTree, PyTree]:
    """`jax.lax.scan` over the first n rows (all if None; n may be traced); later `outputs` stay as given."""

    def body(t, carry):
        state, filled = carry
        row = jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, t, keepdims=False), rows)
        state, output = step(state, row)
        put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=t, axis=0)
        return state, jax.tree.map(put, filled, output)

    n_rows = len(jax.tree.leaves(outputs)[0])
    return jax.lax.fori_loop(0, n_rows if n is None else n, body, (state, outputs))
