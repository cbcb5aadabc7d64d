"""Noisy copies whose labels have correlated noise, their gradient estimator and its bound.

The noise of label j is correlated with the noise of copy j. An example is a measuring device whose error affects both x
and y. Cesa-Bianchi et al. (2010a, b) have independent noise of labels.
"""

import math
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.bounds.gradient import gradient_descent
from jaxonline.bounds.theorem import OBLIVIOUS, Bound, theorem
from jaxonline.estimators.gradients import KnownCovariance
from jaxonline.feedback.copies import CopiesOracle
from jaxonline.feedback.noise import AnyNoise, Noise, RareErrors, TwoPoints
from jaxonline.game.roles import Feedback
from jaxonline.losses import Loss, Squared
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, PositiveFloat, PyTree, Rounds


@struct
class JointNoise:
    """Distribution of the noise of a copy and of its label, drawn together.

    Args:
        joint: distribution of vectors with d + 1 entries (`jaxonline.noise`): first the noise of the instance, then the
            noise of the label. For Gaussian noise, `covariance` is the matrix [d + 1, d + 1] of both. The distribution
            must not depend on the instance: `Noise`, `TwoPoints` or `RareErrors`.

    Raises:
        TypeError: another distribution, such as `FlippedLabels` or `CustomNoise`.

    Example:
        >>> from benchmarks.papers.estimators.copies import JointNoise
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> noise = JointNoise(jo.noise.gaussian([[0.5, 0.2], [0.2, 0.3]]))
        >>> round(noise.cross_covariance_at(jnp.int32(1), jnp.zeros(1)).item(), 6)
        0.2
    """

    joint: AnyNoise

    def __post_init__(self) -> None:
        if not isinstance(self.joint, Noise | TwoPoints | RareErrors):  # noise is drawn for the vector 0
            wanted = "must not depend on the instance: gaussian, laplace, uniform, student_t, TwoPoints or RareErrors"
            raise ArgumentTypeError("joint", f"{wanted} (got {check.quote(self.joint)})")

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return one draw of the noise of the instance `x`."""
        return self._sample(key, t, x)[:-1]

    def sample_label(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, ""]:
        """Return the noise of the label that belongs to the draw of `sample` with the same key."""
        return self._sample(key, t, x)[-1]

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance of the noise of the instance."""
        return self._covariance_at(t, x)[:-1, :-1]

    def cross_covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the covariances of the noise of the instance and the noise of the label."""
        return self._covariance_at(t, x)[:-1, -1]

    def _sample(self, key, t, x):
        return self.joint.sample(key, t, jnp.zeros(x.shape[0] + 1, x.dtype))

    def _covariance_at(self, t, x):
        return self.joint.covariance_at(t, jnp.zeros(x.shape[0] + 1, x.dtype))


class CorrelatedOracle(CopiesOracle):
    """The oracle of copies and labels with correlated noise: label j belongs to copy j.

    Example:
        >>> from benchmarks.papers.estimators.copies import CorrelatedCopies, JointNoise
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = CorrelatedCopies(JointNoise(jo.noise.gaussian(jnp.ones((2, 2)))))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(1), jnp.float32(0.0), 0.0)
        >>> bool(jnp.allclose(oracle.copy(1)[0], oracle.label(1), atol=1e-5)), oracle.queries().item()
        (True, 1)
    """

    def __init__(self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, law: JointNoise, reveals: bool):
        """Create the oracle of a round; `reveals` is whether covariances are revealed."""
        covariance = (lambda: law.covariance_at(t, x)) if reveals else None
        super().__init__(
            key, t, x, y, noise=lambda key, index: law.sample(key, t, x), label_noise=law, covariance=covariance
        )
        self._law = law

    def label(self, index: int | Int[Array, ""] = 0) -> Float[Array, ""]:
        """Return the label of copy number `index`. Labels are free: queries count copies of the instance."""
        key = jax.random.fold_in(self._key, jnp.asarray(index, jnp.int32))
        return self._y + self._law.sample_label(key, self._t, self._x)

    @property
    def cross_covariance(self) -> Float[Array, "d"]:
        """Return the covariances of the noise of a copy and the noise of its label, if the feedback reveals them."""
        if self._covariance is None:
            raise ValueError("reveal_covariance: must be True for a learner that asks for the covariance (got False)")
        return self._law.cross_covariance_at(self._t, self._x)


JointLaw = Annotated[
    JointNoise,
    Convert(lambda law, name: check.instance(name, law, JointNoise, "a JointNoise, e.g. JointNoise(gaussian(matrix))")),
]


@struct
class CorrelatedCopies(Feedback):
    """Noisy copies whose labels have correlated noise: E (x~ - x) (y~ - y) = c for a copy and its label.

    A gradient that multiplies a copy by its own label is biased: `KnownCovariance` has the bias -2 c, which
    `KnownJointCovariance` removes, and `PairsOfCopies(n)` the bias -2 c / n. `TwoCopies` has no bias, since its label
    belongs to the other copy.

    Args:
        noise: distribution of the noise of copies and labels.
        reveal_covariance: whether the learner observes the covariance of each round's noise, and c.

    Example:
        >>> from benchmarks.papers.estimators.copies import CorrelatedCopies, JointNoise, KnownJointCovariance
        >>> import numpy as np, jaxonline as jo
        >>> noise = JointNoise(jo.noise.gaussian([[0.3, 0.0, 0.1], [0.0, 0.3, 0.1], [0.1, 0.1, 0.2]]))
        >>> feedback = CorrelatedCopies(noise, reveal_covariance=True)
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), feedback)
        >>> learner = jo.GradientLearner(KnownJointCovariance(), step_size=0.01, radius=1.0)
        >>> jo.simulate(game, learner, n_runs=2, n_rounds=4).queries[0, :, -1].tolist()
        [4.0, 4.0]
    """

    noise: JointLaw
    reveal_covariance: bool = static(default=False)

    makes_copies = True

    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree = ()
    ) -> CorrelatedOracle:
        """Return the oracle of one round."""
        return CorrelatedOracle(key, t, x, y, self.noise, self.reveal_covariance)


@cites("cesabianchi2010learning")
@struct
class KnownJointCovariance:
    """Unbiased gradient of the squared loss from one copy and its label, whose noise has a known joint covariance.

    With E (x~ - x) (x~ - x)' = Sigma and E (x~ - x) (y~ - y) = c the estimate is 2 (<w, x~> - y~) x~ - 2 Sigma w + 2 c:
    the mean of y~ x~ is y x + c. For c = 0 it is `KnownCovariance`, the case of Cesa-Bianchi et al. (2010b), Lemma 2.
    The second moment of the estimate is in `jaxonline.bounds.known_joint_covariance`.

    Example:
        >>> from benchmarks.papers.estimators.copies import JointNoise, KnownJointCovariance
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> noise = JointNoise(jo.noise.gaussian([[0.3, 0.0, 0.1], [0.0, 0.3, 0.1], [0.1, 0.1, 0.2]]))
        >>> feedback = jo.feedback.CorrelatedCopies(noise, reveal_covariance=True)
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> gradient = KnownJointCovariance()(jax.random.key(1), jnp.zeros(2), oracle)
        >>> gradient.shape, oracle.queries().item()
        ((2,), 1)
    """

    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return 2 (<w, x~> - y~) x~ - 2 Sigma w + 2 c."""
        return KnownCovariance()(key, w, oracle) + 2 * oracle.cross_covariance


@theorem(OBLIVIOUS, "cesabianchi2010learning", prescribed_rate=True)
def known_joint_covariance(
    radius: PositiveFloat, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds
) -> Bound:
    """Regret bound for one noisy copy and its label with correlated noise, whose joint covariance is known.

    The bound is B_w sqrt(G T), with step size B_w / sqrt(G T) and G = 4 (B_w B + sqrt(2) B_y)^2 B^2 (see
    `jaxonline.estimators.KnownJointCovariance`). For independent noise G = 4 (B_w B + B_y)^2 B^2 suffices, but not for
    correlated noise (`claims.correlated_noise`).

    Args:
        radius: B_w, radius of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^4 <= B^4 in every round (`moment_bounds(...).x_fourth`).
        y_bound: B_y with E y~^4 <= B_y^4 in every round (`moment_bounds(...).y_fourth`).
        n_rounds: horizon T.

    Example:
        >>> from benchmarks.papers.estimators.copies import known_joint_covariance
        >>> round(known_joint_covariance(1.0, 1.0, 1.0, 100).G, 4)
        23.3137
    """
    # Half of the gradient is a - b, a = <w, x~> x~ - Sigma w, b = y~ x~ - c. In `claims.noise` E|a|^2 <= B_w^2 B^4. As
    # the mean of y~ x~ is y x + c, E|b|^2 <= E y~^2 |x~|^2 + y^2 |x|^2 <= 2 B_y^2 B^2. The rest is Minkowski.
    G = 4 * (radius * x_bound + math.sqrt(2) * y_bound) ** 2 * x_bound**2
    return gradient_descent(radius, G, n_rounds)
