"""Paper D (E46 to E51, E61, E62): printed formulas and claims against independent programs."""

import itertools
import math

import numpy as np
import pytest
from scipy import linalg

from benchmarks.papers.claims import multikernel
from jaxonline import bounds
from jaxonline.environments import Autoregressive

pytestmark = pytest.mark.fast_compile


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
    x, runs = multikernel.X, multikernel.outcomes()
    phi = np.sqrt(2) * np.cos(omega[:, None, :] * x[:, None] + b[:, None, :])  # [draws, T, 4]
    w = np.array([1, 1, 0.5, 0.5]) * np.sqrt(2) * np.cos(b) / 2
    terms = (w[:, None] * phi).reshape(len(draws), len(x), 2, 2).sum(axis=3)
    for run, fraction in zip(runs, multikernel.FRACTIONS, strict=True):
        y = run.labels
        forecasts = np.stack([vaw(phi[:, :, :2], y, 1.0), vaw(phi[:, :, 2:], y, 1.0)], axis=2)
        regret = np.mean(losses(vaw(phi, y, 1.0), y) - losses(fraction * terms.sum(axis=2), y))
        assert run.regret_of_all_features(fraction) == pytest.approx(regret, rel=1e-9)
        regrets = [np.mean(losses(forecasts[..., j], y) - losses(fraction * terms[..., j], y)) for j in (0, 1)]
        np.testing.assert_allclose(run.mean_regrets_of_kernels(fraction), regrets, rtol=1e-9)
        combined = losses(vaw(forecasts, y, 1.0), y)
        of_combiner = [np.max(combined - losses(forecasts @ delta, y)) for delta in multikernel.DELTAS]
        np.testing.assert_allclose(run.regrets_of_combiner().max(axis=0), of_combiner, rtol=1e-9, atol=1e-9)
    f = np.cos(multikernel.FREQUENCIES[:, :, None] * x).mean(axis=1) * np.array([[1.0], [0.5]])
    np.testing.assert_allclose(terms.mean(axis=0), f.T, atol=1e-12)  # Eq. 7


def test_lemma_2_fails_with_half_of_its_constant():
    """At x = pi the variance is 1.5 |f|^2/m, three quarters of the 2 |f|^2/m without N."""
    assert 0.75 < multikernel.lemma_2(1) < 1
    assert multikernel.lemma_2(0.5) > 1


def test_regret_on_pairs_equals_numpy():
    """E46: 3.446, above ln(201)/2 and below ln(51); two weights for one frequency."""
    z = np.tile(np.eye(2), (50, 1))
    y = np.tile([1.0, 1.0, -1.0, -1.0], 25)
    S, s, loss = np.eye(2), np.zeros(2), 0.0
    for row, label in zip(z, y, strict=True):
        S += np.outer(row, row)
        loss += (np.linalg.solve(S, s) @ row - label) ** 2 / 2
        s += label * row
    w = np.linalg.solve(S, s)
    regret = loss - np.sum((z @ w - y) ** 2) / 2 - w @ w / 2
    assert multikernel.regret_of_pairs() == pytest.approx(regret) == pytest.approx(3.446, abs=5e-4)
    assert math.log(201) / 2 < regret < math.log(51)


def test_other_representations_have_other_norms():
    """E48: the function is the same, cos(omega (x - 0)) for each omega, and the mean square of gamma/p is not."""
    b = 2 * np.pi * np.arange(64) / 64
    for angle in (0.0, 0.7, 2.0):
        for extra in (0.0, 1.0, -3.0):
            mean = np.mean(multikernel.quotients(extra) * math.sqrt(2) * np.cos(angle + b))
            assert mean == pytest.approx(math.cos(angle))
    assert np.mean(multikernel.quotients(-3.0) ** 2) == pytest.approx(1 + 9 / 2)


def test_printed_weights_ignore_the_first_loss():
    """E50."""
    losses, right = np.array([[9.0, 0.0], [0.0, 1.0], [2.0, 0.0]]), np.exp([-2.0, -1.0])
    assert multikernel.printed_ewa_weights(losses, 1.0) == pytest.approx(right / right.sum())


def test_printed_series_is_another_one():
    """E51: roots 0.971 and 0.727, variances 2.37 and 1.33, by the Lyapunov equation."""
    for lags, root, variance in (
        (multikernel.PRINTED_LAGS, 0.971, 2.373),
        (multikernel.PRINTED_LAGS[::-1], 0.727, 1.331),
    ):
        companion = np.vstack([lags, np.eye(4)[:3]])
        assert max(abs(np.linalg.eigvals(companion))) == pytest.approx(root, abs=5e-4)
        noise = np.diag([1.0, 0.0, 0.0, 0.0])
        assert linalg.solve_discrete_lyapunov(companion, noise)[0, 0] == pytest.approx(variance, abs=5e-4)
    assert Autoregressive(multikernel.PRINTED_LAGS[::-1]).coefficients.tolist() == pytest.approx([0.5, -0.3, 0.2, 0.1])


def test_printed_table_has_other_winners_on_one_set():
    """E47: the better VAW2 is the first or second of all algorithms on the real sets, and fifth on AR(4)."""
    places = {name: sorted(errors).index(min(errors[:2])) for name, errors in multikernel.PRINTED_TABLE_2.items()}
    assert places == {"AR(4)": 5, "Airfoil": 0, "Bias correction": 0, "Concrete": 0, "Naval": 0}


def test_superfluous_numbers_of_kernels():
    """E61 and E62, from the displays of the paper."""
    N, m, T, Y, f, lam = 7, 20, 300, 1.3, 2.1, 0.8
    log, energy = m * Y**2 / 2 * math.log(1 + 2 * T / lam), f**2 / m
    printed, right = (((lam / 2 + n * T) * energy + N * log) for n in (N, 1))
    features = bounds.Features(m)
    assert bounds.concatenated(f, N, features, Y, T, lam) == pytest.approx(right) == pytest.approx(849.55, abs=0.01)
    larger = multikernel.printed_concatenated(f, N, features, Y, T, lam)
    assert larger == pytest.approx(printed) == pytest.approx(1246.45, abs=0.01)
    one, inside = (lam / 2 + T) * energy + log + lam / 2, 2 * T * (T + 1) + 2 * m * T * math.log(1 + 2 * T / lam)
    printed, right = (one + N * Y**2 / 2 * math.log(1 + n * Y**2 / lam * inside) for n in (N, 1))
    assert bounds.vaw2(f, N, features, Y, T, lam) == pytest.approx(printed) == pytest.approx(268.23, abs=0.01)
    assert right == pytest.approx(256.72, abs=0.01)
    assert printed - right <= N * Y**2 / 2 * math.log(N)
