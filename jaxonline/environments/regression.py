"""Environments that draw instances and labels: linear models, separable classes, attributes, sparse booleans."""

import itertools
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.arms import ScalarOutcome
from jaxonline.environments.data import DataStream
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Count,
    CountFrom2,
    Interval,
    JaxVector,
    NonNegative,
    Number,
    Positive,
    Probability,
)

# ---------------------------------------------------------------------------------------------------------------------
# Linear model with random instances.


@struct
class LinearModel(ScalarOutcome):
    """Linear model: y = <weights, x> + Gaussian noise, with instances x drawn independently in each round.

    Args:
        weights: the true predictor [d].
        noise_std: standard deviation of the label noise.
        radius: size of x: |x| for "sphere", the half width of "cube", sqrt(E|x|^2) for "gaussian".
        instances: the distribution of x: uniform on the "sphere" or "cube", or "gaussian" N(0, radius^2/d I).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> model = jo.environments.LinearModel([1.0, 1.0, 1.0, 1.0], instances="sphere")
        >>> x, state = model.instance(jax.random.key(0), (), jnp.int32(1))
        >>> y, state = model.outcome(jax.random.key(2), state, jnp.int32(1), x, jnp.float32(0.0))
        >>> bool(jnp.isclose(y, x.sum(), atol=1e-6)), round(float(jnp.linalg.norm(x)), 5)
        (True, 1.0)
    """

    weights: JaxVector
    noise_std: NonNegative = 0.0
    radius: Positive = 1.0
    instances: Literal["gaussian", "sphere", "cube"] = static(default="gaussian")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.weights.shape, self.weights.dtype)

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "d"], tuple[()]]:
        """Draw an instance."""
        shape, dtype = self.weights.shape, self.weights.dtype
        radius = jnp.asarray(self.radius, dtype)
        if self.instances == "cube":
            return radius * random.uniform(key, shape, dtype, -1.0, 1.0), state
        z = random.normal(key, shape, dtype)
        length = jnp.linalg.norm(z) if self.instances == "sphere" else jnp.sqrt(jnp.asarray(shape[0], dtype))
        return z * (radius / length), state

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """Return the label <weights, x> + noise."""
        noise = jnp.asarray(self.noise_std, x.dtype) * random.normal(key, (), x.dtype)
        return self.weights @ x + noise, state


# ---------------------------------------------------------------------------------------------------------------------
# Linearly separable data with a margin: the assumption of the perceptron's theorem.


class SeparableState(NamedTuple):
    """State of `SeparableData`: the label of the round, drawn with the instance."""

    label: Float[Array, ""]


@struct
class SeparableData(ScalarOutcome):
    """Linearly separable labels: |x| <= radius and y <u, x> >= margin for a unit vector u; y is uniform on {-1, +1}.

    The number y <u, x> is uniform on [margin, radius], and the part of x orthogonal to u is uniform in a ball. The
    perceptron makes at most (radius / margin)^2 mistakes.

    Args:
        direction: a vector [d] in the direction of u, not 0, with d >= 2.
        margin: the margin gamma, the lower bound on y <u, x>.
        radius: the largest length r of x, at least `margin`.

    Example:
        >>> import jax, jaxonline as jo
        >>> data = jo.environments.SeparableData([1, 1, 1, 1], margin=0.2)
        >>> game = jo.Game(data, jo.FullInformation(), jo.losses.ZeroOne())
        >>> history = jo.play(game, jo.learners.Perceptron(), jax.random.key(0), n_rounds=100)[1]
        >>> bool((history.y * history.x.sum(axis=1) / 2 >= 0.199).all()), bool(history.loss.sum() <= 25)
        (True, True)
    """

    direction: JaxVector
    margin: Positive = 0.1
    radius: Positive = 1.0
    oblivious = True
    outcomes = np.array([-1.0, 1.0])

    def __post_init__(self) -> None:
        if len(self.direction) < 2 or not np.any(self.direction):
            problem = f"must have at least two entries, not all 0 (got {check.quote(self.direction)})"
            raise ArgumentError("direction", problem)
        check.squares_fit_dtype("direction", np.asarray(self.direction)[None], self.direction.dtype)
        margin, radius = check.concrete_array(self.margin), check.concrete_array(self.radius)
        if margin is not None and radius is not None and not (margin <= radius).all():
            raise ArgumentError("margin", f"must be at most the radius, {radius} (got {margin})")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.direction.shape, self.direction.dtype)

    def init(self, key: Key[Array, ""]) -> SeparableState:
        return SeparableState(jnp.ones((), self.direction.dtype))

    def instance(
        self, key: Key[Array, ""], state: SeparableState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], SeparableState]:
        """Draw an instance and its label."""
        d, dtype = len(self.direction), self.direction.dtype
        u = self.direction / jnp.linalg.norm(self.direction)
        margin, radius = jnp.asarray(self.margin, dtype), jnp.asarray(self.radius, dtype)
        label_key, margin_key, rest_key, length_key = jax.random.split(key, 4)
        label = random.rademacher(label_key, (), dtype)
        along = margin + (radius - margin) * random.uniform(margin_key, (), dtype)
        z = random.normal(rest_key, (d,), dtype)
        z = z - (u @ z) * u
        fraction = random.uniform(length_key, (), dtype)
        length = jnp.sqrt(radius**2 - along**2) * fraction ** (1.0 / (d - 1))
        return label * along * u + length * z / jnp.linalg.norm(z), SeparableState(label)

    def outcome(
        self, key: Key[Array, ""], state: SeparableState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], SeparableState]:
        """Return the label."""
        return state.label, state


# ---------------------------------------------------------------------------------------------------------------------
# Lower bounds with partially observed attributes: Cesa-Bianchi et al. (2010c), Theorems 3 and 4 (A.3, A.4).


class HiddenAttributeState(NamedTuple):
    """State of `HiddenAttribute`: the index j of the relevant attribute of the run."""

    attribute: Int[Array, ""]


@cites("cesabianchi2010efficient")
@struct
class HiddenAttribute(ScalarOutcome):
    """Uniform x in {-1, +1}^d whose label is one attribute x_j with noise (Cesa-Bianchi et al. 2010c, Theorem 3).

    The label is x_j with probability 1/2 + sqrt(eps), else -x_j; each run draws the index j. The best linear predictor
    is 2 sqrt(eps) e_j, with risk 1 - 4 eps; a predictor w has the excess risk |w - 2 sqrt(eps) e_j|^2.
    `bounds.hidden_attribute_examples` returns the number of examples needed for an excess risk of eps.

    Args:
        dimension: the number d of attributes.
        eps: sets the probability 1/2 + sqrt(eps) that the label is x_j; Theorem 3 of Cesa-Bianchi et al. (2010c)
            assumes eps < 1/16.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> hidden = jo.environments.HiddenAttribute(5, eps=0.25)
        >>> state = hidden.init(jax.random.key(0))
        >>> x, state = hidden.instance(jax.random.key(1), state, jnp.int32(1))
        >>> y, state = hidden.outcome(jax.random.key(2), state, jnp.int32(1), x, jnp.float32(0.0))
        >>> bool(y == x[state.attribute])
        True
    """

    dimension: Count = static()
    eps: Annotated[Number, Interval(gt=0, le=0.25)]
    oblivious = True
    outcomes = np.array([-1.0, 1.0])

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.dimension,), self._dtype)

    @property
    def _dtype(self) -> Any:
        return self.eps.dtype if isinstance(self.eps, jax.Array) else jnp.result_type(float)

    def init(self, key: Key[Array, ""]) -> HiddenAttributeState:
        return HiddenAttributeState(random.randint(key, (), 0, self.dimension, jnp.int32))

    def instance(
        self, key: Key[Array, ""], state: HiddenAttributeState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], HiddenAttributeState]:
        """Draw an instance of independent uniform signs."""
        return random.rademacher(key, (self.dimension,), self._dtype), state

    def outcome(
        self, key: Key[Array, ""], state: HiddenAttributeState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], HiddenAttributeState]:
        """Return the label: x_j with probability 1/2 + sqrt(eps), else -x_j."""
        is_equal = random.bernoulli(key, 0.5 + jnp.sqrt(jnp.asarray(self.eps, x.dtype)))
        return jnp.where(is_equal, x[state.attribute], -x[state.attribute]), state

    def excess_risk(self, w: Float[Array, "d"], attribute: Int[Array, ""]) -> Float[Array, ""]:
        """Return the excess risk of <w, x> over the best linear predictor, if the relevant attribute is `attribute`."""
        best = jnp.zeros_like(w).at[attribute].set(2 * jnp.sqrt(jnp.asarray(self.eps, w.dtype)))
        return jnp.sum((w - best) ** 2)


@cites("cesabianchi2010efficient")
def three_bits() -> DataStream:
    """Uniform x in {-1, +1}^3 with the mean of its entries as label, drawn anew in each round.

    Source: Cesa-Bianchi et al. (2010c), Theorem 4.

    The predictor w = (1/3, 1/3, 1/3) has no error, and two attributes of each example suffice to learn w. But a
    prediction from two attributes has an expected squared error of at least 1/9, even if the distribution is known.

    Example:
        >>> from jaxonline.environments import three_bits
        >>> three_bits().X[1].tolist(), round(float(three_bits().y[1]), 4)
        ([-1.0, -1.0, 1.0], -0.3333)
    """
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return DataStream(corners, corners.mean(axis=1), order="iid")


# ---------------------------------------------------------------------------------------------------------------------
# Boolean instances with few relevant attributes, such as the words of a message: Littlestone (1988).


class SparseBooleansState(NamedTuple):
    """State of `SparseBooleans`: the relevant attributes of the run [k]."""

    relevant: Int[Array, "k"]


@cites("littlestone1988learning", "kivinen1997perceptron")
@struct
class SparseBooleans(ScalarOutcome):
    """Boolean instances in {0, 1}^d whose label is +1 if at least r of k relevant attributes are present, otherwise -1.

    With r = 1 the label is a disjunction. Each run draws the relevant attributes. Attributes are present independently
    with the given probability, except that the last attribute is present in every instance and never relevant: it lets
    a linear classifier through 0 have a threshold. For example, attributes are words, and instances are messages.
    Kivinen, Warmuth and Auer (1997) compare Winnow and the perceptron on such targets.

    Args:
        dimension: number d of attributes.
        n_relevant: number k of relevant attributes, less than d.
        n_required: r, at most k.
        presence: probability of an attribute.

    Example:
        >>> import jax, jaxonline as jo
        >>> words = jo.environments.SparseBooleans(50, n_relevant=2, presence=0.2)
        >>> game = jo.Game(words, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> history = jo.play(game, jo.learners.Winnow(), jax.random.key(0), n_rounds=500)[1]
        >>> bool(0 < history.loss.sum() <= jo.bounds.winnow(50, 2))
        True
    """

    dimension: CountFrom2 = static()
    n_relevant: Count = static()
    n_required: Count = static(default=1)
    presence: Probability = 0.1
    oblivious = True
    outcomes = np.array([-1.0, 1.0])

    def __post_init__(self) -> None:
        if self.n_relevant >= self.dimension:
            raise ArgumentError("n_relevant", f"must be less than dimension, {self.dimension} (got {self.n_relevant})")
        if self.n_required > self.n_relevant:
            raise ArgumentError("n_required", f"must be at most n_relevant, {self.n_relevant} (got {self.n_required})")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.dimension,), jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> SparseBooleansState:
        """Draw the relevant attributes."""
        return SparseBooleansState(random.permutation(key, self.dimension - 1)[: self.n_relevant])

    def instance(
        self, key: Key[Array, ""], state: SparseBooleansState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], SparseBooleansState]:
        """Draw an instance."""
        dtype = self.instance_spec.dtype
        present = random.bernoulli(key, jnp.asarray(self.presence, dtype), (self.dimension,)).astype(dtype)
        return present.at[-1].set(1.0), state

    def outcome(
        self, key: Key[Array, ""], state: SparseBooleansState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], SparseBooleansState]:
        """Return the label."""
        enough = jnp.sum(x[state.relevant]) >= self.n_required
        return jnp.where(enough, 1.0, -1.0).astype(x.dtype), state
