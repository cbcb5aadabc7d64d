"""A study of arms with rewards shows rewards in every output; its numbers are those of the equal game with losses."""

import warnings

import numpy as np
import pytest

import jaxonline as jo
from jaxonline.results import Standings
from jaxonline.results.report.summary import horizon_table
from jaxonline.results.statistics import mean_over_runs
from jaxonline.results.tuned import Rung, Tuned
from jaxonline.simulation.tuning import horizon_values
from jaxonline.study.files.study_file import study_report

pytestmark = pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")

MEANS = np.array([0.9, 0.6, 0.35], np.float32)
REWARDS, LOSSES = jo.bandit_game(MEANS, rewards=True), jo.bandit_game(1 - MEANS)
LEARNERS = {"UCB1": jo.learners.UCB1(), "Thompson": jo.learners.BernoulliThompson()}
OPTIONS = {"n_runs": 16, "n_rounds": 40, "record_at": 4, "key": 5, "block_size": 16, "measures": [jo.Pulls()]}


@pytest.fixture(scope="module")
def both():
    """The result with rewards, and the result of the equal game with losses."""
    return tuple(jo.simulate(game, LEARNERS, comparator=jo.BestArm(), **OPTIONS) for game in (REWARDS, LOSSES))


@pytest.fixture(scope="module")
def without():
    """The same without a comparator."""
    return tuple(jo.simulate(game, LEARNERS, **OPTIONS) for game in (REWARDS, LOSSES))


@pytest.mark.long
def test_rewards_are_one_minus_the_losses_of_the_same_draws_and_moves(both):
    rewards, losses = both
    np.testing.assert_array_equal(rewards.regret, losses.regret)
    np.testing.assert_array_equal(rewards.measures["pulls"], losses.measures["pulls"])
    np.testing.assert_array_equal(rewards.cumulative_loss, losses.cumulative_loss)
    t = losses.rounds
    assert rewards.quantities == ("regret", "comparator_reward", "cumulative_reward", "pulls", "queries")
    own, best = rewards.values("cumulative_reward"), rewards.values("comparator_reward")
    np.testing.assert_array_equal(own, t - losses.cumulative_loss)
    np.testing.assert_array_equal(best, t - losses.comparator_loss)
    np.testing.assert_allclose(best, np.broadcast_to(0.9 * t, best.shape), rtol=1e-6)
    np.testing.assert_allclose(best - own, rewards.regret, atol=1e-12)
    expected = np.einsum("lrga,a->lrg", losses.measures["pulls"], MEANS.astype(float))
    np.testing.assert_allclose(own, expected, rtol=1e-5)
    for interval in (None, jo.intervals.Betting(0.0, 1.0)):
        shown, plain = rewards.mean("cumulative_reward", 0.9, interval), losses.mean("cumulative_loss", 0.9, interval)
        np.testing.assert_allclose(shown.mean, t - plain.mean, rtol=1e-12)
        np.testing.assert_allclose([shown.low, shown.high], [t - plain.high, t - plain.low], rtol=1e-6, atol=1e-6)
    shown = rewards.quantile_interval(0.25, "cumulative_reward", 0.8)
    plain = losses.quantile_interval(0.75, "cumulative_loss", 0.8)
    np.testing.assert_allclose([shown.low, shown.high], [t - plain.high, t - plain.low], rtol=1e-12)
    np.testing.assert_array_equal(rewards.to_xarray()["cumulative_reward"], own)
    np.testing.assert_array_equal(rewards.to_xarray()["comparator_reward"], best)
    assert "cumulative_reward" not in losses.quantities


def test_the_best_reward_is_the_largest(without):
    rewards, losses = without
    shown, plain = rewards.ranking("cumulative_reward"), losses.ranking("cumulative_loss")
    assert (shown.learners, shown.letters) == (plain.learners, plain.letters)
    np.testing.assert_allclose(shown.p_values, plain.p_values)
    assert shown.missing == plain.missing
    assert repr(rewards).splitlines()[3].split()[0] == repr(losses).splitlines()[3].split()[0] == plain.learners[0]
    standings = [Standings({"a game": result}) for result in without]
    np.testing.assert_array_equal(standings[0].ranks, standings[1].ranks)
    assert [row["learner"] for row in standings[0].rows] == list(plain.learners)
    gap = rewards.paired_difference("UCB1", "Thompson", "cumulative_reward")
    mirrored = losses.paired_difference("UCB1", "Thompson", "cumulative_loss")
    expected = -mirrored.mean, -mirrored.high, -mirrored.low
    np.testing.assert_allclose((gap.mean, gap.low, gap.high), expected, rtol=1e-10)
    with pytest.raises(ValueError, match=r"quantity: must be a quantity that is better if it is smaller .got 'cum"):
        standings[0].across_games(reference="Thompson")


@pytest.mark.long
def test_rounds_after_a_stop_earn_no_reward():
    """A learner that stops has the rewards of the rounds that it played, not 1 in each later round."""
    learners = {"halving": jo.learners.SequentialHalving(24), "UCB1": LEARNERS["UCB1"]}
    rewards = jo.simulate(REWARDS, learners, comparator=jo.BestArm(), **OPTIONS)
    played, pulls = rewards.measures["rounds_played"], rewards.measures["pulls"]
    assert (played[0, :, -1] <= 24).all()
    np.testing.assert_array_equal(played, pulls.sum(axis=-1))
    own = np.einsum("lrga,a->lrg", pulls, MEANS.astype(float))
    np.testing.assert_allclose(rewards.values("cumulative_reward"), own, rtol=1e-5)
    np.testing.assert_allclose(rewards.to_xarray()["cumulative_reward"], own, rtol=1e-5)
    np.testing.assert_allclose(rewards.values("comparator_reward"), 0.9 * played, rtol=1e-5)
    np.testing.assert_allclose(horizon_values(rewards, "cumulative_loss"), 40 - own[:, :, -1], rtol=1e-4)
    table = horizon_table(rewards, "cumulative_reward")
    np.testing.assert_allclose(sorted(row["cumulative_reward"] for row in table.rows), sorted(own.mean(axis=1)[:, -1]))


def made_search(quantity="cumulative_loss"):
    """A search of two settings in two runs of 40 rounds, of which the first setting has the smaller loss."""
    estimate = mean_over_runs(np.array([[3.0, 5.0], [8.0, 10.0]]))
    rung = Rung(np.arange(2), 2, 2, estimate, np.zeros(2, int))
    return Tuned(({"epsilon": 0.1}, {"epsilon": 0.5}), 0, (rung,), LEARNERS["Thompson"], quantity, 40, 160, 1.0)


def test_a_search_in_rewards_has_40_minus_the_losses():
    plain, shown = made_search(), made_search().in_rewards()
    assert shown.quantity == "cumulative_reward"
    assert shown.rungs[0].of.mean.tolist() == [36.0, 31.0]
    np.testing.assert_allclose(shown.rungs[0].of.high, 40 - plain.rungs[0].of.low, rtol=1e-12)
    assert [row["epsilon"] for row in shown.table.rows] == [row["epsilon"] for row in plain.table.rows] == [0.1, 0.5]
    assert shown.in_rewards() is shown
    assert made_search("regret").in_rewards().quantity == "regret"


@pytest.mark.long
def test_a_search_maximises_rewards():
    options, grid = {"n_runs": 16, "n_rounds": 40, "rungs": 1}, {"exploration": [0.1, 2.0, 9.0]}
    with warnings.catch_warnings(action="ignore"):
        shown, plain = (jo.tune(game, jo.learners.UCB1, grid, **options) for game in (REWARDS, LOSSES))
    assert shown.choice == plain.choice == {"exploration": 0.1}
    assert (shown.quantity, plain.quantity) == ("cumulative_reward", "cumulative_loss")
    np.testing.assert_allclose(shown.rungs[0].of.mean, 40 - plain.rungs[0].of.mean, rtol=1e-12)


def test_a_saved_result_keeps_its_rewards(both, tmp_path):
    rewards, _ = both
    jo.simulate(REWARDS, LEARNERS, comparator=jo.BestArm(), checkpoint=tmp_path / "study", **OPTIONS)
    for place in (rewards.save(tmp_path / "rewards.npz"), tmp_path / "study"):
        loaded = jo.load_result(place)
        assert repr(loaded) == repr(rewards)
        np.testing.assert_array_equal(loaded.values("cumulative_reward"), rewards.values("cumulative_reward"))


QUANTITIES = ("regret", "comparator_reward", "cumulative_reward", "queries")


def texts_of(result, plain):
    """Texts of a result with a comparator, and of a result without one."""
    both, report = Standings({"a": result, "b": plain}), study_report(result, "Arms", {})
    across = Standings({"a": result, "b": result}).across_games(reference="Thompson")
    figures = [draw().figure for draw in report.figures.values()]
    return {
        "result": f"{result} {plain} {result.to_xarray()} {result.meta['game']} {result.meta['regret_label']} reward",
        "tables": "".join(show(q) for show in (result.to_markdown, result.to_latex) for q in QUANTITIES),
        "frames": "".join(result.to_pandas(name).to_csv() for name in QUANTITIES),
        "rankings": f"{result.ranking('cumulative_reward')} {both} {both.means} {across} {across.improvements()}",
        "report": "\n".join([report.json(), report.html()]), "search": f"{made_search().in_rewards()}",
        "figures": " ".join(t.get_text() for f in figures for t in f.findobj(lambda part: hasattr(part, "get_text"))),
        "history": f"{REWARDS!r} {jo.play(REWARDS, LEARNERS['UCB1'], 0, 12)[1]!r}",
    }  # fmt: skip


def play_rewards_out_of_range():
    arms = jo.environments.Rewards(jo.environments.DataStream(None, [[0.0, 3.0]]))
    jo.simulate(jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss()), LEARNERS, n_runs=2, n_rounds=4)


def live_round(**outcome):
    live = jo.Live(jo.learners.UCB1(), jo.Bandit(), outcome=3, instance=0)
    live.predict()
    return live.update(**outcome)


def test_no_output_of_arms_with_rewards_says_loss(both, without):
    for name, text in texts_of(both[0], without[0]).items():
        assert "reward" in text, name
        assert "loss" not in text.lower(), (name, text[max(text.lower().index("loss") - 300, 0) :][:600])
    assert "loss" in repr(both[1]).lower(), "so the word would be found"
    assert "reward" in repr(live_round(reward=0.25))
    for call in (
        lambda: both[0].mean("gain"), lambda: without[0].mean("comparator_reward"), play_rewards_out_of_range,
        lambda: jo.bandit_game([2.0], rewards=True), lambda: live_round(reward=2.0),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)) as error:
            call()
        assert "loss" not in str(error.value).lower()


def test_live_rewards_are_one_minus_losses():
    lives = [jo.Live(jo.learners.EXP3(0.3), jo.Bandit(), outcome=3, instance=0, key=4) for _ in range(2)]
    for reward in (1.0, 0.25, 0.0, 0.75):
        arms = [int(live.predict().arm) for live in lives]
        assert arms[0] == arms[1]
        shown, plain = lives[0].update(reward=reward), lives[1].update(loss=1 - reward)
        assert shown.reward == reward == 1 - plain.loss
