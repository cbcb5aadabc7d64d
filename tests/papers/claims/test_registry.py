"""The registry of claims, its runner, the numbers that independent programs know, and errors planted in the package."""

import io
import json
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import pytest
from rich.console import Console

from benchmarks.papers.claims import multikernel, registry
from benchmarks.papers.claims.notes import NOTES, PAPERS, find_note
from benchmarks.papers.claims.registry import Claim, all_claims, exit_code, run_claims
from benchmarks.papers.claims.report import verify_command
from jaxonline import verify
from jaxonline.estimators.feature_maps import DotProductFeatureMap
from jaxonline.estimators.gradients import MeanOfCopies, PairsOfCopies
from jaxonline.learners import EWA
from jaxonline.simulation.blocks import default_mesh

ONE = default_mesh(jax.devices()[:1])


@pytest.fixture(scope="module")
def known():
    return [row for number in (6, 18, 19) for row in run_claims(f"(E{number})", sampled=False, mesh=ONE)]


# E17 is shown by reproducing the table; E36, E45, E52, E54 and E56 to E58 are slips of the pen; E55 is read; tests of
# the formulas show E53, E59 and E60. E61 and E62 are bounds that hold but are larger than necessary.
WITHOUT_CLAIM, LOOSE = (17, 36, 45, 52, *range(53, 61)), (61, 62)


@pytest.mark.parametrize("number", [one.number for one in NOTES if one.number not in WITHOUT_CLAIM])
def test_every_note_has_a_claim_that_only_holds_corrected(number):
    """E22, E23, E34 and E39 are remarks, which no printed formula contradicts."""
    of_this = [c for c in all_claims() if c.note == number]
    if number in (22, 23, 34, 39):
        assert {c.form for c in of_this} == {"improved"}
    elif number in LOOSE:
        assert [(c.form, c.expected) for c in of_this] == [("printed", "respected"), ("corrected", "respected")]
    else:
        assert any(c.form == "printed" and c.expected in ("biased", "violated") for c in of_this)
        assert any(c.form == "corrected" and c.expected in ("within tolerance", "respected") for c in of_this)
    assert {c.paper[0] for c in of_this} == {find_note(number).paper}
    assert all(c.name.endswith(f"(E{number})") for c in of_this)


def test_only_errata_and_controls_have_a_verdict_against_them():
    against = [c for c in all_claims() if c.expected in ("biased", "violated")]
    assert {c.form for c in against} == {"printed", "control", "improved"}
    assert all(c.note for c in against if c.form != "control")
    assert [c.note for c in against if c.form == "improved"] == [37], "a gap beside the printed bounds"
    controls = [c for c in all_claims() if c.form == "control"]
    assert all(c in against and not c.paper and not c.note for c in controls)
    assert len(controls) > 10
    assert {c.paper.split(",")[0] for c in all_claims() if c.form != "control"} == {*PAPERS, "Hazan and Koren 2012"}
    assert len({(c.name, c.form) for c in all_claims()}) == len(all_claims())


@pytest.mark.long
def test_all_claims_have_the_expected_verdict():
    rows = run_claims(mesh=ONE)
    assert [(row.claim.name, row.claim.form, row.verification.notes) for row in rows if not row.as_expected] == []
    assert exit_code(rows) == 0


def test_claims_have_the_expected_verdicts_and_the_numbers_of_the_notes(known):
    assert [(row.claim.name, row.verification.notes) for row in known if not row.as_expected] == []
    rows = {(row.claim.name, row.claim.form): row.verification for row in known}
    bessel = rows["inner product of exact Gaussian features (E6)", "printed"]
    assert 0.9512 * (1 + bessel.bias) == pytest.approx(1.521, abs=5e-4)
    hedge = [rows["regret of exponential weights (E18)", form] for form in ("printed", "corrected")]
    assert "125.45 against 47.98" in hedge[0].notes[0]
    assert "17.4164 against 33.93" in hedge[1].notes[0]
    # the mean over the 2^100 tosses of max over |w| <= 1 of 2 w Y S - T w^2, in exact fractions; Theorem 1 by hand:
    # u = 8, sqrt(u T) = 28.3, l'_+ = 2 sqrt(8), and 2 (sqrt(8) + 40 sqrt(2)) with the labels
    tosses = [(math.comb(100, k), abs(2 * k - 100)) for k in range(101)]
    best = sum(
        n * (2 * w * 40 * s - 100 * w**2) for n, s in tosses for w in [min(Fraction(40 * s, 100), Fraction(1))]
    ) / Fraction(2**100)
    row, right = (rows["regret in regression, labels of size 40 (E19)", form] for form in ("printed", "corrected"))
    assert row.bias == pytest.approx(float(best) / (2 * 8**0.5 * 800**0.5) - 1, rel=1e-12)
    assert right.unit == pytest.approx(2 * (8**0.5 + 40 * 2**0.5) * 800**0.5) == pytest.approx(3360, abs=0.5)
    assert float(best) < right.unit


def fails(form, options):
    return verify.bound(1.0, 0.5)


def undecided(form, options):
    return verify.unbiased(lambda key: jax.random.normal(key), 0.5, second_moment=math.inf)


def test_an_unexpected_verdict_has_the_exit_code_1_and_files_are_strict_json(monkeypatch, tmp_path):
    claims = [
        Claim("one is below a half", "B", "printed", "respected", fails),
        Claim("unknown", "nobody", "improved", "within tolerance", undecided),
    ]
    monkeypatch.setattr(registry, "select", lambda *options: claims)
    file, figure = tmp_path / "new" / "rows.json", tmp_path / "new" / "claims.png"
    assert verify_command(json_file=file, figure=figure, console=Console(file=io.StringIO(), width=200)) == 1
    wrong, unknown = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (wrong["verdict"], wrong["expected"], wrong["bias"]) == ("violated", "respected", 1.0)
    assert unknown["bias"] is unknown["half_width"] is unknown["exact_second_moment"] is None
    assert figure.stat().st_size > 100


def test_concurrent_checks_give_the_same_rows():
    together, alone = (run_claims("E1[48]*", mesh=ONE, at_once=n) for n in (3, 1))
    assert [(row.claim.name, row.verification) for row in together] == [(r.claim.name, r.verification) for r in alone]


def test_the_claim_on_exponential_weights_runs_the_learner_of_the_package(monkeypatch):
    """A `Hedge` that does not learn loses nine tenths of the rounds."""
    monkeypatch.setattr(multikernel, "EWA", lambda eta: EWA(1e-9))
    rows = run_claims("(E18)")
    assert [row.verification.verdict for row in rows] == ["violated", "violated"]
    assert [row.verification.bias for row in rows] == pytest.approx([900 / 47.985 - 1, 900 / 33.930 - 1], rel=1e-3)


# Errors planted in the package: a claim of each kind finds one
def _sampled_mean(patch):
    """The pairs (i, i) are included, which gives the mean of the copies as the instance."""
    right = MeanOfCopies.__call__
    patch.setattr(PairsOfCopies, "__call__", lambda self, *args: right(MeanOfCopies(self.n_copies), *args))


def _second_moment(patch):
    right = DotProductFeatureMap.second_moment
    patch.setattr(DotProductFeatureMap, "second_moment", lambda *args: 1.5 * right(*args))


def _computation(patch):
    """2^(floor(log2 B) + 1) for 2^ceil(log2 B)."""
    right = jnp.frexp

    def frexp(x):
        mantissa, exponent = right(x)
        return jnp.where(mantissa == 0.5, 0.51, mantissa), exponent

    patch.setattr(jnp, "frexp", frexp)


MUTANTS = [
    (_sampled_mean, "gradient from all pairs of five noisy copies"),
    (_second_moment, "p/(p-1) Q(p E|x~|^2)"),
    (_computation, "rates of BOA"),
]


@pytest.mark.parametrize(
    ("plant", "pattern"), [pytest.param(*m, marks=[] if m[0] is _computation else pytest.mark.long) for m in MUTANTS]
)
def test_a_planted_error_changes_the_verdict(plant, pattern, monkeypatch):
    plant(monkeypatch)
    jax.clear_caches()
    rows = run_claims(pattern, mesh=ONE)
    monkeypatch.undo()
    jax.clear_caches()
    assert [row.claim.name for row in rows if not row.as_expected], [str(row.verification) for row in rows]
