"""Claims: statements of the papers, and of this package, that the verifier can check; and the runner that checks them.

A claim has a name, a source, a form ("printed" as in the paper, "corrected" where the paper is wrong, "improved" where
this package goes beyond it), the verdict that is expected of it, and a cost. The claims themselves live in the modules
`TOPICS` beside this one; papers and misprints in `errata`.
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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from jaxonline._xla.threads import default_at_once, in_parallel
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.simulation.blocks import default_mesh
from jaxonline.store.output_paths import write_text
from jaxonline.verify.result import BIASED, RESPECTED, UNBIASED, VIOLATED, Verification

FORMS = ("printed", "corrected", "improved")
EXACT, SAMPLED = COSTS = ("exact", "sampled")
MAX_SAMPLES = 2**31 - 1  # they are counted in int32
TOPICS = ("series", "kernels", "lengths", "noise", "attributes", "features", "bandits", "learners")


@dataclasses.dataclass(frozen=True)
class SamplingOptions:
    """How the runner wants samples to be drawn; a claim passes `**options.sampling()` on.

    Attributes:
        samples: the number of samples, or None for the one that the error rates ask for.
        seed: the seed.
        mesh: the devices, or None for all.
        progress: called as `progress(done, total)` while one claim works.
        few: whether a few blocks of samples will do (`verify.unbiased`).

    Raises:
        ValueError: a seed outside 0 to 2^32 - 1, or samples outside 2 to 2^31 - 1.
    """

    samples: int | None = None
    seed: int = 0
    mesh: Mesh | None = None
    progress: Callable[[int, int], None] | None = None
    few: bool = False

    def __post_init__(self):
        check.seed("seed", self.seed)
        if self.samples is not None and check.count("samples", self.samples, ge=2) > MAX_SAMPLES:
            raise ArgumentError("samples", f"must be at most {MAX_SAMPLES} (got {self.samples})")

    def sampling(self) -> dict[str, Any]:
        """The options as keyword arguments of `unbiased`, `queries` and `second_moment`."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True)
class Claim:
    """One statement and how it is checked.

    Attributes:
        name: what is claimed, with the number of the erratum if there is one.
        paper: the paper, by its letter, and its equation, lemma or algorithm.
        form: "printed", "corrected" or "improved".
        expected: the verdict that is expected.
        check: `check(options)` returns the verification.
        erratum: the number of the misprint that it is about, or None.
        cost: "exact", no samples, milliseconds; or "sampled", with programs to compile, seconds.
    """

    name: str
    paper: str
    form: str
    expected: str
    check: Callable[[SamplingOptions], Verification]
    erratum: int | None = None
    cost: str = SAMPLED

    def __post_init__(self):
        check.choice("form", self.form, FORMS)
        check.choice("expected", self.expected, (UNBIASED, BIASED, RESPECTED, VIOLATED))
        check.choice("cost", self.cost, COSTS)


@dataclasses.dataclass(frozen=True)
class Row:
    """A claim and what became of it: one line of `jaxonline verify`."""

    claim: Claim
    verification: Verification
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verification.verdict == self.claim.expected

    def as_dict(self) -> dict[str, Any]:
        """Everything as numbers and words for a file; None for what is not known.

        `bias`, `half_width`, `detectable` and `cap_bias` are in units of the target (for bounds: value / bound - 1),
        the second moments in the estimator's own.
        """
        one, found = self.claim, self.verification
        return {
            "claim": one.name,
            "paper": one.paper,
            "form": one.form,
            "method": found.method,
            "bias": finite_or_none(found.bias),
            "half_width": finite_or_none(found.half_width),
            "detectable": finite_or_none(found.detectable),
            "samples": found.samples,
            "verdict": found.verdict,
            "expected": one.expected,
            "level": found.level,
            "second_moment": finite_or_none(found.second_moment),
            "exact_second_moment": finite_or_none(found.exact_second_moment),
            "second_moment_bound": finite_or_none(found.second_moment_bound),
            "cap_bias": finite_or_none(found.cap_bias),
            "exceeded": found.exceeded,
            "seconds": round(self.seconds, 3),
            "assumption": found.assumption,
            "notes": self.notes,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """The unit of the numbers, and the remarks of the verification."""
        return f"unit: {self.verification.unit_name} ({self.verification.unit:.6g})", *self.verification.notes


def finite_or_none(value: float | None) -> float | None:
    """A finite number, or None."""
    return None if value is None or not math.isfinite(value) else float(value)


_REGISTRY: dict[str, list[Claim]] = {}  # by module, whatever the order in which modules are imported


def claim(
    name: str, paper: str, *, erratum: int | None = None, cost: str = SAMPLED, few: bool = False, **expected: str
) -> Callable[[Callable[..., Verification]], Callable]:
    """Register a check as one claim for each form: `@claim(name, paper, printed="biased", corrected="unbiased")`.

    The decorated function is called as `check(form, options)` and returns a `Verification`.

    Args:
        name: what is claimed; the erratum's number is put behind it.
        paper: as in `Claim`.
        erratum: as in `Claim`.
        cost: as in `Claim`.
        few: whether a few blocks of samples decide it, 30 or less, so that to compile the program that draws them takes
            longer than they do.
        **expected: the verdict that is expected of each form.
    """

    def register(check: Callable[..., Verification]) -> Callable[..., Verification]:
        title = name if erratum is None else f"{name} (E{erratum})"
        for form, verdict in expected.items():
            of_module = _REGISTRY.setdefault(check.__module__.rpartition(".")[2], [])
            of_form = functools.partial(_check_form, check, form, few)
            of_module.append(Claim(title, paper, form, verdict, of_form, erratum, cost))
        return check

    return register


def _check_form(check: Callable[..., Verification], form: str, few: bool, options: SamplingOptions) -> Verification:
    return check(form, dataclasses.replace(options, few=few and options.samples is None))


def all_claims() -> list[Claim]:
    """Every claim, in the order of the papers."""
    for topic in TOPICS:
        importlib.import_module(f"jaxonline.claims.{topic}")
    others = [module for module in _REGISTRY if module not in TOPICS]
    return [claim for module in (*TOPICS, *others) for claim in _REGISTRY[module]]


def select(pattern: str | None = None, cost: str | None = None) -> list[Claim]:
    """The claims that match a pattern and have a cost.

    Args:
        pattern: matched against "name (paper), form" whatever the case; `*` and `?` are wildcards, and a pattern
            without any matches anywhere, but the number of a misprint, as E1, that one only. None selects everything.
        cost: "exact", "sampled", or None for both.

    Raises:
        ValueError: if nothing matches, or the pattern is empty.
    """
    if pattern is not None and not pattern.strip():
        raise ArgumentError("claim", f"must not be empty (got {pattern!r})")
    claims = [claim for claim in all_claims() if cost in (None, claim.cost)]
    if pattern is None:
        return claims
    if re.fullmatch(r"[Ee]\d+", pattern):
        chosen = [c for c in claims if c.erratum == int(pattern[1:])]
    else:
        wanted = f"*{pattern.lower()}*"
        chosen = [c for c in claims if fnmatch.fnmatchcase(f"{c.name} ({c.paper}), {c.form}".lower(), wanted)]
    if not chosen:
        names = {c.name for c in claims} | {word for c in claims for word in re.findall(r"[\w-]{2,}", c.name)}
        raise ArgumentError(
            "claim", f"must match at least one claim (got {pattern!r}){did_you_mean(pattern, sorted(names))}"
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
    """Check the claims that match a pattern and have a cost.

    Args:
        pattern: as in `select`.
        samples: the number of samples of each check that samples; None lets the error rates decide.
        seed: the seed.
        progress: called as `progress(name, done, total)` with the number of claims done, fractions included; from
            several threads, one after the other.
        mesh: the devices; by default all of them, and one where several claims are checked at a time.
        cost: as in `select`.
        at_once: how many claims are checked at a time, each in a thread of its own, for most of the time goes into
            compilation, which keeps one core busy; by default one for each core that this process may use. Verdicts
            do not depend on it.

    Raises:
        ValueError: if no claim matches, `at_once` is below 1, or what `SamplingOptions` raises.

    Example:
        >>> from jaxonline.claims import run_claims
        >>> [(row.claim.form, row.verification.verdict) for row in run_claims("(E8)")]
        [('printed', 'biased'), ('corrected', 'unbiased')]
    """
    options, claims = SamplingOptions(samples, seed, mesh), select(pattern, cost)
    at_once = default_at_once() if at_once is None else check.count("at_once", at_once)
    if mesh is None and min(at_once, len(claims)) > 1:  # a wave of two devices draws two blocks where one is needed
        options = dataclasses.replace(options, mesh=default_mesh(jax.local_devices()[:1]))
    told = None if progress is None else _Told(progress, len(claims))

    def checked(number: int) -> Row:
        one = claims[number]
        inner = None if told is None else told.of_claim(number, one.name)
        began = time.perf_counter()
        result = one.check(dataclasses.replace(options, progress=inner))
        if told is not None:
            told.tell(number, one.name, 1.0)
        return Row(one, result, time.perf_counter() - began)

    # the programs of learners are the largest, and the last: begun first, nobody waits for them in the end
    jobs = [functools.partial(checked, number) for number in reversed(range(len(claims)))]
    return in_parallel(jobs, at_once)[::-1]


class _Told:
    """Progress of claims that are checked at the same time, told as one number."""

    def __init__(self, progress: Callable[[str, float, int], None], n: int):
        self._progress, self._parts, self._lock = progress, [0.0] * n, threading.Lock()

    def of_claim(self, number: int, name: str) -> Callable[[int, int], None]:
        """The progress of one claim; it is told of its beginning."""
        self.tell(number, name, 0.0)
        return lambda done, total: self.tell(number, name, 0.99 * done / max(total, 1))

    def tell(self, number: int, name: str, part: float) -> None:
        """Tell that so much of a claim is done; a check may start again, what is told does not."""
        with self._lock:
            self._parts[number] = max(part, self._parts[number])
            done = sum(self._parts)
            self._progress("" if done == len(self._parts) else name, done, len(self._parts))


def exit_code(rows: Iterable[Row]) -> int:
    """0 if every verdict is the expected one, else 1."""
    return int(not all(row.as_expected for row in rows))


def to_json(rows: Iterable[Row]) -> str:
    """The rows as strict JSON: a list of objects, null for what is not known.

    Example:
        >>> from jaxonline.claims import run_claims, to_json
        >>> '"verdict": "violated"' in to_json(run_claims("E18*printed"))
        True
    """
    return json.dumps([row.as_dict() for row in rows], indent=2, allow_nan=False) + "\n"


def write_json(rows: Iterable[Row], path: str | Path) -> None:
    """Write `to_json(rows)` to a file, making its folder where it is missing."""
    write_text(Path(path), to_json(rows))
