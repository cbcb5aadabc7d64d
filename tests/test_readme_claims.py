"""The README's table of claims is the one that `jaxonline verify` stands for."""

from pathlib import Path

from jaxonline.claims.registry import all_claims

README = Path(__file__).parents[1] / "README.md"


def test_the_readmes_table_has_every_claim_with_its_verdict():
    lines = README.read_text().split("<!-- claims")[1].split("\n\n")[0].splitlines()[3:]
    cells = [[cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")] for line in lines]
    shown = [(claim.replace("¦", "|"), paper, form, verdict.strip("*")) for claim, paper, form, *_, verdict in cells]
    assert shown == [(claim.name, claim.paper, claim.form, claim.expected) for claim in all_claims()]
