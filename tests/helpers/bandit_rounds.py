"""Bandit learners, random rounds for them, and the keys of their random numbers."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline import feedback, game, learners

T, K = 120, 4
DETERMINISTIC = {
    "explore then commit": learners.ExploreThenCommit(6),
    "UCB1": learners.UCB1(),
    "MOSS": learners.MOSS(n_rounds=T),
    "KL-UCB": learners.KLUCB(c=1.0),
    "UCB1-tuned": learners.UCB1Tuned(),
    "UCB2": learners.UCB2(0.2),
    "UCB, fixed confidence": learners.FixedConfidenceUCB.over_horizon(T, 0.3),
    "UCB, asymptotic": learners.AsymptoticUCB(0.3),
    "discounted UCB": learners.DiscountedUCB(0.95, 0.1),
    "sliding-window UCB": learners.SlidingWindowUCB(32, 0.1),
    "MOSS, Gaussian": learners.MOSS(n_rounds=T, exploration=0.4),
}
RANDOMISED = {
    "epsilon-greedy": learners.EpsilonGreedy(2.0, power=0.5),
    "EXP3-IX": learners.EXP3IX(0.2, 0.1),
    "EXP3.P": learners.EXP3P(0.2, 0.05, 0.1),
    "Gaussian Thompson": learners.GaussianThompson(0.4, 0.3, 2.0),
    "Bernoulli Thompson": learners.BernoulliThompson(1.5, 2.0),
    "Tsallis-INF": learners.TsallisINF(),
    "Tsallis-INF, importance-weighted": learners.TsallisINF("importance_weighted"),
}
CONTEXTUAL = {
    "EXP4": learners.EXP4(0.5, 0.1),
    "LinUCB": learners.LinUCB(0.3, 0.7),
    "linear Thompson": learners.LinThompson(0.3, 0.7),
}
LEARNERS = DETERMINISTIC | RANDOMISED | CONTEXTUAL


def random_rounds(seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts [T, K, K] of distributions, and losses [T, K] in [0, 1], linear in contexts plus noise."""
    rng = np.random.default_rng(seed)
    x = rng.dirichlet(np.ones(K), size=(T, K))
    losses = 0.5 * x @ np.linspace(0, 1, K) + 0.1 * np.arange(K) + 0.2 * rng.uniform(size=(T, K))
    return x, losses


def round_keys(key, t):
    return tuple(jax.random.fold_in(jax.random.fold_in(key, t), index) for index in (0, 1))


@jax.jit
def arms_of_run(learner, x, losses, key):

    def play_round(state, row):
        t, x, losses = row
        predict_key, update_key = round_keys(key, t)
        move = learner.predict(predict_key, state, x)
        state, _ = learner.update(update_key, state, feedback.BanditOracle(x, move, losses))
        return state, move.arm if isinstance(move, game.Draw) else move

    specs = game.Specs(*(jax.ShapeDtypeStruct(rows.shape[1:], rows.dtype) for rows in (x, losses)))
    rows = jnp.arange(len(losses), dtype=jnp.int32), x, losses
    return jax.lax.scan(play_round, learner.init(None, specs), rows)[1]
