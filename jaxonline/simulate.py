"""Monte Carlo regret studies: thousands of runs of every learner, in fixed blocks and equal segments."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxonline import _check, blocks
from jaxonline._checkpoint import Checkpoint
from jaxonline._segments import Contest, Sweep, advance, begin
from jaxonline._struct import cast_leaves, stack
from jaxonline._sums import Compensated
from jaxonline.comparators import Comparator
from jaxonline.game import Game, Player, as_player
from jaxonline.progress import Reporter
from jaxonline.result import Result

SPACINGS = ("linear", "log")
BEST = "(best in hindsight)"  # the pass without a learner


def sweep(learners: Mapping[Any, Any] | Sequence[Any]) -> Sweep:
    """Learners that differ in numbers only (step size, radius, ...), to be played as one compiled program.

    In a study a sweep named "sgd" with the labels 0.1 and 0.2 becomes the learners "sgd[0.1]" and "sgd[0.2]".

    Args:
        learners: learners by label, or a sequence, labelled 0, 1, ...

    Raises:
        ValueError: if there is none, or if they differ in more than numbers (another estimator, another optimiser).

    Example:
        >>> import jaxonline as jo
        >>> etas = [0.01, 0.1, 1.0]
        >>> sweep = jo.sweep({eta: jo.GradientLearner(jo.estimators.TwoCopies(), step_size=eta) for eta in etas})
        >>> sweep.labels
        ('0.01', '0.1', '1.0')
    """
    items = dict(learners if isinstance(learners, Mapping) else enumerate(learners))
    if not items:
        raise ValueError("learners of a sweep must be at least one, got none")
    return Sweep(stack(list(items.values())), _distinct("labels", map(str, items)))


def read_out_rounds(n_rounds: int, read_outs: int | Sequence[int], spacing: str = "linear") -> tuple[int, np.ndarray]:
    """The segment length and the rounds at which a study reads out; the last one is the horizon.

    Segments are equal, so that their program is compiled once. For a number of read-outs the length is, where there
    is one not much longer, a divisor of the horizon; so there may be fewer read-outs than asked for, never more.

    Args:
        n_rounds: the horizon T.
        read_outs: how many, or the rounds themselves (the horizon is added).
        spacing: "linear", or "log" for a logarithmic axis; ignored when the rounds are given.

    Raises:
        ValueError: for a horizon or a number of read-outs below 1, rounds outside 1..T, or an unknown spacing.

    Example:
        >>> from jaxonline.simulate import read_out_rounds
        >>> read_out_rounds(100, 4)
        (25, array([ 25,  50,  75, 100]))
        >>> read_out_rounds(1000, 4, "log")
        (1, array([   1,   10,  100, 1000]))
    """
    _check.count("n_rounds", n_rounds)
    _check.choice("spacing", spacing, SPACINGS)
    if not isinstance(read_outs, int | np.integer):
        if not np.issubdtype(np.asarray(read_outs).dtype, np.integer):
            raise TypeError(f"read_outs must be a number of read-outs or a sequence of rounds, got {read_outs!r}")
        rounds = np.unique(np.append(read_outs, n_rounds))
        if rounds[0] < 1 or rounds[-1] > n_rounds:
            raise ValueError(f"read_outs must be rounds between 1 and n_rounds={n_rounds}, got {rounds[[0, -1]]}")
        return int(np.gcd.reduce(rounds[:-1] if len(rounds) > 1 else rounds)), rounds
    _check.count("read_outs", read_outs)
    if spacing == "log":
        length = max(1, n_rounds // 512)
        wanted = np.round(np.geomspace(length, n_rounds, read_outs) / length).astype(int) * length
        wanted[-1] = n_rounds
        return length, np.unique(np.minimum(wanted, n_rounds))
    shortest = -(-n_rounds // read_outs)
    divisors = (length for length in range(shortest, 2 * shortest) if n_rounds % length == 0)
    length = next(divisors, shortest)
    return length, np.minimum(np.arange(length, n_rounds + length, length), n_rounds)


def simulate(
    game: Game,
    learners: Any,
    *,
    n_runs: int,
    n_rounds: int,
    key: int | jax.Array = 0,
    comparator: Comparator | None = None,
    read_outs: int | Sequence[int] = 40,
    spacing: str = "linear",
    runs: Sequence[int] | None = None,
    block_size: int | None = None,
    mesh: Mesh | None = None,
    progress: bool | Callable[[int, int, str], None] = False,
    checkpoint: str | Path | None = None,
) -> Result:
    """Play every learner `n_runs` times and read out losses, regret and queries along the way.

    The same key gives the same numbers, bit for bit, on any number of devices of one kind, for any number of
    read-outs, for all runs or a selection of them, interrupted and resumed or not. All learners face the same
    instances, and learners that share a channel the same noise. Runs are computed in blocks; another `block_size`
    changes the last bits.

    Args:
        game: the game; its channel is the one for learners that bring none of their own.
        learners: learners by name; a value is a learner, a `Player` (a learner with its own channel) or a `sweep`.
            A single one may be given without a name.
        n_runs: runs of each learner, at least 1.
        n_rounds: the horizon T, at least 1.
        key: a seed or a jax key; run r has the key `fold_in(key, r)`.
        comparator: for the regret, e.g. `L2Ball(radius)`; None leaves the regret out.
        read_outs: how many, or the rounds themselves.
        spacing: of the read-outs, "linear" or "log".
        runs: replay only these runs of the study (each with its whole block, so that they come out the same).
        block_size: runs per block; by default 512 on a CPU, 16384 on an accelerator, at most `n_runs`.
        mesh: devices to use, a mesh with the single axis "blocks"; all local devices by default.
        progress: True for a progress bar, or a function (done, total, what).
        checkpoint: a folder to which finished blocks are written, and from which an interrupted study goes on.

    Returns:
        A `Result`.

    Raises:
        ValueError: for sizes below 1, unknown runs, a mesh with other axes, a checkpoint of another study, or an
            adaptive environment that is asked for a comparator it does not have.
        TypeError: for a learner that is none.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(
        ...     jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.1))
        ... )
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.3), radius=1.0)
        >>> result = jo.simulate(game, {"two copies": learner}, n_runs=64, n_rounds=200, comparator=jo.L2Ball(1.0))
        >>> result.table()[0]["queries_per_round"]
        2.0
    """
    _check.count("n_runs", n_runs)
    length, rounds = read_out_rounds(n_rounds, read_outs, spacing)
    width = _check.count("block_size", block_size) if block_size is not None else blocks.default_width(n_runs)
    mesh = blocks.default_mesh() if mesh is None else blocks.check_mesh(mesh)
    selected = _selected_runs(runs, n_runs)
    if comparator is not None and not isinstance(comparator, Comparator):
        raise TypeError(f"comparator must have statistic and best_loss, got {type(comparator).__name__}")
    named = dict(learners) if isinstance(learners, Mapping) else {"learner": learners}
    if not named:
        raise ValueError("learners must be at least one, got none")

    names = _distinct("learners", _names(named))
    key = key if isinstance(key, jax.Array) else jax.random.key(key)
    plan = _Plan(key, n_rounds, length, rounds, width, mesh, sorted({int(run) // width for run in selected}))
    passes = _passes(game, named, comparator, plan)
    studied = {name: (each, own.key, own.rounds, own.width) for name, (each, own) in passes.items()}
    store = None if checkpoint is None else Checkpoint(Path(checkpoint), studied)
    with Reporter(progress, sum(plan.pieces() for _, plan in passes.values())) as reporter:
        played = {name: _play(name, *each, reporter, store) for name, each in passes.items()}

    # the rows of the played blocks that were asked for
    at = np.searchsorted(plan.blocks, selected // width) * width + selected % width
    meta = {
        "n_runs": n_runs, "n_rounds": n_rounds, "block_size": width, "regret": game.regret,
        "devices": mesh.devices.size, "device_kind": mesh.devices.flat[0].device_kind,
        "dtype": str(game.environment.instance_spec.dtype), "key": np.asarray(jax.random.key_data(key)).tolist(),
        "jax": jax.__version__,
    }  # fmt: skip
    return _assemble(names, played, at, selected, rounds, meta)


def _names(named: Mapping[Any, Any]) -> Iterator[str]:
    """The learners' names, sweeps unpacked."""
    for name, item in named.items():
        learner = item.learner if isinstance(item, Player) else item
        yield from (f"{name}[{label}]" for label in learner.labels) if isinstance(learner, Sweep) else (str(name),)


def _distinct(what: str, names: Iterable[str]) -> tuple[str, ...]:
    names = tuple(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what} must have distinct names, got {twice[0]!r} more than once")
    return names


class _Plan(NamedTuple):
    """How one pass over the rounds is cut: segments of `length` rounds, blocks of `width` runs."""

    key: jax.Array
    n_rounds: int
    length: int
    rounds: np.ndarray
    width: int
    mesh: Mesh
    blocks: list[int]

    def pieces(self) -> int:
        """Segments to play, over all waves of blocks."""
        return -(-self.n_rounds // self.length) * -(-len(self.blocks) // self.mesh.devices.size)


def _selected_runs(runs: Sequence[int] | None, n_runs: int) -> np.ndarray:
    if runs is None:
        return np.arange(n_runs)
    selected = np.asarray(runs)
    if selected.ndim != 1 or selected.size == 0 or not np.issubdtype(selected.dtype, np.integer):
        raise ValueError(f"runs must be a sequence of at least one run index, got {runs!r}")
    if selected.min() < 0 or selected.max() >= n_runs:
        raise ValueError(
            f"runs must be between 0 and n_runs - 1 = {n_runs - 1}, got {selected.min()}..{selected.max()}"
        )
    return selected


def _passes(game: Game, named: Mapping[str, Any], comparator: Any, plan: _Plan) -> dict[str, tuple[Contest, _Plan]]:
    """What has to be played: every learner, and once without a learner for an oblivious environment's comparator."""
    shared = comparator is not None and game.environment.oblivious
    dtype = game.environment.instance_spec.dtype
    passes = {
        str(name): (cast_leaves(Contest(game, _as_player(game, item), None if shared else comparator), dtype), plan)
        for name, item in named.items()
    }
    if shared:
        if game.environment.identical and game.regret != "noisy":  # one run shows what all runs see
            plan = plan._replace(width=1, blocks=[0], mesh=blocks.default_mesh([plan.mesh.devices.flat[0]]))
        passes[BEST] = (cast_leaves(Contest(game, None, comparator), dtype), plan)
    return passes


def _as_player(game: Game, item: Any) -> Player:
    """As `game.as_player`, for sweeps too."""
    player = item if isinstance(item, Player) else Player(item, game.channel)
    if isinstance(player.learner, Sweep):
        as_player(game, Player(player.learner.learners, player.channel))
        return player
    return as_player(game, item)


class _Played(NamedTuple):
    """The read-outs of one pass: S learners (of a sweep, else 1), R runs (whole blocks), G read-outs."""

    cumulative_loss: np.ndarray  # [S, R, G]
    queries: np.ndarray  # [S, R, G]
    first_nonfinite: np.ndarray  # [S, R]
    best: np.ndarray | None  # [S, R, G]

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "_Played":
        """The same of every part that is there."""
        best = None if self.best is None else function(self.best)
        return _Played(function(self.cumulative_loss), function(self.queries), function(self.first_nonfinite), best)

    @staticmethod
    def join(pieces: Sequence["_Played"], axis: int) -> "_Played":
        """One after the other along an axis."""
        always = ("cumulative_loss", "queries", "first_nonfinite")
        loss, queries, first = (np.concatenate([getattr(piece, part) for piece in pieces], axis) for part in always)
        best = [piece.best for piece in pieces if piece.best is not None]
        return _Played(loss, queries, first, np.concatenate(best, axis) if best else None)


def _play(name: str, contest: Contest, plan: _Plan, reporter: Reporter, store: Checkpoint | None) -> _Played:
    """All blocks of one pass."""
    kept = {} if store is None else {block: store.read(name, block) for block in plan.blocks}
    pieces = {block: _Played(*parts) for block, parts in kept.items() if parts is not None}
    to_play = [block for block in plan.blocks if block not in pieces]
    reporter.skip(plan.pieces() - plan._replace(blocks=to_play).pieces())
    for wave, real in blocks.waves(to_play, plan.mesh):
        played = _play_wave(name, contest, plan, wave, reporter)
        for device, block in enumerate(wave[:real].tolist()):
            pieces[block] = played.map(lambda part, device=device: part[device])
            if store is not None:
                store.write(name, block, pieces[block])
    return _Played.join([pieces[block] for block in plan.blocks], axis=1)


def _play_wave(name: str, contest: Contest, plan: _Plan, wave: np.ndarray, reporter: Reporter) -> _Played:
    """One block per device through all segments; read-outs lag one segment behind, so that the device never waits."""
    sizes = {"width": plan.width, "mesh": plan.mesh}
    carry = begin(contest, plan.key, wave, **sizes)
    wanted = set(plan.rounds.tolist())
    pending: deque = deque()
    read: list[Any] = []

    def fetch():
        t, tally = pending.popleft()
        jax.block_until_ready(tally.queries)
        if t in wanted:
            read.append(jax.tree.map(np.asarray, jax.device_get(tally)))
        reporter.advance("best in hindsight" if name == BEST else name)

    for t in range(0, plan.n_rounds, plan.length):
        carry, tally = advance(
            contest, plan.key, jnp.int32(t), jnp.int32(plan.n_rounds), wave, carry,
            length=plan.length, may_overrun=plan.n_rounds % plan.length != 0, **sizes,
        )  # fmt: skip
        pending.append((min(t + plan.length, plan.n_rounds), tally))
        if len(pending) > 1:
            fetch()
    fetch()
    return _read_out(contest, read)


def _read_out(contest: Contest, read: Sequence[Any]) -> _Played:
    """Tallies of all read-outs to float64 arrays with the leading axis of devices [D, S, R, ...]."""
    swept = contest.player is not None and isinstance(contest.player.learner, Sweep)

    def put_together(*parts: np.ndarray) -> np.ndarray:  # each [D, R, ...] or, in a sweep, [D, R, S, ...]
        return np.stack([np.moveaxis(part, 2, 1) if swept else part[:, None] for part in parts], axis=3)

    stacked = jax.tree.map(put_together, *read)

    def in_float64(sums: Compensated) -> Any:
        with np.errstate(invalid="ignore"):  # infinity minus infinity in a failed run
            return jax.tree.map(lambda total, correction: total.astype(np.float64) - correction, *sums)

    best = None
    if contest.comparator is not None:
        best = np.asarray(contest.comparator.best_loss(in_float64(stacked.statistic)))
    loss = in_float64(stacked.loss)
    return _Played(loss, stacked.queries.astype(np.float64), stacked.first_nonfinite[..., -1], best)


def _assemble(
    names: tuple[str, ...], played: dict[str, _Played], at: np.ndarray, selected: np.ndarray, rounds: np.ndarray,
    meta: dict[str, Any],
) -> Result:  # fmt: skip
    """One result from the passes: the runs asked for, sweeps unpacked."""
    shared = played.pop(BEST, None)
    all_played = _Played.join([each.map(lambda part: part[:, at]) for each in played.values()], axis=0)
    best = all_played.best
    if shared is not None and shared.best is not None:
        one_for_all = shared.best.shape[1] == 1
        best = np.broadcast_to(shared.best if one_for_all else shared.best[:, at], all_played.cumulative_loss.shape)
    loss, queries, first, _ = all_played
    return Result(names, selected, rounds, loss, best, queries, first, meta)
