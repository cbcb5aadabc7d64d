"""Write the tables of docs/which-learner.md: `python docs/site/which_learner.py [FOLDER ...]`.

The tables have the parameters, losses and theorems of each learner, as its code declares them. Regrets are those in
benchmarks/results/suites.json. A FOLDER of `python -m benchmarks.suites SUITE --out FOLDER` replaces the regrets of its
suite.
"""

import csv
import dataclasses
import inspect
import json
import math
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.papers.claims.places import defining_file
from jaxonline import bounds, learners
from jaxonline.parameters.signatures import exported_names, parameters_of

ROOT = Path(__file__).resolve().parents[2]
PAGE, MEASURED = ROOT / "docs" / "which-learner.md", ROOT / "benchmarks" / "results" / "suites.json"
BEGIN, END = "<!-- tables: python docs/site/which_learner.py -->\n", "<!-- end of the tables -->\n"
WORDS = {"n_rounds": "horizon", "n_arms": "number of arms", "n_experts": "number of experts"}


class Row(NamedTuple):
    """A learner or one of its constructors, the names of its bound, in a suite, of its estimator, of its base."""

    name: str
    bound: str = ""
    measured: str = ""
    estimator: str = ""
    base: str = ""


class Group(NamedTuple):
    """Learners for the same feedback: a heading, the names of feedbacks, rows, and the suite that compares them."""

    heading: str
    feedbacks: tuple[str, ...]
    rows: tuple[Row, ...]
    suite: str = ""


GROUPS = (
    Group("Bandits: the loss of the pulled arm", ("Bandit",), (
        Row("BernoulliThompson", "", "Thompson sampling"), Row("KLUCB", "", "KL-UCB"), Row("MOSS", "moss", "MOSS"),
        Row("EpsilonGreedy", "", "epsilon-greedy, 0.1"),
        Row("ExploreThenCommit", "explore_then_commit", "explore, then commit"), Row("UCB1", "ucb1", "UCB1"),
        Row("GaussianThompson"), Row("EXP3.over_horizon", "exp3", "EXP3"),
        Row("EXP3IX.over_horizon", "exp3_ix", "EXP3-IX"), Row("EXP3P.over_horizon", "exp3_p"),
        Row("UCB1Tuned"), Row("UCB2"), Row("FixedConfidenceUCB.over_horizon"), Row("AsymptoticUCB"), Row("TsallisINF"),
    ), "textbook-bandits"),
    Group("Bandits whose arms change", ("Bandit",), (
        Row("SlidingWindowUCB"), Row("DiscountedUCB"), Row("SlidingWindowThompson"), Row("DiscountedThompson"),
        Row("EXP3S.over_horizon"), Row("Restarting.rexp3", base="EXP3S"), Row("CUSUMUCB.over_horizon"),
        Row("MonitoredUCB.over_horizon"), Row("GLRKLUCB.over_horizon"),
    )),
    Group("Contextual bandits: features or advice in each round", ("Bandit",), (
        Row("LinUCB"), Row("LinThompson"), Row("LogisticUCB"), Row("LogisticThompson"), Row("SquareCB"),
        Row("EpsilonGreedyCB"), Row("ExploreFirstCB"), Row("BaggingCB"), Row("EXP4.over_horizon", "exp4"),
    )),
    Group("Best-arm identification", ("Bandit",), (
        Row("TrackAndStop", "characteristic_time"), Row("TopTwoThompson"), Row("LUCB"),
        Row("SuccessiveElimination", "successive_elimination"), Row("LilUCB"),
        Row("SuccessiveRejects", "successive_rejects"), Row("SequentialHalving", "sequential_halving"),
        Row("UniformAllocation"), Row("APT"),
    )),
    Group("Sets of arms, duels, the loss of a point", ("SemiBandit", "Duel", "LossOfMove"), (
        Row("CUCB", "cucb"), Row("RUCB", "rucb"), Row("GradientBandit", "gradient_bandit"),
    )),
    Group("Feedback graphs, partial monitoring", ("FeedbackGraph", "PartialMonitoring"), (
        Row("EXP3G.over_horizon"), Row("FeedExp3.over_horizon"),
    )),
    Group("Delayed answers", ("Delayed",), (
        Row("UpdateOnArrival", "delayed_ucb1"), Row("BOLD", "bold"),
    )),
    Group("Experts: the losses of all experts", ("FullInformation", "OnRequest"), (
        Row("Hedge.over_horizon", "exponential_weights"), Row("DrawnExpert.over_horizon", "exponential_weights"),
        Row("FollowThePerturbedLeader.over_horizon", "perturbed_leader"), Row("EWA", "ewa"),
        Row("FixedShare.over_horizon", "fixed_share"), Row("BOA", "boa"), Row("MLPoly", "ml_poly"),
        Row("MLProd", "ml_prod"), Row("FollowTheRegularizedLeader", "regularized_leader"), Row("FollowTheLeader"),
        Row("OverAdvice"), Row("Aggregating", "aggregating"), Row("Halving", "halving"),
        Row("WeightedMajority", "weighted_majority"), Row("LabelEfficientHedge.over_horizon", "label_efficient"),
    )),
    Group("Regression on clean data", ("FullInformation",), (
        Row("GradientLearner", "projected_gradient", "", "FullGradient"), Row("VAW", "vaw"),
        Row("OnlineNewtonStep", "online_newton_step"), Row("AdaGrad", "adagrad"),
        Row("MirrorLearner", "mirror_descent"), Row("ExponentiatedGradient", "exponentiated_gradient"),
        Row("KernelGradient"), Row("MultiKernel", "vaw_ewa"), Row("Raker"),
    )),
    Group("Classification", ("FullInformation",), (
        Row("Perceptron", "perceptron"), Row("PNormPerceptron", "p_norm_perceptron"), Row("Winnow", "winnow"),
        Row("PassiveAggressive", "passive_aggressive"),
    )),
    Group("Noisy data: copies of each instance", ("NoisyCopies", "Replicates"), (
        Row("GradientLearner", "two_copies", "two noisy copies", "TwoCopies"),
        Row("GradientLearner", "known_covariance", "known covariance", "KnownCovariance"),
        Row("GradientLearner", "", "mean of four copies", "MeanOfCopies"),
        Row("GradientLearner", "", "one noisy copy, naive", "NaiveCopy"),
        Row("NoisyKernel", "noisy_kernel_geometric"), Row("SurrogateKernel", "surrogate_kernel"),
    ), "noisy-regression"),
    Group("A few attributes of each instance", ("Attributes",), (
        Row("AER", "aer_regret"), Row("AERR", "aerr_regret"), Row("Baseline", "baseline_risk"),
        Row("ExponentiatedGradient", "attribute_exponentiated_regret", "", "AttributeGradient"),
    )),
)  # fmt: skip
WRAPPERS = ("Doubling", "Truncated", "WithFeatures", "IndexPolicy")  # and a base class


def other_rows() -> tuple[Row, ...]:
    """Return the learners of the package that are in no group and are no wrappers."""
    named = {row.name.partition(".")[0] for group in GROUPS for row in group.rows} | set(WRAPPERS)
    classes = {name: getattr(learners, name) for name in exported_names(learners)}
    return tuple(
        Row(name)
        for name, value in classes.items()
        if inspect.isclass(value) and {"init", "predict", "update"} <= set(dir(value)) and name not in named
    )


def tables() -> str:
    """Return the tables in Markdown."""
    suites = json.loads(MEASURED.read_text())
    other = other_rows()
    groups = (*GROUPS, Group("Other learners", (), other)) if other else GROUPS
    return "\n".join(line for group in groups for line in table(group, suites.get(group.suite)))


def table(group: Group, suite: dict[str, Any] | None) -> list[str]:
    """Return the lines of a group: heading, caption and table."""
    head = ["learner", "must be given", "theorem", "environment", "losses"]
    feedbacks = ", ".join(f"`jo.{name}`" for name in group.feedbacks)
    caption = f"*Feedback: {feedbacks}.*" if feedbacks else "*See the description of each learner.*"
    if suite:
        head.append("relative regret")
        caption = f"*Feedback: {feedbacks}. {suite['caption']}*"
    lines = [f"### {group.heading}", "", f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    ratios = suite["relative_regret"] if suite else {}
    for row in sorted(group.rows, key=lambda row: ratios.get(row.measured, math.inf)):
        cells = cells_of(row)
        if suite:
            ratio = ratios.get(row.measured)
            cells.append("" if ratio is None else f"{ratio:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", caption, ""]


def cells_of(row: Row) -> list[str]:
    """Return the cells of a learner: link, parameters that must be given, bound, its environment, losses."""
    owner, _, constructor = row.name.partition(".")
    value = getattr(learners, owner)
    shown = f"`{row.name}`" + (f", `{row.estimator}`" if row.estimator else "")
    required = [
        WORDS.get(p.name, p.name.replace("_", " "))
        for p in parameters_of(getattr(value, constructor) if constructor else value)
        if (p.required or "horizon" in p.takes) and not (row.estimator and p.name == "estimator")
    ]
    losses = loss_range(value, row)
    assumptions = getattr(getattr(bounds, row.bound), "assumptions", None) if row.bound else None
    losses = losses or (assumptions.losses if assumptions else None)
    return [
        f"[{shown}](../{defining_file(f'learners.{owner}').as_posix()})",
        ", ".join(required) or "nothing",
        f"`bounds.{row.bound}`" if row.bound else "",
        assumptions.environment if assumptions else "",
        f"[{losses[0]:g}, {losses[1]:g}]" if losses else "any",
    ]


def loss_range(value: Any, row: Row) -> tuple[float, float] | None:
    """Return the range of the losses of a learner with its default numbers, or None."""
    losses = getattr(value, "loss_range", None)
    if isinstance(losses, property) and losses.fget is not None:  # it depends on the learner's numbers
        defaults = {field.name: field.default for field in dataclasses.fields(value)}
        if row.base:
            defaults["learner"] = getattr(learners, row.base)
        losses = losses.fget(types.SimpleNamespace(**defaults)) if row.base or "std" in defaults else None
    return losses if isinstance(losses, tuple) else None


def read_suite(folder: Path) -> dict[str, Any]:
    """Return the name, the caption and the relative regrets of the suite that wrote a folder."""
    across = list(csv.DictReader((folder / "across_games.csv").open()))
    means = list(csv.DictReader((folder / "means.csv").open()))
    ratios = {row["learner"]: round(float(row["interquartile mean"]), 4) for row in across}
    bandits = "UCB1" in ratios
    name, reference = ("textbook-bandits", "UCB1") if bandits else ("noisy-regression", "one noisy copy, naive")
    n_games, n_runs = len({row["game"] for row in means}), max(int(row["runs"]) for row in means)
    caption = (
        f"Relative regret: regret divided by the mean regret of {reference}, interquartile mean over {n_games} games "
        f"with {n_runs} runs each (`python -m benchmarks.suites {name}`)."
    )
    return {name: {"caption": caption, "relative_regret": ratios}}


if __name__ == "__main__":
    suites = json.loads(MEASURED.read_text())
    for folder in sys.argv[1:]:
        suites |= read_suite(Path(folder))
    MEASURED.write_text(json.dumps(suites, indent=1, sort_keys=True) + "\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{tables()}{END}{rest.partition(END)[2]}")
