"""Write the tables of benchmarks/papers/docs/published-figures.md: `python docs/site/published_figures.py FOLDER`.

FOLDER has the results of the studies: FOLDER/NAME/statements.csv for each name in `TITLES`.
"""

import argparse
import csv
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "papers" / "docs" / "published-figures.md"
BEGIN, END = "<!-- tables: python docs/site/published_figures.py -->\n", "<!-- end of the tables -->\n"
TITLES = {
    "bandit-algorithms": "Lattimore and Szepesvari (2020)",
    "finite-time-bandits": "Auer, Cesa-Bianchi and Fischer (2002)",
    "non-stationary-bandits": "Garivier and Moulines (2011)",
    "tsallis-inf": "Zimmert and Seldin (2021)",
}
VERDICTS = "agrees", "differs", "undecided", "not checkable"


def format_number(text: str) -> str:
    """Format a number of the CSV file with three digits, or without decimals if it is large."""
    value = float(text)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def read(folder: Path, name: str) -> list[dict[str, str]]:
    """Return the statements of a study."""
    with (folder / name / "statements.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summary(folder: Path) -> list[str]:
    """Return the lines of the table with the number of verdicts of each study."""
    lines = [f"| source | {' | '.join(VERDICTS)} |", "| --- " + "| ---: " * len(VERDICTS) + "|"]
    for name, title in TITLES.items():
        counts = Counter(row["verdict"] for row in read(folder, name))
        lines.append(f"| {title} | {' | '.join(str(counts[verdict]) for verdict in VERDICTS)} |")
    return [*lines, "", "*Numbers of statements*", ""]


def table(folder: Path, name: str) -> list[str]:
    """Return the lines of a study: heading, table and caption."""
    rows = read(folder, name)
    lines = [f"### {TITLES[name]}", "", "| place | statement | verdict | measured |", "| --- | --- | --- | --- |"]
    for row in rows:
        ends = [format_number(row[key]) for key in ("measured", "measured_low", "measured_high") if row[key]]
        measured = f"{ends[0]} [{ends[1]}, {ends[2]}]" if ends else ""
        cells = row["place"], f"{row['statement']} (origin: {row['origin']})", row["verdict"], measured
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return [*lines, "", f"*`python -m benchmarks.papers reproduce {name}`*", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a folder with a folder for each study")
    folder = parser.parse_args().folder
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    tables = "\n".join([*summary(folder), *(line for name in TITLES for line in table(folder, name))])
    PAGE.write_text(f"{before}{BEGIN}\n{tables}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
