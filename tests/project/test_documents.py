"""The pages: their code runs and prints the shown output, their commands exist, their links lead somewhere, the gallery
has all that ships, and notebooks store the outputs that they have now."""

import importlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer
from fresh_python import ROOT, run_commands, run_python
from optional_packages import missing_packages, skip_reason
from pages import IS_EXACT, blocks, is_same, is_shown_in, outputs_of, shown, text_of
from typer.core import TyperGroup

import jaxonline as jo
from benchmarks.papers.__main__ import app as papers
from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import STUDIES
from benchmarks.suites import SuiteCommands
from benchmarks.suites import app as suites
from jaxonline import cli
from jaxonline.parameters.citations import REFERENCES
from jaxonline.study.files.templates import example_path, write_study_template
from jaxonline.study.study import draw_png

FOLDERS = ("benchmarks", "benchmarks/papers", "benchmarks/papers/docs", "docs")
PAGES = [
    "README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md",
    *sorted(f"{folder}/{p.name}" for folder in FOLDERS for p in (ROOT / folder).glob("*.md")),
]  # fmt: skip
NOT_RUN = r"compiled by the tests, and\s+not run there"
GALLERY = "benchmarks/papers/docs/gallery.md"
NEWCOMER = "docs/own-csv.md"
RUN_OTHERWISE = ("CONTRIBUTING.md", GALLERY, NEWCOMER)


@pytest.mark.parametrize("page", PAGES)
def test_links_of_pages_have_targets_and_their_python_compiles(page):
    for number, (_, code) in enumerate(blocks(page)):
        compile(code, f"{page}, block {number}", "exec")
    text = re.sub(r"<!-- built: .*? -->", "", text_of(page))  # pictures that the site draws
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


# ---------------------------------------------------------------------------------------------------------------------
# Python


END = "\x1e"  # printed after each block


def to_run(page: str) -> list[str]:
    return [code for before, code in blocks(page) if not re.search(NOT_RUN, before)]


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(blocks(GALLERY))))
def test_the_python_of_the_gallery_works_when_pasted(number, tmp_path):
    assert run_python(to_run(GALLERY)[number], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if to_run(page) and page not in RUN_OTHERWISE])
def test_the_python_of_a_page_runs_from_top_to_bottom_and_prints_the_shown_output(page, tmp_path):
    before = ""
    if "[the README](../README.md):" in text_of(page):  # with what is defined there
        before = next(code for _, code in blocks("README.md")).partition("result =")[0]
    write_study_template("bandits", str(tmp_path / "bandits.toml"))
    codes, texts = to_run(page), dict(zip((code for _, code in blocks(page)), shown(page), strict=True))
    run = [code for code in codes if not missing_packages(code)]
    program = before + "".join(f"{code}\nprint({END!r}, flush=True)\n" for code in run)
    outputs = run_python(program, tmp_path).split(f"{END}\n")
    for code, printed in zip(run, outputs[:-1], strict=True):
        assert is_shown_in(texts[code], printed), f"shown:\n{texts[code]}\nprinted:\n{printed}"
    if missing := missing_packages("\n".join(codes)):
        pytest.skip(skip_reason(missing))


@pytest.mark.long
def test_the_python_of_contributing_runs(tmp_path, monkeypatch):
    """From top to bottom: each block is a file that is added, and is used at once."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "contributing"}
    for i, (_, block) in enumerate(blocks("CONTRIBUTING.md")):
        exec(compile(block, f"CONTRIBUTING.md, block {i + 1}", "exec"), names)
    assert REFERENCES.pop("NLMS") == ("nagumo1967learning",)  # other tests compare them with the bibliography


@pytest.mark.long
def test_the_tutorial_of_an_own_learner_works(tmp_path):
    """The page, followed to the letter (pip install apart: the package is there)."""
    text, printed = text_of(NEWCOMER).partition("## From here")[0], ""
    for before, language, code in re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            (name,) = re.findall(r"Save this as `([\w.]+)`", before)
            (tmp_path / name).write_text(code)
        elif not code.startswith("pip install"):
            printed += run_commands(code, tmp_path)
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    assert re.search(r"^mine +[\d.]+ ± [\d.]+", printed, re.MULTILINE)


@pytest.mark.long
def test_the_picture_of_the_readme_is_what_the_quickstart_draws(tmp_path, monkeypatch):
    """With the reduced colours of `docs/site/paper_results.py`; the only picture in docs/ apart from drawings."""
    image = pytest.importorskip("PIL.Image")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    assert [path.name for path in (ROOT / "docs").glob("*.png")] == ["quickstart.png"]
    report = jo.load_study_file("quickstart").run(jo.Context())
    (tmp_path / "figure.png").write_bytes(draw_png(report.figures["figure"]))
    importlib.import_module("paper_results").reduce(tmp_path / "figure.png", tmp_path / "reduced.png")
    pictures = ROOT / "docs" / "quickstart.png", tmp_path / "reduced.png"
    stored, now = (np.asarray(image.open(path).convert("L"), float) for path in pictures)
    assert stored.shape == now.shape
    assert (
        not IS_EXACT or np.abs(stored - now).mean() < 1.0
    )  # of 255; another version of Matplotlib draws other letters


def test_output_is_shown_in_blocks_of_text_that_follow_the_code():
    """It is compared with what the code prints. Indented blocks have commands, or the README's architecture."""
    for page in ["README.md", *(page for page in PAGES if page.startswith("docs/"))]:
        text, texts = text_of(page), blocks(page, "text")
        assert len(texts) == sum(map(bool, shown(page))) + (page == "docs/study-files.md"), page
        prose = re.sub(r"^```.*?^```$", "", text.partition("## The architecture")[0], flags=re.MULTILINE | re.DOTALL)
        indented = re.findall(r"^    (\S.*)$", prose, re.MULTILINE)
        assert [line for line in indented if not re.match(r"(jaxonline|make|pip|python) ", line)] == [], page


def test_the_error_of_a_study_file_is_that_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "docs/study-files.md"
    file = blocks(page, "toml")[0][1]
    (tmp_path / "study.toml").write_text(file.replace("[0.05, 0.1, 0.2]", "-1"))
    with pytest.raises(ValueError, match="greedy") as error:
        jo.load_study_file("study.toml")
    assert [text for _, text in blocks(page, "text")] == [f"Error: {error.value}\n"]


def test_other_output_than_the_shown_one_is_noticed():
    shown_text = "two copies   6.06 ± 0.12\nin 3.1 s\n"
    for printed, exact, near in (
        ("Result\ntwo copies   6.06 ± 0.12\nin 0.4 s\nmore\n", True, True),
        ("two copies   6.07 ± 0.12\nin 3.1 s\n", False, True), ("two copies   6.26 ± 0.12\nin 3.1 s\n", False, False),
        ("one copy   6.06 ± 0.12\nin 3.1 s\n", False, False), ("two copies   6.06 ± 0.12\n\nin 3 s\n", False, False),
    ):  # fmt: skip
        assert (is_shown_in(shown_text, printed, True), is_shown_in(shown_text, printed, False)) == (exact, near)


# ---------------------------------------------------------------------------------------------------------------------
# Commands

PROGRAMS = {"jaxonline": cli.app, "benchmarks.papers": papers, "benchmarks.suites": suites}
INVALID = {
    "jaxonline run bandit": "did you mean 'bandits'", "jaxonline run bandits --round 3": "no such option",
    "make tests": "no target tests", "python -m benchmarks.suites textbook-bandits --runs 1": "must be at least 2",
    "python -m benchmarks.papers reproduce varianc": "did you mean 'reproduce variance'",
    "python -m benchmarks.speed": "no module benchmarks.speed",
}  # fmt: skip
ADDED = ("python -m benchmarks.papers reproduce step-sizes --runs 50",)  # of the study that CONTRIBUTING adds


def commands_of(page: str) -> list[str]:
    """Lines of shell in blocks, fenced or indented, and commands in backticks."""
    text = text_of(page)
    lines = re.findall(r"^    (?=jaxonline |make |pip |python )(.*)$", text, re.MULTILINE)
    lines += [line for _, code in blocks(page, "sh") for line in code.splitlines()]
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines += re.findall(r"`((?:jaxonline|make) [^`]+)`", prose)
    return [" ".join(re.sub(r"(^|\s)#.*", "", line).split()) for line in lines]


def complaint(command: str) -> str | None:
    """What is wrong with a command; nothing is run."""
    words = shlex.split(command)
    if words[0] == "make":
        (known,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
        missing = sorted(set(words[1:]) - set(known.split()))
        return f"no target {', '.join(missing)}" if missing else None
    if words[0] != "jaxonline" and (words[:2] != ["python", "-m"] or words[2] not in PROGRAMS):
        if words[:2] != ["python", "-m"]:
            return None
        module = ROOT.joinpath(*words[2].split("."))
        return None if module.is_dir() or module.with_suffix(".py").exists() else f"no module {words[2]}"
    program, arguments = (words[0], words[1:]) if words[0] == "jaxonline" else (words[2], words[3:])
    try:
        read(program, arguments)
    except Exception as error:
        return str(error)
    return None


def read(program: str, words: list[str]) -> None:
    """Read a command as the command line does, a study with its fields, and a shipped study by its name."""
    command, name, context, rest = typer.main.get_command(PROGRAMS[program]), program, None, words
    while isinstance(command, TyperGroup):
        if not rest:
            return
        if rest[0].startswith("--"):  # some act when they are read
            if rest[0] not in {option for each in command.params for option in each.opts}:
                raise ValueError(f"no option {rest[0]}")
            return
        context = command.make_context(name, list(rest), parent=context)
        name, command, rest = command.resolve_command(context, list(rest))
    context = command.make_context(name, rest, parent=context)
    studies = STUDIES | SuiteCommands.studies if program != "jaxonline" else {}
    if name in studies:
        study = load_study(studies[name])
        study(**{key: context.params[key] for key in study.model_fields if context.params[key]})
    shipped = context.params.get({"run": "file", "new": "name"}.get(name, "")) or "NAME"
    if program == "jaxonline" and shipped not in ("NAME", "FILE") and not shipped.endswith((".toml", ".json")):
        example_path(shipped)


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)])
def test_commands_of_pages_are_commands(page):
    wrong = {command: said for command in commands_of(page) if command not in ADDED and (said := complaint(command))}
    assert {command: said for command, said in wrong.items() if "requires an argument" not in said} == {}
    for command, said in INVALID.items():
        assert said in complaint(command).lower()


# ---------------------------------------------------------------------------------------------------------------------
# Contents of single pages


def test_the_gallery_has_every_study_and_the_list_of_answers_has_every_answer():
    """With the anchors of headings that MyST and GitHub make."""
    shown = re.findall(r"^    python -m benchmarks\.papers (reproduce [\w-]+)", text_of(GALLERY), re.MULTILINE)
    assert sorted(shown) == sorted(f"reproduce {name}" for name in STUDIES)
    links = set(re.findall(r"\((how-do-i-\w+\.md#[\w-]+)\)", text_of("docs/how-do-i.md")))
    wanted = set()
    for page in (ROOT / "docs").glob("how-do-i-*.md"):
        headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
        wanted |= {f"{Path(page).name}#{anchor}" for anchor in anchors}
    assert links == wanted


NOTEBOOKS, PAPERS = ROOT / "notebooks", ROOT / "benchmarks" / "papers" / "notebooks"
MACHINE = re.compile(r"(?<![\w.:/])/(home|root|tmp|work|usr|opt|Users)/")


def complaints(notebook: dict) -> list[str]:
    """What is wrong with an executed notebook."""
    found, code = [], [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if [cell["execution_count"] for cell in code] != list(range(1, len(code) + 1)):
        found.append("not executed from top to bottom")
    for cell in code:
        for output in cell["outputs"]:
            text = json.dumps({key: value for key, value in output.get("data", {}).items() if "image" not in key})
            text += "".join(output.get("text", ""))
            if output["output_type"] == "error" or output.get("name") == "stderr":
                found.append(f"an error or a warning in cell {cell['execution_count']}")
            if MACHINE.search(text):
                found.append(f"a path of the machine in cell {cell['execution_count']}")
    return found


def test_notebooks_are_executed_and_import_existing_names():
    """The first cell of code has all imports, each on one line."""
    for path in (*NOTEBOOKS.glob("*.ipynb"), *PAPERS.glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        assert complaints(notebook) == [], path.name
        assert path.stat().st_size < 1_000_000, path.name
        first = next(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code")
        exec("".join(line for line in first if re.match(r"from (jaxonline|benchmarks)\b", line)), {})


@pytest.mark.long
@pytest.mark.parametrize("path", [*NOTEBOOKS.glob("*.ipynb"), *PAPERS.glob("*.ipynb")], ids=lambda path: path.stem)
def test_notebooks_have_the_outputs_that_they_print_now(path, monkeypatch):
    pytest.importorskip("nbclient", reason="nbclient is in the extras `notebooks` and `test-all`")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    for name in ("XLA_FLAGS", "MPLBACKEND"):  # of the tests: eight devices, and no pictures in notebooks
        monkeypatch.delenv(name, raising=False)
    notebook = importlib.import_module("run_notebooks").run(path)
    assert complaints(notebook) == []
    cells = zip(outputs_of(json.loads(path.read_text())), outputs_of(notebook), strict=True)
    for number, (stored, now) in enumerate(cells, start=1):
        assert [kind for kind, _ in stored] == [kind for kind, _ in now], f"cell {number}"
        for (_, before), (_, after) in zip(stored, now, strict=True):
            assert is_same(before, after), f"cell {number} stores:\n{before}\nand prints:\n{after}"


def test_unexecuted_notebooks_are_detected():
    cell = {"cell_type": "code", "execution_count": 1, "outputs": []}
    stderr = {"output_type": "stream", "name": "stderr", "text": ["UserWarning"]}
    path = {"output_type": "stream", "name": "stdout", "text": ["in /home/me/data"]}
    page = {"output_type": "display_data", "data": {"text/html": ["https://github.com/tmp/x"], "image/png": "/tmp/"}}
    wrong = [{"outputs": [page]}, {"execution_count": None}, {"outputs": [stderr]}, {"outputs": [path]}]
    assert [len(complaints({"cells": [cell | change]})) for change in wrong] == [0, 1, 1, 1]
