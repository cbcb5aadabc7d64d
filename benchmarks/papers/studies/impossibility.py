"""One noisy copy is not enough: simulation of jaxonline's learners in both worlds of Theorem 3.

In the world without noise, instances are 3e or -e; in the world with noise, instances are e, and a noisy copy is 3e or
-e. A learner that takes one copy per round and does not know the noise has the same distribution of plays in both
worlds. Therefore its regret against linear predictors is at least `unavoidable_regret` times T in one of the two
worlds. Learners that take two copies, or know the covariance of the noise, can distinguish the worlds.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Theorem 3.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key
from pydantic import Field

from benchmarks.papers.claims.noise import PrintedKnownCovariance
from benchmarks.papers.comparison import Comparison, ComparisonResult
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Names, Study, select_by_name
from jaxonline import estimators, kernels, learners, losses
from jaxonline.comparators import L2Ball
from jaxonline.environments import DataStream
from jaxonline.environments.adversaries import NOISELESS_MULTIPLES, indistinguishable_pair, unavoidable_regret
from jaxonline.estimators import NaiveCopy
from jaxonline.game import Game, WithFeedback, play
from jaxonline.learners import InverseSqrt
from jaxonline.parameters.struct import replace
from jaxonline.results.report.plotting import COLOURS, bound_look, plot_band
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Table, Text
from jaxonline.results.statistics import Growth, difference_of_means
from jaxonline.study import Context, Report
from jaxonline.study.study import ignore_skewness_warnings

SECOND_MOMENT = 5.0  # of a copy
ONE, COVARIANCE_KNOWN, TWO = "one copy", "one copy, covariance told", "two copies"
MEAN, OTHER = "mean of copies as if clean", "one copy, not a linear predictor"
KIND_COLOURS = {ONE: COLOURS[3], COVARIANCE_KNOWN: COLOURS[1], TWO: COLOURS[0], MEAN: COLOURS[5], OTHER: COLOURS[4]}
WORLDS: tuple[str, str] = ("without_noise", "with_noise")
LINEAR, SUBLINEAR, UNDECIDED = "linear", "sublinear", "undecided"
RULE = (  # slopes are those of `Result.growth` over the rounds after an eighth of the horizon
    "linear: in one world the interval of the slope is above 3/4. sublinear: in both worlds it reaches down to 1/2 and "
    "ends below 3/4, or the regret is at most 0. undecided: otherwise."
)
_COMPARED = "one copy", "two copies"  # learners whose hypotheses are compared between the worlds
_BLOCK_RUNS = 128  # two blocks for the default number of runs, one for each of two cores
_SEGMENTS = 80  # of the horizon; recorded rounds are ends of segments
_ADAM = optax.adam(1.0)
MARKERS = "ovs^D<P>X"  # of learners in the plane of the two regrets


class Impossibility(Study):
    """Regret of learners in both worlds, against the best linear predictor in a ball (e/5 or e).

    Only learners of the kind `COVARIANCE_KNOWN` have a feedback that reveals the covariance of the noise.
    """

    title: ClassVar[str] = "Two worlds that one noisy copy cannot distinguish: one copy against two copies."
    runs: int = Field(256, ge=2, le=1_000_000, description="Runs of each learner in each world.")
    rounds: int = Field(3000, ge=16, le=100_000_000, description="The horizon.")
    only: Names = Field((), description="Learners, named as in the table; by default all.")
    radius: float = Field(2.0, gt=1, description="Radius of the balls of learners and comparator.")
    alike_rounds: int = Field(400, ge=1, le=100_000_000, description="Rounds before hypotheses are compared.")

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        segment = max(1, self.rounds // _SEGMENTS)
        record_at = (segment * np.unique(np.geomspace(1, self.rounds // segment, 24).round().astype(int))).tolist()
        options = {"record_at": record_at, "block_size": min(_BLOCK_RUNS, self.runs)}
        games, informed_games = _as_one_program(False), _as_one_program(True)
        worlds, alike, kinds = {}, {}, {}
        standard = jax.numpy_dtype_promotion("standard")  # parts of optax fail under stricter rules
        with standard, warnings.catch_warnings(), context.parts(2) as part:
            warnings.filterwarnings("ignore", "the loss of the game is")  # intended: see `entries`
            for world, game, informed_game in zip(WORLDS, games, informed_games, strict=True):
                entries = select_by_name("only", self.only, self.entries(informed_game.feedback))
                kinds = {name: kind for name, (kind, _) in entries.items()}
                own = {name: entry for name, (_, entry) in entries.items()}
                comparison = Comparison(game, own, L2Ball(self.radius))
                worlds[world] = comparison.run(part(world), n_runs=self.runs, n_rounds=self.rounds, **options)
            for name in _COMPARED:
                if name in kinds:
                    learner, rounds = entries[name][1], min(self.rounds, self.alike_rounds)
                    alike[name] = _compare_hypotheses(games, learner, rounds, self.runs, jax.random.key(context.seed))
        unavoidable = unavoidable_regret(self.radius)
        rows = _rows(worlds, kinds, unavoidable)
        title = f"Regret a round against linear predictors, {self.runs:,} runs of {self.rounds:,} rounds"
        growth = f"Slope of log regret against log rounds, {worlds[WORLDS[0]].slope_rounds}, with 95 % intervals"
        results = {world: compared.result for world, compared in worlds.items()}
        return Report(
            {"table": Table(title, rows)},
            {"figure": lambda: plot_impossibility(worlds, rows, unavoidable)},
            [
                RULE,
                *(_sentence(name, test) for name, test in alike.items()),
                *figures.closing_sentences({name.replace("_", " "): own for name, own in worlds.items()}, tuned=False),
            ],
            results,
            {
                "unavoidable": unavoidable, "rule": RULE, "table": rows, "alike": alike,
                "worlds": {world: compared.curves() for world, compared in worlds.items()},
            },
            [Table(title, rows, REGRETS, group="kind"), Table(growth, rows, GROWTHS, group="kind")],
        )  # fmt: skip

    def entries(self, informed: Any) -> dict[str, tuple[str, Any]]:
        """Return the learners by name, each with its kind; `informed` is the feedback that reveals the covariance.

        The study leaves out learners that need other answers than copies (full information, attributes,
        experts; VAW and online ridge read the instance), `MeanOfCopies(1)`, which equals `NaiveCopy`, and
        `SurrogateKernel`, which is for Gaussian noise and takes two copies. Learners may descend a different loss, but
        the regret is always that of the squared loss. "Constant steps" are eta / sqrt(T). "Algorithm 1" takes one copy
        and a geometric number of further copies: two copies in total on average.
        """
        radius, n_rounds = self.radius, self.rounds

        def gradient(estimator: Any, eta: float = 0.05, **options: Any) -> learners.GradientLearner:
            return learners.GradientLearner(estimator, **{"step_size": InverseSqrt(eta), "radius": radius, **options})

        def kernel(kernel: Any, radius: float | None) -> learners.KernelGradient:
            return learners.KernelGradient(kernel, NaiveCopy(), InverseSqrt(0.05), n_rounds, radius)

        feature_map = estimators.DotProductFeatureMap(kernels.Linear(), estimators.FiniteDistribution([0.0, 1.0]))
        factor = (radius * SECOND_MOMENT**0.5 + 1.0) ** 2  # bounds E (<w, x~> - 1)^2
        length = estimators.GradientLength.for_loss(losses.Squared(), estimators.Geometric(2.0), second_moment=factor)
        storage = learners.Storage.for_horizon(feature_map, length, dimension=1, n_rounds=n_rounds)
        algorithm_1 = learners.NoisyKernel(feature_map, length, InverseSqrt(0.025), radius, storage)
        features = estimators.FourierFeatures.draw(jax.random.key(0), kernels.Gaussian(2.0), 1, 400)
        fourier = learners.WithFeatures(gradient(NaiveCopy(), 0.3, radius=None), features)
        constant = learners.Constant.over_horizon(0.2, n_rounds)
        return {
            "one copy": (ONE, gradient(NaiveCopy())),
            "one copy, averaged": (ONE, gradient(NaiveCopy(), hypothesis="average")),
            "one copy, constant steps": (ONE, gradient(NaiveCopy(), step_size=constant)),
            "one copy, Adam": (ONE, gradient(NaiveCopy(), 0.1, optimizer=_ADAM)),
            "one copy, linear kernel": (ONE, kernel(kernels.Linear(), radius)),
            "one copy, absolute loss": (ONE, gradient(NaiveCopy(losses.SmoothedAbsolute(1.0)), 0.1)),
            "one copy, exponential loss": (ONE, gradient(NaiveCopy(losses.Exponential()))),
            "one copy, hinge loss": (ONE, gradient(NaiveCopy(losses.SmoothedHinge(1.0)), 0.1)),
            "one copy, logistic loss": (ONE, gradient(NaiveCopy(losses.Logistic()), 0.3)),
            "covariance told": (COVARIANCE_KNOWN, WithFeedback(gradient(estimators.KnownCovariance()), informed)),
            "told, as printed": (COVARIANCE_KNOWN, WithFeedback(gradient(PrintedKnownCovariance()), informed)),
            "two copies": (TWO, gradient(estimators.TwoCopies())),
            "two copies, averaged": (TWO, gradient(estimators.TwoCopies(), hypothesis="average")),
            "Algorithm 1, linear kernel": (TWO, algorithm_1),
            "mean of 2 copies": (MEAN, gradient(estimators.MeanOfCopies(2))),
            "mean of 5 copies": (MEAN, gradient(estimators.MeanOfCopies(5))),
            "mean of 20 copies": (MEAN, gradient(estimators.MeanOfCopies(20))),
            "one copy, affine kernel": (OTHER, kernel(kernels.Inhomogeneous(1), None)),
            "one copy, Fourier features": (OTHER, fourier),
        }


def _as_one_program(reveal_covariance: bool) -> tuple[Game, Game]:
    """Return the two worlds, both with instances drawn from two rows, so that they share a compiled program."""
    pair = indistinguishable_pair(reveal_covariance=reveal_covariance)
    x = pair.with_noise.environment.X
    twice = DataStream(jnp.concatenate([x, x]), jnp.ones(2, x.dtype), order="iid")
    return pair.without_noise, replace(pair.with_noise, environment=twice)


def _compare_hypotheses(
    games: Any, learner: learners.GradientLearner, rounds: int, n_runs: int, key: jax.Array
) -> dict[str, Any]:
    """Test whether a learner's predictions at the instance e have the same distribution in both worlds.

    Returns the mean predictions, their difference with its interval, and the p-value of the two-sample
    Kolmogorov-Smirnov test.
    """
    from scipy import stats

    without, with_noise = (
        np.asarray(_hypotheses(game, learner, rounds, n_runs, jax.random.fold_in(key, i)), float)
        for i, game in enumerate(games)  # separate keys make the two samples independent
    )
    gap, test = difference_of_means(with_noise, without), stats.ks_2samp(with_noise, without)
    means = float(without.mean()), float(with_noise.mean())
    numbers = {"rounds": rounds, "means": means, "difference": gap.mean, "low": gap.low, "high": gap.high}
    return numbers | {"p_value": float(test.pvalue)}  # type: ignore[attr-defined]


@jax.jit(static_argnames=("rounds", "n_runs"))
def _hypotheses(
    game: Game, learner: learners.GradientLearner, rounds: int, n_runs: int, key: Key[Array, ""]
) -> Float[Array, "n_runs"]:
    def hypothesis(run):
        state, _ = play(game, learner, jax.random.fold_in(key, run), rounds)
        return state.w[0]

    return jax.vmap(hypothesis)(jnp.arange(n_runs, dtype=jnp.int32))


def verdict(upper: Sequence[float], growths: Sequence[Growth]) -> str:
    """Return whether the regret grows as "linear", "sublinear" or "undecided", by the rule in `RULE`.

    `upper` are the upper ends of the intervals of the final regret in both worlds. `growths` are the log-log slopes of
    the regret, NaN if the regret follows no power law.
    """
    if any(growth.low > 0.75 for growth in growths):
        return LINEAR
    roots = [growth.low <= 0.5 and growth.high < 0.75 for growth in growths]
    return SUBLINEAR if all(root or high <= 0 for root, high in zip(roots, upper, strict=True)) else UNDECIDED


def _rows(worlds: Mapping[str, ComparisonResult], kinds: Mapping[str, str], unavoidable: float) -> list[dict[str, Any]]:
    """Return one row per learner: regrets per round at the horizon and slopes in both worlds, and a verdict.

    The column "larger" is the regret in the world with the larger mean regret. The column "unavoidable" is set only for
    learners with one copy, to which the theorem applies.
    """
    rows = []
    for pair in zip(*(worlds[world].rows() for world in WORLDS), strict=True):
        by_world: dict[str, Any] = dict(zip(WORLDS, pair, strict=True))
        name = pair[0]["learner"]
        larger = max(WORLDS, key=lambda world: by_world[world]["regret"])
        horizon = int(worlds[larger].result.rounds[-1])
        copies = by_world[larger]["queries_per_round"]
        row: dict[str, Any] = {"learner": name, "kind": kinds[name], "copies_per_round": copies}
        for column, world in (*((world, world) for world in WORLDS), ("larger", larger)):
            row[column] = by_world[world]["regret"] / horizon
            row |= {f"{column}_{end}": by_world[world][end] / horizon for end in ("low", "high")}
        row["unavoidable"] = unavoidable if kinds[name] == ONE else None
        growths = [Growth(*(own[f"slope{end}"] for end in ("", "_low", "_high"))) for own in pair]
        for world, growth in zip(WORLDS, growths, strict=True):
            row |= {f"{world}_slope{end}": value for end, value in zip(("", "_low", "_high"), growth, strict=True)}
        row["verdict"] = verdict([own["high"] for own in pair], growths)
        rows.append(row | {key: sum(own[key] for own in pair) for key in ("failed", "overflowed")})
    return rows


REGRETS = (
    Text("learner"), Number("copies_per_round", "copies", "{:.3g}"),
    *(Interval(world, world.replace("_", " "), "{:.3f}") for world in WORLDS), Number("larger", form="{:.3f}"),
    *EXCLUDED_RUNS_COLUMNS,
)  # fmt: skip
GROWTHS = (
    Text("learner"), Number("unavoidable", "bound", "{:.3f}"),
    *(Interval(f"{world}_slope", world.replace("_", "\n"), "{:.2f}") for world in WORLDS), Text("verdict"),
)  # fmt: skip


@figures.paper_style
@ignore_skewness_warnings()
def plot_impossibility(
    worlds: Mapping[str, ComparisonResult], rows: Sequence[Mapping[str, Any]], unavoidable: float
) -> Any:
    """Plot regret against rounds in both worlds, final regrets, and the regrets that one copy cannot reach."""
    first = worlds[WORLDS[0]].result
    title = (
        "Two worlds in which one noisy copy has the same distribution: regret against linear predictors, "
        f"{len(first.runs):,} runs of {first.rounds[-1]:,} rounds, 95 % intervals (above: simultaneous bands)"
    )
    figure, panels = figures.panels(2, 2, 6.6, title)
    above, (dots, plane) = panels
    colours = {row["learner"]: KIND_COLOURS[row["kind"]] for row in rows}
    markers = {name: MARKERS[i % len(MARKERS)] for i, name in enumerate(colours)}
    rounds = np.asarray(first.rounds, float)
    titles = "without noise: x is 3e or -e, and so is every copy", "with noise: x is e, a copy of it is 3e or -e"
    for axes, title, world in zip(above, titles, WORLDS, strict=True):
        bands = worlds[world].result.bands()
        bands = bands._replace(**{  # a logarithmic axis has no regrets of 0 or less
            end: np.where(getattr(bands, end) > 0, getattr(bands, end), np.nan) for end in ("mean", "low", "high")
        })  # fmt: skip
        styles = {name: (colour, "-") for name, colour in colours.items()}
        for i, (name, marker) in enumerate(markers.items()):
            look = figures.look_of(name, styles) | {"marker": marker, "alpha": 0.2}
            plot_band(axes, rounds, bands, i, **look)
        line = {"color": "black", **bound_look()}
        axes.plot(rounds, unavoidable * rounds, **line, label=f"unavoidable in one world: {unavoidable:.3f} t")
        figures.finish(axes, "round", "regret", title, log="xy")
    for kind in dict.fromkeys(row["kind"] for row in rows):
        above[0].plot([], [], color=KIND_COLOURS[kind], label=kind)
    for world, face in zip(WORLDS, ("white", None), strict=True):
        for i, row in enumerate(rows):
            ends = [[abs(row[f"{world}_{end}"] - row[world])] for end in ("low", "high")]
            colour = colours[row["learner"]]
            label = world.replace("_", " ") if i == 0 else None
            look = {"fmt": markers[row["learner"]], "ms": 4, "color": colour, "mfc": face or colour}
            dots.errorbar(row[world], i, xerr=ends, label=label, **look)
    dots.axvline(unavoidable, color="black", ls=bound_look()["linestyle"])
    dots.set_yticks(range(len(rows)), [row["learner"] for row in rows], fontsize="x-small")
    dots.invert_yaxis()
    figures.finish(
        dots, "regret a round at the horizon", title="final regret in both worlds; the theorem bounds the larger"
    )
    # With one copy and mean hypothesis m, the regrets a round are at least F1(m) and F2(m).
    w, limit = np.linspace(0.2, 1.0, 200), 0.78
    least = np.mean([(multiple * w - 1) ** 2 for multiple in NOISELESS_MULTIPLES], axis=0) - 0.8, (w - 1) ** 2
    plane.fill_between(np.append(least[0], limit), np.append(least[1], 0.0), color="0.9", lw=0, zorder=0,
                       label="out of reach for linear predictors with one copy")  # fmt: skip
    plane.plot(*least, "k")
    plane.plot(unavoidable, unavoidable, "k*", ms=8, label=f"least larger regret: {unavoidable:.3f}")
    linear = [row for row in rows if row["kind"] != OTHER]
    for row in linear:
        point = {"marker": markers[row["learner"]], "color": colours[row["learner"]], "ms": 5, "alpha": 0.85}
        plane.plot(*(row[world] for world in WORLDS), **point)
    figures.finish(
        plane, "regret a round without noise", "regret a round with noise", "trade-off between the two worlds"
    )
    plane.set(xlim=(-0.03, limit), ylim=(-0.03, limit), aspect="equal")
    figures.legend_below(figure, 2, above[0], dots, plane)
    return figure


def _sentence(name: str, alike: Mapping[str, Any]) -> str:
    return (
        "{name}: mean hypothesis after {rounds} rounds {means[0]:.3f} e without noise, {means[1]:.3f} e with; "
        "difference {difference:.3f} [{low:.3f}, {high:.3f}], Kolmogorov-Smirnov p = {p_value:.2g}"
    ).format(name=name, **alike)
