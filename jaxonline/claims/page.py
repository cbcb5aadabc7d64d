"""Page docs/claims.md: `python -m jaxonline.claims.page > docs/claims.md` checks every claim and writes the page."""

from collections.abc import Sequence

from jaxonline.claims import errata
from jaxonline.claims.registry import Row, exit_code, run_claims
from jaxonline.claims.report import markdown_errata, markdown_table

_PAGE = """# What five papers claim, checked

Made by `python -m jaxonline.claims.page > docs/claims.md`. `jaxonline verify` checks all claims in a minute or two,
prints the table with second moments, their exact values and the papers' bounds, and exits with 1 if a verdict is not
the expected one.

## The papers

{legend}
[papers.md](papers.md) lists sections, equations and theorems with their places in the code.

## The claims

*Printed* is the statement of the paper, *corrected* the right one, *improved* goes beyond the paper. A *control* is a
planted error, which the check must find; it belongs to no paper. A check with the word *mathematics* uses no code of
this package, so it tests the statement, not the package. E1, E2, ... are the errata below.

*Bias* is in units of the target, with the half-width of its interval; for a bound it is
value / bound - 1. *Detectable* is the minimum detectable bias, which is found with probability 0.999 or more. The
false-alarm rate of each row is at most 1e-9. No interval relies on the central limit theorem. Intervals of the methods
*kurtosis*, *second moment* and *bernstein* assume the kurtosis, the second moment or the range of the claim, which the
rows of `jaxonline verify --json` contain.

{table}
## The errata

Misprints, and statements that do not hold. E17 concerns a table, not an estimator, and has no row above: `jaxonline
reproduce multikernel` prints that table as published and corrected. E36, E45 and E52 are slips of notation without a
row. The others have rows; those of E22, E34 and E39, which are remarks, have no printed form. The printed formulas, as
functions, are in [the modules printed_\\*](../jaxonline/claims).

{errata}"""


def claims_page(rows: Sequence[Row]) -> str:
    """Return the page docs/claims.md in Markdown: the papers, the table of checked claims, and the misprints."""
    return _PAGE.format(legend=errata.legend(), table=markdown_table(rows), errata=markdown_errata())


if __name__ == "__main__":
    checked = run_claims()
    print(claims_page(checked), end="")
    raise SystemExit(exit_code(checked))
