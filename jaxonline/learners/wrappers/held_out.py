"""Risk on held-out examples of a learner's hypotheses and of their mean, under any feedback."""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Bool, Float

from jaxonline.game import bind, check_rounds, overflow_flag, play_round, start, stream_keys
from jaxonline.game.keys import part_key
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import (
    Component,
    Count,
    RandomKey,
    Rounds,
)

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
        learner: a learner whose predictions are numbers, or a `WithFeedback`.
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
            flag, most = overflow_flag(record.info), entrant.feedback.max_copies
            overflow = jnp.bool_(False) if flag is None else flag
            overflow |= jnp.bool_(False) if most is None else record.queries > most
            return (states, predictions, mean, random), (risk(mean), random, risk(predictions), overflow)

        states = start(game, entrant, keys)
        predictions = predict(keys, jnp.int32(0), states)
        carry = states, predictions, jnp.zeros_like(predictions), jnp.zeros((), risk(predictions).dtype)
        return jax.lax.scan(one_round, carry, jnp.arange(1, n_rounds + 1, dtype=jnp.int32))[1]

    return jax.vmap(one_run)(run_keys)
