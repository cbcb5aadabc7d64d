"""Reference of Algorithm 1 against gradient descent, the kernel, the derivative of the loss, and other programs."""

import importlib
import importlib.util
import itertools
import math

import numpy as np
import pytest
from noisy_kernel_reference import (
    DotProduct,
    Gaussian,
    Loss,
    Round,
    algorithm_1,
    geometric,
    grad_length_estimate,
    predict,
    table,
)
from scipy import special
from tiers import some

from benchmarks import noisy_kernel_numpy as numpy_contenders
from benchmarks.noisy_kernel_rounds import run_rounds

X, X2 = np.array([0.6, 0.5]), np.array([0.5, 0.7])
SURE_OF_ONE = table([0.0, 1.0])
SQUARED = table([0.0, 2.0])


def test_the_reference_without_noise_equals_projected_gradient_descent():
    """With one copy for certain: w <- w - step 2 (<w, x> - y) x, then into the ball |w|^2 <= B_w."""
    rng = np.random.default_rng(2)
    xs, ys = rng.standard_normal((50, 3)), 2.0 * rng.standard_normal(50)
    kernel, loss = DotProduct(table([0.0, 1.0]), SURE_OF_ONE), Loss(SQUARED, "regression", SURE_OF_ONE)
    rounds = [Round(x, y, (1, x[None]), 1, [(1, x[None])]) for x, y in zip(xs, ys, strict=True)]
    record = algorithm_1(kernel, loss, rounds, eta_over_sqrt_T=0.1, B_w=0.25)
    w = np.zeros(3)
    for t, (x, y) in enumerate(zip(xs, ys, strict=True)):
        assert record.predictions[t] == pytest.approx(w @ x, rel=1e-12, abs=1e-14)
        w = w - 0.1 * 2.0 * (w @ x - y) * x
        w = w * min(1.0, 0.5 / np.linalg.norm(w))
        assert record.norms[t] == pytest.approx(w @ w, rel=1e-12)
        np.testing.assert_allclose(record.alphas[t] @ xs, w, rtol=1e-12, atol=1e-14)
    assert (record.unprojected > 0.25).sum() > 5


def test_without_noise_the_mean_product_equals_the_kernel():
    """By enumeration of the counts up to 40, whose rest is below 1e-11: <Psi~, Psi~'> and <Psi~, x'>."""
    law, pair_law = geometric(1.5), geometric(2.0)
    dot = DotProduct(lambda n: 1.0 / math.factorial(n), law)
    gauss = Gaussian(1.3, pair_law, law)
    same, other = np.tile(X, (120, 1)), np.tile(X2, (120, 1))
    by_dot = [law(n) ** 2 * dot.prod((n, same), (n, other)) for n in range(40)]
    clean_by_dot = [law(n) * dot.prod_clean((n, same), X2) for n in range(40)]
    np.testing.assert_allclose([sum(by_dot), sum(clean_by_dot)], math.exp(X @ X2), rtol=1e-12)

    expected = math.exp(-((X - X2) @ (X - X2)) / 1.3**2)
    grid = list(itertools.product(range(16), range(40)))
    clean_by_gauss = sum(pair_law(a) * law(n) * gauss.prod_clean(((a, n), same), X2) for a, n in grid)
    by_gauss = sum(
        pair_law(a) * pair_law(b) * law(n) ** 2 * gauss.prod(((a, n), same), ((b, n), other))
        for (a, n), b in itertools.product(grid, range(16))
    )
    np.testing.assert_allclose([by_gauss, clean_by_gauss], expected, rtol=1e-11)
    assert gauss.prod(((1, 2), same), ((1, 3), other)) == dot.prod((2, same), (3, other)) == 0.0


def test_the_mean_length_equals_the_derivative():
    """By enumeration of n, for series about 0 and about another point; without y in the product (E9) it is 0.547."""
    law, s = geometric(2.0), 1.0

    def mean(loss, value, y):
        return sum(law(n) * grad_length_estimate(loss, n, [value] * n, y) for n in range(60))

    def erf_coefficient(n):  # of erf(s h) / 2
        k = n // 2
        return (-1.0) ** k * s**n / (math.factorial(k) * n * math.sqrt(math.pi)) if n % 2 else 0.0

    exponential = Loss(lambda n: -((-1.0) ** n) / math.factorial(n), "classification", law)
    assert mean(exponential, 0.6, -1.0) == pytest.approx(1.8221188, rel=1e-7)
    assert mean(Loss(SQUARED, "regression", law), 0.6, -1.0) == pytest.approx(3.2, rel=1e-12)
    absolute = Loss(lambda n: 2.0 * erf_coefficient(n), "regression", law)
    assert mean(absolute, 0.6, 0.1) == pytest.approx(special.erf(0.5), rel=1e-10)
    for outside in (False, True):
        hinge = Loss(lambda n: erf_coefficient(n) - (n == 0) / 2, "classification", law, 1.0, outside)
        assert mean(hinge, -0.3, -1.0) == pytest.approx(-(special.erf(0.3 - 1.0) - 1.0) / 2.0, rel=1e-10)


def test_norms_equal_those_of_the_returned_alphas():
    rng, probabilities = np.random.default_rng(3), [0.3, 0.3, 0.2, 0.1, 0.1]
    kernel, loss = Gaussian(1.3, *2 * (table(probabilities),)), Loss(SQUARED, "regression", table(probabilities))

    def psi(x):  # more copies than the counts use
        return tuple(rng.choice(5, p=probabilities, size=2).tolist()), x + 0.2 * rng.standard_normal((12, 2))

    rounds = []
    for x, n in zip(rng.uniform(-1.0, 1.0, (30, 2)), rng.choice(5, p=probabilities, size=30).tolist(), strict=True):
        rounds.append(Round(x, math.sin(3.0 * x[0]), psi(x), n, [psi(x) for _ in range(n)]))
    record = algorithm_1(kernel, loss, rounds, eta_over_sqrt_T=0.05, B_w=0.5)
    psis = [r.psi for r in rounds]
    products = np.array([[kernel.prod(a, b) for a in psis] for b in psis])
    norms = [alphas @ products @ alphas for alphas in record.alphas]
    np.testing.assert_allclose(record.norms, norms, rtol=1e-12, atol=1e-15)
    later = [predict(kernel, record.alphas[t - 1], psis, rounds[t].x) for t in range(1, 30)]
    np.testing.assert_allclose(record.predictions, [0.0, *later], rtol=1e-12, atol=1e-15)


def reference_of(settings, X, y, active, psis):
    T, p, width, sure = (settings[name] for name in ("T", "p", "width", "sure"))
    terms = dict(zip(active, psis, strict=True))
    nothing = ((0, 0), np.empty((0, settings["d"])))
    rounds = [
        Round(X[t], y[t], terms[t][0], 1, [terms[t][1]]) if t in terms else Round(X[t], y[t], nothing, 0, [])
        for t in range(T)
    ]
    law = geometric(p)
    loss = Loss(SQUARED, "regression", SURE_OF_ONE if sure else law)
    record = algorithm_1(Gaussian(width, law, law), loss, rounds, settings["eta"] / math.sqrt(T), settings["B_w"])
    assert 0 < (record.unprojected > 0.5 + 1e-9).sum() < len(active)
    return ((record.predictions - y) ** 2).sum()


SURE = pytest.mark.parametrize("sure", some([False, True], True), ids=["law of the paper", "n = 1 for certain"])


@pytest.mark.long
@SURE
def test_the_numpy_programs_of_the_benchmark_equal_algorithm_1(sure):
    """All variants of benchmarks/noisy_kernel_numpy.py against the reference fed the copies they draw; T = 120."""
    settings = numpy_contenders.SETTINGS | {"T": 120, "d": 3, "eta": 0.3, "B_w": 0.5, "sure": sure}
    X, y = numpy_contenders.problem(settings["T"], settings["d"])
    draws = numpy_contenders.draw(np.random.default_rng(5), X, settings["p"], settings["noise_sd"], sure)

    ends, pair_ends = np.cumsum(draws.level), np.cumsum(draws.pairs)
    psis = []
    for n1, n2, end, pair_end in zip(draws.pairs, draws.level, ends, pair_ends, strict=True):
        pairs = np.stack([draws.first, draws.second], axis=1)[pair_end - n1 : pair_end].reshape(-1, settings["d"])
        psis.append(((int(n1), int(n2)), np.concatenate([pairs, draws.factors[end - n2 : end]])))
    active = draws.active.tolist()
    own, fresh = psis[: len(active)], psis[len(active) :]
    expected = reference_of(settings, X, y, active, zip(own, fresh, strict=True))

    variants = [numpy_contenders.run, numpy_contenders.run_tensor, numpy_contenders.run_ahead]
    if importlib.util.find_spec("numba") is not None:
        variants.append(importlib.import_module("benchmarks.noisy_kernel_numba").run_numba)
    for variant in variants:
        assert variant(5, X=X, y=y, **settings) == (pytest.approx(expected, rel=1e-11), draws.queries)
    spread = numpy_contenders.run_tensor(5, X=X, y=y, deepest=1, **settings)[0]
    assert spread == pytest.approx(expected, rel=1e-11)


class Recorder(np.random.Generator):
    """A generator that remembers what it gave."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.given = []

    def geometric(self, p, size=None):
        self.given.append(super().geometric(p, size))
        return self.given[-1]

    def standard_normal(self, size):
        self.given.append(super().standard_normal(size))
        return self.given[-1]


@SURE
def test_the_benchmark_program_of_single_rounds_equals_algorithm_1(sure):
    """benchmarks/noisy_kernel_rounds.py against the reference fed the copies it draws."""
    settings = numpy_contenders.SETTINGS | {"T": 120, "d": 3, "eta": 0.3, "B_w": 0.5, "sure": sure}
    X, y = numpy_contenders.problem(settings["T"], settings["d"])
    rng = Recorder(5)
    loss, queries = run_rounds(rng, X=X, y=y, **settings)
    given, active, psis, asked = iter(rng.given), [], [], 0
    for t in range(settings["T"]):
        n = 1 if sure else int(next(given)) - 1
        counts = next(given) - 1
        assert len(counts) == n + 1
        asked += 2 * counts[:, 0].sum() + counts[:, 1].sum()
        if n == 1:
            active.append(t)
            psis.append([as_pairs(X[t] + settings["noise_sd"] * next(given), *c) for c in counts.tolist()])
    assert queries == asked
    assert loss == pytest.approx(reference_of(settings, X, y, active, psis), rel=1e-11)


def as_pairs(copies, n1, n2):
    """The reference has the two copies of a pair next to each other, the contender first all first ones."""
    pairs = np.stack([copies[:n1], copies[n1 : 2 * n1]], axis=1).reshape(2 * n1, copies.shape[1])
    return (n1, n2), np.concatenate([pairs, copies[2 * n1 :]])
