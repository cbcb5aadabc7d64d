"""A study of arms with rewards shows rewards in every output; its numbers are those of the equal game with losses."""

import contextlib
import io
import warnings

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results import Result, Standings
from jaxonline.results.report.summary import horizon_table
from jaxonline.results.statistics import mean_over_runs
from jaxonline.results.statistics.ranking import MissingEvents
from jaxonline.results.tuned import Rung, Tuned
from jaxonline.simulation.tuning import horizon_values
from jaxonline.study.files.study_file import study_report

pytestmark = pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")

MEANS = np.array([0.9, 0.6, 0.35], np.float32)
REWARDS, LOSSES = jo.bandit_game(MEANS, rewards=True), jo.bandit_game(1 - MEANS)
LEARNERS = {"UCB1": jo.learners.UCB1(), "greedy": jo.learners.EpsilonGreedy(0.1)}
OPTIONS = {"n_runs": 16, "n_rounds": 40, "record_at": 4, "key": 5, "block_size": 16, "measures": [jo.Pulls()]}


@pytest.fixture(scope="module")
def both():
    """The result with rewards, and the result of the equal game with losses."""
    return tuple(jo.simulate(game, LEARNERS, comparator=jo.BestArm(), **OPTIONS) for game in (REWARDS, LOSSES))


@pytest.fixture(scope="module")
def without():
    """The same without a comparator."""
    return tuple(jo.simulate(game, LEARNERS, **OPTIONS) for game in (REWARDS, LOSSES))


def test_draws_moves_and_regret_are_bit_identical(both):
    rewards, losses = both
    np.testing.assert_array_equal(rewards.regret, losses.regret)
    np.testing.assert_array_equal(rewards.measures["pulls"], losses.measures["pulls"])
    np.testing.assert_array_equal(rewards.cumulative_loss, losses.cumulative_loss)


def test_rewards_are_one_minus_the_losses(both):
    rewards, losses = both
    t = losses.rounds
    assert rewards.quantities == ("regret", "comparator_reward", "cumulative_reward", "pulls", "queries")
    own, best = rewards.values("cumulative_reward"), rewards.values("comparator_reward")
    np.testing.assert_array_equal(own, t - losses.cumulative_loss)
    np.testing.assert_array_equal(best, t - losses.comparator_loss)
    np.testing.assert_allclose(best, np.broadcast_to(0.9 * t, best.shape), rtol=1e-6)
    np.testing.assert_allclose(best - own, rewards.regret, atol=1e-12)
    expected = np.einsum("lrga,a->lrg", losses.measures["pulls"], MEANS.astype(float))
    np.testing.assert_allclose(own, expected, rtol=1e-5)
    shown, plain = rewards.mean("cumulative_reward"), losses.mean("cumulative_loss")
    np.testing.assert_allclose(shown.mean, t - plain.mean, rtol=1e-12)
    np.testing.assert_allclose(shown.low, t - plain.high, rtol=1e-12)
    assert rewards.to_pandas("cumulative_reward")["label"].unique().tolist() == ["cumulative reward"]
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
    np.testing.assert_allclose(
        rewards.paired_difference("UCB1", "greedy", "cumulative_reward").mean,
        -losses.paired_difference("UCB1", "greedy", "cumulative_loss").mean, rtol=1e-12,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"quantity: must be a quantity that is better if it is smaller .got 'cum"):
        standings[0].across_games(reference="greedy")


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


def decided(game, quantity):
    until = jo.UntilDecided(margin=1.0, quantity=quantity, least_runs=16)
    options = {**OPTIONS, "n_runs": 64, "measures": ()}
    with warnings.catch_warnings(action="ignore"):
        return jo.simulate(game, LEARNERS, comparator=jo.BestArm(), until=until, **options)


def made_search(quantity="cumulative_loss"):
    """A search of two settings in two runs of 40 rounds, of which the first setting has the smaller loss."""
    estimate = mean_over_runs(np.array([[3.0, 5.0], [8.0, 10.0]]))
    rung = Rung(np.arange(2), 2, 2, estimate, np.zeros(2, int))
    return Tuned(({"epsilon": 0.1}, {"epsilon": 0.5}), 0, (rung,), LEARNERS["greedy"], quantity, 40, 160, 1.0)


def test_a_search_in_rewards_has_40_minus_the_losses():
    plain, shown = made_search(), made_search().in_rewards()
    assert shown.quantity == "cumulative_reward"
    assert shown.rungs[0].of.mean.tolist() == [36.0, 31.0]
    np.testing.assert_allclose(shown.rungs[0].of.high, 40 - plain.rungs[0].of.low, rtol=1e-12)
    assert [row["epsilon"] for row in shown.table.rows] == [row["epsilon"] for row in plain.table.rows] == [0.1, 0.5]
    assert shown.in_rewards() is shown
    assert made_search("regret").in_rewards().quantity == "regret"


def tuned(game, quantity=None):
    options = {"n_runs": 16, "n_rounds": 40, "rungs": 1, "quantity": quantity}
    with warnings.catch_warnings(action="ignore"):
        return jo.tune(game, jo.learners.EpsilonGreedy, {"epsilon": [0.1, 0.5, 0.9]}, **options)


@pytest.mark.long
def test_decisions_about_rewards_are_those_about_losses():
    rewards, losses = decided(REWARDS, "cumulative_reward"), decided(LOSSES, "cumulative_loss")
    shown, plain = rewards.decisions, losses.decisions
    assert shown.learners == plain.learners
    assert [pair[:4] for pair in shown.pairs] == [pair[:4] for pair in plain.pairs]
    for pair, same in zip(shown.pairs, plain.pairs, strict=True):
        np.testing.assert_allclose(pair[4:], [-same.difference, -same.high, -same.low], rtol=1e-6)
    assert "cumulative reward" in repr(shown)
    assert "loss" not in repr(shown)


@pytest.mark.long
def test_a_search_maximises_rewards():
    shown, plain = tuned(REWARDS), tuned(LOSSES)
    assert shown.choice == plain.choice == {"epsilon": 0.1}
    assert (shown.quantity, plain.quantity) == ("cumulative_reward", "cumulative_loss")
    assert [row["epsilon"] for row in shown.table.rows] == [row["epsilon"] for row in plain.table.rows]
    np.testing.assert_allclose(shown.rungs[0].of.mean, 40 - plain.rungs[0].of.mean, rtol=1e-12)
    assert tuned(REWARDS, "cumulative_reward").choice == shown.choice
    with pytest.raises(ValueError, match=r"quantity: .*cumulative_reward"):
        tuned(REWARDS, "sum")


def test_a_saved_result_keeps_its_rewards(both, tmp_path):
    rewards, losses = both
    loaded = jo.load_result(rewards.save(tmp_path / "rewards.npz"))
    assert repr(loaded) == repr(rewards)
    assert loaded.quantities == rewards.quantities
    np.testing.assert_array_equal(loaded.values("cumulative_reward"), rewards.values("cumulative_reward"))
    assert "cumulative_loss" in jo.load_result(losses.save(tmp_path / "losses.npz")).quantities
    folder = tmp_path / "study"
    jo.simulate(REWARDS, LEARNERS, comparator=jo.BestArm(), checkpoint=folder, **OPTIONS)
    assert repr(jo.load_result(folder)) == repr(rewards)


def words_of(figure):
    return " ".join(text.get_text() for text in figure.findobj(lambda part: hasattr(part, "get_text")))


def error_of(call):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    return str(error.value)


def report_of(result):
    report = study_report(result, "Arms", {})
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        from rich.console import Console

        report.show(Console(file=text, width=80))
    figures = " ".join(words_of(draw().figure) for draw in report.figures.values())
    return "\n".join([text.getvalue(), report.json(), report.html(), figures])


def rankings_of(result, plain):
    return f"{result.ranking()} {result.ranking('cumulative_reward')!r} {plain.ranking('cumulative_reward')}"


def standings_of(result, plain):
    standings = Standings({"a": result, "b": plain})
    return f"{standings} {standings._repr_html_()} {standings.means}"


def across_games_of(result, plain):
    across = Standings({"a": result, "b": result}).across_games(reference="greedy")
    return f"{across} {across.improvements()}"


def history(game=REWARDS):
    return jo.play(game, LEARNERS["UCB1"], 0, 12)[1]


def play_rewards_out_of_range():
    arms = jo.environments.Rewards(jo.environments.DataStream(None, [[0.0, 3.0]]))
    jo.simulate(jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss()), LEARNERS, n_runs=2, n_rounds=4)


QUANTITIES = ("regret", "comparator_reward", "cumulative_reward", "queries")
OUTPUTS = {  # of a result with a comparator, and a result without one
    "printed": lambda result, plain: f"{result} {plain}",
    "notebook": lambda result, plain: result._repr_html_() + plain._repr_html_(),
    "rankings": rankings_of,
    "Markdown": lambda result, plain: "".join(map(result.to_markdown, QUANTITIES)) + plain.to_markdown(),
    "LaTeX": lambda result, plain: "".join(map(result.to_latex, QUANTITIES)) + plain.to_latex(),
    "pandas": lambda result, plain: "".join(result.to_pandas(name).to_csv() for name in QUANTITIES),
    "xarray": lambda result, plain: f"{result.to_xarray()}",
    "figures": lambda result, plain: " ".join(words_of(result.plot(quantity=name).figure) for name in QUANTITIES),
    "figure without comparator": lambda result, plain: words_of(plain.plot().figure),
    "standings": standings_of,
    "across games": across_games_of,
    "report": lambda result, plain: report_of(result),
    "report without comparator": lambda result, plain: report_of(plain),
    "description": lambda result, plain: f"{result.meta['game']} {result.meta['regret_label']} reward",
    "game": lambda result, plain: repr(REWARDS),
    "history": lambda result, plain: repr(history()),
    "one round": lambda result, plain: repr(jax.tree.map(lambda leaf: leaf[0], history())),
    "search": lambda result, plain: f"{made_search().in_rewards()} {made_search().in_rewards()._repr_html_()}",
    "unknown quantity": lambda result, plain: error_of(lambda: result.mean("gain")),
    "quantity without comparator": lambda result, plain: error_of(lambda: plain.mean("comparator_reward")) + "reward",
    "unknown quantity of a search": lambda result, plain: error_of(lambda: tuned(REWARDS, "gain")),
    "rewards out of range": lambda result, plain: error_of(play_rewards_out_of_range),
    "means out of range": lambda result, plain: error_of(lambda: jo.bandit_game([2.0], rewards=True)),
    "live": lambda result, plain: repr(live_round(reward=0.25)) + error_of(lambda: live_round(reward=2.0)),
}  # fmt: skip


def live_round(**outcome):
    live = jo.Live(jo.learners.UCB1(), jo.Bandit(), outcome=3, instance=0)
    live.predict()
    return live.update(**outcome)


@pytest.mark.parametrize("name", OUTPUTS)
def test_no_output_of_arms_with_rewards_says_loss(name, both, without):
    text = OUTPUTS[name](both[0], without[0])
    assert "reward" in text
    assert "loss" not in text.lower(), text[max(text.lower().index("loss") - 300, 0) :][:600]


def test_the_same_outputs_of_losses_say_loss(both, without):
    """So the words would be found: the outputs of the equal game with losses contain the word."""
    for name in ("printed", "notebook", "description"):
        assert "loss" in OUTPUTS[name](both[1], without[1]).lower()


def skewed_rewards():
    losses = np.ones((2, 30, 1))
    losses[1, :3, 0] = 9.0, 20.0, 30.0
    measures = {"cumulative_loss": losses, "queries": losses}
    return Result(("a", "b"), np.arange(30), np.array([40]), measures, meta={"rewards": True})


SKEWED = {
    "mean": lambda: skewed_rewards().mean("cumulative_reward"),
    "bands": lambda: skewed_rewards().bands("cumulative_reward"),
    "few runs": lambda: MissingEvents(0.1, 1.0, ("a", "b"), 2.0).warn("cumulative reward"),
}


@pytest.mark.parametrize("name", SKEWED)
def test_warnings_of_skewed_rewards_say_no_loss(name):
    with pytest.warns(SkewedRunsWarning) as caught:
        SKEWED[name]()
    assert all("cumulative reward" in str(warning.message) for warning in caught)
    assert all("loss" not in str(warning.message) for warning in caught)


def test_live_rewards_are_one_minus_losses():
    lives = [jo.Live(jo.learners.EXP3(0.3), jo.Bandit(), outcome=3, instance=0, key=4) for _ in range(2)]
    for reward in (1.0, 0.25, 0.0, 0.75):
        arms = [int(live.predict().arm) for live in lives]
        assert arms[0] == arms[1]
        shown, plain = lives[0].update(reward=reward), lives[1].update(loss=1 - reward)
        assert shown.reward == reward == 1 - plain.loss
    live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), 0.1), instance=1)
    live.predict([1.0])
    with pytest.raises(TypeError, match=r"reward: must be None unless the feedback is Bandit .got FullInformation"):
        live.update(reward=1.0)
    with pytest.raises(ValueError, match=r"reward: must be at least 0 and at most 1 .got 1.5"):
        live_round(reward=1.5)
