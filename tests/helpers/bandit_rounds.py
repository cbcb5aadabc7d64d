"""Bandit learners, random rounds for them, and the keys of their random numbers."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.feedback import BanditOracle
from jaxonline.game import Draw, Specs
from jaxonline.learners import (
    EXP3IX,
    EXP3P,
    EXP4,
    KLUCB,
    MOSS,
    UCB1,
    UCB2,
    AsymptoticUCB,
    BernoulliThompson,
    DiscountedUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedConfidenceUCB,
    GaussianThompson,
    LinThompson,
    LinUCB,
    SlidingWindowUCB,
    TsallisINF,
    UCB1Tuned,
)

T, K = 120, 4
DETERMINISTIC = {
    "explore then commit": ExploreThenCommit(6), "UCB1": UCB1(), "MOSS": MOSS(n_rounds=T), "KL-UCB": KLUCB(c=1.0),
    "UCB1-tuned": UCB1Tuned(), "UCB2": UCB2(0.2), "UCB, fixed confidence": FixedConfidenceUCB.over_horizon(T, 0.3),
    "UCB, asymptotic": AsymptoticUCB(0.3), "discounted UCB": DiscountedUCB(0.95, 0.1),
    "sliding-window UCB": SlidingWindowUCB(32, 0.1), "MOSS, Gaussian": MOSS(n_rounds=T, exploration=0.4),
}  # fmt: skip
RANDOMISED = {
    "epsilon-greedy": EpsilonGreedy(2.0, power=0.5),
    "EXP3-IX": EXP3IX(0.2, 0.1),
    "EXP3.P": EXP3P(0.2, 0.05, 0.1),
    "Gaussian Thompson": GaussianThompson(0.4, 0.3, 2.0),
    "Bernoulli Thompson": BernoulliThompson(1.5, 2.0),
    "Tsallis-INF": TsallisINF(),
    "Tsallis-INF, importance-weighted": TsallisINF("importance_weighted"),
}
CONTEXTUAL = {"EXP4": EXP4(0.5, 0.1), "LinUCB": LinUCB(0.3, 0.7), "linear Thompson": LinThompson(0.3, 0.7)}
LEARNERS = DETERMINISTIC | RANDOMISED | CONTEXTUAL


def random_rounds(seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts [T, K, K] of distributions, and losses [T, K] in [0, 1], linear in contexts plus noise."""
    rng = np.random.default_rng(seed)
    x = rng.dirichlet(np.ones(K), size=(T, K))
    losses = 0.5 * x @ np.linspace(0, 1, K) + 0.1 * np.arange(K) + 0.2 * rng.uniform(size=(T, K))
    return x, losses


def round_keys(key, t):
    """Return the keys for predict and update in round t."""
    return tuple(jax.random.fold_in(jax.random.fold_in(key, t), index) for index in (0, 1))


@jax.jit
def arms_of_run(learner, x, losses, key):
    """Return the arms of a run."""

    def play_round(state, row):
        t, x, losses = row
        predict_key, update_key = round_keys(key, t)
        move = learner.predict(predict_key, state, x)
        state, _ = learner.update(update_key, state, BanditOracle(x, move, losses))
        return state, move.arm if isinstance(move, Draw) else move

    specs = Specs(*(jax.ShapeDtypeStruct(rows.shape[1:], rows.dtype) for rows in (x, losses)))
    rows = jnp.arange(len(losses), dtype=jnp.int32), x, losses
    return jax.lax.scan(play_round, learner.init(None, specs), rows)[1]
