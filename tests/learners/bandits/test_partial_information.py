"""EXP3.G and FeedExp3: NumPy versions in which every constant decides, graphs of known learners, and the tuning."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mechanisms import bits

import jaxonline as jo
from benchmarks import information
from jaxonline.environments import BernoulliArms, DataStream, Rewards
from jaxonline.feedback import GraphOracle
from jaxonline.game import Draw, Specs
from jaxonline.learners import EWA, EXP3, EXP3G, FeedExp3, Hedge, LabelEfficientHedge
from jaxonline.losses import ArmLoss, ExpectedLoss
from jaxonline.parameters.struct import struct

pytestmark = pytest.mark.fast_compile

T = 40
GRAPH = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1]])
PRICING = jo.PartialMonitoring(
    losses=[[0, 1, 2], [1.5, 0, 1], [1.5, 1.5, 0], [2, 2, 2]],
    signals=[[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]],
)  # three prices, and an action that is never the best


def exp3_g(arms, losses, eta=0.3, gamma=0.2, first=2.0):
    """Yield the probabilities of the arms; arms 0 and `first` - 1 are explored."""
    sums, u = np.zeros(4), np.zeros(4)
    u[[0, int(first) - 1]] = 0.5
    for arm, loss in zip(arms, losses, strict=True):
        w = np.exp(-eta * sums) / np.exp(-eta * sums).sum()
        p = (1 - gamma) * w + gamma * u
        yield p
        for j in range(4):
            if GRAPH[arm, j]:
                sums[j] += loss[j] / sum(p[i] for i in range(4) if GRAPH[i, j])


def feed_exp3(actions, outcomes, eta=0.05, gamma=0.2):
    """Yield the probabilities of the actions; the estimates are those of the smallest numbers, by least squares."""
    losses, signals = np.array(PRICING.losses), np.array(PRICING.signals)
    S = np.array([signals[k] == symbol for k in range(4) for symbol in (0, 1)], float)
    v = (np.linalg.pinv(S.T) @ (losses[:3] - losses[:3].mean(axis=0)).T).T.reshape(3, 4, 2)
    sums = np.zeros(3)
    columns = [losses.T.tolist().index(y) for y in outcomes.tolist()]
    for action, y in zip(actions, columns, strict=True):
        p = np.append((1 - gamma) * np.exp(-eta * sums) / np.exp(-eta * sums).sum(), 0) + gamma / 4
        yield p
        sums = sums + v[:, action, int(signals[action, y])] / p[action]


CASES = {
    "EXP3.G": (EXP3G(0.3, 0.2, [0, 1]), jo.FeedbackGraph(GRAPH), exp3_g),
    "FeedExp3": (FeedExp3(PRICING, 0.05, 0.2), PRICING, feed_exp3),
}


def outcomes_of(name, n=T):
    rng = np.random.default_rng(0)
    return rng.uniform(size=(n, 4)) if name == "EXP3.G" else np.transpose(PRICING.losses)[rng.integers(0, 3, n)]


@pytest.mark.parametrize("name", CASES)
def test_learner_equals_its_numpy_version_in_which_every_constant_decides(x64, name):
    learner, feedback, loop = CASES[name]
    y = outcomes_of(name)
    _, rounds = jo.play(jo.Game(DataStream(None, y), feedback, loss=ArmLoss()), learner, jax.random.key(1), T)
    arms, p = map(np.asarray, rounds.y_hat)
    np.testing.assert_allclose(p, list(loop(arms, y)), rtol=1e-9)
    for constant, value in inspect.signature(loop).parameters.items():
        if value.default is not value.empty:
            changed = list(loop(arms, y, **{constant: 1.5 * value.default}))
            assert np.abs(p - changed).max() > 1e-4, constant
    shown = GRAPH[arms].sum(axis=1) if name == "EXP3.G" else np.ones(T)
    np.testing.assert_array_equal(rounds.queries, shown)


# ---------------------------------------------------------------------------------------------------------------------
# Graphs of known learners


def moves_of(learner, feedback, loss, losses):
    game = jo.Game(DataStream(None, losses), feedback, loss=loss)
    return jo.play(game, learner, jax.random.key(2), T)[1]


@pytest.mark.long
def test_bandit_and_full_information_as_graphs_give_the_moves_of_exp3_and_hedge_bit_for_bit():
    losses = outcomes_of("EXP3.G")
    for exploration in (0.0, 0.1):
        bandit = moves_of(EXP3(0.3, exploration), jo.Bandit(), ArmLoss(), losses)
        graph = moves_of(EXP3G(0.3, exploration), jo.FeedbackGraph(np.eye(4)), ArmLoss(), losses)
        assert bits((graph.y_hat, graph.loss, graph.queries)) == bits((bandit.y_hat, bandit.loss, bandit.queries))
    hedge = moves_of(Hedge(EWA(0.3)), jo.FullInformation(), ExpectedLoss(), losses)
    graph = moves_of(EXP3G(0.3), jo.FeedbackGraph(np.ones((4, 4))), ExpectedLoss(), losses)
    assert bits((graph.y_hat.probabilities, graph.loss)) == bits((hedge.y_hat, hedge.loss))


@struct
class AllButTheFirst:
    """Exponential weights of all arms but the first, which has the weight 0."""

    inner: EWA

    def init(self, n_experts, dtype):
        return self.inner.init(n_experts - 1, dtype)

    def weights(self, state):
        weights = self.inner.weights(state)
        return jnp.concatenate([jnp.zeros(1, weights.dtype), weights])

    def update(self, state, losses, own_loss):
        return self.inner.update(state, losses[1:], own_loss)


@pytest.mark.long
def test_label_efficient_prediction_as_a_graph_gives_the_weights_of_the_forecaster_bit_for_bit():
    """The first arm of the graph is the question: it shows all losses, and only exploration pulls it."""
    losses, epsilon = outcomes_of("EXP3.G")[:, :3], 0.3
    forecaster = LabelEfficientHedge(EWA(0.5), epsilon)
    forecasts = moves_of(forecaster, jo.OnRequest(), ExpectedLoss(), losses)
    asked = np.asarray(forecasts.info.asked)
    assert 5 < asked.sum() < T - 5
    shows, learner = jnp.eye(4)[:1].T @ jnp.ones((1, 4)), EXP3G(AllButTheFirst(EWA(0.5)), epsilon, [0])
    state = learner.init(None, Specs((), jnp.zeros(4)))
    for y, ask, weights in zip(losses, asked, forecasts.y_hat, strict=True):
        assert bits(state_weights := learner.weights(state)[1:]) == bits(weights), state_weights
        p = learner.predict(jax.random.key(0), state, ()).probabilities
        oracle = GraphOracle((), Draw(jnp.int32(0 if ask else 1), p), jnp.append(1.0, y).astype(jnp.float32), shows)
        state, _ = learner.update(None, state, oracle)


def test_apple_tasting_as_a_graph_is_exp3_on_the_differences_of_the_losses(x64):
    losses = outcomes_of("EXP3.G")[:, :2] / 2 + [0.5, 0.0]
    differences = np.stack([losses[:, 0] - losses[:, 1], np.zeros(T)], axis=1)
    apples = moves_of(EXP3G(0.3), jo.FeedbackGraph([[1, 1], [0, 0]]), ArmLoss(), losses)
    bandit = moves_of(EXP3(0.3), jo.Bandit(), ArmLoss(), differences)
    np.testing.assert_array_equal(apples.y_hat.arm, bandit.y_hat.arm)
    np.testing.assert_allclose(apples.y_hat.probabilities, bandit.y_hat.probabilities, rtol=1e-9)
    assert 0 < apples.y_hat.arm.sum() < T


# ---------------------------------------------------------------------------------------------------------------------
# The tuning, the order of the arms, rewards, and wrong arguments


def test_estimates_are_unbiased_over_all_draws(x64):
    """The means over the arms, weighted with their probabilities, are the losses (FeedExp3: minus a common number)."""
    for name, (learner, feedback, _) in CASES.items():
        for y in jnp.asarray(outcomes_of(name, 3)):
            state = learner.init(None, Specs((), y))
            p = learner.predict(jax.random.key(0), state, ()).probabilities
            total = 0.0
            for arm in range(4):
                oracle = feedback.open(None, 1, (), y, Draw(jnp.int32(arm), p))
                total = total + p[arm] * learner.update(None, state, oracle)[0].total
            wanted = y[: len(total)]
            np.testing.assert_allclose(total - total.mean(), wanted - wanted.mean(), atol=1e-12)


def test_tuning_is_that_of_the_derivation():
    n_rounds, log = 1000, np.log(4)
    bandit = EXP3G.over_horizon(np.eye(4), n_rounds)
    assert bandit.combiner.eta == EXP3.over_horizon(4, n_rounds).combiner.eta
    assert bandit.exploration == 0
    two_cliques = EXP3G.over_horizon(np.kron(np.eye(2), np.ones((2, 2))), n_rounds)
    assert two_cliques.combiner.eta == pytest.approx(np.sqrt(2 * log / (2 * n_rounds)))
    others = EXP3G.over_horizon(1 - np.eye(4), n_rounds)
    assert others.explored is None
    assert others.exploration == pytest.approx(4 / 3 * others.combiner.eta)
    assert others.combiner.eta == pytest.approx(np.sqrt(log / ((4 / 3 + np.e - 2) * n_rounds)))
    weak = EXP3G.over_horizon(np.roll(np.eye(4), 1, axis=1), n_rounds)  # each arm shows only the next one
    assert weak.explored == (0, 1, 2, 3)
    assert weak.exploration == pytest.approx((4 * log / (2 * n_rounds)) ** (1 / 3))
    assert weak.combiner.eta == pytest.approx(np.sqrt(2 * weak.exploration * log / (4 * n_rounds)))
    assert EXP3G.over_horizon(np.roll(np.eye(4), 1, axis=1), 1).exploration == 0.5
    assert EXP3G.over_horizon(1 - np.eye(4), 1).exploration == 0.5
    # label-efficient prediction: the numbers are +-1/2, so v = 1/2 and V = 1/4, with 3 actions and 2 candidates
    questions = jo.PartialMonitoring([[1, 1], [0, 1], [1, 0]], [[0, 1], [0, 0], [0, 0]])
    learner = FeedExp3.over_horizon(questions, n_rounds)
    assert learner.exploration == pytest.approx((0.75 * np.log(2) / n_rounds) ** (1 / 3))
    assert learner.combiner.eta == pytest.approx(learner.exploration**2 / 0.75)
    scaled = FeedExp3.over_horizon(jo.PartialMonitoring(10 * np.array(questions.losses), questions.signals), n_rounds)
    assert scaled.exploration == pytest.approx(learner.exploration)
    assert scaled.combiner.eta == pytest.approx(learner.combiner.eta / 10)
    # V and v are those of the least-squares numbers; in a long game gamma < V / (r v)
    losses, symbols = np.array(PRICING.losses), np.array(PRICING.signals)
    S = np.array([symbols[k] == symbol for k in range(4) for symbol in (0, 1)], float)
    v = (losses[:3] - losses[:3].mean(axis=0)) @ np.linalg.pinv(S)
    V = ((v[:, None] * S.T) ** 2).sum(axis=2).max()
    long = FeedExp3.over_horizon(PRICING, 10**7)
    assert long.exploration**3 == pytest.approx(4 * V * np.log(3) / (2**2 * 10**7))
    assert long.combiner.eta == pytest.approx(2 * long.exploration**2 / (4 * V))
    assert FeedExp3.over_horizon(questions, 1).combiner.eta == pytest.approx(
        FeedExp3.over_horizon(questions, 1).exploration / 1.5
    )


@pytest.mark.long
def test_regret_is_below_the_bounds_of_the_derivation():
    """The 6-sigma end of the mean regret of 64 runs, on the hard games of the benchmark."""
    n_rounds, log = 1024, np.log(4)
    bounds = {
        information.strong: 2 * np.sqrt((4 / 3 + np.e - 2) * n_rounds * log) + 8 / 3 * log,
        information.weak: 3 * (log / 2) ** (1 / 3) * n_rounds ** (2 / 3) + np.sqrt(2 * 0.0878 * n_rounds * log),
    }
    for make, bound in bounds.items():
        game, learner = make(n_rounds)
        regret = jo.simulate(game, learner, n_runs=64, n_rounds=n_rounds, comparator=jo.BestArm()).regret[0, :, -1]
        assert 0 < regret.mean() + 6 * regret.std() / 8 < bound


@pytest.mark.long
def test_regret_of_dynamic_pricing_is_below_the_bound_of_the_derivation():
    """The 6-sigma end of the mean regret of 64 runs; 3 (r N V ln C)^(1/3) T^(2/3), as the game is long enough."""
    n_rounds, analysis = 65_536, information.PRICING.analysis
    game, learner = information.pricing(n_rounds)
    N, r = len(information.PRICING.losses), np.ptp(information.PRICING.losses)
    numbers = analysis.estimators[:, np.arange(N)[:, None], information.PRICING.symbols]
    V = (numbers**2).sum(axis=1).max()
    assert learner.exploration <= V / (r * np.abs(numbers).max())
    bound = 3 * (r * N * V * np.log(len(numbers))) ** (1 / 3) * n_rounds ** (2 / 3)
    regret = jo.simulate(game, learner, n_runs=64, n_rounds=n_rounds, comparator=jo.BestArm()).regret[0, :, -1]
    assert 0 < regret.mean() + 6 * regret.std() / 8 < bound


@pytest.mark.long
def test_order_of_the_arms_does_not_matter(x64):
    """Played with the same arms, each under its other name, the probabilities are the same."""
    order, y, columns = np.array([2, 0, 3, 1]), outcomes_of("EXP3.G"), outcomes_of("FeedExp3")
    graph = jo.FeedbackGraph(GRAPH[np.ix_(order, order)])
    game = jo.PartialMonitoring(np.array(PRICING.losses)[order], np.array(PRICING.signals)[order])
    explored = [int(np.flatnonzero(order == arm)[0]) for arm in (0, 1)]
    pairs = {
        "EXP3.G": (CASES["EXP3.G"][:2], (EXP3G(0.3, 0.2, explored), graph), y, y[:, order]),
        "FeedExp3": (CASES["FeedExp3"][:2], (FeedExp3(game, 0.05, 0.2), game), columns, columns[:, order]),
    }
    arms = np.random.default_rng(1).integers(0, 4, T)

    def probabilities(learner, feedback, y, arms):
        state = learner.init(None, Specs((), jnp.asarray(y[0])))
        for row, arm in zip(y, arms, strict=True):
            draw = learner.predict(jax.random.key(0), state, ())._replace(arm=jnp.int32(arm))
            yield draw.probabilities
            state, _ = learner.update(None, state, feedback.open(None, 1, (), jnp.asarray(row), draw))

    for first, other, y, permuted in pairs.values():
        p = np.array(list(probabilities(*first, y, order[arms])))
        np.testing.assert_allclose(p[:, order], list(probabilities(*other, permuted, arms)), rtol=1e-9)


@pytest.mark.long
def test_rewards_have_the_regret_of_the_losses():
    means, learner = np.array([0.25, 0.5, 0.75, 0.5]), EXP3G(0.3, 0.2, [0, 1])
    regrets = [
        jo.simulate(
            jo.Game(arms, jo.FeedbackGraph(GRAPH), loss=ArmLoss(), pseudo=True), learner, n_runs=4, n_rounds=T,
            comparator=jo.BestArm(), key=3,
        ).regret
        for arms in (BernoulliArms(means), Rewards(BernoulliArms(1 - means)))
    ]  # fmt: skip
    np.testing.assert_allclose(*regrets, rtol=1e-6)


MIXED = [[1, 1, 1], [0, 0, 1], [0, 0, 0]]  # only arm 0 shows arm 1; both others show arm 2
HOPELESS, TRIVIAL = ([[0, 1], [1, 0]], [[0, 0], [0, 0]]), ([[0, 0], [1, 1]], [[0, 0], [0, 0]])
WRONG = {
    "no arm shows": ("adjacency", lambda: EXP3G.over_horizon([[1, 0], [1, 0]], 10)),
    "the game's graph": ("adjacency", lambda: jo.play(one_row(jo.FeedbackGraph([[1, 0], [1, 0]])), EXP3G(0.1), 0, 1)),
    "size of the graph": ("adjacency", lambda: one_row(jo.FeedbackGraph(np.eye(3)))),
    "weak, unexplored": ("exploration", lambda: EXP3G(0.1).check_feedback(jo.FeedbackGraph(np.eye(3)[[1, 2, 0]]))),
    "weak, not shown": ("explored", lambda: EXP3G(0.1, 0.1, [1]).check_feedback(jo.FeedbackGraph(MIXED))),
    "no arm": ("explored", lambda: jo.play(one_row(jo.FeedbackGraph(np.eye(2))), EXP3G(0.1, 0.1, [2]), 0, 1)),
    "negative arm": ("explored", lambda: EXP3G(0.1, 0.1, [-1])),
    "half an arm": ("explored", lambda: EXP3G(0.1, 0.1, [0.5])),
    "half an edge": ("adjacency", lambda: jo.FeedbackGraph([[1, 0.5], [1, 0]])),
    "not square": ("adjacency", lambda: jo.FeedbackGraph([[1, 0]])),
    "shapes": ("signals", lambda: jo.PartialMonitoring([[0, 1]], [[0]])),
    "hopeless": ("game", lambda: FeedExp3(jo.PartialMonitoring(*HOPELESS), 0.1, 0.1)),
    "trivial": ("game", lambda: FeedExp3.over_horizon(jo.PartialMonitoring(*TRIVIAL), 10)),
    "size of the game": ("losses", lambda: one_row(PRICING)),
    "equal columns": ("losses", lambda: one_row(jo.PartialMonitoring([[0, 0], [1, 1]], [[0, 1], [0, 0]]))),
    "other signals": ("game", lambda: FeedExp3(PRICING, 0.1, 0.1).check_feedback(jo.PartialMonitoring(*TRIVIAL))),
}


def test_explored_arms_must_show_weak_arms_only():
    EXP3G(0.1, 0.1, [0]).check_feedback(jo.FeedbackGraph(MIXED))  # arm 0 does not need arm 1 for arm 2
    EXP3G(0.1, 0.1, [2]).check_feedback(jo.FeedbackGraph(1 - np.eye(3)))  # no arm is weak


def one_row(feedback):
    return jo.Game(DataStream(None, [[0.0, 1.0]]), feedback, loss=ArmLoss())


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_raise_an_error_that_names_the_argument(case):
    argument, call = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=argument):
        call()
