"""Names of measured quantities, readable for titles, axes and tables; quantities of arms with rewards."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxonline.parameters import check

LABELS = {
    "regret": "regret",
    "cumulative_loss": "cumulative loss",
    "comparator_loss": "best in hindsight, loss",
    "cumulative_reward": "cumulative reward",
    "comparator_reward": "best in hindsight, reward",
    "queries": "queries",
}
LOSS_OF_REWARD = {"cumulative_reward": "cumulative_loss", "comparator_reward": "comparator_loss"}
"""The stored losses from which the rewards of a result are computed: the played rounds minus the loss."""

ROUNDS_PLAYED = "rounds_played"
"""The measure of played rounds: studies of arms with rewards have it if a learner can stop before the horizon."""

REWARD_OF_LOSS = {loss: reward for reward, loss in LOSS_OF_REWARD.items()}


def has_rewards(result: Any) -> bool:
    """Return whether the arms of a result have rewards, so that the result shows rewards."""
    return result.meta.get("rewards") is True


def rounds_played(result: Any) -> Any:
    """Return the number of played rounds, [L, R, G] or [G]; it is smaller than the round in runs that have stopped."""
    return result.measures.get(ROUNDS_PLAYED, result.rounds)


def quantities_of(result: Any) -> tuple[str, ...]:
    """Return the names of all quantities of a result; see `Result.quantities`."""
    names = (*(("regret", "comparator_loss") if result.comparator_loss is not None else ()), *result.measures)
    return tuple(REWARD_OF_LOSS.get(name, name) for name in names) if has_rewards(result) else names


def default_quantity(result: Any, quantity: str | None = None) -> str:
    """Return the given quantity; by default "regret", or without a comparator the cumulative loss or reward."""
    if quantity is not None:
        return check.choice("quantity", quantity, result.quantities)
    if result.comparator_loss is not None:
        return "regret"
    return "cumulative_reward" if has_rewards(result) else "cumulative_loss"


def is_reward(result: Any, quantity: str) -> bool:
    """Return whether a quantity of a result is a reward, of which a larger number is better."""
    return has_rewards(result) and quantity in LOSS_OF_REWARD


def best_first(means: np.ndarray, reward: bool) -> np.ndarray:
    """Return the order of means [L] from the best to the worst: from the smallest, or for a reward from the largest.

    Example:
        >>> import numpy as np
        >>> means = np.array([2.0, 1.0, 3.0])
        >>> best_first(means, reward=False).tolist(), best_first(means, reward=True).tolist()
        ([1, 0, 2], [2, 0, 1])
    """
    return np.argsort(-means if reward else means, kind="stable")


# sums and counts over rounds, which are 0 before the first round
ZERO_AT_START = (
    "regret", "cumulative_loss", "comparator_loss", *LOSS_OF_REWARD, "queries", "switches", "mistakes", "unanswered",
)  # fmt: skip


def label_of(quantity: str, meta: Mapping[str, Any] | None = None) -> str:
    """Return the name of a quantity for titles, axes and column heads.

    Args:
        quantity: "regret", "comparator_loss", or the name of a measure.
        meta: metadata of the result; if given, the name of the regret includes the comparator.

    Example:
        >>> label_of("cumulative_loss"), label_of("largest_loss")
        ('cumulative loss', 'largest loss')
        >>> label_of("regret", {"regret_label": "pseudo-regret against the best arm (loss)"})
        'pseudo-regret against the best arm (loss)'
        >>> label_of("regret"), label_of("regret", {})
        ('regret', 'regret against the best in hindsight')
    """
    if quantity == "regret" and meta is not None:
        notion = "pseudo-regret against the best" if meta.get("pseudo") else None
        return meta.get("regret_label") or notion or "regret against the best in hindsight"
    return LABELS.get(quantity, quantity.replace("_", " "))
