"""Logs of decisions: contexts, arms, rewards and the probabilities with which the arms were chosen."""

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import ArrayLike, Float, Int

from jaxonline.datasets.loading import search_paths
from jaxonline.game import Draw
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, did_you_mean
from jaxonline.parameters.optional_packages import import_package
from jaxonline.parameters.types import Count

CHUNK_ROWS = 2**11  # of tables [n, K], which are converted to float64 in chunks that fit into a cache
MAX_CATEGORIES = 1000  # different texts in a column of contexts
MAX_ARMS = 10**6  # without n_arms: a larger number in a column of arms is rather an identifier
EXACT = 2**53  # smaller integers are exact in float64
LARGEST = 1e50  # of rewards and of 1 / propensity, so that squares of their products are finite


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Logged bandit data: in each of n rows, a context, the chosen arm, its reward, and the probability of this arm.

    The log is the input of the estimators in `jo.logs`, such as `jo.logs.ips`. They assume that the rows are
    independent, that the propensities are correct and were fixed before the arm was drawn, and that the policy was not
    trained on these rows: split the log if you train one. The log keeps read-only copies of the arrays.

    Args:
        contexts: features of the rows [n, d], features of all arms in each row [n, K, d], or None without contexts.
        arms: the chosen arms [n], integers 0, 1, ..., K - 1.
        rewards: the rewards of the chosen arms [n].
        propensities: the probability with which the logging policy chose the arm of each row [n], or one number.
        n_arms: the number K of arms; None for the largest arm of the log plus 1, at most 10^6.
        positions: the position of the arm on a page, for logs of lists [n], any integers; None without positions.
        reward_range: the smallest and the largest possible reward, from -1e50 to 1e50; intervals rely on it.

    Raises:
        TypeError: an argument does not hold numbers.
        ValueError: lengths differ; a propensity is not in [1e-50, 1], an arm is not an integer from 0 to K - 1, a
            reward is outside `reward_range`, or a number is not finite. The message names the argument and the row,
            from 1.

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1, 1, 0], rewards=[1, 0, 1, 1], propensities=0.5)
        >>> print(log)
        Log: 4 rows, 2 arms (2 in the log), no contexts, mean reward 0.75, propensities 0.5 to 0.5
        >>> round(jo.logs.ips(log, [0.9, 0.1]).value, 9)
        0.95
    """

    contexts: Any
    arms: Any
    rewards: Any
    propensities: Any
    n_arms: Count = None  # type: ignore[assignment]
    positions: Any = None
    reward_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        low, high = self._check_range()
        arms = _integers("arms", self.arms, None)
        n = len(arms)
        if self.n_arms is None:
            wanted = f"below {MAX_ARMS:,} if n_arms is not given; number the arms from 0"
            _check_rows("arms", arms, arms >= MAX_ARMS, wanted)
        n_arms = int(arms.max()) + 1 if self.n_arms is None else check.count("n_arms", self.n_arms)
        _check_rows("arms", arms, (arms < 0) | (arms >= n_arms), f"integers from 0 to {n_arms - 1}, n_arms - 1")
        rewards = _numbers("rewards", self.rewards, n)
        wanted = f"from {low:g} to {high:g}, the reward_range"
        _check_rows("rewards", rewards, (rewards < low) | (rewards > high), wanted)
        given = self.propensities
        propensities = _numbers("propensities", np.full(n, given) if np.ndim(given) == 0 else given, n)
        _check_rows("propensities", propensities, (propensities <= 0) | (propensities > 1), "above 0 and at most 1")
        _check_rows("propensities", propensities, propensities < 1 / LARGEST, f"at least {1 / LARGEST:g}")
        fields = {"arms": arms, "rewards": rewards, "propensities": propensities, "n_arms": n_arms}
        fields["contexts"] = None if self.contexts is None else _contexts(self.contexts, n, n_arms)
        fields["positions"] = None if self.positions is None else _integers("positions", self.positions, n)
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def _check_range(self) -> tuple[float, float]:
        given = self.reward_range
        check.instance("reward_range", given, isinstance(given, tuple | list) and len(given) == 2, "a pair of numbers")
        low, high = (float(check.number("reward_range", limit, ge=-LARGEST, le=LARGEST)) for limit in given)
        if low >= high:
            raise ArgumentError("reward_range", f"must be increasing (got {check.quote(given)})")
        object.__setattr__(self, "reward_range", (low, high))
        return low, high

    @classmethod
    def from_table(
        cls, table: Any, *, arm: str, reward: str, propensity: str, context: Sequence[str] = (),
        position: str | None = None, n_arms: Count | None = None, reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> "Log":  # fmt: skip
        """Read a log from a CSV file, a Parquet file, or a pandas DataFrame.

        Args:
            table: path of a file that ends in .parquet or .pq, or else of a CSV file with a header, which may be
                compressed; or a DataFrame. In a CSV file, only an empty cell is missing: "NA" is a text.
            arm: the name of the column with the arms.
            reward: the name of the column with the rewards.
            propensity: the name of the column with the propensities.
            context: the names of the columns with the features. A column of texts becomes one feature for each text,
                which is 1 or 0.
            position: the name of the column with the positions.
            n_arms: see `Log`.
            reward_range: see `Log`.

        Raises:
            ValueError: a column is missing or occurs twice, a row has more fields than the header, or a cell is
                invalid; the message names the column and the row, from 1, without the header.
            ModuleNotFoundError: a Parquet file needs pyarrow (`pip install 'jaxonline[parquet]'`).
            OSError: the file cannot be read.

        Example:
            >>> import pandas as pd, jaxonline as jo
            >>> table = pd.DataFrame({"shown": [1, 0], "click": [1, 0], "p": [0.2, 0.8], "device": ["tv", "pc"]})
            >>> log = jo.Log.from_table(table, arm="shown", reward="click", propensity="p", context=["device"])
            >>> log.contexts.tolist()
            [[0.0, 1.0], [1.0, 0.0]]
        """
        columns = {"arms": arm, "rewards": reward, "propensities": propensity, "positions": position}
        for name, own in zip(("arm", "reward", "propensity", "position"), columns.values(), strict=True):
            if own is not None or name != "position":
                check.text(name, own)
        if not isinstance(context, tuple | list) or context:
            check.texts("context", context)
        frame = table if hasattr(table, "columns") else _read_frame(Path(check.path("table", table)))
        source = "table" if hasattr(table, "columns") else str(table)
        if len(frame) == 0:
            raise ArgumentError("table", f"must have at least one row (got none in {source})")
        numbers = {name: _column(source, frame, own) for name, own in columns.items() if own is not None}
        features = [_features(source, frame, name) for name in context]
        contexts = np.concatenate(features, axis=1) if features else None
        try:
            return cls(contexts, **numbers, n_arms=n_arms, reward_range=reward_range)  # type: ignore[arg-type]
        except ArgumentError as error:
            if error.argument not in columns:
                raise
            raise ArgumentError(f"{source}, column {columns[error.argument]!r}", error.problem) from None

    @classmethod
    def from_history(cls, history: Any) -> "Log":
        """Make a log from the history of a learner that draws arms: of `jo.play`, or of `Live.learn`.

        The reward is 1 minus the loss of a round. If the learner learned in these rounds, the rows are not independent.

        Args:
            history: a `Round` with losses from 0 to 1, whose moves are of type `jo.game.Draw` (as those of EXP3).

        Raises:
            TypeError: the moves are not of type `Draw`.

        Example:
            >>> import jax, jaxonline as jo
            >>> game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
            >>> _, history = jo.play(game, jo.learners.EXP3(0.1), jax.random.key(0), n_rounds=50)
            >>> len(jo.Log.from_history(history).arms)
            50
        """
        move = getattr(history, "y_hat", None)
        if not isinstance(move, Draw) or np.ndim(move.arm) != 1:
            problem = f"must be rounds with moves of type Draw (got {check.quote(move)})"
            raise ArgumentTypeError("history", f"{problem}; use a learner that draws arms, such as EXP3")
        arms, probabilities = np.asarray(move.arm), np.asarray(move.probabilities, float)
        contexts = np.asarray(history.x)
        propensities = np.clip(probabilities[np.arange(len(arms)), arms], 0.0, 1.0)  # float32 may exceed 1 by rounding
        rewards = 1.0 - np.asarray(history.loss, float)
        return cls(contexts if contexts.size else None, arms, rewards, propensities, probabilities.shape[1])

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        tried, mu = len(np.unique(self.arms)), self.propensities
        shape = "no contexts" if self.contexts is None else f"contexts of shape {self.contexts.shape[1:]}"
        positions = "" if self.positions is None else f", {len(np.unique(self.positions))} positions"
        return (
            f"Log: {len(self):,} rows, {self.n_arms} arms ({tried} in the log), {shape}{positions}, "
            f"mean reward {self.rewards.mean():.4g}, propensities {mu.min():.4g} to {mu.max():.4g}"
        )

    def chunks(self) -> Iterator[slice]:
        """Yield slices of rows, so that a computation with one number for each row and arm needs little memory."""
        for first in range(0, len(self), CHUNK_ROWS):
            yield slice(first, min(first + CHUNK_ROWS, len(self)))

    def table(self, name: str, value: ArrayLike) -> Float[np.ndarray, "n K"]:
        """Check the shape of an array with a number for each row and arm, [n, K] or [K]; return a view [n, K]."""
        array = check.real_array(name, value)
        if array.shape not in ((len(self), self.n_arms), (self.n_arms,)):
            shapes = f"[n, K] = {(len(self), self.n_arms)} or [K] = {(self.n_arms,)} for the rows and arms of the log"
            raise ArgumentError(name, f"must have the shape {shapes} (got {array.shape}); see n_arms of jo.Log")
        return np.broadcast_to(array, (len(self), self.n_arms))

    def select(self, rows: Any) -> "Log":
        """Return the log of some rows, given by numbers, a slice or a mask."""
        parts = [None if part is None else part[rows] for part in (self.contexts, self.positions)]
        numbers = self.arms[rows], self.rewards[rows], self.propensities[rows]
        return Log(parts[0], *numbers, self.n_arms, parts[1], self.reward_range)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of columns.


def _check_rows(name: str, values: np.ndarray, bad: np.ndarray, wanted: str) -> None:
    """Raise an ArgumentError that names the first bad row, from 1."""
    if bad.any():
        row, n_bad = int(np.argmax(bad)), int(bad.sum())
        others = f", the first of {n_bad:,} such rows" if n_bad > 1 else ""
        raise ArgumentError(name, f"must be {wanted} (got {values[row]:g} in row {row + 1}{others})")


def _numbers(name: str, value: Any, n: int | None) -> Float[np.ndarray, "n"]:
    """Return a vector of finite numbers; True and False become 1 and 0."""
    given = value if isinstance(value, np.ndarray | jax.Array) else check.list_to_array(name, value)
    is_boolean = getattr(given, "dtype", None) == np.bool_
    given = np.asarray(given, float) if is_boolean else check.real_array(name, given)
    if given.ndim != 1 or len(given) == 0 or n not in (None, len(given)):
        wanted = "a vector with at least one entry" if n is None else f"a vector of {n:,} entries, as arms"
        raise ArgumentError(name, f"must be {wanted} (got shape {given.shape})")
    array = given.astype(float)
    _check_rows(name, array, ~np.isfinite(array), "finite")
    return array


def _integers(name: str, value: Any, n: int | None) -> Int[np.ndarray, "n"]:
    array = _numbers(name, value, n)
    _check_rows(name, array, array != np.floor(array), "integers")
    _check_rows(name, array, np.abs(array) >= EXACT, "from -2^53 to 2^53, without these limits")
    return array.astype(np.int64)


def _contexts(value: Any, n: int, n_arms: int) -> Float[np.ndarray, "n *rest"]:
    array = check.real_array("contexts", value)
    is_matrix, has_arms = array.ndim == 2, array.ndim == 3 and array.shape[1] == n_arms
    if not (is_matrix or has_arms) or len(array) != n or array.size == 0:
        wanted = f"[n, d] or [n, K, d] with n = {n:,} rows and K = {n_arms} arms"
        raise ArgumentError("contexts", f"must have the shape {wanted} (got {array.shape})")
    array = array.astype(float)
    if not np.isfinite(array).all():
        row, *column = np.argwhere(~np.isfinite(array))[0].tolist()
        where = f"row {row + 1}, column {', '.join(map(str, column))} (from 0)"
        raise ArgumentError("contexts", f"must be finite (got {array[(row, *column)]:g} in {where})")
    return array


# ---------------------------------------------------------------------------------------------------------------------
# Files. Pandas reads them directly: `datasets` keeps the text of every cell, which is too much for millions of rows.


def _read_frame(path: Path) -> Any:
    import pandas as pd

    if path.suffix.lower() in (".parquet", ".pq"):
        import_package("pyarrow", extra="parquet")
        try:
            return pd.read_parquet(path)
        except ValueError as error:  # of pyarrow
            raise ArgumentError(str(path), f"must be a Parquet file ({error})") from None
    options: Any = {"skip_blank_lines": False, "keep_default_na": False}  # rows keep their numbers
    try:
        # pandas makes the first column an index if the first row has more fields than the header; here it raises
        names = pd.read_csv(path, header=None, nrows=2, dtype=str, **options).iloc[0]
        frame = pd.read_csv(path, na_values=[""], **options)
    except ValueError as error:  # of pandas, or of bytes that are not UTF-8
        problem = re.sub(r"in line (\d+)", lambda line: f"in row {int(line[1]) - 1}", str(error))
        raise ArgumentError(str(path), f"must be a CSV file with a header ({problem})") from None
    frame.columns = [name or other for name, other in zip(names, frame.columns, strict=True)]  # pandas renames twins
    return frame


def _series(source: str, frame: Any, name: str) -> Any:
    """Return a column and its numbers; the numbers of texts are NaN."""
    import pandas as pd

    known = list(map(str, frame.columns))
    if name not in frame.columns:
        problem = f"must have the column {name!r} (got {check.quote(known)}){did_you_mean(name, known)}"
        raise ArgumentError(source, problem)
    if known.count(name) > 1:
        raise ArgumentError(source, f"must have one column {name!r} (got {known.count(name)})")
    column = frame[name]
    try:
        numbers: Any = pd.to_numeric(column, errors="coerce")
    except TypeError:  # of some versions for cells that are lists
        return column, np.full(len(column), np.nan)
    if column.dtype.kind in "mM" or numbers.dtype.kind == "c":
        raise ArgumentError(f"{source}, column {name!r}", f"must be numbers or texts (got {column.dtype})")
    return column, numbers.to_numpy(float)


def _bad_cell(source: str, column: Any, bad: np.ndarray, wanted: str) -> ArgumentError:
    row = int(np.argmax(bad))
    cell = check.quote(column.iloc[row])
    return ArgumentError(f"{source}, column {column.name!r}", f"must be {wanted} (got {cell} in row {row + 1})")


def _column(source: str, frame: Any, name: str) -> Float[np.ndarray, "n"]:
    """Return a column of numbers."""
    column, numbers = _series(source, frame, name)
    if np.isnan(numbers).any():
        raise _bad_cell(source, column, np.isnan(numbers), "a number")
    return numbers


def _features(source: str, frame: Any, name: str) -> Float[np.ndarray, "n d"]:
    """Return the features of a column: its numbers, or for texts a feature for each text."""
    column, numbers = _series(source, frame, name)
    missing = column.isna().to_numpy()
    if missing.any():
        raise _bad_cell(source, column, missing, "given in each row")
    bad = np.isnan(numbers)
    if not bad.all():  # a number
        if not np.isfinite(numbers).all():
            raise _bad_cell(source, column, ~np.isfinite(numbers), "a finite number, as in other rows")
        return numbers[:, None]
    if (other := np.array([not isinstance(cell, str) for cell in column])).any():
        raise _bad_cell(source, column, other, "a number or a text")
    texts, codes = np.unique(column.to_numpy(str), return_inverse=True)
    if len(texts) > MAX_CATEGORIES:
        problem = f"must have at most {MAX_CATEGORIES:,} different texts (got {len(texts):,})"
        raise ArgumentError(f"{source}, column {name!r}", problem)
    return (codes[:, None] == np.arange(len(texts))).astype(float)


OPEN_BANDIT_FEATURES = tuple(f"user_feature_{i}" for i in range(4))


def open_bandit(policy: str = "random", data: str | os.PathLike[str] | None = None) -> Log:
    """Load a log of the Open Bandit Dataset: 10,000 recommendations of 80 items in three positions, with clicks.

    The contexts are 0 or 1: one feature for each value of the four hashed user features. This is the small version
    of the campaign "all", of which few rows have a click. The log of "random" chose items uniformly, that of "bts" by
    Bernoulli Thompson sampling.

    Args:
        policy: the logging policy, "random" or "bts".
        data: the folder with the files `open-bandit/random.csv.gz` and `open-bandit/bts.csv.gz`; None for the folder of
            the environment variable JAXONLINE_DATA. They are `obd/random/all/all.csv` and `obd/bts/all/all.csv` of
            https://github.com/st-tech/zr-obp, compressed by gzip, without the columns of affinities.

    Raises:
        ValueError: `policy` is unknown, or the folder does not have the file.

    References:
        Saito, Aihara, Matsutani and Narita (2020), "Open Bandit Dataset and Pipeline". Licence of the data: CC BY 4.0.
    """
    check.choice("policy", policy, ("random", "bts"))
    paths = search_paths(None if data is None else str(check.path("data", data)))
    files = [path / "open-bandit" / f"{policy}.csv.gz" for path in paths]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        wanted = f"open-bandit/{policy}.csv.gz; give its folder as data, or set JAXONLINE_DATA"
        raise ArgumentError("data", f"must be a folder with {wanted} (got {', '.join(map(str, paths)) or 'none'})")
    return Log.from_table(
        file, arm="item_id", reward="click", propensity="propensity_score", context=OPEN_BANDIT_FEATURES,
        position="position", n_arms=80,
    )  # fmt: skip
