"""Estimators of the value of a policy with a model of the mean rewards of the arms, and the models.

The models are fitted on a log, by ridge regression or with regressors of scikit-learn. `values` explains the notation.
"""

import dataclasses
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.logs.log import Log
from jaxonline.logs.values import (
    Interval,
    IntervalOptions,
    PolicyValue,
    RowWeights,
    choose_parameter,
    make_value,
    threshold_grid,
    weigh_rows,
)
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Count, OpenUnitFloat, PositiveFloat, PositiveOrInfinity

# ---------------------------------------------------------------------------------------------------------------------
# Models of the rewards.


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RewardModel:
    """Predicted mean rewards of all arms in the rows of a log; `fit_rewards` makes it.

    Attributes:
        log: the log on which the model was fitted.
        starts: the first row of each block of rows [B].
        predictors: the model of each block, or None for a block without earlier rows.
    """

    log: Log
    starts: tuple[int, ...]
    predictors: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"RewardModel of {self.log.n_arms} arms, {len(self.starts)} block{'s' * (len(self.starts) > 1)}"

    def predict(self, rows: slice) -> Float[np.ndarray, "m K"]:
        """Return the predicted mean rewards in some rows of the log, limited to `reward_range`."""
        low, high = self.log.reward_range
        predictions = np.full((rows.stop - rows.start, self.log.n_arms), low)
        for start, end, predictor in zip(self.starts, (*self.starts[1:], len(self.log)), self.predictors, strict=True):
            first, last = max(start, rows.start), min(end, rows.stop)
            if first < last and predictor is not None:
                part = predictor.predict(_features(self.log, slice(first, last)))
                np.clip(part, low, high, out=predictions[first - rows.start : last - rows.start])
        return predictions


@validate_arguments
def fit_rewards(log: Log, regressor: Any = None, *, n_blocks: Count = 5, sample_weight: Any = None) -> RewardModel:
    """Fit a model of the mean rewards of the arms, for the direct method and for doubly robust estimators.

    The rows are divided into blocks, and the model of a block is fitted on the rows before the block. So the prediction
    of a row does not depend on the reward of the row, and the doubly robust estimators are exactly unbiased. Each block
    has as many rows as all earlier blocks together. The first block has no model: its predictions are the smallest
    reward. With one block, the model is fitted on all rows and predicts the same rows, so that the doubly robust
    estimators are biased.

    If the contexts of the log have the shape [n, d], each arm has a regressor of its own, and an arm without earlier
    rows has the mean of all earlier rewards. If they have the shape [n, K, d], all arms share a regressor. Positions
    become further features, one for each position.

    Args:
        log: the log.
        regressor: a regressor of scikit-learn, of which copies are fitted; None for ridge regression with an intercept
            and the penalty 1, as `sklearn.linear_model.Ridge()`, without an import of scikit-learn.
        n_blocks: the number of blocks.
        sample_weight: the weights of the rows in the fit [n]; None for equal weights.

    Raises:
        TypeError: `log` is no log, or `regressor` has no methods `fit` and `predict`.
        ValueError: the log has too few rows for the blocks, or `sample_weight` has a wrong length.

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 8, rewards=[1, 0] * 8, propensities=0.5)
        >>> model = jo.logs.fit_rewards(log, n_blocks=2)
        >>> model.predict(slice(7, 9)).tolist()
        [[0.0, 0.0], [1.0, 0.0]]
    """
    if regressor is not None:
        good = callable(getattr(regressor, "fit", None)) and callable(getattr(regressor, "predict", None))
        check.instance("regressor", regressor, good, "a regressor of scikit-learn, with fit and predict")
    weights = None if sample_weight is None else check.array("sample_weight", sample_weight, ndim=1, ge=0.0)
    if weights is not None and len(weights) != len(log):
        raise ArgumentError("sample_weight", f"must have {len(log):,} entries, as the log (got {len(weights):,})")
    ends = [len(log) >> (n_blocks - 1 - block) for block in range(n_blocks)]
    if ends[0] < 1:
        raise ArgumentError("n_blocks", f"must leave rows for the first block (got {n_blocks} and {len(log)} rows)")
    if n_blocks == 1:
        return RewardModel(log, (0,), (_fit(log, len(log), regressor, weights),))
    models = [_fit(log, end, regressor, weights) for end in ends[:-1]]
    return RewardModel(log, (0, *ends[:-1]), (None, *models))


def _features(log: Log, rows: Any) -> np.ndarray:
    """Return the features of rows: [m, d], or [m, K, d] for the features of arms."""
    n = len(log.arms[rows])
    features = np.zeros((n, 1)) if log.contexts is None else log.contexts[rows]
    if log.positions is None:
        return features
    places = (log.positions[rows, None] == np.unique(log.positions)).astype(float)
    places = np.repeat(places[:, None], log.n_arms, axis=1) if features.ndim == 3 else places
    return np.concatenate([features, places], axis=-1)


class _PerArm(NamedTuple):
    """A regressor for each arm; None for an arm without rows of positive weight, which has the mean `default`."""

    regressors: list[Any]
    default: float

    def predict(self, features: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m K"]:
        predictions = np.full((len(self.regressors), len(features)), self.default)
        for arm, regressor in enumerate(self.regressors):
            if regressor is not None:
                predictions[arm] = np.asarray(regressor.predict(features)).ravel()
        return predictions.T


class _Shared(NamedTuple):
    """One regressor on the features of an arm; None as in `_PerArm`."""

    regressor: Any
    default: float

    def predict(self, features: Float[np.ndarray, "m K d"]) -> Float[np.ndarray, "m K"]:
        if self.regressor is None:
            return np.full(features.shape[:2], self.default)
        return np.asarray(self.regressor.predict(features.reshape(-1, features.shape[2]))).reshape(features.shape[:2])


EINSUM_FEATURES = 64


class _Linear(NamedTuple):
    """Linear predictions of ridge regression, from weights and intercepts of the arms ([d, K] and [K]) or shared."""

    weights: Float[np.ndarray, "d *K"]
    intercepts: Float[np.ndarray, "*K"]

    def predict(self, features: Float[np.ndarray, "m *K d"]) -> Float[np.ndarray, "m K"]:
        # the threads of BLAS wait for each other at each small product, for milliseconds on a busy machine
        if len(self.weights) > EINSUM_FEATURES:
            predictions = features @ self.weights
        else:
            predictions = np.einsum("md,dk->mk" if self.weights.ndim == 2 else "mkd,d->mk", features, self.weights)
        predictions += self.intercepts
        return predictions


PENALTY = 1.0


def _ridge(features: Float[np.ndarray, "m d"], rewards: Float[np.ndarray, "m"], weights: Any) -> Float[np.ndarray, "e"]:
    """Return the weights of ridge regression and the intercept, which has no penalty: a vector of length d + 1."""
    means = np.average(features, axis=0, weights=weights)
    centre = np.average(rewards, weights=weights)
    centred, residuals = features - means, rewards - centre
    scaled = centred if weights is None else centred * weights[:, None]
    w = np.linalg.solve(scaled.T @ centred + PENALTY * np.eye(len(means)), scaled.T @ residuals)
    return np.append(w, centre - means @ w)


def _fit(log: Log, end: int, regressor: Any, weights: Any) -> _PerArm | _Shared | _Linear:
    """Fit the model on the rows before `end`."""
    arms, rewards, features = log.arms[:end], log.rewards[:end], _features(log, slice(0, end))
    weights = None if weights is None else weights[:end]

    def fit(rows: Any, own: np.ndarray) -> Any:
        """Return a fitted copy, or the vector of `_ridge`; None without a row of positive weight."""
        own_weights = None if weights is None else weights[rows]
        if len(own) == 0 or (own_weights is not None and not own_weights.any()):
            return None
        if regressor is None:
            return _ridge(own, rewards[rows], own_weights)
        from sklearn.base import clone

        options = {} if own_weights is None else {"sample_weight": own_weights}
        fitted: Any = clone(regressor)
        return fitted.fit(own, rewards[rows], **options)

    default = float(rewards.mean())
    if features.ndim == 3:
        models = [fit(slice(None), features[np.arange(end), arms])]
    else:
        order = np.argsort(arms, kind="stable")
        ends = np.searchsorted(arms[order], np.arange(log.n_arms + 1))
        groups = [order[first:last] for first, last in itertools.pairwise(ends)]
        models = [fit(rows, features[rows]) for rows in groups]
    if regressor is None:
        empty = np.append(np.zeros(features.shape[-1]), default)
        table = np.stack([empty if model is None else model for model in models], axis=-1)
        return _Linear(*((table[:-1, 0], table[-1, 0]) if features.ndim == 3 else (table[:-1], table[-1])))
    return _Shared(models[0], default) if features.ndim == 3 else _PerArm(models, default)


# ---------------------------------------------------------------------------------------------------------------------
# Estimators with a model of the rewards.


def _predict(log: Log, probabilities: ArrayLike, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the predicted value of the policy in each row, sum of probability q(a) [n], and q(logged arm) [n]."""
    table, low, high = log.table("probabilities", probabilities), *log.reward_range
    if isinstance(model, RewardModel):
        if model.log is not log:
            raise ArgumentError("model", "must be fitted on this log (got another log); give predictions [n, K]")
        predict = model.predict
    else:
        array = log.table("model", model)
        check.finite_array("model", model)

        def predict(rows: slice) -> np.ndarray:
            return np.clip(array[rows].astype(float), low, high)

    base, logged = np.empty(len(log)), np.empty(len(log))
    for rows in log.chunks():
        q = predict(rows)
        base[rows] = np.einsum("nk,nk->n", table[rows].astype(float), q)
        logged[rows] = q[np.arange(len(q)), log.arms[rows]]
    return base, logged


def _parts(log: Log, probabilities: ArrayLike, model: Any) -> tuple[RowWeights, np.ndarray, np.ndarray]:
    """Return the weights, the predicted values of the policy [n], and the errors of the predicted rewards [n]."""
    weighed = weigh_rows(log, probabilities)
    base, logged = _predict(log, probabilities, fit_rewards(log) if model is None else model)
    return weighed, base, log.rewards - logged


def _has_valid_terms(model: Any, interval: str) -> bool:
    """Return whether an interval may use the terms of DR.

    Those of a model of earlier rows have the mean v given the earlier rows, which is enough for bets only.
    """
    if model is None or isinstance(model, RewardModel):
        return interval == "betting" and (model is None or len(model.starts) > 1)
    return True


@validate_arguments
def direct_method(
    log: Log, probabilities: ArrayLike, model: Any = None, *, level: OpenUnitFloat = 0.95,
    interval: Interval = "betting", max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """Direct method (DM, regression): the mean of sum over arms of probability q(arm).

    Bias: the mean error of the model under the policy, which does not vanish for many rows if the model is wrong.
    Variance: that of the predictions over contexts, and of the fit; there are no weights.

    Args:
        log: the log.
        probabilities: see `ips`.
        model: a `RewardModel` fitted on this log, or predicted rewards [n, K] or [K], which are limited to
            `reward_range`; None for `fit_rewards(log, n_blocks=1)`.
        level: see `ips`.
        interval: see `ips`. The intervals "betting" and "bernstein" are those of `ips`: they do not use the model, and
            a prediction outside of them shows its bias. "student" and "bootstrap" ignore the bias.
        max_weight: see `ips`.

    Raises:
        ValueError: `model` was fitted on another log, or has a wrong shape; see also `ips`.

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> round(jo.logs.direct_method(log, [0.9, 0.1], model=[0.5, 0.0]).value, 9)
        0.45
    """
    weighed, options = weigh_rows(log, probabilities), IntervalOptions(level, interval, max_weight)
    base, _ = _predict(log, probabilities, fit_rewards(log, n_blocks=1) if model is None else model)
    return make_value("direct method", log, weighed, base, options)


@validate_arguments
def doubly_robust(
    log: Log, probabilities: ArrayLike, model: Any = None, *, level: OpenUnitFloat = 0.95,
    interval: Interval = "betting", max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """Doubly robust estimator (DR): the mean of sum over arms of probability q(arm) + w (r - q(logged arm)).

    Bias: none, if the propensities are correct, or if q is the mean reward of each arm; q must not depend on the reward
    of the row, as in `fit_rewards` with several blocks. Variance: (Var v(x) + E Var(w (r - q) | x)) / n, where v(x) is
    the policy's mean reward in context x. It is small if the model predicts well: weights multiply only its errors.

    Args:
        log: the log.
        probabilities: see `ips`.
        model: a `RewardModel` fitted on this log, or predicted rewards [n, K] or [K], which are limited to
            `reward_range`; None for `fit_rewards(log)`, ridge regression on earlier rows.
        level: see `ips`.
        interval: see `ips`. With `max_weight`, "betting" uses the terms of this estimator, and so does "bernstein" for
            given predictions (the terms of a fitted model depend on earlier rows). Otherwise both are intervals of
            `ips`, which do not use the model, also if the model was fitted in one block.
        max_weight: see `ips`.

    Raises:
        ValueError: `model` was fitted on another log, or has a wrong shape; see also `ips`.

    References:
        Dudík, Langford and Li (2011), "Doubly robust policy evaluation and learning".

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> jo.logs.doubly_robust(log, [0.9, 0.1], model=[0.5, 0.0]).value
        0.9
    """
    weighed, base, residuals = _parts(log, probabilities, model)
    terms, options = base + weighed.weights * residuals, IntervalOptions(level, interval, max_weight)
    return make_value("doubly robust", log, weighed, terms, options, unbiased=_has_valid_terms(model, interval))


@validate_arguments
def switch_dr(
    log: Log, probabilities: ArrayLike, model: Any = None, threshold: PositiveOrInfinity | None = None, *,
    level: OpenUnitFloat = 0.95, interval: Interval = "betting", max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """SWITCH-DR: the doubly robust estimator, with the weight 0 where w is above a threshold.

    Bias: that of the model on the arms with a weight above the threshold. Variance: that of `doubly_robust` without
    these weights.

    Args:
        log: the log.
        probabilities: see `ips`.
        model: see `doubly_robust`.
        threshold: the largest weight that is used; None for the choice of SLOPE (`slope`) among powers of 2.
        level: see `ips`.
        interval: see `direct_method`.
        max_weight: see `ips`.

    Raises:
        ValueError: see `doubly_robust`.

    References:
        Wang, Agarwal and Dudík (2017), "Optimal and adaptive off-policy evaluation in contextual bandits".

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> round(jo.logs.switch_dr(log, [0.9, 0.1], model=[0.5, 0.0], threshold=1.5).value, 9)
        0.45
    """
    weighed, base, residuals = _parts(log, probabilities, model)
    w, options = weighed.weights, IntervalOptions(level, interval, max_weight)
    parameter, terms = choose_parameter(
        threshold, threshold_grid(w), lambda own: base + np.where(w <= own, w, 0.0) * residuals
    )
    return make_value("SWITCH-DR", log, weighed, terms, options, parameter=parameter)


@validate_arguments
def dr_shrinkage(
    log: Log, probabilities: ArrayLike, model: Any = None, strength: PositiveOrInfinity | None = None, *,
    level: OpenUnitFloat = 0.95, interval: Interval = "betting", max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """Doubly robust estimator with shrunk weights (DRos): w strength / (w^2 + strength) in place of w.

    Bias: E (shrunk weight - w) (r - q). Variance: that of `doubly_robust` with the shrunk weights, which grow with the
    strength and are at most sqrt(strength) / 2. An infinite strength is `doubly_robust`, and 0 the direct method.

    Args:
        log: the log.
        probabilities: see `ips`.
        model: see `doubly_robust`.
        strength: lambda; None for the choice of SLOPE (`slope`) among powers of 4.
        level: see `ips`.
        interval: see `direct_method`.
        max_weight: see `ips`.

    Raises:
        ValueError: see `doubly_robust`.

    References:
        Su, Dimakopoulou, Krishnamurthy and Dudík (2020), "Doubly robust off-policy evaluation with shrinkage".

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> value = jo.logs.dr_shrinkage(log, [0.9, 0.1], model=[0.5, 0.0], strength=1.8**2).value
        >>> round(value, 6)  # the weight 1.8 becomes 0.9
        0.675
    """
    weighed, base, residuals = _parts(log, probabilities, model)
    w, options = weighed.weights, IntervalOptions(level, interval, max_weight)

    def shrink(own: float) -> np.ndarray:
        return base + w / (1.0 + w**2 / own) * residuals  # the same weight, also for an infinite strength

    grid = [math.inf, *(16.0 * threshold**2 for threshold in threshold_grid(w)), 4.0, 1.0, 0.25]
    parameter, terms = choose_parameter(strength, grid, shrink)
    return make_value("DR with shrinkage", log, weighed, terms, options, parameter=parameter)


@validate_arguments
def mrdr(
    log: Log, probabilities: ArrayLike, regressor: Any = None, *, n_blocks: Count = 5, level: OpenUnitFloat = 0.95,
    interval: Interval = "betting", max_weight: PositiveFloat | None = None,
) -> PolicyValue:  # fmt: skip
    """More robust doubly robust estimator (MRDR): DR whose model is fitted to make the variance of DR small.

    The fit has the weight w (1 - propensity) / propensity in each row. For a policy that always chooses one arm, its
    mean squared error is the part of the variance of DR that depends on the model. For other policies it is close to
    that part.

    Bias: none, as `doubly_robust`. Variance: that of `doubly_robust`, often smaller if the model is wrong.

    Args:
        log: the log.
        probabilities: see `ips`.
        regressor: see `fit_rewards`; its `fit` must accept `sample_weight`.
        n_blocks: see `fit_rewards`.
        level: see `ips`.
        interval: see `doubly_robust`.
        max_weight: see `ips`.

    Raises:
        ValueError: see `doubly_robust` and `fit_rewards`.

    References:
        Farajtabar, Chow and Ghavamzadeh (2018), "More robust doubly robust off-policy evaluation".

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> round(jo.logs.mrdr(log, [0.9, 0.1]).value, 2)
        0.9
    """
    weighed, options, mu = (
        weigh_rows(log, probabilities),
        IntervalOptions(level, interval, max_weight),
        log.propensities,
    )
    sample_weight = weighed.weights * (1.0 - mu) / mu
    model = fit_rewards(log, regressor, n_blocks=n_blocks, sample_weight=sample_weight)
    base, logged = _predict(log, probabilities, model)
    terms = base + weighed.weights * (log.rewards - logged)
    return make_value("MRDR", log, weighed, terms, options, unbiased=_has_valid_terms(model, interval))
