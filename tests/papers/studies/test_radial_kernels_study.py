"""The study of truncated radial kernels under Gaussian noise."""

import math

import jax
import numpy as np
import pytest
from scipy import integrate
from tiers import some

from benchmarks.papers.studies.radial_kernels import KERNELS, WORKED_CASE, RadialKernels
from jaxonline.simulation.blocks import default_mesh
from jaxonline.study import Context

SMALL = RadialKernels(runs=2, rounds=64, etas=(0.3, 1.0))
CONTEXT = Context(mesh=default_mesh(jax.devices()[:1]))
D, SIGMA, C = SMALL.dimension, SMALL.noise, SMALL.c
DENSITIES = {  # of u in units of 1/d: x = u d
    WORKED_CASE: lambda x: math.exp(-x),
    KERNELS[1]: lambda x: x * math.exp(-x),
    KERNELS[2]: lambda x: x**-1.5 * math.exp(-0.25 / x) / (2 * math.sqrt(math.pi)),
}


@pytest.fixture(scope="module")
def problems():
    return {name: SMALL.problem(kernel, 1) for name, kernel in SMALL.kernels().items()}


def by_quadrature(name, variance, squared_distance):
    def integrand(x):
        shrinkage = 1 - 2 * variance * x / D
        return DENSITIES[name](x) * shrinkage ** (-D / 2) * math.exp(-x / D * squared_distance / shrinkage)

    return integrate.quad(integrand, 0, C, epsabs=1e-12, epsrel=1e-12)[0]


@pytest.mark.parametrize("name", some(KERNELS, next(iter(KERNELS))))
def test_facts_equal_integrals_and_closed_forms(problems, name):
    """1 - k(0) is the mass of the mixing density above c; R^2 = k^(0); W and B_w are norms of a k(p, .) - a k(-p, .)
    with |p|^2 = 2. The quadrature of the study has errors up to 4e-6."""
    facts, a = problems[name].facts(), problems[name].rows[2][0]
    mass = {WORKED_CASE: math.exp(-C), KERNELS[1]: (1 + C) * math.exp(-C), KERNELS[2]: math.erf(0.5 / math.sqrt(C))}
    assert facts["truncation_error"] == pytest.approx(mass[name], rel=1e-9)
    assert 1 - by_quadrature(name, 0.0, 0.0) == pytest.approx(mass[name], rel=1e-9)
    assert facts["quadrature_error"] < 1e-5
    assert facts["surrogate_error"] < 1e-5
    assert facts["R"] ** 2 == pytest.approx(by_quadrature(name, SIGMA**2, 0.0), abs=2e-5)
    for key, variance in (("B_w", 0.0), ("W", SIGMA**2)):
        squared = 2 * a**2 * (by_quadrature(name, variance, 0.0) - by_quadrature(name, variance, 8.0))
        assert facts[key] == pytest.approx(math.sqrt(squared), rel=1e-5)
    cosine = by_quadrature(name, 0.0, 8.0) / by_quadrature(name, 0.0, 0.0)
    assert facts["angle"] == pytest.approx(math.acos(cosine), rel=1e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_are_those_of_the_theorems(problems, name):
    """2 W R (W R + B_y) sqrt(T), with R = e^(sigma^2 c) in Theorem 5."""
    facts, y_bound = problems[name].facts(), np.abs(problems[name].rows[1]).max()
    R = math.exp(SIGMA**2 * C) if name == WORKED_CASE else facts["R"]
    wanted = 2 * facts["W"] * R * (facts["W"] * R + y_bound) * 8
    assert facts["bound"] == pytest.approx(wanted, rel=1e-9)
    assert ("bound_printed" in facts) == (name == WORKED_CASE)
    if name == WORKED_CASE:
        assert facts["R_printed"] == pytest.approx(math.exp(SIGMA * C))
        assert (facts["c_limit_printed"], facts["c_limit"]) == (2.5, 5.0)
