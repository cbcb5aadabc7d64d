"""Write the tables of docs/published-figures.md: `python docs/site/published_figures.py FOLDER`.

FOLDER has the results of the studies: FOLDER/NAME/statements.csv for each name in `TITLES`.
"""

import argparse
import csv
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "published-figures.md"
BEGIN, END = "<!-- tables: python docs/site/published_figures.py -->\n", "<!-- end of the tables -->\n"
TITLES = {
    "bandit-algorithms": "Lattimore and Szepesvari (2020)",
    "finite-time-bandits": "Auer, Cesa-Bianchi and Fischer (2002)",
    "non-stationary-bandits": "Garivier and Moulines (2011)",
    "tsallis-inf": "Zimmert and Seldin (2021)",
}


def format_number(text: str) -> str:
    """Format a number of the CSV file with three digits, or without decimals if it is large."""
    value = float(text)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(folder: Path, name: str) -> list[str]:
    """Return the lines of a study: heading, table and caption."""
    with (folder / name / "statements.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [f"### {TITLES[name]}", "", "| place | statement | verdict | measured |", "| --- | --- | --- | --- |"]
    for row in rows:
        ends = [format_number(row[key]) for key in ("measured", "measured_low", "measured_high") if row[key]]
        measured = f"{ends[0]} [{ends[1]}, {ends[2]}]" if ends else ""
        cells = row["place"], f"{row['statement']} (origin: {row['origin']})", row["verdict"], measured
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return [*lines, "", f"*`jaxonline reproduce {name}`*", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a folder with a folder for each study")
    folder = parser.parse_args().folder
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    tables = "\n".join(line for name in TITLES for line in table(folder, name))
    PAGE.write_text(f"{before}{BEGIN}\n{tables}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
