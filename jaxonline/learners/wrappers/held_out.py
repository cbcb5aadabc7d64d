"""One predictor from all hypotheses of a learner, and its risk on held-out examples."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from jaxonline.environments.data import DataStream
from jaxonline.feedback import FullInformation
from jaxonline.game import Game, bind, check_rounds, overflow_flag, play_round, start, stream_keys
from jaxonline.game.keys import part_key
from jaxonline.game.oracles import ran_out_of_copies
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import (
    Component,
    Count,
    OpenUnitFloat,
    PositiveFloat,
    PyTree,
    RandomKey,
    Rounds,
    Takes,
)

# ---------------------------------------------------------------------------------------------------------------------
# Risk on held-out data of a learner's hypotheses and of their mean, under any feedback.


HELD_OUT = 2  # index in the learner's key of a round, beside PREDICT and UPDATE


class HeldOutRisk(NamedTuple):
    """Result of `held_out_risk`: mean losses on the held-out rows after every round [n_runs, n_rounds].

    Attributes:
        mean: risk of the mean prediction of the hypotheses of rounds 1 to t.
        random: mean risk of these hypotheses, that is the expected risk of a hypothesis drawn at random.
        last: risk of the hypothesis after t updates.
        overflowed: whether a run had no room for a copy, or asked for more copies than are measured [n_runs]; its later
            risks are not valid.
    """

    mean: Float[np.ndarray, "n_runs n_rounds"]
    random: Float[np.ndarray, "n_runs n_rounds"]
    last: Float[np.ndarray, "n_runs n_rounds"]
    overflowed: Bool[np.ndarray, "n_runs"]


@cites("cesabianchi2004generalization")
@validate_arguments
def held_out_risk(
    game: Annotated[Any, Component("game")],
    learner: Annotated[Any, Component("learner")],
    X: Float[ArrayLike, "m d"],
    y: Float[ArrayLike, "m"],
    n_rounds: Rounds,
    n_runs: Count = 1,
    seed: RandomKey = 0,
) -> HeldOutRisk:
    """Play a game, and evaluate the learner's hypotheses on held-out rows (online-to-batch conversion).

    The feedback may be any feedback, and the hypotheses may be of any type: the mean of the predictions replaces the
    prediction of a mean hypothesis. If the rows of the game are independent draws and the loss is convex, the expected
    risk of the mean prediction exceeds that of any fixed competitor by at most the expected regret divided by t.
    Without convexity this holds for a random hypothesis.

    Args:
        game: the game; its loss evaluates the predictions.
        learner: a learner whose predictions are numbers, or an `Entrant`.
        X: clean held-out instances, which the learner does not see.
        y: clean held-out targets.
        n_rounds: number of rounds.
        n_runs: number of runs. Run r has the random numbers of `play` with the key `fold_in(key, r)`.
        seed: seed of the runs' random numbers.

    Raises:
        ValueError: held-out instances do not have the shape of the game's instances; the feedback has fewer rounds.
        TypeError: the predictions are not numbers.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(600, 2))
        >>> y = X @ [0.6, -0.3]
        >>> game = jo.Game(jo.environments.DataStream(X[:400], y[:400]), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.05, radius=1.0)
        >>> risk = jo.learners.held_out_risk(game, learner, X[400:], y[400:], n_rounds=400)
        >>> bool(risk.mean[0, -1] < 0.1 * np.mean(y**2))
        True
    """
    check.rows("X", X, "y", y)
    bound = bind(game, learner)
    check_rounds(game, bound.entrant, n_rounds)
    y_hat, instance = bound.record.y_hat, bound.game.specs.instance
    if jnp.shape(y_hat) or not jnp.issubdtype(getattr(y_hat, "dtype", bool), jnp.floating):
        raise ArgumentTypeError("learner", f"must predict numbers (got {type(learner).__name__})")
    if getattr(instance, "shape", None) != np.shape(X)[1:]:
        raise ArgumentError("X", f"must have rows like the game's instances, {instance} (got shape {np.shape(X)})")
    key = check.as_key("seed", seed)
    keys = jax.vmap(lambda run: jax.random.fold_in(key, run))(jnp.arange(n_runs, dtype=jnp.uint32))
    X, y = jnp.asarray(X, instance.dtype), jnp.asarray(y, bound.game.dtype)
    *risks, overflows = _risks(bound.game, bound.entrant, keys, X, y, n_rounds)
    mean, random, last = (np.asarray(risk, float) for risk in risks)
    return HeldOutRisk(mean, random, last, np.any(np.asarray(overflows), axis=1))


@jax.jit(static_argnames="n_rounds")
def _risks(game, entrant, run_keys, X, y, n_rounds):
    @exact_products()
    def predict(keys, t, states):
        key = part_key(keys.learner, t, HELD_OUT)
        return jax.vmap(lambda x: entrant.learner.predict(key, states.learner, x))(X)

    def risk(predictions):
        return jnp.mean(jax.vmap(game.loss)(predictions, y))

    def one_run(key):
        keys = stream_keys(key)

        def one_round(carry, t):
            states, predictions, mean, random = carry
            share = 1 / t.astype(mean.dtype)
            mean = mean + (predictions - mean) * share
            random = random + (risk(predictions) - random) * share
            states, record = play_round(game, entrant, keys, t, states)
            predictions = predict(keys, t, states)
            flags = overflow_flag(record.info), ran_out_of_copies(entrant.feedback, record.queries)
            overflow = functools.reduce(jnp.logical_or, [flag for flag in flags if flag is not None], jnp.bool_(False))
            return (states, predictions, mean, random), (risk(mean), random, risk(predictions), overflow)

        states = start(game, entrant, keys)
        predictions = predict(keys, jnp.int32(0), states)
        carry = states, predictions, jnp.zeros_like(predictions), jnp.zeros((), risk(predictions).dtype)
        return jax.lax.scan(one_round, carry, jnp.arange(1, n_rounds + 1, dtype=jnp.int32))[1]

    return jax.vmap(one_run)(run_keys)


# ---------------------------------------------------------------------------------------------------------------------
# Online-to-batch conversion: one predictor from all hypotheses of a run. Cesa-Bianchi, Conconi and Gentile (2004).


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
