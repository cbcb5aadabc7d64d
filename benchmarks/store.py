"""The overhead of a store for a study, and the blocks and bytes a second that it writes and reads.

    python -m benchmarks.store [--place FOLDER] [--repeats N] [--passes N] [--blocks N] [--json FILE]

The study is `jaxonline quickstart` (four learners, 1,000 runs), with and without a store in turns. The seconds inside
the store are also counted, because a busy machine varies more than this overhead. A block has 512 runs and 40 recorded
rounds. One writer, and several in parallel, write blocks completely and durably.
"""

import argparse
import contextlib
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._timing import machine, ratios, side_by_side
from jaxonline.results import load_result
from jaxonline.simulation import planning
from jaxonline.store.checkpoints import Checkpoint, JobArrays, Store, StoreLayout
from jaxonline.study import Context, load_study_file

WIDTH, RECORDED, WRITERS = 512, 40, (1, 4, 16)
OUTPUTS = ("cumulative_loss", "queries", "first_nonfinite", "first_overflow")
JOB = JobArrays("learner 0", "learner", OUTPUTS, (0, 1), WIDTH)


INSIDE = (
    *((Checkpoint, name) for name in ("refresh_code", "open")),
    *((Store, name) for name in ("__enter__", "__exit__", "finished", "read_block", "write_block", "save_state")),
    (planning, "study_inputs"),
)  # fmt: skip


@contextlib.contextmanager
def counted() -> Iterator[list[float]]:
    """Measure the seconds that a study spends in its store, in a list of length one."""
    spent, kept = [0.0], [(owner, name, getattr(owner, name)) for owner, name in INSIDE]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            start_time = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent[0] += time.perf_counter() - start_time

        return call

    for owner, name, function in kept:
        setattr(owner, name, timed(function))
    try:
        yield spent
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def overhead(place: str, passes: int, repeats: int) -> tuple[list[float], list[float]]:
    """Return the seconds of quickstart with a store divided by those without, and the share inside the store."""
    study, shares = load_study_file("quickstart", rounds=passes * 442, seed=1), []

    def play(checkpoint: str | None) -> float:
        start_time = time.perf_counter()
        with counted() as spent:
            study.run(Context(checkpoint=checkpoint))
        if checkpoint is not None:
            took = time.perf_counter() - start_time
            shares.append(spent[0] / (took - spent[0]))
        return study.options["n_runs"] * passes * 442 * 4

    contenders: dict[str, Callable[[], float]] = {
        "without a store": lambda: play(None), "with a store": lambda: play(f"{place}/{uuid.uuid4().hex}"),
    }  # fmt: skip
    rates = side_by_side(contenders, repeats)
    for name, values in rates.items():
        print(f"  {name}: {statistics.median(values):.3g} rounds a second")
    return ratios(rates, "without a store", "with a store"), shares[1:]


def throughput(place: str, blocks: int, writers: int) -> dict[str, float]:
    """Return the blocks and megabytes a second that parallel writers write and one reader reads."""
    rng = np.random.default_rng(0)
    loss = rng.random((1, WIDTH, RECORDED))
    none = np.zeros((1, WIDTH), np.int32)
    numbers = dict(zip(OUTPUTS, (loss, loss, none, none), strict=True))
    layout = StoreLayout(["learner"], blocks * WIDTH, list(range(1, RECORDED + 1)), [JOB])
    where, megabytes = Path(place) / uuid.uuid4().hex, sum(array.nbytes for array in numbers.values()) / 1e6
    with Store(where, {"a": "study"}, 30.0, layout) as store, ThreadPoolExecutor(writers) as pool:
        start_time = time.perf_counter()
        list(pool.map(lambda block: store.write_block(JOB, block, numbers), range(blocks)))
        written = blocks / (time.perf_counter() - start_time)
    start_time = time.perf_counter()
    load_result(where)
    read = blocks / (time.perf_counter() - start_time)
    return {"written": written, "written MB": written * megabytes, "read": read, "read MB": read * megabytes}


def main() -> None:
    """Measure, print, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", help="a folder; a temporary folder by default")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--passes", type=int, default=10, help="passes of quickstart over its data")
    parser.add_argument("--blocks", type=int, default=200, help="blocks for each number of writers")
    parser.add_argument("--json", help="a file for the numbers")
    options = parser.parse_args()
    measured: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = options.place or folder
        print(f"store in {place}, on {machine()}")
        ratios_of_turns, shares = overhead(place, options.passes, options.repeats)
        measured |= {
            "seconds with a store over without": ratios_of_turns,
            "seconds inside the store over the others": shares,
        }
        for words, values in (
            ("turn by turn", [ratio - 1 for ratio in ratios_of_turns]),
            ("seconds inside it over others", shares),
        ):
            print(f"  a store costs, {words}: {statistics.median(values):.1%} ({min(values):.1%} .. {max(values):.1%})")
        for writers in WRITERS:
            rate = measured[f"{writers} writers"] = throughput(place, options.blocks, writers)
            words = ", ".join(
                f"{what} {rate[what]:.0f} blocks/s ({rate[what + ' MB']:.0f} MB/s)" for what in ("written", "read")
            )
            print(f"  {writers} writers: {words}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(measured | {"machine": machine(), "place": place}, file, indent=1)


if __name__ == "__main__":
    main()
