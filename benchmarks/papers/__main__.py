"""Experiments and claims of five papers: `python -m benchmarks.papers list | reproduce NAME | verify`."""

from typing import Annotated, Any

import typer

from benchmarks.papers.commands import StudyCommands, study_title
from benchmarks.papers.studies import SOURCES, STUDIES
from jaxonline.cli import console, main, usage_errors

PROGRAM = "python -m benchmarks.papers"


class PaperCommands(StudyCommands):
    """The commands of this program."""

    program = PROGRAM

    def full_names(self, ctx: Any) -> dict[str, str]:
        """Return all commands by their last word, for suggestions."""
        return {name: name for name in ("list", "reproduce", "verify")} | {
            name: f"reproduce {name}" for name in ("all", *STUDIES)
        }


class ReproduceCommands(PaperCommands):
    """The commands of `reproduce`, one for each study."""

    studies = STUDIES


options: dict[str, Any] = {"add_completion": False}
app = typer.Typer(cls=PaperCommands, pretty_exceptions_enable=False, **options)
reproduce = typer.Typer(cls=ReproduceCommands, help="Tables and figures of the papers, each one command.", **options)
app.add_typer(reproduce, name="reproduce")


@app.callback()
def _root() -> None:
    """Experiments and claims of five papers on online learning with limited information."""


@app.command("list")
def _list() -> None:
    """Print the studies, and the number of claims of each paper."""
    from collections import Counter

    from benchmarks.papers.claims.notes import PAPERS
    from benchmarks.papers.claims.registry import all_claims

    claims = Counter(claim.paper[:1] for claim in all_claims())
    lines = [f"{name:24} {SOURCES[name]}: {study_title(location)}" for name, location in STUDIES.items()]
    lines += [
        "",
        *(
            f"{claims[letter]:4} claims, {paper.authors}: {paper.title}, {paper.published}"
            for letter, paper in PAPERS.items()
        ),
    ]
    lines += [f"{claims['']:4} planted errors, which the checks must find"]
    screen = console()
    for line in lines:
        screen.print(line, markup=False, highlight=False, soft_wrap=not screen.is_terminal)


@reproduce.command("all")
def _reproduce_all(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: minutes instead of hours.")] = False,
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Folder of the reports, one for each study.")] = "results",
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
) -> None:
    """Run all studies; a study whose data set cannot be loaded is skipped; exit code 1 if one fails."""
    from benchmarks.papers.reproduce import reproduce_all
    from jaxonline.parameters import check
    from jaxonline.store.files import check_folder

    with usage_errors(f"{PROGRAM} reproduce all", ("out", "seed")):
        folder, seed = check_folder("out", out), check.seed("seed", seed)
    raise typer.Exit(reproduce_all(folder, quick, seed, console()))


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
    main(app)
