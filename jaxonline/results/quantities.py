"""Names of measured quantities for people."""

from collections.abc import Mapping
from typing import Any

LABELS = {
    "regret": "regret",
    "cumulative_loss": "cumulative loss",
    "comparator_loss": "best in hindsight, loss",
    "queries": "queries",
}


def label_of(quantity: str, meta: Mapping[str, Any] | None = None) -> str:
    """The name of a quantity in titles, axes and column heads.

    Args:
        quantity: "regret", "comparator_loss", or the name of a measure.
        meta: metadata of the result; if given, the regret is named in full, with its comparator.

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
    """The label for a column head: the regret without its comparator.

    Example:
        >>> short_label_of("regret", {"regret": "PseudoRegret"})
        'pseudo-regret'
    """
    return "pseudo-regret" if quantity == "regret" and meta.get("regret") == "PseudoRegret" else label_of(quantity)
