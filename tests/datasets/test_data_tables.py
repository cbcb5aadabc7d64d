"""Tables of text: headers, encodings, separators, labels; and damaged arrays."""

import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from jaxonline.datasets import load, mnist

FORCES = "depth,force,label\n1,2,3\n4,5,6\n"
DATES = "2020-01-01,1.0,2.0\n2020-01-02,3.0,4.0\n2020-01-03,5.0,6.0\n"
LABELS = "a,y\n1,1\n2,1.0\n3,0\n4,1e0\n"
GOOD = [  # text, options, and the rows: the target is last
    (f"date,a,y\n{DATES}", {"drop": ["date"]}, [[1, 2], [3, 4], [5, 6]]),
    *((f"{index},b,y\n0,1,2\n1,2,3\n", {"drop": [0]}, [[1, 2], [2, 3]]) for index in ("", "Unnamed: 0")),
    (",b,y\n0,1,2\n", {"target": 0}, [[1, 2, 0]]), ("b,y,\n1,2,\n", {"target": "y"}, [[1, 2]]),
    (",0,1,2,3\n0,5,6,7,8\n", {}, [[5, 6, 7, 8]]), ('"a\nb;";"c ""d""\n";y\n1;2;3\n', {"target": 'c "d"'}, [[1, 3, 2]]),
    ("RI,Na,y\n1,2,3\n", {}, [[1, 2, 3]]),  # sodium, not a gap
    *((LABELS, {"positive": label}, [[1, 1], [2, 1], [3, -1], [4, 1]]) for label in ("1", "1.0")),
    ('"a,1";b;y\n1;2;3\n', {"target": "a,1"}, [[2, 3, 1]]), ('width ("),height (")\n1,2\n', {}, [[1, 2]]),
    ("0,1,2,3\n1.5,2,3,4\n5,6,7,8\n", {"target": "2"}, [[1.5, 2, 4, 3], [5, 6, 8, 7]]),  # as pandas writes headers
    ("0,1,2\n1.5,2,3\n", {}, [[0, 1, 2], [1.5, 2, 3]]),  # three small integers may be data
    *((FORCES, {"target": target}, [[1, 3, 2], [4, 6, 5]]) for target in ("force", 1, "1", -2)),
]  # fmt: skip


def table_of(folder, text, **options):
    (folder / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return np.column_stack(load(folder / "a.csv", **options)[1:3]).tolist()


@pytest.mark.filterwarnings("ignore:.*has no name")
@pytest.mark.parametrize(("text", "options", "rows"), GOOD)
def test_a_table_of_text_is_read(tmp_path, text, options, rows):
    assert table_of(tmp_path, text, **options) == rows


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (DATES, {}, r"first row .*\['2020-01-01'.*change '2020-01-01'"),
        ("0,1,no\n1,1,\n1,0,yes\n", {"target": 0}, r"first row .*\['0'.*change '0'"),
        ("1,two,3\n4,5,6\n", {}, r"first row .*\['1'.*change '1'"),
        ("a,y,y\n1,2,3\n", {}, r"a\.csv: must have another name for each column \(got 'y' more than once"),
        ("c=A,c,y\n1,A,3\n", {"one_hot": ["c"]}, r"another name for each column \(got 'c=A' more than once"),
        ("a,y,\n1,2,3\n", {}, "^target: .* the last column .* no name"),
        (LABELS, {"positive": "na"}, r"positive: must be .*got 'na'"),
        ("a,b\n1,2\n", {"drop": ["c"]}, r"^drop: .* has no column 'c'; its 2 columns are a, b"),
        (FORCES, {"target": 3}, r"no column 3; its 3 columns are depth, force, label"),
        (("a,y\n" + "1,2\n" * 5000 + "1,é\n").encode("latin-1"), {}, r"a\.csv: .*byte 0x"),
    ],
)
def test_a_bad_table_of_text_is_an_error(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        table_of(tmp_path, text, **options)


def test_an_index_without_a_name_is_left_out_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match=r"a\.csv: column 0 .* has no name.* left out"):
        assert table_of(tmp_path, ",b,y\n0,1,2\n1,2,3\n") == [[1, 2], [2, 3]]


def test_wide_tables_take_little_time_for_each_column(tmp_path):
    rows = [",".join(map(str, range(start, start + 4000))) for start in (0, 1)]
    assert np.shape(table_of(tmp_path, "\n".join([",".join(f"c{j}" for j in range(4000)), *rows]))) == (2, 4000)


NUMBERS = {"1": 1.0, " 2.5": 2.5, "-3e2 ": -300.0, '"4"': 4.0, "+.5": 0.5}
OTHERS = ("", "1_0", "0x1", "\0", "٣", "½", "1,5", '"', "x", "1e400", "True", "infinity", "- 1")


def test_random_texts_are_numbers_or_errors(tmp_path):
    rng, counts = random.Random(0), Counter()
    for _ in range(200):
        cells = [[rng.choice([*NUMBERS] * 40 + [*OTHERS]) for _ in "aby"] for _ in range(3)]
        text = rng.choice(["", "\ufeff"]) + rng.choice(["\n", "\r\n"]).join([" a ,b,y", *map(",".join, cells)])
        is_good = all(cell in NUMBERS for row in cells for cell in row)
        try:
            assert table_of(tmp_path, text) == [[NUMBERS[cell] for cell in row] for row in cells], text
            counts["read"] += 1
        except ValueError as error:
            assert (is_good, str(tmp_path / "a.csv") in str(error)) == (False, True), (text, error)  # noqa: PT017
            counts["errors"] += 1
    print(f"data files: 200 random texts, {dict(counts)}")
    assert min(counts.values()) > 40


def test_parquet_files_are_checked_before_they_are_read(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a ": [1], "a": [2], "y": [3]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"a\.parquet: must have another name .*got 'a' more than once"):
        load(path)
    pd.DataFrame({"a": np.zeros(2**22, np.int8), "y": np.zeros(2**22, np.int8)}).to_parquet(path)
    with pytest.raises(ValueError, match=r"a\.parquet: must unpack to at most .* \(got 67,108,864\)"):
        load(path)
    pd.DataFrame({"a": [1, 2], "y": [3, 4]}).to_parquet(path)
    assert load(path).X.tolist() == [[1.0], [2.0]]


def test_damaged_array_error_names_the_file(tmp_path):
    """Whichever byte is hit: the same arrays, or an error of this package that names the file."""
    path, X, y = tmp_path / "mnist.npz", np.arange(6.0).reshape(3, 2), np.arange(3.0)
    np.savez_compressed(path, X=X, y=y)
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        try:
            found = load(path)
        except ValueError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
        else:
            np.testing.assert_array_equal(np.column_stack(found[1:3]), np.column_stack([X, y]))
    np.savez(path, X=X.astype("m8[s]"), y=y)
    with pytest.raises(ValueError, match=r"must hold real numbers .*timedelta"):
        load(path)
    np.save(path.with_suffix(".npy"), X)
    path.write_bytes(path.with_suffix(".npy").read_bytes())
    for read in (load, mnist):
        with pytest.raises(ValueError, match=r"mnist\.npz: must be an \.npz file"):
            read(path)
