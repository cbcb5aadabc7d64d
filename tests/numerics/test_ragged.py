"""Ragged calls equal a plain loop under every nesting of vmap, with work proportional to the calls; first minima."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

from jaxonline.numerics.elementwise import Order, RunEnds, call_with_available, first_argmin
from jaxonline.numerics.ragged import Increment, batch_max, ragged_add, ragged_map

CAPACITY, RUNS, LEARNERS = 6, 20, 3
SHARES = [0.01, 0.3, 1.0, 100.0]  # pieces of one call, of a few runs, of more calls than there can be
NUMBERS = np.array([0, 3, 6, -1, 7, 1, 9, 0, 2, 6, 5, -2, 4, 4, 0, 8, 1, 5, 3, 2], np.int32)
A = np.arange(RUNS * 2, dtype=np.int32).reshape(RUNS, 2) * 7 + 1
B = np.arange(LEARNERS, dtype=np.int32) * 1000


def call(j, a, b):
    """Of two shapes; integers, so that every order of the same operations gives the same bits."""
    return {"vector": a * (j + 1) + b, "number": (a[0] + b) ^ (j * 12345)}


def by_loop(number, a, b):
    """The definition, in plain Python and NumPy."""
    vectors, scalars = np.zeros((CAPACITY, 2), np.int32), np.zeros(CAPACITY, np.int32)
    for j in range(min(max(number, 0), CAPACITY)):
        vectors[j], scalars[j] = a * (j + 1) + b, (a[0] + b) ^ (j * 12345)
    return {"vector": vectors, "number": scalars}


def mapped(number, a, b, share=1.0):
    return ragged_map(lambda j: call(j, a, b), number, CAPACITY, share)


def check(got, number, a, b):
    """Everything with the batch dimensions of `got`, one run after the other."""
    shape = got["number"].shape[:-1]
    number, b = np.broadcast_to(number, shape), np.broadcast_to(b, shape)
    a = np.broadcast_to(a, (*shape, 2))
    for at in np.ndindex(shape):
        wanted = by_loop(int(number[at]), a[at], b[at])
        for name in wanted:
            np.testing.assert_array_equal(got[name][at], wanted[name])


@pytest.mark.parametrize("number", [-3, 0, 1, CAPACITY - 1, CAPACITY, CAPACITY + 5])
def test_one_run(number):
    check(jax.jit(mapped)(jnp.int32(number), A[3], B[1]), number, A[3], B[1])


@pytest.mark.parametrize("share", some(SHARES, 0.3))
def test_runs(share):
    """Constants batched with the number, and not at all."""
    got = jax.jit(jax.vmap(lambda n, a: mapped(n, a, jnp.asarray(B[1]), share)))(NUMBERS, A)
    check(got, NUMBERS, A, B[1])
    got = jax.jit(jax.vmap(lambda n: mapped(n, jnp.asarray(A[1]), jnp.asarray(B[1]), share)))(NUMBERS)
    check(got, NUMBERS, A[1], B[1])


@pytest.mark.parametrize("number", [0, CAPACITY + 1])
def test_no_calls_and_all_calls(number):
    """Pieces of 7, which do not divide the 120 calls of everybody."""
    got = jax.jit(jax.vmap(lambda n, a: mapped(n, a, jnp.asarray(B[0]), 0.35)))(np.full(RUNS, number, np.int32), A)
    check(got, number, A, B[0])


@pytest.mark.long
def test_a_batch_of_batches():
    """The number batched inside, outside or both; constants batched inside only, outside only, both, or not."""
    numbers = np.random.default_rng(1).integers(-1, CAPACITY + 2, (LEARNERS, RUNS)).astype(np.int32)
    ab = jax.jit(jax.vmap(lambda n, b: jax.vmap(lambda n, a: mapped(n, a, b, 0.3))(n, A)))(numbers, B)
    check(ab, numbers, A[None], B[:, None])  # a inside only, b outside only, the number both
    inside = jax.jit(jax.vmap(lambda b: jax.vmap(lambda n, a: mapped(n, a, b, 0.3))(NUMBERS, A)))(B)
    check(inside, NUMBERS[None], A[None], B[:, None])  # the number inside only
    other = jax.jit(jax.vmap(lambda n, a: jax.vmap(lambda n: mapped(n, a, jnp.asarray(B[2]), 0.3))(n)))(numbers.T, A)
    check(other, numbers.T, A[:, None], B[2])  # a outside only, b nowhere
    deep = jax.vmap(lambda n: jax.vmap(lambda b: jax.vmap(lambda n, a: mapped(n, a, b, 0.3))(n, A))(B))
    check(jax.jit(deep)(numbers[:2]), numbers[:2, None], A[None, None], B[None, :, None])


@pytest.mark.long
def test_keys_may_be_constants():
    keys = jax.random.split(jax.random.key(0), RUNS)
    drawn = jax.jit(jax.vmap(lambda n, k: ragged_map(lambda j: jax.random.bits(jax.random.fold_in(k, j)), n, 4)))
    every = jax.vmap(lambda k: jax.vmap(lambda j: jax.random.bits(jax.random.fold_in(k, j)))(jnp.arange(4)))(keys)
    np.testing.assert_array_equal(drawn(NUMBERS, keys), np.where(np.arange(4) < NUMBERS[:, None], every, 0))


def test_nested_ragged_map():
    """Ragged inside of ragged, as estimates with random numbers of copies are."""

    def row(n, a, inner):
        return ragged_map(lambda i: ragged_map(lambda j: a[0] + 10 * i + j, inner[i], 4, 0.5), n, 3, 0.5)

    rng = np.random.default_rng(2)
    n, inner = rng.integers(0, 4, RUNS).astype(np.int32), rng.integers(0, 5, (RUNS, 3)).astype(np.int32)
    got = np.asarray(jax.jit(jax.vmap(row))(n, A, inner))
    i, j = np.arange(3)[None, :, None], np.arange(4)[None, None, :]
    wanted = (A[:, 0][:, None, None] + 10 * i + j) * ((i < n[:, None, None]) & (j < inner[:, :, None]))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.01, 0.5])
def test_many_runs(share):
    """More than 512 runs are searched in another way."""
    rng = np.random.default_rng(3)
    n, a = rng.integers(0, 5, 600).astype(np.int32), rng.integers(0, 1000, 600).astype(np.int32)
    n[-1] = n[0] = 0
    got = jax.jit(jax.vmap(lambda n, a: ragged_map(lambda j: a + j, n, 5, share)))(n, a)
    j = np.arange(5)
    np.testing.assert_array_equal(got, np.where(j < n[:, None], a[:, None] + j, 0))


NESTINGS = ["one run", "runs", "learners in runs", "runs in learners", "the same number"]


def nested(function, nesting):
    """`function(number, a, b)` for all runs and learners [runs, learners], whatever the order of vmap."""
    inside = jax.vmap(lambda n, a: jax.vmap(lambda b: function(n, a, b))(B))
    return {
        "one run": lambda: jnp.stack([jnp.stack([function(n, a, b) for b in B]) for n, a in zip(NUMBERS, A, strict=1)]),
        "runs": lambda: jnp.stack([jax.vmap(lambda n, a, b=b: function(n, a, b))(NUMBERS, A) for b in B], 1),
        "learners in runs": lambda: inside(NUMBERS, A),
        "runs in learners": lambda: jax.vmap(lambda b: jax.vmap(lambda n, a: function(n, a, b))(NUMBERS, A), 0, 1)(B),
        "the same number": lambda: jax.vmap(lambda a: jax.vmap(lambda b: function(jnp.int32(4), a, b))(B))(A),
    }[nesting]


def summed(function, number, share):
    """The sum of `function(j)`, which depends on no state."""
    return ragged_add(lambda j, _: Increment(function(j)), number, jnp.int32(0), share)


@pytest.mark.parametrize("nesting", some(NESTINGS, "runs", "learners in runs"))
@pytest.mark.parametrize("share", some([0.01, 0.3, 5.0], 0.3))
def test_ragged_add_matches_a_loop(nesting, share):
    """Each call adds to its own run's state: to a row of an array, or to no row, or to all of one."""

    def added(n, a, b):
        def add(j, state):  # what is added to the second depends on a state that no call changes
            return Increment(10 * j + b, j % 3), Increment(state[2] * (j + 1) - b), Increment(jnp.int32(0))

        rows, number, _ = ragged_add(add, n, (a, a[0], a[1]), share)
        return jnp.append(rows, number)

    got = jax.jit(nested(added, nesting))()
    number = np.full_like(NUMBERS, 4) if nesting == "the same number" else NUMBERS

    def wanted(n, a, b):
        calls = np.arange(max(n, 0))
        rows = [a[row] + (10 * calls + b)[calls % 3 == row].sum() for row in range(2)]  # row 2 is beyond the last one
        return [*rows, a[0] + (a[1] * (calls + 1) - b).sum()]

    np.testing.assert_array_equal(got, [[wanted(n, a, b) for b in B] for n, a in zip(number, A, strict=True)])


class Counter:
    """Counts the calls that are computed, padding included, on the host."""

    def __init__(self):
        self.calls = 0

    def __call__(self, j, a, b):
        """Goes on `j`; `a` and `b` make it a call of its own for everyone who has other constants."""

        def count(j, *_):
            self.calls += np.size(j)
            return np.asarray(j)

        return jax.pure_callback(count, jax.ShapeDtypeStruct((), jnp.int32), j, a, b, vmap_method="broadcast_all")

    def of(self, function, *arguments):
        self.calls = 0
        jax.block_until_ready(jax.jit(function)(*arguments))
        return self.calls


ROOM = 50  # far beyond the numbers of calls, so that work in proportion to the capacity would show


@pytest.mark.long
@pytest.mark.parametrize("share", SHARES)
def test_work_is_proportional_to_the_calls(share):
    """As many calls as there are, rounded up to a full piece; runs without vmap make exactly theirs."""
    counter = Counter()
    total = int(np.clip(NUMBERS, 0, ROOM).sum())
    mapped = jax.vmap(lambda n, a: ragged_map(lambda j: counter(j, a, B[0]), n, ROOM, share))
    piece = max(1, min(round(share * RUNS), RUNS * ROOM))
    assert counter.of(mapped, NUMBERS, A) == -(-total // piece) * piece
    assert counter.of(mapped, np.full(RUNS, ROOM + 7, np.int32), A) == -(-RUNS * ROOM // piece) * piece
    one = [counter.of(lambda n: ragged_map(lambda j: counter(j, A[0], B[0]), n, ROOM, share), n) for n in (0, 3, 50)]
    assert one == [0, 3, 50]


def test_work_of_sums_and_additions():
    """Both make the calls that there are, rounded up to a full piece."""
    counter, total = Counter(), int(np.clip(NUMBERS, 0, None).sum())
    sums = jax.vmap(lambda n, a: summed(lambda j: counter(j, a, B[0]), n, 0.25))
    assert counter.of(sums, NUMBERS, A) == -(-total // 5) * 5
    added = jax.vmap(lambda n, a: ragged_add(lambda j, s: Increment(s + counter(j, a, B[0])), n, a[0], 0.1))
    assert counter.of(added, NUMBERS, A) == -(-total // 2) * 2


def test_batch_max_is_the_maximum_over_all_batches():
    numbers = NUMBERS.reshape(4, 5)
    assert int(batch_max(jnp.int32(3))) == 3
    assert jax.vmap(batch_max)(NUMBERS).tolist() == [9] * RUNS
    assert (jax.vmap(jax.vmap(batch_max))(numbers) == 9).all()
    inner = jax.vmap(lambda row: jax.vmap(lambda b: batch_max(row[0]) + b)(jnp.arange(3)))(numbers)
    assert inner.tolist() == [(numbers[:, 0].max() + np.arange(3)).tolist()] * 4


LENGTHS = [1, 14, 15, 24, 25, 100]


@pytest.mark.parametrize("length", LENGTHS)
def test_the_first_of_the_smallest_numbers(length):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, max(1, length // 4), size=(50, length)).astype(np.float32)  # many ties
    rows[1], rows[2] = np.inf, -np.inf
    rows[3:10, length // 2] = -np.inf
    places = jax.jit(jax.vmap(first_argmin))(jnp.asarray(rows))
    assert places.dtype == jnp.int32
    np.testing.assert_array_equal(places, np.argmin(rows, axis=1))


@pytest.mark.long
@pytest.mark.parametrize("length", LENGTHS)
def test_the_place_of_a_number_if_some_are_nan(length):
    for place in {0, length // 2, length - 1}:
        assert 0 <= first_argmin(jnp.ones(length).at[place].set(jnp.nan)).item() < length
    assert first_argmin(jnp.full(length, jnp.nan)).item() == 0


@pytest.mark.long
@pytest.mark.parametrize("length", [3, 14, 15, 100])
def test_the_smallest_of_the_available_numbers_in_an_order(length):
    rng = np.random.default_rng(length)
    things = rng.permutation(length).astype(np.int32)
    order = Order(jnp.argsort(things).astype(jnp.float32), jnp.asarray(things))
    find = jax.jit(lambda available, row: call_with_available(available, first_argmin, row, order))
    rows = [np.full(length, number) for number in (np.inf, -np.inf, 2**31 - 1)]
    for row in [*rows, rng.integers(0, 2, length)]:
        available = rng.random(length) < 0.5
        available[rng.integers(length)] = True
        among = [thing for thing in things if available[thing]]
        row = row.astype(np.int32 if np.isfinite(row).all() else np.float32)
        assert find(available, row) == min(among, key=row.__getitem__)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 5, 16, 17, 307, 512, 1024, 1025])
def test_run_ends_match_cumsum_and_searchsorted(size):
    number = np.random.default_rng(size).integers(0, 4, size).astype(np.int32)
    number[size // 3 : size // 2] = 0
    ends, places = RunEnds.from_counts(jnp.asarray(number)), np.arange(number.sum() + 40, dtype=np.int32)
    sums = np.cumsum(number)
    assert np.array_equal(ends.per_run(), sums)
    assert int(ends.total()) == sums[-1]
    assert np.array_equal(ends.find_runs(jnp.asarray(places)), np.searchsorted(sums, places, side="right"))
