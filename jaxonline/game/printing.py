"""A history as a table that one can read: a line for a round, the first rounds and the last ones."""

import operator
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxonline.game.protocols import Draw

HEAD, TAIL = 6, 3
ENTRIES = 4  # of a vector


def is_history(record: Any) -> bool:
    """Whether the record is of several rounds with known numbers, and not of one, or traced."""
    leaves = jax.tree.leaves(record)
    return (
        np.ndim(record.loss) == 1
        and all(isinstance(each, np.ndarray | jax.Array) for each in leaves)
        and not any(isinstance(each, Tracer) for each in leaves)
    )


def history_table(record: Any) -> str:
    """Round, instance, move, outcome, loss and queries; below, the sums."""
    n_rounds = len(record.loss)
    shown = list(range(n_rounds))
    if n_rounds > HEAD + TAIL + 1:
        shown = [*range(HEAD), *range(n_rounds - TAIL, n_rounds)]

    def cells(values: Any) -> list[str]:
        host = jax.tree.map(np.asarray, values)
        return [_words(jax.tree.map(operator.itemgetter(t), host)) for t in shown]

    columns = {
        "round": [str(t + 1) for t in shown],
        "instance": cells(record.x),
        "move": cells(record.y_hat),
        "outcome": cells(record.y),
        "loss": [f"{float(record.loss[t]):.4g}" for t in shown],
        "queries": [str(int(record.queries[t])) for t in shown],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    widths = {name: max(map(len, (name, *cells))) for name, cells in columns.items()}
    lines = ["  ".join(name.rjust(width) for name, width in widths.items())]
    for i, t in enumerate(shown):
        if i and t > shown[i - 1] + 1:
            lines.append("...".rjust(widths["round"]))
        lines.append("  ".join(columns[name][i].rjust(width) for name, width in widths.items()))
    total, queries = float(np.sum(np.asarray(record.loss, float))), int(np.sum(np.asarray(record.queries, np.int64)))
    return "\n".join([*lines, f"{n_rounds} rounds, sum of losses {total:.6g}, {queries} queries"])


def _words(value: Any) -> str:
    """An arm with its probability, a number, a short vector, or the shape of what is larger; "" for nothing."""
    if isinstance(value, Draw):
        arm = int(value.arm)
        return f"{arm} (p = {float(value.probabilities[arm]):.3f})"
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(value)]
    if sum(leaf.size for leaf in leaves) == 0:
        return ""
    return ", ".join(_array(leaf) for leaf in leaves)


def _array(array: np.ndarray) -> str:
    if array.ndim == 0:
        return f"{array.item():.4g}"
    if array.ndim > 1:
        return "x".join(map(str, array.shape))
    entries = " ".join(f"{each:.3g}" for each in array[:ENTRIES].tolist())
    return f"[{entries}{' ...' * (len(array) > ENTRIES)}]"
