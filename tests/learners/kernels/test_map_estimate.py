"""How many copies the estimates of a round ask for, against a loop over them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline.estimators import GaussianFeatureMap, Geometric
from jaxonline.learners import Storage
from jaxonline.learners.kernels.noisy import Requests

LISTED, MOST_FRESH, DEEPEST, MOST_PAIRS = 2, 3, 4, 3
RUNS = 64


@pytest.mark.parametrize("n", some([0, 1, MOST_FRESH - 1, MOST_FRESH, MOST_FRESH + 2], 1))
def test_requests_count_the_copies_of_all_estimates(n):
    """Estimates beyond the room are not counted, and the round is marked as too large."""
    feature_map = GaussianFeatureMap(jo.kernels.Gaussian(2.0), Geometric(2.0))
    room = Storage(tensor_levels=1, deepest=DEEPEST, most_pairs=MOST_PAIRS, most_fresh=MOST_FRESH, n_chunks=8)
    keys = jax.random.split(jax.random.key(n), RUNS)
    numbers = jnp.full(RUNS, n, jnp.int32)
    found = jax.jit(jax.vmap(lambda key, n: Requests.sample(key, n, feature_map, room, LISTED)))(keys, numbers)

    all_large = []
    for run, key in enumerate(keys):
        made = min(n, MOST_FRESH) + 1
        counts = np.array([feature_map.sample_counts(jax.random.fold_in(key, j)) for j in range(made)])
        pairs, levels = counts.T
        large = bool((levels > DEEPEST).any() or (pairs > MOST_PAIRS).any() or n > MOST_FRESH)
        shown = np.zeros((LISTED, 2), int)
        shown[: min(made, LISTED)] = counts[:LISTED]
        assert found.pairs[run].tolist() == shown[:, 0].tolist()
        assert found.levels[run].tolist() == shown[:, 1].tolist()
        assert found.copies[run].tolist() == (2 * shown[:, 0] + shown[:, 1]).tolist()
        assert (found.total[run], found.too_large[run]) == (2 * pairs.sum() + levels.sum(), large)
        all_large.append(large)
    assert any(all_large)
    assert n > MOST_FRESH or not all(all_large)
