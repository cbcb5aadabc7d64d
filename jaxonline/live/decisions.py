"""Decisions of live bandits: arms whose rewards come later, arms that somebody else chose, and arms that are available.

Such a round runs in the program of whole rounds, with the learner `WithArms`. The arm and K numbers stand behind the
instance, in one row of numbers.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.roles import Draw, LearnerWrapper, Specs
from jaxonline.learners.bandits.exponential import draw_arm
from jaxonline.numerics.elementwise import call_with_available
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PyTree

NO_ARM = -1  # in a row: the learner chooses
NOT_AGAIN = -1  # number of known rounds of a decision that no later call of the same program makes again


class ArmDecision(int):
    """An arm that a live bandit chose: an integer, with the facts that a later update needs.

    Attributes:
        id: the number of the decision, 1, 2, ..., and of the round whose random numbers it has.
        x: the instance.
        probabilities: the probabilities of all arms [K]; NaN if they are unknown.
        known_rounds: the number of rounds whose outcomes were known; -1 for a choice among available arms.

    Example:
        >>> import jaxonline as jo
        >>> live = jo.Live(jo.learners.UCB1(), jo.Bandit(), instance=0, outcome=3)
        >>> decision = live.predict(available=[1, 2])
        >>> decision, decision + 1, decision.probability
        (ArmDecision(arm=1, probability=1.0, id=1), 2, 1.0)
    """

    id: int
    x: np.ndarray
    probabilities: np.ndarray
    known_rounds: int

    @classmethod
    def of(cls, arm: int, *facts: Any) -> "ArmDecision":
        """Return the decision with an arm and the attributes, in their order."""
        decision = cls(arm)
        decision.id, decision.x, decision.probabilities, decision.known_rounds = facts
        return decision

    arm = property(int, doc="The arm, as a plain integer.")

    @property
    def probability(self) -> float | None:
        """The probability of the arm; None if it is unknown."""
        probability = float(self.probabilities[self])
        return None if np.isnan(probability) else probability

    def __repr__(self) -> str:
        return f"ArmDecision(arm={self.arm}, probability={self.probability}, id={self.id})"


def join_rows(X: np.ndarray, arms: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return rows [n, m], each with an instance, an arm, and one number for each arm, in the dtype of the instances."""
    return np.concatenate([X.reshape(len(X), -1), arms[:, None], numbers], axis=1).astype(X.dtype)


def losses_of_all_arms(losses: np.ndarray, arms: np.ndarray, n_arms: int) -> np.ndarray:
    """Return the losses of all arms [n, K]: those of the given arms [n], and NaN for the others."""
    rows = np.full((len(arms), n_arms), np.nan, losses.dtype)
    rows[np.arange(len(arms)), arms] = losses
    return rows


def as_arms(name: str, value: Any, n_arms: int) -> np.ndarray:
    """Return arms as integers [n]; raise an error for other numbers."""
    arms = np.asarray(check.array(name, value, ndim=1, ge=0, le=n_arms - 1))
    if (arms != arms.astype(int)).any():
        raise ArgumentError(name, f"must be arms, which are integers (got {check.quote(value)})")
    return arms.astype(int)


def as_available(value: Any, n_arms: int, learner: Any) -> np.ndarray:
    """Return whether each arm is available [K]; raise a ValueError if the learner cannot restrict its arms."""
    if not learner.restricts_arms:
        problem = f"must be None for {type(learner).__name__}, whose choice among fewer arms is not defined"
        raise ArgumentError("available", f"{problem}; index policies, Thompson sampling and epsilon-greedy accept it")
    return np.isin(np.arange(n_arms), as_arms("available", value, n_arms))


def require_off_policy(learner: Any, name: str, what: str) -> None:
    """Raise a ValueError if a learner learns only from its own arm, before its next update."""
    if learner.off_policy is None:
        only = f"{type(learner).__name__} learns only from its own arm, before its next update"
        raise ArgumentError(name, f"must not be {what}, since {only} (its attribute off_policy is None)")


def off_policy_probabilities(value: Any, arms: np.ndarray, n_arms: int, learner: Any) -> np.ndarray:
    """Return the probabilities of all arms [n, K] with which another policy chose arms [n]; NaN if they are unknown.

    Args:
        value: the probabilities of the arms [n], or of all arms [n, K], or None.
        arms: the arms.
        n_arms: K.
        learner: the learner, whose `off_policy` says which of them it needs.

    Raises:
        ValueError: the learner needs others, or a number is no probability of the arm.
    """
    require_off_policy(learner, "arm", "an arm that another policy chose")
    places, rows = (np.arange(len(arms)), arms), np.full((len(arms), n_arms), np.nan)
    if value is None and learner.off_policy == "loss":
        return rows
    shapes = [rows.shape] if learner.off_policy == "probabilities" else [rows.shape, arms.shape]
    given = rows if value is None else np.asarray(check.array("probability", value, ge=0.0, le=1.0))
    if value is None or given.shape not in shapes:
        wanted = "the probabilities of all arms" if len(shapes) == 1 else "the probability of each pulled arm"
        raise ArgumentError("probability", f"must be {wanted} for {type(learner).__name__} (got {check.quote(value)})")
    rows[places if given.ndim == 1 else ...] = given
    if (rows[places] == 0.0).any() or (given.ndim == 2 and not np.allclose(given.sum(axis=1), 1.0, atol=1e-4)):
        wanted = "must be above 0 for the arm that was chosen, and have the sum 1 over all arms"
        raise ArgumentError("probability", f"{wanted} (got {check.quote(value)})")
    return rows


@struct
class WithArms(LearnerWrapper):
    """A bandit learner that learns from given arms, or chooses among the available ones.

    An instance is a row: the learner's instance, an arm or -1, and for each arm its probability or, behind -1, whether
    it is available. A learner that draws its arm then draws from its distribution, given that the arm is available.

    Args:
        learner: the learner.
        specs: its instances and outcomes.
    """

    learner: Any
    specs: Specs = static()

    def init(self, key: Key[Array, ""], specs: Specs) -> PyTree:
        """Return the state of the learner."""
        return self.learner.init(key, self.specs)

    def predict(self, key: Key[Array, ""], state: PyTree, row: Float[Array, "n"]) -> Draw | Int[Array, ""]:
        """Return the given arm, or an available arm."""
        x, arm, numbers = self._split(row)
        move = call_with_available(numbers > 0, self.learner.predict, key, state, x)
        given: Any = arm.astype(jnp.int32)
        if isinstance(move, Draw):
            weights = move.probabilities * numbers
            move, given = draw_arm(key, weights / jnp.sum(weights)), Draw(given, numbers)
        return jax.tree.map(lambda own, other: jnp.where(arm == NO_ARM, own, other.astype(own.dtype)), move, given)

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Update the learner, which sees its own instance."""
        oracle.x, *_ = self._split(oracle.x)
        return self.learner.update(key, state, oracle)

    def _split(self, row: Float[Array, "n"]) -> tuple[Array, Array, Array]:
        spec = self.specs.instance
        return row[: spec.size].reshape(spec.shape), row[spec.size], row[spec.size + 1 :]
