"""Make the pictures of docs/gallery.md: `python docs/site/pictures.py [NAME ...]` runs the commands.

`--from FOLDER` uses earlier figures of the commands, FOLDER/NAME/FIGURE. New pictures have 64 colours.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "gallery"
# the figure of each study; other pictures of the gallery are in docs/
PAPERS = {
    "noisy-kernels": "regret", "impossibility": "figure", "variance": "figure", "multikernel": "running",
    "multikernel-rates": "figure", "attributes": "prefixes", "radial-kernels": "figure",
    "bandit-algorithms": "figure", "finite-time-bandits": "figure", "non-stationary-bandits": "figure",
    "tsallis-inf": "figure",
}  # fmt: skip
GAMES = {
    "experts": "figure", "tracking": "figure", "mistakes": "figure", "perceptron": "figure", "sparse": "figure",
    "bandits": "figure", "sleeping-bandits": "figure", "sleeping-experts": "figure-awake_regret_0",
    "delayed": "figure", "delayed-gradient": "figure", "adaptive": "figure", "best-arm": "figure-wrong_recommendation",
    "sets": "figure", "duels": "figure", "contextual": "figure", "convex": "figure", "strongly-convex": "figure",
}  # fmt: skip
FIGURES = PAPERS | GAMES
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(FIGURES), help="studies; by default all")
    parser.add_argument("--from", dest="made", type=Path, help="a folder with a folder for each study")
    options = parser.parse_args()
    made = options.made or Path(tempfile.mkdtemp())
    for name in options.names:
        if options.made is None:
            program = ["jaxonline", "run"] if name in GAMES else ["benchmarks.papers", "reproduce"]
            command = [sys.executable, "-m", *program, name, *OPTIONS.get(name, ()), "--out", str(made / name)]
            subprocess.run(command, check=True)
        reduce(made / name / f"{FIGURES[name]}.png", FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
