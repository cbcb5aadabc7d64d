"""Claims, which are statements of the papers that `jaxonline.verify` checks, and the runner of claims and controls.

The claims are in the modules `TOPICS`. A check is a function `check(form, options, *given)` that passes `**options`,
the options of sampling, on to `verify`.
"""

import dataclasses
import fnmatch
import importlib
import itertools
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline._xla.threads import default_threads, run_parallel
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.simulation.blocks import check_mesh, default_mesh
from jaxonline.verify import Verification

FORMS = ("printed", "corrected", "improved", "control")
VERDICTS = ("within tolerance", "biased", "respected", "violated")
PRINTED_BIASED = {"printed": "biased", "corrected": "within tolerance"}
PRINTED_VIOLATED = {"printed": "violated", "corrected": "respected"}
MAX_SAMPLES = 2**31 - 1  # counted in int32
Options = dict[str, Any]  # of sampling: samples, seed, mesh, few
TOPICS = (
    "series", "kernels", "lengths", "regret", "noise", "surrogates", "attributes", "attribute_theorems", "multikernel",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement and its check.

    Attributes:
        name: the claim in a few words, with the number of its note if it has one.
        paper: the letter of the paper, then the equation, lemma or algorithm with the claim; empty for a control.
        form: "printed" for the claim as in the paper, "corrected", "improved" for a claim beyond the paper, or
            "control" for a planted error of this package, which the check must find.
        expected: the expected verdict; "biased" or "violated" for a control.
        function: `function(form, options, *given)` returns the verification.
        given: further arguments of the function.
        note: the number of the claim's note, or None.
        sampled: whether the check compiles a program, draws samples and takes seconds.
        few: whether at most about 30 blocks of samples suffice, so that it is faster to compile without optimisation.
        mathematics: whether the check uses no code of this package except `verify` and printed formulas, so that it
            tests a statement, not the package.
    """

    name: str
    paper: str
    form: str
    expected: str
    function: Callable[..., Verification]
    given: tuple = ()
    note: int | None = None
    sampled: bool = False
    few: bool = False
    mathematics: bool = False

    def __post_init__(self) -> None:
        check.choice("form", self.form, FORMS)
        check.choice("expected", self.expected, VERDICTS)
        if self.form != "control":
            check.text("paper", self.paper)
        elif self.paper or self.expected not in ("biased", "violated"):
            raise ArgumentError(
                "form",
                'must not be "control" for a claim of a paper, or with an expected verdict other than "biased" and '
                f'"violated" (got "{self.expected}")',
            )

    def check(self, options: Options) -> Verification:
        """Check the claim with the given options of sampling."""
        few = self.few and options.get("samples") is None
        return self.function(self.form, options | {"few": few}, *self.given)


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
        """Return the row for a file, with None for unknown numbers.

        `bias`, `half_width`, `detectable` and `cap_bias` are in units of the target (for claims on bounds they refer to
        value / bound - 1). Second moments are in squared units of the estimator.
        """
        claim, values = self.claim, dataclasses.asdict(self.verification)
        unit = f"unit: {values.pop('unit_name')} ({values.pop('unit'):.6g})"
        values |= {"notes": [unit, *values["notes"]], "seconds": round(self.seconds, 3)}
        for name, value in values.items():
            if isinstance(value, float | np.floating):
                values[name] = float(value) if math.isfinite(value) else None
        names = {"claim": claim.name, "paper": claim.paper, "form": claim.form, "mathematics": claim.mathematics}
        return names | {"expected": claim.expected} | values


_REGISTRY: dict[str, list[Claim]] = {}  # by module, independent of the order of imports


def claim(
    name: str,
    paper: str,
    *given: Any,
    note: int | None = None,
    sampled: bool = False,
    few: bool = False,
    mathematics: str = "",
    **expected: str,
) -> Callable[[Callable[..., Verification]], Callable[..., Verification]]:
    """Register a check as one claim for each form: `@claim(name, paper, corrected="within tolerance")`.

    `given` are further arguments of the check, so that several claims can share a function. `mathematics` contains the
    forms whose check uses no code of this package. `expected` is the expected verdict of each form; the other arguments
    are those of `Claim`.
    """

    def register(function: Callable[..., Verification]) -> Callable[..., Verification]:
        title = name if note is None else f"{name} (E{note})"
        claims = _REGISTRY.setdefault(function.__module__.rpartition(".")[2], [])
        first = next((i for i, other in enumerate(claims) if other.function is function), len(claims))
        claims[first:first] = [  # decorators of one function are called from the last to the first
            Claim(title, paper, form, verdict, function, given, note, sampled or few, few, form in mathematics)
            for form, verdict in expected.items()
        ]
        return function

    return register


def all_claims() -> list[Claim]:
    """Return every claim and control in the order of the topics."""
    for topic in TOPICS:
        importlib.import_module(f"benchmarks.papers.claims.{topic}")
    others = [module for module in _REGISTRY if module not in TOPICS]
    return [claim for module in (*TOPICS, *others) for claim in _REGISTRY[module]]


def select(pattern: str | None = None, sampled: bool | None = None) -> list[Claim]:
    """Return the claims that match `pattern`, and only the sampled or only the others; all claims by default.

    `pattern` matches any part of "name (paper), form", ignoring case; `*` and `?` are wildcards. The number of a note,
    such as E1, selects only the claims on this note. Raises a ValueError if the pattern is empty or matches no claim.
    """
    claims = [claim for claim in all_claims() if sampled in (None, claim.sampled)]
    if pattern is None:
        return claims
    if re.fullmatch(r"[Ee]\d+", check.text("pattern", pattern)):
        chosen = [c for c in claims if c.note == int(pattern[1:])]
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
    progress: Callable[[str, int, int], None] | None = None,
    mesh: Mesh | None = None,
    sampled: bool | None = None,
    at_once: int | None = None,
) -> list[Row]:
    """Check the claims that match `pattern`; all claims by default.

    Args:
        pattern: pattern of the claims, as in `select`.
        samples: number of samples of each sampled check; None for the number that the error rates require.
        seed: seed of the samples.
        progress: called as `progress(name, done, total)` after each claim, by one thread at a time.
        mesh: the devices; by default all of them, or one if several claims are checked at a time.
        sampled: whether to check only claims with samples, or only those without, as in `select`.
        at_once: number of claims checked at a time, each in a thread, since compilation uses one core; by default one
            for each available core. The verdicts do not depend on the number of claims checked at a time.

    Example:
        >>> from benchmarks.papers.claims import run_claims
        >>> [(row.claim.form, row.verification.verdict) for row in run_claims("(E8)")]
        [('printed', 'biased'), ('corrected', 'within tolerance')]
    """
    check.seed("seed", seed)
    if samples is not None:
        check.count("samples", samples, ge=2, le=MAX_SAMPLES)
    claims = select(pattern, sampled)
    at_once = default_threads() if at_once is None else check.count("at_once", at_once)
    if mesh is not None:
        check_mesh(mesh)
    elif min(at_once, len(claims)) > 1:  # two devices would draw two blocks where one suffices
        mesh = default_mesh(jax.local_devices()[:1])
    options = {"samples": samples, "seed": seed, "mesh": mesh}
    lock, finished = threading.Lock(), itertools.count(1)

    def check_claim(claim: Claim) -> Row:
        began = time.perf_counter()
        row = Row(claim, claim.check(options), time.perf_counter() - began)
        with lock:
            if progress is not None:
                progress(claim.name, next(finished), len(claims))
        return row

    return run_parallel([lambda claim=claim: check_claim(claim) for claim in claims], at_once)  # type: ignore[misc]


def to_json(rows: Sequence[Row]) -> str:
    """Return the rows as strict JSON: a list of objects, null for unknown values.

    Example:
        >>> from benchmarks.papers.claims import run_claims, to_json
        >>> '"verdict": "violated"' in to_json(run_claims("E18*printed"))
        True
    """
    return json.dumps([row.as_dict() for row in rows], indent=2, allow_nan=False) + "\n"


def exit_code(rows: Iterable[Row]) -> int:
    """Return the exit code 0 if every claim has its expected verdict, else 1."""
    return int(not all(row.as_expected for row in rows))


def in_float64(function: Callable, *args: Any) -> Any:
    """Return the value of a function that runs in one program, as NumPy arrays in float64.

    The arguments are copied: JAX 0.12 keeps the float32 buffer of a NumPy array that was a constant of another program.
    """
    args = jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, args)
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, run_compiled(function, *args))
