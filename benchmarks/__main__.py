"""Benchmarks: all workloads and their alternatives, each workload in a separate process.

    python -m benchmarks [WORKLOAD ...] [--json FILE] [--history RELEASE] [--repeats N] [--quick] [--device cpu|gpu]
                         [--runs N ...]

Alternatives that are not installed are left out. Ratios are medians of turns within one process. Compilation and memory
are those of this package alone, in another process. `--history` writes a line for each workload into history.csv, and
the figure and the table of these lines. On an accelerator, or with `--runs`, workloads with runs have 10^4 to 10^6 of
them, in blocks of several widths, for this package and for plain jax. Then the tests that use devices run there.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import history
from benchmarks._report import table, table_of_sizes
from benchmarks._workload import RESOURCES

MODULES = (
    "noisy_linear", "online_gradient", "noisy_kernel", "multikernel", "bandits", "attributes", "many_arms",
    "full_information", "live",
)  # fmt: skip
TESTS = (  # that use devices
    "threefry", "exact", "distributions", "vectorised", "ragged", "accelerators", "simulate", "contracts",
    "loops_of_learners", "noisy_kernel", "vaw", "golden",
)  # fmt: skip
MANY, WIDTHS = (10_000, 100_000, 1_000_000), (16_384, 65_536, 262_144)  # on an accelerator


def measure(module: str, options: argparse.Namespace, environment: dict[str, str]) -> dict[str, Any]:
    """Run a workload module twice, with its alternatives and alone, and merge the numbers."""
    sizes = ["--runs", *map(str, options.runs), "--widths", *map(str, options.widths)] if options.runs else []
    measurements = []
    for extra in (["--repeats", str(options.repeats), *sizes], ["--alone"]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "measured.json"
            quick = ["--quick"] if options.quick else []
            command = [sys.executable, "-m", f"benchmarks.{module}", "--json", str(file), *extra, *quick]
            subprocess.run(command, check=True, env=environment)
            measurements.append(json.loads(file.read_text()))
        if all("sizes" in one for one in measurements[0]["workloads"]):
            return measurements[0]
    together, alone = measurements
    for one, cost in zip(together["workloads"], alone["workloads"], strict=True):
        one |= {"compilation": cost["compilation"], "megabytes": cost["megabytes"]}
    return together


def run_tests(names: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
    """Run tests on the device of jax; return whether they pass, and the last line of pytest."""
    folder = Path(__file__).parents[1] / "tests"
    files = [str(next(folder.rglob(f"test_{name}.py"), folder / f"test_{name}.py")) for name in names]
    options = ["-q", "-p", "no:cacheprovider", "-m", "not long or golden"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = (done.stdout if done.returncode in (0, 1) else done.stdout + done.stderr).strip().splitlines()
    print("\n".join(lines[-40:]), flush=True)
    return {"passed": done.returncode == 0, "said": lines[-1] if lines else ""}


def query_device(environment: dict[str, str]) -> dict[str, Any]:
    """Return the platform of jax and its limits.

    Raises:
        RuntimeError: jax does not work there; the message is the error of jax.
    """
    code = (
        "import jax, json; from benchmarks import _limits; "
        "print(json.dumps({'platform': jax.default_backend(), 'limits': _limits.measure_limits()}))"
    )
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    return json.loads(answer.stdout.splitlines()[-1])


def parse_arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Parse the command line; also return the parser, which reports errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(MODULES)}; all by default")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    parser.add_argument("--history", metavar="RELEASE", help="write a line for each workload into history.csv")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each contender")
    parser.add_argument("--quick", action="store_true", help="small sizes, as a check that everything runs")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="device of jax; its own choice by default")
    parser.add_argument(
        "--runs", type=int, nargs="+", help="numbers of runs; on an accelerator 10^4 to 10^6 by default"
    )
    parser.add_argument("--widths", type=int, nargs="+", help="with --runs: numbers of runs in a block")
    parser.add_argument("--no-tests", action="store_true", help="no tests on an accelerator")
    options = parser.parse_args()
    if options.history and (options.quick or options.runs):
        parser.error("--history: requires the usual sizes (got --quick or --runs)")
    for name in options.workloads:
        if name not in MODULES:
            parser.error(f"WORKLOAD: must be one of {', '.join(MODULES)} (got {name!r})")
    for name in ("runs", "widths"):
        if any(number < 1 for number in getattr(options, name) or ()):
            parser.error(f"--{name}: must be at least 1 (got {min(getattr(options, name))})")
    return parser, options


def main() -> None:
    parser, options = parse_arguments()
    environment = dict(os.environ)
    if options.device:
        environment["JAX_PLATFORMS"] = {"gpu": "cuda"}.get(options.device, "cpu")
    try:
        device = query_device(environment)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        parser.error(
            f"--device: jax does not work there (got {options.device or 'its own choice'}); see the error above"
        )
    limits, accelerator = device["limits"], device["platform"] != "cpu"
    for name, value in limits.items():
        print(f"{RESOURCES[name]}: {value:.3g} a second")
    options.runs = options.runs or (MANY if accelerator and not options.quick else None)
    if options.widths and not options.runs:
        parser.error("--widths: requires --runs; without it, each workload has its own blocks")
    options.widths = options.widths or (WIDTHS if accelerator else (512,))
    everything: dict[str, Any] = {
        "machine": "", "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": sys.version.split()[0], "limits": limits, "workloads": [],
    }  # fmt: skip
    failed = []
    for module in options.workloads or MODULES:
        print(f"\n{module}", flush=True)
        try:
            measured = measure(module, options, environment)
        except subprocess.CalledProcessError as error:  # the other workloads continue
            failed.append(f"{module} failed: {error}")
            print(failed[-1], file=sys.stderr)
            continue
        everything["machine"] = measured["machine"]
        everything["workloads"] += measured["workloads"]
        write(options.json, everything)
    sizes = [one for one in everything["workloads"] if "sizes" in one]
    others = [one for one in everything["workloads"] if "sizes" not in one]
    print(f"\n{everything['machine']}")
    for drawn, some in ((table, others), (table_of_sizes, sizes)):
        if some:
            print(f"\n{drawn(some, limits)}")
    if accelerator and not options.no_tests:
        print("\ntests that use devices", flush=True)
        everything["tests"] = run_tests(TESTS, environment)
        write(options.json, everything)
        failed += [] if everything["tests"]["passed"] else [f"tests: {everything['tests']['said']}"]
    if options.json:
        print(f"\n{options.json} written")
    if options.history:
        history.add_lines(history.lines_of(everything, options.history))
        history.write()
    if failed:
        sys.exit("\n".join(failed))


def write(path: Path | None, everything: dict[str, Any]) -> None:
    """Write the measurements so far, if there is a path."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
