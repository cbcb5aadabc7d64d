"""Bounds raise an error that names the argument if an argument is out of range."""

import numpy as np
import pytest
from bad_call_parts import EXP, GAUSS, LENGTH, MAP, X, Y
from bad_calls import Row, check, count, grouped, number, option, positive, row, rows, thing

from jaxonline import bounds, losses
from jaxonline.feedback import noise


def bound_calls():
    cases = (
        (bounds.gradient_descent, ("radius", "G")),
        (bounds.full_information, ("radius", "x_bound", "y_bound")),
        (bounds.two_copies, ("radius", "x_bound", "y_bound")),
        (bounds.known_covariance, ("radius", "x_bound", "y_bound")),
        (bounds.surrogate_kernel, ("radius", "constant", "y_bound")),
        (bounds.unbiased_steps, ("radius", "feature_moment", "length_moment")),
    )
    for bound, arguments in cases:
        good = dict.fromkeys(arguments, 1.0) | {"n_rounds": 10}
        for name in arguments:
            yield from rows(name, lambda v, b=bound, g=good, n=name: b(**g | {n: v}), TypeError, "1", None, 1j, True)
            yield from rows(name, lambda v, b=bound, g=good, n=name: b(**g | {n: v}), ValueError, 0.0, -1.0, np.nan)
        yield from count("n_rounds", lambda v, b=bound, g=good: b(**g | {"n_rounds": v}))
    bound = bounds.two_copies(1.0, 1.0, 1.0, 10)
    yield from positive("step_size", lambda step: bound.at_rounds([1], step_size=step), optional=True)
    likely = bounds.with_high_probability(bound, 4.0, 10, 0.1)
    yield from positive("step_size", lambda step: likely.at_rounds([1], step_size=step), optional=True)
    yield from positive("estimate_bound", lambda b: bounds.with_high_probability(bound, b, 10, 0.1))
    yield from count("n_rounds", lambda n: bounds.with_high_probability(bound, 4.0, n, 0.1))
    yield from number("delta", lambda delta: bounds.with_high_probability(bound, 4.0, 10, delta), 0.0, 1.0)
    yield from rows("bound", lambda b: bounds.with_high_probability(b, 4.0, 10, 0.1), TypeError, 80.0, None)
    yield from rows("noise", lambda law: bounds.largest_copies(X, Y, law), TypeError, 0.1, "uniform", noise.uniform)
    yield from number("missed", lambda p: bounds.largest_copies(X, Y, missed=p), -0.1, 1.0)
    yield from count("draws", lambda n: bounds.largest_copies(X, Y, draws=n), optional=True)
    yield row(lambda: bounds.largest_copies(X, Y, missed=0.1), ValueError, "draws: must be the number")
    yield from positive("eta", lambda eta: bound.at_rounds([1], eta=eta), optional=True)
    yield row(lambda: bound.at_rounds([1], step_size=1.0, eta=1.0), ValueError, "eta: must not be given with step_size")
    yield row(lambda: bounds.exp3(2, 9).at_rounds([1]), ValueError, "rounds: must not be given")
    yield row(lambda: bounds.exp3(2, 9).in_any_environment(), ValueError, "bound: must have a version")
    yield row(lambda: bounds.exp3(2, 9).eta, AttributeError, "eta: this bound has no such attribute")
    yield from rows(
        "rounds", lambda at: bound.at_rounds(at, step_size=0.1), (TypeError, ValueError), None, "a", [-1.0], [np.nan]
    )
    yield from rows("noise", lambda law: bounds.moment_bounds(X, Y, law), TypeError, 0.1, "gauss", noise.gaussian)
    yield from rows(
        "label_noise", lambda law: bounds.moment_bounds(X, Y, None, law), TypeError, 0.1, noise.TwoPoints(1.0)
    )
    yield from rows("X", lambda X: bounds.moment_bounds(X, Y), (ValueError, TypeError), None, X[0], X * np.nan, X[:2])
    yield from count("frequencies", bounds.Features)
    yield from option("layout", lambda layout: bounds.Features(3, layout), "cosin")
    yield from rows("scaled", lambda yes: bounds.Features(3, scaled=yes), TypeError, "yes", 1)
    yield from number("f_norm", lambda f: bounds.concatenated(f, 2, bounds.Features(3), 1.0, 10), -1.0)
    yield from thing("features", lambda f: bounds.concatenated(1.0, 2, f, 1.0, 10), bounds.Features)
    yield from rows(
        "n_rounds",
        lambda n: bounds.concatenated(1.0, 2, bounds.Features(3), 1.0, n),
        (TypeError, ValueError),
        0,
        "a",
        None,
    )
    yield from count("n_experts", lambda n: bounds.ewa(n, 1.0))
    yield from positive("y_bound", lambda y: bounds.aggregating(2, y))
    yield from positive("radius", lambda radius: bounds.surrogate_radius(radius, 1.0, 1.0))
    yield from number("angle", lambda angle: bounds.surrogate_radius(1.0, 1.0, angle), 0.0, 2.0)
    yield from thing("feature_map", lambda m: bounds.noisy_kernel(m, LENGTH, 1.0, 0.1, 10, 1.0), GAUSS)
    yield from thing("gradient_length", lambda g: bounds.noisy_kernel(MAP, g, 1.0, 0.1, 10, 1.0), LENGTH.series)
    yield from rows(
        "y_bound", lambda y: bounds.noisy_kernel(MAP, LENGTH, 1.0, 0.1, 10, y), (TypeError, ValueError), None, -1
    )
    geometric = bounds.noisy_kernel_geometric
    yield from number("p", lambda p: geometric(EXP, losses.Squared(), p, 1.0, 0.1, 10, 1.0), 1.0)
    yield from thing("loss", lambda loss: geometric(EXP, loss, 2.0, 1.0, 0.1, 10, 1.0), losses.Hinge())
    yield from thing("kernel", lambda kernel: geometric(kernel, losses.Squared(), 2.0, 1.0, 0.1, 10, 1.0))
    yield from number("copy_moment", lambda m: geometric(EXP, losses.Squared(), 2.0, 1.0, m, 10, 1.0), -1.0)


TABLE: list[Row] = list(bound_calls())


@pytest.mark.parametrize("calls", grouped(TABLE))
def test_bad_call_raises_error_that_names_the_argument(calls):
    check(calls)


def test_table_has_enough_rows():
    assert len(TABLE) >= 350
