"""Make the pictures of the galleries: `python docs/site/pictures.py [NAME ...]` runs the commands.

`--from FOLDER` uses earlier figures of the commands, FOLDER/NAME/FIGURE. New pictures have 64 colours.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from benchmarks.papers.studies import STUDIES
from jaxonline.study.files.templates import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
GALLERIES = {  # words of the commands before the name of the study, the studies, and the folder of their pictures
    "jaxonline run": (tuple(EXAMPLES), ROOT / "docs" / "gallery"),
    "benchmarks.papers reproduce": (tuple(STUDIES), ROOT / "benchmarks" / "papers" / "docs" / "gallery"),
}
FIGURES = {  # others: "figure"
    "noisy-kernels": "regret", "multikernel": "running", "attributes": "prefixes",
    "best-arm": "figure-wrong_recommendation",
}  # fmt: skip
OPTIONS = {"attributes": ["--quick"]}  # an hour without it
WIDTH, COLOURS = 1400, 64  # all pictures together must stay below 2 MB
SMALLER = {  # width and colours of pictures that lose little
    "bandit-algorithms": (1000, 24), "finite-time-bandits": (1100, 32),
    "non-stationary-bandits": (1000, 24), "tsallis-inf": (1000, 24),
}  # fmt: skip


def reduce(source: Path, target: Path) -> None:
    """Write a picture with fewer colours and a limited width."""
    width, colours = SMALLER.get(target.stem, (WIDTH, COLOURS))
    with Image.open(source) as image:
        plain = image.convert("RGB")
        size = (width, round(plain.height * width / plain.width)) if plain.width > width else plain.size
        target.parent.mkdir(exist_ok=True)
        plain.resize(size, Image.Resampling.LANCZOS).quantize(colours, method=Image.Quantize.FASTOCTREE).save(
            target, optimize=True
        )


def main() -> None:
    places = {name: place for place, (names, _) in GALLERIES.items() for name in names}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(places), help="studies; by default all")
    parser.add_argument("--from", dest="made", type=Path, help="a folder with a folder for each study")
    options = parser.parse_args()
    made = options.made or Path(tempfile.mkdtemp())
    for name in options.names:
        if options.made is None:
            command = [sys.executable, "-m", *places[name].split(), name, *OPTIONS.get(name, ())]
            subprocess.run([*command, "--out", str(made / name)], cwd=ROOT, check=True)
        folder = GALLERIES[places[name]][1]
        reduce(made / name / f"{FIGURES.get(name, 'figure')}.png", folder / f"{name}.png")


if __name__ == "__main__":
    main()
