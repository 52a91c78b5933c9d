"""Answers kept in a folder: a study that was stopped asks nothing twice."""

import json

import numpy as np
import pytest

from evenhand.errors import ResumeError, ScorerError
from evenhand.score.toy import Toy
from evenhand.study.causes.worst import worst_orders
from evenhand.study.rows.kept import ANSWERS, HEAD, kept, write_result
from evenhand.types import Candidate, Presentation, Scored, Shown, Slate

SETTINGS = {"objective": "kendall", "budget": 40, "width": None, "seed": 0}


def slates(n=3, size=8):
    return [
        Slate(f"s{q}", f"query {q}", tuple(Candidate(f"c{i}", f"text {i}") for i in range(size)))
        for q in range(n)
    ]


class Answering:
    """A toy that answers by another function."""

    def __init__(self, answer, **dials):
        self.inner, self.answer = Toy(**dials), answer

    def __getattr__(self, name):
        return getattr(self.__dict__["inner"], name)

    def score(self, shown):
        return self.answer(shown)


class Counting(Answering):
    """A toy that counts its calls and dies after some of them."""

    def __init__(self, last=None):
        super().__init__(self.count, slot_bias=0.5)
        self.calls, self.last = 0, last

    def count(self, shown):
        if self.calls == self.last:
            raise KeyboardInterrupt
        self.calls += 1
        return self.inner.score(shown)


def searched(scorer, out, found=None, **changed):
    given = slates() if found is None else found
    with kept(scorer, out, "worst", {**SETTINGS, **changed}, given) as asked:
        return worst_orders(asked, given, objective="kendall", budget=40).to_dict()


def test_a_stopped_study_goes_on_and_ends_the_same(tmp_path):
    whole = Counting()
    expected = searched(whole, None)
    stopped = Counting(whole.calls // 2)
    with pytest.raises(KeyboardInterrupt):
        searched(stopped, tmp_path / "run")
    # A writer that was killed leaves half a line.
    with (tmp_path / "run" / ANSWERS).open("ab") as stream:
        stream.write(b'{"asked": "12')
    again = Counting()
    assert searched(again, tmp_path / "run") == expected
    assert again.calls == whole.calls - whole.calls // 2
    third = Counting()
    assert searched(third, tmp_path / "run") == expected
    assert third.calls == 0


def test_other_settings_slates_and_scorers_are_refused_by_name(tmp_path):
    searched(Toy(), tmp_path)
    with pytest.raises(ResumeError, match="settings.budget: 40 in the folder, 50 now"):
        searched(Toy(), tmp_path, budget=50)
    with pytest.raises(ResumeError, match="scorer.revision"):
        searched(Toy(slot_bias=0.1), tmp_path)
    with pytest.raises(ResumeError, match="slates"):
        searched(Toy(), tmp_path, slates(size=7))


def test_texts_of_the_surface_are_compared_too(tmp_path):
    searched(Toy(), tmp_path)
    head = json.loads((tmp_path / HEAD).read_bytes())
    head["settings"]["surface_texts"] = "other words"
    (tmp_path / HEAD).write_text(json.dumps(head), encoding="ascii")
    with pytest.raises(ResumeError, match="surface_texts"):
        searched(Toy(), tmp_path)


def test_a_folder_with_other_files_and_a_damaged_one_are_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ResumeError, match="holds files but no such study \\(mine.txt\\)"):
        searched(Toy(), tmp_path)
    run = tmp_path / "run"
    searched(Toy(), run)
    lines = (run / ANSWERS).read_bytes().splitlines(keepends=True)
    (run / ANSWERS).write_bytes(b"".join([lines[1], *lines[1:]]))
    with pytest.raises(ResumeError, match="another question"):
        searched(Toy(), run)
    (run / ANSWERS).write_bytes(b"no json\n")
    with pytest.raises(ResumeError, match="damaged"):
        searched(Toy(), run)
    with pytest.raises(ResumeError, match="cannot be written"):
        searched(Toy(), run / ANSWERS / "deeper")


def test_nothing_is_written_before_the_first_answer(tmp_path):
    def fail(shown):
        raise RuntimeError("no")

    with pytest.raises(ScorerError):
        searched(Answering(fail), tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_answers_come_back_bit_for_bit_and_facts_are_passed_on(tmp_path):
    given = Scored(
        [0.1 + 0.2, np.nan], [[0.25, 0.75], [np.nan, 1e-300]], [0.5, 1.0], 3, 40,
        np.array([0, 7]), np.array([1, 0]), "lost", 2,
    )  # fmt: skip

    scorer = Answering(lambda shown: [given] * len(shown))
    scorer.dtype = "float32"
    slate = slates(1, 2)[0]
    shown = [Shown(slate, Presentation((1, 0), ((1, 0),)))]
    for _ in range(2):
        with kept(scorer, tmp_path, "x", {}, [slate]) as asked:
            (found,) = asked.score(shown)
            assert asked.dtype == "float32"
        for name in ("scores", "grades", "label_mass", "truncated", "escaped"):
            assert np.array_equal(getattr(found, name), getattr(given, name), equal_nan=True)
        assert (found.prompts, found.tokens, found.failure, found.query_escaped) == (3, 40, "lost", 2)


def test_the_result_is_strict_json(tmp_path):
    write_result(tmp_path, {"value": None})
    assert json.loads((tmp_path / "result.json").read_text("ascii")) == {"value": None}
