"""Claims: statements of the papers, and of this package, that the verifier can check; and the runner that checks them.

A claim has a name, a source, a form ("printed" as in the paper, "corrected" where the paper is wrong, "improved" where
this package goes beyond it) and the verdict that is expected of it. The claims themselves live in the modules
`claims_*` beside this one, one for each topic.
"""

import dataclasses
import fnmatch
import importlib
import json
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jax.sharding import Mesh

from jaxonline._util import check
from jaxonline.verify.result import BIASED, RESPECTED, UNBIASED, VIOLATED, Verification

FORMS = ("printed", "corrected", "improved")
TOPICS = ("series", "kernels", "lengths", "noise", "attributes", "features")


@dataclasses.dataclass(frozen=True)
class Options:
    """How the runner wants samples to be drawn; a claim passes `**options.sampling()` on.

    Attributes:
        samples: the number of samples, or None for the one that the error rates ask for.
        seed: the seed.
        mesh: the devices, or None for all.
        progress: called as `progress(done, total)` while one claim works.

    Example:
        >>> from jaxonline.claims.registry import Options
        >>> Options(seed=3).sampling()["seed"]
        3
    """

    samples: int | None = None
    seed: int = 0
    mesh: Mesh | None = None
    progress: Callable[[int, int], None] | None = None

    def sampling(self) -> dict[str, Any]:
        """The options as keyword arguments of `unbiased`, `queries` and `second_moment`."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True)
class Claim:
    """One statement and how it is checked.

    Attributes:
        name: what is claimed, with the number of the erratum if there is one.
        paper: the paper and its equation, lemma or algorithm.
        form: "printed", "corrected" or "improved".
        expected: the verdict that is expected.
        check: `check(options)` returns the verification.

    Example:
        >>> from jaxonline.claims.registry import all_claims
        >>> {claim.form for claim in all_claims()} <= {"printed", "corrected", "improved"}
        True
    """

    name: str
    paper: str
    form: str
    expected: str
    check: Callable[[Options], Verification]

    def __post_init__(self):
        check.choice("form", self.form, FORMS)
        check.choice("expected", self.expected, (UNBIASED, BIASED, RESPECTED, VIOLATED))


@dataclasses.dataclass(frozen=True)
class Row:
    """The outcome of a claim, as `jaxonline verify` prints it and `to_json` writes it.

    `bias`, `half_width` and `detectable` are in units of the target (for bounds: value / bound - 1); the second
    moments are E |theta|^2 in the estimator's own units. What is not known is None.

    Attributes:
        claim, paper, form, expected: of the claim.
        method, bias, half_width, detectable, samples, verdict: of its verification (see `Verification`).
        level: the false-alarm rate.
        second_moment: sample second moment.
        exact_second_moment: exact second moment.
        second_moment_bound: the paper's bound on it.
        cap_bias: the bound on a cap's bias, in units of the target.
        exceeded: how often a cap was exceeded.
        seconds: how long the check took.
        notes: remarks.

    Example:
        >>> from jaxonline.claims.registry import run_claims
        >>> row = run_claims("E18*printed")[0]
        >>> row.verdict, row.as_expected
        ('violated', True)
    """

    claim: str
    paper: str
    form: str
    method: str
    bias: float | None
    half_width: float | None
    detectable: float | None
    samples: int
    verdict: str
    expected: str
    level: float
    second_moment: float | None
    exact_second_moment: float | None
    second_moment_bound: float | None
    cap_bias: float | None
    exceeded: int
    seconds: float
    notes: tuple[str, ...]

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict == self.expected


_REGISTRY: dict[str, list[Claim]] = {}  # by module, whatever the order in which modules are imported


def claim(name: str, paper: str, **expected: str) -> Callable[[Callable[..., Verification]], Callable]:
    """Register a check as one claim for each form: `@claim(name, paper, printed="biased", corrected="unbiased")`.

    The decorated function is called as `check(form, options)` and returns a `Verification`.

    Example:
        >>> from jaxonline import verify
        >>> from jaxonline.claims.registry import Claim, claim
        >>> Claim("one is one", "nobody", "improved", "respected", lambda options: verify.bound(1.0, 1.0)).form
        'improved'
    """

    def register(check: Callable[..., Verification]) -> Callable[..., Verification]:
        for form, verdict in expected.items():
            of_module = _REGISTRY.setdefault(check.__module__.rpartition(".")[2], [])
            of_module.append(Claim(name, paper, form, verdict, _with_form(check, form)))
        return check

    return register


def _with_form(check: Callable[..., Verification], form: str) -> Callable[[Options], Verification]:
    return lambda options: check(form, options)


def all_claims() -> list[Claim]:
    """Every claim, in the order of the papers.

    Example:
        >>> from jaxonline.claims.registry import all_claims
        >>> len(all_claims()) > 30
        True
    """
    for topic in TOPICS:
        importlib.import_module(f"jaxonline.claims.{topic}")
    others = [module for module in _REGISTRY if module not in TOPICS]
    return [claim for module in (*TOPICS, *others) for claim in _REGISTRY[module]]


def select(pattern: str | None) -> list[Claim]:
    """The claims that match a pattern.

    Args:
        pattern: matched against "name (paper), form" whatever the case; `*` and `?` are wildcards, and a pattern
            without any matches anywhere. None selects everything.

    Raises:
        ValueError: if nothing matches.

    Example:
        >>> from jaxonline.claims.registry import select
        >>> [claim.form for claim in select("E14")]
        ['printed', 'corrected']
    """
    claims = all_claims()
    if pattern is None:
        return claims
    wanted = pattern.lower() if any(c in pattern for c in "*?[") else f"*{pattern.lower()}*"
    chosen = [c for c in claims if fnmatch.fnmatchcase(f"{c.name} ({c.paper}), {c.form}".lower(), f"*{wanted}*")]
    if not chosen:
        raise ValueError(f"claim must match at least one claim, got {pattern!r}")
    return chosen


def run_claims(
    pattern: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    progress: Callable[[str, float, int], None] | None = None,
    mesh: Mesh | None = None,
) -> list[Row]:
    """Check the claims that match a pattern.

    Args:
        pattern: as in `select`.
        samples: the number of samples of each check that samples; None lets the error rates decide.
        seed: the seed.
        progress: called as `progress(name, done, total)` with the number of claims done, fractions included.
        mesh: the devices.

    Raises:
        ValueError: if no claim matches.

    Example:
        >>> from jaxonline.claims.registry import run_claims
        >>> [(row.form, row.verdict) for row in run_claims("(E8)")]
        [('printed', 'biased'), ('corrected', 'unbiased')]
    """
    claims = select(pattern)
    rows = []
    for number, one in enumerate(claims):
        inner = None
        if progress is not None:
            progress(one.name, number, len(claims))
            inner = _within(progress, one.name, number, len(claims))
        began = time.perf_counter()
        result = one.check(Options(samples, seed, mesh, inner))
        rows.append(_row(one, result, time.perf_counter() - began))
    if progress is not None:
        progress("", len(claims), len(claims))
    return rows


def _within(progress: Callable[[str, float, int], None], name: str, number: int, n: int) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, number + 0.99 * done / max(total, 1), n)


def _row(one: Claim, result: Verification, seconds: float) -> Row:
    return Row(
        claim=one.name,
        paper=one.paper,
        form=one.form,
        method=result.method,
        bias=_known(result.bias),
        half_width=_known(result.half_width),
        detectable=_known(result.detectable),
        samples=result.samples,
        verdict=result.verdict,
        expected=one.expected,
        level=result.level,
        second_moment=_known(result.second_moment),
        exact_second_moment=_known(result.exact_second_moment),
        second_moment_bound=_known(result.second_moment_bound),
        cap_bias=_known(result.cap_bias),
        exceeded=result.exceeded,
        seconds=round(seconds, 3),
        notes=(f"unit: {result.unit_is} ({result.unit:.6g})", *result.notes),
    )


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def exit_code(rows: Iterable[Row]) -> int:
    """0 if every verdict is the expected one, else 1.

    Example:
        >>> from jaxonline.claims.registry import exit_code
        >>> exit_code([])
        0
    """
    return int(not all(row.as_expected for row in rows))


def to_json(rows: Iterable[Row]) -> str:
    """The rows as strict JSON: a list of objects, null for what is not known.

    Example:
        >>> from jaxonline.claims.registry import run_claims, to_json
        >>> '"verdict": "violated"' in to_json(run_claims("E18*printed"))
        True
    """
    return json.dumps([dataclasses.asdict(row) for row in rows], indent=2, allow_nan=False) + "\n"


def write_json(rows: Iterable[Row], path: str | Path) -> None:
    """Write `to_json(rows)` to a file, making its folder where it is missing.

    Example:
        >>> import tempfile, pathlib
        >>> from jaxonline.claims.registry import write_json
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "new" / "rows.json"
        >>> write_json([], path); path.read_text()
        '[]\\n'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(rows), encoding="utf-8")
