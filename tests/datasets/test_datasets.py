"""Loading: files of every kind, gaps, sets by name from folders, from an archive, from OpenML, always verified."""

import contextlib
import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pooch
import pytest
import requests
import sklearn.datasets

from jaxonline import datasets
from jaxonline.datasets import ar4, checksum, load
from jaxonline.datasets.catalogue import SOURCES, Source
from jaxonline.datasets.fetch import Archive, _cache


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path_factory):
    """No data folder, no network, an empty cache: unless a test says otherwise."""
    monkeypatch.delenv("JAXONLINE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))

    def refuse(*arguments, **options):
        raise requests.ConnectionError("no network in tests")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", refuse)


def test_ar4_is_the_recursion():
    name, X, y = ar4()
    noise = np.random.RandomState(41).randn(5004)
    assert (name, X.shape, y.shape) == ("AR(4)", (5000, 4), (5000,))
    assert X[0].tolist() == [0.0] * 4
    for t in (0, 1, 4, 999, 4999):  # oldest first: lag 1 is the last column
        assert y[t] == pytest.approx(X[t] @ [0.1, 0.2, -0.3, 0.5] + noise[t + 4], abs=1e-14)
        if t:
            np.testing.assert_array_equal(X[t, :3], X[t - 1, 1:])
            assert X[t, 3] == y[t - 1]
    np.testing.assert_array_equal(load("ar(4)").y, y)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "depth,force,label\n1,2,3\n4,5.5,-6e1\n"),
        ("a.csv", "1,2,3\n4,5.5,-60\n"),
        ("a.csv", '\ufeff"depth";"force";"label"\n1;2;3\n\n4;5.5;-60\n'),
        ("a.dat", "1\t2\t3\n4\t5.5\t-60\n"),
        ("a.txt", "  1.0e+00   2 3\n  4 5.5   -60 \n"),
        ("a.data", "1 2 3\r\n4 5.5 -60\r\n"),
    ],
)
def test_tables(tmp_path, name, text):
    (tmp_path / name).write_text(text, newline="")
    found = load(tmp_path / name)
    assert found.name == "a"
    assert found.X.tolist() == [[1.0, 2.0], [4.0, 5.5]]
    assert found.y.tolist() == [3.0, -60.0]
    assert load("A", tmp_path).X.tolist() == found.X.tolist()


def test_numbers_are_read_to_the_last_bit(tmp_path):
    """As Python reads them; some parsers are off by one unit in the last place."""
    values = np.random.default_rng(0).standard_cauchy(1000)
    (tmp_path / "a.csv").write_text("\n".join(f"{value!r}, 1" for value in values.tolist()))
    assert load("a", tmp_path).X[:, 0].tolist() == values.tolist()


def test_targets(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("depth,force,label\n1,2,3\n4,5,6\n")
    for target in ("force", 1, "1", -2):
        found = load(file, target=target)
        assert (found.X.tolist(), found.y.tolist()) == ([[1.0, 3.0], [4.0, 6.0]], [2.0, 5.0])
    with pytest.raises(ValueError, match=r"no column 'width'; its columns are depth, force, label"):
        load(file, target="width")
    with pytest.raises(ValueError, match="no column 3; it has 3 columns"):
        load(file, target=3)


def test_arrays(tmp_path):
    X, y = np.arange(6).reshape(3, 2), np.arange(3)[:, None]
    np.savez(tmp_path / "b.npz", X=X, y=y, other=1)
    found = load("b", tmp_path)
    assert found.X.dtype == found.y.dtype == float
    assert (found.X.tolist(), found.y.tolist()) == (X.tolist(), [0.0, 1.0, 2.0])
    assert load("b", tmp_path, target="label").y.tolist() == [0.0, 1.0, 2.0], "a target is for files of columns"
    bad = {
        "no_y": {"X": X},
        "short": {"X": X, "y": y[:2]},
        "words": {"X": X.astype(str), "y": y},
        "flat": {"X": y, "y": X},
    }
    for name, arrays in bad.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(ValueError, match=f"{name}.npz"):
            load(name, tmp_path)


def test_names_that_are_numbers(tmp_path):
    """As pandas writes a table without names. Three columns of small whole numbers may be data."""
    file = tmp_path / "a.csv"
    file.write_text("0,1,2,3\n1.5,2,3,4\n5,6,7,8\n")
    found = load(file, target="2")
    assert (found.X.tolist(), found.y.tolist()) == ([[1.5, 2.0, 4.0], [5.0, 6.0, 8.0]], [3.0, 7.0])
    file.write_text("0,1,2\n1.5,2,3\n")
    assert load(file).y.tolist() == [2.0, 3.0]


def test_dates_and_words_are_left_out(tmp_path):
    """A column of them is left out, with a warning; numbers with a decimal comma, or one odd cell, are errors."""
    file = tmp_path / "a.csv"
    rows = ["2013-06-30,1.0,Seoul,10:30:00,,3", "2013-07-01,2.0,,11:30:00,5,4", ",3.0,Ulsan,12:30:00,6,5"]
    file.write_text("\n".join(["Date,a,city,time,b,label", *rows]) + "\n")
    left_out = "dates or words instead of numbers in column 'Date', 'city', 'time': left out"
    with pytest.warns(UserWarning, match=left_out):
        found = load(file, impute="mean")
    assert found.X.tolist() == [[1.0, 5.5], [2.0, 5.0], [3.0, 6.0]]
    with pytest.warns(match="'Date', 'time'"), pytest.raises(ValueError, match="row 1, column 'city' must be a number"):
        load(file, target="city", impute="mean")
    file.write_text("a;b\n1,5;2\n2,5;3\n")
    with pytest.raises(ValueError, match=r"row 1, column 'a' must .*got '1,5'"):
        load(file)


@pytest.mark.parametrize("gap", ["", "?", "NA", "nan", "NaN"])
def test_gaps_are_named_or_filled(tmp_path, gap):
    file = tmp_path / "a.csv"
    file.write_text(f"depth,force,label\n1,2,3\n4,{gap},6\n1,3,0\n")
    with pytest.raises(
        ValueError, match=r"no number in row 2, column 'force' \(1 such cells.*impute='mean' or 'median'"
    ):
        load(file)
    assert load(file, impute="mean").X[1].tolist() == [4.0, 2.5]
    file.write_text(f"depth,force,label\n1,2,3\n4,5,{gap}\n1,3,0\n9,9,9\n")
    with pytest.raises(ValueError, match=r"row 2, column 'label'"):
        load(file)
    assert load(file, impute="median").y.tolist() == [3.0, 3.0, 0.0, 9.0]
    with pytest.raises(ValueError, match=r"impute: .*got 'zero'"):
        load(file, impute="zero")


def test_gaps_in_arrays(tmp_path):
    X, y = np.ones((4, 3)), np.ones(4)
    X[2, 1] = np.nan
    np.savez(tmp_path / "a.npz", X=X, y=y)
    with pytest.raises(ValueError, match=r"a.npz: no number in row 3, column '1'"):
        load("a", tmp_path)
    assert load("a", tmp_path, impute="mean").X.tolist() == np.ones((4, 3)).tolist()
    X[:, 1] = np.nan
    np.savez(tmp_path / "a.npz", X=X, y=y)
    with pytest.raises(ValueError, match="column '1' has no number at all"):
        load("a", tmp_path, impute="mean")
    X[:, 1] = np.inf
    np.savez(tmp_path / "a.npz", X=X, y=y)
    with pytest.raises(ValueError, match="an infinite number in row 1, column '1'"):
        load("a", tmp_path, impute="mean")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have at least one row"),
        ("a,b\n", "must have a row of numbers"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, the first one has 2"),
        ("a,b\n1,2\n\n1\n", "row 2 must have 2 cells"),
        ("a,b\n\n1,2,3\n", "line 3 has 3 cells, the first one has 2"),
        ("a,b\n1,2\n1,two\n", "row 2, column 'b' must .*got 'two'"),
        ("1\n2\n", "a column of numbers besides the target"),
    ],
)
def test_broken_tables(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "a.csv")


def test_where_files_are_looked_for(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"name: .*got 'mine', looked for in /.*as data"):
        load("mine")
    with pytest.raises(ValueError, match=r"folders and files that exist .got '/nowhere'"):
        load("mine", "/nowhere")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mine.csv").write_text("1,2\n3,4\n")
    monkeypatch.setenv("JAXONLINE_DATA", str(tmp_path))
    assert load("mine").y.tolist() == [2.0, 4.0]
    assert load("mine", [tmp_path / "deep" / "mine.csv"]).y.tolist() == [2.0, 4.0]
    (tmp_path / "other.csv").write_text("5,6\n7,8\n")
    monkeypatch.setenv("JAXONLINE_DATA", str(tmp_path / "deep"))
    assert load("other", tmp_path).y.tolist() == [6.0, 8.0]
    assert load("mine", tmp_path / "other.csv").y.tolist() == [2.0, 4.0], "JAXONLINE_DATA comes last"
    (tmp_path / "mine.feather").write_text("")
    with pytest.raises(ValueError, match=r"must end in .*got .\.feather"):
        load(tmp_path / "mine.feather")


def test_naval_as_it_comes_from_uci(tmp_path):
    """Unpacked in a folder, beside its descriptions, wherever that is; the first column is the target, as published."""
    folder = tmp_path / "naval" / "UCI CBM Dataset"
    folder.mkdir(parents=True)
    rows = np.arange(36.0).reshape(2, 18)
    (folder / "data.txt").write_text("\n".join("   " + "   ".join(f"{value:.7e}" for value in row) for row in rows))
    (folder / "Features.txt").write_text("1 - Lever position (lp) [ ]\n" * 100)
    (folder / "README.txt").write_text("16 features")
    for place in (tmp_path, tmp_path / "naval", folder, folder / "data.txt"):
        naval = load("naval", place)
        assert (naval.name, naval.X.shape) == ("naval", (2, 17)), "called as it was asked for"
        assert naval.y.tolist() == [0.0, 18.0]
    assert load("Naval", tmp_path, target=-1).y.tolist() == [17.0, 35.0]


def bias_file(folder, T=40):
    """A file like Bias_correction_ucl.csv: gaps, and no station and date at the end."""
    rng = np.random.default_rng(0)
    header = ["station", "Date", *(f"c{i}" for i in range(21)), "Next_Tmax", "Next_Tmin"]
    body = [[f"{1 + t % 25}", "2013-06-30", *map(str, rng.normal(size=23).round(5))] for t in range(T)]
    for t, j in rng.integers([0, 2], [T, 25], size=(30, 2)):
        body[t][j] = ""
    body[-1][:2] = "", ""
    (folder / "Bias_correction_ucl.csv").write_text("\n".join(",".join(row) for row in [header, *body]) + "\n")
    return folder / "Bias_correction_ucl.csv"


def test_bias_correction_as_published(tmp_path):
    """The published code reads the file with `genfromtxt` and an imputer that drops columns without a number (the
    dates), and then takes columns 2 to -2: 20 of them, without today's maximum; the last column is the target."""
    file = bias_file(tmp_path)
    values = np.genfromtxt(file, skip_header=1, delimiter=",")
    values = values[:, ~np.isnan(values).all(axis=0)]
    values = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    bias = load("Bias", tmp_path)
    assert bias.X.shape == (40, 20) == (40, SOURCES["Bias correction"].shape[1])
    np.testing.assert_allclose(bias.X, values[:, 2:-2], rtol=0, atol=1e-14)
    np.testing.assert_allclose(bias.y, values[:, -1], rtol=0, atol=1e-14)
    with pytest.warns(match="'Date'"), pytest.raises(ValueError, match="no number in row"):
        load(file, target="Next_Tmin")
    with pytest.warns(match="'Date'"):
        assert load(file, target="Next_Tmin", impute="mean").X.shape == (40, 23)


def test_prepared_files_of_known_sets(tmp_path):
    """A file that does not look as at UCI is taken as it is."""
    rows = "\n".join(",".join(map(str, range(i, i + 21))) for i in range(1, 4))
    (tmp_path / "bias.csv").write_text(rows + "\n")
    bias = load("Bias correction", tmp_path)
    assert (bias.X.shape, bias.y.tolist()) == ((3, 20), [21.0, 22.0, 23.0])
    np.savez(tmp_path / "concrete_data.npz", X=np.ones((3, 8)), y=np.ones(3))
    assert load("CONCRETE", tmp_path / "concrete_data.npz").X.shape == (3, 8)


def archive(member, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(member, content)
    return buffer.getvalue()


def test_fetching_verifies_and_keeps(data_folder, monkeypatch):
    """Airfoil as UCI serves it is our copy with UCI's line ends: its pinned checksum is the real one."""
    content = (data_folder / "airfoil" / "airfoil_self_noise.dat").read_bytes().replace(b"\n", b"\r\n")
    answers = [
        archive("airfoil_self_noise.dat", content.replace(b"126.201", b"126.202")),
        b"<html>Please sign in to this network</html>",
        archive("airfoil_self_noise.dat", content),
    ]

    def serve(downloader, url, output_file, pooch):
        with open(output_file, "wb") as file:
            file.write(answers.pop(0))

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", serve)
    with pytest.raises(ValueError, match=r"Airfoil: the sha256 checksum of https://.*expected 74c75fd7"):
        load("Airfoil")
    with pytest.raises(ValueError, match="Airfoil: File is not a zip file"):
        load("Airfoil")
    fetched = load("Airfoil")
    local = load("Airfoil", data_folder)
    assert fetched.X.shape == SOURCES["Airfoil"].shape
    np.testing.assert_array_equal(fetched.X, local.X)
    np.testing.assert_array_equal(fetched.y, local.y)
    assert answers == []
    load("Airfoil")  # kept after the first success


def small_sets(monkeypatch) -> dict:
    """One set whose file has a checksum, one whose archive has one, and how often each was fetched."""
    rows = "\n".join(f"{i} {i + 1} {i * i}" for i in range(200)).encode()
    whole, fetched = archive("rows.txt", rows), {"Airfoil": 0, "Naval": 0}
    origins = {
        "Airfoil": Archive("https://a", "rows.txt", member_hash=f"sha256:{hashlib.sha256(rows).hexdigest()}"),
        "Naval": Archive("https://n", "rows.txt", archive_hash=f"md5:{hashlib.md5(whole).hexdigest()}"),
    }
    for name, origin in origins.items():
        monkeypatch.setitem(SOURCES, name, Source((name.lower(),), (200, 2), origin))

    def serve(downloader, url, output_file, pooch):
        fetched[next(name for name, origin in origins.items() if origin.url == url)] += 1
        with open(output_file, "wb") as file:
            file.write(whole)

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", serve)
    return fetched


def flipped(path, share):
    content = bytearray(path.read_bytes())
    content[int(share * (len(content) - 1))] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", ["Airfoil", "Naval"])
def test_what_was_kept_is_verified_each_time(monkeypatch, name):
    """An archive that was damaged, wherever, is named; a file that was taken out of it is taken out again."""
    fetched = small_sets(monkeypatch)
    right = load(name)
    (kept,) = _cache().glob("*.zip")
    good = kept.read_bytes()
    for share in np.linspace(0.0, 0.5, 11):
        flipped(kept, share)
        with contextlib.suppress(ValueError):
            np.testing.assert_array_equal(load(name).y, right.y)  # the bit was one of no meaning
        kept.write_bytes(good)
    flipped(kept, 0.3)
    with pytest.raises(ValueError, match=f"{kept} was damaged; delete it, and it is fetched again"):
        load(name)
    kept.unlink()
    np.testing.assert_array_equal(load(name).y, right.y)
    assert fetched[name] == 2
    (file,) = _cache().rglob("rows.txt")
    file.write_bytes(file.read_bytes().replace(b"100 101", b"100 102"))
    with pytest.warns(RuntimeWarning, match=f"{file} was damaged; it is taken from"):
        found = load(name)
    np.testing.assert_array_equal(found.X, right.X)
    assert fetched[name] == 2


def test_a_set_that_cannot_be_fetched():
    with pytest.raises(OSError, match=r"Naval is in none of the folders given and cannot be fetched.*name its folder"):
        load("Naval")


def test_openml_is_verified(data_folder, monkeypatch):
    local = load("Concrete", data_folder)
    assert f"sha256:{checksum(local.X, local.y)}" == SOURCES["Concrete"].origin.numbers_hash

    class Bunch:
        data, target = local.X, local.y

    asked = {}
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: asked.update(options) or Bunch)
    np.testing.assert_array_equal(load("Concrete").X, local.X)
    assert asked["data_id"] == 44959
    Bunch.target = local.y + 0.01
    with pytest.raises(ValueError, match=r"Concrete: the checksum of the numbers from OpenML.*openml was damaged"):
        load("Concrete")

    def offline(**options):
        raise OSError("offline")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    with pytest.raises(OSError, match="cannot be fetched from OpenML, number 44959"):
        load("Concrete")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["read", "loaded"])
def test_diabetes(elsewhere, monkeypatch):
    """Scikit-learn's numbers, to the last bit, whether its files are where they are expected or not."""
    if elsewhere:
        monkeypatch.setattr("jaxonline.datasets.catalogue.Path", lambda *_: Path("nowhere"))
    found, expected = datasets.diabetes(), sklearn.datasets.load_diabetes(return_X_y=True)
    for array, theirs in zip(found, expected, strict=True):
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, theirs)


def test_diabetes_is_read_without_scikit_learn():
    """Which takes a second to import, and more where it was never imported before."""
    program = "import sys; from jaxonline.datasets import diabetes; diabetes(); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
