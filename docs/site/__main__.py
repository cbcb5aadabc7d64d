"""Build the documentation site: `python docs/site [FOLDER]`, by default into build/site. Warnings are errors.

The texts are README, CONTRIBUTING, docs/*.md, benchmarks/**/*.md, the notebooks with their stored outputs, the
docstrings, and the places, verdicts and notes of the papers. `staging` collects them in a folder for Sphinx.
"""

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))  # for `benchmarks`


def build(out: Path) -> int:
    """Build the site into an empty folder; return Sphinx's exit code."""
    from staging import stage

    staged = out.with_name(out.name + "-source")
    for folder in (out, staged):
        shutil.rmtree(folder, ignore_errors=True)
    print("Drawing the gallery, which takes a few minutes the first time, and collecting the pages", flush=True)
    stage(staged)
    print("Building the pages", flush=True)
    code = render(staged, out)
    print(f"Open {out / 'index.html'}" if code == 0 else "The site has errors", flush=True)
    return code


def render(staged: Path, out: Path) -> int:
    """Run Sphinx on the staged folder; warnings, also of broken links, are errors."""
    from sphinx.cmd.build import main as sphinx

    options = ["-q", "-W", "--keep-going", "-n", "-b", "html", "-c", HERE, "-d", staged / ".doctrees"]
    return sphinx([str(part) for part in (*options, staged, out)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "site")
    sys.exit(build(parser.parse_args().folder.resolve()))
