"""The gallery: every shipped study file with its figure, which is drawn from fewer runs than the file asks for.

The studies run in this process; build/gallery keeps their figures until a study file or the package changes.
"""

import functools
import hashlib
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.suites import TextbookBandits
from jaxonline.study import Context, load_study_file
from jaxonline.study.files.templates import EXAMPLES, example_path
from jaxonline.study.study import draw_png

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "gallery"
RUNS = 64
LEFT_OUT = ("own-data",)  # needs the files of `jaxonline new own-data`
SUITE = TextbookBandits(runs=20, rounds=2000, games=("Auer 1", "Auer 2", "Auer 11", "Chapelle, 10"))
INTRODUCTION = f"""# Gallery

`jaxonline run NAME` runs a study file, `jaxonline new NAME` writes the file to edit, and
[study files](study-files.md) explains its keys. The figures show at most {RUNS} runs of each learner; the commands play
the runs that the files state. Bands have the level 95 % ([reading a result](reading-a-result.md)).
[Classical games](../notebooks/classical_games.ipynb) explains most of the games, and
[the gallery of the papers](../benchmarks/papers/docs/gallery.md) has the figures of five papers.
"""


def page(folder: Path) -> str:
    """Return the page in Markdown, and write its figures and that of the page on many games into its folder."""
    (folder / "gallery").mkdir(parents=True, exist_ok=True)
    (folder / "many-games.png").write_bytes(figure("many-games", repr(SUITE), lambda: SUITE))
    sections = [INTRODUCTION]
    for name in EXAMPLES:
        if name not in LEFT_OUT:
            text = example_path(name).read_text(encoding="utf-8")
            (folder / "gallery" / f"{name}.png").write_bytes(figure(name, text, functools.partial(study, name, text)))
            sections.append(section(name, text))
    return "\n".join(sections)


def section(name: str, text: str) -> str:
    """Return the title, the figure, the command and the file of a study."""
    title, _, measured = tomllib.loads(text)["title"].partition(": ")
    caption = f"\n*{measured[0].upper()}{measured[1:]}.*\n" if measured else ""
    picture = f"![{title}](gallery/{name}.png)\n{caption}"
    return f"(study-{name})=\n## {title}\n\n{picture}\n    jaxonline run {name}\n\n```toml\n{text}```\n"


def study(name: str, text: str) -> Any:
    """Return a study with few runs."""
    return load_study_file(name, runs=min(RUNS, tomllib.loads(text)["runs"]))


def figure(name: str, text: str, make: Callable[[], Any]) -> bytes:
    """Return the main figure of a study as PNG, from the cache if neither its text nor the package has changed."""
    fingerprint = hashlib.sha256(f"{RUNS}{text}{code()}".encode()).hexdigest()[:8]
    path = CACHE / f"{name}-{fingerprint}.png"
    if not path.exists():
        figures = make().run(Context()).figures
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{name}-????????.png"):
            old.unlink()
        path.write_bytes(draw_png(figures.get("figure") or next(iter(figures.values()))))
    return path.read_bytes()


@functools.cache
def code() -> str:
    """Return a hash of all modules of the package."""
    files = sorted((ROOT / "jaxonline").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
