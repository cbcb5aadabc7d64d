"""Cases of `benchmarks.tightness`: bandits with two or three arms."""

from typing import Any

import numpy as np

import jaxonline as jo
from benchmarks._tightness_search import Case
from benchmarks._tightness_tables import ReactingLosses, from_arrays, play_rows
from jaxonline import bounds
from jaxonline.environments import BernoulliArms, GaussianArms, PreferenceArms
from jaxonline.learners import CUCB, EXP3, EXP3IX, EXP3P, MOSS, RUCB, UCB1, ExploreThenCommit, UpdateOnArrival
from jaxonline.losses import ArmLoss, PairLoss, SmallestArms, SumOfArms

K, T, LONG, DELTA, RUNS = 2, 32, 50, 0.1, 256


def reacting(name: str, learner: Any, bound: float, delta: float | None = None) -> Case:
    """A case with losses in [0, 1] that react to the arm of the round before.

    EXP3's bound is on the pseudo-regret, the largest mean regret to a fixed arm; those with a delta are on the regret
    to the best arm in hindsight.
    """

    def play(table, settings, key):
        environment = ReactingLosses(table.reshape(T, K, K))
        history = jo.play(jo.Game(environment, jo.Bandit(), loss=ArmLoss()), learner, key, T)[1]
        own = history.loss if delta is not None else (history.y_hat.probabilities * history.y).sum(axis=1)
        return own.sum(), history.y.sum(axis=0)

    def ratios(outputs, tables, settings):
        own, sums = outputs
        best = sums.mean(axis=1).min(axis=1)[:, None] if delta is None else sums.min(axis=2)
        if delta is None:  # the run's own sum for the arm with the smallest mean, so that the interval is of one mean
            best = np.take_along_axis(sums, sums.mean(axis=1).argmin(axis=1)[:, None, None], axis=2)[..., 0]
        return (own - best) / settings["bound"][:, None]

    game = f"{K} arms, losses that react to the last arm, T = {T}"
    game += ", pseudo-regret" if delta is None else f", delta = {delta}"
    return Case(name, game, (T, K * K), lambda extras: {"bound": bound}, play, ratios, runs=RUNS, delta=delta)


def exp3() -> Case:
    return reacting("exp3", EXP3.over_horizon(K, T), float(bounds.exp3(K, T)))


def exp3_ix() -> Case:
    return reacting("exp3_ix", EXP3IX.over_horizon(K, T), float(bounds.exp3_ix(K, T, DELTA)), DELTA)


def exp3_p() -> Case:
    return reacting("exp3_p", EXP3P.over_horizon(K, T, DELTA), float(bounds.exp3_p(K, T, DELTA)), DELTA)


def delayed_exp3() -> Case:
    delay = 2
    eta = 1 / (2 * np.e * (delay + 1)) * (1 - 1e-6)
    value = float(bounds.delayed_exp3(K, delay, T, eta))

    def play(table, settings, key):
        learner = UpdateOnArrival(EXP3(settings["eta"]))
        history = play_rows(None, table, jo.Delayed(jo.Bandit(), delay), ArmLoss(), learner, key)
        return (history.y_hat.probabilities * history.y).sum()

    def ratios(own, tables, settings):
        return (own - tables.sum(axis=1).min(axis=1)[:, None]) / settings["bound"][:, None]

    return Case("delayed_exp3", f"{K} arms, oblivious losses, delay {delay}, largest eta, T = {T}", (T, K),
                lambda extras: {"bound": value, "eta": eta}, play, ratios, runs=RUNS)  # fmt: skip


def stationary(name: str, game: str, learner: Any, bound: Any, feedback: Any = None, environment: Any = None) -> Case:
    """A case whose extras are the gap, the smaller mean loss and the order of two arms; pseudo-regret."""

    def settings(extras):
        gap = 0.02 + 0.98 * float(extras[0])
        least = (1 - gap) * float(extras[1])
        swap = extras[2] > 0.5
        means = [least + gap, least] if swap else [least, least + gap]
        return {"means": means, "gap": gap, "bound": float(bound([0.0, gap]))}

    def play(table, settings, key):
        arms = from_arrays(environment or BernoulliArms([0.0, 0.0]), settings["means"])
        game = jo.Game(arms, feedback or jo.Bandit(), loss=ArmLoss())
        arms = jo.play(game, learner, key, LONG)[1].y_hat
        return (settings["means"][arms] - settings["means"].min()).sum()

    def ratios(regrets, tables, settings):
        return regrets / settings["bound"][:, None]

    return Case(name, f"{game}, T = {LONG}", (0, 0), settings, play, ratios, 3, RUNS)


def ucb1() -> Case:
    return stationary("ucb1", "2 Bernoulli arms, any gap", UCB1(), lambda gaps: bounds.ucb1(gaps, LONG))


def delayed_ucb1() -> Case:
    return stationary(
        "delayed_ucb1", "2 Bernoulli arms, any gap, delay 3", UpdateOnArrival(UCB1()),
        lambda gaps: bounds.delayed_ucb1(gaps, 3, LONG), jo.Delayed(jo.Bandit(), 3),
    )  # fmt: skip


def moss() -> Case:
    return stationary("moss", "2 Bernoulli arms, any gap", MOSS(LONG), lambda gaps: bounds.moss(2, LONG))


def explore_then_commit() -> Case:
    return stationary(
        "explore_then_commit", "2 Gaussian arms, any gap, 5 pulls each", ExploreThenCommit(5),
        lambda gaps: bounds.explore_then_commit(gaps, 5, LONG), environment=GaussianArms([0.0, 0.0], std=0.5),
    )  # fmt: skip


def cucb() -> Case:
    m = 2

    def settings(extras):
        means = np.sort(np.round(extras, 3)) + np.arange(3) * 1e-3
        means = means / max(1.0, means.max())
        return {"means": means, "bound": max(float(bounds.cucb(means, m, LONG)), 1e-9)}

    def play(table, settings, key):
        game = jo.Game(from_arrays(BernoulliArms([0.0] * 3), settings["means"]), jo.SemiBandit(), loss=SumOfArms())
        arms = jo.play(game, CUCB(SmallestArms(m)), key, LONG)[1].y_hat
        return settings["means"][arms].sum() - LONG * settings["means"][:m].sum()

    def ratios(regrets, tables, settings):
        return regrets / settings["bound"][:, None]

    return Case("cucb", f"sets of {m} of 3 Bernoulli arms, T = {LONG}", (0, 0), settings, play, ratios, 3, RUNS)


def rucb() -> Case:
    def settings(extras):
        wins = 0.5 + 0.5 * np.maximum(extras[:2], 0.01)
        middle = float(extras[2])
        alpha = 0.6 + 3 * float(extras[3])
        preferences = np.array([[0.5, wins[0], wins[1]], [0, 0.5, middle], [0, 0, 0.5]])
        preferences = np.triu(preferences) + np.tril(1 - preferences.T, -1)
        value = float(bounds.rucb(preferences, LONG, DELTA, alpha))
        return {"preferences": preferences, "alpha": alpha, "bound": value}

    def play(table, settings, key):
        preferences = settings["preferences"]
        game = jo.Game(
            from_arrays(PreferenceArms(np.full((3, 3), 0.5)), preferences),
            jo.Duel(),
            loss=PairLoss(0),
            pseudo=True,
        )
        return jo.play(game, RUCB(settings["alpha"]), key, LONG)[1].loss.sum()

    def ratios(regrets, tables, settings):
        return regrets / settings["bound"][:, None]

    game = f"3 arms, any preferences and alpha from 0.6 to 3.6, T = {LONG}, delta = {DELTA}"
    return Case("rucb", game, (0, 0), settings, play, ratios, 4, RUNS, DELTA)


CASES = (
    exp3, exp3_ix, exp3_p, delayed_exp3, ucb1, delayed_ucb1, moss, explore_then_commit, cucb, rucb,
)  # fmt: skip
