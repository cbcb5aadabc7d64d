"""All workloads beside what else one would write, each in a process of its own.

    python -m benchmarks [WORKLOAD ...] [--json FILE] [--repeats N] [--quick] [--device cpu|gpu]

Peers that are not installed are left out. Ratios are medians of turns within one process; compilation and memory are
those of this package alone, in another process.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._timing import ratios
from benchmarks._workload import RESOURCES, share_of_limit
from benchmarks.figure import is_ours

MODULES = ("noisy_linear", "online_gradient", "noisy_kernel", "multikernel", "bandits", "attributes")


def measure(module: str, options: argparse.Namespace, environment: dict[str, str]) -> dict[str, Any]:
    """What a module measures, ours alone included."""
    found = []
    for extra in (["--repeats", str(options.repeats)], ["--alone"]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "found.json"
            quick = ["--quick"] if options.quick else []
            command = [sys.executable, "-m", f"benchmarks.{module}", "--json", str(file), *extra, *quick]
            subprocess.run(command, check=True, env=environment)
            found.append(json.loads(file.read_text()))
    together, alone = found
    for one, cost in zip(together["workloads"], alone["workloads"], strict=True):
        one |= {"compilation": cost["compilation"], "megabytes": cost["megabytes"]}
    return together


def table(workloads: list[dict[str, Any]], limits: dict[str, float]) -> str:
    """One line a workload."""
    head = ["workload", "a second", "best peer", "ours / best peer", "compilation", "memory", "of the machine's limit"]
    lines = [head]
    for one in workloads:
        rates, ours = one["rates"], one["ours"]
        mine = statistics.median(rates[ours])
        peers = [name for name in rates if not is_ours(name)]
        best = max(peers, key=lambda name: statistics.median(rates[name]), default=None)
        of = ratios(rates, ours, best) if best else []
        share = share_of_limit(mine, one["needs"], limits)
        lines.append([
            one["title"], f"{mine:,.4g} {one['unit']}s", best or "",
            f"{statistics.median(of):.2f} ({min(of):.2f} .. {max(of):.2f})" if of else "",
            f"{one['compilation']:.1f} s", f"{one['megabytes']:,.0f} MB",
            f"{share[0]:.0%} ({RESOURCES[share[1]]})" if share else "",
        ])  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(MODULES)}; all by default")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each contender")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="where jax plays; its own choice by default")
    options = parser.parse_args()
    for name in options.workloads:
        if name not in MODULES:
            parser.error(f"WORKLOAD must be one of {', '.join(MODULES)}, got {name!r}")
    environment = dict(os.environ) | (
        {"JAX_PLATFORMS": {"gpu": "cuda"}.get(options.device, "cpu")} if options.device else {}
    )
    asked = [sys.executable, "-c", "import json; from benchmarks import _limits; "
             "print(json.dumps(_limits.measured()))"]  # fmt: skip
    answer = subprocess.run(asked, env=environment, capture_output=True, text=True)
    if answer.returncode:
        print(answer.stderr, file=sys.stderr)
        parser.error(f"jax does not play on this device: {options.device or 'its own choice'} (why is above)")
    limits = json.loads(answer.stdout)
    for name, value in limits.items():
        print(f"{RESOURCES[name]}: {value:.3g} a second")
    found, machine = [], ""
    for module in options.workloads or MODULES:
        print(f"\n{module}", flush=True)
        measured = measure(module, options, environment)
        machine = measured["machine"]
        found += measured["workloads"]
    print(f"\n{machine}\n\n{table(found, limits)}")
    if options.json:
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        everything = {
            "machine": machine,
            "date": date,
            "python": sys.version.split()[0],
            "limits": limits,
            "workloads": found,
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(everything, indent=1) + "\n")
        print(f"\n{options.json} written")


if __name__ == "__main__":
    main()
