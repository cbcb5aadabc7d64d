"""Experiments and claims of five papers: `python -m benchmarks.papers list | reproduce NAME | verify`."""

from typing import Annotated, Any

import typer

from benchmarks.papers.studies import STUDIES
from jaxonline.cli import Commands, console, usage_errors
from jaxonline.study.ready import study_title

PROGRAM = "python -m benchmarks.papers"


class PaperCommands(Commands):
    """The commands of this program; `reproduce` has one for each study."""

    program = PROGRAM

    def all_commands(self) -> list[str]:
        """Return the commands of all groups, for suggestions."""
        return ["list", "reproduce", "verify", *(f"reproduce {name}" for name in STUDIES)]

    def _studies(self) -> dict[str, str]:
        return STUDIES if self.name == "reproduce" else {}


options: dict[str, Any] = {"cls": PaperCommands, "add_completion": False}
app = typer.Typer(pretty_exceptions_enable=False, **options)
app.add_typer(typer.Typer(help="Tables and figures of the papers, each one command.", **options), name="reproduce")


@app.callback()
def _root() -> None:
    """Experiments and claims of five papers on online learning with limited information."""


@app.command("list")
def _list() -> None:
    """Print the studies, and the number of claims of each paper."""
    from collections import Counter

    from benchmarks.papers.claims.notes import PAPERS
    from benchmarks.papers.claims.registry import all_claims

    screen = console()
    for name, location in STUDIES.items():
        screen.print(f"{name:24} {study_title(location)}", markup=False, highlight=False)
    claims = Counter(claim.paper[:1] for claim in all_claims())
    for letter, paper in PAPERS.items():
        screen.print(f"\n{letter}: {paper}: {claims[letter]} claims", markup=False, highlight=False)
    screen.print(f"\n{claims['']} planted errors, which the checks must find", markup=False, highlight=False)


@app.command("verify")
def _verify(
    claim: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Only claims that match, e.g. E11 or 'B*'.")
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the rows to this file.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples of each check, at least 2; by default set by the error rates.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    figure: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw all claims as intervals around zero.")
    ] = None,
) -> None:
    """Check the papers' claims statistically, one row each; exit code 1 if a verdict is unexpected."""
    from benchmarks.papers.claims.report import verify_command

    with usage_errors(f"{PROGRAM} verify", ("claim", "json", "samples", "seed", "figure")):
        code = verify_command(claim, samples, seed, json, figure, console())
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
