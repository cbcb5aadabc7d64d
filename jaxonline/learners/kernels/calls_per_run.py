"""Numbers of calls, for each run of a block, that the ragged loops of `NoisyKernel` compute at once.

These numbers are at most about the mean number of calls in a round, so that there is little padding. Other numbers give
the same results, but are slower for p = 2 (`python -m benchmarks noisy_kernel`).
"""

ESTIMATES = 0.6  # used estimates of a run
DEEP_ESTIMATES = 1 / 24  # estimates of a run whose level has no tensor
COUNTS = 1.06  # estimates of a run whose copies are counted: half of the paper's mean and a little more
DEEP_FACTORS = 3.0  # pairs of copies of a deep estimate


def copies(has_pairs: bool) -> float:
    """Return how many draws of two copies a run computes at once: pairs (if `has_pairs`), and factors of tensors."""
    return 1.6 if has_pairs else 0.6
