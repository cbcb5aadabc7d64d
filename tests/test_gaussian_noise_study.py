"""Kernel learners under Gaussian noise: the command, what it writes, and the facts that its figure shows."""

import csv
import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from jaxonline.cli import app
from jaxonline.study.ready import gaussian_noise as study_module
from jaxonline.study.ready.gaussian_noise import play
from jaxonline.study.ready.gaussian_noise_learners import (
    ALGORITHM_1,
    ALGORITHM_2,
    CLEAN,
    NAIVE,
    NOISES,
    NOISY,
    disc,
    geometry,
    real_set,
    target_losses,
    theorems,
)
from jaxonline.study.ready.gaussian_noise_report import late_growth

pytestmark = pytest.mark.fast_compile
COMMAND = ["reproduce", "gaussian-noise", "--runs", "2", "--rounds", "128"]


def absent(name, data=None, seed=0):
    raise OSError(f"{name} is in none of the folders given: fetch it elsewhere and name its folder with data")


def test_the_command_writes_numbers_a_table_and_a_figure(tmp_path, monkeypatch):
    """All learners at all noises; real sets that are not there are skipped with a line that says how to get them."""
    monkeypatch.setattr(study_module, "real_set", absent)
    monkeypatch.setattr(study_module, "NOISES", (0.0, 0.3))
    monkeypatch.setattr(study_module, "ETAS", (0.06, 0.6))
    out = tmp_path / "results"
    done = CliRunner().invoke(app, [*COMMAND, "--out", str(out), "--json", str(tmp_path / "all.json")])
    assert done.exit_code == 0, done.output
    for name in ("Airfoil", "Concrete"):
        assert f"{name} is skipped: {name} is in none of the folders given: fetch it" in done.output
    assert all(name in done.output for name in (CLEAN, *NOISY))
    assert "beta = 68 degrees" in done.output
    assert "Algorithm 1 runs out of storage with probability" in done.output
    found = json.loads((tmp_path / "all.json").read_text())
    assert found.keys() == {"settings", "geometry", "regret_of_zero", "by_noise", "shown", "long", "real"}
    assert found["real"] == {}
    assert (found["settings"]["runs"], found["settings"]["rounds"]) == (2, 128)
    assert [each["noise"] for each in found["by_noise"]] == [0.0, 0.3]
    assert set(found["shown"]["learners"]) == {CLEAN, *NOISY}
    assert set(found["long"]["learners"]) == {ALGORITHM_1, "Fourier, 2 copies"}
    assert (found["shown"]["rounds"][-1], found["long"]["rounds"][-1]) == (128, 640)
    for each in [*found["by_noise"], found["shown"], found["long"]]:
        for name, numbers in each["learners"].items():
            assert numbers["eta"] in found["settings"]["etas"]
            assert set(numbers["growth"]) == {"exponent", "low", "high"}
            assert len(numbers["regret"]) == len(numbers["queries"]) == len(each["rounds"])
            assert (numbers["bound"] is not None) == (name in (ALGORITHM_1, ALGORITHM_2))
    queries = {name: numbers["queries"][-1] / 128 for name, numbers in found["shown"]["learners"].items()}
    exact = {CLEAN: 1, ALGORITHM_2: 2, NAIVE: 1, "mean of 2 copies": 2, "mean of 5 copies": 5, "mean of 20 copies": 20}
    assert {name: queries[name] for name in exact} == exact
    rows = list(csv.DictReader((out / "table.csv").read_text().splitlines()))
    assert len(rows) == 2 * len(NOISY) + 1 + len(NOISY) + 1 + 2
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rounds", "200"], "n_rounds must be a multiple of 128, got 200"),
        (["--runs", "1"], "Invalid value for '--runs'"),
        (["--rounds", "64"], "Invalid value for '--rounds'"),
        (["--data", "/nowhere"], "data must name folders and files that exist"),
    ],
)
def test_bad_options(options, message, tmp_path):
    done = CliRunner().invoke(app, [*COMMAND, *options, "--out", str(tmp_path)], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert message in done.output


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


def test_without_noise_algorithm_2_is_kernel_gradient_descent():
    """Two copies that are the instance itself: the same losses as the clean learner's and as a NumPy loop's."""
    problem = disc(256)
    played = play(problem, 0.0, (CLEAN, ALGORITHM_2), n_runs=2, n_rounds=256)
    assert geometry(problem, 0.0)["W"] == pytest.approx(problem.radius, rel=1e-12)
    for name, losses in zip(played.result.learners, played.result.cumulative_loss, strict=True):
        ours = kernel_descent(problem.X, problem.y, problem.radius, played.etas[name])
        np.testing.assert_allclose(losses, ours.cumsum()[played.result.rounds - 1][None].repeat(2, 0), rtol=2e-4)


def test_algorithm_2_beats_one_copy_and_the_mean_of_two_under_noise():
    """At noise 0.45 and equal queries. By how much the others' regret is larger, as a share of their own: above 20 %
    for each of them, false alarm below 1e-6 where it is 20 % (measured: 41 % and 67 %)."""
    problem = disc(1024)
    others = (NAIVE, "mean of 2 copies")
    played = play(problem, 0.45, (ALGORITHM_2, *others), n_runs=24, n_rounds=1024)
    regret = dict(zip(played.result.learners, played.result.regret[:, :, -1], strict=True))
    limit = stats.t.ppf(1 - 1e-6, 23)
    for name in others:
        excess = 0.8 * regret[name] - regret[ALGORITHM_2]
        assert excess.mean() / (excess.std(ddof=1) / np.sqrt(24)) > limit, name
    assert (played.result.select(ALGORITHM_2).mean().high[0] < played.bounds[ALGORITHM_2]).all()
    growths = late_growth(played)
    assert growths[ALGORITHM_2].high < growths[NAIVE].low


def test_bounds_are_against_the_target_which_the_best_in_hindsight_beats_by_little():
    problem = disc(256)
    rounds = np.array([64, 256, 512])
    losses = target_losses(problem, rounds)
    centres, a = problem.points, problem.coefficients
    assert centres is not None
    assert a is not None
    f = np.exp(-((problem.X[:, None] - centres[None]) ** 2).sum(axis=2)) @ a
    errors = (f - problem.y) ** 2
    np.testing.assert_allclose(losses, [errors[:64].sum(), errors.sum(), 2 * errors.sum()], rtol=1e-9)
    promised = theorems(problem, 0.3, 512)[ALGORITHM_2]
    R = (1 - 2 * 0.09) ** -0.5  # (1 - 2 sigma^2 / s^2)^(-d/4) with d = 2
    W = np.sqrt(a @ (R**2 * np.exp(-((centres[:, None] - centres[None]) ** 2).sum(axis=2) / 0.82)) @ a)
    G = 4 * R**2 * (W * R + np.abs(problem.y).max()) ** 2
    assert (promised.radius, promised.G) == pytest.approx((W, G), rel=1e-6)


def test_noise_up_to_the_limit_of_the_surrogate_kernel():
    assert 2 * max(NOISES) ** 2 < 1.0
    with pytest.raises(ValueError, match="must have 2 \\* \\(largest eigenvalue\\) below the squared width 1"):
        play(disc(64), 0.71, (ALGORITHM_2,), n_runs=2, n_rounds=64)
    with pytest.raises(ValueError, match="n_rounds must be a multiple of the 64 rows, got 100"):
        play(disc(64), 0.3, (ALGORITHM_1,), n_runs=2, n_rounds=100)


@pytest.mark.parametrize(("name", "shape"), [("Airfoil", (1503, 5)), ("Concrete", (1030, 8))])
def test_real_data(name, shape, data_folder):
    problem = real_set(name, data_folder)
    assert problem.X.shape == shape
    assert (problem.X**2).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-9)
    assert np.array(problem.noises) / problem.X.std(axis=0)[0] == pytest.approx([0.25, 0.5])
    played = play(problem, problem.noises[1], (ALGORITHM_2, NAIVE), n_runs=2, n_rounds=512)
    assert (played.result.regret[:, :, -1] < (problem.y[:512] ** 2).sum()).all()
