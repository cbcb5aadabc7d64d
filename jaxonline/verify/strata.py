"""Knowledge about an estimator that first draws an integer N, and the test of this integer's distribution."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from scipy import special

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.verify.sampling import COUNT_STREAM
from jaxonline.verify.settings import Settings

_LAW_SAMPLES = 1 << 18


@dataclasses.dataclass(frozen=True)
class Strata:
    """Knowledge about an estimator theta that first draws an integer N >= 0.

    Args:
        pmf: P(N = n) for n = 0, ..., m - 1, an array [m].
        given: `given(key, n)` returns a sample of theta conditional on N = n; `n` is a traced integer below m.
        terms: P(N = n) E[theta | N = n] for each n, an array [m, *shape]; None if only their sum is known.
        second_moments: E[theta^2 | N = n], exact or upper bounds, an array [m, *shape]; None assumes a bounded kurtosis
            of each stratum.
        draw: `draw(key)` returns N as the estimator draws it, to test its distribution; None skips the test with a
            note.
        remainder: bound on |sum of the terms from n = m on|, in the target's units. None counts as 0; if the sum of
            `terms` then differs from the target (by over 1 % of the bias to detect), the terms or the target are wrong.

    Raises:
        ValueError: sizes differ, `pmf` is not part of a distribution, or both `terms` and `remainder` are None.

    Example:
        >>> import jax
        >>> from jaxonline import verify
        >>> # N is 0 or 1 with probability 1/2; theta = 2 N u with u uniform on [0, 1]: its mean is 1/2.
        >>> strata = verify.Strata(
        ...     pmf=[0.5, 0.5],
        ...     given=lambda key, n: 2.0 * n.astype(float) * jax.random.uniform(key),
        ...     terms=[0.0, 0.5],
        ...     second_moments=[0.0, 4 / 3],
        ...     draw=lambda key: jax.random.randint(key, (), 0, 2),
        ... )
        >>> verify.unbiased(None, 0.5, strata=strata).verdict
        'within tolerance'
    """

    pmf: Any
    given: Callable[[jax.Array, jax.Array], Any]
    terms: Any = None
    second_moments: Any = None
    draw: Callable[[jax.Array], Any] | None = None
    remainder: float | None = None

    def __post_init__(self) -> None:
        pmf = check.vector("pmf", self.pmf).astype(float)
        check.function("given", self.given, "(key, n)")
        if self.draw is not None:
            check.function("draw", self.draw, "a key")
        if self.remainder is not None:
            check.non_negative("remainder", self.remainder)
        if np.any(pmf < 0) or not 0 < pmf.sum() <= 1 + 1e-6:
            raise ArgumentError("pmf", f"must be at least 0 with a sum of at most 1 (got a sum of {pmf.sum():.9g})")
        object.__setattr__(self, "pmf", pmf)
        for name in ("terms", "second_moments"):
            value = getattr(self, name)
            if value is not None:
                value = check.finite_array(name, value).astype(float)
                if value.ndim == 0 or len(value) != len(pmf):
                    raise ArgumentError(
                        name, f"must have one entry for each of the {len(pmf)} strata (got {value.shape})"
                    )
                object.__setattr__(self, name, value)
        if self.terms is None and self.remainder is None:
            raise ArgumentError("remainder", "must be given without terms (got None)")
        if self.terms is not None and self.second_moments is not None:
            self._check_second_moments()

    def _check_second_moments(self):
        share = np.where(self.pmf > 0, self.pmf, np.inf).reshape((-1,) + (1,) * (self.terms.ndim - 1))
        too_small = self.second_moments < (self.terms / share) ** 2 * (1 - 1e-6)
        if np.any(too_small):
            n = int(np.argwhere(too_small)[0][0])
            raise ArgumentError(
                "second_moments",
                f"must be at least (terms / pmf)^2, the squared means (got {self.second_moments[n]} "
                f"below {(self.terms[n] / self.pmf[n]) ** 2} for N = {n})",
            )


def count_errors(strata: Strata, settings: Settings, level: float) -> list[str]:
    """Return the values of N whose frequency contradicts the stated distribution, by exact binomial tests."""
    if strata.draw is None:
        return []
    sampler = settings.sampler(strata.draw, COUNT_STREAM)
    size, m = _LAW_SAMPLES, len(strata.pmf)
    counts = np.zeros(m + 1, np.int64)
    for values, _ in sampler.blocks(size):
        if np.any(values < 0):
            return ["the estimator draws an N below 0"]
        counts += np.bincount(np.minimum(values.astype(np.int64), m), minlength=m + 1)
    stated = np.append(strata.pmf, max(1 - strata.pmf.sum(), 0.0))
    # Stated probabilities are rounded, most of all the last one, a difference from 1. Special functions instead of
    # scipy.stats, which takes a second to import.
    few = special.bdtr(counts, size, stated * (1 - 1e-6))
    many = special.bdtrc(counts - 1, size, np.minimum(stated + 1e-9, 1.0))
    errors = []
    for n in np.flatnonzero(2 * np.minimum(few, many) < level / (m + 1)):
        name = f"N = {n}" if n < m else f"N >= {m}"
        errors.append(f"P({name}) is {counts[n] / size:.4g} in {size:,} draws, but stated as {stated[n]:.4g}")
    return errors
