"""A game as a line, and a history as a table: one line per round, for the first and the last rounds."""

import operator
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxonline.game.roles import Draw
from jaxonline.losses.arms import ARM_LOSSES, ArmLoss
from jaxonline.parameters.short_repr import short_repr

FIRST_ROUNDS, LAST_ROUNDS = 6, 3
MAX_VECTOR_ENTRIES = 4


def describe_game(game: Any) -> str:
    """Return a game as one line; the line of arms with rewards leaves out `ArmLoss`, as results show rewards."""
    if not (game.rewards and isinstance(game.loss, ArmLoss)):
        return short_repr(game)
    parts = {"environment": game.environment, "feedback": game.feedback, "pseudo": game.pseudo}
    return f"Game({', '.join(f'{name}={short_repr(part)}' for name, part in parts.items())})"


def game_line(game: Any) -> str:
    """Return a game as one line with a comment that says whether its arms have losses or rewards."""
    if not isinstance(game.loss, ARM_LOSSES):
        return describe_game(game)
    outcomes = "results show rewards of arms: higher" if game.rewards else "outcomes are losses of arms: lower"
    return f"{describe_game(game)}  # {outcomes} is better"


def is_history(record: Any) -> bool:
    """Whether a record holds several rounds with known numbers, not a single round and not traced numbers."""
    leaves = jax.tree.leaves(record)
    return (
        np.ndim(record.loss) == 1
        and all(isinstance(leaf, np.ndarray | jax.Array) for leaf in leaves)
        and not any(isinstance(leaf, Tracer) for leaf in leaves)
    )


def history_table(record: Any, rewards: bool = False) -> str:
    """Format a history as a table of round, instance, move, outcome, loss and queries, with sums in the last line.

    If `rewards` is True, the table has rewards, 1 - loss, in place of losses.
    """
    n_rounds = len(record.loss)
    losses = np.asarray(record.loss, float)
    head, numbers, outcomes = ("reward", 1.0 - losses, 1.0 - record.y) if rewards else ("loss", losses, record.y)
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
        "outcome": cells(outcomes),
        head: [f"{numbers[t]:.4g}" for t in rows],
        "queries": [str(int(record.queries[t])) for t in rows],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    widths = {name: max(map(len, (name, *cells))) for name, cells in columns.items()}
    lines = ["  ".join(name.rjust(width) for name, width in widths.items())]
    for i, t in enumerate(rows):
        if i and t > rows[i - 1] + 1:
            lines.append("...".rjust(widths["round"]))
        lines.append("  ".join(columns[name][i].rjust(width) for name, width in widths.items()))
    total, queries = float(np.sum(numbers)), int(np.sum(np.asarray(record.queries, np.int64)))
    words = "rewards" if rewards else "losses"
    return "\n".join([*lines, f"{n_rounds} rounds, sum of {words} {total:.6g}, {queries} queries"])


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
