"""Claims, which are statements of the papers that `jaxonline.verify` checks, and the runner of claims and controls.

The claims are in the modules `TOPICS`; the papers and errata are in `errata`.
"""

import dataclasses
import fnmatch
import functools
import importlib
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from jaxonline._xla.threads import default_threads, run_parallel
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.simulation.blocks import check_mesh, default_mesh
from jaxonline.store.output_paths import write_text
from jaxonline.verify.result import BIASED, RESPECTED, VIOLATED, WITHIN_TOLERANCE, Verification

FORMS = ("printed", "corrected", "improved", "control")
EXACT, SAMPLED = COSTS = ("exact", "sampled")
MAX_SAMPLES = 2**31 - 1  # counted in int32
TOPICS = (
    "series",
    "counts",
    "kernels",
    "lengths",
    "finite_smoothness",
    "reacting",
    "regret",
    "one_copy",
    "remarks",
    "noise",
    "correlated_noise",
    "side_information",
    "surrogates",
    "attributes",
    "attribute_theorems",
    "attribute_remarks",
    "hidden_attribute",
    "features",
    "multikernel",
    "multikernel_proofs",
)


@dataclasses.dataclass(frozen=True)
class SamplingOptions:
    """Sampling options of `run_claims`, which a claim's check passes on to `verify` as `**options.sampling()`.

    Attributes:
        samples: number of samples, or None for the number that the error rates require.
        seed: seed of the samples.
        mesh: the devices, or None for all devices.
        progress: called as `progress(done, total)` during the check of one claim.
        few: whether a few blocks of samples suffice (`verify.unbiased`).
    """

    samples: int | None = None
    seed: int = 0
    mesh: Mesh | None = None
    progress: Callable[[int, int], None] | None = None
    few: bool = False

    def __post_init__(self) -> None:
        check.seed("seed", self.seed)
        if self.mesh is not None:
            check_mesh(self.mesh)
        if self.samples is not None and check.count("samples", self.samples, ge=2) > MAX_SAMPLES:
            raise ArgumentError("samples", f"must be at most {MAX_SAMPLES} (got {self.samples})")

    def sampling(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `unbiased`, `queries` and `second_moment`."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement and its check.

    Attributes:
        name: the claim in a few words, with the number of its erratum if it has one.
        paper: the letter of the paper, then the equation, lemma or algorithm with the claim; empty for a control.
        form: "printed" for the claim as in the paper, "corrected", "improved" for a claim beyond the paper, or
            "control" for a planted error of this package, which the check must find.
        expected: the expected verdict; "biased" or "violated" for a control.
        check: `check(options)` returns the verification.
        erratum: the number of the claim's misprint, or None.
        cost: "exact" if the check needs no samples and takes milliseconds; "sampled" if it compiles a program, draws
            samples and takes seconds.
        mathematics: whether the check uses no code of this package except `verify` and printed formulas, so that it
            tests a statement, not the package.
    """

    name: str
    paper: str
    form: str
    expected: str
    check: Callable[[SamplingOptions], Verification]
    erratum: int | None = None
    cost: str = SAMPLED
    mathematics: bool = False

    def __post_init__(self) -> None:
        check.choice("form", self.form, FORMS)
        check.choice("expected", self.expected, (WITHIN_TOLERANCE, BIASED, RESPECTED, VIOLATED))
        check.choice("cost", self.cost, COSTS)
        if self.form != "control":
            check.text("paper", self.paper)
        elif self.paper or self.expected not in (BIASED, VIOLATED):
            raise ArgumentError(
                "form",
                f'must not be "control" for a claim of a paper or an expected verdict of "{self.expected}"; a control '
                f'belongs to no paper, and its expected verdict is "{BIASED}" or "{VIOLATED}"',
            )


@dataclasses.dataclass(frozen=True)
class Row:
    """A claim with its verification, which is one line of the output of `python -m benchmarks.papers verify`."""

    claim: Claim
    verification: Verification
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether the claim has its expected verdict."""
        return self.verification.verdict == self.claim.expected

    def as_dict(self) -> dict[str, Any]:
        """Return all fields of the row for a file, with None for unknown values.

        `bias`, `half_width`, `detectable` and `cap_bias` are in units of the target (for claims on bounds they refer to
        value / bound - 1). Second moments are in squared units of the estimator.
        """
        claim, verification = self.claim, self.verification
        return {
            "claim": claim.name,
            "paper": claim.paper,
            "form": claim.form,
            "mathematics": claim.mathematics,
            "method": verification.method,
            "bias": finite_or_none(verification.bias),
            "half_width": finite_or_none(verification.half_width),
            "detectable": finite_or_none(verification.detectable),
            "largest_bias": finite_or_none(verification.largest_bias),
            "samples": verification.samples,
            "verdict": verification.verdict,
            "expected": claim.expected,
            "level": verification.level,
            "second_moment": finite_or_none(verification.second_moment),
            "exact_second_moment": finite_or_none(verification.exact_second_moment),
            "second_moment_bound": finite_or_none(verification.second_moment_bound),
            "cap_bias": finite_or_none(verification.cap_bias),
            "exceeded": verification.exceeded,
            "seconds": round(self.seconds, 3),
            "assumption": verification.assumption,
            "notes": self.notes,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the row: the unit of its numbers, and the notes of the verification."""
        return f"unit: {self.verification.unit_name} ({self.verification.unit:.6g})", *self.verification.notes


def finite_or_none(value: float | None) -> float | None:
    """Return the number if it is finite, else None."""
    return None if value is None or not math.isfinite(value) else float(value)


_REGISTRY: dict[str, list[Claim]] = {}  # by module, independent of the order of imports


def claim(
    name: str,
    paper: str,
    *,
    erratum: int | None = None,
    cost: str = SAMPLED,
    few: bool = False,
    mathematics: Iterable[str] = (),
    **expected: str,
) -> Callable[[Callable[..., Verification]], Callable]:
    """Register a check as one claim for each form: `@claim(name, paper, corrected="within tolerance")`.

    The decorated function is called as `check(form, options)` and returns a `Verification`. `few` declares that at most
    about 30 blocks of samples suffice, so that it is faster to compile without optimisation. `mathematics` lists the
    forms whose check uses no code of this package. `expected` gives the expected verdict of each form; the other
    arguments are those of `Claim`.
    """

    def register(check: Callable[..., Verification]) -> Callable[..., Verification]:
        title = name if erratum is None else f"{name} (E{erratum})"
        for form, verdict in expected.items():
            module_claims = _REGISTRY.setdefault(check.__module__.rpartition(".")[2], [])
            check_form = functools.partial(_check_form, check, form, few)
            module_claims.append(
                Claim(title, paper, form, verdict, check_form, erratum, cost, mathematics=form in mathematics)
            )
        return check

    return register


def control(name: str, expected: str, *, cost: str = SAMPLED) -> Callable[[Callable[..., Verification]], Callable]:
    """Register a check of a planted error: `@control(name, "biased")`; the arguments are those of `claim`."""
    return claim(name, "", cost=cost, control=expected)


def _check_form(check: Callable[..., Verification], form: str, few: bool, options: SamplingOptions) -> Verification:
    return check(form, dataclasses.replace(options, few=few and options.samples is None))


def all_claims() -> list[Claim]:
    """Return every claim and control in the order of the papers."""
    for topic in TOPICS:
        importlib.import_module(f"benchmarks.papers.claims.{topic}")
    others = [module for module in _REGISTRY if module not in TOPICS]
    return [claim for module in (*TOPICS, *others) for claim in _REGISTRY[module]]


def select(pattern: str | None = None, cost: str | None = None) -> list[Claim]:
    """Return the claims that match `pattern` and have the given cost; all claims by default.

    `pattern` matches any part of "name (paper), form", ignoring case; `*` and `?` are wildcards. The number of a
    misprint, such as E1, selects only the claims on this misprint. Raises a ValueError if the pattern is empty or
    matches no claim.
    """
    if pattern is not None:
        check.text("pattern", pattern)
    if cost is not None:
        check.choice("cost", cost, COSTS)
    claims = [claim for claim in all_claims() if cost in (None, claim.cost)]
    if pattern is None:
        return claims
    if re.fullmatch(r"[Ee]\d+", pattern):
        chosen = [c for c in claims if c.erratum == int(pattern[1:])]
    else:
        glob = f"*{pattern.lower()}*"
        chosen = [c for c in claims if fnmatch.fnmatchcase(f"{c.name} ({c.paper}), {c.form}".lower(), glob)]
    if not chosen:
        names = {c.name for c in claims} | {word for c in claims for word in re.findall(r"[\w-]{2,}", c.name)}
        raise ArgumentError(
            "pattern", f"must match at least one claim (got {pattern!r}){did_you_mean(pattern, sorted(names))}"
        )
    return chosen


def run_claims(
    pattern: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    progress: Callable[[str, float, int], None] | None = None,
    mesh: Mesh | None = None,
    cost: str | None = None,
    at_once: int | None = None,
) -> list[Row]:
    """Check the claims that match `pattern` and have the given cost; all claims by default.

    Args:
        pattern: pattern of the claims, as in `select`.
        samples: number of samples of each sampled check; None for the number that the error rates require.
        seed: seed of the samples.
        progress: called as `progress(name, done, total)`; `done` is the number of finished claims, with fractions for
            those in progress. Several threads call `progress`, but only one thread at a time.
        mesh: the devices; by default all of them, or one if several claims are checked at a time.
        cost: cost of the claims, as in `select`.
        at_once: number of claims checked at a time, each in a thread, since compilation uses one core; by default one
            for each available core. The verdicts do not depend on the number of claims checked at a time.

    Example:
        >>> from benchmarks.papers.claims import run_claims
        >>> [(row.claim.form, row.verification.verdict) for row in run_claims("(E8)")]
        [('printed', 'biased'), ('corrected', 'within tolerance')]
    """
    if progress is not None:
        check.instance("progress", progress, callable(progress), "a function of (name, done, total)")
    options, claims = SamplingOptions(samples, seed, mesh), select(pattern, cost)
    at_once = default_threads() if at_once is None else check.count("at_once", at_once)
    if mesh is None and min(at_once, len(claims)) > 1:  # two devices would draw two blocks where one suffices
        options = dataclasses.replace(options, mesh=default_mesh(jax.local_devices()[:1]))
    shared = None if progress is None else _SharedProgress(progress, len(claims))

    def check_claim(number: int) -> Row:
        claim = claims[number]
        inner = None if shared is None else shared.of_claim(number, claim.name)
        began = time.perf_counter()
        result = claim.check(dataclasses.replace(options, progress=inner))
        if shared is not None:
            shared.report(number, claim.name, 1.0)
        return Row(claim, result, time.perf_counter() - began)

    return run_parallel([functools.partial(check_claim, number) for number in range(len(claims))], at_once)


class _SharedProgress:
    """Combined progress of claims that are checked at the same time."""

    def __init__(self, progress: Callable[[str, float, int], None], n: int):
        self._progress, self._shares, self._lock = progress, [0.0] * n, threading.Lock()

    def of_claim(self, number: int, name: str) -> Callable[[int, int], None]:
        """Report the start of one claim and return its function `progress(done, total)`."""
        self.report(number, name, 0.0)
        return lambda done, total: self.report(number, name, 0.99 * done / max(total, 1))

    def report(self, number: int, name: str, share: float) -> None:
        """Report the finished share of a claim; the reported share never decreases, even if a check is repeated."""
        with self._lock:
            self._shares[number] = max(share, self._shares[number])
            done = sum(self._shares)
            self._progress("" if done == len(self._shares) else name, done, len(self._shares))


def exit_code(rows: Iterable[Row]) -> int:
    """Return the exit code 0 if every claim has its expected verdict, else 1."""
    return int(not all(row.as_expected for row in rows))


def check_rows(rows: Any) -> list[Row]:
    """Return the rows of `run_claims` as a list; raises ArgumentTypeError for anything else."""
    is_iterable = isinstance(rows, Iterable) and not isinstance(rows, Mapping)
    rows = list(check.instance("rows", rows, is_iterable, "a list of rows, which run_claims returns"))
    for row in rows:
        check.instance("rows", row, Row, "a list of rows, which run_claims returns")
    return rows


def to_json(rows: Iterable[Row]) -> str:
    """Return the rows as strict JSON: a list of objects, null for unknown values.

    Example:
        >>> from benchmarks.papers.claims import run_claims, to_json
        >>> '"verdict": "violated"' in to_json(run_claims("E18*printed"))
        True
    """
    return json.dumps([row.as_dict() for row in check_rows(rows)], indent=2, allow_nan=False) + "\n"


def write_json(rows: Iterable[Row], path: str | Path) -> None:
    """Write `to_json(rows)` to a file and create its folder."""
    write_text(Path(path), to_json(rows))
