"""From online to batch: one predictor from all hypotheses of a run: Cesa-Bianchi, Conconi and Gentile (2004)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree

from jaxonline._util import check
from jaxonline.environments.data import DataStream
from jaxonline.feedback import FullInformation
from jaxonline.game import Game, bind, play_round, start, stream_keys


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

    def risk_bound(self, confidence: float = 0.95, loss_range: float = 1.0) -> float:
        """M + range sqrt(ln(1 / (1 - confidence)) / (2 T)): above the risk of the mean hypothesis, with `confidence`.

        For rows that are independent draws, a loss that is convex in the hypothesis, and losses in an interval of
        length `loss_range`. It is Corollary 2 of the paper by the Hoeffding-Azuma inequality for steps of a range,
        whose deviation is half of the printed one, sqrt(2 ln(1 / (1 - confidence)) / T).

        Raises:
            ValueError: `confidence` outside (0, 1), or `loss_range` not above 0.
        """
        check.number("confidence", confidence, gt=0.0, lt=1.0)
        check.positive("loss_range", loss_range)
        return self.mean_loss + loss_range * float(np.sqrt(np.log(1.0 / (1.0 - confidence)) / (2.0 * self.n_rounds)))


def online_to_batch(
    learner: Any,
    X: Float[ArrayLike, "T d"],
    y: Float[ArrayLike, "T"],
    loss: Any,
    hypothesis: Callable[[PyTree], PyTree] | None = None,
    seed: int = 0,
) -> BatchPredictor:
    """Play a learner once over rows in their order, and average the hypotheses that it played.

    Args:
        learner: of full information, whose prediction is linear in the hypothesis.
        X: instances.
        y: outcomes.
        loss: `loss(y_hat, y)`, convex in the prediction.
        hypothesis: `hypothesis(state)`, of a state of the learner; by default the state's `w`, or the state itself
            where it is an array.
        seed: of the learner's random numbers.

    Returns:
        The mean of the hypotheses before each round, with the mean loss and the bound on its risk.

    Raises:
        ValueError: `X` and `y` are not rows of one number.
        TypeError: the state has no `w`, and no `hypothesis` is given.

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
    if hypothesis is not None:
        check.function("hypothesis", hypothesis, "the learner's state")
    bound = bind(game, learner)
    n_rounds = len(np.asarray(y))
    key = check.key_of("seed", seed)
    mean, losses = _averaged(bound.game, bound.entrant, key, n_rounds, hypothesis or _hypothesis)
    return BatchPredictor(jax.tree.map(np.asarray, mean), float(np.mean(np.asarray(losses, float))), n_rounds)


def _hypothesis(state: PyTree) -> Array:
    if isinstance(state, jax.Array):
        return state
    if not hasattr(state, "w"):
        raise TypeError(f"hypothesis must be given for a state without w, {type(state).__name__}, got None")
    return state.w


@jax.jit(static_argnames=("n_rounds", "hypothesis"))
def _averaged(game, entrant, key, n_rounds, hypothesis):
    keys = stream_keys(key)

    def one_round(carry, t):
        states, mean = carry
        mean = jax.tree.map(lambda m, w: m + (w - m) / t.astype(m.dtype), mean, hypothesis(states.learner))
        states, record = play_round(game, entrant, keys, t, states)
        return (states, mean), record.loss

    first = start(game, entrant, keys)
    mean = jax.tree.map(jnp.zeros_like, hypothesis(first.learner))
    rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
    (_, mean), losses = jax.lax.scan(one_round, (first, mean), rounds)
    return mean, losses
