"""Arms and experts that are not always available: NumPy loops, full masks, theorems, and what is refused."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sleeping_reference as reference
from tiers import some

import jaxonline as jo
from jaxonline import bounds
from jaxonline.comparators import BestOfEachRound, BestOrdering
from jaxonline.environments import BernoulliArms, DataStream, LinearModel, Sleeping
from jaxonline.learners import BOA, BOLD, EWA, EXP3, MOSS, UCB1, DrawnExpert, Hedge, OverAdvice, UpdateOnArrival

K, T = 5, 200
LEARNERS = {
    "UCB1": UCB1(),
    "EXP3": EXP3(0.1),
    "EXP3, exploration": EXP3(0.1, exploration=0.2),
    "Hedge": Hedge(EWA(0.3)),
}


def table_of(n_rounds=T, n_arms=K, seed=0, probability=0.5):
    """Losses in [0, 1], and masks with an arm in each round."""
    rng = np.random.default_rng(seed)
    losses, masks = rng.random((n_rounds, n_arms)).astype(np.float32), rng.random((n_rounds, n_arms)) < probability
    masks[np.arange(n_rounds), rng.integers(n_arms, size=n_rounds)] = True
    return losses, masks


def game_of(environment, learner, **options):
    if isinstance(learner, Hedge):
        return jo.Game(environment, jo.FullInformation(), loss=jo.losses.ExpectedLoss(), **options)
    return jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss(), **options)


def play(environment, learner, n_rounds=T):
    return jo.play(game_of(environment, learner), learner, jax.random.key(3), n_rounds)


@pytest.mark.parametrize("seed", range(2))
def test_ucb1_with_masks_equals_a_loop(seed):
    losses, masks = table_of(seed=seed)
    history = play(Sleeping(DataStream(None, losses), masks), UCB1())[1]
    assert history.y_hat.tolist() == reference.ucb1(losses, masks)


@pytest.mark.parametrize("name", ["EXP3", "EXP3, exploration"])
def test_exp3_with_masks_equals_a_loop(name):
    (losses, masks), learner = table_of(), LEARNERS[name]
    draw = play(Sleeping(DataStream(None, losses), masks), learner)[1].y_hat
    exploration = float(learner.exploration)
    p = reference.exp3(losses.astype(float), masks, 0.1, exploration, np.asarray(draw.arm))
    np.testing.assert_allclose(draw.probabilities, p, rtol=2e-4, atol=1e-7)
    assert (np.asarray(draw.probabilities)[~masks] == 0).all()


@pytest.mark.parametrize("delay", [0, 3])
def test_hedge_with_sleeping_experts_equals_a_loop(delay):
    losses, masks = table_of()
    environment, learner = Sleeping(DataStream(None, losses), masks), LEARNERS["Hedge"]
    game = jo.Game(environment, jo.Delayed(jo.FullInformation(), delay), loss=jo.losses.ExpectedLoss())
    history = jo.play(game, UpdateOnArrival(learner), jax.random.key(0), T)[1]
    weights = reference.hedge(losses.astype(float), masks, 0.3, delay)
    np.testing.assert_allclose(history.y_hat, weights, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", some(LEARNERS, "Hedge"))
@pytest.mark.parametrize(
    "availability",
    [
        pytest.param(np.ones((1, K), bool), id="table", marks=pytest.mark.long),
        pytest.param(np.ones(K), id="probabilities"),
    ],
)
def test_a_full_mask_changes_no_bit(name, availability):
    learner = LEARNERS[name]
    for environment in (DataStream(None, table_of()[0]), BernoulliArms(np.linspace(0.1, 0.9, K))):
        (masked, full), (plain, without) = (
            play(environment, learner) for environment in (Sleeping(environment, availability), environment)
        )
        before, after = ((state, history._replace(x=())) for state, history in
                         ((plain, without), (masked, full)))  # fmt: skip
        jax.tree.map(np.testing.assert_array_equal, before, after)


@pytest.mark.parametrize("name", LEARNERS)
def test_losses_of_sleeping_arms_are_not_used(name):
    losses, masks = table_of()
    others = np.where(masks, losses, 1 - losses)
    histories = [play(Sleeping(DataStream(None, table), masks), LEARNERS[name])[1] for table in (losses, others)]
    jax.tree.map(np.testing.assert_array_equal, *histories)


@pytest.mark.parametrize("name", some(LEARNERS, "UCB1", "Hedge"))
def test_only_available_arms_are_chosen(name):
    """64 runs with 20 arms; a move that is not available would have the loss NaN."""
    learner = LEARNERS[name]
    _, masks = table_of(n_arms=20, probability=0.2)
    game = game_of(Sleeping(BernoulliArms(np.full(20, 0.5)), masks), learner)
    result = jo.simulate(game, learner, n_runs=64, n_rounds=1000, key=1, record_at=[1000])
    assert np.isfinite(result.measures["cumulative_loss"]).all()


@jo.struct
class FirstArm:
    """Pulls arm 0 in each round, or plays a weight on arm 0."""

    weights: bool = jo.static(default=False)
    traits = jo.game.LearnerTraits(uses_masks=True)

    def init(self, key, specs):
        return ()

    def predict(self, key, state, x):
        return jax.nn.one_hot(0, 2) if self.weights else jnp.int32(0)

    def update(self, key, state, oracle):
        return state, ()


@pytest.mark.parametrize("weights", [False, True])
def test_a_move_that_is_not_available_has_the_loss_nan(weights):
    environment = Sleeping(DataStream(None, np.ones((1, 2))), [[True, True], [False, True], [True, False]])
    loss = jo.losses.ExpectedLoss() if weights else jo.losses.ArmLoss()
    game = jo.Game(environment, jo.FullInformation(), loss=loss)
    history = jo.play(game, FirstArm(weights), jax.random.key(0), 3)[1]
    np.testing.assert_array_equal(history.loss, [1.0, np.nan, 1.0])


@pytest.mark.parametrize("name", some(LEARNERS, "Hedge"))
def test_a_random_round_without_an_arm_makes_a_failed_run(name):
    learner = LEARNERS[name]
    game = game_of(Sleeping(BernoulliArms([0.2, 0.6]), [0.9, 0.9]), learner)
    with pytest.warns(RuntimeWarning, match="runs"):
        repr(result := jo.simulate(game, learner, n_runs=64, n_rounds=10, key=1, record_at=[10]))
    assert 0 < int(result.failed[0]) < 64
    assert np.isnan(result.measures["cumulative_loss"][0, :, 0]).sum() == int(result.failed[0])


@pytest.mark.long
def test_probabilities_are_those_of_the_masks():
    """20,000 draws; 5 standard deviations."""
    environment = Sleeping(BernoulliArms([0.5, 0.5, 0.5]), [0.2, 0.7, 1.0])
    keys = jax.random.split(jax.random.key(0), 20_000)
    masks = jax.vmap(lambda key: environment.instance(key, (), jnp.int32(1))[0].mask)(keys)
    p = np.array([0.2, 0.7, 1.0])
    assert (abs(np.mean(masks, axis=0) - p) <= 5 * np.sqrt(p * (1 - p) / 20_000)).all()
    assert abs(np.corrcoef(np.asarray(masks)[:, :2].T)[0, 1]) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("learner", [MOSS(T), Hedge(BOA()), DrawnExpert(EWA(0.1)), BOLD(MOSS(T), 1)])
def test_learners_without_masks_are_refused(learner):
    environment = Sleeping(BernoulliArms([0.2, 0.6]), [0.9, 0.9])
    with pytest.raises(ValueError, match=r"learner.*masks.*UCB1, EXP3 and Hedge"):
        jo.play(game_of(environment, learner), learner, jax.random.key(0), 3)


def test_comparators_and_measures_without_masks_are_refused():
    game = game_of(Sleeping(BernoulliArms([0.2, 0.6]), [0.9, 0.9]), UCB1())
    with pytest.raises(ValueError, match=r"comparator.*BestArm.*BestOrdering"):
        jo.simulate(game, UCB1(), n_runs=2, n_rounds=3, comparator=jo.BestArm())
    plain = game_of(BernoulliArms([0.2, 0.6]), UCB1())
    with pytest.raises(TypeError, match=r"BestOrdering.*mask"):
        jo.simulate(plain, UCB1(), n_runs=2, n_rounds=3, comparator=BestOrdering())
    with pytest.raises(TypeError, match=r"AwakeRegret.*mask"):
        jo.simulate(plain, UCB1(), n_runs=2, n_rounds=3, measures=[jo.AwakeRegret()])


@pytest.mark.parametrize(
    ("availability", "problem"),
    [
        ([[True, False], [False, False]], "round 2"),
        ([[0.5, 1.0]], "boolean"),
        ([0.5], "2 arms"),
        ([[True, True, True]], "2 arms"),
        ([0.5, 1.5], "at most 1"),
        ([0.5, np.nan], "finite"),
    ],
)
def test_invalid_availability_raises_an_error(availability, problem):
    with pytest.raises(ValueError, match=f"availability.*{problem}"):
        Sleeping(BernoulliArms([0.5, 0.5]), availability)


def test_an_environment_without_losses_of_arms_raises_an_error():
    with pytest.raises(ValueError, match=r"environment.*\(\)"):
        Sleeping(LinearModel(np.ones(2)), [0.5, 0.5])
    stream = Sleeping(DataStream(None, np.ones((1, 2))), [0.5, 0.5])
    with pytest.raises(ValueError, match="expected_outcome"):
        game_of(stream, UCB1(), pseudo=True)


@pytest.mark.long
def test_best_ordering_equals_the_best_of_all_orderings():
    losses, masks = table_of(60, 4)
    result = jo.simulate(game_of(Sleeping(DataStream(None, losses), masks), UCB1()), UCB1(), n_runs=1, n_rounds=60,
                         record_at=[30, 60], comparator=BestOrdering())  # fmt: skip
    for column, t in enumerate((30, 60)):
        totals = {
            order: sum(losses[s, next(k for k in order if masks[s, k])].astype(float) for s in range(t))
            for order in itertools.permutations(range(4))
        }
        np.testing.assert_allclose(result.comparator_loss[0, 0, column], min(totals.values()), rtol=1e-5)
    statistics = [
        np.asarray(BestOrdering().statistic(jo.game.Available(jnp.asarray(mask), ()), jnp.asarray(row)), float)
        for row, mask in zip(losses, masks, strict=True)
    ]
    assert tuple(BestOrdering().best_predictor(np.sum(statistics, axis=0))) == min(totals, key=totals.get)


@pytest.mark.long
def test_best_ordering_of_mean_losses_is_the_best_available_arm():
    environment = Sleeping(BernoulliArms(np.linspace(0.1, 0.9, K)), table_of()[1])
    game = game_of(environment, UCB1(), pseudo=True)
    losses = [
        jo.simulate(game, UCB1(), n_runs=2, n_rounds=T, record_at=[T], comparator=comparator).comparator_loss
        for comparator in (BestOrdering(), BestOfEachRound())
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def awake_regret_of(losses, masks, learner, n_runs=1, n_rounds=None):
    game = game_of(Sleeping(DataStream(None, losses), masks), learner)
    n_rounds = n_rounds or len(losses)
    result = jo.simulate(game, learner, n_runs=n_runs, n_rounds=n_rounds, record_at=[n_rounds], key=2,
                         measures=[jo.AwakeRegret()])  # fmt: skip
    return result.measures["awake_regret"][0, :, 0]


def test_awake_regret_equals_a_loop_and_satisfies_the_theorem_of_hedge():
    losses, masks = table_of(2000)
    regret = awake_regret_of(losses, masks, Hedge(EWA(0.1)))[0]
    moves = reference.hedge(losses.astype(float), masks, 0.1)
    expected = reference.awake_regret((moves * losses).sum(axis=1), losses.astype(float), masks)
    np.testing.assert_allclose(regret, expected, rtol=1e-3, atol=1e-2)
    assert (regret <= bounds.sleeping_hedge(K, 0.1, masks.sum(axis=0))).all()


@pytest.mark.long
def test_hedge_that_gives_sleeping_experts_no_loss_violates_the_theorem(monkeypatch):
    """Expert 1 always has the loss 1, and wakes in each tenth round; expert 0 always has the loss 1/2."""
    losses, masks = np.tile([0.5, 1.0], (10, 1)), np.ones((10, 2), bool)
    masks[1:, 1] = False
    limit = bounds.sleeping_hedge(2, 0.1, np.array([2000, 200]))
    assert (awake_regret_of(losses, masks, Hedge(EWA(0.1)), n_rounds=2000)[0] <= limit).all()
    monkeypatch.setattr(EWA, "_mix_loss", lambda self, differences, losses: jnp.zeros((), differences.dtype))
    jax.clear_caches()
    wrong = awake_regret_of(losses, masks, Hedge(EWA(0.1)), n_rounds=2000)[0]
    monkeypatch.undo()
    jax.clear_caches()
    assert wrong[0] > 2 * limit[0]


@pytest.mark.long
@pytest.mark.parametrize("eta", [0.02, 0.5])
def test_hedge_satisfies_its_theorem_for_difficult_masks(eta):
    """The best expert sleeps while the others are worst; masks in blocks, in turns, and at random."""
    n_rounds, rng = 4000, np.random.default_rng(1)
    in_blocks = (np.arange(n_rounds)[:, None] // 400 + np.arange(K)) % K > 1
    in_turns = (np.arange(n_rounds)[:, None] + np.arange(K)) % K > 2
    for masks in (in_blocks, in_turns, table_of(n_rounds, probability=0.1)[1]):
        losses = np.where(rng.random((n_rounds, K)) < np.linspace(0.2, 0.8, K), 1.0, 0.0)
        losses[:, 0] = np.where(masks[:, 1], 1.0, 0.0)
        regret = awake_regret_of(losses, masks, Hedge(EWA(eta)))[0]
        assert (regret <= bounds.sleeping_hedge(K, eta, masks.sum(axis=0))).all()


@pytest.mark.long
def test_exp3_satisfies_its_theorem_over_the_rounds_of_each_arm():
    """1,000 runs; the mean is below the bound by more than five standard errors."""
    losses, masks = table_of(2000)
    losses[:, 1] *= 0.4
    eta = 0.03
    regret = awake_regret_of(losses, masks, EXP3(eta), n_runs=1000)
    arms = (masks * masks.sum(axis=1, keepdims=True)).sum(axis=0)
    error = regret.std(axis=0) / np.sqrt(len(regret))
    assert (regret.mean(axis=0) + 5 * error <= bounds.sleeping_exp3(K, eta, arms)).all()


@pytest.mark.long
@pytest.mark.parametrize("availability", ["probabilities", "table", "best arm asleep"])
def test_ucb1_satisfies_its_theorem_with_gaps_to_the_best_available_arm(availability):
    """1,000 runs; the mean is below the bound by more than five standard errors."""
    means, n_rounds = np.array([0.1, 0.3, 0.5, 0.5, 0.9]), 5000
    tables = {"probabilities": [0.5, 0.5, 0.5, 0.5, 1.0], "table": table_of()[1],
              "best arm asleep": np.arange(K) + np.arange(2)[:, None] > 0}  # fmt: skip
    game = game_of(Sleeping(BernoulliArms(means), tables[availability]), UCB1(), pseudo=True)
    result = jo.simulate(game, UCB1(), n_runs=1000, n_rounds=n_rounds, key=4, record_at=[100, n_rounds],
                         comparator=BestOrdering())  # fmt: skip
    regret = result.regret[0]
    limit = bounds.sleeping_ucb1(means - means.min(), [100, n_rounds])
    assert (regret.mean(axis=0) + 5 * regret.std(axis=0) / np.sqrt(1000) <= limit).all()
    assert (regret > -1e-3).all(), "no learner is better than the best ordering of the means"


def test_bounds_without_sleeping_arms_are_the_known_ones():
    gaps = np.array([0.0, 0.1, 0.1, 0.4])
    np.testing.assert_allclose(bounds.sleeping_hedge(4, 0.1, 500), np.log(4) / 0.1 + 0.1 * 500 / 8)
    np.testing.assert_allclose(bounds.sleeping_ucb1([0.0, 0.3], 500), bounds.ucb1([0.0, 0.3], 500))
    assert bounds.sleeping_ucb1(gaps, 500) > bounds.ucb1(gaps, 500)
    eta = np.sqrt(2 * np.log(4) / (500 * 4))
    np.testing.assert_allclose(bounds.sleeping_exp3(4, eta, 4 * 500), bounds.exp3(4, 500))


@pytest.mark.long
@pytest.mark.parametrize("name", LEARNERS)
def test_state_is_finite_after_a_million_rounds(name):
    learner = LEARNERS[name]
    game = game_of(Sleeping(BernoulliArms(np.linspace(0.1, 0.9, K)), table_of()[1]), learner)
    result = jo.simulate(game, learner, n_runs=1, n_rounds=1_000_000, record_at=[1_000_000],
                         measures=[jo.AwakeRegret()])  # fmt: skip
    regret = result.measures["awake_regret"][0, 0, 0]
    assert np.isfinite(regret).all()
    assert regret.max() < 0.1 * 1_000_000


def test_advice_with_masks_is_refused():
    game = jo.Game(Sleeping(BernoulliArms([0.2, 0.6]), [0.9, 0.9]), jo.FullInformation())
    with pytest.raises(ValueError, match="masks"):
        jo.play(game, OverAdvice(EWA(0.1)), jax.random.key(0), 3)
