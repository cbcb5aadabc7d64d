"""Cases of `benchmarks.tightness`: the squared loss, on clean or noisy data or from attributes, in the plane."""

from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._tightness_search import Case
from benchmarks._tightness_tables import ReactingLabels, best_in_ball, directions, play_rows, squared_regret
from jaxonline import bounds
from jaxonline.estimators import FullGradient, KnownCovariance, TwoCopies
from jaxonline.learners import AER, AERR, OnlineNewtonStep
from jaxonline.losses import Squared

T, LONG, RUNS = 32, 50, 128
FULL = jo.FullInformation()


def squared_losses(name: str, game: str, settings: Any, learner: Any, feedback: Any, extras: int, runs: int,
                   n_rounds: int = T) -> Case:  # fmt: skip
    """A case with labels in [-Y, Y] and instances of norm `settings["length"]` in the plane; |w| <= 1."""

    def play(table, settings, key):
        X = settings["length"] * directions(table[:, 0])
        y = settings["Y"] * (2 * table[:, 1] - 1)
        return play_rows(X, y, feedback(settings), Squared(), learner(settings), key).y_hat

    def ratios(y_hat, tables, settings):
        X = settings["length"][:, None, None] * directions(tables[..., 0], np)
        y = settings["Y"][:, None] * (2 * tables[..., 1] - 1)
        w = best_in_ball(X, y, np.ones(len(X)))
        return squared_regret(y_hat, y, np.einsum("nti,ni->nt", X, w)) / settings["bound"][:, None]

    return Case(name, game, (n_rounds, 2), settings, play, ratios, extras, runs)


def label_scale(extra: float) -> float:
    """Y from 1/10 to 100, as a bound depends on Y / (radius x_bound)."""
    return float(10 ** (3 * extra - 1))


def full_information() -> Case:
    def settings(extras):
        bound = bounds.full_information(1.0, 1.0, label_scale(extras[0]), T)
        return {"bound": bound.value, "step": bound.step_size, "Y": label_scale(extras[0]), "length": 1.0}

    def learner(settings):
        return jo.GradientLearner(FullGradient(), step_size=settings["step"], radius=1.0)

    game = f"d = 2, labels up to Y, Y/(radius x_bound) from 0.1 to 100, T = {T}"
    return squared_losses("full_information", game, settings, learner, lambda settings: FULL, 1, 1)


def two_copies() -> Case:
    def settings(extras):
        Y, variance = label_scale(extras[0]), 0.49 * float(extras[1]) + 1e-6
        bound = bounds.two_copies(1.0, 1.0, Y, T)
        length = np.sqrt(1 - 2 * variance)
        return {"bound": bound.value, "step": bound.step_size, "Y": Y, "length": length, "variance": variance}

    def learner(settings):
        return jo.GradientLearner(TwoCopies(), step_size=settings["step"], radius=1.0)

    def feedback(settings):
        return jo.NoisyCopies(jo.noise.gaussian(settings["variance"]))

    game = f"d = 2, Gaussian noise of any variance with E|x~|^2 = x_bound^2, T = {T}"
    return squared_losses("two_copies", game, settings, learner, feedback, 2, RUNS)


def known_covariance() -> Case:
    def settings(extras):
        Y, variance = label_scale(extras[0]), 0.35 * float(extras[1]) + 1e-6
        # E|x~|^4 = r^4 + 8 r^2 s^2 + 8 s^4 = 1 for |x| = r in the plane
        length = np.sqrt(np.sqrt(1 + 8 * variance**2) - 4 * variance)
        bound = bounds.known_covariance(1.0, 1.0, Y, T)
        return {"bound": bound.value, "step": bound.step_size, "Y": Y, "length": length, "variance": variance}

    def learner(settings):
        return jo.GradientLearner(KnownCovariance(), step_size=settings["step"], radius=1.0)

    def feedback(settings):
        return jo.NoisyCopies(jo.noise.gaussian(settings["variance"]), reveal_covariance=True)

    game = f"d = 2, Gaussian noise of any variance with E|x~|^4 = x_bound^4, T = {T}"
    return squared_losses("known_covariance", game, settings, learner, feedback, 2, RUNS)


def online_newton_step() -> Case:
    def settings(extras):
        Y = label_scale(extras[0])
        largest = Y + 1.0  # of |y_hat - y|
        bound = bounds.online_newton_step(1 / (2 * largest**2), 2 * largest, 2.0, 2, T)
        return {"bound": bound.value, "gamma": bound.gamma, "epsilon": bound.epsilon, "Y": Y, "length": 1.0}

    def learner(settings):
        return OnlineNewtonStep(FullGradient(), settings["gamma"], settings["epsilon"], 1.0)

    game = f"squared loss, d = 2, labels up to Y, Y/(radius x_bound) from 0.1 to 100, T = {T}"
    return squared_losses("online_newton_step", game, settings, learner, lambda settings: FULL, 1, 1)


def aer_regret() -> Case:
    bound = bounds.aer_regret(2, 2, 1.0, 1.0, T)
    settings = {"bound": bound.value, "regularizer": bound.regularizer}

    def play(table, settings, key):
        learner = AER(2, settings["regularizer"], 1.0, hypothesis="last")
        return play_rows(2 * table[:, :2] - 1, 2 * table[:, 2] - 1, jo.Attributes(2), Squared(), learner, key).y_hat

    def ratios(y_hat, tables, settings):
        X, y = 2 * tables[..., :2] - 1, 2 * tables[..., 2] - 1
        side = np.linspace(-1, 1, 65)
        w = np.array([(a, sign * s * (1 - abs(a))) for a in side for s in np.linspace(0, 1, 33) for sign in (-1, 1)])
        sums = np.einsum("nti,ntj->nij", X, X), np.einsum("nti,nt->ni", X, y)
        losses = np.einsum("gi,nij,gj->ng", w, sums[0], w) - 2 * np.einsum("gi,ni->ng", w, sums[1])
        predictions = np.einsum("nti,ni->nt", X, w[losses.argmin(axis=1)])
        return squared_regret(y_hat, y, predictions) / settings["bound"][:, None]

    game = f"d = k = 2, l1 ball of radius 1, |x_i| <= 1, |y| <= 1, T = {T}"
    return Case("aer_regret", game, (T, 3), lambda extras: settings, play, ratios, runs=RUNS)


def aerr_regret() -> Case:
    def settings(extras):
        bound = bounds.aerr_regret(2, 2, 1.0, T, y_bound=label_scale(extras[0]))
        return {"bound": bound.value, "step": bound.step_size, "Y": label_scale(extras[0]), "length": 1.0}

    def learner(settings):
        return AERR(2, settings["step"], 1.0, hypothesis="last")

    game = f"d = k = 2, labels up to Y, Y/(radius x_bound) from 0.1 to 100, T = {T}"
    return squared_losses("aerr_regret", game, settings, learner, lambda settings: jo.Attributes(2), 1, RUNS)


def reacting_labels(in_any_environment: bool) -> Case:
    """Two labels a round, for predictions >= 0 and < 0; regret in hindsight.

    The theorem covers oblivious environments only; `in_any_environment` gives the bound for such labels.
    """

    def settings(extras):
        Y, variance = label_scale(extras[0]), 0.99 * float(extras[1]) + 1e-6
        bound = bounds.two_copies(1.0, 1.0, Y, LONG)
        bound = bound.in_any_environment() if in_any_environment else bound
        length = np.sqrt(1 - variance)
        return {"bound": bound.value, "step": bound.step_size, "Y": Y, "length": length, "variance": variance}

    def play(table, settings, key):
        x = settings["length"] * jnp.where(table[:, :1] < 0.5, -1.0, 1.0)
        feedback = jo.NoisyCopies(jo.noise.gaussian(settings["variance"]))
        learner = jo.GradientLearner(TwoCopies(), step_size=settings["step"], radius=1.0)
        environment = ReactingLabels(x, settings["Y"] * (2 * table[:, 1:] - 1))
        history = jo.play(jo.Game(environment, feedback), learner, key, LONG)[1]
        return history.x[:, 0], history.y_hat, history.y

    def ratios(outputs, tables, settings):
        x, y_hat, y = outputs
        u = np.clip((x * y).sum(axis=-1) / (x**2).sum(axis=-1), -1, 1)[..., None]
        return ((y_hat - u * x) * (y_hat + u * x - 2 * y)).sum(axis=-1) / settings["bound"][:, None]

    game = f"d = 1, Gaussian noise, labels that react to the sign of the prediction, T = {LONG}"
    name = "two_copies, in_any_environment" if in_any_environment else "two_copies"
    opposite = np.concatenate([np.tile([1.0, 0.0, 1.0], LONG), [1.0, 0.8]])  # OppositeLabels, Y = 100, variance 0.8
    return Case(name, game, (LONG, 3), settings, play, ratios, 2, RUNS, covered=in_any_environment, first=opposite)


def two_copies_with_reacting_labels() -> Case:
    return reacting_labels(in_any_environment=False)


def two_copies_in_any_environment() -> Case:
    return reacting_labels(in_any_environment=True)


CASES = (
    full_information, two_copies, two_copies_with_reacting_labels, two_copies_in_any_environment,
    known_covariance, online_newton_step, aer_regret, aerr_regret,
)  # fmt: skip
