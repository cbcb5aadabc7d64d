"""Kernel learners under Gaussian noise: what the study finds and writes, and the facts that its figure shows."""

import csv
import dataclasses
import json

import jax
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from benchmarks.papers.comparison import BestOf, ComparisonResult
from benchmarks.papers.studies.gaussian_noise import (
    ALGORITHM_1,
    ALGORITHM_2,
    BOUND_TUNED,
    CLEAN,
    NAIVE,
    NOISY,
    GaussianNoise,
    OnCopies,
    better_than_both,
)
from jaxonline.simulation.blocks import default_mesh
from jaxonline.study import Context

CONTEXT = Context(mesh=default_mesh(jax.devices()[:1]))
SMALL = GaussianNoise(runs=2, rounds=128, noises=[0.0, 0.3], etas=[0.06, 0.6])
FEW = (CLEAN, ALGORITHM_2, NAIVE, "mean of 2 copies", "Fourier, 2 copies")


class Absent(GaussianNoise):
    """No real set is there."""

    def real_set(self, name, seed):
        raise OSError(f"{name} is in none of the folders given: fetch it elsewhere and name its folder with data")


def check(report, names, folder):
    """Numbers, table and figure; real sets that are not there are skipped with a line that says how to get them."""
    said = " ".join(report.sentences)
    for name in ("Airfoil", "Concrete"):
        assert f"{name} is skipped: {name} is in none of the folders given: fetch it" in said
    assert "beta = 68 degrees" in said
    assert ("Algorithm 1 runs out of storage with probability" in said) == (ALGORITHM_1 in names)
    found = json.loads(report.json())
    assert found.keys() == {"settings", "geometry", "regret_of_zero", "by_noise", "shown", "long", "real"}
    assert found["real"] == {}
    assert (found["settings"]["runs"], found["settings"]["rounds"]) == (2, 128)
    assert [each["noise"] for each in found["by_noise"]] == [0.0, 0.3]
    assert set(found["shown"]["learners"]) == set(names)
    longer = {ALGORITHM_1, "Fourier, 2 copies"} & set(names)
    assert set(found["long"]["learners"]) == longer
    assert (found["shown"]["rounds"][-1], found["long"]["rounds"][-1]) == (128, 640)
    for each in [*found["by_noise"], found["shown"], found["long"]]:
        for name, numbers in each["learners"].items():
            assert numbers["eta"] in found["settings"]["etas"]
            assert set(numbers["growth"]) == {"exponent", "low", "high"}
            assert len(numbers["regret"]) == len(numbers["queries"]) == len(each["rounds"])
            assert (numbers["bound"] is not None) == (name in (ALGORITHM_1, BOUND_TUNED, ALGORITHM_2))
    queries = {name: numbers["queries"][-1] / 128 for name, numbers in found["shown"]["learners"].items()}
    exact = {CLEAN: 1, ALGORITHM_2: 2, NAIVE: 1, "mean of 2 copies": 2, "mean of 5 copies": 5, "mean of 20 copies": 20}
    assert {name: queries[name] for name in exact if name in names} == {n: q for n, q in exact.items() if n in names}
    shown, long, across = report.shown
    assert "rounds 64 to 128" in shown.title
    assert "rounds 384 to 640" in long.title
    assert "rounds 64 to 128" in said
    assert "at the edge" in said
    assert {row["learner"] for row in shown.rows} == {row["learner"] for row in across.rows} == set(names)
    assert [column.key for column in across.columns] == ["learner", "0", "0.3"]
    assert "0.3" not in across.rows[0], "clean instances have no noise"
    report.save(folder)
    rows = list(csv.DictReader((folder / "table.csv").read_text().splitlines()))
    assert len(rows) == 2 * (len(names) - 1) + 1 + len(names) + len(longer)
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_a_small_study_writes_numbers_table_and_figure(tmp_path):
    study = Absent(**SMALL.model_dump() | {"only": FEW})
    check(study.run(CONTEXT), FEW, tmp_path)


@pytest.mark.long
def test_a_study_of_all_learners_writes_numbers_table_and_figure(tmp_path):
    check(Absent(**SMALL.model_dump()).run(CONTEXT), (CLEAN, *NOISY), tmp_path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rounds": 200}, "rounds: .*got 200"),
        ({"runs": 1}, "runs: .*got 1"),
        ({"rounds": 0}, "rounds: .*got 0"),
        ({"data": "/nowhere"}, "data: must name folders and files that exist"),
        ({"only": "nobody"}, "only: .*got 'nobody'"),
    ],
)
def test_invalid_fields_raise_errors_with_their_names(fields, message):
    with pytest.raises(ValueError, match=message):
        GaussianNoise(**fields).run(CONTEXT)


def late_growth(found):
    return {row["learner"]: row for row in found.rows()}


def kernel_descent(X, y, radius, eta):
    """Gradient descent in the RKHS of exp(-|x - x'|^2) with the squared loss and steps eta / sqrt(t): its losses."""
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    alpha, losses = np.zeros(len(y)), np.zeros(len(y))
    for t in range(len(y)):
        error = gram[t] @ alpha - y[t]
        losses[t] = error**2
        alpha[t] = -eta / np.sqrt(t + 1) * 2 * error
        alpha *= min(1.0, radius / np.sqrt(alpha @ gram @ alpha))
    return losses


@pytest.mark.long
def test_algorithm_2_without_noise_equals_kernel_gradient_descent():
    """Two copies that are the instance itself: the same losses as the clean learner's and as a NumPy loop's."""
    problem = SMALL.problem(0)
    names = (CLEAN, ALGORITHM_2)
    played = problem.run(CONTEXT, 0.0, names, dict.fromkeys(names, 0.6), n_runs=2, n_rounds=128)
    assert problem.geometry(0.0)["W"] == pytest.approx(problem.radius, rel=1e-12)
    for name, losses in zip(played.result.learners, played.result.cumulative_loss, strict=True):
        ours = kernel_descent(problem.X, problem.y, problem.radius, played.etas[name])
        np.testing.assert_allclose(losses, ours.cumsum()[played.result.rounds - 1][None].repeat(2, 0), rtol=2e-4)


@pytest.mark.long
def test_algorithm_2_beats_one_copy_and_the_mean_of_two_under_noise():
    """At noise 0.45 and equal queries. By how much the others' regret is larger, as a share of their own: above 20 %
    for each of them, false alarm below 1e-6 where it is 20 % (measured: 41 % and 67 %)."""
    study, others = GaussianNoise(rounds=1024), (NAIVE, "mean of 2 copies")
    names = (ALGORITHM_2, *others)
    tune = BestOf({f"{eta:g}": eta for eta in study.etas})
    played = study.problem(0).run(CONTEXT, 0.45, names, tune, n_runs=24, n_rounds=1024)
    regret = dict(zip(played.result.learners, played.result.regret[:, :, -1], strict=True))
    limit = stats.t.ppf(1 - 1e-6, 23)
    for name in others:
        excess = 0.8 * regret[name] - regret[ALGORITHM_2]
        assert excess.mean() / (excess.std(ddof=1) / np.sqrt(24)) > limit, name
    assert (played.result.select(ALGORITHM_2).mean().high[0] < played.bounds[ALGORITHM_2]).all()
    growths = late_growth(played)
    assert growths[ALGORITHM_2]["slope_high"] < growths[NAIVE]["slope_low"]


def test_the_bound_tuned_learner_depends_only_on_the_bounds():
    """Its distributions are the same at every noise up to the largest, and for other rows of the same maxima; those of
    Algorithm 1 are not."""
    problem = SMALL.problem(0)
    longest, largest = np.argmax((problem.X**2).sum(axis=1)), np.argmax(np.abs(problem.y))
    X, y = 0.5 * problem.X, 0.5 * problem.y
    X[longest], y[largest] = problem.X[longest], problem.y[largest]
    others = dataclasses.replace(problem, X=X, y=y)
    step = jo.InverseSqrt(0.1)
    for name, alike in ((BOUND_TUNED, True), (ALGORITHM_1, False)):
        first, *rest = (
            [np.asarray(leaf) for leaf in jax.tree.leaves(own.makers(noise)[name](step))]
            for own, noise in ((problem, 0.3), (problem, 0.0), (others, 0.3))
        )
        for each in rest:
            same = all(a.shape == b.shape and (a == b).all() for a, b in zip(first, each, strict=True))
            assert same == alike, name


@pytest.mark.long
def test_losses_on_copies_choose_the_step_of_the_bound_tuned_learner():
    """And by those on clean instances for the others, in runs of another seed over a quarter of the rounds."""
    problem, names = GaussianNoise(rounds=512).problem(0), (NAIVE, BOUND_TUNED)
    tune, sizes = BestOf({f"{eta:g}": eta for eta in (0.02, 0.2, 2.0)}), {"n_runs": 6, "n_rounds": 512}
    found = problem.run(CONTEXT, 0.45, names, tune, **sizes)
    game = jo.Game(jo.environments.DataStream(problem.X, problem.y), jo.NoisyCopies(jo.noise.gaussian(0.45**2)))
    for name in names:
        learners = {f"{eta:g}": problem.makers(0.45)[name](jo.InverseSqrt(eta)) for eta in tune.etas.values()}
        if name == BOUND_TUNED:
            learners = {eta: OnCopies(each, game.feedback.noise) for eta, each in learners.items()}
        pilot = {"n_runs": 6, "n_rounds": 128, "record_at": 1, "key": 1}
        losses = jo.simulate(game, learners, mesh=CONTEXT.mesh, **pilot).cumulative_loss[:, :, -1].mean(axis=1)
        assert found.etas[name] == list(tune.etas.values())[int(np.argmin(losses))], name
    again = problem.run(CONTEXT, 0.45, names, found.etas, **sizes)
    np.testing.assert_array_equal(found.result.cumulative_loss, again.result.cumulative_loss)
    assert found.at_edge == tune.at_edge(found.etas)


@pytest.mark.long
def test_the_regret_of_any_linear_learner_on_copies_is_linear():
    """Paper A, Appendix A, Eq. 5: with x = y = 1 and noise of variance 1, E (w x~ - y)^2 = (w - 1)^2 + w^2 >= 1/2 for
    every w, while the comparator, which sees x, has no loss: regret >= T/2, whatever the learner knows. The naive
    learner is the best one here: it comes within 10 % of the bound. Each comparison is wrong with probability 1e-6."""
    copies = jo.NoisyCopies(jo.noise.gaussian(1.0))
    game = jo.Game(jo.environments.DataStream(np.ones((1, 1)), np.ones(1)), copies)

    def learner(estimator):
        descent = jo.GradientLearner(estimator, step_size=jo.InverseSqrt(0.2), radius=1.0)
        return OnCopies(descent, copies.noise)

    learners = {
        "full": jo.WithFeedback(learner(jo.estimators.FullGradient()), jo.FullInformation()),
        "two": learner(jo.estimators.TwoCopies()),
        "naive": learner(jo.estimators.NaiveCopy()),
    }
    rounds, runs = 800, 256
    result = jo.simulate(
        game, learners, n_runs=runs, n_rounds=rounds, record_at=2, comparator=jo.L2Ball(1.0), mesh=CONTEXT.mesh
    )
    np.testing.assert_allclose(result.comparator_loss, 0.0, atol=1e-9)

    def upper(values):
        return values.mean() + stats.norm.ppf(1 - 1e-6) * values.std(ddof=1) / np.sqrt(runs)

    def lower(values):
        return -upper(-values)

    for regret in result.regret:
        for i, t in enumerate(result.rounds):
            assert upper(regret[:, i]) >= t / 2
        assert lower(regret[:, 1] - 1.9 * regret[:, 0]) > -0.05 * rounds, "linear growth"
    full, two, naive = result.regret[:, :, -1]
    assert upper(naive) < 1.1 * rounds / 2
    assert lower(full) > 0.95 * rounds
    assert lower(two) > lower(naive)


def compared(**regrets):
    """Learners with these regrets, give or take, in 30 runs."""
    names, noise = tuple(name.replace("_", " ") for name in regrets), np.random.default_rng(0).normal(size=30)
    loss = np.array(list(regrets.values()))[:, None, None] + noise[:, None]
    measures = {"cumulative_loss": loss, "queries": np.ones_like(loss)}
    result = jo.Result(names, np.arange(30), np.array([1]), measures, comparator_loss=np.zeros_like(loss))
    return ComparisonResult(result, {}, {}, {"noise": 0.3}, 0.5)


def test_a_biased_learner_better_than_both_algorithms_is_named():
    """With its smaller lead over the two algorithms; one between the two is not."""
    (said,) = better_than_both(compared(Algorithm_2=5.0, Algorithm_1=9.0, one_copy=7.0, mean_of_20_copies=3.0))
    assert "mean of 20 copies (1 queries a round) by 2.0 [2.0, 2.0] or more" in said
    assert "one copy" not in said
    assert better_than_both(compared(Algorithm_2=5.0, Algorithm_1=9.0, mean_of_2_copies=6.0)) == []
    assert better_than_both(compared(Algorithm_2=5.0, mean_of_20_copies=3.0)) == [], "nothing to compare it with"


def test_bounds_are_against_the_target_and_not_the_best_in_hindsight():
    problem = GaussianNoise(rounds=256).problem(0)
    rounds = np.array([64, 256, 512])
    losses = problem.target_losses(rounds)
    best = problem.best_losses(rounds)
    assert (best < losses).all()
    assert (losses - best < 0.2 * losses).all()
    centres, a = problem.points, problem.coefficients
    assert centres is not None
    assert a is not None
    f = np.exp(-((problem.X[:, None] - centres[None]) ** 2).sum(axis=2)) @ a
    errors = (f - problem.y) ** 2
    np.testing.assert_allclose(losses, [errors[:64].sum(), errors.sum(), 2 * errors.sum()], rtol=1e-9)
    promised = problem.theorems(0.3, 512)[ALGORITHM_2]
    R = (1 - 2 * 0.09) ** -0.5  # (1 - 2 sigma^2 / s^2)^(-d/4) with d = 2
    W = np.sqrt(a @ (R**2 * np.exp(-((centres[:, None] - centres[None]) ** 2).sum(axis=2) / 0.82)) @ a)
    G = 4 * R**2 * (W * R + np.abs(problem.y).max()) ** 2
    assert (promised.radius, promised.G) == pytest.approx((W, G), rel=1e-6)


def test_noise_above_the_limit_of_the_surrogate_kernel_raises_an_error():
    assert 2 * max(GaussianNoise().noises) ** 2 < GaussianNoise().width ** 2
    problem, sizes = SMALL.problem(0), {"n_runs": 2, "n_rounds": 128}
    with pytest.raises(ValueError, match="must have 2 \\* \\(largest eigenvalue\\) below the squared width 1"):
        problem.run(CONTEXT, 0.71, (ALGORITHM_2,), {ALGORITHM_2: 0.6}, **sizes)
    with pytest.raises(ValueError, match=r"n_rounds: .*got 200"):
        problem.run(CONTEXT, 0.3, (ALGORITHM_1,), {ALGORITHM_1: 0.6}, **sizes | {"n_rounds": 200})


@pytest.mark.parametrize(("name", "shape"), [("Airfoil", (1503, 5)), ("Concrete", (1030, 8))])
def test_real_sets_are_standardised(name, shape, data_folder):
    problem = GaussianNoise(data=data_folder).real_set(name, 0)
    assert problem.X.shape == shape
    assert (problem.X**2).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-9)
    assert np.array(problem.noises) / problem.X.std(axis=0)[0] == pytest.approx([0.25, 0.5])


@pytest.mark.long
def test_a_problem_without_target_has_no_bounds():
    """As real sets are: no theorem speaks of it, and the learners' regret is below that of the predictor 0."""
    known = SMALL.problem(0)
    problem = dataclasses.replace(known, points=None, coefficients=None)
    etas = {CLEAN: 0.6, NAIVE: 0.6}
    played = problem.run(CONTEXT, 0.3, tuple(etas), etas, n_runs=2, n_rounds=128)
    assert played.bounds == {}
    assert (played.result.regret[:, :, -1] < problem.regret_of_zero(128)).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["Airfoil", "Concrete"])
def test_a_real_set_runs_with_finite_regret(name, data_folder):
    problem = GaussianNoise(data=data_folder).real_set(name, 0)
    etas = {ALGORITHM_2: 0.6, NAIVE: 0.6}
    played = problem.run(CONTEXT, problem.noises[1], tuple(etas), etas, n_runs=2, n_rounds=512)
    assert (played.result.regret[:, :, -1] < (problem.y[:512] ** 2).sum()).all()
