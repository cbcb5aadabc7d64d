"""How many calls the ragged loops of noisy kernels compute together, for each run of a block (`linalg.ragged`).

About what a round of a run needs in the mean, or less, so that little is padded. Other sizes give the same numbers, and
were slower for p = 2 (`python -m benchmarks noisy_kernel`).
"""

ESTIMATES = 0.6  # estimates that are used, of a run
DEEP_ESTIMATES = 1 / 24  # estimates of a level without a tensor, of a run
COUNTS = 1.06  # estimates whose copies are counted, of a run: half of the paper's mean and a little more
DEEP_FACTORS = 3.0  # copies in twos, of a deep estimate


def copies(has_pairs: bool) -> float:
    """Copies in twos, of an estimate: its pairs, where the feature map has some, and factors that tensors look at."""
    return 1.6 if has_pairs else 0.6
