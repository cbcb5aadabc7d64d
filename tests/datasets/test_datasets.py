"""Loading data: files of every format, missing values, named sets from folders, archives and OpenML."""

import contextlib
import hashlib
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pooch
import pytest
import requests
import sklearn.datasets

from jaxonline.datasets import ar4, checksum, load
from jaxonline.datasets.catalogue import SOURCES, Source
from jaxonline.datasets.fetch import Archive


@pytest.fixture(autouse=True)
def no_data_and_no_network(monkeypatch, tmp_path_factory):
    """Unset the data folder, disable the network and use an empty cache."""
    monkeypatch.delenv("JAXONLINE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))

    def fail(*arguments, **options):
        raise requests.ConnectionError("no network in tests")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fail)


def test_ar4_satisfies_its_recursion():
    name, X, y, _ = ar4()
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
        ("a.csv", "1,2,3\n4,5.5,-60\n"), ("a.csv", '\ufeff"depth";"force";"label"\n1;2;3\n\n4;5.5;-60\n'),
        ("a.dat", "1\t2\t3\n4\t5.5\t-6e1\n"), ("a.txt", "  1.0e+00   2 3\n  4 5.5   -60 \n"),
        ("a.data", "1 2 3\r\n4 5.5 -60\r\n"),
    ],
)  # fmt: skip
def test_text_files_of_every_format_are_read(tmp_path, name, text):
    (tmp_path / name).write_text(text, newline="")
    loaded = load(tmp_path / name)
    assert (loaded.name, loaded.X.tolist(), loaded.y.tolist()) == ("a", [[1.0, 2.0], [4.0, 5.5]], [3.0, -60.0])
    assert load("A", tmp_path).X.tolist() == loaded.X.tolist()


def test_numbers_are_read_to_the_last_bit(tmp_path):
    """As Python reads them; some parsers are off by one unit in the last place."""
    values = np.random.default_rng(0).standard_cauchy(1000)
    (tmp_path / "a.csv").write_text("\n".join(f"{value!r}, 1" for value in values.tolist()))
    assert load("a", tmp_path).X[:, 0].tolist() == values.tolist()


def test_npz_files_hold_X_and_y(tmp_path):
    X, y = np.arange(6).reshape(3, 2), np.arange(3)[:, None]
    np.savez(tmp_path / "b.npz", X=X, y=y, other=1)
    loaded = load("b", tmp_path)
    assert loaded.X.dtype == loaded.y.dtype == float
    assert (loaded.X.tolist(), loaded.y.tolist()) == (X.tolist(), [0.0, 1.0, 2.0])
    assert load("b", tmp_path, target="label").y.tolist() == [0.0, 1.0, 2.0], "a target is for files of columns"
    loaded = load("b", tmp_path, drop=["0"])
    assert (loaded.names, loaded.X.tolist()) == (("1",), [[1.0], [3.0], [5.0]])
    bad = {"no_y": {"X": X}, "short": {"X": X, "y": y[:2]}, "words": {"X": X.astype(str), "y": y}}
    for name, arrays in bad.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(ValueError, match=f"{name}.npz"):
            load(name, tmp_path)


def test_columns_of_words_are_dropped_or_encoded(tmp_path):
    """Otherwise the error names the column, and three of its values; also decimal commas are an error."""
    file = tmp_path / "a.csv"
    rows = ["2013-06-30,1.0,Seoul,10:30:00,,3", "2013-07-01,2.0,,11:30:00,5,4", ",3.0,Rome,12:30:00,6,5"]
    file.write_text("\n".join(["Date,a,city,time,b,label", *rows]) + "\n")
    message = r"'Date' holds .*'2013-06-30', '2013-07-01'; so do \['city', 'time'\]; list it in drop, or in one_hot"
    with pytest.raises(ValueError, match=message):
        load(file, impute="mean")
    loaded = load(file, drop=["Date", "city", 3], impute="mean")
    assert (loaded.names, loaded.X.tolist()) == (("a", "b"), [[1.0, 5.5], [2.0, 5.0], [3.0, 6.0]])
    with pytest.raises(ValueError, match=r"row 2, column 'city=Rome' must be finite"):
        load(file, drop=["Date", "time", "b"], one_hot=["city"])
    with pytest.raises(ValueError, match=r"'Date' holds"):
        load(file, one_hot="auto")
    for one_hot, impute, gap in (("auto", "mean", [0.5, 0.5]), (["city"], "median", [0.5, 0.5])):
        loaded = load(file, drop=["Date", "time"], one_hot=one_hot, impute=impute)
        assert loaded.names == ("a", "b", "city=Rome", "city=Seoul")
        assert loaded.X[:, 2:].tolist() == [[0.0, 1.0], gap, [1.0, 0.0]]
    for options, message in (
        ({"drop": ["label"]}, "^drop: must not name the target"), ({"drop": "Date"}, "^drop: must be a list"),
        ({"drop": ["time"], "one_hot": ["time"]}, "^one_hot: must not .* dropped"),
        ({"one_hot": ["town"]}, "^one_hot: .* no column 'town'"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=message):
            load(file, **options)
    with pytest.raises(ValueError, match="one_hot: must be left out for the known set airfoil"):
        load("airfoil", one_hot="auto")
    file.write_text("a;b\n1,5;2\n2,5;3\n")
    with pytest.raises(ValueError, match=r"row 1, column 'a'.*got '1,5'"):
        load(file)


def test_numbers_can_be_categories_and_words_can_be_labels(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("code,a,kind\n10,1,yes\n9,2,no\n9.0,3,yes\n")
    with pytest.raises(ValueError, match=r"row 1, column 'kind' must be a number .*; for classes, give positive"):
        load(file)
    loaded = load(file, one_hot=[0], positive="yes")
    assert loaded.names == ("a", "code=9", "code=10")
    assert loaded.X.tolist() == [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [3.0, 1.0, 0.0]]
    assert loaded.y.tolist() == [1.0, -1.0, 1.0]
    for n in (100, 101):
        file.write_text("id,y\n" + "".join(f"w{i},{i}\n" for i in range(n)))
        if n == 100:
            np.testing.assert_array_equal(load(file, one_hot="auto").X.sum(axis=0), np.ones(n))
        else:
            with pytest.raises(ValueError, match=r"column 'id' must have at most 100 categories .got 101"):
                load(file, one_hot="auto")


@pytest.mark.parametrize("gap", ["", "?", "NA", "nan"])
def test_missing_cells_are_reported_or_imputed(tmp_path, gap):
    file = tmp_path / "a.csv"
    file.write_text(f"depth,force,label\n1,2,3\n4,{gap},6\n1,3,0\n")
    with pytest.raises(ValueError, match=r"row 2, column 'force' .*impute='mean' or 'median'"):
        load(file)
    assert load(file, impute="mean").X[1].tolist() == [4.0, 2.5]
    file.write_text(f"depth,force,label\n1,2,3\n4,5,{gap}\n1,3,0\n9,9,9\n")
    assert load(file, impute="median").y.tolist() == [3.0, 3.0, 0.0, 9.0]


def test_missing_array_entries_are_reported_or_imputed(tmp_path):
    X = np.ones((4, 3))
    for value, impute, message in (
        (np.nan, None, r"a.npz: row 3, column '1'"), (np.inf, "mean", r"row 3, column '1' .*got inf"),
        (np.nan, "mean", ""),
    ):  # fmt: skip
        X[2, 1] = value
        np.savez(tmp_path / "a.npz", X=X, y=np.ones(4))
        if message:
            with pytest.raises(ValueError, match=message):
                load("a", tmp_path, impute=impute)
        else:
            assert load("a", tmp_path, impute=impute).X.tolist() == np.ones((4, 3)).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv: No columns"), ("a,b\n", "must have a row of numbers"), ("a,b\n1,2\n1,2,3\n", "line 3"),
        ("a,b\n1,2\n\n1\n", "row 2 must have 2 cells"), ("a,b\n\n1,2,3\n", "line 3"),
        ("a,b\n1,2\n1,two\n", "row 2, column 'b'.*got 'two'"), ("1\n2\n", "must have a numeric column"),
    ],
)  # fmt: skip
def test_broken_tables_raise_an_error_with_the_place(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "a.csv")


def test_given_folders_are_searched_before_the_data_folder(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"name: .*got 'mine', searched .*as data"):
        load("mine")
    with pytest.raises(ValueError, match=r"folders and files that exist .got '/nowhere'"):
        load("mine", "/nowhere")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mine.csv").write_text("1,2\n3,4\n")
    monkeypatch.setenv("JAXONLINE_DATA", str(tmp_path))
    assert load("mine").y.tolist() == [2.0, 4.0]
    assert load("mine", [tmp_path / "deep" / "mine.csv"]).y.tolist() == [2.0, 4.0]
    monkeypatch.setenv("JAXONLINE_DATA", str(tmp_path / "deep"))
    (tmp_path / "mine.csv").write_text("5,6\n7,8\n")
    assert load("mine", tmp_path / "mine.csv").y.tolist() == [6.0, 8.0], "JAXONLINE_DATA comes last"
    (tmp_path / "mine.feather").write_text("")
    with pytest.raises(ValueError, match=r"must end in .*got '.feather'"):
        load(tmp_path / "mine.feather")


def test_the_original_naval_file_is_found_and_has_the_published_target(tmp_path):
    """The unpacked archive is loaded at any depth beside its descriptions; the target is the first column."""
    folder = tmp_path / "naval" / "UCI CBM Dataset"
    folder.mkdir(parents=True)
    rows = np.arange(36.0).reshape(2, 18)
    (folder / "data.txt").write_text("\n".join("   " + "   ".join(f"{value:.7e}" for value in row) for row in rows))
    (folder / "Features.txt").write_text("1 - Lever position (lp) [ ]\n" * 100)
    (folder / "README.txt").write_text("16 features")
    for path in (tmp_path, tmp_path / "naval", folder, folder / "data.txt"):
        naval = load("naval", path)
        assert (naval.name, naval.X.shape) == ("naval", (2, 17)), "the set has the requested name"
        assert naval.y.tolist() == [0.0, 18.0]
    assert load("Naval", tmp_path, target=-1).y.tolist() == [17.0, 35.0]


def bias_file(folder, T=40):
    """Write a file like Bias_correction_ucl.csv: missing values, and no station and date in the last row."""
    rng = np.random.default_rng(0)
    header = ["station", "Date", *(f"c{i}" for i in range(21)), "Next_Tmax", "Next_Tmin"]
    body = [[f"{1 + t % 25}", "2013-06-30", *map(str, rng.normal(size=23).round(5))] for t in range(T)]
    for t, j in rng.integers([0, 2], [T, 25], size=(30, 2)):
        body[t][j] = ""
    body[-1][:2] = "", ""
    (folder / "Bias_correction_ucl.csv").write_text("\n".join(",".join(row) for row in [header, *body]) + "\n")
    return folder / "Bias_correction_ucl.csv"


def test_bias_correction_equals_the_published_preprocessing(tmp_path):
    """The published code uses `genfromtxt` and an imputer that drops columns without a number (the dates), and then
    takes columns 2 to -2: 20 columns without today's maximum; the last column is the target."""
    values = np.genfromtxt(bias_file(tmp_path), skip_header=1, delimiter=",")
    values = values[:, ~np.isnan(values).all(axis=0)]
    medians = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
    np.testing.assert_allclose(load("Bias", tmp_path, impute="median").X, medians[:, 2:-2], rtol=0, atol=1e-14)
    values = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    bias = load("Bias", tmp_path)
    assert bias.X.shape == (40, 20) == (40, SOURCES["Bias correction"].shape[1])
    np.testing.assert_allclose(bias.X, values[:, 2:-2], rtol=0, atol=1e-14)
    np.testing.assert_allclose(bias.y, values[:, -1], rtol=0, atol=1e-14)


def archive(member, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(member, content)
    return buffer.getvalue()


def test_a_fetched_file_is_verified_and_cached(data_folder, monkeypatch):
    """UCI serves our copy of Airfoil with other line ends, so its checksum is the real one."""
    content = (data_folder / "airfoil" / "airfoil_self_noise.dat").read_bytes().replace(b"\n", b"\r\n")
    answers = [
        archive("airfoil_self_noise.dat", content.replace(b"126.201", b"126.202")),
        b"<html>Please sign in to this network</html>", archive("airfoil_self_noise.dat", content),
    ]  # fmt: skip

    def serve(downloader, url, output_file, pooch):
        Path(output_file).write_bytes(answers.pop(0))

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", serve)
    for words in ("Airfoil: .*74c75fd7", "Airfoil: "):
        with pytest.raises(ValueError, match=words):
            load("Airfoil")
    fetched, local = load("Airfoil"), load("Airfoil", data_folder)
    assert fetched.X.shape == SOURCES["Airfoil"].shape
    np.testing.assert_array_equal(fetched.X, local.X)
    np.testing.assert_array_equal(fetched.y, local.y)
    assert answers == []
    load("Airfoil")  # from the cache


def small_sets(monkeypatch) -> dict:
    """Replace two sets: the file of one and the archive of the other have a checksum. Return their fetch counts."""
    rows = "\n".join(f"{i} {i + 1} {i * i}" for i in range(200)).encode()
    whole, fetched = archive("rows.txt", rows), {"Airfoil": 0, "Naval": 0}
    origins = {
        "Airfoil": Archive("https://a", "rows.txt", member_hash=hashlib.sha256(rows).hexdigest()),
        "Naval": Archive("https://n", "rows.txt", archive_hash=f"md5:{hashlib.md5(whole).hexdigest()}"),
    }
    for name, origin in origins.items():
        monkeypatch.setitem(SOURCES, name, Source((name.lower(),), (200, 2), origin))

    def serve(downloader, url, output_file, pooch):
        fetched[next(name for name, origin in origins.items() if origin.url == url)] += 1
        Path(output_file).write_bytes(whole)

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", serve)
    return fetched


@pytest.mark.parametrize("name", ["Airfoil", "Naval"])
def test_cached_files_are_verified_on_every_use(monkeypatch, name):
    """A damaged archive never gives other numbers: it is fetched again, or an error names it and the next call does."""
    fetched = small_sets(monkeypatch)
    right = load(name)
    (zip_file,) = Path(pooch.os_cache("jaxonline")).glob("*.zip")
    for share in np.linspace(0.0, 0.5, 11):
        content = bytearray(zip_file.read_bytes())
        content[int(share * (len(content) - 1))] ^= 1
        zip_file.write_bytes(bytes(content))
        with contextlib.suppress(ValueError):  # which deletes the archive
            np.testing.assert_array_equal(load(name).y, right.y)
        np.testing.assert_array_equal(load(name).X, right.X)
    assert fetched[name] > 5
    zip_file.write_bytes(b"no archive")
    if name == "Airfoil":  # whose archive has no checksum
        with pytest.raises(ValueError, match=f"{zip_file} was damaged and is deleted"):
            load(name)
    np.testing.assert_array_equal(load(name).y, right.y)


def test_a_set_that_cannot_be_fetched_raises_an_error_with_its_name(monkeypatch):
    with pytest.raises(OSError, match=r"Naval: .*data"):
        load("Naval")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ModuleNotFoundError, match=r"Naval: pooch.*jaxonline\[data\]"):
        load("Naval")


def test_openml_numbers_are_verified(data_folder, monkeypatch):
    local, asked = load("Concrete", data_folder), {}
    assert checksum(local.X, local.y) == SOURCES["Concrete"].origin.numbers_hash

    class Bunch:
        data, target, feature_names = local.X, local.y, ["cement", *"bcdefgh"]

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: asked.update(options) or Bunch)
    np.testing.assert_array_equal(load("Concrete").X, local.X)
    assert load("Concrete").names[0] == "cement"
    assert asked["data_id"] == 44959
    Bunch.target = local.y + 0.01
    with pytest.raises(ValueError, match=r"Concrete: .*delete the folder openml"):
        load("Concrete")


def test_diabetes_equals_scikit_learn_bit_for_bit():
    expected = sklearn.datasets.load_diabetes(return_X_y=True)
    assert list(load("Diabetes").names) == sklearn.datasets.load_diabetes().feature_names
    for array, theirs in zip(load("Diabetes")[1:3], expected, strict=True):
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, theirs)
