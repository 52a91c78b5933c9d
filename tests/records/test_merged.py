import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand.errors import ResumeError
from evenhand.records.merged import read_table, write_table


def test_one_row_group_a_part_in_slate_order(finished):
    # Parts of 2 of slates with 3, 0 | 1, 3 | 3 candidates in 3 rows each.
    scores = pq.ParquetFile(finished.path / "scores.parquet")
    groups = [scores.metadata.row_group(i).num_rows for i in range(scores.num_row_groups)]
    assert groups == [9, 12, 9]
    rows = pq.read_table(finished.path / "rows.parquet")
    assert rows["slate"].to_pylist() == [f"s{i}" for i in range(5) for _ in range(3)]
    assert rows["tokens"].to_pylist() == [0, 10, 20] * 5


def test_a_flipped_byte_in_a_page_is_noticed(tmp_path):
    table = pa.table({"x": np.arange(2000.0)})
    write_table(tmp_path / "t.parquet", table)
    assert read_table(tmp_path / "t.parquet").equals(table)
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[200] ^= 1
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(ResumeError, match=r"t\.parquet: cannot be read"):
        read_table(tmp_path / "t.parquet")


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(ResumeError, match=r"gone\.parquet"):
        read_table(tmp_path / "gone.parquet")
