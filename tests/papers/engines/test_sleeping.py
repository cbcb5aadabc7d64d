"""Arms and experts that are not always available: NumPy loops, theorems, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.engines.sleeping import (
    BestAvailable,
    Sleeping,
    SleepingHedge,
    SleepingUCB,
    sleeping_hedge,
    sleeping_ucb,
)
from jaxonline.environments import BernoulliArms, DataStream
from jaxonline.learners import UCB1, UpdateOnArrival
from jaxonline.learners.experts.weights import add_losses

K, T = 5, 200


def table_of(n_rounds=T, n_arms=K, seed=0, probability=0.5):
    rng = np.random.default_rng(seed)
    losses, masks = rng.random((n_rounds, n_arms)).astype(np.float32), rng.random((n_rounds, n_arms)) < probability
    masks[np.arange(n_rounds), rng.integers(n_arms, size=n_rounds)] = True
    return losses, masks


def game_of(environment, learner, **options):
    feedback = jo.FullInformation() if isinstance(learner, SleepingHedge) else jo.Bandit()
    return jo.Game(environment, feedback, loss=jo.losses.ArmLoss(), **options)


def play(environment, learner, n_rounds=T):
    return jo.play(game_of(environment, learner), learner, jax.random.key(3), n_rounds)[1]


def ucb_loop(losses, masks, exploration=2.0):
    """The arms of UCB1 among the available arms; the first available arm that was never pulled comes first."""
    n_arms = losses.shape[1]
    pulls, sums, arms = np.zeros(n_arms), np.zeros(n_arms), []
    for row, mask in zip(losses, masks, strict=True):
        widths = [np.sqrt(exploration * np.log(max(len(arms), 1)) / n) if n else np.inf for n in pulls]
        best = int(np.argmin(np.where(mask, sums / np.maximum(pulls, 1) - widths, np.inf)))
        pulls[best] += 1
        sums[best] += row[best]
        arms.append(best)
    return arms


def hedge_loop(losses, masks, eta, delay=0):
    """Freund, Schapire, Singer and Warmuth (1997): multiply the awake weights, and keep their sum. The weights of each
    round [T, K], if losses arrive `delay` rounds late."""
    weights, moves = np.full(losses.shape[1], 1.0 / losses.shape[1]), []
    for t, mask in enumerate(masks):
        moves.append(np.where(mask, weights, 0.0) / weights[mask].sum())
        if t >= delay:
            row, awake = losses[t - delay], masks[t - delay]
            before = weights[awake].sum()
            weights[awake] *= np.exp(-eta * row[awake])
            weights[awake] *= before / weights[awake].sum()
    return np.array(moves)


@pytest.mark.parametrize("seed", range(2))
def test_ucb_equals_a_loop(seed):
    losses, masks = table_of(seed=seed)
    history = play(Sleeping(DataStream(None, losses), masks), SleepingUCB(ties="first"))
    assert history.y_hat.tolist() == ucb_loop(losses, masks)


@pytest.mark.parametrize("delay", [0, 3])
def test_hedge_equals_a_loop(delay):
    losses, masks = table_of()
    environment, learner = Sleeping(DataStream(None, losses), masks), SleepingHedge(0.3)
    game = jo.Game(environment, jo.Delayed(jo.FullInformation(), delay), loss=jo.losses.ArmLoss())
    history = jo.play(game, UpdateOnArrival(learner), jax.random.key(0), T)[1]
    weights = hedge_loop(losses.astype(float), masks, 0.3, delay)
    np.testing.assert_allclose(history.y_hat.probabilities, weights, rtol=1e-4, atol=1e-7)


def test_other_learners_choose_other_arms_and_have_the_loss_nan():
    history = play(Sleeping(DataStream(None, np.ones((1, 2))), [[1, 1], [0, 1]]), UCB1(ties="first"), n_rounds=3)
    np.testing.assert_array_equal(history.loss, [1.0, 1.0, 1.0])  # arms 0, 1 and 0 are available in turns
    history = play(Sleeping(DataStream(None, np.ones((1, 2))), [[0, 1], [1, 1]]), UCB1(ties="first"), n_rounds=2)
    np.testing.assert_array_equal(history.loss[:1], [np.nan])


def regret_to_each_expert(losses, masks, learner, n_runs):
    """The expected regret over the awake rounds of each expert [runs, K], from the weights of the learner."""
    game = game_of(Sleeping(DataStream(None, losses), masks), learner)
    keys = jax.random.split(jax.random.key(2), n_runs)
    p = np.asarray(jax.vmap(lambda key: jo.play(game, learner, key, len(losses))[1].y_hat.probabilities)(keys), float)
    own = np.sum(p * np.where(masks, losses, 0.0), axis=-1)
    return np.sum(np.where(masks, own[..., None] - losses, 0.0), axis=1)


@pytest.mark.parametrize("eta", [0.1, 2.0])
def test_hedge_satisfies_its_theorem_for_difficult_masks(eta):
    """The best expert sleeps while the others are worst; masks in blocks, in turns, and at random."""
    n_rounds = 600
    in_blocks, in_turns = np.ones((n_rounds, K), bool), np.ones((n_rounds, K), bool)
    in_blocks[n_rounds // 2 :, 1:3], in_turns[1::2, 1] = False, False
    for masks in (in_blocks, in_turns, table_of(n_rounds, probability=0.1)[1]):
        losses = np.full((n_rounds, K), 0.5)
        losses[:, 0] = np.where(masks[:, 1], 1.0, 0.0)
        regret = regret_to_each_expert(losses, masks, SleepingHedge(eta), n_runs=1)[0]
        assert (regret <= sleeping_hedge(K, eta, masks.sum(axis=0))).all()


@jo.struct
class Forgetful(SleepingHedge):
    """An expert that sleeps gets no loss."""

    def update(self, key, state, oracle):
        return add_losses(state, jnp.where(oracle.x, oracle.y, 0.0)), ()


@pytest.mark.long
def test_hedge_that_gives_sleeping_experts_no_loss_violates_the_theorem():
    """Expert 1 is worse and sleeps after round 1; without its mix loss it would return with all the weight."""
    losses, masks = np.tile([0.5, 1.0], (2000, 1)), np.ones((2000, 2), bool)
    masks[np.arange(2000) % 10 > 0, 1] = False
    limit = sleeping_hedge(2, 0.1, masks.sum(axis=0))
    assert (regret_to_each_expert(losses, masks, SleepingHedge(0.1), 1)[0] <= limit).all()
    assert (regret_to_each_expert(losses, masks, Forgetful(0.1), 1)[0] > limit).any()


@pytest.mark.long
@pytest.mark.parametrize("name", ["table", "best arm asleep"])
def test_ucb_satisfies_its_theorem(name):
    means, n_rounds = np.linspace(0.1, 0.5, K), 3000
    masks = {"table": table_of(101)[1], "best arm asleep": np.arange(K) + np.arange(2)[:, None] > 0}[name]
    game = game_of(Sleeping(BernoulliArms(means), masks), SleepingUCB(), pseudo=True)
    result = jo.simulate(game, SleepingUCB(), n_runs=64, n_rounds=n_rounds, record_at=[n_rounds],
                         comparator=BestAvailable())  # fmt: skip
    best = np.where(np.resize(masks, (n_rounds, K)), means, np.inf).min(axis=1).sum()
    np.testing.assert_allclose(result.comparator_loss, best, rtol=1e-5)
    assert (result.regret.mean() + 5 * result.regret.std() / 8) <= sleeping_ucb(means - means.min(), n_rounds)


def test_bounds_equal_formulas():
    np.testing.assert_allclose(sleeping_hedge(4, 0.1, 500), np.log(4) / 0.1 + 0.1 * 500 / 8)
    np.testing.assert_allclose(sleeping_ucb([0.0, 0.3], 500), jo.bounds.ucb1([0.0, 0.3], 500))
    gaps = np.array([0.0, 0.2, 0.3, 0.7])
    pairs = sum(
        ((gaps[j] - gaps[i]) - max(gaps[j] - gaps[i + 1], 0)) / (gaps[j] - gaps[i]) ** 2
        for i in range(3) for j in range(i + 1, 4)
    )  # fmt: skip
    expected = 8 * np.log(500) * pairs + (1 + np.pi**2 / 3) * gaps.sum()
    np.testing.assert_allclose(sleeping_ucb(gaps[::-1], 500), expected)
