"""A history as a table: one line per round, for the first and the last rounds."""

import operator
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxonline.game.protocols import Draw

FIRST_ROUNDS, LAST_ROUNDS = 6, 3
MAX_VECTOR_ENTRIES = 4


def is_history(record: Any) -> bool:
    """Whether a record holds several rounds with known numbers, not a single round and not traced numbers."""
    leaves = jax.tree.leaves(record)
    return (
        np.ndim(record.loss) == 1
        and all(isinstance(leaf, np.ndarray | jax.Array) for leaf in leaves)
        and not any(isinstance(leaf, Tracer) for leaf in leaves)
    )


def history_table(record: Any) -> str:
    """Format a history as a table of round, instance, move, outcome, loss and queries, with sums in the last line."""
    n_rounds = len(record.loss)
    rows = list(range(n_rounds))
    if n_rounds > FIRST_ROUNDS + LAST_ROUNDS + 1:
        rows = [*range(FIRST_ROUNDS), *range(n_rounds - LAST_ROUNDS, n_rounds)]

    def cells(values: Any) -> list[str]:
        host = jax.tree.map(np.asarray, values)
        return [_format_value(jax.tree.map(operator.itemgetter(t), host)) for t in rows]

    columns = {
        "round": [str(t + 1) for t in rows],
        "instance": cells(record.x),
        "move": cells(record.y_hat),
        "outcome": cells(record.y),
        "loss": [f"{float(record.loss[t]):.4g}" for t in rows],
        "queries": [str(int(record.queries[t])) for t in rows],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    widths = {name: max(map(len, (name, *cells))) for name, cells in columns.items()}
    lines = ["  ".join(name.rjust(width) for name, width in widths.items())]
    for i, t in enumerate(rows):
        if i and t > rows[i - 1] + 1:
            lines.append("...".rjust(widths["round"]))
        lines.append("  ".join(columns[name][i].rjust(width) for name, width in widths.items()))
    total, queries = float(np.sum(np.asarray(record.loss, float))), int(np.sum(np.asarray(record.queries, np.int64)))
    return "\n".join([*lines, f"{n_rounds} rounds, sum of losses {total:.6g}, {queries} queries"])


def _format_value(value: Any) -> str:
    """Format an arm with its probability, a number, a short vector, or a larger array's shape; "" if nothing."""
    if isinstance(value, Draw):
        arm = int(value.arm)
        return f"{arm} (p = {float(value.probabilities[arm]):.3f})"
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(value)]
    if sum(leaf.size for leaf in leaves) == 0:
        return ""
    return ", ".join(_format_array(leaf) for leaf in leaves)


def _format_array(array: np.ndarray) -> str:
    if array.ndim == 0:
        return f"{array.item():.4g}"
    if array.ndim > 1:
        return "x".join(map(str, array.shape))
    entries = " ".join(f"{entry:.3g}" for entry in array[:MAX_VECTOR_ENTRIES].tolist())
    return f"[{entries}{' ...' * (len(array) > MAX_VECTOR_ENTRIES)}]"
