"""All workloads beside what else one would write, each in a process of its own.

    python -m benchmarks [WORKLOAD ...] [--json FILE] [--repeats N] [--quick] [--device cpu|gpu] [--runs N ...]

Peers that are not installed are left out. Ratios are medians of turns within one process; compilation and memory are
those of this package alone, in another process.

On an accelerator, or with `--runs`, workloads that have runs are played at 10^4 to 10^6 of them, in blocks of several
widths, by this package and by jax by hand; and the tests that touch devices are run there.
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

from benchmarks._report import table, table_of_sizes
from benchmarks._workload import RESOURCES

MODULES = ("noisy_linear", "online_gradient", "noisy_kernel", "multikernel", "bandits", "attributes")
TESTS = (  # that touch devices
    "threefry", "normal", "permutation", "vectorised", "ragged", "accelerators", "simulate", "contracts",
    "gradient_learner", "noisy_kernel", "vaw", "golden",
)  # fmt: skip
MANY, WIDTHS = (10_000, 100_000, 1_000_000), (16_384, 65_536, 262_144)  # of an accelerator


def measure(module: str, options: argparse.Namespace, environment: dict[str, str]) -> dict[str, Any]:
    """What a module measures, ours alone included.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    sizes = ["--runs", *map(str, options.runs), "--widths", *map(str, options.widths)] if options.runs else []
    found = []
    for extra in (["--repeats", str(options.repeats), *sizes], ["--alone"]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "found.json"
            quick = ["--quick"] if options.quick else []
            command = [sys.executable, "-m", f"benchmarks.{module}", "--json", str(file), *extra, *quick]
            subprocess.run(command, check=True, env=environment)
            found.append(json.loads(file.read_text()))
        if all("sizes" in one for one in found[0]["workloads"]):
            return found[0]
    together, alone = found
    for one, cost in zip(together["workloads"], alone["workloads"], strict=True):
        one |= {"compilation": cost["compilation"], "megabytes": cost["megabytes"]}
    return together


def run_tests(names: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
    """Whether the tests pass where jax plays, and what pytest says of them in a line."""
    folder = Path(__file__).parents[1] / "tests"
    files = [str(next(folder.rglob(f"test_{name}.py"), folder / f"test_{name}.py")) for name in names]
    options = ["-q", "-p", "no:cacheprovider", "-m", "not long or golden"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = (done.stdout if done.returncode in (0, 1) else done.stdout + done.stderr).strip().splitlines()
    print("\n".join(lines[-40:]), flush=True)
    return {"passed": done.returncode == 0, "said": lines[-1] if lines else ""}


def played_by(environment: dict[str, str]) -> dict[str, Any]:
    """The platform on which jax plays, and its limits.

    Raises:
        RuntimeError: with what jax says, where it does not.
    """
    asked = (
        "import jax, json; from benchmarks import _limits; "
        "print(json.dumps({'platform': jax.default_backend(), 'limits': _limits.measured()}))"
    )
    answer = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    return json.loads(answer.stdout.splitlines()[-1])


def parsed() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The command line, and who tells of its errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(MODULES)}; all by default")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each contender")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="where jax plays; its own choice by default")
    parser.add_argument("--runs", type=int, nargs="+", help="play so many runs; on an accelerator 10^4 to 10^6")
    parser.add_argument("--widths", type=int, nargs="+", help="with --runs: how many are in a block")
    parser.add_argument("--no-tests", action="store_true", help="no tests on an accelerator")
    options = parser.parse_args()
    for name in options.workloads:
        if name not in MODULES:
            parser.error(f"WORKLOAD: must be one of {', '.join(MODULES)} (got {name!r})")
    for name in ("runs", "widths"):
        if any(number < 1 for number in getattr(options, name) or ()):
            parser.error(f"--{name}: must be at least 1 (got {min(getattr(options, name))})")
    return parser, options


def main() -> None:
    parser, options = parsed()
    environment = dict(os.environ)
    if options.device:
        environment["JAX_PLATFORMS"] = {"gpu": "cuda"}.get(options.device, "cpu")
    try:
        device = played_by(environment)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        parser.error(f"jax does not play on this device: {options.device or 'its own choice'} (why is above)")
    limits, accelerator = device["limits"], device["platform"] != "cpu"
    for name, value in limits.items():
        print(f"{RESOURCES[name]}: {value:.3g} a second")
    options.runs = options.runs or (MANY if accelerator and not options.quick else None)
    if options.widths and not options.runs:
        parser.error("--widths: must come with --runs; without it, each workload plays blocks of its own")
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
        except subprocess.CalledProcessError as error:  # the others are measured all the same
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
        print("\ntests that touch devices", flush=True)
        everything["tests"] = run_tests(TESTS, environment)
        write(options.json, everything)
        failed += [] if everything["tests"]["passed"] else [f"tests: {everything['tests']['said']}"]
    if options.json:
        print(f"\n{options.json} written")
    if failed:
        sys.exit("\n".join(failed))


def write(path: Path | None, everything: dict[str, Any]) -> None:
    """What was measured so far, if a file is asked for."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
