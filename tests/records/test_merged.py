import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand.errors import ResumeError
from evenhand.records import merged
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


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_slates_come_one_by_one_whatever_their_rows(tmp_path, rows):
    # 40 rows are more than the first look covers; two row groups cut a slate in two.
    ids = [f"s{i}" for i in range(9) for _ in range(rows)]
    table = pa.table({"slate": ids, "line": list(range(len(ids)))})
    with merged.open_writer(tmp_path / "t.parquet", table.schema) as writer:
        writer.write_table(table, row_group_size=len(ids) // 2 + 1)
    reader = merged._Reader(tmp_path / "t.parquet", table.schema)
    for i in range(9):
        lines = reader.take_slate(f"s{i}")["line"].to_pylist()
        assert lines == list(range(rows * i, rows * (i + 1)))
    assert len(reader.take_slate("s8")) == 0
    reader.close()


class Watched:
    """A table, or a column of it, that counts the values that are listed."""

    listed = 0

    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, lines):
        return Watched(self.inner[lines])

    def slice(self, *place):
        return Watched(self.inner.slice(*place))

    def column(self, name):
        return Watched(self.inner.column(name))

    def to_pylist(self):
        Watched.listed += len(self.inner)
        return self.inner.to_pylist()


def test_a_slate_is_found_by_a_look_at_few_lines(tmp_path):
    table = pa.table({"slate": [f"s{i}" for i in range(200) for _ in range(3)]})
    write_table(tmp_path / "t.parquet", table)
    reader = merged._Reader(tmp_path / "t.parquet", table.schema)
    assert reader._more()
    reader._buffer = Watched(reader._buffer)
    assert [len(reader.take_slate(f"s{i}")) for i in range(200)] == [3] * 200
    # At most 16 lines each; all lines behind each slate would be 600 + 597 + ... = 60,300.
    assert 600 <= Watched.listed <= 16 * 200
    reader.close()
