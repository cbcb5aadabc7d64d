"""Learners that follow the advice of experts, and votes."""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline.feedback import FullOracle
from jaxonline.game.roles import Learner, LearnerWrapper, Specs
from jaxonline.learners.experts.weights import (
    AnyCombiner,
    add_losses,
    check_range,
    excess,
    nan_outside,
    require_combiner,
    softmax_weights,
    vector_length,
    weights_of_sums,
    zero_sums,
)
from jaxonline.losses import Squared
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Interval, Number, Positive, PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Prediction with expert advice: Cesa-Bianchi and Lugosi (2006), chapter 2.


def _require_loss(loss: Any, name: str) -> Any:
    good = callable(loss) and not any(callable(leaf) for leaf in jax.tree.leaves(loss))
    return check.instance(name, loss, good, "a loss (jaxonline.losses) or a jax.tree_util.Partial")


AnyLoss = Annotated[Any, Component("loss"), Convert(_require_loss)]
"""A loss of predictions: a function that is a pytree of numbers."""


@cites("cesabianchi2006prediction")
@struct
class OverAdvice(Learner):
    """Prediction with expert advice: predicts the weighted mean of the experts' predictions, which are the instance.

    Args:
        combiner: `EWA`, `BOA`, `MLPoly`, `MLProd`, or another `Combiner`.
        loss: the loss `loss(prediction, y)` of the experts and of their weighted mean. The bounds of the combiners hold
            for losses that are convex in the prediction.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(np.tile([0.0, 1.0], (3, 1)), np.ones(3))
        >>> game, learner = jo.Game(rows, jo.FullInformation()), jo.learners.OverAdvice(jo.learners.EWA(0.5))
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=3)
        >>> [f"{mean:.3f}" for mean in history.y_hat]  # 1 / (1 + e^(-(t-1)/2))
        ['0.500', '0.622', '0.731']
    """

    combiner: AnyCombiner
    loss: AnyLoss = Squared()

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the combiner's state for all entries of an instance; raise a ValueError if it is no vector."""
        return self.combiner.init(vector_length("instances", specs.instance), specs.instance.dtype)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the weighted mean of the experts."""
        return self.weights(state) @ x

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass the losses of the experts and of their mean to the combiner."""
        losses = expert_losses(self.loss, oracle.x, oracle.y)
        own_loss = self.loss(self.predict(key, state, oracle.x), oracle.y)
        return self.combiner.update(state, losses, own_loss), ()

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return self.combiner.weights(state)


def as_learner(value: Any, name: str = "combiner") -> Any:
    """Return a learner as it is, and a combiner as `OverAdvice`; raise a TypeError for any other object."""
    if isinstance(value, Learner):
        return value
    return OverAdvice(require_combiner(value, name, "a combiner (init, weights, update), or a learner over advice"))


LearnerOverAdvice = Annotated[Any, Component("learner", "combiner"), Convert(as_learner)]
"""A learner over advice, or a combiner, which becomes `OverAdvice` with the squared loss."""


def expert_losses(loss: Any, x: Float[Array, "K"], y: Any) -> Float[Array, "K"]:
    """Return the loss of each expert."""
    return jax.vmap(lambda prediction: loss(prediction, y))(x)


# ---------------------------------------------------------------------------------------------------------------------
# Experts truncated to the range of the labels, which never increases losses: Rokhlin and Gurtovaya (2025), Eq. 28.


@cites("rokhlin2025random")
@struct
class Truncated(LearnerWrapper):
    """Clips the experts' predictions to [low, high]; a label outside [low, high] gives NaN (an error in `aggregate`).

    Args:
        learner: a learner over advice, or a combiner, which then uses the squared loss.
        low: smallest label.
        high: largest label; a ValueError is raised if `high` is not above `low`.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> learner, x = jo.learners.Truncated(jo.learners.EWA(0.5), 0.0, 1.0), jnp.array([-9.0, 0.5])
        >>> float(learner.predict(None, learner.init(None, jo.game.Specs(x, x[0])), x))
        0.25
    """

    learner: LearnerOverAdvice
    low: Number = 0.0
    high: Number = 1.0

    def __post_init__(self) -> None:
        check_range(self.low, self.high)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the state of the learner."""
        return self.learner.init(key, specs)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the prediction of the learner from the clipped experts."""
        return self.learner.predict(key, state, self.clip(x))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Update the learner with the clipped experts."""
        return self.learner.update(key, state, FullOracle(self.clip(oracle.x), self.nan_outside_range(oracle.y)))

    def clip(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the predictions, clipped to the range."""
        return jnp.clip(x, jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype))

    def nan_outside_range(self, y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the labels, with NaN for labels outside the range."""
        return nan_outside(y, jnp.asarray(self.low, y.dtype), jnp.asarray(self.high, y.dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Vovk's aggregating algorithm: Vovk (1990); Cesa-Bianchi and Lugosi (2006), sections 3.5 and 3.6.


@cites("vovk1990aggregating", "cesabianchi2006prediction")
@struct
class Aggregating(Learner):
    """Aggregating algorithm of Vovk: prediction with expert advice, with regret at most ln(K) / eta.

    An instance is the vector of the experts' predictions. The generalised loss of the experts is g(y) = -ln(sum_k w_k
    e^(-eta loss(x_k, y))) / eta. The prediction f makes loss(f, y) - g(y) equal at both ends of the range of labels.
    Then loss(f, y) <= g(y) for every y if the loss is eta-mixable. For the squared loss on [0, 1] the prediction f is
    1/2 + ln(sum e^(-eta L - eta (x-1)^2) / sum e^(-eta L - eta x^2)) / (2 eta), clipped. For other losses f is computed
    by bisection. A label outside [low, high] makes all later numbers of the run NaN; `aggregate` raises an error
    instead.

    Args:
        low: smallest label and prediction.
        high: largest label and prediction, above `low` (otherwise ValueError).
        loss: convex loss of predictions in [low, high].
        eta: rate for which the loss is mixable. For the squared loss None means the largest possible rate, 2 / (high -
            low)^2, and a larger rate raises a ValueError. For another loss None raises a ValueError. The log loss on
            [0, 1] is mixable for rates up to 1.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> learner, x = jo.learners.Aggregating(0.0, 1.0), jnp.array([0.0, 1.0])
        >>> round(float(learner.predict(None, learner.init(None, jo.game.Specs(x, x[0])), x)), 3)
        0.5
    """

    low: Number = 0.0
    high: Number = 1.0
    loss: AnyLoss = Squared()
    eta: Positive | None = None

    def __post_init__(self) -> None:
        check_range(self.low, self.high)
        if isinstance(self.loss, Squared):
            _check_rate_of_squared_loss(self.eta, self.low, self.high)
        elif self.eta is None:
            problem = f"must be given for {type(self.loss).__name__} (got None); pass a rate for which it is mixable"
            raise ArgumentError("eta", problem)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Compensated:
        """Return zero losses, one for each entry of the instance; raise a ValueError if instances are not vectors."""
        return zero_sums(vector_length("instances", specs.instance), specs.instance.dtype)

    def predict(self, key: Key[Array, ""] | None, state: Compensated, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the prediction from the generalised losses at both ends of the range of labels."""
        (low, high, eta), differences = self._constants(x.dtype), excess(state)

        def minus_eta_g(y):  # up to a constant that is the same at both ends
            return jax.nn.logsumexp(-eta * (differences + expert_losses(self.loss, x, y)))

        gap = minus_eta_g(high) - minus_eta_g(low)
        if isinstance(self.loss, Squared):
            return jnp.clip((low + high) / 2.0 + gap / (2.0 * eta * (high - low)), low, high)
        return self._solve_for_prediction(gap / eta, low, high)

    def update(self, key: Key[Array, ""] | None, state: Compensated, oracle: Any) -> tuple[Compensated, tuple[()]]:
        """Add the losses of the experts to the state."""
        low, high, _ = self._constants(oracle.x.dtype)
        losses = expert_losses(self.loss, oracle.x, nan_outside(oracle.y, low, high))
        return add_losses(state, losses), ()

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round, before the predictions of that round are known."""
        return weights_of_sums(state, self._constants(state.total.dtype)[2])

    def _constants(self, dtype: Any) -> tuple[Array, Array, Array]:
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        return low, high, 2.0 / (high - low) ** 2 if self.eta is None else jnp.asarray(self.eta, dtype)

    def _solve_for_prediction(self, gap: Array, low: Array, high: Array) -> Float[Array, ""]:
        """Solve loss(f, low) - loss(f, high) = gap, which increases with f, by bisection to the last bit."""

        def halve(_, ends):
            below, above = ends
            f = 0.5 * (below + above)
            too_low = self.loss(f, low) - self.loss(f, high) < gap
            return jnp.where(too_low, f, below), jnp.where(too_low, above, f)

        below, above = jax.lax.fori_loop(0, 2 + jnp.finfo(low.dtype).nmant, halve, (low, high))
        return jnp.where(jnp.isnan(gap), gap, 0.5 * (below + above))


def _check_rate_of_squared_loss(eta: ArrayLike | None, low: ArrayLike, high: ArrayLike) -> None:
    rate, least, most = (check.concrete_array(value) for value in (eta, low, high))
    if rate is None or least is None or most is None:
        return
    largest = 2.0 / (most - least) ** 2
    if (rate > largest * (1 + 1e-6)).any():
        raise ArgumentError("eta", f"must be at most 2 / (high - low)^2 = {largest} for the squared loss (got {rate})")


# ---------------------------------------------------------------------------------------------------------------------
# Votes of experts with two labels: halving, and weighted majority.


# ---------------------------------------------------------------------------------------------------------------------
# Weighted votes of experts that predict the classes -1 and +1; an instance is the vector of these predictions.


class VoteInfo(NamedTuple):
    """Diagnostics of one update: whether the vote has the wrong sign or is 0."""

    mistake: Bool[Array, ""]


def vote(weights: Float[Array, "K"], advice: Float[Array, "K"]) -> Float[Array, ""]:
    """Return the weighted mean of the signs, in [-1, 1]; equal weights of both signs give exactly 0."""
    positive, negative = (jnp.sum(jnp.where(side, weights, 0.0)) for side in (advice > 0, advice < 0))
    return (positive - negative) / jnp.sum(weights)


def is_mistake(advice: Float[Array, "..."], y: Float[Array, ""]) -> Bool[Array, "..."]:
    """Return whether the sign of the advice differs from the sign of the label; an advice of 0 is a mistake."""
    return y * advice <= 0.0


# ---------------------------------------------------------------------------------------------------------------------
# The halving algorithm: Barzdin and Freivalds (1972), Littlestone (1988); Cesa-Bianchi and Lugosi (2006), 2.1.


class HalvingState(NamedTuple):
    """State of `Halving`: whether each expert is consistent, that is has not been removed [K]."""

    consistent: Bool[Array, "K"]


@cites("barzdin1972prediction", "littlestone1988learning", "cesabianchi2006prediction")
@struct
class Halving(Learner):
    """Halving algorithm: majority vote of the experts that have made no mistake.

    An instance is the vector of the predictions, -1 or +1. The move is the mean vote in [-1, 1]. A tie is 0, which
    counts as a mistake (`losses.ZeroOne`). If one of K experts makes no mistake, the learner makes at most log2 K
    mistakes, because each mistake removes at least half of the experts. When no expert is left, the learner restores
    all experts. If the best expert makes L mistakes, the learner makes at most L (floor(log2 K) + 1) + log2 K
    (`bounds.halving`). The bounds hold for both kinds of updates.

    Args:
        lazy: whether only rounds in which the learner is wrong remove experts, as printed in the lecture (Park's
            lecture, Algorithm 1); otherwise every round removes the experts that are wrong.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(np.array([[1.0, -1, -1], [1, 1, -1], [1, -1, 1]]), np.ones(3))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, jo.learners.Halving(), jax.random.key(0), n_rounds=3)
        >>> history.info.mistake.tolist(), state.consistent.tolist()
        ([True, False, False], [True, False, False])
    """

    lazy: bool = static(default=False)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> HalvingState:
        """Return the state in which no expert has made a mistake; raise a ValueError if instances are not vectors."""
        return HalvingState(jnp.ones(vector_length("instances", specs.instance), bool))

    def predict(self, key: Key[Array, ""] | None, state: HalvingState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the mean vote of the consistent experts."""
        return vote(state.consistent.astype(x.dtype), x)

    def update(self, key: Key[Array, ""] | None, state: HalvingState, oracle: Any) -> tuple[HalvingState, VoteInfo]:
        """Remove the experts that are wrong (if lazy, only after a mistake); restore all experts if none is left."""
        mistake = is_mistake(self.predict(key, state, oracle.x), oracle.y)
        wrong = is_mistake(oracle.x, oracle.y)
        left = state.consistent & ~(wrong & mistake if self.lazy else wrong)
        return HalvingState(left | ~jnp.any(left)), VoteInfo(mistake)


# ---------------------------------------------------------------------------------------------------------------------
# The weighted majority algorithm: Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 2.1.


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class WeightedMajority(Learner):
    """Weighted majority algorithm: vote of the experts, where an expert with m mistakes has the weight beta^m.

    An instance is the vector of the predictions; predictions and labels are -1 or +1. The move is the weighted mean of
    the votes; a tie is 0, which counts as a mistake. If the best of K experts makes L mistakes, the learner makes at
    most (L ln(1/beta) + ln K) / ln(2/(1 + beta)) on every sequence (`bounds.weighted_majority`). No deterministic
    learner has a bound below 2 L; a randomised learner has such a bound (`DrawnExpert`).

    Args:
        beta: factor of an expert's weight after a mistake (the factor 0 would give `Halving`).

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(np.array([[1.0, -1, -1], [1, 1, -1], [1, -1, -1]]), np.ones(3))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, jo.learners.WeightedMajority(0.25), jax.random.key(0), n_rounds=3)
        >>> history.info.mistake.tolist(), state.tolist()
        ([True, False, False], [0, 2, 3])
    """

    beta: Annotated[Number, Interval(gt=0, lt=1)]

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Int[Array, "K"]:
        """Return the numbers of mistakes, all 0; raise a ValueError if instances are not vectors."""
        return jnp.zeros(vector_length("instances", specs.instance), jnp.int32)

    def predict(self, key: Key[Array, ""] | None, state: Int[Array, "K"], x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the weighted mean vote."""
        return vote(jnp.exp(self._log_weights(state, x.dtype)), x)

    def update(
        self, key: Key[Array, ""] | None, state: Int[Array, "K"], oracle: Any
    ) -> tuple[Int[Array, "K"], VoteInfo]:
        """Count a mistake for each expert that is wrong."""
        mistake = is_mistake(self.predict(key, state, oracle.x), oracle.y)
        return state + is_mistake(oracle.x, oracle.y).astype(state.dtype), VoteInfo(mistake)

    def weights(self, state: Int[Array, "K"]) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(self._log_weights(state, jnp.result_type(float)))

    def _log_weights(self, mistakes: Int[Array, "K"], dtype: Any) -> Float[Array, "K"]:
        """Return log weights relative to the best expert, so that equal weights are bit-identical."""
        return (mistakes - jnp.min(mistakes)).astype(dtype) * jnp.log(jnp.asarray(self.beta, dtype))
