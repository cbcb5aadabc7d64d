"""Exact probabilities of draws that are monotone functions of a 64-bit number, by bisection over the number."""

import jax
import numpy as np

from jaxonline.random.threefry import WordPairs


def share_below(is_low, shape: tuple[int, ...]) -> np.ndarray:
    """The share of the 2^64 numbers u for which `is_low(WordPairs)` [shape] is True; if True, then for all smaller u.

    The result is exact, up to the rounding to float64 of shares near 1.
    """
    is_low = jax.jit(is_low)
    count = np.zeros(shape, np.uint64)  # the numbers below it are known to be low
    full = np.asarray(is_low(_words(~count)))
    for bit in range(63, -1, -1):
        higher = count + np.uint64(2**bit)
        count = np.where(np.asarray(is_low(_words(higher - np.uint64(1)))), higher, count)
    return np.where(full, 1.0, count.astype(float) / 2.0**64)


def _words(numbers: np.ndarray) -> WordPairs:
    return WordPairs((numbers >> np.uint64(32)).astype(np.uint32), numbers.astype(np.uint32))
