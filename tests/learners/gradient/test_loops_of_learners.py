"""Each gradient, linear and kernel learner and wrapper against a NumPy loop over the same rounds, in which every
constant decides: the loop with another value of any constant disagrees with the library."""

import functools
import inspect
from typing import Any, NamedTuple

import delayed_reference
import jax
import jax.numpy as jnp
import kernel_loops
import numpy as np
import optax
import pytest
from kernel_dictionary import features_in_numpy, small_problem
from kernel_loops import Seen
from registry import COVARIANCE
from scipy import optimize
from tiers import some
from vaw_equations import normal_equations

import jaxonline as jo
from jaxonline import estimators, kernels, learners
from jaxonline.learners.gradient.descent import _project

pytestmark = pytest.mark.fast_compile
T, D, KEY = 30, 3, jax.random.key(11)
DELAYS = [0, 3, 1, 2, 0, 0, 3, 1, 1, 2] * 3


def into_ball(w, radius):
    return w if radius is None or np.sqrt(w @ w) <= radius else w * (radius / np.sqrt(w @ w))


# Gradients of the squared loss at w; `slope` is 2.


def full(w, seen, *, slope=2.0):
    return slope * (w @ seen.x - seen.y) * seen.x


def two(w, seen, *, slope=2.0, first=0, other=1):
    return slope * (w @ seen.copies[first] - seen.label) * seen.copies[other]


def known(w, seen, *, slope=2.0, correction=2.0, first=0):
    return two(w, seen, slope=slope, first=first, other=first) - correction * COVARIANCE @ w


def mean(w, seen, *, slope=2.0, number=3):
    x = np.mean(seen.copies[:number], axis=0)
    return slope * (w @ x - seen.label) * x


def pairs(w, seen, *, slope=2.0, number=3):
    every = [two(w, seen, slope=slope, first=i, other=j) for i in range(number) for j in range(number) if i != j]
    return np.mean(every, axis=0)


def descent(gradient, rounds, *, eta, power=0.0, radius=None, momentum=0.0, averaged=0.0, **constants):
    w, trace, played, y_hat, norms = np.zeros(len(rounds[0].x)), 0.0, [], [], []
    for t, seen in enumerate(rounds, start=1):
        played.append(w)
        y_hat.append(((1 - averaged) * w + averaged * np.mean(played, axis=0)) @ seen.x)
        g = gradient(w, seen, **constants)
        trace = momentum * trace + g
        norms.append(np.sqrt(g @ g))
        w = into_ball(w - eta * t**-power * trace, radius)
    return {"y_hat": y_hat, "w": w, "gradient_norm": norms}


def adagrad(rounds, *, eta, radius, slope=2.0, square=2.0, power=0.5):
    w, sums, y_hat, norms = np.zeros(D), np.zeros(D), [], []
    for seen in rounds:
        y_hat.append(w @ seen.x)
        g = full(w, seen, slope=slope)
        norms.append(np.sqrt(g @ g))
        sums = sums + np.abs(g) ** square
        w = np.clip(w - eta * g / np.where(g == 0, 1, sums) ** power, -radius, radius)
    return {"y_hat": y_hat, "w": w, "gradient_norm": norms}


def newton(rounds, *, gamma, epsilon, radius, slope=2.0):
    w, A, y_hat, norms = np.zeros(D), epsilon * np.eye(D), [], []
    for seen in rounds:
        y_hat.append(w @ seen.x)
        g = full(w, seen, slope=slope)
        norms.append(np.sqrt(g @ g))
        A = A + np.outer(g, g)
        w = ball_projection(w - np.linalg.solve(A, g) / gamma, A, radius)
    return {"y_hat": y_hat, "w": w, "A": A, "gradient_norm": norms}


def ball_projection(z, A, radius):
    """The point of the ball that is nearest to z in the norm of A, by a general root finder."""

    def shrunk(mu):
        return np.linalg.solve(A + mu * np.eye(D), A @ z)

    if np.linalg.norm(z) <= radius:
        return z
    return shrunk(optimize.brentq(lambda mu: np.linalg.norm(shrunk(mu)) - radius, 0, 1e6, xtol=1e-14))


# Mirror descent in its primal form: a step and a Bregman projection in each round, where the learner sums gradients.


def entropy_step(p, g, *, scale):
    """For weights of any sign, `p` has two halves."""
    p = p * np.exp(-scale * np.concatenate([g, -g])[: len(p)])
    return p / p.sum()


def barrier_step(w, g):
    """The Bregman projection on the simplex of the point with 1 / w' = 1 / w + step g, by a root finder."""
    inverse = 1 / w + g
    c = optimize.brentq(lambda c: np.sum(1 / (inverse + c)) - 1, 1e-12 - inverse.min(), 1e3, xtol=1e-15)
    return 1 / (inverse + c)


def p_norm_step(w, g, *, p):
    """The gradient of R = (p - 1) |w|_q^2 / 2 is lower by step g."""

    def link(v, r):
        size = np.sum(np.abs(v) ** r) ** (1 / r)
        return 0 * v if size == 0 else np.sign(v) * np.abs(v) ** (r - 1) * size ** (2 - r)

    return link((p - 1) * link(w, p / (p - 1)) - g, p) / (p - 1)


def mirror(step, w, rounds, *, eta, power=0.0, slope=2.0, **constants):
    def point():
        return constants.get("scale", 1.0) * (w[:D] - w[D:] if len(w) > D else w)

    y_hat = []
    for t, seen in enumerate(rounds, start=1):
        y_hat.append(point() @ seen.x)
        w = step(w, eta * t**-power * full(point(), seen, slope=slope), **constants)
    return {"y_hat": y_hat, "w": point()}


def perceptron(rounds, *, p=2.0, threshold=0):
    theta, y_hat, mistakes = np.zeros(D), [], []
    for seen in rounds:
        size = np.sum(np.abs(theta) ** p) ** (1 / p) or 1.0
        y_hat.append(np.sign(theta) * np.abs(theta) ** (p - 1) / size ** (p - 2) @ seen.x)
        mistakes.append(seen.y * y_hat[-1] <= threshold)
        theta = theta + mistakes[-1] * seen.y * seen.x
    return {"y_hat": y_hat, "state": theta, "mistake": mistakes}


def winnow(rounds, *, promotion, threshold, start=1.0, present=1.0, limit=0):
    w, y_hat, mistakes = np.full(len(rounds[0].x), start), [], []
    for seen in rounds:
        y_hat.append(w @ seen.x - threshold)
        mistakes.append(seen.y * y_hat[-1] <= limit)
        w = w * promotion ** (mistakes[-1] * seen.y * present * seen.x)
    return {"y_hat": y_hat, "w": w, "mistake": mistakes}


def aggressive(variant, rounds, *, C=None, margin=1.0, half=0.5, limit=0):
    w, y_hat, mistakes, hinges = np.zeros(D), [], [], []
    for seen in rounds:
        y_hat.append(w @ seen.x)
        mistakes.append(seen.y * y_hat[-1] <= limit)
        hinges.append(max(0.0, margin - seen.y * y_hat[-1]))
        tau = hinges[-1] / ((seen.x @ seen.x or 1.0) + (half / C if variant == "PA-II" else 0.0))
        w = w + (min(C, tau) if variant == "PA-I" else tau) * seen.y * seen.x
    return {"y_hat": y_hat, "state": w, "mistake": mistakes, "hinge_loss": hinges}


def vaw(forward, rounds, *, regularizer):
    """With the matrix of the rounds so far, and with the current instance in it (`forward`)."""
    X, y, leverages = np.array([seen.x for seen in rounds]), np.array([seen.y for seen in rounds]), []
    both = normal_equations(X, y, regularizer)
    for t, x in enumerate(X):
        leverages.append(1 + x @ np.linalg.solve(regularizer * np.eye(D) + X[:t].T @ X[:t], x))
    return {"y_hat": both[int(forward)], "w": both[2], "leverage": leverages}


def kernel_gradient(learns_from, rounds, *, width, eta, power, radius, slope=2.0):
    kernel = kernel_loops.gaussian(width)
    played = kernel_loops.kernel_loop(
        rounds, learns_from, lambda a, y: slope * (a - y), lambda t: eta * t**-power, radius, kernel, kernel
    )
    return {"y_hat": played.y_hat, "alpha": played.alpha, "squared_norm": played.squared_norms[-1]}


def surrogate(rounds, *, width, eta, power, radius, slope=2.0, share=1.0, first=0, other=1):
    played = kernel_loops.kernel_loop(
        rounds, lambda seen: (seen.copies[first], seen.copies[other], seen.label), lambda a, y: slope * (a - y),
        lambda t: eta * t**-power, radius, kernel_loops.gaussian_surrogate(width, share * COVARIANCE),
        kernel_loops.gaussian(width),
    )  # fmt: skip
    return {"y_hat": played.y_hat, "alpha": played.alpha, "squared_norm": played.squared_norms[-1]}


def raker(rounds, *, eta, power=0.5, penalty, slope=2.0, of_penalty=2.0):
    Z, y_hat = features_in_numpy(DICTIONARY, np.array([seen.x for seen in rounds])), []
    theta, w = np.zeros(Z.shape[1:]), np.ones(len(Z[0]))
    for t, (z, seen) in enumerate(zip(Z, rounds, strict=True), start=1):
        step, f = eta * t**-power, np.array([theta[k] @ z[k] for k in range(len(z))])
        y_hat.append(w @ f / w.sum())
        for k in range(len(z)):
            theta[k] -= step * (slope * (f[k] - seen.y) * z[k] + of_penalty * penalty * theta[k])
            w[k] *= np.exp(-step * ((f[k] - seen.y) ** 2 + penalty * theta[k] @ theta[k]))
    return {"y_hat": y_hat, "weights": w / w.sum()}


def two_levels(rounds, *, of_experts, of_combiner):
    Z, y = features_in_numpy(DICTIONARY, np.array([seen.x for seen in rounds])), [seen.y for seen in rounds]
    advice = np.stack([normal_equations(Z[:, k], y, of_experts)[1] for k in range(Z.shape[1])], axis=1)
    _, y_hat, w = normal_equations(advice, y, of_combiner)
    return {"y_hat": y_hat, "weights": w}


def featured(rounds, *, eta, radius, amplitude=2.0):
    def phi(x, omega):
        return np.sqrt(amplitude / len(omega)) * np.cos(omega @ x + PHASES)

    seen = [
        Seen(phi(seen.x, OMEGA), seen.y, np.array([phi(copy, 0.5 * OMEGA) for copy in seen.copies]), seen.label)
        for seen in rounds
    ]
    return descent(two, seen, eta=eta, radius=radius)


def delayed(n_copies, rounds, *, eta, radius, slope=2.0):
    """A copy that does not wait plays each round; it learns when the answer arrives. One copy never waits."""
    copies, waiting, of_round, y_hat, norms = np.zeros((n_copies, D)), [False] * n_copies, [], [], []
    for t, seen in enumerate(rounds, start=1):
        of_round.append(waiting.index(False))
        waiting[of_round[-1]] = n_copies > 1
        y_hat.append(copies[of_round[-1]] @ seen.x)
        norms.append(0.0)
        for s in delayed_reference.arrivals(DELAYS, t):
            copy = of_round[s - 1]
            g = full(copies[copy], rounds[s - 1], slope=slope)
            copies[copy], norms[-1], waiting[copy] = into_ball(copies[copy] - eta * g, radius), np.sqrt(g @ g), False
    return {"y_hat": y_hat, "gradient_norm": norms}


def doubling(rounds, *, eta, power=0.5, factor=2):
    """Learners for 1, 2, 4, ... rounds, each with a step for its horizon."""
    y_hat, begin, horizon = [], 0, 1
    while begin < len(rounds):
        phase = descent(full, rounds[begin : begin + horizon], eta=eta * horizon**-power)
        y_hat, begin, horizon = [*y_hat, *phase["y_hat"]], begin + horizon, factor * horizon
    return {"y_hat": y_hat}


FULL, TWO = estimators.FullGradient(), estimators.TwoCopies()
DICTIONARY = small_problem(N=2, m=2)[2]
RNG = np.random.default_rng(7)
OMEGA, PHASES = RNG.normal(size=(4, D)), RNG.uniform(0, 2 * np.pi, 4)
NOISY = jo.NoisyCopies(jo.noise.gaussian(COVARIANCE), jo.noise.uniform(0.04), reveal_covariance=True)
DELAYED = jo.Delayed(jo.FullInformation(), DELAYS)


def descent_for(n_rounds):
    return jo.GradientLearner(FULL, 0.3 / n_rounds**0.5)


def rows(name):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(T, D))
    if name == "booleans":
        X = (rng.uniform(size=(T, 6)) < 0.4).astype(float)
        return X, np.where(X[:, 0] + X[:, 3] > 0, 1.0, -1.0)
    if name == "sparse":  # attributes that are present in all rounds, in a quarter of them, and never
        X = X * (rng.uniform(size=(T, D)) < [1, 0.25, 0])
    if name == "classes":
        X[5] = 0.0
    y = X @ np.array([0.9, -0.6, 0.3]) + 0.3 * rng.normal(size=T)
    return X, np.sign(y) if name == "classes" else y


class Case(NamedTuple):
    """A learner, and its loop with the constants: all numbers that are keyword arguments, given or by default."""

    learner: Any
    loop: functools.partial
    rows: str = "numbers"
    feedback: Any = jo.FullInformation()

    def constants(self):
        functions = self.loop.func, *filter(callable, self.loop.args)
        defaults = {name: value for function in functions for name, value in (function.__kwdefaults__ or {}).items()}
        return {name: value for name, value in (defaults | self.loop.keywords).items() if value is not None}


def gradient(estimator, step, loop, feedback=NOISY, **options):
    return Case(jo.GradientLearner(estimator, step, **options), loop, feedback=feedback)


of = functools.partial
CASES = {
    "gradient descent": gradient(
        FULL, jo.InverseSqrt(0.4), of(descent, full, eta=0.4, power=0.5, radius=0.5), jo.FullInformation(), radius=0.5
    ),
    "two copies, averaged": gradient(
        TWO, 0.2, of(descent, two, eta=0.2, radius=0.6, averaged=1.0), radius=0.6, hypothesis="average"
    ),
    "known covariance": gradient(estimators.KnownCovariance(), 0.1, of(descent, known, eta=0.1)),
    "mean of copies, momentum": gradient(
        estimators.MeanOfCopies(3), 0.05, of(descent, mean, eta=0.05, momentum=0.7),
        optimizer=optax.sgd(1.0, momentum=0.7),
    ),
    "pairs of copies, inverse time": gradient(
        estimators.PairsOfCopies(3), learners.InverseTime(0.5), of(descent, pairs, eta=0.5, power=1.0)
    ),
    "AdaGrad": Case(learners.AdaGrad(FULL, 0.3, 0.5), of(adagrad, eta=0.3, radius=0.5), "sparse"),
    "online Newton step": Case(
        learners.OnlineNewtonStep(FULL, gamma=0.2, epsilon=0.5, radius=0.6),
        of(newton, gamma=0.2, epsilon=0.5, radius=0.6),
    ),
    "exponentiated gradient": Case(
        learners.ExponentiatedGradient(FULL, jo.InverseSqrt(0.4), 1.5),
        of(mirror, entropy_step, np.full(D, 1 / D), eta=0.4, power=0.5, scale=1.5),
    ),
    "exponentiated gradient, signed": Case(
        learners.ExponentiatedGradient(FULL, 0.3, 1.5, signed=True),
        of(mirror, entropy_step, np.full(2 * D, 1 / (2 * D)), eta=0.3, scale=1.5),
    ),
    "barrier": Case(
        learners.MirrorLearner(FULL, 0.3, learners.LogBarrier()), of(mirror, barrier_step, np.full(D, 1 / D), eta=0.3)
    ),
    "p-norm": Case(
        learners.MirrorLearner(FULL, 0.3, learners.PNorm(3.0)), of(mirror, p_norm_step, np.zeros(D), eta=0.3, p=3.0)
    ),
    "perceptron": Case(learners.Perceptron(), of(perceptron), "classes"),
    "p-norm perceptron, p = 2": Case(learners.PNormPerceptron(), of(perceptron), "classes"),
    "p-norm perceptron": Case(learners.PNormPerceptron(3.5), of(perceptron, p=3.5), "classes"),
    "PA": Case(learners.PassiveAggressive("PA"), of(aggressive, "PA", half=None), "classes"),
    "PA-I": Case(learners.PassiveAggressive("PA-I", 0.3), of(aggressive, "PA-I", C=0.3, half=None), "classes"),
    "PA-II": Case(learners.PassiveAggressive("PA-II", 0.3), of(aggressive, "PA-II", C=0.3), "classes"),
    "Winnow": Case(learners.Winnow(), of(winnow, promotion=2.0, threshold=6.0), "booleans"),
    "Winnow, threshold": Case(learners.Winnow(1.5, 4.0), of(winnow, promotion=1.5, threshold=4.0), "booleans"),
    "VAW": Case(learners.VAW(0.3), of(vaw, True, regularizer=0.3)),
    "online ridge": Case(learners.VAW(0.3, forward=False), of(vaw, False, regularizer=0.3)),
    "kernel gradient": Case(
        learners.KernelGradient(kernels.Gaussian(1.3), FULL, jo.InverseSqrt(0.3), n_rounds=T, radius=0.6),
        of(kernel_gradient, lambda seen: (seen.x, seen.x, seen.y), width=1.3, eta=0.3, power=0.5, radius=0.6),
    ),
    "kernel gradient, one copy": Case(
        learners.KernelGradient(kernels.Gaussian(0.9), estimators.NaiveCopy(), 0.2, n_rounds=T),
        of(
            kernel_gradient, lambda seen: (seen.copies[0], seen.copies[0], seen.label),
            width=0.9, eta=0.2, power=0.0, radius=None,
        ),
        feedback=NOISY,
    ),
    "surrogate kernel": Case(
        learners.SurrogateKernel(
            estimators.Surrogate(kernels.Gaussian(1.7), COVARIANCE, D), jo.InverseSqrt(0.4), n_rounds=T, radius=0.7
        ),
        of(surrogate, width=1.7, eta=0.4, power=0.5, radius=0.7),
        feedback=NOISY,
    ),
    "Raker": Case(learners.Raker(DICTIONARY), of(raker, eta=0.1, penalty=1e-3)),
    "Raker, constant step": Case(learners.Raker(DICTIONARY, 0.2, 0.3), of(raker, eta=0.2, power=0.0, penalty=0.3)),
    "two levels of VAW": Case(
        learners.MultiKernel(DICTIONARY, learners.VAW(0.5), learners.VAW(0.3)),
        of(two_levels, of_experts=0.3, of_combiner=0.5),
    ),
    "features": Case(
        learners.WithFeatures(
            jo.GradientLearner(TWO, 0.4, radius=0.5),
            *(estimators.FourierFeatures(scale * OMEGA, PHASES) for scale in (1.0, 0.5)),
        ),
        of(featured, eta=0.4, radius=0.5), feedback=NOISY,
    ),
    "update on arrival": Case(
        learners.UpdateOnArrival(jo.GradientLearner(FULL, 0.2, radius=0.5)), of(delayed, 1, eta=0.2, radius=0.5),
        feedback=DELAYED,
    ),
    "BOLD": Case(
        learners.BOLD(jo.GradientLearner(FULL, 0.2, radius=0.5), 3), of(delayed, 4, eta=0.2, radius=0.5),
        feedback=DELAYED,
    ),
    "doubling": Case(learners.Doubling(descent_for), of(doubling, eta=0.3)),
}  # fmt: skip


@functools.cache
def recorded(name, noisy):
    """The rounds that a loop sees, with the copies and labels of the noisy feedback."""
    X, y = rows(name)
    if noisy:
        return kernel_loops.rounds_of(NOISY, KEY, X, y, 5)
    return [Seen(*row, np.zeros((5, D)), np.nan) for row in zip(X, y, strict=True)]


# one of each class of learners and estimators
ONE_OF_EACH = {(type(case.learner), type(getattr(case.learner, "estimator", 0))): name for name, case in CASES.items()}


@pytest.mark.parametrize("name", some(CASES, *ONE_OF_EACH.values()))
def test_learner_equals_its_loop_in_which_every_constant_decides(name, x64):
    case = CASES[name]
    game = jo.Game(jo.environments.DataStream(*rows(case.rows)), case.feedback)
    # with float64, delays that differ are counted in int32 and int64
    with jax.numpy_dtype_promotion("standard" if case.feedback is DELAYED else "strict"):
        state, history = jo.play(game, case.learner, KEY, T)
    rounds = recorded(case.rows, case.feedback is NOISY)
    expected = case.loop(rounds)
    for output, values in expected.items():
        found = read(case.learner, state, history, output)
        np.testing.assert_allclose(np.ravel(found)[: np.size(values)], np.ravel(values), rtol=1e-9, atol=1e-11)
    for constant, value in case.constants().items():
        for other in (value - 1, value + 1) if isinstance(value, int) else (value - 0.05, value + 0.05):
            loop = case.loop(rounds, **{constant: other})
            assert max(np.abs(np.subtract(loop[name], expected[name], dtype=float)).max() for name in loop) > 1e-6, (
                f"{constant}: {other} in the place of {value} changes nothing"
            )


def read(learner, state, history, output):
    """An output of a loop in the history, in its diagnostics, in the state, or by a method of the learner."""
    for part in (history, history.info, state):
        if hasattr(part, output):
            return getattr(part, output)
    return state if output == "state" else getattr(learner, output)(state)


def test_every_learner_has_a_loop():
    """The other two need the draws of the learner; their loops stand beside their other tests."""
    folders = tuple(f"jaxonline.learners.{name}" for name in ("gradient", "linear", "kernels", "wrappers"))
    classes = [value for value in vars(learners).values() if inspect.isclass(value) and issubclass(value, jo.Learner)]
    public = {value.__name__ for value in classes if value.__module__.startswith(folders)}
    assert public - {type(case.learner).__name__ for case in CASES.values()} == {"GradientBandit", "NoisyKernel"}


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1e-3, 1.0, 1e3], [5.0, 5.0, 1e-2]])
def test_projection_in_the_norm_of_a_matrix_agrees_with_a_root_finder(x64, values):
    """For spectra that differ by a factor of 1e6."""
    z, values = np.array([2.0, -1.0, 3.0]), np.array(values)
    v = _project(jnp.asarray(z), jnp.asarray(values), jnp.asarray(0.7))
    np.testing.assert_allclose(v, ball_projection(z, np.diag(values), 0.7), rtol=1e-9)
