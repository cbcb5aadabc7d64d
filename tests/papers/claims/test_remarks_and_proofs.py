"""Claims on steps of proofs (paper D), on remarks (paper C) and on known noise (paper B), against NumPy and SciPy."""

import itertools
import math

import jax
import numpy as np
import pytest
from scipy import integrate, optimize

from benchmarks.papers.claims import attribute_remarks, multikernel_proofs, side_information
from benchmarks.papers.claims.registry import run_claims
from jaxonline.learners import aer
from jaxonline.simulation.blocks import default_mesh

pytestmark = pytest.mark.fast_compile
ONE = default_mesh(jax.devices()[:1])


def vaw(Z, y, lam):
    """Predictions of VAW by the formula of Eq. 9, for many sequences Z [draws, T, n]."""
    predictions = np.zeros(Z.shape[:2])
    for t in range(Z.shape[1]):
        past, now = Z[:, :t], Z[:, t]
        S = lam * np.eye(Z.shape[2]) + np.swapaxes(Z[:, : t + 1], 1, 2) @ Z[:, : t + 1]
        w = np.linalg.solve(S, np.einsum("rtn,t->rn", past, y[:t])[..., None])[..., 0]
        predictions[:, t] = np.sum(w * now, axis=1)
    return predictions


def losses(predictions, y):
    return np.sum((predictions - y) ** 2, axis=-1) / 2


@pytest.mark.long
def test_steps_of_the_proofs_equal_numpy():
    """All draws of two features for each of two kernels, features sqrt(2) cos(omega x + b) as in the paper."""
    grid = list(itertools.product((0, 1), np.arange(3) * 2 * np.pi / 3))
    draws = list(itertools.product(grid, repeat=4))
    omega = np.array([[(1, 1, 3, 3)[i] + one[i][0] for i in range(4)] for one in draws], float)
    b = np.array([[theta[1] for theta in one] for one in draws])
    x, runs = multikernel_proofs.X, multikernel_proofs.outcomes()
    phi = np.sqrt(2) * np.cos(omega[:, None, :] * x[:, None] + b[:, None, :])  # [draws, T, 4]
    w = np.array([1, 1, 0.5, 0.5]) * np.sqrt(2) * np.cos(b) / 2
    terms = (w[:, None] * phi).reshape(len(draws), len(x), 2, 2).sum(axis=3)
    for run, fraction in zip(runs, multikernel_proofs.FRACTIONS, strict=True):
        y = run.labels
        forecasts = np.stack([vaw(phi[:, :, :2], y, 1.0), vaw(phi[:, :, 2:], y, 1.0)], axis=2)
        regret = np.mean(losses(vaw(phi, y, 1.0), y) - losses(fraction * terms.sum(axis=2), y))
        assert multikernel_proofs.regret_of_all_features(run, fraction) == pytest.approx(regret, rel=1e-9)
        regrets = [np.mean(losses(forecasts[..., j], y) - losses(fraction * terms[..., j], y)) for j in (0, 1)]
        np.testing.assert_allclose(multikernel_proofs.mean_regrets_of_kernels(run, fraction), regrets, rtol=1e-9)
        combined = losses(vaw(forecasts, y, 1.0), y)
        of_combiner = [np.max(combined - losses(forecasts @ delta, y)) for delta in multikernel_proofs.DELTAS]
        np.testing.assert_allclose(run.regrets_of_combiner().max(axis=0), of_combiner, rtol=1e-9, atol=1e-9)
    f = np.cos(multikernel_proofs.FREQUENCIES[:, :, None] * x).mean(axis=1) * np.array([[1.0], [0.5]])
    np.testing.assert_allclose(terms.mean(axis=0), f.T, atol=1e-12)  # Eq. 7


def test_lemma_2_fails_with_half_of_its_constant():
    """At x = pi the variance is 1.5 |f|^2/m, three quarters of the 2 |f|^2/m without N."""
    assert 0.75 < multikernel_proofs.lemma_2(1) < 1
    assert multikernel_proofs.lemma_2(0.5) > 1


def test_a_mean_that_is_not_deducted_biases_the_gradient():
    """The bias is that of the gradient at x + mean, y + mean of the label."""
    W, X, Y = side_information.W, side_information.X, side_information.Y
    right, wrong = (side_information.gradients(*means).mean(axis=0) for means in ((side_information.MEAN, 0.2), (0, 0)))
    np.testing.assert_allclose(right, 2 * (W @ X - Y) * X, rtol=1e-12)
    shifted = X + side_information.MEAN
    np.testing.assert_allclose(wrong, 2 * (W @ shifted - Y - 0.2) * shifted, rtol=1e-12)
    assert np.linalg.norm(wrong - right) > 0.5


def test_a_single_point_decides_lemma_9():
    """|u^|^2/|u|^2 = k^(0)/k(0) by quadrature, over W^2 = 5 exp(2 sigma c): above 1; over 5 exp(2 sigma^2 c): below."""
    sigma, d = 10.0, 16
    c = 0.999 * d / (4 * sigma**2)
    surrogate = integrate.quad(lambda u: (1 - 2 * sigma**2 * u) ** (-d / 2) * np.exp(-u * d), 0, c / d)[0]
    ratio = surrogate / integrate.quad(lambda u: np.exp(-u * d), 0, c / d)[0]
    printed, corrected, improved = (row.verification for row in run_claims("B, Lemma 9", mesh=ONE))
    assert printed.bias + 1 == pytest.approx(math.sqrt(ratio / (5 * np.exp(2 * sigma * c))), rel=1e-4)
    assert printed.bias > 0.5
    assert corrected.bias + 1 == pytest.approx(math.sqrt(ratio / (5 * np.exp(2 * sigma**2 * c))), rel=1e-4)
    assert improved.bias == pytest.approx(0, abs=1e-6)


def test_fewer_examples_do_not_make_up_for_the_missing_attributes():
    """With m d^2/k examples the bound is still larger by d/k^(1/2)."""
    assert attribute_remarks.examples_that_make_up(2.0) > 100


def test_mean_deviation_of_losses_by_a_minimiser():
    """Each supremum by its own search over w."""
    y, total = np.where(np.arange(6) % 2 == 0, 1.0, -1.0), 0.0
    for signs in itertools.product((1, -1), repeat=6):
        grid = np.linspace(-1, 1, 2001)
        values = [np.dot(signs, (w - y) ** 2) for w in (*grid, *optimize.fminbound(
            lambda w, s=signs: -np.dot(s, (w - y) ** 2), -1, 1, full_output=True)[:1])]  # fmt: skip
        total += max(values)
    assert attribute_remarks.largest_mean_deviation(6) == pytest.approx(total / 6 / 64, rel=1e-4)


def aer_in_numpy(n_runs, m, lam, seed=0):
    """Excess risks of Algorithm 2's output for d = k = 2, B = 1 and the hidden attribute 0, with w_i x_i (E14).

    The mean is over w_1 = 0, ..., w_(m+1), as in `learners.aer`.
    """
    rng = np.random.default_rng(seed)
    w, mean = np.zeros((n_runs, 2)), np.zeros((n_runs, 2))
    rows = np.arange(n_runs)
    for t in range(1, m + 1):
        x = rng.choice([-1.0, 1.0], size=(n_runs, 2))
        y = np.where(rng.random(n_runs) < 0.75, 1.0, -1.0) * x[:, 0]
        v, i = np.zeros((n_runs, 2)), rng.integers(2, size=n_runs)
        v[rows, i] = 2 * x[rows, i]
        norm = np.abs(w).sum(axis=1)
        j = (rng.random(n_runs) * norm > np.abs(w[:, 0])).astype(int)
        y_hat = np.sign(w[rows, j]) * norm * x[rows, j]
        w = (1 - 1 / t) * w - 2 / (lam * t) * (y_hat - y)[:, None] * v
        a = np.sort(np.abs(w), axis=1)[:, ::-1]
        both = np.maximum((a.sum(axis=1) - 1) / 2, 0)
        threshold = np.where(a[:, 1] > both, both, a[:, 0] - 1)
        shrunk = np.sign(w) * np.maximum(np.abs(w) - threshold[:, None], 0)
        w = np.where((a.sum(axis=1) > 1)[:, None], shrunk, w)
        mean += (w - mean) / (t + 1)
    return np.sum((mean - np.array([0.5, 0.0])) ** 2, axis=1)


@pytest.mark.long
def test_risk_of_aer_equals_numpy():
    """300 runs of 1,000 examples each: the means differ by less than six standard errors (false alarm 2e-9)."""
    runs, m, lam = 300, 1000, 0.5
    keys = jax.random.split(jax.random.key(1), runs)
    learner = aer(2, lam, 1.0)
    ours = jax.jit(jax.vmap(lambda key: attribute_remarks.error_of_aer(learner, key, m)))(keys)
    ours, theirs = np.sum(np.asarray(ours, float) ** 2, axis=1), aer_in_numpy(runs, m, lam)
    error = math.hypot(ours.std(), theirs.std()) / math.sqrt(runs)
    assert abs(ours.mean() - theirs.mean()) < 6 * error < 0.6 * theirs.mean()


def test_theorem_2_says_something():
    """For each example the bound is below 0.25, by which the risk of w = 0 exceeds that of w*; by hand."""
    m, G = 100_000, 8 * 2**2 * 2**2 / 2
    lam = 2 * 2 / 0.5 * math.sqrt(math.log(m) / (2 * m))
    per_example = lam * 0.25 / 2 + G * (1 + math.log(m)) / (lam * m)
    assert attribute_remarks.theorem_2().value / m == pytest.approx(per_example, rel=1e-9)
    assert per_example < 0.15
