"""What is measured, in words."""

LABELS = {
    "regret": "regret",
    "cumulative_loss": "cumulative loss",
    "comparator_loss": "best in hindsight, loss",
    "queries": "queries",
}


def label_of(quantity: str) -> str:
    """A quantity in words.

    Example:
        >>> from jaxonline.results.quantities import label_of
        >>> label_of("cumulative_loss"), label_of("largest_loss")
        ('cumulative loss', 'largest loss')
    """
    return LABELS.get(quantity, quantity.replace("_", " "))
