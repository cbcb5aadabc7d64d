"""One noisy copy and partly known noise: regret between impossibility and sqrt(T).

With one copy per round, regret is linear in T if the noise is unknown (Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online
learning of noisy data with kernels", COLT 2010, Theorem 3), and at most of order sqrt(T) if its covariance is known
(the same authors, "Learning from noisy data under distributional assumptions", NIPS workshop 2010, Theorem 2). Here the
variance is only known to lie in a set, or it is estimated in a share q of the rounds, with two copies. Neither paper
has these cases.

Two worlds. Let x be N(0, M), y = theta x + noise, and a copy x + N(0, s), in one dimension. The pair (copy, y) is
Gaussian with mean 0 and the moments C = M + s, b = theta M and V = E y^2. So for fixed C, b, V the pair has the same
distribution for every s with V >= b^2 / (C - s), and one copy per round does not distinguish these worlds.

The variance is in [low, high]. In the world s, the regret of w per round is F_s(w) = M w^2 - 2 b w + b^2 / M with M =
C - s. It is convex in M, so the worst s is an end. Let M1 = C - low and M2 = C - high. F_low and F_high are equal, and
their maximum is least, at w = b / sqrt(M1 M2), with the minimax regret v = b^2 (1 / sqrt(M2) - 1 / sqrt(M1))^2. For a
small width this is b^2 (high - low)^2 / (4 M^3). As F_s is convex in w, the larger expected regret of linear predictors
is at least v T (the argument of `estimators.games`). `KnownSet` needs no b: it corrects with the variance C - sqrt(
M1 M2), where C is the second moment of copies. In any dimension, the minimax w minimises a F_low + (1 - a) F_high for
some a in [0, 1], so it is the solution for the covariance a Sigma_low + (1 - a) Sigma_high; a then depends on b.

Other predictors. The best predictor of y from x is linear in both worlds. So with all functions f as predictors, v is
the largest value over a of the least a F_low(f) + (1 - a) F_high(f), which is an integral (`minimax_of_all`). It is
below v of linear predictors, but positive.

Unbiased estimates for the Gaussian kernel k(x, z) = exp(-(x - z)^2) from one copy do not exist for s >= 1/2. Let E g(x
+ N(0, s)) = k(x, z) for all real x, with z = 0, and h(u) = g(u) exp(-u^2/(2 s)), which is integrable, as E g(N(0, s))
is finite. Then the two-sided Laplace transform of h at x/s is sqrt(2 pi s) exp(x^2/(2 s) - x^2) for all real x, so it
is analytic, and on the imaginary axis the Fourier transform of h at v is sqrt(2 pi s) exp(s^2 v^2 (1 - 1/(2 s))). This
does not vanish as v grows, which contradicts the lemma of Riemann and Lebesgue.

A share q of rounds with two copies. The expected squared error of the estimated covariance after t rounds is at most
u/(q t), where u = E |(x~ - x~')(x~ - x~')'/2 - Sigma|^2. A bias of 2 (Sigma - Sigma^) w in the gradient adds at most 4
W^2 |Sigma - Sigma^| to the regret of a round, so at most 8 W^2 sqrt(u T / q) in all, for hypotheses in a ball of radius
W and any instances. In the worlds above, an error e of the variance moves the best w by b e / M^2, which costs only b^2
e^2 / M^3 per round, so about 2 s^2 b^2 / (M^3 q) ln T in all (with d coordinates d + 1 in place of 2; no bound).

A lower bound in these worlds. For s and s + delta, only rounds with two copies distinguish the worlds, and each has the
divergence I delta^2 / 2 to first order, where I is the Fisher information of (copy, copy, label) about s for fixed C,
b, V: the mean of s^-2 and (2 M + s - 2 b^2/V)^-2, plus that of s^-2 and (2 M + s)^-2 for a further coordinate, which is
independent of y. The least sum of both regrets is b^2 delta^2 / (2 M^3) per round. With delta^2 = 1/(q T I), the total
variation is at most 1/2 (Pinsker), so the larger regret is at least b^2 / (8 M^3 q I) as T grows.

The learners play in two dimensions, with a second coordinate of x that is independent of y; b is (1, 0), and all that
is said above of linear predictors holds there with the same numbers.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from pydantic import Field
from scipy import optimize

from benchmarks.papers.comparison import BestOf, Comparison, ComparisonResult
from benchmarks.papers.studies import figures
from benchmarks.papers.studies.multikernel_rates import fit_means, mean_interval
from benchmarks.papers.study import Items, Positive, Study
from jaxonline import random
from jaxonline.comparators import L2Ball
from jaxonline.environments import LinearModel
from jaxonline.estimators.gradients import squared_loss_gradient
from jaxonline.feedback import NoisyCopies, noise
from jaxonline.game import Game, Learner, Specs
from jaxonline.learners import InverseSqrt
from jaxonline.learners.gradient.descent import StepSize, zeros_like_vector
from jaxonline.losses import Squared
from jaxonline.numerics.elementwise import project_l2_ball
from jaxonline.parameters import types
from jaxonline.parameters.struct import struct
from jaxonline.results.report.plotting import bound_look, line_looks
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.simulation import sweep
from jaxonline.study import Context, Report
from jaxonline.study.study import ignore_skewness_warnings

COPY_MOMENT, CROSS_MOMENT, LABEL_MOMENT, MIDDLE = 2.0, 1.0, 3.0, 1.0  # C, b, V and the middle of the set of variances
RADIUS = 3.0  # of the balls of learners and comparator, above b / M
CLEAN, LOW, HIGH, CENTRE, MINIMAX = "as if clean", "low end", "high end", "middle", "minimax middle"
PLUG_IN, PAIRS, SAME_QUERIES = "plug-in", "pairs only", "pairs only, equal queries"
KNOWN = "variance known"
Halves = Annotated[tuple[Annotated[float, Field(gt=0, le=0.6)], ...], Items]
Shares = Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Items]
START = Number("half", "half width"), Number("variance"), Text("learner"), Number("eta")
MINIMAX_COLUMNS = START[0], Text("learner", "predictors"), Number("regret", "minimax\nregret a round", "{:.4f}")
SET_COLUMNS = *START, Interval("regret", form="{:.3f}"), *(Number(name, form="{:.3f}") for name in ("limit", "minimax"))
SHARE_COLUMNS = (
    *START[1:], Number("share", "q"), Number("queries_per_round", "queries\n/round", "{:.3f}"),
    Interval("regret", form="{:.1f}"), Number("least", "lower\nbound", "{:.3g}"),
)  # fmt: skip


class CorrectedState(NamedTuple):
    """The hypothesis w [d], the numbers of updates and of pairs of copies, and a sum of products [d, d]."""

    w: Float[Array, "d"]
    t: Int[Array, ""]
    pairs: Int[Array, ""]
    total: Float[Array, "d d"]


class CorrectedLearner(Learner):
    """Base class of gradient descent in a ball on the squared loss, with an estimated correction for the noise."""

    step_size: Any
    radius: Any
    loss: ClassVar[Any] = Squared()

    def init(self, key: Key[Array, ""], specs: Specs) -> CorrectedState:
        """Return w_1 = 0."""
        w = zeros_like_vector(self, specs.instance)
        return CorrectedState(w, jnp.int32(0), jnp.int32(0), jnp.outer(w, w))

    def predict(self, key: Key[Array, ""], state: CorrectedState, x: Array) -> Array:
        """Return <w, x>."""
        return state.w @ x

    def move(self, w: Array, gradient: Array, t: Array) -> Array:
        """Return the hypothesis after step number `t`."""
        return project_l2_ball(w - self.step_size(t, w.dtype) * gradient, jnp.asarray(self.radius, w.dtype))


@struct
class PartlyPaired(CorrectedLearner):
    """Gradient descent with two copies in the first round and in a random share of the others.

    With two copies, the gradient is the mean of `TwoCopies` over both orders. With one copy, it is that of
    `KnownCovariance` with the mean of (x~ - x~')(x~ - x~')'/2 over the earlier pairs.

    Args:
        share: the probability q of two copies in a round.
        singles: 1 if other rounds have one copy; 0 if they have none, and no update.
        step_size: a function of the number of updates.
        radius: radius of the ball.
    """

    share: types.Probability
    singles: types.Probability
    step_size: StepSize
    radius: types.Positive

    def update(self, key: Key[Array, ""], state: CorrectedState, oracle: Any) -> tuple[CorrectedState, tuple[()]]:
        """Take one or two copies, and move."""
        w, y = state.w, oracle.label()
        pair = (random.uniform(key, (), w.dtype) < jnp.asarray(self.share, w.dtype)) | (state.pairs == 0)
        single = jnp.asarray(self.singles, w.dtype) > 0.0
        x, other = oracle.copies(0, 2, jnp.where(pair, jnp.int32(2), single.astype(jnp.int32)))
        both = (squared_loss_gradient(w, x, y, other) + squared_loss_gradient(w, other, y, x)) / 2
        covariance = state.total / jnp.maximum(state.pairs, 1).astype(w.dtype)
        one = squared_loss_gradient(w, x, y, x) - 2 * (covariance @ w)
        gradient = jnp.where(pair, both, jnp.where(single, one, jnp.zeros_like(w)))
        t = state.t + (pair | single).astype(jnp.int32)
        total = state.total + jnp.where(pair, jnp.outer(x - other, x - other) / 2, jnp.zeros_like(state.total))
        return CorrectedState(self.move(w, gradient, t), t, state.pairs + pair.astype(jnp.int32), total), ()


@struct
class KnownSet(CorrectedLearner):
    """Gradient descent on one copy, corrected with the minimax middle of a set [low, high] of variances.

    The middle is C - sqrt((C - low)(C - high)), where C is the mean square of the coordinates of the copies so far. It
    is minimax if all coordinates of x have one variance. For low = high it is this variance, as in `KnownCovariance`,
    unless C is smaller.
    """

    low: types.NonNegative
    high: types.NonNegative
    step_size: StepSize
    radius: types.Positive

    def update(self, key: Key[Array, ""], state: CorrectedState, oracle: Any) -> tuple[CorrectedState, tuple[()]]:
        """Take a copy, and move."""
        w, x, t = state.w, oracle.copy(0), state.t + 1
        total = state.total + jnp.outer(x, x)
        C = jnp.trace(total) / (len(x) * t.astype(w.dtype))
        ends = (jnp.maximum(C - jnp.asarray(end, w.dtype), 0.0) for end in (self.low, self.high))
        gradient = squared_loss_gradient(w, x, oracle.label(), x) - 2 * (C - jnp.sqrt(math.prod(ends))) * w
        return CorrectedState(self.move(w, gradient, t), t, state.pairs, total), ()


def world(variance: float, copy_moment: float = COPY_MOMENT) -> Game:
    """Return the game with this variance of the noise, and with the moments C (by default 2), b = 1 and V = 3.

    It has a second coordinate, independent of the label, because XLA takes minutes to compile games with d = 1.
    """
    M = copy_moment - variance
    model = LinearModel([CROSS_MOMENT / M, 0.0], math.sqrt(LABEL_MOMENT - CROSS_MOMENT**2 / M), math.sqrt(2 * M))
    return Game(model, NoisyCopies(noise.gaussian(variance)))


def regret_of(assumed: float, variance: float) -> float:
    """Return the regret per round of b / (C - assumed), the best w for an assumed variance, in the world `variance`."""
    M = COPY_MOMENT - variance
    return M * (CROSS_MOMENT / (COPY_MOMENT - assumed) - CROSS_MOMENT / M) ** 2


def minimax(half: float) -> float:
    """Return the minimax regret per round of linear predictors, for variances in [1 - half, 1 + half]."""
    M = COPY_MOMENT - MIDDLE
    return CROSS_MOMENT**2 * ((M - half) ** -0.5 - (M + half) ** -0.5) ** 2


def worlds_on_grid(half: float, reach: float, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M of the two worlds [2, 1], a grid of x [n], and probabilities of its points in both worlds [2, n]."""
    M = COPY_MOMENT - MIDDLE + half * np.array([[1.0], [-1.0]])
    x = np.linspace(-reach, reach, n) * math.sqrt(M[0, 0])
    p = np.exp(-(x**2) / (2 * M))
    return M, x, p / p.sum(axis=1, keepdims=True)


def minimax_of_kernel(half: float, radius: float, points: int = 161) -> float:
    """Return the minimax regret per round in a ball for the kernel exp(-|x - x'|^2), by a grid over x and by duality.

    F_s(f) is the mean of (f(x) - b x / M)^2 for x from N(0, M), minus the least such mean in the ball.
    """
    M, x, p = worlds_on_grid(half, 6.0, points)
    values, vectors = np.linalg.eigh(np.exp(-(np.subtract.outer(x, x) ** 2)))
    used, targets = values > 1e-12 * values[-1], CROSS_MOMENT * x / M
    features = vectors[:, used] * np.sqrt(values[used])

    def least(mixture: np.ndarray) -> float:
        """Return the least expected squared loss in the ball; on its boundary, it is that of a ridge regression."""
        eigenvalues, basis = np.linalg.eigh(features.T @ ((mixture @ p)[:, None] * features))
        cross = basis.T @ features.T @ (mixture @ (p * targets))

        def excess(log_ridge: float) -> float:
            return float(np.sum((cross / (eigenvalues + math.exp(log_ridge))) ** 2)) - radius**2

        w = cross / (eigenvalues + math.exp(optimize.brentq(excess, -30.0, 9.0) if excess(-30.0) > 0 else -30.0))
        return float(mixture @ np.sum(p * targets**2, axis=1) - 2 * w @ cross + w @ (eigenvalues * w))

    ends = np.array([least(mixture) for mixture in np.eye(2)])

    def negative_dual(a: float) -> float:
        mixture = np.array([1 - a, a])
        return float(mixture @ ends) - least(mixture)

    return -float(optimize.minimize_scalar(negative_dual, bounds=(0, 1), method="bounded").fun)


def minimax_of_all(half: float) -> float:
    """Return the minimax regret per round of all functions of x, by a grid over a and over x."""
    M, x, p = worlds_on_grid(half, 12.0, 4001)
    a = np.linspace(0.001, 0.999, 999)[:, None]
    products = a * p[0] * (1 - a) * p[1] / (a * p[0] + (1 - a) * p[1] + 1e-300)
    return float(np.max(products @ (CROSS_MOMENT * (1 / M[0] - 1 / M[1]) * x) ** 2))


def least_regret(variance: float, share: float) -> float:
    """Return the lower bound b^2 / (8 M^3 q I) on the regret for M = 1, as T grows."""
    of_second = variance**-2 + (2 + variance) ** -2  # the second coordinate tells about the variance, too
    information = (variance**-2 + (2 + variance - 2 * CROSS_MOMENT**2 / LABEL_MOMENT) ** -2 + of_second) / 2
    return CROSS_MOMENT**2 / (8 * share * information)


class OneCopy(Study):
    """Minimax regret by the width of the set of variances, learners that know the set, and learners that estimate."""

    title: ClassVar[str] = "One noisy copy: a variance known up to a set, or estimated from some pairs of copies."
    runs: int = Field(64, ge=3, le=1_000_000, description="Runs of each learner in each world.")
    rounds: int = Field(8192, ge=64, le=10_000_000, description="The horizon.")
    halves: Halves = Field((0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6), min_length=1, description="Half widths of the set.")
    measured: Halves = Field((0.1, 0.3, 0.6), min_length=1, description="Half widths with measured learners.")
    shares: Shares = Field((0.01, 0.03, 0.1, 0.3), min_length=2, description="Shares q of rounds with two copies.")
    variances: Positive = Field((0.1, 1.0), min_length=1, description="Noise of the learners with the shares; M = 1.")
    etas: Positive = Field((0.01, 0.02, 0.05, 0.1, 0.2, 0.4), min_length=1, description="Candidate steps.")
    radius: float = Field(4.0, gt=0, description="Radius of the ball of the Gaussian kernel of width 1.")

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        values = [{"half": h, "learner": name, "regret": v} for h in self.halves for name, v in self.minimax(h).items()]
        sets, shares, compared, sentences = [], [], {}, []
        with context.parts(len(self.measured) + len(self.variances)) as part:
            for half in self.measured:
                ends = MIDDLE - half, MIDDLE + half
                best = COPY_MOMENT - math.sqrt((COPY_MOMENT - ends[0]) * (COPY_MOMENT - ends[1]))
                limits = dict(zip((CLEAN, LOW, HIGH, CENTRE, MINIMAX), (0.0, *ends, MIDDLE, best), strict=True))
                learners = {name: partial(KnownSet, s, s, radius=RADIUS) for name, s in limits.items()}
                learners[MINIMAX] = partial(KnownSet, *ends, radius=RADIUS)
                place = f"half width {half:g}"
                results = self.compare(part(place), [world(variance) for variance in ends], learners)
                for variance, own in zip(ends, results, strict=True):
                    compared[f"{place}, variance {variance:g}"] = own
                    for row, s in zip(own.rows(), limits.values(), strict=True):
                        columns = {"half": half, "variance": variance, "minimax": minimax(half)}
                        row |= columns | {"limit": regret_of(s, variance)}
                        sets.append(row | {key: row[key] / self.rounds for key in ("regret", "low", "high")})
            for variance in self.variances:
                place, learners = f"variance {variance:g}", {(KNOWN, None): partial(KnownSet, variance, variance)}
                for q in self.shares:
                    cases = (PLUG_IN, q, 1.0), (PAIRS, q, 0.0), (SAME_QUERIES, (1 + q) / 2, 0.0)
                    learners |= {(name, q): partial(PartlyPaired, *case) for name, *case in cases}
                makers = {f"{name}, q = {q}": partial(make, radius=RADIUS) for (name, q), make in learners.items()}
                (own,) = self.compare(part(place), [world(variance, 1 + variance)], makers)
                compared[place] = own
                for (name, q), row in zip(learners, own.rows(), strict=True):
                    pairs = (1 + q) / 2 if q and name == SAME_QUERIES else q
                    columns = {"variance": variance, "share": q, "learner": name}
                    shares.append(row | columns | {"least": pairs and least_regret(variance, pairs)})
                sentences += self._sentences(place, dict(zip(learners, own.result.regret[..., -1], strict=True)))
        tables = {
            "minimax": Table("Minimax regret a round: variance in 1 +- the half width", values, MINIMAX_COLUMNS),
            "sets": Table(f"Regret a round after {self.rounds:,} rounds", sets, SET_COLUMNS),
            "shares": Table(f"Regret after {self.rounds:,} rounds, by the share q of pairs", shares, SHARE_COLUMNS),
        }
        return Report(
            tables,
            {"figure": lambda: self.plot(values, sets, shares)},
            [*sentences, *figures.closing_sentences(compared)],
            {f"results/{place}": own.result for place, own in compared.items()},
        )

    def minimax(self, half: float) -> dict[str, float]:
        """Return the minimax regrets per round by the set of predictors."""
        kernel = minimax_of_kernel(half, self.radius)
        return {"linear": minimax(half), "Gaussian kernel": kernel, "all functions": minimax_of_all(half)}

    def compare(self, context: Context, games: Sequence[Game], learners: Mapping[str, Any]) -> list[ComparisonResult]:
        """Run learners in all games, with the step that has the least mean regret in the worse game, in other runs."""
        steps = {f"{eta:g}": InverseSqrt(eta) for eta in self.etas}
        sweeps = {name: sweep({at: make(step) for at, step in steps.items()}) for name, make in learners.items()}
        with context.parts(2 * len(games)) as part:
            worst = np.full((len(learners), len(steps)), -np.inf)
            for i, game in enumerate(games) if len(steps) > 1 else ():
                pilot = dataclasses.replace(part(f"steps {i}"), seed=(context.seed + 1) % 2**32).simulate(
                    game, sweeps, n_runs=self.runs, n_rounds=self.rounds // 4, comparator=L2Ball(RADIUS), record_at=1
                )
                worst = np.maximum(worst, pilot.regret[..., -1].mean(axis=1).reshape(worst.shape))
            etas = {name: self.etas[i] for name, i in zip(learners, np.argmin(worst, axis=1), strict=True)}
            edges = BestOf({f"{eta:g}": eta for eta in self.etas}).at_edge(etas)
            results = [
                comparison.run(part(f"best {i}"), n_runs=self.runs, n_rounds=self.rounds)
                for i, comparison in enumerate(Comparison(game, learners, L2Ball(RADIUS), tune=etas) for game in games)
            ]
            return [result._replace(at_edge=edges) for result in results]

    def _sentences(self, place: str, regrets: Mapping[Any, np.ndarray]) -> list[str]:
        """Return sentences with the regret above that with the variance known, and its exponent of q if all are clear.

        A difference is clear if its 95 % interval, from the runs of both learners, is above 0.
        """
        sentences = []
        for name in (PLUG_IN, PAIRS):
            samples = np.stack([np.asarray(regrets[name, q] - regrets[KNOWN, None], float) for q in self.shares])
            ends = [mean_interval(sample) for sample in samples]
            extras = (f"{(low + high) / 2:.2f} [{low:.2f}, {high:.2f}]" for low, high in ends)
            listed = ", ".join(f"{extra} (q = {q:g})" for q, extra in zip(self.shares, extras, strict=True))
            sentences.append(f"{place}, {name}: the regret above that with the variance known is {listed}.")
            if min(ends)[0] > 0:
                fit = fit_means(np.array(self.shares), samples)
                low, high = fit.exponents[0] + fit.halves[0] * np.array([-1, 1])
                sentences.append(f"A fitted power q^a has a = {fit.exponents[0]:.2f} [{low:.2f}, {high:.2f}].")
        return sentences

    @figures.paper_style
    def plot(self, values: Sequence[Any], sets: Sequence[Any], shares: Sequence[Any]) -> Any:
        """Plot minimax regrets and regrets of learners against the width, and regret against q for each variance."""
        title = f"One noisy copy: {self.runs} runs of {self.rounds:,} rounds, 95 % intervals; sets: the worse end"
        figure, (left, right, *of_shares) = figures.grid(2 + len(self.variances), 2, 2.6, title)
        worse = {(row["half"], row["learner"]): row for row in sorted(sets, key=lambda row: row["regret"])}
        exact = [row | {"low": row["regret"], "high": row["regret"]} for row in values]
        draw(left, exact, "half", "minimax regret", "half width", "regret a round")
        line = {"color": "black", **bound_look()}
        right.plot(self.halves, [minimax(half) for half in self.halves], label="minimax, linear", **line)
        rows = sorted(worse.values(), key=lambda row: row["half"])
        draw(right, rows, "half", "learners that know the set", "half width", "regret a round")
        for axes, variance in zip(of_shares, self.variances, strict=True):
            known, *rows = [row for row in shares if row["variance"] == variance]
            axes.axhline(known["regret"], color="0.5", label=KNOWN)
            axes.plot(self.shares, [least_regret(variance, q) for q in self.shares], label="bound, share q", **line)
            draw(axes, rows, "share", f"noise of variance {variance:g}", "share q of pairs", "regret")
        figures.legend_below(figure, 3)
        return figure


def draw(axes: Any, rows: Sequence[Mapping[str, Any]], x: str, title: str, xlabel: str, ylabel: str) -> None:
    """Draw the regret of each learner against the column x."""
    names = list(dict.fromkeys(row["learner"] for row in rows))
    for name, look in zip(names, line_looks(len(names)), strict=True):
        own = [row for row in rows if row["learner"] == name]
        figures.plot_rows(axes, own, x, "regret", label=name, **look | {"markevery": 1})
    figures.finish(axes, xlabel, ylabel, title, log="xy")
