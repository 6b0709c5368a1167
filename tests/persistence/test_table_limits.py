"""Limits of tables: a small file that unpacks to many rows is refused before it is read."""

import gzip
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from secateurs import benchmark
from secateurs.commands._prediction_files import read_prediction_file
from secateurs.commands._table_files import read_table
from secateurs.exceptions import UntrustedFileError
from secateurs.persistence.table_limits import (
    _COLUMN_BYTES,
    NUMBER_BYTES,
    TEXT_BYTES,
    check_table_size,
)

N_ROWS = 20_000_000


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """20 million rows in less than 200 kB."""
    path = tmp_path_factory.mktemp("bomb") / "votes.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as handle:
        handle.write(b"a,b\n")
        for _ in range(20):
            handle.write(b"0,1\n" * (N_ROWS // 20))
    assert path.stat().st_size < 200_000
    return path


def test_a_small_file_with_many_rows_is_refused_before_it_is_read(bomb):
    tracemalloc.start()
    try:
        for read in (read_table, lambda path: read_table(path, as_text=None)):
            with pytest.raises(
                UntrustedFileError, match=r"csv\.gz needs .* rows or more"
            ) as caught:
                read(bomb)
            assert "\n" not in str(caught.value)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    with pytest.raises(UntrustedFileError, match=r"Pass a sample of its rows"):
        benchmark({"bomb": bomb}, RandomForestClassifier(3), ["re"], 2, target="a")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".npz", ".npy"])
def test_every_format_has_the_limit_of_rows_and_the_option_raises_it(tmp_path, suffix):
    path = tmp_path / f"votes{suffix}"
    table = np.tile(np.array([[0, 1, 1], [1, 0, 1]], dtype=np.int8), (5000, 1))
    frame = pd.DataFrame(table, columns=["a", "b", "y"])
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif suffix == ".npz":
        np.savez_compressed(path, votes=table[:, :2], y=table[:, 2])
    elif suffix == ".npy":
        np.save(path, table[:, :2])
        frame[["y"]].to_csv(tmp_path / "y.csv", index=False)
    else:
        frame.to_csv(path, index=False)
    labels = tmp_path / "y.csv" if suffix == ".npy" else None
    target = "y" if suffix in (".csv", ".csv.gz", ".parquet") else None
    with pytest.raises(UntrustedFileError, match=r"10,00\d rows or more"):
        read_prediction_file(path, target, labels, (), 256 * 9_900)
    found = read_prediction_file(path, target, labels, (), 10_001 * (256 + 4 * TEXT_BYTES))
    assert found.table.shape == (10_000, 2)


def test_long_lines_and_many_columns_count_too(tmp_path):
    path = tmp_path / "wide.csv.gz"
    with gzip.open(path, "wb") as handle:
        handle.write(b"a," * 1_000_000)
    needed = 1_000_000 * (NUMBER_BYTES + _COLUMN_BYTES)
    with pytest.raises(UntrustedFileError, match=r"needs 1\.62 GB"):
        check_table_size(path, needed - 1, NUMBER_BYTES, "")
    check_table_size(path, needed, NUMBER_BYTES, "")


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["x" * 100_000] * 1000, "b": [0] * 1000},  # one long text, used in every row
        {"a": [[0.0] * 1_000_000] * 10, "b": [0] * 10},  # long lists
    ],
)
def test_repeated_values_of_parquet_files_count_as_often_as_they_are_used(tmp_path, columns):
    pytest.importorskip("pyarrow")
    path = tmp_path / "repeated.parquet"
    pd.DataFrame(columns).to_parquet(path)
    assert path.stat().st_size < 100_000
    for max_bytes in (90_000_000, 1_000_000):
        with pytest.raises(UntrustedFileError, match=r"needs .* when unpacked"):
            check_table_size(path, max_bytes, NUMBER_BYTES, "")
    check_table_size(path, 200_000_000, NUMBER_BYTES, "")
