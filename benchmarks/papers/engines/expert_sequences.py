"""Full-information learners over known sequences, without a game.

Tests check that the predictions equal those of `jo.play`. The functions here take less time: they can be jitted and
vmapped over sequences, and `VAW` runs in blocks of rounds.
"""

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from benchmarks.papers.engines.scanning import cast_to, scan_first
from benchmarks.papers.engines.vaw_blocks import BLOCK_ROUNDS, scan_blocks
from jaxonline import random
from jaxonline.feedback import FullOracle
from jaxonline.game.keys import INIT, PREDICT, UPDATE, part_key
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.learners.experts.advice import Truncated, as_learner
from jaxonline.learners.linear.vaw import VAW
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Component, PyTree


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
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA
        >>> with jax.enable_x64(True):
        ...     result = jo.aggregate(EWA(0.5), np.tile([0.0, 1.0], (40, 1)), np.ones(40))
        >>> np.round(result.predictions[:3], 3).tolist(), bool(np.asarray(result.weights)[1] > 0.999)
        ([0.5, 0.622, 0.731], True)
    """
    learner = as_learner(combiner, loss)
    experts, targets = check.rows("experts", experts, "targets", targets)
    of_dtype = cast_to(dtype, experts=experts, targets=targets)
    _check_labels(learner, np.asarray(targets))
    return _aggregate(learner, *of_dtype)


def _check_labels(learner: Any, targets: np.ndarray) -> None:
    """Check targets against the range that a learner declares, if any."""
    low, high = (check.concrete_array(end) for end in traits_of(learner, LearnerTraits).label_range or (None, None))
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
