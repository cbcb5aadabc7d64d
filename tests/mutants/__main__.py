"""Draw mutants of the mathematical packages, and report the share that the tests detect.

`make mutants`, or `python tests/mutants --number 300 --seed 0`. `plan.toml` declares the tests of each source file. The
mutants are written into temporary copies of the work tree.
"""

import argparse
import compileall
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from draw import Mutant, draw_mutants
from plan import EQUIVALENT, PACKAGES, PLAN, ROOT, find_tests
from scipy.stats import binomtest

PROCESSES = 2
SHORT, LONG = "not long and not examples", "long and not examples"
SURVIVED, DETECTED, OUT_OF_TIME = "survived", "detected", "out of time"


def main() -> None:
    """Draw, test and report."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--long", action="store_true", help="also try the long tests, on the mutants that survive")
    options = parser.parse_args()
    mutants = draw_mutants(ROOT, PACKAGES, options.number, options.seed, EQUIVALENT)
    with tempfile.TemporaryDirectory() as folder:
        copies = [copy_work_tree(Path(folder) / str(i)) for i in range(PROCESSES)]
        copy_compilation_cache(Path(folder) / "cache")
        tests = sorted({test for mutant in mutants for test in find_tests(mutant.file)})
        print(f"{len(mutants)} mutants, {len(tests)} test files; first the tests without a mutant", flush=True)
        if run_tests(copies[0], tests, SHORT, None, "-n", str(PROCESSES)) != SURVIVED:
            sys.exit("the tests must pass without a mutant")
        outcomes = list(run_all(mutants, copies, SHORT))
        report(mutants, outcomes, "the tests of `make test`")
        if options.long:
            rest = [mutant for mutant, outcome in zip(mutants, outcomes, strict=True) if outcome == SURVIVED]
            found = dict(zip(rest, run_all(rest, copies, LONG), strict=True))
            outcomes = [found.get(mutant, outcome) for mutant, outcome in zip(mutants, outcomes, strict=True)]
            report(mutants, outcomes, "these and the long tests")


def copy_work_tree(folder: Path) -> Path:
    """Copy the files that git knows or will know, so that the work tree stays as it is."""
    listed = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True
    )
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    compileall.compile_dir(folder / "jaxonline", quiet=1)  # run_tests writes no bytecode
    return folder


def copy_compilation_cache(folder: Path) -> None:
    """Let the tests use a copy of the compilation cache, so that no program of a mutant stays in it."""
    cache = Path(os.environ.get("JAX_COMPILATION_CACHE_DIR", ROOT / ".jax_cache"))
    if cache.is_dir():
        shutil.copytree(cache, folder)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)


def run_all(mutants: list[Mutant], copies: list[Path], marks: str) -> Iterator[str]:
    """Return the outcome of each mutant, in their order; each process has its own copy of the work tree."""
    free, began = queue.Queue(), time.monotonic()
    for copy in copies:
        free.put(copy)

    def outcome_of(item: tuple[int, Mutant]) -> str:
        number, mutant = item
        copy = free.get()
        target = copy / mutant.file
        target.write_text(mutant.code)
        outcome = run_tests(copy, find_tests(mutant.file), marks, PLAN["seconds"], "-x")
        shutil.copy2(ROOT / mutant.file, target)
        free.put(copy)
        seconds = time.monotonic() - began
        print(f"{number}/{len(mutants)} {seconds:.0f} s {outcome}: {describe(mutant)}", flush=True)
        return outcome

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(outcome_of, enumerate(mutants, start=1))


def run_tests(copy: Path, tests: list[str], marks: str, seconds: float | None, *options: str) -> str:
    """Run the tests of a copy, which import the package of this copy."""
    # Python compares the times of bytecode and source in seconds, so a mutant must not leave bytecode
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marks, *options, *tests]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=copy, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return OUT_OF_TIME
        if code and seconds is None:
            output.seek(0)
            print(output.read().decode()[-4000:])
    return DETECTED if code not in (0, 5) else SURVIVED  # 5: there is no such test


def describe(mutant: Mutant) -> str:
    """Return file, line and change of a mutant on one line."""
    return f"{mutant.file}:{mutant.number}: {mutant.line}  ->  {mutant.mutant}"


def report(mutants: list[Mutant], outcomes: list[str], tests: str) -> None:
    """Print the share of detected mutants with its Clopper-Pearson interval, and the mutants that survive."""
    print(f"\nDetected by {tests} (95 % intervals of Clopper and Pearson; out of time counts as detected):")
    for package in ("jaxonline", *PACKAGES):
        own = [outcome for mutant, outcome in zip(mutants, outcomes, strict=True) if mutant.file.startswith(package)]
        if own:
            detected = len(own) - own.count(SURVIVED)
            low, high = binomtest(detected, len(own)).proportion_ci(method="exact")
            late = f", {own.count(OUT_OF_TIME)} out of time" if OUT_OF_TIME in own else ""
            share = f"{detected}/{len(own)} = {detected / len(own):.1%} [{low:.1%}, {high:.1%}]"
            print(f"{package:30} {share}{late}")
    for mutant, outcome in zip(mutants, outcomes, strict=True):
        if outcome == SURVIVED:
            print(f"survived: {describe(mutant)}")


if __name__ == "__main__":
    main()
