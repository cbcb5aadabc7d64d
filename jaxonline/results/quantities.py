"""Readable names of measured quantities, for titles, axes and tables."""

from collections.abc import Mapping
from typing import Any

LABELS = {
    "regret": "regret",
    "cumulative_loss": "cumulative loss",
    "comparator_loss": "best in hindsight, loss",
    "queries": "queries",
}

LARGER_IS_BETTER = ("cumulative_reward", "comparator_reward")
# sums and counts over rounds, which are 0 before the first round
ZERO_AT_START = (
    "regret", "cumulative_loss", "comparator_loss", *LARGER_IS_BETTER, "queries", "switches", "mistakes", "unanswered",
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
        notion = "pseudo-regret against the best" if meta.get("regret") == "PseudoRegret" else None
        return meta.get("regret_label") or notion or "regret against the best in hindsight"
    return LABELS.get(quantity, quantity.replace("_", " "))


def short_label_of(quantity: str, meta: Mapping[str, Any]) -> str:
    """Return the name of a quantity for a column head, where the name of the regret does not include the comparator.

    Example:
        >>> short_label_of("regret", {"regret": "PseudoRegret"})
        'pseudo-regret'
    """
    return "pseudo-regret" if quantity == "regret" and meta.get("regret") == "PseudoRegret" else label_of(quantity)
