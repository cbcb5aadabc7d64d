"""How many examples show which attribute is hidden? The factor d between two theorems, on the hard instance.

Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010), Theorems 2
and 3: an excess risk of eps needs at least the order d/(k eps) of examples, and on the distribution of this lower bound
(`environments.HiddenAttribute`) AER needs at most the order d^2/(k eps), up to a logarithm.

Here the number m of examples is fixed in advance, the hidden attribute is uniformly random, and the mean excess risk
must be at most eps. A learner that observes attribute i learns the sign of x_i y, which is 1 with probability 1/2 +
sqrt(eps) for the hidden attribute, and 1/2 for the others. So, given the observations, the probability q_i that i is
hidden is proportional to (1 + u)^a (1 - u)^b after a signs 1 and b signs -1, with u = 2 sqrt(eps). The best predictor
is then w = u q, with the expected excess risk u^2 (1 - |q|^2). Here (1 + u)^3 (1 - u)^2 = 1, so that all ratios q_i /
q_j are powers of one number. This eps is 0.0379.

**A lower bound for this criterion.** The vector among u e_1, ..., u e_d that is nearest to w belongs to a wrong
attribute only if the excess risk is at least 2 eps, so with probability 1/2 at most. By Pinsker's inequality and the
divergence in the paper's Lemma 6, it belongs to the right one with probability 1/d + sqrt(1.5 eps k m / d) at most, for
eps <= 1/16. So m >= (1 - 2/d)^2 d / (6 k eps).
"""

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field
from scipy import optimize, stats

import jaxonline as jo
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Items, Names, Study, select_by_name
from jaxonline import bounds
from jaxonline.environments import HiddenAttribute
from jaxonline.estimators import AttributeGradient, AttributePairs
from jaxonline.game import Specs
from jaxonline.learners import AER, ExponentiatedGradient
from jaxonline.learners.attributes import minimise_on_l1_ball, project_l1_ball
from jaxonline.results.report.plotting import line_looks
from jaxonline.results.report.tables import Interval, Number, Table
from jaxonline.study import Context, Report

Parts = tuple[Any, Callable[..., Any], Callable[..., jax.Array]]  # start, step and hypothesis of a learner
UP, K = 3, 2  # (1 + u)^UP (1 - u)^(UP - 1) = 1, and attributes of each example
U = float(optimize.brentq(lambda u: UP * math.log1p(u) + (UP - 1) * math.log1p(-u), 0.01, 0.99))
EPS = (U / 2) ** 2
RECORDS, RESAMPLES = 60, 1000
POLICIES = {"most probable": (1.0, False), "Thompson sampling": (1.0, True), "random attributes": (0.0, True)}
# The largest d of each strategy, and the largest number of examples as a multiple of d/(k eps).
STRATEGIES: dict[str, tuple[int, Callable[[int], float]]] = {
    "most probable": (1024, lambda d: 1.1), "Thompson sampling": (256, lambda d: 1.3),
    "halving": (1024, lambda d: 4.0), "random attributes": (128, lambda d: 1.2 + 0.5 * math.log(d)),
    "Baseline, E xx' = I": (128, lambda d: 7.0), "Baseline": (64, lambda d: 2.2 * d**0.5),
    "exponentiated gradient": (64, lambda d: 4.5 * math.log(2 * d)), "AER": (64, lambda d: 7 * d**1.35),
}  # fmt: skip
THEOREM = *map(Number, ("d", "k", "m", "B", "predictor 0", "bound")), Interval("AER"), Number("least m")
# d, k, m and eps for which AER's theorem bounds the excess risk by less than 4 eps, which the predictor 0 has.
CASES = (2, 2, 20000, 0.25), (4, 2, 100000, 0.25), (4, 4, 50000, 0.25), (8, 2, 300000, 0.25), (4, 2, 300000, 0.06)


class FactorD(Study):
    """Study of the number of examples until the mean excess risk is eps on the hard instance of a lower bound.

    Most strategies know the form of the instance and eps; "halving" knows only the form. The learners know |w*|_1, and
    have the best of a few rates. The intervals come from resamples of the runs. An exponent of d is the slope of a
    regression of logarithms.

    Example:
        >>> from benchmarks.papers.studies.factor_d import EPS, exact_risks
        >>> best, greedy = exact_risks(d=3, k=2, n_examples=40)
        >>> int((best > EPS).sum()), bool(abs(best - greedy).max() < 1e-6)
        (25, True)
    """

    title: ClassVar[str] = "Examples that show the hidden attribute, by d: best strategies, AER, Baseline and bounds."
    dimensions: Annotated[tuple[Annotated[int, Field(ge=8, le=1024)], ...], Items] = Field(
        (8, 16, 32, 64, 128, 256, 512, 1024), min_length=2, description="Numbers d of attributes."
    )
    only: Names = Field((), description="Strategies to play, by default all.")
    exact: int = Field(4, ge=3, le=5, description="Largest d of the exact computation.")
    runs: int = Field(1000, ge=4, description="Runs of each strategy.")
    learner_runs: int = Field(256, ge=64, description="Runs of each learner, 16 times those of AER.")
    cases: int = Field(len(CASES), ge=1, le=len(CASES), description="Number of cases of AER's theorem.")

    def run(self, context: Context) -> Report:
        chosen, rng = select_by_name("only", self.only, STRATEGIES), np.random.default_rng([context.seed, 1])
        dimensions, needed = sorted(set(self.dimensions)), {name: dict[int, np.ndarray]() for name in chosen}
        plays = [(name, d) for name, (largest, _) in chosen.items() for d in dimensions if d <= largest]
        with context.parts(len(plays)) as part:
            for name, d in plays:
                inputs = name, d, self.runs, self.learner_runs, context.seed
                curves = part(f"{name}, d = {d}").compute_once(inputs, partial(self.curves, name, d, context.seed))
                needed[name][d] = resample_needed(**curves, rng=rng)
        rows = [
            {"strategy": name, "d": d, "times k eps / d": by_d[d][0] * K * EPS / d} | with_interval("examples", by_d[d])
            for name, by_d in needed.items() for d in by_d
        ]  # fmt: skip
        exact = [exact_row(d, k) for k in (1, K) for d in range(k + 1, self.exact + 1)]
        lines, setting = [{"d": d} | example_bounds(d) for d in dimensions], f"excess risk {EPS:.4f}"
        heads = [Number(name, name.replace(", ", ",\n"), "{:,.4g}") for name in lines[0]]
        theorem = [theorem_row(self.learner_runs // 4, context.seed, *case) for case in CASES[: self.cases]]
        exponents = [fit_exponent(name, by_d) for name, by_d in needed.items() if len(by_d) > 1]
        tables = {
            "examples": Table(f"Examples for the {setting}, k = {K}, with 95 % intervals", rows, group="strategy"),
            "exponents": Table("Exponents of d, with 95 % intervals", exponents),
            "exact": Table(f"Exact numbers of examples for the {setting}", exact),
            "theorem": Table("Theorem 2: AER with the theorem's lambda, mean excess risk", theorem, THEOREM),
            "bounds": Table(f"Bounds on the examples for the {setting}, k = {K}", lines, heads),
        }
        return Report(tables, {"figure": lambda: plot(rows, lines, exact)})

    def curves(self, name: str, d: int, seed: int) -> dict[str, np.ndarray]:
        """Return numbers of examples [records] and excess risks [rates, runs, records] of a strategy."""
        length, key = STRATEGIES[name][1](d) * d / (K * EPS), jax.random.fold_in(jax.random.key(seed), d)
        if name == "halving":
            rng = np.random.default_rng([seed, d])
            ends, risks = zip(*(halving_risks(rng, d, K, n, self.runs) for n in range(1, int(1 / EPS))), strict=True)
            return {"ends": np.array(ends), "risks": np.stack(risks, axis=1)[None]}
        if name in POLICIES:
            stride = math.ceil(length / RECORDS)
            risks = policy_risks(key, stride, d, K, self.runs, RECORDS, *POLICIES[name])
            return {"ends": stride * np.arange(1, RECORDS + 1), "risks": np.asarray(risks, float).T[None]}
        ends = np.unique(np.geomspace(length / 20, length, RECORDS).round().astype(int))
        keys = jax.random.split(key, self.learner_runs // (16 if name == "AER" else 1))
        return {"ends": ends, "risks": learner_risks(*RATES[name](d), HiddenAttribute(d, EPS), K, ends, keys)}


# ---------------------------------------------------------------------------------------------------------------------
# Strategies that know the form of the instance


def exact_risks(d: int, k: int, n_examples: int, reach: float = 12.0) -> np.ndarray:
    """Return the least mean excess risk after 0, 1, ... examples, and that of the k most probable attributes.

    Backward induction. The state is log q_i, relative to the largest one and sorted, in multiples of the step. The
    attributes whose q_i is below exp(-reach) times the largest one count as if it were equal to that.
    """
    unit = math.log1p(U) / (UP - 1)
    top = int(reach / unit)
    gaps = np.array(list(itertools.combinations_with_replacement(range(top + 1), d - 1)))
    states, radix = np.insert(gaps, 0, 0, axis=1), (top + 1) ** np.arange(d - 1)[::-1]
    q = np.exp(-unit * states)
    q /= q.sum(axis=1, keepdims=True)
    moves: list[list[tuple[np.ndarray, np.ndarray]]] = []  # for each move the probability and the next state of signs
    for chosen in itertools.combinations(range(d), k):
        moves.append([])
        for signs in itertools.product((1, -1), repeat=k):
            after = states.copy()
            after[:, chosen] += np.where(np.array(signs) > 0, 1 - UP, UP)
            after.sort(axis=1)
            following = np.searchsorted(gaps @ radix, np.minimum(after[:, 1:] - after[:, :1], top) @ radix)
            moves[-1].append(((1 + U * q[:, chosen] @ np.array(signs)) / 2**k, following))
    best = greedy = np.sum(q**2, axis=1)
    values = [(best[0], greedy[0])]
    for _ in range(n_examples):
        best = np.max([sum(p * best[i] for p, i in outcomes) for outcomes in moves], axis=0)
        greedy = np.sum([p * greedy[i] for p, i in moves[0]], axis=0)
        values.append((best[0], greedy[0]))
    return U**2 * (1 - np.array(values).T)


@partial(jax.jit, static_argnums=(2, 3, 4, 5, 7))
def policy_risks(
    key: jax.Array, stride: int, d: int, k: int, runs: int, records: int, weight: float, is_random: bool
) -> jax.Array:
    """Return the expected excess risk given the observations [records, runs], after each `stride` examples.

    A round observes the k attributes with the largest scores: `weight` times log q_i, plus Gumbel noise if `is_random`.
    With the weight 1 these are the most probable attributes or, with noise, k draws from q without replacement
    (Thompson sampling).
    """
    hidden = jax.random.randint(key, (runs, 1), 0, d, jnp.int32)

    def observe(t: jax.Array, logs: jax.Array) -> jax.Array:
        sign_key, noise_key = jax.random.split(jax.random.fold_in(key, t))
        scores = weight * logs + (jax.random.gumbel(noise_key, logs.shape) if is_random else 0.0)
        chosen = jax.lax.top_k(scores, k)[1]
        agrees = jax.random.uniform(sign_key, chosen.shape) < jnp.where(chosen == hidden, 0.5 + U / 2, 0.5)
        change = jnp.where(agrees, math.log1p(U), math.log1p(-U)).astype(logs.dtype)
        return logs.at[jnp.arange(runs, dtype=jnp.int32)[:, None], chosen].add(change)

    def record(logs: jax.Array, i: jax.Array) -> tuple[jax.Array, jax.Array]:
        logs = jax.lax.fori_loop(i * stride, (i + 1) * stride, observe, logs)
        return logs, U**2 * (1 - jnp.sum(jax.nn.softmax(logs, axis=1) ** 2, axis=1))

    return jax.lax.scan(record, jnp.zeros((runs, d)), jnp.arange(records, dtype=jnp.int32))[1]


def halving_risks(rng: np.random.Generator, d: int, k: int, passes: int, runs: int) -> tuple[int, np.ndarray]:
    """Return the number of examples and the excess risks [runs] of an elimination that does not know eps.

    Phase r = 1, 2, ... observes each survivor r `passes` times and keeps the better half, by all signs so far. The last
    phase has one survivor. Its weight is its mean sign, and the other weights are 0.
    """
    total, chance, seen, examples = np.zeros((runs, d)), np.full((runs, d), 0.5), 0, 0
    chance[:, 0] += U / 2
    for phase in range(1, math.ceil(math.log2(d)) + 2):
        kept = np.argsort(-total - rng.random(total.shape), axis=1)[:, : -(-d // 2 ** (phase - 1))]  # ties at random
        total, chance = (np.take_along_axis(array, kept, axis=1) for array in (total, chance))
        n, survivors = phase * passes, kept.shape[1]
        total, seen, examples = total + rng.binomial(n, chance), seen + n, examples + max(n, -(-n * survivors // k))
    weight = 2 * total[:, 0] / seen - 1
    return examples, np.where(chance[:, 0] > 0.5, (weight - U) ** 2, weight**2 + U**2)


# ---------------------------------------------------------------------------------------------------------------------
# Learners


def averaged(make: Callable[[Any], Any], d: int, rate: Any) -> Parts:
    """Return the parts of the mean of a learner's hypotheses w_1, ..., w_m."""
    learner, label = make(rate), jax.ShapeDtypeStruct((), jnp.float32)

    def step(key: jax.Array, state: Any, oracle: Any) -> Any:
        w = state[0].w if hasattr(state[0], "w") else learner.w(state[0])
        return learner.update(key, state[0], oracle)[0], state[1] + w

    first = learner.init(None, Specs(jax.ShapeDtypeStruct((d,), jnp.float32), label))
    return (first, jnp.zeros(d)), step, lambda state, m: state[1] / m


def baseline(knows_identity: bool, d: int, radius: Any) -> Parts:
    """Return the parts of the Baseline, which may know that E xx' = I."""

    def step(key: jax.Array, state: Any, oracle: Any) -> Any:
        estimates = AttributePairs(K)(key, d, oracle)
        return state[0] + estimates.A, state[1] + oracle.label() * estimates.v

    def hypothesis(state: Any, m: jax.Array) -> jax.Array:
        A, b = state[0] / m, state[1] / m
        return project_l1_ball(b, radius) if knows_identity else minimise_on_l1_ball(A, b, radius, jnp.zeros(d), 300)

    return (jnp.zeros((d, d)), jnp.zeros(d)), step, hypothesis


SIGNED = partial(ExponentiatedGradient, AttributeGradient(K), scale=U, signed=True)  # a function of the step
RATES: dict[str, Callable[[int], tuple[Callable[..., Parts], Sequence[float]]]] = {
    "Baseline, E xx' = I": lambda d: (partial(baseline, True), (U,)),
    "Baseline": lambda d: (partial(baseline, False), (U,)),
    "exponentiated gradient": lambda d: (partial(averaged, SIGNED), [c / d for c in (0.4, 0.8, 1.6, 6.4)]),
    "AER": lambda d: (partial(averaged, partial(AER, K, radius=U)), (0.5, 0.7, 1.0, 1.4)),
}


def learner_risks(
    parts: Callable[..., Parts], rates: Sequence[float], hidden: HiddenAttribute, k: int, ends: np.ndarray,
    keys: jax.Array,
) -> np.ndarray:  # fmt: skip
    """Return the excess risks [rates, runs, records] after `ends` examples. All rates see the same examples."""

    def run(rate: jax.Array, key: jax.Array) -> jax.Array:
        (first, step, hypothesis), law = parts(hidden.dimension, rate), hidden.init(key)

        def play(t: jax.Array, state: Any) -> Any:
            draw, answer, choice = jax.random.split(jax.random.fold_in(key, t), 3)
            x, _ = hidden.instance(draw, law, t)
            y, _ = hidden.outcome(answer, law, t, x, jnp.zeros(()))
            return step(choice, state, jo.Attributes(k).open(None, t, x, y, jnp.zeros(())))

        def record(state: Any, span: jax.Array) -> tuple[Any, jax.Array]:
            state = jax.lax.fori_loop(span[0], span[1], play, state)
            return state, hidden.excess_risk(hypothesis(state, span[1].astype(jnp.float32)), law.attribute)

        return jax.lax.scan(record, first, jnp.stack([spans[:-1], spans[1:]], axis=1))[1]

    spans = jnp.asarray(np.insert(ends, 0, 0), jnp.int32)
    risks = jax.jit(jax.vmap(jax.vmap(run, (None, 0)), (0, None)))(jnp.asarray(rates, jnp.float32), keys)
    return np.asarray(risks, float)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers of examples, and the picture


def resample_needed(ends: np.ndarray, risks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the examples until the mean risk is `EPS`, for the best rate, in the runs and in resamples of the runs."""
    runs = risks.shape[1]
    shares = np.vstack([np.ones(runs), rng.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES)]) / runs
    means = np.einsum("br,grn->gbn", shares, risks, optimize=True)
    return np.min([[first_crossing(ends, mean) for mean in own] for own in means], axis=0)


def first_crossing(ends: np.ndarray, mean: np.ndarray) -> float:
    """Return where a curve is first at most `EPS`, linear between records; inf if never."""
    if np.all(mean > EPS):
        return math.inf
    i = max(int(np.argmax(mean <= EPS)), 1)
    return float(np.interp(-EPS, -mean[i - 1 : i + 1], ends[i - 1 : i + 1]))


def with_interval(name: str, samples: np.ndarray) -> dict[str, float]:
    """Return the first sample with the central 95 % of the others."""
    low, high = np.quantile(samples[1:], (0.025, 0.975), method="nearest")
    return {name: samples[0], "low": low, "high": high}


def fit_exponent(name: str, samples: dict[int, np.ndarray]) -> dict[str, Any]:
    """Return the slope of log examples against log d, and that between the last two d."""
    x, y = np.log(list(samples)), np.log(list(samples.values()))
    row = {"strategy": name, "d": f"{min(samples)} to {max(samples)}", "last": (y[-1, 0] - y[-2, 0]) / (x[-1] - x[-2])}
    return row | with_interval("exponent", np.polyfit(x, y, 1)[0])


def exact_row(d: int, k: int) -> dict[str, Any]:
    """Return the exact number of examples of the best strategy and of the k most probable attributes."""
    risks = exact_risks(d, k, math.ceil(1.3 * d / (k * EPS)))
    best, greedy = (int(np.argmax(curve <= EPS)) for curve in risks)
    row = {"d": d, "k": k, "best": best, "most probable": greedy, "best times k eps / d": best * k * EPS / d}
    return row | {"largest difference / eps": float(np.max(np.abs(risks[0] - risks[1]))) / EPS}


def example_bounds(d: int) -> dict[str, float]:
    """Return two lower bounds on the examples, and two numbers of examples for which an upper bound is eps."""
    return {
        "lower bound, Theorem 3": bounds.hidden_attribute_examples(d, K, EPS),
        "lower bound, mean risk": (1 - 2 / d) ** 2 * d / (6 * K * EPS),
        "upper bound, exp. gradient": (bounds.attribute_exponentiated_regret(d, K, U, 10**8).value / EPS) ** 2 / 10**8,
        "upper bound, AER": float(first_below(d, K, U, EPS)),
    }


def first_below(d: int, k: int, radius: float, risk: float) -> int:
    """Return the least m for which AER's theorem, with the constants of `bounds.aer_regret`, gives at most a risk."""
    value = partial(bounds.aer_regret, d, k, radius, radius)
    return 3 + bisect.bisect_left(range(3, 10**14), True, key=lambda m: value(m).value <= m * risk)


def theorem_row(runs: int, seed: int, d: int, k: int, m: int, eps: float) -> dict[str, Any]:
    """Return the bound of AER's theorem and the mean excess risk of AER with the theorem's lambda."""
    radius, keys = 2 * eps**0.5, jax.random.split(jax.random.key(seed), runs)
    theorem, parts = bounds.aer_regret(d, k, radius, radius, m), partial(averaged, partial(AER, k, radius=radius))
    excess = learner_risks(parts, [theorem.regularizer], HiddenAttribute(d, eps), k, np.array([m]), keys).ravel()
    low, high = stats.t.interval(0.95, runs - 1, excess.mean(), stats.sem(excess))
    row = {"d": d, "k": k, "m": m, "B": radius, "predictor 0": 4 * eps, "bound": theorem.value / m}
    return row | {"AER": excess.mean(), "low": low, "high": high, "least m": first_below(d, k, radius, 4 * eps)}


@figures.paper_style
def plot(rows: list[dict[str, Any]], lines: list[dict[str, Any]], exact: list[dict[str, Any]]) -> Any:
    """Draw the examples against d, with the bounds in gray. Squares are the exact computation."""
    title = f"Examples m until the mean excess risk is {EPS:.4f} on the hard instance, {K} attributes of each example"
    figure, ((axes,),) = figures.panels(1, 1, 5.2, title)
    for name, dashes in zip(list(lines[0])[1:], (":", "--", "-.", "-"), strict=True):
        axes.plot([line["d"] for line in lines], [line[name] for line in lines], color="0.5", ls=dashes, label=name)
    for look, name in zip(line_looks(len(STRATEGIES)), STRATEGIES, strict=True):
        own = [row for row in rows if row["strategy"] == name]
        figures.plot_rows(axes, own, "d", "examples", **dict(look) | {"markevery": None}, label=name)
    points = [(row["d"], row["best"]) for row in exact if row["k"] == K]
    axes.plot(*zip(*points, strict=True), "ks", ms=4, mfc="none", label="exact optimum")
    figures.finish(axes, "attributes d", "examples m", log="xy")
    figures.legend_below(figure, 3, axes)
    return figure
