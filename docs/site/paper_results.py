"""Write results of studies of papers into benchmarks/papers/docs: `python docs/site/paper_results.py FOLDER`.

FOLDER has a folder for each study, written by `python -m benchmarks.papers reproduce NAME --out FOLDER/NAME`. Its
pictures are written to gallery/ with 64 colours, and statements of published figures to published-figures.md.
"""

import csv
import sys
from collections import Counter
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parents[2] / "benchmarks" / "papers" / "docs"
PAGE = DOCS / "published-figures.md"
BEGIN, END = "<!-- tables: python docs/site/paper_results.py -->\n", "<!-- end of the tables -->\n"
FIGURES = {"noisy-kernels": "regret", "multikernel": "running", "attributes": "prefixes"}  # others: "figure"
TITLES = {
    "bandit-algorithms": "Lattimore and Szepesvari (2020)",
    "finite-time-bandits": "Auer, Cesa-Bianchi and Fischer (2002)",
    "non-stationary-bandits": "Garivier and Moulines (2011)",
    "tsallis-inf": "Zimmert and Seldin (2021)",
}
VERDICTS = "agrees", "differs", "undecided", "not checkable"


def reduce(source: Path, target: Path) -> None:
    """Write a picture with 64 colours and at most 1,400 pixels in a row."""
    with Image.open(source) as image:
        image.thumbnail((1400, 10_000))
        image.convert("RGB").quantize(64, method=Image.Quantize.FASTOCTREE).save(target, optimize=True)


def cells_of(row: dict[str, str]) -> list[str]:
    """Return the cells of a statement; measured numbers have three digits."""
    numbers = [float(row[key]) for key in ("measured", "measured_low", "measured_high") if row[key]]
    ends = [f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" for value in numbers]
    measured = f"{ends[0]} [{ends[1]}, {ends[2]}]" if ends else ""
    return [row["place"], f"{row['statement']} (origin: {row['origin']})", row["verdict"], measured]


def tables(folder: Path) -> str:
    """Return a table with the number of verdicts of each study, and a table of the statements of each study."""
    rows = {name: list(csv.DictReader((folder / name / "statements.csv").open(encoding="utf-8"))) for name in TITLES}
    lines = [f"| source | {' | '.join(VERDICTS)} |", "| --- " + "| ---: " * len(VERDICTS) + "|"]
    for name, title in TITLES.items():
        counts = Counter(row["verdict"] for row in rows[name])
        lines.append(f"| {title} | {' | '.join(str(counts[verdict]) for verdict in VERDICTS)} |")
    lines += ["", "*Numbers of statements*", ""]
    for name, title in TITLES.items():
        lines += [f"### {title}", "", "| place | statement | verdict | measured |", "| --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells_of(row))} |" for row in rows[name]]
        lines += ["", f"*`python -m benchmarks.papers reproduce {name}`*", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    results = Path(sys.argv[1])
    for study in results.iterdir():
        reduce(study / f"{FIGURES.get(study.name, 'figure')}.png", DOCS / "gallery" / f"{study.name}.png")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{tables(results)}{END}{rest.partition(END)[2]}", encoding="utf-8")
