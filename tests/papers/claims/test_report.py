"""Claims on a terminal, in a pipe and on file: whatever the width, the verdict is seen, and a wrong one is red."""

import inspect
import io
import json
import re
import subprocess
import sys
from collections import Counter

import pytest
from fresh_python import ROOT
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.papers.__main__ import app
from benchmarks.papers.claims import registry, report
from benchmarks.papers.claims.registry import Claim, Row, all_claims
from benchmarks.papers.claims.report import CAPTION, claims_table, verify_command
from jaxonline import verify

KEYS = {"claim", "paper", "form", "method", "bias", "half_width", "detectable", "samples", "verdict", "expected"}
RED = "\x1b[1;31m"
HOLDS = Claim("a law of nature", "A, Lemma 1", "corrected", "respected", lambda options: verify.bound(1.0, 2.0))
PLANTED = Claim("one [b]is[/b] below a half", "B", "printed", "respected", lambda options: verify.bound(1.0, 0.5))


def make_row(claim: Claim, verdict: str | None = None) -> Row:
    """Make a row of an unchecked claim with the widest numbers."""
    found = verify.Verification(
        verdict=verdict or claim.expected, method="sampled moment", bias=-4.44e-16, half_width=6.54e-14,
        detectable=1.32e-13, level=1e-9, power=0.999, samples=10**6, unit=1.0, unit_name="the target",
        second_moment=0.0173456, exact_second_moment=0.0173456, second_moment_bound=1.23e-5, notes=("a note",),
    )  # fmt: skip
    return Row(claim, found, 1.0)


def printed(rows: list[Row], width: int | None) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=True).print(claims_table(rows, width))
    return plain(out.getvalue())


def plain(text: str) -> list[str]:
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).splitlines()]


@pytest.fixture
def planted(monkeypatch):
    """Two claims, of which one has an unexpected verdict."""
    monkeypatch.setattr(registry, "select", lambda pattern, cost: [HOLDS, PLANTED])
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.parametrize("width", [80, 108, 120, 140, 170, 250])
def test_every_claim_has_its_numbers_and_verdict_at_any_width(width):
    rows = [make_row(claim) for claim in all_claims()]
    lines = printed(rows, width)
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    ends = [re.search(r"-4\.4e-16 ± 6\.5e-14 +1\.3e-13 .*?((?:within )?\w+)$", line) for line in lines]
    assert [end[1] for end in ends if end] == [row.verification.verdict for row in rows]
    assert Counter(" ".join(lines).split())["0.0173"] == (0 if width < 108 else 2 * len(rows))
    words = " ".join(" ".join(lines).split())
    if width < 140:
        assert all(f"{row.claim.form}, {row.verification.method}" in words for row in rows)


def test_an_unexpected_verdict_fits_into_the_width():
    rows = [make_row(claim, "undecided") for claim in all_claims()]
    for width in (80, 100):
        lines = printed(rows, width)
        assert max(map(len, lines)) <= width
        assert sum(line.endswith("undecided,") for line in lines) == len(rows)
        assert sum(bool(re.search(r" not (?:within )?\w+$", line)) for line in lines) == len(rows)
    assert sum(bool(re.search(r"undecided, not (?:within )?\w+$", line)) for line in printed(rows, 220)) == len(rows)


def test_forms_of_a_claim_are_grouped_on_a_narrow_terminal():
    forms = [Claim("x is y", "C", form, "biased", lambda options: None) for form in ("printed", "corrected")]
    lines = printed([make_row(claim) for claim in forms], 80)
    assert sum("x is y (C)" in line for line in lines) == 1


def test_the_caption_explains_the_numbers():
    lines = printed([make_row(HOLDS)], 80)
    caption = " ".join(lines[-3:])
    assert "bias: in units of the target" in caption
    assert f"probability {inspect.signature(verify.unbiased).parameters['power'].default}" in CAPTION


def test_a_wrong_verdict_is_red_and_fails(planted):
    out = io.StringIO()
    assert verify_command(console=Console(file=out, width=80, force_terminal=True, color_system="standard")) == 1
    red = [line for line in out.getvalue().splitlines() if RED in line]
    assert any("violated," in line for line in red)
    assert any("one [b]is[/b] below a half, printed: violated, expected respected" in line for line in red)
    assert not any("law of nature" in line for line in red)
    assert "1 of 2 claims as expected" in plain(out.getvalue())[-1]


def test_expected_verdicts_are_not_red(monkeypatch):
    monkeypatch.setattr(registry, "select", lambda pattern, cost: [HOLDS])
    out = io.StringIO()
    assert verify_command(console=Console(file=out, width=80, force_terminal=True, color_system="standard")) == 0
    assert RED not in out.getvalue()


def test_every_claim_is_one_line_in_a_pipe(monkeypatch):
    rows = [make_row(claim) for claim in all_claims()]
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(report, "run_claims", lambda *options: rows)
    out = io.StringIO()
    assert verify_command(console=Console(file=out)) == 0
    lines = plain(out.getvalue())
    for row in rows:
        one, found = row.claim, row.verification
        parts = (one.name, one.paper, one.form, found.method, "-4.4e-16 ± 6.5e-14", found.verdict)
        assert any(all(part in line for part in parts) for line in lines)
    assert "\x1b" not in out.getvalue()


def test_columns_of_the_environment_set_the_width_in_a_pipe(monkeypatch):
    rows = [make_row(claim) for claim in all_claims()]
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(report, "run_claims", lambda *options: rows)
    out = io.StringIO()
    verify_command(console=Console(file=out))
    assert max(map(len, plain(out.getvalue()))) <= 80


def test_the_command_line_exits_with_1_and_writes_strict_json(planted, tmp_path):
    file = tmp_path / "new" / "rows.json"
    done = CliRunner().invoke(app, ["verify", "--json", str(file)])
    assert done.exit_code == 1
    rows = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert all(row.keys() >= KEYS for row in rows)
    assert [(row["verdict"], row["expected"]) for row in rows] == [
        ("respected", "respected"),
        ("violated", "respected"),
    ]


@pytest.mark.long
def test_the_command_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers", "verify", "--claim", "E18"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("regret of exponential weights (E18)") in (1, 2)  # with COLUMNS set, or one line each
    assert "2 of 2 claims as expected" in done.stdout


def test_a_pattern_without_a_claim_is_a_usage_error():
    done = CliRunner().invoke(app, ["verify", "--claim", "E99"])
    assert done.exit_code == 2
    assert "claim: must match" in " ".join(done.output.split())


def test_a_verification_prints_as_two_lines():
    lines = str(verify.unbiased(None, 0.5, support=[(0.5, 0.0), (0.5, 1.1)])).splitlines()
    assert lines[0].startswith("biased: bias +0.1 ± ")
    assert lines[0].endswith("in units of the target (0.5)")
    assert lines[1].startswith("  enumeration, 2 outcomes; minimum detectable bias ")
    assert str(verify.bound(125.0, 50.0)).splitlines() == [
        "violated: 2.5 ± 1e-09 times the bound (50); 125 against 50", "  computation; false alarms 0",
    ]  # fmt: skip
