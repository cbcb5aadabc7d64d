"""Misleading or damaged data files: headers, encodings, separators and arrays."""

import numpy as np
import pytest

from jaxonline.datasets import load, mnist
from jaxonline.datasets.tables import read_table


def table_of(folder, text, **options):
    (folder / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(folder / "a.csv", **options).to_numpy().tolist()


@pytest.mark.parametrize(
    ("text", "odd", "options"),
    [
        ("2020-01-01,1.0,2.0\n2020-01-02,3.0,4.0\n2020-01-03,5.0,6.0\n", "2020-01-01", {}),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n", "5.1", {"positive": "setosa"}),
        ("0,1,no\n1,1,\n1,0,yes\n", "0", {"target": 0}),
        ("1,two,3\n4,5,6\n", "1", {}),
    ],
)
def test_row_of_data_is_not_a_header(tmp_path, text, odd, options):
    with pytest.raises(ValueError, match=rf"first row .*\['{odd}'.*change '{odd}'"):
        table_of(tmp_path, text, **options)


@pytest.mark.filterwarnings("ignore:.*dates or words")
def test_table_with_a_header_reads_every_row(tmp_path):
    text = "date,a,y\n2020-01-01,1.0,2.0\n2020-01-02,3.0,4.0\n2020-01-03,5.0,6.0\n"
    assert table_of(tmp_path, text) == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_a_missing_name_or_a_word_that_means_missing_elsewhere_is_a_column_name(tmp_path):
    assert table_of(tmp_path, ",b,y\n0,1,2\n1,2,3\n", drop=[0]) == [[1.0, 2.0], [2.0, 3.0]]
    assert table_of(tmp_path, "RI,Na,y\n1,2,3\n") == [[1.0, 2.0, 3.0]], "sodium, not a gap"


def test_positive_label_is_compared_as_a_number(tmp_path):
    text = "a,y\n1,1\n2,1.0\n3,0\n4,1e0\n"
    for positive in ("1", "1.0"):
        assert [y for _, y in table_of(tmp_path, text, positive=positive)] == [1.0, 1.0, -1.0, 1.0]
    with pytest.raises(ValueError, match=r"positive: must be .*got 'na'"):
        table_of(tmp_path, text, positive="na")


def test_unknown_column_error_names_the_argument(tmp_path):
    for column in ("c", 7):
        with pytest.raises(ValueError, match=rf"^drop: .* has no column {column!r}; its 2 columns are a, b"):
            table_of(tmp_path, "a,b\n1,2\n", drop=[column])


def test_wrong_encoding_error_names_the_file(tmp_path):
    for text in ("größe,y\n1,2\n", "a,y\n" + "1,2\n" * 5000 + "1,é\n"):
        with pytest.raises(ValueError, match=r"a\.csv: .*byte 0x"):
            table_of(tmp_path, text.encode("latin-1"))


def test_quoted_separator_does_not_split(tmp_path):
    assert table_of(tmp_path, '"a,1";b;y\n1;2;3\n', target="a,1") == [[2.0, 3.0, 1.0]]
    assert table_of(tmp_path, 'width ("),height (")\n1,2\n') == [[1.0, 2.0]]


def test_damaged_array_error_names_the_file(tmp_path):
    """Whichever byte is hit: the same arrays, or an error of this package that names the file."""
    path, X, y = tmp_path / "mnist.npz", np.arange(6.0).reshape(3, 2), np.arange(3.0)
    np.savez_compressed(path, X=X, y=y)
    content = path.read_bytes()
    cut = [content[:size] for size in range(0, len(content), 40)]
    flipped = [content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :] for at in range(len(content))]
    refused = []
    for damaged in cut + flipped:
        path.write_bytes(damaged)
        try:
            found = load(path)
        except ValueError as error:
            refused.append(str(error))
        else:
            np.testing.assert_array_equal(np.column_stack(found[1:]), np.column_stack([X, y]))
    assert len(refused) > len(content) / 2
    assert all(message.startswith(str(path)) for message in refused)
    np.save(path.with_suffix(".npy"), X)
    path.write_bytes(path.with_suffix(".npy").read_bytes())
    for read in (load, mnist):
        with pytest.raises(ValueError, match=r"mnist\.npz: must be an \.npz file"):
            read(path)
