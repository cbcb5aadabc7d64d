"""Linear classifiers with mistake bounds: perceptrons, passive-aggressive, and Winnow."""

from typing import Annotated, Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.gradient.descent import zeros_like_vector
from jaxonline.learners.gradient.mirror import p_norm_link
from jaxonline.losses import Hinge
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Ge, Gt, Number, Positive

# ---------------------------------------------------------------------------------------------------------------------
# Perceptron: Rosenblatt (1958), with the mistake bound of Novikoff (1962).


class PerceptronInfo(NamedTuple):
    """Diagnostics of one update: `mistake` is True if the score has the wrong sign or is 0."""

    mistake: Bool[Array, ""]


@cites("rosenblatt1958perceptron", "novikoff1962convergence")
@struct
class Perceptron(Learner):
    """Perceptron: predict by the sign of the score <w, x>, and add y x to w after a mistake. Labels are -1 or +1.

    The move is the score. A score of 0 counts as a mistake, as in round 1, where w = 0. If |x| <= r and some unit
    vector u has y <u, x> >= gamma in every round, the learner makes at most (r / gamma)^2 mistakes. The state is a
    vector [d], 0 before round 1; a subclass may map the state to other weights (`w`).

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
        >>> state, history = jo.play(game, jo.learners.Perceptron(), jax.random.key(0), n_rounds=6)
        >>> state.tolist(), history.info.mistake.tolist()
        ([2.0, -1.0], [True, True, True, False, True, False])
    """

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "d"]:
        """Return zeros; instances must be vectors."""
        return zeros_like_vector(self, specs.instance)

    def predict(self, key: Key[Array, ""] | None, state: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the score <w, x>."""
        return self.w(state) @ x

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], Any]:
        """Add y x to the state after a mistake, that is if y score <= 0."""
        mistake = oracle.y * self.predict(key, state, oracle.x) <= 0.0
        return jnp.where(mistake, state + oracle.y * oracle.x, state), PerceptronInfo(mistake)

    def w(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the weights w."""
        return state


# ---------------------------------------------------------------------------------------------------------------------
# P-norm perceptron: Grove, Littlestone and Schuurmans (2001); Gentile (2003).


@cites("grove2001general", "gentile2003robustness")
@struct
class PNormPerceptron(Perceptron):
    """P-norm perceptron: w = gradient of |theta|_p^2 / 2 at theta, the sum of y x over mistakes. Labels are -1 or +1.

    The move is the score <w, x>; a score of 0 counts as a mistake. If |x|_p <= r and some u with |u|_q <= 1, where 1/p
    + 1/q = 1, has y <u, x> >= gamma in every round, the learner makes at most (p - 1) (r / gamma)^2 mistakes. With p =
    2 the learner is `Perceptron`; with p = 2 ln d it is about as good as `Winnow` if few attributes matter. The state
    is theta [d].

    Args:
        p: exponent of the norm.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> learner, theta = jo.learners.PNormPerceptron(3.0), jax.numpy.array([2.0, -1.0])
        >>> [f"{weight:.3f}" for weight in learner.w(theta)]  # (4, -1) / 9^(1/3)
        ['1.923', '-0.481']
    """

    p: Annotated[Number, Ge(2)] = 2.0

    def w(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the gradient of |theta|_p^2 / 2."""
        return p_norm_link(state, self.p)


# ---------------------------------------------------------------------------------------------------------------------
# Passive-aggressive classifiers: Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006).


class PassiveAggressiveInfo(NamedTuple):
    """Diagnostics of one update: `mistake` (score of the wrong sign or 0) and `hinge_loss`, max(1 - y <w, x>, 0)."""

    mistake: Bool[Array, ""]
    hinge_loss: Float[Array, ""]


@cites("crammer2006online")
@struct
class PassiveAggressive(Perceptron):
    """Passive-aggressive classifier (PA, PA-I, PA-II). Labels are -1 or +1.

    The update is w += tau y x, with the hinge loss l = max(1 - y <w, x>, 0). The step tau is l / |x|^2 (PA), min(C, l /
    |x|^2) (PA-I) or l / (|x|^2 + 1 / (2 C)) (PA-II). In PA the new w is the nearest vector with a margin of 1; in PA-I
    and PA-II it is a step towards this vector. The move is the score <w, x>; a score of 0 counts as a mistake.
    scikit-learn's `PassiveAggressiveClassifier` is PA-I with loss="hinge", and PA-II with loss="squared_hinge".

    Args:
        variant: the formula of tau.
        C: aggressiveness; PA ignores C, PA-I and PA-II require it.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(2.0 * np.eye(2), np.array([1.0, -1.0])), jo.FullInformation())
        >>> learner = jo.learners.PassiveAggressive("PA-I", C=0.125)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=4)[0].tolist()
        [0.5, -0.5]
    """

    variant: Literal["PA", "PA-I", "PA-II"] = static(default="PA-I")
    C: Positive | None = 1.0

    def __post_init__(self) -> None:
        if self.variant == "PA":
            set_field(self, "C", None)
        elif self.C is None:
            raise ArgumentTypeError("C", f"must be a number above 0 for {self.variant} (got None)")

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], PassiveAggressiveInfo]:
        """Add tau y x to w."""
        x, y = oracle.x, oracle.y
        score = state @ x
        loss, C = Hinge()(score, y), None if self.C is None else jnp.asarray(self.C, x.dtype)
        _, exponent = jnp.frexp(jnp.max(jnp.abs(x)))
        scale = jnp.ldexp(jnp.ones_like(score), exponent - 1)  # a power of 2: no digit changes, and no square overflows
        u = x / scale
        weight = u @ u  # |x|^2 / scale^2
        if C is not None and self.variant == "PA-II":
            weight = weight + 1.0 / (2.0 * C) / scale / scale
        tau = loss / jnp.where(weight > 0.0, weight, 1.0) / scale  # times scale
        if C is not None and self.variant == "PA-I":
            tau = jnp.minimum(C * scale, tau)
        return state + tau * y * u, PassiveAggressiveInfo(y * score <= 0.0, loss)


# ---------------------------------------------------------------------------------------------------------------------
# Winnow: Littlestone (1988), the second form; the bound for disjunctions is as in Blum (1998).


@cites("littlestone1988learning", "blum1998online")
@struct
class Winnow(Perceptron):
    """Winnow: a linear threshold with multiplicative updates. Instances are in {0, 1}^d, labels -1 or +1.

    The move is the score <w, x> - threshold, with w = 1 before round 1; a score of 0 counts as a mistake. A mistake on
    a label +1 multiplies the weights of the present attributes by `promotion`; a mistake on a label -1 divides these
    weights by `promotion`. If the label is a disjunction of k attributes, the number of mistakes is at most 2 + 3 k (1
    + log2 d) for the defaults. If at least r of k attributes decide, use the promotion 1 + 1/(2 r) (`bounds.winnow`).
    The state is log w / log promotion [d].

    Args:
        promotion: factor of the weights.
        threshold: threshold of the sum of weights; d by default.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> X, y = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0, 1.0])  # the first attribute
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, jo.learners.Winnow(), jax.random.key(0), n_rounds=6)
        >>> state.tolist(), history.info.mistake.tolist()
        ([2.0, 0.0], [True, True, True, False, False, False])
    """

    promotion: Annotated[Number, Gt(1)] = 2.0
    threshold: Positive | None = None

    def predict(self, key: Key[Array, ""] | None, state: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the score <w, x> - threshold."""
        threshold = jnp.asarray(len(state) if self.threshold is None else self.threshold, x.dtype)
        return self.w(state) @ x - threshold

    def w(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the weights promotion^state (by exp2, which is exact for powers of 2)."""
        return jnp.exp2(state * jnp.log2(jnp.asarray(self.promotion, state.dtype)))
