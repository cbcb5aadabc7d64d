"""Links, devices and FIFOs in a folder: outputs replace them, or raise an error, and they are not read."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_calls import ARMS, call, write
from fresh_python import ROOT
from made_up import made_up
from typer.testing import CliRunner

import benchmarks.papers.__main__ as papers
import jaxonline as jo
from jaxonline.results.report.plotting import write_figure
from jaxonline.results.report.tables import Table
from jaxonline.store.files import DamagedStoreError, write_atomically
from jaxonline.study import Report, load_study_file

pytestmark = pytest.mark.fast_compile
SMALL = {"n_runs": 2, "n_rounds": 6, "block_size": 1}
GAME = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
LEARNER = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a study that ran, beside its study file."""
    folder = tmp_path_factory.mktemp("study")
    done = call("run", write(folder / "arms.toml", ARMS), "--out", folder / "out")
    assert done.exit_code == 0, done.output
    return folder / "out"


def save_report(folder):
    tables = {"table": Table("Regret", [{"learner": "a"}])}
    Report(tables, {"figure": made_up().plot}, results={"results/a": made_up()}).save(folder)


ACTIONS = {  # by command or function: what writes into a folder, also into one of an earlier study
    "new": lambda folder, played: call("new", "own-data", "--out", folder / "study.toml"),
    "run": lambda folder, played: call("run", played.parent / "arms.toml", "--out", folder),
    "show": lambda folder, played: call("show", folder),
    "verify": lambda folder, played: CliRunner().invoke(
        papers.app, ["verify", "--claim", "E18", "--json", str(folder / "a.json"), "--figure", str(folder / "a.svg")]
    ),
    "checkpoint": lambda folder, played: jo.simulate(
        GAME, LEARNER, checkpoint=jo.Checkpoint(folder, every=0.0), comparator=jo.L2Ball(1.0), **SMALL
    ),
    "compute_once": lambda folder, played: jo.Checkpoint(folder).compute_once(1, lambda: {"a": np.ones(2)}),
    "Result.save": lambda folder, played: made_up().save(folder / "a.npz"),
    "Result.plot": lambda folder, played: [made_up().plot(path=folder / name) for name in ("a", "a.pdf", "a.svgz")],
    "Report.save": lambda folder, played: save_report(folder),
    "Bibliography.save": lambda folder, played: jo.cite().save(folder / "a.bib"),
    "Live.save": lambda folder, played: jo.Live(LEARNER, instance=2).save(folder / "state"),
    "write_figure": lambda folder, played: write_figure(made_up().plot().figure, folder / "a.eps"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", ACTIONS)
def test_no_output_follows_a_link(played, tmp_path, monkeypatch, name):
    """Every name that an action writes is a link to a canary of its own, or to a file that does not exist."""
    written, move = [], os.replace

    def record(source, target):
        written.append(Path(target))
        move(source, target)

    private, first, second = (tmp_path / part for part in ("private", "first", "second"))
    for folder in (first, second):
        shutil.copytree(played, folder) if name == "show" else folder.mkdir()
    with monkeypatch.context() as patch, warnings.catch_warnings(action="ignore"):
        patch.setattr(os, "replace", record)
        ACTIONS[name](first, played)
    names = sorted({path.relative_to(first) for path in written})
    names += [path.relative_to(first) for path in first.rglob("lock") if name != "show"]
    assert names
    changed = 0
    for exists in (True, False):
        private.mkdir()
        for i, path in enumerate(names):
            (second / path).parent.mkdir(parents=True, exist_ok=True)
            (second / path).unlink(missing_ok=True)
            (second / path).symlink_to(private / str(i))
            if exists:
                (private / str(i)).write_text(f"canary {i}")
        before = {path: path.read_text() for path in private.iterdir()}
        with warnings.catch_warnings(action="ignore"):
            ACTIONS[name](second, played)
        after = {path: path.read_text() for path in private.iterdir()}
        changed += len(dict(before.items() ^ after.items()))
        shutil.rmtree(private)
        assert any((second / path).is_symlink() for path in names) == (exists and name == "new")
    print(f"{name:18s}{2 * len(names):4d} links, {changed} canaries changed")
    assert changed == 0


def test_only_the_writer_writes_files():
    calls = re.compile(
        r"\.write_(text|bytes)\(|os\.replace\(|\.savefig\((?!image)|\.to_csv\(\w*path|open\(.*\"[wxa]b?\""
    )
    found = set()
    for path in Path(jo.__file__).parent.rglob("*.py"):
        code = [line for line in path.read_text().splitlines() if not line.strip().startswith((">>>", "..."))]
        if calls.search("\n".join(code)):
            found.add(path.name)
    assert found == {"files.py", "archives.py", "cli.py"}, "a member of an archive in memory, and os.devnull"


@pytest.mark.long
def test_show_ignores_settings_of_matplotlib_in_the_current_folder(played, tmp_path):
    """Matplotlib reads a file `matplotlibrc` there, which can name a module to import and a preamble for LaTeX."""
    folder = shutil.copytree(played, tmp_path / "out")
    settings = ["backend: module://a_module", "text.usetex: True", "text.latex.preamble: \\input{/etc/passwd}"]
    (tmp_path / "matplotlibrc").write_text("\n".join(settings))
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    command = [sys.executable, "-m", "jaxonline", "show", str(folder)]
    subprocess.run(command, cwd=tmp_path, env=environment | {"PYTHONPATH": str(ROOT)}, check=True)
    assert (folder / "figure.png").read_bytes() == (played / "figure.png").read_bytes()


INPUTS = ("result.npz", "numbers.json", "checkpoint", "checkpoint/study.json", "checkpoint/blocks")


def replace(path: Path, kind: str, outside: Path) -> None:
    shutil.move(path, outside / "elsewhere")
    if kind == "a FIFO":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "a device" else outside / "elsewhere")


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("kind", ["a link", "a FIFO", "a device"])
def test_show_does_not_read_links_devices_and_fifos(played, tmp_path, name, kind):
    folder = shutil.copytree(played, tmp_path / "out")
    if name.startswith("checkpoint"):
        (folder / "result.npz").unlink()
    replace(folder / name, kind, tmp_path)
    done = call("show", folder)
    assert done.exit_code == 2, done.output
    print(f"{name}, {kind}: {' '.join(done.output.split())[:150]}")


def test_files_in_a_checkpoint_that_are_links_or_fifos_are_computed_again(tmp_path):
    folder = tmp_path / "kept"
    whole = jo.simulate(GAME, LEARNER, checkpoint=folder, **SMALL)
    for path, kind in zip(
        (*folder.glob("blocks/*/*.npz"), folder / "lock"), ("a link", "a FIFO", "a FIFO"), strict=True
    ):
        replace(path, kind, tmp_path)
    with warnings.catch_warnings(action="ignore"):
        again = jo.simulate(GAME, LEARNER, checkpoint=folder, **SMALL)
    np.testing.assert_array_equal(again.cumulative_loss, whole.cumulative_loss)
    with warnings.catch_warnings(action="error"):
        jo.load_result(folder)


def test_a_folder_that_is_a_link_out_is_not_written(played, tmp_path):
    (outside := tmp_path / "outside").mkdir()
    for name in ("blocks", "checkpoint", "part", "results"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).symlink_to(outside)
    with pytest.raises(DamagedStoreError, match="link"):
        jo.simulate(GAME, LEARNER, checkpoint=tmp_path / "blocks", **SMALL)
    with pytest.raises(DamagedStoreError, match="link"):
        save_report(tmp_path / "results")
    with pytest.raises(DamagedStoreError, match="link"):
        jo.Checkpoint(tmp_path / "part") / "part"
    assert call("run", played.parent / "arms.toml", "--out", tmp_path / "checkpoint").exit_code == 2
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/null", path)])
def test_devices_and_fifos_that_a_user_names_raise_an_error(tmp_path, make):
    for name in ("a.npz", "a.toml"):
        make(tmp_path / name)
    for read in (jo.load_result, load_study_file, jo.Live(LEARNER).load):
        with pytest.raises((ValueError, FileNotFoundError), match=re.escape(str(tmp_path))):
            read(tmp_path / ("a.toml" if read is load_study_file else "a.npz"))
    with pytest.raises(OSError, match=r"must be a file.*a\.npz"):
        write_atomically(tmp_path / "a.npz", b"")
    with pytest.raises(OSError, match=r"must be a file.*/dev/"):
        write_atomically(Path("/dev/stdout"), b"")
