import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand.errors import InputError, NothingMeasuredError, UsageError
from evenhand.measure.silver import silver_beta, silver_beta_pooled
from evenhand.study.labels import Labels, label_quality, read_labels


def lines(slate, scores, seeds=None):
    scores = np.asarray(scores, dtype=float)
    seeds = range(len(scores)) if seeds is None else seeds
    return [
        {
            "slate": slate, "candidate": f"c{i}", "order_seed": seed, "slot": i, "window": 0,
            "grades": [0.0, 0.0, 0.0, 1.0], "score": row[i],
        }
        for seed, row in zip(seeds, scores, strict=True)
        for i in range(len(row))
    ]  # fmt: skip


def write(path, rows, schema=None):
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


FIRST = np.array([[0.1, 0.4, 0.9], [0.1, 0.6, 0.7]])
SECOND = np.array([[0.2, 0.8], [0.4, 0.8], [0.3, 0.8]])


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "labels.parquet", [*lines("q", FIRST), *lines("r", SECOND, (7, 3, 5))])


def test_labels_come_back_by_slate_with_orders_by_seed(file):
    found = read_labels(file)
    assert list(found) == ["q", "r"]
    np.testing.assert_array_equal(found["q"].scores, FIRST)
    assert found["r"].orders == (3, 5, 7)
    np.testing.assert_array_equal(found["r"].scores, SECOND[[1, 2, 0]])
    assert found["r"].candidates == ("c0", "c1")


def test_quality_is_the_mean_over_slates(file):
    found = label_quality(file)
    assert found.silver_beta.mean == pytest.approx((silver_beta(FIRST) + silver_beta(SECOND)) / 2)
    assert found.pooled == pytest.approx(silver_beta_pooled([FIRST, SECOND]))
    assert found.corrected == pytest.approx(silver_beta_pooled([FIRST, SECOND], corrected=True))
    assert (found.orders, found.missing) == ((2, 3), 0)
    assert found == label_quality(read_labels(file))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["silver_beta"]["n"] == 2


def test_missing_labels_are_nan_and_counted(tmp_path):
    rows = lines("q", np.vstack([FIRST, FIRST[:1]]))
    rows[2]["score"] = None
    rows[5]["score"] = float("nan")
    del rows[8]
    found = label_quality(write(tmp_path / "l.parquet", rows))
    # Candidate c2 has no label at all; the two others are whole.
    assert found.missing == 3
    assert found.pooled == pytest.approx(silver_beta(np.vstack([FIRST, FIRST[:1]])[:, :2]))
    with pytest.raises(NothingMeasuredError, match="two orders"):
        label_quality(write(tmp_path / "one.parquet", lines("q", FIRST[:1])))


def test_undefined_slates_are_counted():
    still = Labels(("c0", "c1"), (0, 1), np.full((2, 2), 0.5))
    moving = Labels(("c0", "c1", "c2"), (0, 1), FIRST)
    found = label_quality({"a": still, "b": moving})
    assert (found.silver_beta.n, found.silver_beta.undefined) == (1, 1)
    with pytest.raises(NothingMeasuredError):
        label_quality({})


def test_integer_scores_are_numbers(tmp_path):
    schema = pa.schema(
        [
            ("slate", pa.string()),
            ("candidate", pa.string()),
            ("order_seed", pa.int64()),
            ("score", pa.int32()),
        ]
    )
    rows = [{**row, "score": int(row["score"] * 10)} for row in lines("q", FIRST)]
    path = write(tmp_path / "l.parquet", [{k: row[k] for k in schema.names} for row in rows], schema)
    np.testing.assert_array_equal(read_labels(path)["q"].scores, [[1, 4, 9], [1, 6, 7]])


def test_bad_files_are_refused_with_their_place(tmp_path):
    with pytest.raises(InputError, match="none.parquet"):
        read_labels(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("not parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_labels(tmp_path / "text.parquet")
    without = [{k: v for k, v in row.items() if k != "order_seed"} for row in lines("q", FIRST)]
    with pytest.raises(InputError, match="no column order_seed; .* needs slate, candidate"):
        read_labels(write(tmp_path / "a.parquet", without))
    with pytest.raises(InputError, match="second label for candidate 'c1' under order seed 0"):
        read_labels(write(tmp_path / "b.parquet", [*lines("q", FIRST), lines("q", FIRST)[1]]))
    rows = lines("q", FIRST)
    rows[0]["candidate"] = None
    with pytest.raises(InputError, match="column candidate holds a null"):
        read_labels(write(tmp_path / "c.parquet", rows))
    worded = [{**row, "score": "high"} for row in lines("q", FIRST)]
    with pytest.raises(InputError, match="needed are numbers"):
        read_labels(write(tmp_path / "d.parquet", worded))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: read_labels(None), "path of a file of labels is needed, got None"),
        (lambda: read_labels(3), "path of a file of labels is needed, got 3"),
        (lambda: label_quality(3), "path of a file of labels is needed, got 3"),
        (lambda: label_quality({"q": [[1.0]]}), "labels by slate id must hold Labels, got"),
        (lambda: label_quality({}, seed="x"), "seed must be a whole number"),
        (lambda: label_quality({}, level=2), "level must lie between 0 and 1"),
        (lambda: Labels(("a",), (0, 1), [[1.0, 2.0]]), r"labels of shape \(1, 2\) for 2 orders"),
        (lambda: Labels(("a",), (0,), "x"), "labels must be numbers"),
    ],
)
def test_wrong_kinds_are_refused_by_name(call, said):
    with pytest.raises(UsageError, match=said):
        call()
