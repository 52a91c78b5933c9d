import pytest

from evenhand.data import from_rows
from evenhand.errors import InputError, UsageError
from evenhand.types import Candidate, Slate

ROWS = [
    {
        "qid": 1,
        "query": "why?",
        "passages": {"text": ["x", "y"], "key": ["a", 2], "sel": [1, 0], "title": [None, "T"]},
        "answers": ["so"],
    },
    {
        "qid": 2,
        "query": "how?",
        "passages": {"text": [], "key": [], "sel": [], "title": []},
        "answers": [],
    },
]
MAP = {
    "id": "qid",
    "candidates": "passages.text",
    "ids": "passages.key",
    "grades": "passages.sel",
    "titles": "passages.title",
    "answers": "answers",
}
FIRST = Slate("1", "why?", (Candidate("a", "x"), Candidate("2", "y", "T")), {"a": 1, "2": 0}, ("so",))


def test_objects_of_lists_and_lists_of_objects_read_alike():
    assert list(from_rows(ROWS, **MAP)) == [FIRST, Slate("2", "how?", (), {})]
    row = dict(ROWS[0])
    row["passages"] = [
        {"text": "x", "key": "a", "sel": True, "title": ""},
        {"text": "y", "key": 2, "sel": False, "title": "T"},
    ]
    assert list(from_rows([row], **MAP)) == [FIRST]


def test_a_hugging_face_dataset():
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    rows = datasets.Dataset.from_list(
        [ROWS[1], {**ROWS[0], "passages": {**ROWS[0]["passages"], "key": ["a", "2"]}}]
    )
    assert list(from_rows(rows, **MAP))[1] == FIRST


def test_ids_are_made_where_there_are_none():
    (slate,) = from_rows([{"query": "a", "candidates": ["x", "x"], "v": "SUPPORTS"}], verdict="v")
    assert slate == Slate(
        "row-0", "a", (Candidate("row-0-0", "x"), Candidate("row-0-1", "x")), verdict="SUPPORTS"
    )


def test_null_grades_are_unjudged_and_a_single_answer_is_one():
    row = {"query": "a", "candidates": ["x", "y"], "g": [None, 2], "answer": "so"}
    (slate,) = from_rows([row], grades="g", answers="answer")
    assert slate.grades == {"row-0-1": 2}
    assert slate.answers == ("so",)


def test_the_seeded_order_is_on_request():
    row = {"query": "a", "candidates": [str(i) for i in range(20)]}
    slates = from_rows([row], order="seeded")
    (slate,) = slates
    assert slate.ids != next(iter(from_rows([row]))).ids
    assert slates.report.count("seeded_order") == 1


@pytest.mark.parametrize(
    ("row", "mapping", "words"),
    [
        ({"q": "a"}, {}, r"no column 'candidates': 'candidates' is not in \['q'\]"),
        ({"query": "a", "candidates": "x"}, {}, "must hold a list, got str"),
        ({"query": "a", "candidates": [{"text": "x"}]}, {}, "'candidates.text'"),
        (
            {"query": "a", "candidates": ["x"], "g": [1, 2]},
            {"grades": "g"},
            "2 entries for 1 candidates",
        ),
        ({"query": "a", "candidates": ["x"], "g": [0.5]}, {"grades": "g"}, "must be an integer"),
        ({"query": "a", "candidates": [None]}, {}, "must be a string"),
        ({"query": None, "candidates": []}, {}, "query of slate 'row-1' must be a string"),
        ({"query": "a", "candidates": [], "id": "row-0"}, {"id": "id"}, "that of row 0 already"),
        ({"query": "a", "candidates": [], "an": [1]}, {"answers": "an"}, "must hold strings"),
    ],
)
def test_bad_rows_are_named(row, mapping, words):
    good = {"query": "a", "candidates": [], "g": [], "id": "row-0", "an": None}
    with pytest.raises(InputError, match=words) as caught:
        list(from_rows([good, row], **mapping))
    assert str(caught.value).startswith("row 1: ")


def test_an_iterator_is_read_once():
    slates = from_rows(iter([{"query": "a", "candidates": []}]))
    assert len(list(slates)) == 1
    with pytest.raises(UsageError, match="has been read"):
        list(slates)
    with pytest.raises(UsageError, match="known are"):
        from_rows([], order="any")
