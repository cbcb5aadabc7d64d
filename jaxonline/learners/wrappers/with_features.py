"""A learner in feature space, for a feature map such as random Fourier features: Rahimi and Recht (2007)."""

from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.fourier import AnyFeatures
from jaxonline.game.roles import Feedback, Learner, LearnerWrapper, Oracle, Specs
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Convert, PyTree


def _require_learner(learner: Any, name: str) -> Any:
    return check.instance(name, learner, Learner, "a learner, whose class inherits from jo.Learner")


@cites("rahimi2007random")
@struct
class WithFeatures(LearnerWrapper):
    """Learner in feature space, which sees phi(x) in place of every instance and copy, and predicts from phi(x).

    Labels, queries and the costs of queries do not change. On noisy copies features are biased, since E phi(x~) differs
    from phi(x): `TwoCopies` learns with the mean features E phi(x~) in place of phi(x), and `MeanOfCopies` averages
    features, not copies. With unbiased `copy_features` `TwoCopies` learns with phi(x). The covariance of the noise of
    features is unknown: `KnownCovariance` raises a ValueError.

    Args:
        learner: a learner of vectors with the length of the features.
        features: a feature map, a pytree that is a function of an instance (`FourierFeatures`).
        copy_features: the feature map of noisy copies; `features` when None.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from jaxonline.estimators import FourierFeatures, NaiveCopy
        >>> features = FourierFeatures.draw(jax.random.key(0), jo.kernels.Gaussian(2.0), dimension=2, n_frequencies=50)
        >>> learner = jo.GradientLearner(NaiveCopy(), step_size=0.1, radius=3.0)
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.2)))
        >>> jo.play(game, jo.learners.WithFeatures(learner, features), jax.random.key(1), n_rounds=5)[0].w.shape
        (100,)
    """

    learner: Annotated[Any, Component("learner"), Convert(_require_learner)]
    features: AnyFeatures
    copy_features: AnyFeatures | None = None

    def check_feedback(self, feedback: Feedback) -> None:
        """Check the feedback by the inner learner; noise of features has no single distribution."""
        shown = Feedback()
        vars(shown).update({name: getattr(feedback, name) for name in Feedback.__annotations__ if name != "noise"})
        super().check_feedback(shown)

    def init(self, key: Key[Array, ""], specs: Specs) -> PyTree:
        """Return the learner's state for instances like phi(x)."""
        return self.learner.init(key, specs._replace(instance=jax.eval_shape(self.features, specs.instance)))

    def predict(self, key: Key[Array, ""], state: PyTree, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict from phi(x)."""
        return self.learner.predict(key, state, self.features(x))

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Update the learner with an oracle of features."""
        of_copies = self.features if self.copy_features is None else self.copy_features
        return self.learner.update(key, state, FeaturedOracle(oracle, self.features, of_copies))


class FeaturedOracle(Oracle):
    """Oracle in feature space: returns phi of the instance and the copies of another oracle, which counts queries.

    `of_copies` is the feature map of copies.
    """

    def __init__(self, oracle: Any, features: Callable[[Array], Array], of_copies: Callable[[Array], Array]):
        self._oracle = oracle
        self._of_instance = features
        self._features = of_copies

    @property
    def x(self) -> Float[Array, "m"]:
        """phi(x)."""
        return self._of_instance(self._oracle.x)

    @property
    def y(self) -> Float[Array, ""]:
        """The target."""
        return self._oracle.y

    def copy(self, index: int) -> Float[Array, "m"]:
        """Return phi of the copy with the given index."""
        return self._features(self._oracle.copy(index))

    def copies(self, first: int, capacity: int, number: Int[Array, ""] | None = None) -> Float[Array, "capacity m"]:
        """Return phi of `number` or `capacity` copies from index `first` on; charge these copies. Other rows are 0."""
        if number is None:
            return jnp.stack([self._features(copy) for copy in self._oracle.copies(first, capacity)])
        features = jax.vmap(self._features)(self._oracle.copies(first, capacity, number))
        drawn = jnp.arange(capacity, dtype=jnp.int32) < number
        return jnp.where(drawn[:, None], features, jnp.zeros_like(features))

    def reserve(self, number: Int[Array, ""]) -> Callable[[Int[Array, ""]], Float[Array, "m"]]:
        """Charge `number` copies; return `draw`, where `draw(index)` is phi of the copy `index`."""
        draw = self._oracle.reserve(number)
        return lambda index: self._features(draw(index))

    def label(self, index: int | Int[Array, ""] = 0) -> Float[Array, ""]:
        """Return the noisy label with the given index."""
        return self._oracle.label(index)

    def labels(self, capacity: int, number: Int[Array, ""]) -> Float[Array, "capacity"]:
        """Return the first `number` noisy labels."""
        return self._oracle.labels(capacity, number)

    @property
    def covariance(self) -> Float[Array, "m m"]:
        """Raise a ValueError, since the covariance of the noise of features is unknown."""
        raise ValueError("covariance: unknown for the noise of features; use an estimator that does not need it")

    def queries(self) -> Int[Array, ""]:
        """Return the number of queries charged so far in this round."""
        return self._oracle.queries()
