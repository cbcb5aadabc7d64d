"""Comparators that change over time: the best expert of each round, and sequences of experts with few switches."""

from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxonline.game.masks import mask_of, where_available
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, PyTree
from jaxonline.parameters.validation import validate_arguments


class ExpertSequence(NamedTuple):
    """Best sequence of experts, from `best_segments`: its cumulative loss, and the expert of each round [T]."""

    loss: float
    experts: Int[np.ndarray, "T"]


@struct
class BestSegments:
    """Best sequence of experts (or arms) with at most k segments, the comparator of the switching regret.

    Outcomes are vectors of the losses of all experts. Dynamic programming finds the best sequence exactly, in time T k
    K for K experts (`best_segments`). With one segment the comparator is `BestArm`.

    Args:
        n_segments: k, the largest number of segments; there are at most k - 1 switches.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> losses, rounds = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.array([3, 4])
        >>> [jo.BestSegments(k).best_losses(None, losses, rounds).tolist() for k in (1, 2, 3)]
        [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """

    n_segments: Count = static()
    label: ClassVar[str] = "the best sequence of arms"

    def best_losses(
        self, X: PyTree, y: Float[np.ndarray, "T K"], rounds: Int[np.ndarray, "G"]
    ) -> Float[np.ndarray, "G"]:
        """Return the smallest loss over the first t rounds, for each t of `rounds` (TypeError unless `y` is [T, K])."""
        del X
        if y.ndim != 2:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses for BestSegments (got shape {y.shape[1:]})")
        best, losses_so_far = np.full((self.n_segments, y.shape[1]), np.inf), np.empty(len(y))
        best[0] = 0.0
        for t, losses in enumerate(y):
            best[1:] = np.minimum(best[1:], best[:-1].min(axis=1, keepdims=True))
            best = best + losses
            losses_so_far[t] = best.min()
        return losses_so_far[np.asarray(rounds) - 1]


@struct
class BestOfEachRound:
    """Best expert (or arm) of every round, the comparator of the dynamic regret.

    Outcomes are vectors of the losses of all experts; under `game.PseudoRegret` outcomes are the expected losses. In
    games with masks (`environments.Sleeping`) the comparator is the best available expert.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import BestOfEachRound, cumulative_statistic
        >>> comparator = BestOfEachRound()
        >>> sums = cumulative_statistic(comparator, np.zeros((2, 0)), np.array([[0.5, 0.25], [0.0, 1.0]]))
        >>> float(comparator.best_loss(sums))
        0.25
    """

    label: ClassVar[str] = "the best arm of each round"
    uses_masks: ClassVar[bool] = True

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, ""]:
        """Smallest loss of an expert in one round; raises a TypeError if the outcome is not a vector."""
        if len(getattr(y, "shape", ())) != 1:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses for BestOfEachRound (got {y})")
        return where_available(mask_of(x), y, np.inf).min()

    def best_loss(self, sums: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Sum of the smallest losses of the rounds."""
        return np.asarray(sums)


@validate_arguments
def best_segments(losses: Float[ArrayLike, "T K"], n_segments: Count) -> ExpertSequence:
    """Compute the best sequence of experts with at most k segments, by dynamic programming.

    Args:
        losses: loss of every expert in every round [T, K].
        n_segments: k, the largest number of segments.

    Example:
        >>> from jaxonline.comparators import best_segments
        >>> loss, experts = best_segments([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], n_segments=2)
        >>> loss, experts.tolist()
        (0.0, [0, 0, 1])
    """
    # best[s, i]: smallest loss so far of the sequences with at most s switches that end with expert i. They continue
    # with i, or come from the best sequence with one switch less.
    losses = np.asarray(losses, float)
    k = min(n_segments, len(losses))
    best = np.full((k, losses.shape[1]), np.inf)
    best[0] = 0.0
    previous_experts = []  # the expert of the round before if there was a switch, otherwise -1
    for row in losses:
        switched = best[:-1].min(axis=1, keepdims=True)
        switch = switched < best[1:]
        switched_from = np.where(switch, best[:-1].argmin(axis=1, keepdims=True), -1)
        previous_experts.append(np.vstack([np.full_like(row, -1, dtype=int), switched_from]))
        best = np.vstack([best[:1], np.where(switch, switched, best[1:])]) + row
    s, expert = np.unravel_index(int(best.argmin()), best.shape)
    experts = np.empty(len(losses), int)
    for t in range(len(losses) - 1, -1, -1):
        experts[t] = expert
        if previous_experts[t][s, expert] >= 0:
            s, expert = s - 1, previous_experts[t][s, expert]
    return ExpertSequence(float(best.min()), experts)
