"""Combine the predictions of any experts: an array of predictions and the targets are enough."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree

from jaxonline._util import check
from jaxonline._util.precision import working_dtype
from jaxonline.feedback import FullOracle
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.truncated import Truncated
from jaxonline.learners.vaw import BLOCK, VAW, scan_blocks


class Aggregation(NamedTuple):
    """What `aggregate` returns.

    Attributes:
        predictions: one a round [T], each from the rounds before it.
        weights: of the experts after the last round [K].

    Example:
        >>> from jaxonline.learners.aggregation import Aggregation
        >>> Aggregation._fields
        ('predictions', 'weights')
    """

    predictions: Float[Array, "T"]
    weights: Float[Array, "K"]


def aggregate(
    combiner: Any, experts: Float[ArrayLike, "T K"], targets: Float[ArrayLike, "T"], *, dtype: str = "float64"
) -> Aggregation:
    """Play a combiner over a sequence of expert predictions.

    Args:
        combiner: `EWA`, `Aggregating`, `BOA`, `MLPoly`, `MLProd`, `VAW`, `Truncated` of one of these, or any learner
            with `weights(state)` whose instances are the vectors of expert predictions.
        experts: predictions of K experts, one row a round, at least one.
        targets: one a round.
        dtype: "float64" or "float32".

    Raises:
        ValueError: shapes that do not match, entries that are not finite, targets outside the combiner's declared
            range, or float64 where JAX has it disabled.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.learners.aggregation import aggregate
        >>> from jaxonline.learners.experts.ewa import EWA
        >>> with jax.enable_x64(True):
        ...     result = aggregate(EWA(0.5), np.tile([0.0, 1.0], (40, 1)), np.ones(40))
        >>> np.round(result.predictions[:3], 3).tolist(), bool(np.asarray(result.weights)[1] > 0.999)
        ([0.5, 0.622, 0.731], True)
    """
    experts, targets = check.rows("experts", experts, "targets", targets)
    kind = working_dtype(dtype)
    check_labels(combiner, np.asarray(targets))
    return _aggregate(combiner, jnp.asarray(experts, kind), jnp.asarray(targets, kind))


def check_labels(combiner: Any, targets: np.ndarray) -> None:
    """Check targets against the range that a combiner declares, if it does.

    Raises:
        ValueError: a target is outside.

    Example:
        >>> import numpy as np
        >>> from jaxonline.learners.aggregation import check_labels
        >>> from jaxonline.learners.experts.aggregating import Aggregating
        >>> check_labels(Aggregating(0.0, 1.0), np.array([0.0, 1.0]))
    """
    label_range = getattr(combiner, "label_range", None)
    if label_range is None:
        return
    low, high = (check.concrete(end) for end in label_range)
    if low is None or high is None:
        return
    outside = np.flatnonzero((targets < low) | (targets > high))
    if len(outside):
        raise ValueError(
            f"targets must be in [{float(low):g}, {float(high):g}], the range that {type(combiner).__name__} declares, "
            f"got {targets[outside[0]]:g} in round {outside[0] + 1} ({len(outside)} such rounds)"
        )


_aggregate = jax.jit(lambda combiner, experts, targets: play_sequence(combiner, experts, targets)[0])


def play_sequence(
    learner: Any, X: Float[Array, "T d"], y: Float[Array, "T"], key: Array | None = None
) -> tuple[Aggregation, PyTree]:
    """Play a learner of full information over a sequence, as a pure function; returns its final state, too.

    Rounds t = 1, 2, ... use `fold_in(key, t)`, round 0 is `init`. `VAW`, truncated or not, is played in blocks.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners.aggregation import play_sequence
        >>> from jaxonline.learners.experts.ml_poly import MLPoly
        >>> play_sequence(MLPoly(), jnp.ones((2, 1)), jnp.ones(2))[0].weights.tolist()
        [1.0]
    """
    if isinstance(learner, Truncated):
        return play_sequence(learner.learner, learner.clip(X), learner.promised(y), key)
    if isinstance(learner, VAW):
        forecasts, state = scan_blocks(learner.features, X, y, learner.regularizer, BLOCK)
        return Aggregation(forecasts.vaw if learner.forward else forecasts.ridge, learner.weights(state)), state
    spec = jax.ShapeDtypeStruct(X.shape[1:], X.dtype)

    def round_key(t, stream):
        return None if key is None else jax.random.fold_in(jax.random.fold_in(key, t), stream)

    def round_(state, row):
        keys, x, target = row
        prediction = learner.predict(keys[0], state, x)
        state, _ = learner.update(keys[1], state, FullOracle(x, target))
        return state, prediction

    rounds = jnp.arange(1, len(y) + 1, dtype=jnp.int32)
    keys = (None, None) if key is None else jax.vmap(lambda t: (round_key(t, 0), round_key(t, 1)))(rounds)
    state, predictions = jax.lax.scan(
        round_, learner.init(round_key(0, 0), Specs(spec, jax.ShapeDtypeStruct((), y.dtype))), (keys, X, y)
    )
    return Aggregation(predictions, learner.weights(state)), state
