"""Online-to-batch conversion: one predictor from all hypotheses of a run. Cesa-Bianchi, Conconi and Gentile (2004)."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.environments.data import DataStream
from jaxonline.feedback import FullInformation
from jaxonline.game import Game, bind, check_rounds, play_round, start, stream_keys
from jaxonline.linalg.programs import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.types import (
    Component,
    OpenUnitFloat,
    PositiveFloat,
    PyTree,
    RandomKey,
    Takes,
)
from jaxonline.parameters.validation import validate_arguments


class BatchPredictor(NamedTuple):
    """Result of `online_to_batch`: mean `hypothesis` of the run, `mean_loss` M, and `n_rounds` T."""

    hypothesis: PyTree
    mean_loss: float
    n_rounds: int

    @validate_arguments
    def risk_bound(self, confidence: OpenUnitFloat = 0.95, loss_range: PositiveFloat = 1.0) -> float:
        """Return the bound M + range sqrt(ln(1 / (1 - confidence)) / (2 T)) on the risk of the mean hypothesis.

        The bound holds if the rows are independent draws, the loss is convex in the hypothesis, and losses lie in an
        interval of length `loss_range`. The bound is Corollary 2 of the paper, but with the Hoeffding-Azuma inequality
        for steps in an interval. So the deviation is half of the paper's deviation, sqrt(2 ln(1 / (1 - confidence)) /
        T).
        """
        return self.mean_loss + loss_range * float(np.sqrt(np.log(1.0 / (1.0 - confidence)) / (2.0 * self.n_rounds)))


@cites("cesabianchi2004generalization")
@validate_arguments
def online_to_batch(
    learner: Annotated[Any, Component("learner")],
    X: Float[ArrayLike, "T d"],
    y: Float[ArrayLike, "T"],
    loss: Annotated[Any, Component("loss")],
    hypothesis: Annotated[Callable[[PyTree], PyTree], Takes("the learner's state")] | None = None,
    seed: RandomKey = 0,
    feedback: Annotated[Any, Component("feedback")] | None = None,
) -> BatchPredictor:
    """Run a learner once over the rows in their order, and average its hypotheses.

    Args:
        learner: a learner whose prediction is linear in the hypothesis.
        X: instances.
        y: outcomes.
        loss: `loss(y_hat, y)`, convex in the prediction.
        hypothesis: `hypothesis(state)` returns the hypothesis, in which the next prediction is linear. The default is
            the vector w of predictions <w, x>: the learner's `w(state)`, or else the state if it is an array, or else
            the state's `average` or `w`. The function checks that the learner predicts with this vector.
        seed: seed of the random numbers of the learner and of the feedback.
        feedback: feedback of the learner, by default full information. The losses in M are those on the clean rows.

    Raises:
        TypeError: `hypothesis` is None, and the learner predicts with none of the default vectors.
        ValueError: `hypothesis` is None, and a loss is NaN or infinite; the feedback has fewer rounds than there are
            rows.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1.0, 1.0, size=(400, 2))
        >>> hinge = jo.losses.Hinge()
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(hinge), step_size=0.1, radius=1.0)
        >>> predictor = jo.learners.online_to_batch(learner, X, np.sign(X[:, 0]), hinge)
        >>> bound = predictor.risk_bound(0.95, loss_range=2.5)
        >>> bool(predictor.hypothesis[0] > 0.5), round(bound - predictor.mean_loss, 3)
        (True, 0.153)
    """
    check.rows("X", X, "y", y)
    game = Game(DataStream(X, y), FullInformation() if feedback is None else feedback, loss=loss)
    bound = bind(game, learner)
    n_rounds = len(np.asarray(y))
    check_rounds(game, bound.entrant, n_rounds)
    key = check.as_key("seed", seed)
    mean, losses, are_linear = _average_hypotheses(bound.game, bound.entrant, key, n_rounds, hypothesis)
    is_finite = np.isfinite(np.asarray(losses))
    if hypothesis is None and not np.all(is_finite):
        first = int(np.argmin(is_finite)) + 1
        problem = "must have finite losses; large steps or too few measured copies give others"
        raise ArgumentError("learner", f"{problem} (got {np.asarray(losses)[first - 1]} in round {first})")
    if not np.all(are_linear):
        first = int(np.argmin(are_linear)) + 1
        raise ArgumentTypeError(
            "hypothesis",
            f"must be given: {type(learner).__name__} does not predict <w, x> with the w of its state "
            f"(first in round {first}; got None)",
        )
    return BatchPredictor(jax.tree.map(np.asarray, mean), float(np.mean(np.asarray(losses, float))), n_rounds)


def _weight_vector(learner: Any, state: PyTree) -> Array:
    """Return the vector with which a learner seems to predict."""
    if callable(getattr(learner, "w", None)):
        return learner.w(state)
    if isinstance(state, jax.Array):
        return state
    average = getattr(state, "average", None)
    w = getattr(state, "w", None) if average is None else average
    if w is None:
        raise ArgumentTypeError("hypothesis", f"must be given for a state without w, {type(state).__name__} (got None)")
    if not isinstance(w, jax.Array):
        problem = f"must predict with a vector of weights (got {type(learner).__name__} with {type(w).__name__})"
        raise ArgumentTypeError("learner", f"{problem}; use held_out_risk")
    return w


@exact_products()
def _is_linear_prediction(w: Array, x: Array, y_hat: Array) -> Array:
    """Whether y_hat is <w, x> up to rounding."""
    if w.shape != x.shape or jnp.shape(y_hat):
        return jnp.bool_(False)
    return jnp.abs(y_hat - w @ x) <= jnp.sqrt(jnp.finfo(w.dtype).eps) * (jnp.abs(w) @ jnp.abs(x))


@jax.jit(static_argnames=("n_rounds", "hypothesis"))
def _average_hypotheses(game, entrant, key, n_rounds, hypothesis):
    keys = stream_keys(key)
    to_hypothesis = functools.partial(_weight_vector, entrant.learner) if hypothesis is None else hypothesis

    def one_round(carry, t):
        states, mean = carry
        w = to_hypothesis(states.learner)
        mean = jax.tree.map(lambda m, w: m + (w - m) / t.astype(m.dtype), mean, w)
        states, record = play_round(game, entrant, keys, t, states)
        is_linear = jnp.bool_(True) if hypothesis is not None else _is_linear_prediction(w, record.x, record.y_hat)
        return (states, mean), (record.loss, is_linear)

    first = start(game, entrant, keys)
    mean = jax.tree.map(jnp.zeros_like, to_hypothesis(first.learner))
    rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
    (_, mean), (losses, are_linear) = jax.lax.scan(one_round, (first, mean), rounds)
    return mean, losses, are_linear
