"""The losses that tests loop over."""

import mpmath

from jaxonline import losses

LOSSES = {
    "squared": (losses.Squared(), lambda a: a**2, lambda a: 2 * a),
    "exponential": (losses.Exponential(), lambda a: mpmath.exp(-a), lambda a: -mpmath.exp(-a)),
    "logistic": (losses.Logistic(), lambda a: mpmath.log1p(mpmath.exp(-a)), lambda a: -1 / (1 + mpmath.exp(a))),
}


def _absolute(s):
    s = mpmath.mpf(s)

    def value(a):
        return a * mpmath.erf(s * a) + mpmath.exp(-((s * a) ** 2)) / (s * mpmath.sqrt(mpmath.pi))

    return losses.SmoothedAbsolute(float(s)), value, lambda a: mpmath.erf(s * a)


def _hinge(s):
    s = mpmath.mpf(s)

    def value(a):
        b = a - 1
        gauss = mpmath.exp(-((s * b) ** 2)) / (2 * s * mpmath.sqrt(mpmath.pi))
        return b * (mpmath.erf(s * b) - 1) / 2 + gauss

    return losses.SmoothedHinge(float(s)), value, lambda a: (mpmath.erf(s * (a - 1)) - 1) / 2


# 1/sqrt(2): the argument of the Hermite polynomials is then almost a zero of H_2, where a recurrence cancels.
for scale in (0.5, 0.5**0.5, 1.0, 3.0):
    LOSSES[f"absolute {scale:.3g}"] = _absolute(scale)
    LOSSES[f"hinge {scale:.3g}"] = _hinge(scale)

PLAIN = {
    "hinge": (losses.Hinge(), lambda a: max(1 - a, 0), lambda a: -1 if a < 1 else 0, [1.0]),
    "zero-one": (losses.ZeroOne(), lambda a: 1 if a <= 0 else 0, lambda a: 0, [0.0]),
    "absolute": (losses.Absolute(), abs, lambda a: (a > 0) - (a < 0), [0.0]),
    "huber": (
        losses.Huber(1.5), lambda a: a * a / 2 if abs(a) <= 1.5 else 1.5 * (abs(a) - 0.75),
        lambda a: min(max(a, -1.5), 1.5), [],
    ),
    "pinball": (
        losses.Pinball(0.8), lambda a: 0.2 * a if a > 0 else -0.8 * a, lambda a: 0.2 * (a > 0) - 0.8 * (a < 0), [0.0]
    ),
}  # fmt: skip
