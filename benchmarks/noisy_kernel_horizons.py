"""Cost of Algorithm 1 by the number of rounds: T = 250 to 4,000, Gaussian kernel, squared loss, d = 5, p = 2.

The pseudocode of the paper costs O(T^3): in each round it computes |w|^2 as a double sum. The learner updates |w|^2 by
a recurrence and stores low levels as tensors, so a round costs a constant and a part proportional to the stored copies.
The command prints the time of a run, its part of each round, and the exponent of T between successive horizons.

    python -m benchmarks.noisy_kernel_horizons [--runs 256] [--repeats 5]
"""

import argparse
import math
import statistics

from benchmarks._timing import machine, side_by_side
from benchmarks.noisy_kernel import memory, ours

HORIZONS = (250, 500, 1000, 2000, 4000)


def table(runs: int, repeats: int) -> str:
    """Measure all horizons in turns and return the table in Markdown."""
    rates = side_by_side({str(T): ours(T, runs, sure=False) for T in HORIZONS}, repeats)
    lines = ["| T | ms a run (minimum to maximum) | us a round | exponent of T | KB of state |"]
    lines += ["| ---: | ---: | ---: | ---: | ---: |"]
    before: tuple[int, float] | None = None
    for T in HORIZONS:
        times = sorted(1e3 / rate for rate in rates[str(T)])
        middle = statistics.median(times)
        exponent = "" if before is None else f"{math.log(middle / before[1]) / math.log(T / before[0]):.2f}"
        state = memory(T)[0] / 1e3
        lines.append(
            f"| {T:,} | {middle:.3g} ({times[0]:.3g} to {times[-1]:.3g}) | {1e3 * middle / T:.3g} | {exponent} | "
            f"{state:.0f} |"
        )
        before = T, middle
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=256, help="runs of each horizon")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each horizon")
    options = parser.parse_args()
    print(table(options.runs, options.repeats))
    print(f"\n{options.runs} runs. {machine()}")
