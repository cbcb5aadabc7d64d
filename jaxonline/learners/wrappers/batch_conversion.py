"""From online to batch: one predictor from all hypotheses of a run: Cesa-Bianchi, Conconi and Gentile (2004)."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree

from jaxonline.environments.data import DataStream
from jaxonline.feedback import FullInformation
from jaxonline.game import Game, bind, play_round, start, stream_keys
from jaxonline.linalg.programs import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.types import (
    Component,
    OpenUnitFloat,
    PositiveFloat,
    RandomKey,
    Takes,
)
from jaxonline.parameters.validation import validate_arguments


class BatchPredictor(NamedTuple):
    """What `online_to_batch` returns.

    Attributes:
        hypothesis: the mean of the hypotheses that were played.
        mean_loss: the mean loss of the run, M.
        n_rounds: T.
    """

    hypothesis: PyTree
    mean_loss: float
    n_rounds: int

    @validate_arguments
    def risk_bound(self, confidence: OpenUnitFloat = 0.95, loss_range: PositiveFloat = 1.0) -> float:
        """M + range sqrt(ln(1 / (1 - confidence)) / (2 T)): above the risk of the mean hypothesis, with `confidence`.

        For rows that are independent draws, a loss that is convex in the hypothesis, and losses in an interval of
        length `loss_range`. It is Corollary 2 of the paper by the Hoeffding-Azuma inequality for steps of a range,
        whose deviation is half of the printed one, sqrt(2 ln(1 / (1 - confidence)) / T).
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
) -> BatchPredictor:
    """Play a learner once over rows in their order, and average the hypotheses that it played.

    Args:
        learner: of full information, whose prediction is linear in the hypothesis.
        X: instances.
        y: outcomes.
        loss: `loss(y_hat, y)`, convex in the prediction.
        hypothesis: `hypothesis(state)`, of a state of the learner: what its next prediction is linear in. By default
            the vector w of predictions <w, x>: the learner's `w(state)`, the state's `average` or `w`, or the state
            itself where it is an array, the first of these that there is. That it is played is checked.
        seed: of the learner's random numbers.

    Returns:
        The mean of the hypotheses before each round, with the mean loss and the bound on its risk.

    Raises:
        ValueError: `X` and `y` are not rows of one number.
        TypeError: no `hypothesis` is given, and none of these is what the learner predicts with.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import online_to_batch
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1.0, 1.0, size=(400, 2))
        >>> hinge = jo.losses.Hinge()
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(hinge), step_size=0.1, radius=1.0)
        >>> found = online_to_batch(learner, X, np.sign(X[:, 0]), hinge)
        >>> bool(found.hypothesis[0] > 0.5), round(found.risk_bound(0.95, loss_range=2.5) - found.mean_loss, 3)
        (True, 0.153)
    """
    check.rows("X", X, "y", y)
    game = Game(DataStream(X, y), FullInformation(), loss=loss)
    bound = bind(game, learner)
    n_rounds = len(np.asarray(y))
    key = check.as_key("seed", seed)
    mean, losses, are_played = _averaged(bound.game, bound.entrant, key, n_rounds, hypothesis)
    if not np.all(are_played):
        first = int(np.argmin(are_played)) + 1
        raise ArgumentTypeError(
            "hypothesis",
            f"must be given: {type(learner).__name__} does not predict <w, x> with the w of its state "
            f"(in round {first}, for one) (got None)",
        )
    return BatchPredictor(jax.tree.map(np.asarray, mean), float(np.mean(np.asarray(losses, float))), n_rounds)


def _vector(learner: Any, state: PyTree) -> Array:
    """The vector with which a learner predicts, as far as one can see."""
    if callable(getattr(learner, "w", None)):
        return learner.w(state)
    if isinstance(state, jax.Array):
        return state
    found = getattr(state, "average", None)
    found = getattr(state, "w", None) if found is None else found
    if found is None:
        raise ArgumentTypeError("hypothesis", f"must be given for a state without w, {type(state).__name__} (got None)")
    return found


@exact_products()
def _predicts(w: Array, x: Array, y_hat: Array) -> Array:
    """Whether y_hat is <w, x>, as far as rounding tells."""
    if w.shape != x.shape or jnp.shape(y_hat):
        return jnp.bool_(False)
    return jnp.abs(y_hat - w @ x) <= jnp.sqrt(jnp.finfo(w.dtype).eps) * (jnp.abs(w) @ jnp.abs(x))


@jax.jit(static_argnames=("n_rounds", "hypothesis"))
def _averaged(game, entrant, key, n_rounds, hypothesis):
    keys = stream_keys(key)
    of_state = functools.partial(_vector, entrant.learner) if hypothesis is None else hypothesis

    def one_round(carry, t):
        states, mean = carry
        played = of_state(states.learner)
        mean = jax.tree.map(lambda m, w: m + (w - m) / t.astype(m.dtype), mean, played)
        states, record = play_round(game, entrant, keys, t, states)
        is_played = jnp.bool_(True) if hypothesis is not None else _predicts(played, record.x, record.y_hat)
        return (states, mean), (record.loss, is_played)

    first = start(game, entrant, keys)
    mean = jax.tree.map(jnp.zeros_like, of_state(first.learner))
    rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
    (_, mean), (losses, are_played) = jax.lax.scan(one_round, (first, mean), rounds)
    return mean, losses, are_played
