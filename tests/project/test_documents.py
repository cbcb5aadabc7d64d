"""The pages: their code runs, their commands exist, their links lead somewhere, the gallery has all studies."""

import re
import shlex
import time

import pytest
import typer
from fresh_python import ROOT, run_commands, run_python
from optional_packages import missing_packages, skip_reason
from typer.core import TyperGroup

import jaxonline
from benchmarks.papers.__main__ import app as papers
from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import STUDIES
from benchmarks.suites import SuiteCommands
from benchmarks.suites import app as suites
from jaxonline import cli
from jaxonline.study.files.templates import example_path, write_study_template

FOLDERS = ("benchmarks", "benchmarks/papers", "benchmarks/papers/docs", "docs")
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    *sorted(f"{folder}/{p.name}" for folder in FOLDERS for p in (ROOT / folder).glob("*.md")),
]
NOT_RUN = r"compiled by the tests, and\s+not run there"


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str = "python") -> list[tuple[str, str]]:
    """Of every fenced block: the paragraph before it, and its code."""
    parts = re.split(r"^```(\w*)\n", text_of(page), flags=re.MULTILINE)
    fences = zip(parts[0::4], parts[1::4], parts[2::4], strict=False)  # text, language, code, and what closes the code
    return [(text.strip().rpartition("\n\n")[2], code) for text, opened, code in fences if opened == language]


GALLERIES = {  # the studies by the words of their commands
    "benchmarks/papers/docs/gallery.md": {f"reproduce {name}" for name in STUDIES},
}
NEWCOMER = "docs/own-csv.md"
RUN_OTHERWISE = ("README.md", "CONTRIBUTING.md", *GALLERIES, NEWCOMER)  # the first two by test_documentation


@pytest.mark.parametrize("page", PAGES)
def test_links_of_pages_have_targets(page):
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text_of(page)) if "://" not in link]
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


CHANGES = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")  # the order of Keep a Changelog


def changelog_errors(text: str) -> list[str]:
    """What differs from the format of Keep a Changelog: dated versions, newest first, with lists by kind of change."""
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    titles, errors, numbers = [section.partition("\n")[0] for section in sections], [], []
    if titles[:1] != ["[Unreleased]"]:
        errors.append("the first section is not [Unreleased]")
    for title in titles[1:]:
        if match := re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d\d-\d\d", title):
            numbers.append(tuple(map(int, match.groups())))
        else:
            errors.append(f"{title}: is not [version] - date")
    if numbers != sorted(set(numbers), reverse=True):
        errors.append("versions are not ordered")
    for title, section in zip(titles, sections, strict=True):
        _, *parts = re.split(r"^### ", section, flags=re.MULTILINE)
        kinds = [part.partition("\n")[0] for part in parts]
        if kinds != [kind for kind in CHANGES if kind in kinds]:
            errors.append(f"{title}: has the parts {', '.join(kinds)}")
        errors += [f"{title}: {kind} is empty" for kind, part in zip(kinds, parts, strict=True) if "\n* " not in part]
    return errors


def test_the_changelog_has_the_format_of_keep_a_changelog():
    text = text_of("docs/CHANGELOG.md")
    assert changelog_errors(text) == []
    version = jaxonline.__version__
    assert f"\n## [{version}] - " in text or f"will be version {version}" in text.split("\n## ")[1]


def test_a_wrong_changelog_is_detected():
    wrong = "# C\n\n## 0.2.0\n\n## [0.1.0] - 2026-01-02\n\n### New\n\n### Fixed\n\n* x\n\n### Added\n\n* y\n"
    assert changelog_errors(wrong + "\n## [0.1.1] - 2026-01-03\n\n## [0.1] - soon\n") == [
        "the first section is not [Unreleased]",
        "[0.1] - soon: is not [version] - date",
        "versions are not ordered",
        "[0.1.0] - 2026-01-02: has the parts New, Fixed, Added",
        "[0.1.0] - 2026-01-02: New is empty",
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Python


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_pages_compiles(page):
    for number, (_, code) in enumerate(blocks(page)):
        compile(code, f"{page}, block {number}", "exec")
    if page.startswith("docs/") and "jobqueue" in text_of(page):
        assert all(re.search(NOT_RUN, before) for before, _ in blocks(page))


def to_run(page: str) -> list[str]:
    return [code for before, code in blocks(page) if not re.search(NOT_RUN, before)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("gallery", "number"), [(gallery, number) for gallery in GALLERIES for number in range(len(blocks(gallery)))]
)
def test_the_python_of_a_gallery_works_when_pasted(gallery, number, tmp_path):
    assert run_python(to_run(gallery)[number], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if to_run(page) and page not in RUN_OTHERWISE])
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    before = ""
    if "[the README](../README.md):" in text_of(page):  # with what is defined there
        before = next(code for _, code in blocks("README.md")).partition("result =")[0]
    write_study_template("bandits", str(tmp_path / "bandits.toml"))
    codes = to_run(page)
    run_python(before + "\n".join(code for code in codes if not missing_packages(code)), tmp_path)
    if missing := missing_packages("\n".join(codes)):
        pytest.skip(skip_reason(missing))


# ---------------------------------------------------------------------------------------------------------------------
# Commands


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


PROGRAMS = {"jaxonline": cli.app, "benchmarks.papers": papers, "benchmarks.suites": suites}


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


ADDED = ("python -m benchmarks.papers reproduce step-sizes --runs 50",)  # of the study that CONTRIBUTING adds


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)])
def test_commands_of_pages_are_commands(page):
    wrong = {command: said for command in commands_of(page) if command not in ADDED and (said := complaint(command))}
    assert {command: said for command, said in wrong.items() if "requires an argument" not in said} == {}


def test_invalid_commands_are_detected():
    assert complaint("jaxonline bandit") == "command: unknown name (got 'bandit'); did you mean 'run bandits'?"
    assert complaint("jaxonline run bandit").endswith("(got 'bandit'); did you mean 'bandits'?")
    assert complaint("jaxonline run bandits") is complaint("jaxonline run mine.toml") is None
    assert "no such option" in complaint("jaxonline run bandits --round 3").lower()
    suite = "python -m benchmarks.suites textbook-bandits"
    assert complaint(f"{suite} --runs 1") == "runs: must be at least 2 (got 1)"
    assert "no such option" in complaint(f"{suite} --round 3").lower()
    assert "did you mean 'reproduce variance'" in complaint("python -m benchmarks.papers reproduce varianc")
    assert complaint("make tests") == "no target tests"
    assert complaint("python -m benchmarks.speed") == "no module benchmarks.speed"
    assert complaint("python -m benchmarks.papers reproduce variance --noise-variance 0").startswith("noise_variance: ")
    assert "did you mean 'reproduce variance'" in complaint("python -m benchmarks.papers reproduce varianc")
    assert (
        complaint("python -m benchmarks.papers reproduce impossibility --runs 1") == "runs: must be at least 2 (got 1)"
    )


# ---------------------------------------------------------------------------------------------------------------------
# The gallery, and the page for a newcomer


@pytest.mark.parametrize("gallery", GALLERIES)
def test_a_gallery_has_every_study(gallery):
    """With its picture and its command; with Python unless it is a study file."""
    shown = set()
    for section in re.split(r"^(?=##+ )", text_of(gallery), flags=re.MULTILINE):
        if not section.startswith("### "):
            continue
        (command,) = re.findall(r"^    (?:jaxonline|python -m benchmarks\.\w+) (.*)$", section, re.MULTILINE)
        shown.add(command.removesuffix(" --quick"))
        assert len(re.findall(r"^!\[.+\]\((?:gallery/)?[\w-]+\.png\)$", section, re.MULTILINE)) == 1, command
        assert len(re.findall(r"^```python$", section, re.MULTILINE)) == (not command.startswith("run ")), command
        assert re.search(r"^\*.*(\d runs|no runs|five draws|--quick)", section, re.MULTILINE), (
            f"{command}: how much was played"
        )
    assert shown == GALLERIES[gallery]
    folders = (ROOT / "docs", ROOT / "benchmarks" / "papers" / "docs")
    assert sum(path.stat().st_size for folder in folders for path in folder.rglob("*.png")) < 2_000_000


READ, TYPED = 200, 200  # words and characters a minute: 40 words typed


@pytest.mark.long
def test_the_tutorial_of_an_own_learner_takes_at_most_15_minutes(tmp_path):
    """The page, followed to the letter (pip install apart: the package is there), with all reading and typing."""
    text = text_of(NEWCOMER).partition("## From here")[0]
    began = time.monotonic()
    printed, install = "", ""
    for language, code in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            (before,) = [before for before, block in blocks(NEWCOMER) if block == code]
            (name,) = re.findall(r"Save this as `([\w.]+)`", before)
            (tmp_path / name).write_text(code)
        elif code.startswith("pip install"):
            install = code
        else:
            printed += run_commands(code, tmp_path)
    assert install == "pip install .\n"
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    assert re.search(r"^mine +1 +[\d.]+ ± [\d.]+", printed, re.MULTILINE)
    assert "same letter" in printed
    minutes = (time.monotonic() - began) / 60
    minutes += (
        len(text.split()) / READ
        + sum(len(code) for code in re.findall(r"^```\w+\n(.*?)^```", text, re.M | re.S)) / TYPED
    )
    assert minutes + 2 < 15  # two for the installation
