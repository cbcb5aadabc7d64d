"""Decisions of live bandits: late rewards, arms that another policy chose, available arms, logs, and probabilities."""

import copy
import inspect
import pickle
from math import erf, sqrt

import jax
import numpy as np
import pytest
from mechanisms import bits
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline.game import Round

pytestmark = pytest.mark.fast_compile

REWARDS = [0.25, 1.0, 0.5, 0.0, 0.75]
BANDITS = [name for name in LEARNERS if isinstance(LEARNERS[name]().feedback, jo.Bandit)]
RESTRICTED = [name for name in BANDITS if LEARNERS[name]().learner.restricts_arms]


def bandit(learner, instance=0, outcome=3, **options):
    return jo.Live(learner, jo.Bandit(), instance=instance, outcome=outcome, **options)


def tallies(arms, rewards, n_arms=3):
    """Pulls and sums of losses, in NumPy."""
    pulls = np.bincount(arms, minlength=n_arms)
    return pulls, np.bincount(arms, weights=1 - np.array(rewards), minlength=n_arms)


def exp3_weights(sums, eta):
    weights = np.exp(-eta * (sums - sums.min()))
    return weights / weights.sum()


def test_rewards_of_ucb_arrive_in_any_order_or_never():
    live = bandit(jo.learners.UCB1(ties="first"))
    decisions = [live.predict() for _ in range(5)]
    assert [decision.id for decision in decisions] == [1, 2, 3, 4, 5]
    assert live.pending == tuple(decisions)
    for i, arm in ((3, 2), (0, 0), (4, 1)):
        record = live.update(decision=decisions[i] if i else decisions[i].id, arm=arm, reward=REWARDS[i])
        assert (record.reward, int(record.y_hat)) == (REWARDS[i], arm)
    pulls, totals = tallies([2, 0, 1], [REWARDS[3], REWARDS[0], REWARDS[4]])
    assert (live.state.pulls.tolist(), live.state.totals.tolist()) == (pulls.tolist(), totals.tolist())
    live.discard(decisions[1])
    assert (live.pending, live.round) == ((decisions[2],), 3)
    record = live.update(reward=REWARDS[2])  # the only one that is pending needs no name
    assert record.y.tolist()[0] == 1 - REWARDS[2]
    assert live.predict().id == 6
    pulls, totals = tallies([2, 0, 1, 0], [0.0, 0.25, 0.75, 0.5])
    index = totals / pulls - np.sqrt(2 * np.log(4) / pulls)
    assert live.pending[-1] == np.argmin(index), "UCB1 in NumPy, after four pulls"


@pytest.mark.long
def test_a_late_reward_of_exp3_has_the_probability_of_its_decision():
    eta, live, sums = 0.8, bandit(jo.learners.EXP3(0.8), key=3), np.zeros(3)
    decisions = []
    for i in range(5):
        decisions.append(live.predict())
        p = exp3_weights(sums, eta)
        np.testing.assert_allclose(decisions[-1].probabilities, p, rtol=1e-5)
        assert decisions[-1].probability == pytest.approx(p[decisions[-1]], rel=1e-5)
        if i % 2:  # the reward of the decision before; the weights differ in the meantime
            late = decisions[i - 1]
            live.update(decision=late, reward=REWARDS[i])
            sums[late] += (1 - REWARDS[i]) / late.probability
    assert len(live.pending) == 3
    first = decisions[1]
    live.update(decision=first, reward=0.5)
    now = exp3_weights(sums, eta)[first]
    sums[first] += 0.5 / first.probability
    assert abs(now - first.probability) > 0.05
    np.testing.assert_allclose(live.state.total, sums, rtol=1e-5)


def test_another_arm_needs_the_probability_that_the_learner_needs():
    exp3, tsallis, ucb2 = (bandit(learner, key=1) for learner in LEARNERS_OF_NEEDS)
    chosen = exp3.predict()
    other = (chosen + 1) % 3
    with pytest.raises(
        ValueError, match=r"probability: must be the probability of each pulled arm for EXP3 \(got None"
    ):
        exp3.update(arm=other, reward=0.5)
    with pytest.raises(ValueError, match="must be above 0 for the arm"):
        exp3.update(arm=other, reward=0.5, probability=0.0)
    assert exp3.pending == (chosen,)
    exp3.update(arm=other, reward=0.5, probability=0.25)
    assert exp3.state.total.tolist() == [2.0 if arm == other else 0.0 for arm in range(3)]
    with pytest.raises(ValueError, match=r"probabilities of all arms for TsallisINF \(got \[0\.5\]"):
        tsallis.update(arm=0, reward=0.5, probability=0.5)
    tsallis.update(arm=0, reward=1.0, probability=[0.5, 0.25, 0.25])
    # reduced variance in round 1: the rate 4 exceeds all weights, so that the base is 0, as is the loss
    assert (tsallis.state.sums.total.tolist(), tsallis.round) == ([0.0] * 3, 1)
    tsallis.update(arm=1, loss=0.5, probability=[0.5, 0.25, 0.25])
    assert tsallis.state.sums.total.tolist() == [0.0, 2.0, 0.0]
    first, second = ucb2.predict(), ucb2.predict()
    with pytest.raises(ValueError, match="arm: must not be an arm that another policy chose, since UCB2"):
        ucb2.update(decision=first, arm=1, reward=0.5)
    ucb2.update(decision=second, reward=0.5)
    with pytest.raises(ValueError, match="decision: must not be older than another outcome"):
        ucb2.update(decision=first, reward=0.5)


LEARNERS_OF_NEEDS = jo.learners.EXP3(0.5), jo.learners.TsallisINF(), jo.learners.UCB2()


def test_logged_rows_are_a_start():
    arms, rewards = [2, 2, 0, 1, 0] * 4, REWARDS * 4  # more rows than a call of the program has
    live, one_by_one = bandit(jo.learners.UCB1()), bandit(jo.learners.UCB1())
    pending = live.predict()
    record = live.learn(None, arm=arms, reward=rewards)
    assert (record.reward.tolist(), record.y_hat.tolist(), live.pending) == (rewards, arms, (pending,))
    for arm, reward in zip(arms, rewards, strict=True):
        one_by_one.update(arm=arm, reward=reward)
    pulls, totals = tallies(arms, rewards)
    for each in (live, one_by_one):
        assert (each.state.pulls.tolist(), each.state.totals.tolist()) == (pulls.tolist(), totals.tolist())
    exp3 = bandit(jo.learners.EXP3(0.5))
    exp3.learn(None, arm=[2, 0, 2], loss=[1.0, 0.5, 0.25], probability=[0.5, 0.25, 0.125])
    assert exp3.state.total.tolist() == [2.0, 0.0, 4.0]
    with pytest.raises(ValueError, match=r"arm: must be .*at most 2"):
        live.learn(None, arm=[3], reward=[0.5])
    with pytest.raises(ValueError, match="arm: must be arms, which are integers"):
        live.learn(None, arm=[0.5], reward=[0.5])
    with pytest.raises(TypeError, match="arm: must be given with loss or reward"):
        live.learn(None, reward=[0.5])


def test_a_late_reward_of_a_context_is_of_that_context():
    """Ridge regression on the features of the pulled arms, in NumPy."""
    rng = np.random.default_rng(0)
    contexts, losses = rng.normal(size=(4, 3, 2)), rng.normal(size=4)
    live = bandit(jo.learners.LinUCB(), instance=(3, 2))
    decisions = [live.predict(x) for x in contexts]
    for i in (2, 0, 3, 1):
        live.update(contexts[i], decision=decisions[i], loss=losses[i])
    X = np.array([x[decision] for x, decision in zip(contexts, decisions, strict=True)])
    np.testing.assert_allclose(live.state.w, np.linalg.solve(np.eye(2) + X.T @ X, X.T @ losses), rtol=1e-4, atol=1e-5)
    live.predict(contexts[0])
    with pytest.raises(ValueError, match="x: must be the instance of the open round"):
        live.update(contexts[1], loss=0.5)


FIRST_TIES = jo.learners.UCB1(ties="first"), jo.learners.EpsilonGreedy(0.3, ties="first")


def test_ucb_and_epsilon_greedy_choose_among_available_arms():
    arms, rewards = [0, 1, 2, 2, 1, 0, 0], [1.0, 0.5, 0.25, 0.25, 0.0, 1.0, 0.75]
    ucb, greedy = (bandit(learner, key=2) for learner in FIRST_TIES)
    assert ucb.predict(available=[1, 2]) == 1, "the first arm without a pull"
    for live in (ucb, greedy):
        live.learn(None, arm=arms, reward=rewards)
    pulls, totals = tallies(arms, rewards)
    index = totals / pulls - np.sqrt(2 * np.log(pulls.sum()) / pulls)
    for available in ([0, 1, 2], [1, 2], [0, 2], [2]):
        decision = ucb.predict(available=available)
        assert (decision, decision.probability) == (available[np.argmin(index[available])], 1.0)
    best = min([1, 2], key=(totals / pulls).__getitem__)
    wanted = np.where(np.arange(3) == best, 0.8, 0.1) * [0, 1, 1] / 0.9
    drawn = [greedy.predict(available=[1, 2]) for _ in range(20)]
    np.testing.assert_allclose(drawn[0].probabilities, wanted, rtol=1e-5)
    assert set(drawn) == {1, 2}
    greedy.update(decision=drawn[0], reward=0.5)
    assert greedy.state.pulls[int(drawn[0])] == pulls[drawn[0]] + 1


@pytest.mark.long
def test_ties_among_available_arms_go_by_the_order_of_the_run():
    """UCB1 pulls the first one of them. Epsilon-greedy draws among the arms with the smallest mean."""
    live, firsts = bandit(jo.learners.UCB1(), outcome=20, key=5), set()
    order = np.asarray(live.state.order.things)
    for available in (order[[3, 9, 17]], order[[19, 2]], order[[8]], np.sort(order[10:])):
        wanted = min(available, key=order.tolist().index)
        assert live.predict(available=available) == wanted
    for key in range(12):
        firsts.add(int(bandit(jo.learners.UCB1(), key=key).predict(available=[0, 2])))
    assert firsts == {0, 2}
    greedy = bandit(jo.learners.EpsilonGreedy(0.3), outcome=4)
    greedy.learn(None, arm=[0, 1, 2, 3], reward=[1.0, 0.5, 0.5, 0.25])
    shares = greedy.predict(available=[1, 2, 3]).probabilities
    np.testing.assert_allclose(shares, np.array([0, 17, 17, 3]) / 37, rtol=1e-5)


def test_reported_rewards_become_the_losses_of_the_model():
    """Epsilon-greedy and linear models receive minus the reward, own and late, and logged; others 1 - reward."""
    for learner, constant in ((jo.learners.EpsilonGreedy(0.0), 0.0), (jo.learners.UCB1(), 1.0)):
        for rewards in (False, True):
            live = bandit(learner, rewards=rewards)
            record = live.learn(None, arm=[1, 1], reward=[0.75, 0.25])
            assert (record.reward.tolist(), record.y[:, 1].tolist()) == ([0.75, 0.25], [0.25, 0.75])
            first, second = live.predict(), live.predict()
            late, own = live.update(decision=second, arm=1, reward=0.5), live.update(arm=1, reward=1.0)
            assert (late.reward, own.reward, own.loss, first.id) == (0.5, 1.0, 0.0, 3)
            assert live.state.totals[1] == 4 * constant - 2.5
            live.learn(None, arm=[0], loss=[0.25])
            assert live.state.totals[0] == 0.25 + (constant - 1.0 if rewards else 0.0)


@pytest.mark.parametrize("name", some(RESTRICTED, "Gaussian Thompson"))
def test_no_policy_chooses_an_arm_that_is_not_available(name):
    entry = LEARNERS[name]()
    x = np.asarray(entry.rows(6).X)[0] if entry.contexts else None
    shape = (0,) if x is None else x.shape
    live = bandit(entry.learner, instance=shape)
    chosen = []
    for available in ([0, 1, 2], [1], [2], [0, 2], [1, 2], [2]) * 3:
        chosen.append(live.predict(x, available=available))
        assert chosen[-1] in available
        live.update(loss=0.5)
    assert bandit(entry.learner, instance=shape).predict(x) == chosen[0], "all are available"


def test_other_policies_say_that_they_need_all_arms():
    with pytest.raises(ValueError, match="available: must be None for EXP3"):
        bandit(jo.learners.EXP3(0.5)).predict(available=[0])
    for available in ([], [3], [-1], [0.5]):
        with pytest.raises(ValueError, match="available: must"):
            bandit(jo.learners.UCB1()).predict(available=available)


class Stubborn(jo.learners.IndexPolicy):
    def growth(self, state):
        return 0.0

    def predict(self, key, state, x):
        return jax.numpy.int32(0)


def test_an_own_policy_cannot_ignore_available_arms():
    with pytest.raises(RuntimeError, match="the learner chose arm 0, so it cannot have restricts_arms"):
        bandit(jo.struct(Stubborn)()).predict(available=[1])


def test_probabilities_of_thompson_sampling_are_estimated():
    """The exact probability is that of a normal difference. An estimate differs by five standard errors with
    probability 6e-7; a probability from means without the posterior's variances differs by 20."""
    live = bandit(jo.learners.GaussianThompson(), outcome=2)
    live.learn(None, arm=[0, 0, 1], loss=[0.5, 0.25, 1.0])
    # N(0.75 / 3, 1/3) and N(1 / 2, 1/2)
    exact = (1 + erf((0.5 - 0.25) / sqrt(1 / 3 + 1 / 2) / sqrt(2))) / 2
    decision = live.predict(n_draws=4000)
    assert decision.probabilities[0] == pytest.approx(exact, abs=5 * sqrt(exact * (1 - exact) / 4000))
    assert decision.probabilities.sum() == pytest.approx(1.0, abs=1e-5)
    assert live.predict().probability is None
    assert bandit(FIRST_TIES[0]).predict(n_draws=9).probabilities.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.long
@pytest.mark.parametrize("learner", [jo.learners.EXP3(0.5), jo.learners.GaussianThompson()])
def test_decisions_are_the_same_after_reloading(learner, tmp_path):
    live = bandit(learner, key=7)
    decisions = [live.predict(n_draws=16) for _ in range(3)]
    live.update(decision=decisions[1], reward=True)
    live.save(tmp_path / "state")
    others = [bandit(learner).load(tmp_path / "state"), copy.deepcopy(live), pickle.loads(pickle.dumps(live))]
    for other in others:
        assert (other.round, other.pending) == (1, (decisions[0], decisions[2]))
        assert [one.id for one in other.pending] == [1, 3]
        assert bits([one.probabilities for one in other.pending]) == bits([decisions[0].probabilities] * 2)
        assert other.predict().id == 4
        other.update(decision=3, reward=0.25)
    assert [other.pending[-1] for other in others] == [live.predict()] * 3
    live.update(decision=decisions[2], reward=0.25)
    for other in others:
        assert bits(other.state) == bits(live.state)
    again = pickle.loads(pickle.dumps(decisions[0]))
    assert (again, again.id, again.probability) == (decisions[0], 1, decisions[0].probability)


def test_every_move_of_a_policy_is_an_integer():
    exp3, ucb = bandit(jo.learners.EXP3(0.5)), bandit(FIRST_TIES[0])
    assert int(exp3.predict()) in range(3)
    assert [5, 6, 7][ucb.predict()] == 5
    assert ucb.update(reward=True).reward == 1.0
    assert exp3.update(loss=np.bool_(False)).loss == 0.0
    draw = jo.game.Draw(np.int32(2), np.ones(3) / 3)
    assert (int(draw), "abc"[draw]) == (2, "c")


def test_help_names_the_fields_of_the_record():
    text = inspect.getdoc(jo.Live.update)
    assert all(f"`{name}`" in text for name in Round._fields)


def test_bad_decisions_are_named():
    live = bandit(jo.learners.UCB1())
    live.predict(), live.predict()
    calls = {
        r"decision: must be a pending decision or its id, 1, 2 \(got None": lambda: live.update(reward=0.5),
        r"decision: must be a pending decision or its id, 1, 2 \(got 3": lambda: live.update(decision=3, reward=0.5),
        r"decision: must be .* \(got 9": lambda: live.discard(9),
        "arm: must be .*at most 2": lambda: live.update(decision=1, arm=3, reward=0.5),
        "reward: must be .*at least 0": lambda: live.update(decision=1, reward=-9.0),
    }
    for says, call in calls.items():
        with pytest.raises(ValueError, match=says):
            call()
    assert (live.round, len(live.pending)) == (0, 2)
    regression = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5), instance=2)
    for given in ({"available": [0]}, {"n_draws": 3}):
        with pytest.raises(TypeError, match="must be None unless the feedback is Bandit"):
            regression.predict([1.0, 2.0], **given)
    regression.predict([1.0, 2.0])
    for given in ({"decision": 1}, {"arm": 0}, {"probability": 0.5}):
        with pytest.raises(TypeError, match="must be None unless the feedback is Bandit"):
            regression.update(y=1.0, **given)
    assert (regression.pending, regression.update(y=1.0).loss) == ((), 1.0)


@pytest.mark.long
@pytest.mark.parametrize("name", BANDITS)
def test_learners_declare_what_an_update_needs(name):
    """The loss of an arm; the probability of the arm, whatever those of others are; or those of all arms."""
    entry = LEARNERS[name]()
    learner, x = entry.learner, np.asarray(entry.rows(6).X)[:1] if entry.contexts else None
    shape = (0,) if x is None else x.shape[1:]
    states = []
    for p in ([0.5, 0.25, 0.25], [0.5, 0.125, 0.375], [0.25, 0.5, 0.25]):
        live = bandit(learner, instance=shape)
        if learner.off_policy is None:
            with pytest.raises(ValueError, match="its attribute off_policy is None"):
                live.learn(x, arm=[0], loss=[0.5], probability=[p])
            return
        live.learn(x, arm=[0], loss=[0.5], probability=[p])
        states.append(bits(live.state))
    depends_on_others, depends = states[0] != states[1], states[0] != states[2]
    wanted = {"loss": (False, False), "probability": (False, True), "probabilities": (True, True)}
    if not isinstance(learner, jo.learners.TsallisINF):  # whose base is 0 in the first rounds
        assert (depends_on_others, depends) == wanted[learner.off_policy]
