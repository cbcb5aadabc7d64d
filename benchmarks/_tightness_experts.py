"""Cases of `benchmarks.tightness`: expert advice, aggregation of predictions, and VAW."""

from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._tightness_search import Case
from benchmarks._tightness_tables import directions, play_rows
from jaxonline import bounds
from jaxonline.learners import (
    EWA,
    VAW,
    Aggregating,
    Doubling,
    FixedShare,
    FollowThePerturbedLeader,
    FollowTheRegularizedLeader,
    Hedge,
    LabelEfficientHedge,
    OverAdvice,
)
from jaxonline.losses import ArmLoss, ExpectedLoss, Squared

K, T, SHORT = 2, 32, 16
FULL = jo.FullInformation()


def expert_losses(name: str, learner: Any, bound: float, runs: int = 1, feedback: Any = FULL, loss: Any = None,
                  switches: int = 0, n_rounds: int = T, note: str = "") -> Case:  # fmt: skip
    """A case whose table holds the losses of the experts."""

    def play(table, settings, key):
        return play_rows(None, table, feedback, loss or ExpectedLoss(), learner, key).loss

    def ratios(losses, tables, settings):
        best = tables.sum(axis=1).min(axis=1)
        if switches:  # one switch, before round s
            sums = np.cumsum(np.pad(tables, ((0, 0), (1, 0), (0, 0))), axis=1)
            best = (sums.min(axis=2) + (sums[:, -1:] - sums).min(axis=2)).min(axis=1)
        return (losses.sum(axis=-1) - best[:, None]) / settings["bound"][:, None]

    game = f"{K} experts{note}, T = {n_rounds}"
    return Case(name, game, (n_rounds, K), lambda extras: {"bound": bound}, play, ratios, runs=runs)


def exponential_weights() -> Case:
    bound = bounds.exponential_weights(K, T)
    return expert_losses("exponential_weights", Hedge(EWA(bound.eta)), bound.value)


def doubling() -> Case:
    learner = Doubling(lambda n_rounds: Hedge(EWA(jnp.sqrt(8 * np.log(K) / n_rounds))))
    return expert_losses("doubling", learner, bounds.doubling(np.sqrt(np.log(K) / 2), T), note=", Hedge")


def fixed_share() -> Case:
    learner, bound = Hedge(FixedShare.over_horizon(K, T, 1)), bounds.fixed_share(K, T, 1)
    return expert_losses("fixed_share", learner, bound.value, switches=1, note=", 1 switch")


def perturbed_leader() -> Case:
    bound = bounds.perturbed_leader(K, T)
    learner = FollowThePerturbedLeader(bound.eta)
    return expert_losses("perturbed_leader", learner, bound.value, 256, loss=ArmLoss())


def regularized_leader() -> Case:
    bound = bounds.regularized_leader(K, T)
    return expert_losses("regularized_leader", Hedge(FollowTheRegularizedLeader(bound.eta)), bound.value)


def label_efficient() -> Case:
    learner, bound = LabelEfficientHedge.over_horizon(K, T, T // 2), bounds.label_efficient(K, T, T // 2)
    return expert_losses("label_efficient", learner, bound.value, 256, jo.OnRequest(), note=f", {T // 2} questions")


def predictions(name: str, learner: Any, bound: float) -> Case:
    """A case whose table holds the predictions of the experts and the label, in [0, 1] for the interval [-1, 1]."""

    def play(table, settings, key):
        rows = 2 * table - 1
        return play_rows(rows[:, :K], rows[:, K], FULL, Squared(), learner, key).y_hat

    def ratios(y_hat, tables, settings):
        rows = 2 * tables - 1
        y = rows[..., K]
        best = ((rows[..., :K] - y[..., None]) ** 2).sum(axis=1).min(axis=1)
        return (((y_hat - y[:, None]) ** 2).sum(axis=-1) - best[:, None]) / 2 / settings["bound"][:, None]

    return Case(name, f"{K} experts in [-1, 1], T = {SHORT}", (SHORT, K + 1), lambda extras: {"bound": bound}, play,
                ratios)  # fmt: skip


def ewa() -> Case:
    return predictions("ewa", OverAdvice(EWA.over_range(-1.0, 1.0)), bounds.ewa(K, 1.0))


def aggregating() -> Case:
    return predictions("aggregating", Aggregating(-1.0, 1.0), bounds.aggregating(K, 1.0))


def vaw() -> Case:
    """The comparator is the minimiser of loss + lambda |w|^2 / 2; the regret exceeds the bound for it or for no w."""

    def settings(extras):
        return {"regularizer": 10 ** (3 * float(extras[0]) - 2)}

    def play(table, settings, key):
        learner = VAW(settings["regularizer"], allow_float32=True)
        return play_rows(directions(table[:, 0]), 2 * table[:, 1] - 1, FULL, Squared(), learner, key).y_hat

    def ratios(y_hat, tables, settings):
        X, y = directions(tables[..., 0], np), 2 * tables[..., 1] - 1
        matrices = np.einsum("nti,ntj->nij", X, X) + settings["regularizer"][:, None, None] * np.eye(2)
        w = np.linalg.solve(matrices, np.einsum("nti,nt->ni", X, y)[..., None])[..., 0]
        best = ((np.einsum("nti,ni->nt", X, w) - y) ** 2).sum(axis=1)
        regret = (((y_hat - y[:, None]) ** 2).sum(axis=-1) - best[:, None]) / 2
        values = [
            float(bounds.vaw(float(np.linalg.norm(one)), 2, 1.0, 1.0, T, float(regularizer)))
            for one, regularizer in zip(w, settings["regularizer"], strict=True)
        ]
        return regret / np.array(values)[:, None]

    return Case("vaw", f"d = 2, |x| = 1, lambda from 0.01 to 10, T = {T}", (T, 2), settings, play, ratios, 1)


CASES = (
    exponential_weights, doubling, fixed_share, perturbed_leader, regularized_leader, label_efficient, ewa, aggregating,
    vaw,
)  # fmt: skip
