"""Independent NumPy versions of bandit policies: what they do in each round, from the rounds before.

A policy is a function of recorded `Rounds`, which returns its moves [R, T] or the probabilities of its arms [R, T, K].
Its constants are the defaults of its arguments. Upper bounds are those of rewards 1 - loss, as the papers print them.
"""

import copy
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from jaxonline.random import fast_beta, normal


def past(terms):
    """Return the sums over the rounds before each round."""
    return np.cumsum(np.concatenate([np.zeros_like(terms[:, :1], float), terms[:, :-1]], axis=1), axis=1)


@functools.cache
def in_all_rounds(function):
    return jax.jit(jax.vmap(jax.vmap(function)))


class Rounds:
    """Rounds of R runs: arms [R, T] (or sets or pairs [R, T, m]) and outcomes, contexts, and keys of both methods."""

    def __init__(self, moves, y, x, keys, update_keys):
        self.moves, self.y, self.x, self.keys, self.update_keys = moves, y, x, keys, update_keys
        self.n_runs, self.n_rounds, self.n_arms = y.shape[:3]
        self.pulled = np.eye(self.n_arms)[moves]
        if moves.ndim == 3:
            self.pulled = self.pulled.sum(axis=2)
        self.t = np.arange(self.n_rounds)[:, None]  # rounds before
        if y.ndim == 3:
            self.losses = (self.pulled * y).sum(axis=-1)  # of the arms pulled [R, T]
            self.n, self.gains = past(self.pulled), past(self.pulled * (1 - y))
            self.some = np.maximum(self.n, 1)
            self.means = self.gains / self.some
            self.log_t = np.log(np.maximum(self.t, 1))

    def of(self, runs):
        """Return the rounds of some of the runs."""
        rows = (row[runs] for row in (self.moves, self.y, self.x, self.keys, self.update_keys))
        some = Rounds(*rows)
        if hasattr(self, "p"):
            some.p = self.p[runs]
        return some

    def largest(self, upper, n=None):
        """Return the first arm without a pull, or else the arm with the largest upper bound."""
        return np.where((self.n if n is None else n) == 0, np.inf, upper).argmax(axis=-1)

    def draws(self, function, *arrays, update=False):
        """Return `function(key, ...)` in all rounds."""
        return np.asarray(in_all_rounds(function)(self.update_keys if update else self.keys, *arrays))

    def runs(self, function, shape=()):
        """Return the values that a generator yields round by round, for all runs."""
        rows = [list(itertools.islice(function(run), self.n_rounds)) for run in range(self.n_runs)]
        return np.array(rows).reshape(self.n_runs, self.n_rounds, *shape)


# ---------------------------------------------------------------------------------------------------------------------
# Indices


def ucb1(h, exploration=1.6):
    return h.largest(h.means + np.sqrt(exploration * h.log_t / h.some))


def ucb1_tuned(h, factor=1.0, inner=2.0, largest=0.25, deviation=1.0):
    variance = past(h.pulled * (1 - h.y) ** 2) / h.some - h.means**2
    V = deviation * np.maximum(variance, 0) + np.sqrt(inner * h.log_t / h.some)
    return h.largest(h.means + np.sqrt(factor * h.log_t / h.some * np.minimum(largest, V)))


def ucb2(h, alpha=0.2, twice=2.0, constant=math.e):
    def tau(r):
        return math.ceil((1 + alpha) ** r * (1 - 1e-12))

    def play(run):
        epochs, left, arm = [0] * h.n_arms, 0, 0
        for t in range(h.n_rounds):
            if t < h.n_arms:
                arm = t
            elif left == 0:
                n = np.maximum(h.n[run, t], 1)
                arm = (h.means[run, t] + np.sqrt((1 + alpha) * np.log(constant * t / n) / (twice * n))).argmax()
                while left == 0:
                    left = tau(epochs[arm] + 1) - tau(epochs[arm])
                    epochs[arm] += 1
            left = max(left - 1, 0)
            yield arm

    return h.runs(play)


def asymptotic_ucb(h, std=0.3, factor=2.0, power=2.0):
    f = 1 + (h.t + 1) * np.log(h.t + 1) ** power
    return h.largest(h.means + std * np.sqrt(factor * np.log(f) / h.some))


def fixed_confidence_ucb(h, delta=1e-3, std=0.2, factor=2.0):
    return h.largest(h.means + std * np.sqrt(factor * np.log(1 / delta) / h.some))


def moss(h, n_rounds=160.0, exploration=0.4, least=0.0):
    return h.largest(
        h.means + np.sqrt(exploration * np.maximum(np.log(n_rounds / (h.n_arms * h.some)), least) / h.some)
    )


def kl(p, q):
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


def kl_lower(mean, budget):
    """Return the smallest q with kl(mean, q) <= budget, by bisection of its logarithm."""
    low, high = np.full(np.shape(mean), -700.0), np.log(np.maximum(mean, 1e-300))
    for _ in range(56):
        u = (low + high) / 2
        inside = kl(mean, np.exp(u)) <= budget
        low, high = np.where(inside, low, u), np.where(inside, u, high)
    return np.where(mean > 0, np.where(budget > 0, np.exp(high), mean), 0.0)


def kl_ucb(h, c=1.0, factor=1.0):
    budget = factor * h.log_t + c * np.log(np.maximum(h.log_t, 1))
    return h.largest(-kl_lower((h.n - h.gains) / h.some, budget / h.some))


def _forgetting(h, weight, exploration, factor):
    """UCB on the rewards of `age` rounds ago with the weights `weight(age)`."""
    age = h.t - 1 - h.t.T
    weights = np.where(age >= 0, weight(np.maximum(age, 0)), 0.0)
    n, gains = weights @ h.pulled, weights @ (h.pulled * (1 - h.y))
    some = np.where(n > 0, n, 1.0)
    growth = np.log(np.maximum(n.sum(axis=-1, keepdims=True), 1))
    return h.largest(gains / some + factor * np.sqrt(exploration * growth / some), n)


def discounted_ucb(h, discount=0.95, exploration=0.1, factor=2.0):
    return _forgetting(h, lambda age: discount**age, exploration, factor)


def sliding_window_ucb(h, window=32, exploration=0.1, factor=1.0):
    return _forgetting(h, lambda age: age < window, exploration, factor)


def _thompson_forgetting(h, weight, prior_ones, prior_zeros):
    """Thompson sampling on the random losses of `age` rounds ago with the weights `weight(age)`."""
    age = h.t - 1 - h.t.T
    weights = np.where(age >= 0, weight(np.maximum(age, 0)), 0.0)
    tosses = h.pulled * (h.draws(jax.random.uniform, update=True) < h.losses)[..., None]
    ones, zeros = weights @ tosses, weights @ (h.pulled - tosses)
    return h.draws(fast_beta, prior_ones + ones, prior_zeros + zeros).argmin(axis=-1)


def discounted_thompson(h, discount=0.95, prior_ones=1.5, prior_zeros=2.0):
    return _thompson_forgetting(h, lambda age: discount**age, prior_ones, prior_zeros)


def sliding_window_thompson(h, window=32, prior_ones=1.5, prior_zeros=2.0):
    return _thompson_forgetting(h, lambda age: age < window, prior_ones, prior_zeros)


def _detecting(h, detect, choose, local):
    """Moves and alarms of a policy that forgets the losses of an arm, or of all arms, when a change is detected."""
    own, alarms = [], []
    for run in range(h.n_runs):
        past_losses, starts = [[] for _ in range(h.n_arms)], [0] * h.n_arms
        for t in range(h.n_rounds):
            own.append(choose(run, t, past_losses, starts))
            arm = h.moves[run, t]
            past_losses[arm].append(h.losses[run, t])
            alarms.append(detect(np.array(past_losses[arm])))
            if alarms[-1]:
                for k in [arm] if local else range(h.n_arms):
                    past_losses[k], starts[k] = [], t + 1
    return np.stack([own, alarms], axis=-1).reshape(h.n_runs, h.n_rounds, 2)


def _ucb_of(losses, exploration):
    n = np.array([len(of_arm) for of_arm in losses])
    if (n == 0).any():
        return int(np.argmin(n > 0))
    means = np.array([1 - np.mean(of_arm) for of_arm in losses])
    return int((means + np.sqrt(exploration * np.log(n.sum()) / n)).argmax())


def cusum_ucb(h, threshold=1.0, explore=0.2, warmup=8.0, epsilon=0.05, exploration=0.4):
    halves = h.draws(lambda key: jax.random.key_data(jax.random.split(key)))
    keys = jax.random.wrap_key_data(halves)
    chance = np.asarray(in_all_rounds(jax.random.uniform)(keys[..., 0]))
    arms = np.asarray(in_all_rounds(lambda key: jax.random.randint(key, (), 0, h.n_arms, dtype="int32"))(keys[..., 1]))

    def detect(losses):
        u, above, below = losses[: int(warmup)].mean(), 0.0, 0.0
        for loss in losses[int(warmup) :]:
            above, below = max(0, above + loss - u - epsilon), max(0, below + u - loss - epsilon)
        return max(above, below) >= threshold

    def choose(run, t, losses, starts):
        return arms[run, t] if chance[run, t] < explore else _ucb_of(losses, exploration)

    return _detecting(h, detect, choose, local=True)


def monitored_ucb(h, window=12, threshold=1.8, explore=0.2, exploration=0.4):
    window = 2 * (int(window) // 2)

    def detect(losses):
        last = losses[-window:]
        return len(last) == window and abs(last[: window // 2].sum() - last[window // 2 :].sum()) > threshold

    def choose(run, t, losses, starts):
        turn = (t - starts[0]) % math.floor(h.n_arms / explore)
        return turn if turn < h.n_arms else _ucb_of(losses, exploration)

    return _detecting(h, detect, choose, local=False)


def glr_kl_ucb(h, delta=0.8, explore=0.2, capacity=3, stride=2, factor=3.0, power=1.5):
    return _glr_kl_ucb(h, delta, explore, capacity, stride, factor, power, local=False)


def local_glr_kl_ucb(h, delta=0.8, explore=0.2, capacity=3, stride=2, factor=3.0, power=1.5):
    return _glr_kl_ucb(h, delta, explore, capacity, stride, factor, power, local=True)


def _glr_kl_ucb(h, delta, explore, capacity, stride, factor, power, local):
    def evidence(losses, s):
        return s * kl(losses[:s].mean(), losses.mean()) + (len(losses) - s) * kl(losses[s:].mean(), losses.mean())

    def detect(losses):
        n = len(losses)
        splits = [s for s in range(1, n) if s % math.ceil(stride) == 0][-math.ceil(capacity) :]
        largest = max((evidence(losses, s) for s in splits), default=-np.inf)
        return largest >= np.log(factor * n**power / delta)

    def choose(run, t, losses, starts):
        turn = t % math.floor(h.n_arms / explore)
        if turn < h.n_arms:
            return turn
        n = np.array([len(of_arm) for of_arm in losses])
        if (n == 0).any():
            return int(np.argmin(n > 0))
        means = np.array([np.mean(of_arm) for of_arm in losses])
        return int(kl_lower(means, np.log(np.maximum(t - np.array(starts), 1)) / n).argmin())

    return _detecting(h, detect, choose, local)


def explore_then_commit(h, m=6):
    end = round(m) * h.n_arms
    explored = (h.pulled * (1 - h.y))[:, :end].sum(axis=1) / np.maximum(h.pulled[:, :end].sum(axis=1), 1)
    explored = np.where(h.pulled[:, :end].sum(axis=1) == 0, 1.0, explored)  # an arm without a pull has the loss 0
    return np.where(h.t[:, 0] < end, h.t[:, 0] % h.n_arms, explored.argmax(axis=-1)[:, None])


def cucb(h, exploration=0.9):
    values = -h.means - np.sqrt(exploration * np.log(h.t + 1) / h.some)
    values = np.where((h.n == 0).any(axis=-1, keepdims=True), -1.0 * (h.n == 0), values)
    return np.sort(np.argsort(values, axis=-1, kind="stable")[..., : h.moves.shape[2]], axis=-1)


# ---------------------------------------------------------------------------------------------------------------------
# Posteriors, and linear losses


def gaussian_thompson(h, noise_std=0.4, prior_mean=0.3, prior_std=0.5):
    variance = 1 / (1 / prior_std**2 + h.n / noise_std**2)
    mean = variance * (prior_mean / prior_std**2 + (h.n - h.gains) / noise_std**2)
    return (mean + np.sqrt(variance) * h.draws(lambda key: jax.random.normal(key, (h.n_arms,)))).argmin(axis=-1)


def bernoulli_thompson(h, prior_ones=1.5, prior_zeros=2.0):
    ones = past(h.pulled * (h.draws(jax.random.uniform, update=True) < h.losses)[..., None])
    return h.draws(fast_beta, prior_ones + ones, prior_zeros + h.n - ones).argmin(axis=-1)


def _ridge(h, regularizer, weights=None):
    x = (h.pulled[..., None] * h.x).sum(axis=2)
    weighted = x if weights is None else weights[..., None] * x
    P = np.linalg.inv(regularizer * np.eye(x.shape[-1]) + past(weighted[..., None] * x[..., None, :]))
    return P, (P @ past(h.losses[..., None] * weighted)[..., None])[..., 0]


def lin_ucb(h, width=0.3, regularizer=3.0):
    P, w = _ridge(h, regularizer)
    deviations = np.sqrt(np.einsum("rtki,rtij,rtkj->rtk", h.x, P, h.x))
    return (np.einsum("rtki,rti->rtk", h.x, w) - width * deviations).argmin(axis=-1)


def roots(P):
    """Return L with P = L L' in all rounds: a round that changes L' P^-1 L to M multiplies L by M^(-1/2)."""
    L = [np.linalg.cholesky(P[:, 0])]  # a multiple of I
    for t in range(1, P.shape[1]):
        values, vectors = np.linalg.eigh(L[-1].swapaxes(-1, -2) @ np.linalg.inv(P[:, t]) @ L[-1])
        L.append(L[-1] @ vectors / np.sqrt(values)[..., None, :] @ vectors.swapaxes(-1, -2))
    return np.stack(L, axis=1)


def lin_thompson(h, width=0.3, regularizer=3.0):
    P, w = _ridge(h, regularizer)
    normals = h.draws(lambda key: jax.random.normal(key, (h.x.shape[-1],)))
    w = w + width * (roots(P) @ normals[..., None])[..., 0]
    return np.einsum("rtki,rti->rtk", h.x, w).argmin(axis=-1)


def _ridge_of_arms(h, regularizer, weights=1):
    """Return the matrix P_k and the weights of each arm, from the rounds in which it was pulled."""
    x = h.pulled[..., None] * h.x
    outer = weights * x[..., None] * x[..., None, :]
    P = np.linalg.inv(regularizer * np.eye(x.shape[-1]) + past(outer))
    return P, (P @ past(h.losses[..., None, None, None] * weights * x[..., None]))[..., 0]


def _joint(h):
    """Return the rounds with the features (x_k, e_k (x) x_k) of a hybrid model."""
    other, d = copy.copy(h), h.x.shape[-1]
    own = np.eye(h.n_arms)[..., None] * h.x[..., None, :]
    other.x = np.concatenate([h.x, own.reshape(*h.x.shape[:3], h.n_arms * d)], axis=-1)
    return other


def _scores(h, P, w):
    means, variances = np.einsum("rtki,rtki->rtk", h.x, w), np.einsum("rtki,rtkij,rtkj->rtk", h.x, P, h.x)
    return means, np.sqrt(variances)


def lin_ucb_disjoint(h, width=0.3, regularizer=3.0):
    means, deviations = _scores(h, *_ridge_of_arms(h, regularizer))
    return (means - width * deviations).argmin(axis=-1)


def lin_ucb_hybrid(h, width=0.3, regularizer=3.0):
    return lin_ucb(_joint(h), width, regularizer)


def lin_thompson_disjoint(h, width=0.3, regularizer=3.0):
    means, deviations = _scores(h, *_ridge_of_arms(h, regularizer))
    return (means + width * deviations * h.draws(lambda key: jax.random.normal(key, (h.n_arms,)))).argmin(axis=-1)


def lin_thompson_hybrid(h, width=0.3, regularizer=3.0):
    """From the joint covariance: first the common weights, then each arm's loss given them (Gaussian conditioning)."""
    d, K = h.x.shape[-1], h.n_arms
    joint = _joint(h)
    S, m = _ridge(joint, regularizer)
    z = h.draws(lambda key: jax.random.normal(key, (K + d,)))
    change = width * (roots(S[..., :d, :d]) @ z[..., K:, None])
    cross = np.einsum("rtki,rtij->rtkj", joint.x, S)[..., :d]  # of the losses with the common weights
    gain = np.einsum("rtki,rtij->rtkj", cross, np.linalg.inv(S[..., :d, :d]))
    means = np.einsum("rtki,rti->rtk", joint.x, m) + (gain @ change)[..., 0]
    variances = np.einsum("rtki,rtij,rtkj->rtk", joint.x, S, joint.x) - (gain * cross).sum(axis=-1)
    return (means + width * np.sqrt(variances) * z[..., :K]).argmin(axis=-1)


def _mode(score, variance, y, slope):
    """Return the probability at the mode, by bisection of its score, between those of the residuals y - 1 and y."""
    low, high = score + variance * (y - 1), score + variance * y
    for _ in range(60):
        z = (low + high) / 2
        p = 1 / (1 + math.exp(-slope * z))
        low, high = (z, high) if z < score + variance * (y - p) else (low, z)
    return p


def _logistic(h, regularizer, slope=1.0, curvature=1.0, disjoint=False):
    """Return the covariance and the mean of the belief about each arm, in all rounds."""
    K, d = h.x.shape[2:]

    def play(run):
        precisions, w = np.tile(regularizer * np.eye(d), (K, 1, 1)), np.zeros((K, d))
        for t in range(h.n_rounds):
            yield np.concatenate([np.linalg.inv(precisions), w[..., None]], axis=-1)
            arm = h.moves[run, t]
            x, arms = h.x[run, t, arm], [arm] if disjoint else range(K)
            P = np.linalg.inv(precisions[arm])
            p = _mode(x @ w[arm], x @ P @ x, h.losses[run, t], slope)
            for k in arms:
                precisions[k] = precisions[k] + curvature * p * (1 - p) * np.outer(x, x)
                w[k] = w[k] + P @ x * (h.losses[run, t] - p)

    both = h.runs(play, (K, d, d + 1))
    return both[..., :-1], both[..., -1]


def logistic_ucb(h, width=0.3, regularizer=3.0, slope=1.0, curvature=1.0, disjoint=False):
    means, deviations = _scores(h, *_logistic(h, regularizer, slope, curvature, disjoint))
    return (means - width * deviations).argmin(axis=-1)


def logistic_thompson(h, width=0.3, regularizer=3.0, slope=1.0, curvature=1.0):
    P, w = _logistic(h, regularizer, slope, curvature)
    z = h.draws(lambda key: jax.random.normal(key, (h.x.shape[-1],)))
    w = w + width * (roots(P[:, :, 0]) @ z[..., None]).swapaxes(-1, -2)
    return np.einsum("rtki,rtki->rtk", h.x, w).argmin(axis=-1)


def logistic_ucb_disjoint(h, width=0.3, regularizer=3.0, slope=1.0, curvature=1.0):
    return logistic_ucb(h, width, regularizer, slope, curvature, disjoint=True)


def logistic_thompson_disjoint(h, width=0.3, regularizer=3.0, slope=1.0, curvature=1.0):
    means, deviations = _scores(h, *_logistic(h, regularizer, slope, curvature, disjoint=True))
    return (means + width * deviations * h.draws(lambda key: jax.random.normal(key, (h.n_arms,)))).argmin(axis=-1)


# ---------------------------------------------------------------------------------------------------------------------
# Reductions of contextual bandits to online ridge regression


def _predictions(h, regularizer, weights=None):
    weights = 1 if weights is None else weights[..., None, None, None]
    return np.einsum("rtki,rtki->rtk", h.x, _ridge_of_arms(h, regularizer, weights)[1])


def _shared_predictions(h, regularizer, weights=None):
    return np.einsum("rtki,rti->rtk", h.x, _ridge(h, regularizer, weights)[1])


def _greedy(values):
    return np.eye(values.shape[-1])[values.argmin(axis=-1)]


def square_cb(h, gamma=8.0, power=0.4, regularizer=3.0, mu=1.0, f=None):
    f = _predictions(h, regularizer) if f is None else f
    gaps = f - f.min(axis=-1, keepdims=True)
    others = (1 - _greedy(f)) / (mu * h.n_arms + gamma * (h.t + 1.0) ** power * gaps)
    return others + _greedy(f) * (1 - others.sum(axis=-1, keepdims=True))


def square_cb_shared(h, gamma=8.0, power=0.4, regularizer=3.0):
    return square_cb(h, gamma, power, f=_shared_predictions(h, regularizer))


def epsilon_greedy_cb(h, epsilon=0.6, power=0.3, regularizer=3.0, f=None):
    e = epsilon / (h.t + 1.0) ** power
    return e / h.n_arms + (1 - e) * _greedy(_predictions(h, regularizer) if f is None else f)


def epsilon_greedy_cb_of_gradients(h, epsilon=0.6, power=0.3, eta=0.2, decay=0.5, slope=2.0):
    """With gradient descent on the squared loss for each arm, whose rounds are those in which it was pulled."""

    def play(run):
        w = np.zeros((h.n_arms, h.x.shape[-1]))
        for t in range(h.n_rounds):
            yield (h.x[run, t] * w).sum(axis=-1)
            k = h.moves[run, t]
            error = h.x[run, t, k] @ w[k] - h.losses[run, t]
            w[k] -= eta / (h.n[run, t, k] + 1) ** decay * slope * error * h.x[run, t, k]

    return epsilon_greedy_cb(h, epsilon, power, f=h.runs(play, (h.n_arms,)))


def explore_first_cb(h, n_explore=30, regularizer=3.0, f=None):
    return np.where(h.t < n_explore, 1 / h.n_arms, _greedy(_predictions(h, regularizer) if f is None else f))


def bagging_cb(h, regularizer=3.0, mean=1.0, f=_predictions):
    levels = h.draws(lambda key: jax.random.uniform(key, (5, 1)), update=True)
    counts = (levels >= stats.poisson.cdf(np.arange(20), mean)).sum(axis=-1)
    votes = [_greedy(f(h, regularizer, counts[..., i])) for i in range(5)]
    return np.mean(votes, axis=0)


def epsilon_greedy_cb_shared(h, epsilon=0.6, power=0.3, regularizer=3.0):
    return epsilon_greedy_cb(h, epsilon, power, f=_shared_predictions(h, regularizer))


def explore_first_cb_shared(h, n_explore=30, regularizer=3.0):
    return explore_first_cb(h, n_explore, f=_shared_predictions(h, regularizer))


def bagging_cb_shared(h, regularizer=3.0, mean=1.0):
    return bagging_cb(h, regularizer, mean, _shared_predictions)


def of_minus_rewards(loop):
    """Return the loop for a learner whose losses are minus the rewards."""

    def loop_of_rewards(h):
        other = copy.copy(h)
        other.losses = h.losses - 1
        return loop(other)

    return loop_of_rewards


# ---------------------------------------------------------------------------------------------------------------------
# Policies of rewards whose constant matters, with the draws of the policies of losses


def gaussian_thompson_of_rewards(h, noise_std=0.4, prior_mean=0.3, prior_std=0.5):
    variance = 1 / (1 / np.square(prior_std) + h.n / noise_std**2)
    mean = variance * (prior_mean / np.square(prior_std) + h.gains / noise_std**2)
    return (mean - np.sqrt(variance) * h.draws(lambda key: jax.random.normal(key, (h.n_arms,)))).argmax(axis=-1)


def flat_thompson_of_rewards(h, noise_std=0.4):
    draws = h.draws(lambda key: jax.random.normal(key, (h.n_arms,)))
    return h.largest(h.means - noise_std / np.sqrt(h.some) * draws)


def bernoulli_thompson_of_rewards(h, prior_ones=1.5, prior_zeros=2.0):
    ones = past(h.pulled * (h.draws(jax.random.uniform, update=True) >= h.losses)[..., None])
    return (1 - h.draws(fast_beta, prior_zeros + h.n - ones, prior_ones + ones)).argmax(axis=-1)


def _ridge_of_rewards(h, regularizer):
    x = (h.pulled[..., None] * h.x).sum(axis=2)
    P = np.linalg.inv(regularizer * np.eye(x.shape[-1]) + past(x[..., None] * x[..., None, :]))
    return P, (P @ past((1 - h.losses)[..., None] * x)[..., None])[..., 0]


def lin_ucb_of_rewards(h, width=0.3, regularizer=3.0):
    P, w = _ridge_of_rewards(h, regularizer)
    deviations = np.sqrt(np.einsum("rtki,rtij,rtkj->rtk", h.x, P, h.x))
    return (np.einsum("rtki,rti->rtk", h.x, w) + width * deviations).argmax(axis=-1)


def lin_thompson_of_rewards(h, width=0.3, regularizer=3.0):
    P, w = _ridge_of_rewards(h, regularizer)
    normals = h.draws(lambda key: jax.random.normal(key, (h.x.shape[-1],)))
    w = w - width * (roots(P) @ normals[..., None])[..., 0]
    return np.einsum("rtki,rti->rtk", h.x, w).argmax(axis=-1)


def epsilon_greedy_of_rewards(h, epsilon=2.0, power=0.5):
    e = np.minimum(1.0, epsilon / (h.t + 1) ** power)
    return e / h.n_arms + (1 - e) * np.eye(h.n_arms)[h.means.argmax(axis=-1)]  # an arm without a pull has the reward 0


# ---------------------------------------------------------------------------------------------------------------------
# Probabilities of arms


def epsilon_greedy(h, epsilon=2.0, power=0.5, most=1.0):
    e = np.minimum(most, epsilon / (h.t + 1) ** power)
    best = np.where(h.n == 0, 1.0, h.means).argmax(axis=-1)  # an arm without a pull has the loss 0
    return e / h.n_arms + (1 - e) * np.eye(h.n_arms)[best]


def _adversarial(h, distribution, estimates, n_sums=None):
    """Probabilities `distribution(L, t)` from sums L of `estimates(p, drawn, loss, t)`."""
    L, out = np.zeros((h.n_runs, n_sums or h.n_arms)), []
    for t in range(h.n_rounds):
        out.append(distribution(L, t))
        L = L + estimates(out[-1], h.pulled[:, t], h.losses[:, t, None], t)
    return np.stack(out, axis=1)


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def mixture(h, scores, exploration):
    return (1 - exploration) * softmax(scores) + exploration / h.n_arms


def exp3(h, eta=0.2, exploration=0.1):
    return _adversarial(h, lambda L, t: mixture(h, -eta * L, exploration), lambda p, drawn, loss, t: drawn * loss / p)


def exp3_ix(h, eta=0.2, gamma=0.1):
    return _adversarial(h, lambda L, t: softmax(-eta * L), lambda p, drawn, loss, t: drawn * loss / (p + gamma))


def exp3_p(h, eta=0.2, beta=0.05, exploration=0.1):
    def estimates(p, drawn, loss, t):
        return (drawn * (1 - loss) + beta) / p

    return _adversarial(h, lambda G, t: mixture(h, eta * G, exploration), estimates)


def exp4(h, eta=0.5, exploration=0.1):
    def distribution(L, t):
        mixture = np.einsum("rn,rnk->rk", softmax(-eta * L), h.x[:, t])
        return (1 - exploration) * mixture + exploration / h.n_arms

    def estimates(p, drawn, loss, t):
        return np.einsum("rnk,rk->rn", h.x[:, t], drawn * loss / p)

    return _adversarial(h, distribution, estimates, h.x.shape[2])


def tsallis_weights(sums, eta):
    """Return the weights 4 / (eta (L - z))^2, with z from bisection."""
    L = sums - sums.min(axis=-1, keepdims=True)
    low, high = 1.9 / eta, 2.1 * math.sqrt(L.shape[-1]) / eta
    for _ in range(60):
        y = (low + high) / 2
        above = (4 / (eta * (L + y)) ** 2).sum(axis=-1, keepdims=True) > 1
        low, high = np.where(above, y, low), np.where(above, high, y)
    return 4 / (eta * (L + low)) ** 2


def tsallis_reduced_variance(h, rate=4.0, base=0.5, cut=1.0, power=0.5):
    def estimates(w, drawn, loss, t):
        b = np.where(w >= cut * (rate / (t + 1) ** power) ** 2, base, 0.0)
        return b + drawn * (loss - b) / w

    return _adversarial(h, lambda L, t: tsallis_weights(L, rate / (t + 1) ** power), estimates)


def tsallis_importance_weighted(h, rate=2.0, power=0.5):
    return tsallis_reduced_variance(h, rate, 0.0, 1.0, power)


# ---------------------------------------------------------------------------------------------------------------------
# Duels, and the best arm


def rucb(h, alpha=0.6, half=0.5, share=0.5):
    K, arms = h.n_arms, np.arange(h.n_arms)
    first_wins = np.take_along_axis(h.y.reshape(*h.y.shape[:2], -1), (h.moves @ [K, 1])[..., None], 2)[..., 0]
    duel = np.eye(K)[h.moves[..., 0]][..., :, None] * np.eye(K)[h.moves[..., 1]][..., None, :]
    wins = past(duel * first_wins[..., None, None] + duel.swapaxes(2, 3) * (1 - first_wins)[..., None, None])
    n = wins + wins.swapaxes(2, 3)
    upper = wins / np.maximum(n, 1) + np.sqrt(alpha * np.log(h.t + 1)[..., None] / np.maximum(n, 1))
    upper = np.where(np.eye(K) == 1, 0.5, np.where(n == 0, 2.0, upper))
    levels = h.draws(lambda key: jax.vmap(jax.random.uniform)(jax.random.split(key)))

    def draw(weights, level):
        return int((np.cumsum(weights) <= level * np.sum(weights)).sum())

    def play(run):
        best = set()
        for u, (level, other_level) in zip(upper[run], levels[run], strict=True):
            candidates = {k for k in arms if (u[k] >= half).all()}
            best &= candidates
            best = candidates if len(candidates) == 1 else best
            rest = (1 - share if best else 1.0) / max(len(candidates - best), 1)
            weights = [share if k in best else rest if k in candidates or not candidates else 0.0 for k in arms]
            first = draw(weights, level)
            rivals = u[:, first] == u[:, first].max()
            rivals &= (rivals.sum() == 1) | (arms != first)
            yield first, draw(rivals, other_level)

    return h.runs(play, (2,))


def successive_elimination(h, delta=0.1, twice=2.0, constant=math.pi**2 / 3, power=2.0, inner=2.0):
    """Return arms, and the recommended arm plus 1 after each round; 0 before the learner stops."""

    def play(run):
        active, sums, rows, n = list(range(h.n_arms)), np.zeros(h.n_arms), iter(h.y[run]), 0
        while True:
            n += 1
            for k in active:
                sums[k] += next(rows, np.zeros(h.n_arms))[k]
                last = active if k == active[-1] else []
                radius = math.sqrt(math.log(constant * h.n_arms * n**power / delta) / (inner * n))
                left = [j for j in last if sums[j] / n - min(sums[last]) / n < twice * radius]
                yield k, left[0] + 1 if len(left) == 1 else (active[0] + 1) * (len(active) == 1)
            active = left

    return h.runs(play, (2,))


def sequential_halving(h, budget=200):
    """Return arms, and the recommended arm plus 1 after each round; 0 before the learner stops."""

    def play(run):
        left, rows, phases = list(range(h.n_arms)), iter(h.y[run]), max(1, math.ceil(math.log2(h.n_arms)))
        while len(left) > 1:
            sums, turns = dict.fromkeys(left, 0.0), int(budget) // (len(left) * phases)
            for turn, k in itertools.product(range(turns), left):
                sums[k] += next(rows)[k]
                is_last = turn == turns - 1 and k == left[-1]
                kept = sorted(sorted(left, key=lambda j: sums[j])[: math.ceil(len(left) / 2)])
                yield k, kept[0] + 1 if is_last and len(kept) == 1 else 0
            left = kept
        yield from itertools.repeat((left[0], left[0] + 1))

    return h.runs(play, (2,))


def successive_rejects(h, budget=200, half=0.5):
    """Return arms, and the recommended arm plus 1 after each round; 0 before the learner stops."""

    def play(run):
        K, left, rows, sums = h.n_arms, list(range(h.n_arms)), iter(h.y[run]), np.zeros(h.n_arms)
        rate = half + sum(1 / i for i in range(2, K + 1))
        ends = [math.ceil((int(budget) - K) / (rate * (K + 1 - k)) - 1e-9) for k in range(1, K)]
        for n in itertools.count(1):
            for arm in left:
                sums[arm] += next(rows, np.zeros(K))[arm]
                if arm == left[-1]:  # of equal arms the last one is dropped
                    left = sorted(sorted(left, key=lambda j: sums[j] / n)[: K - sum(end <= n for end in ends)])
                yield arm, (left[0] + 1) * (len(left) == 1)

    return h.runs(play, (2,))


def uniform_allocation(h, budget=150):
    arms = np.broadcast_to(np.arange(h.n_rounds) % h.n_arms, h.moves.shape)
    n, means = after(h)
    best = np.where(n > 0, means, np.inf).argmin(axis=-1)
    return np.stack([arms, (best + 1) * (np.arange(h.n_rounds) + 1 >= budget)], axis=-1)


def apt(h, budget=150, threshold=0.47, tolerance=0.053):
    """Return arms, and a number for the sides of all arms after each round; 0 before the learner stops."""
    gains = np.sqrt(h.some) * (np.abs((1 - h.means) * (h.n > 0) - threshold) + tolerance)
    above = (after(h)[1] >= threshold) @ 2 ** np.arange(h.n_arms)
    return np.stack([h.largest(-gains), (above + 1) * (np.arange(h.n_rounds) + 1 >= budget)], axis=-1)


def after(h):
    """Return pulls and mean losses after each round."""
    n = np.cumsum(h.pulled, axis=1)
    return n, np.cumsum(h.pulled * h.y, axis=1) / np.maximum(n, 1)


def lucb(h, delta=0.1, constant=1.25, power=4.0, inner=2.0):
    def play(run):
        n, sums, rows, pair = np.zeros(h.n_arms), np.zeros(h.n_arms), iter(h.y[run]), list(range(h.n_arms))
        while True:
            for position, arm in enumerate(pair):
                n[arm] += 1
                sums[arm] += next(rows, np.zeros(h.n_arms))[arm]
                means = np.where(n > 0, sums / np.maximum(n, 1), np.inf)
                radius = np.sqrt(np.log(constant * h.n_arms * n.sum() ** power / delta) / (inner * np.maximum(n, 1)))
                first = means.argmin()
                lower = np.where(np.arange(h.n_arms) == first, np.inf, means - radius)
                ends = position == len(pair) - 1 and means[first] + radius[first] < lower.min()
                yield arm, (first + 1) * ends
            pair = [first, lower.argmin()]

    return h.runs(play, (2,))


def lil_ucb(h, delta=0.003, std=0.3, epsilon=0.02, beta=0.9, ratio=None):
    width = (1 + beta) * (1 + math.sqrt(epsilon))
    log = np.log(np.log((1 + epsilon) * h.some) / delta)
    arms = h.largest(h.means + width * np.sqrt(2 * std**2 * (1 + epsilon) * log / h.some))
    n = after(h)[0]
    ratio = ((2 + beta) / beta) ** 2 if ratio is None else ratio
    stopped = (n >= 1 + ratio * (n.sum(-1, keepdims=True) - n)).any(-1) & (n > 0).all(-1)
    return np.stack([arms, (n.argmax(-1) + 1) * stopped], axis=-1)


def divergence(p, q, std):
    with np.errstate(all="ignore"):
        bernoulli = special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)
    return bernoulli if std is None else 0.5 * ((p - q) / std) ** 2


def ratio_statistic(n, means, arm, std):
    """Return the generalised likelihood ratio of each arm against the arm `arm`; infinity for the arm itself."""
    at = lambda v: np.take_along_axis(v, arm[..., None], -1)  # noqa: E731
    q = (at(n) * at(means) + n * means) / (at(n) + n)
    Z = at(n) * divergence(at(means), q, std) + n * divergence(means, q, std)
    return np.where(np.arange(n.shape[-1]) == arm[..., None], np.inf, np.where(means > at(means), Z, 0))


def ratio_stop(h, delta, std, four, one, heuristic=False):
    """Return the recommended arm plus 1 after each round in which the rule of likelihood ratios holds, otherwise 0."""
    n, means = after(h)
    best = np.where(n > 0, means, np.inf).argmin(-1)
    some = np.maximum(n, 1)
    price = np.log(four * some if std is None else one + some) / 2
    limit = np.log((h.n_arms - 1) / delta) + price + np.take_along_axis(price, best[..., None], -1)
    counts = some if std is None else some**2 / (one + some)
    if heuristic:
        counts, limit = some, np.log((1 + np.log(h.t + 1)) / delta)[None]
    stopped = (ratio_statistic(counts, means, best, std) >= limit).all(-1) & (n > 0).all(-1)
    return (best + 1) * stopped


def proportions(means, std):
    """Return the proportions of Track-and-Stop, by the secant and Newton steps of its description."""
    step = 1e-3 * (std or 1)
    m = np.clip(means, step, 1 - 2 * step) if std is None else means
    best = np.arange(m.shape[-1]) == np.argmin(means, -1)[..., None]
    low = np.where(best, m, 0).sum(-1, keepdims=True)
    m = np.maximum(m, low + step)
    far, near = divergence(low, m, std), divergence(m, low, std)

    def solve(v):
        y = np.where(best, np.inf, far).min(-1, keepdims=True) / (1 + v)
        u = np.minimum(y / far, 1 - 1e-6)
        for last in (False, False, True):
            x = far / near * u / (1 - u)
            q = (low + x * m) / (1 + x)
            a, b = divergence(low, q, std), divergence(m, q, std)
            if not last:
                u = np.clip(u - (a + x * b - y) * (1 - u) ** 2 / (far / near * b), 0, 1 - 1e-6)
        return x, 1 / np.sqrt(np.where(best, 0, a / b).sum(-1, keepdims=True))

    points, v = [(0.0, 0.0)], np.full((*m.shape[:-1], 1), np.sqrt(m.shape[-1] - 1))
    for _ in range(4):
        points.append((v, solve(v)[1]))
        (v0, f0), (v, f) = points[-2:]
        with np.errstate(all="ignore"):
            slope = np.where(np.abs(v - v0) > 1e-3 * v, (f - f0) / (v - v0), f / v)
        v = np.clip(v + (1 - f) / np.clip(slope, 0.1 * f / v, 10 * f / v), v / 4, 4 * v)
    x = np.where(best, 1, solve(v)[0])
    return x / x.sum(-1, keepdims=True)


def track_directly(h, delta, four, half, std=None, one=1.0, heuristic=False):
    n, means = after(h)
    targets = np.roll((h.t + 1) * proportions(np.where(n > 0, means, 0), std), 1, axis=1)
    is_few = (h.n < np.sqrt(h.t) - half * h.n_arms).any(-1, keepdims=True)
    arms = h.largest(np.where(is_few, -h.n, targets - h.n))
    return np.stack([arms, ratio_stop(h, delta, std, four, one, heuristic)], axis=-1)


def track_and_stop(h, delta=0.1, four=4.0, half=0.5):
    return track_directly(h, delta, four, half)


def track_and_stop_gaussian(h, delta=0.1, std=0.2, half=0.5, one=1.0):
    return track_directly(h, delta, 4.0, half, std, one)


def track_and_stop_cumulative(h, delta=0.1, half=0.5, square=2.0):
    n, means = after(h)
    least = half / np.sqrt(h.n_arms**square + h.t + 1)
    mixed = (1 - h.n_arms * least) * proportions(means, None) + least
    targets = np.cumsum(np.where((n > 0).all(-1, keepdims=True), mixed, 1 / h.n_arms), axis=1)
    return np.stack([h.largest(np.roll(targets, 1, axis=1) - h.n), ratio_stop(h, delta, None, 4.0, 1.0)], axis=-1)


def track_and_stop_heuristic(h, delta=0.1):
    return track_directly(h, delta, 4.0, 0.5, heuristic=True)


def top_two(h, delta, share, prior=1.0, four=4.0, std=None, one=1.0, redraws=4):
    losses, shape = h.n - h.gains, (1 + redraws, h.n_arms)

    def draw(key, means, n, ones):
        if std is not None:
            return means[None] + (std / jnp.sqrt(n))[None] * normal(jax.random.split(key)[0], shape, means.dtype)
        parameters = (jnp.tile(prior + numbers, 1 + redraws) for numbers in (ones, n - ones))
        return fast_beta(jax.random.split(key)[0], *parameters).reshape(shape)

    means = losses / h.some
    orders = np.argmin(h.draws(draw, means, h.some, losses), axis=-1)
    coins = h.draws(lambda key: jax.random.uniform(jax.random.split(key)[1])) < share
    arms = ratio_statistic(h.some, means, orders[..., 0], std).argmin(-1)
    for other in np.moveaxis(orders, -1, 0)[:0:-1]:
        arms = np.where(other == orders[..., 0], arms, other)
    arms = np.where(coins, orders[..., 0], arms)
    arms = np.where((h.n > 0).all(-1), arms, h.n.argmin(-1))
    return np.stack([arms, ratio_stop(h, delta, std, four, one)], axis=-1)


def top_two_thompson(h, delta=0.1, share=0.6, prior=1.0, four=4.0):
    return top_two(h, delta, share, prior, four)


def top_two_thompson_gaussian(h, delta=0.1, std=0.2, share=0.5, one=1.0):
    return top_two(h, delta, share, std=std, one=one, redraws=2)


# ---------------------------------------------------------------------------------------------------------------------
# Beta variables


def gamma_proposal(shape, z):
    """Return the proposal of Marsaglia and Tsang, and the logarithm of its probability of acceptance."""
    d = shape - 1 / 3
    v = (1 + z / np.sqrt(9 * d)) ** 3
    return (d * v, 0.5 * z**2 + d - d * v + d * np.log(v)) if v > 0 else (0.0, -np.inf)


def beta_proposals(lengths, angles, levels):
    """Return two normal numbers (Box and Muller) and a uniform one, from words of 32 bits."""
    length = np.sqrt(-2 * np.log((lengths // 2 + 0.5) / 2**31))
    rest = ((angles.astype(np.int64) * 4 + 2**31) % 2**32 - 2**31) / 2**32  # of a quarter, from its middle
    angle = np.pi / 2 * (angles // 2**30 + rest)
    return np.stack([length * np.cos(angle), length * np.sin(angle)], axis=-1), (levels // 2 + 0.5) / 2**31


def beta_draws(a, b, proposals):
    """Return beta variables; `proposals(turn)` returns normal and uniform numbers [K, 2], [K] (turn 0) or [2], []."""
    draws, turn, again = np.full(len(a), np.nan), 0, list(range(len(a)))
    while again:
        z, u = proposals(turn)
        for k in list(again) if turn == 0 else again[:1]:
            normal, level = (z[k], u[k]) if turn == 0 else (z, u)
            (g, first), (h, second) = (
                gamma_proposal(shape, value) for shape, value in zip((a[k], b[k]), normal, strict=True)
            )
            if np.log(level) <= first + second:
                draws[k] = g / (g + h)
                again.remove(k)
        turn += 1
    return draws


def exp3_s(h, gamma=0.2, alpha=0.02, constant=math.e):
    return _exp3_of_gains(h, gamma, constant * alpha, h.n_rounds)


def rexp3(h, gamma=0.2, every=30.0):
    return _exp3_of_gains(h, gamma, 0.0, every)


def _exp3_of_gains(h, gamma, share, every):
    """EXP3 of gains with a share for all arms, and weights that are equal again after every `every` rounds."""
    w, out = np.ones((h.n_runs, h.n_arms)), []
    for t in range(h.n_rounds):
        w = np.ones_like(w) if t % math.ceil(every) == 0 else w
        p = (1 - gamma) * w / w.sum(axis=1, keepdims=True) + gamma / h.n_arms
        out.append(p)
        gains = h.pulled[:, t] * (1 - h.losses[:, t, None]) / p
        w = w * np.exp(gamma * gains / h.n_arms) + share / h.n_arms * w.sum(axis=1, keepdims=True)
    return np.stack(out, axis=1)
