"""What an order-free scorer is asked, and what its other rows are made of."""

import numpy as np

from evenhand.present.design import design
from evenhand.score.toy import Toy
from evenhand.study.rows.reuse import needed, reused
from evenhand.study.rows.run import run_study, score_part
from evenhand.types import Candidate, Scored, Slate

SLATE = Slate("s", "q", tuple(Candidate(f"c{i}", f"t{i}") for i in range(5)))


def rows(name, **settings):
    return list(design(name, rows=4, **settings).draw(SLATE).shown(SLATE))


def test_needed_rows_show_every_candidate_under_every_surface():
    assert [one.row for one in needed(rows("reorder"))] == [0]
    # The canonical row lacks the reserve, the first exchange shows it.
    assert [one.row for one in needed(rows("membership"))] == [0, 1]
    assert [one.row for one in needed(rows("rubric"))] == [0, 1, 2, 3]
    empty = Slate("e", "q", ())
    assert [one.row for one in needed(list(design(rows=2).draw(empty).shown(empty)))] == [0]


def test_a_reused_row_is_put_together_from_what_was_asked():
    shown = rows("membership")
    first = Scored(
        np.array([0.1, 0.2, 0.3, 0.4, np.nan]), truncated=np.array([1, 2, 3, 4, 0]), prompts=4, tokens=9
    )
    # In row 1 another value for a shared candidate: the first source counts.
    gone = shown[1].presentation.omitted[0]
    values = np.array([9.0, 9.0, 9.0, 9.0, 0.5])
    values[gone] = np.nan
    second = Scored(values, truncated=np.array([0, 0, 0, 0, 5]), prompts=4, tokens=9)
    asked = [(shown[0], first), (shown[1], second)]
    for one in shown[2:-1]:
        found = reused(one, asked)
        wanted = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
        cut = np.array([1, 2, 3, 4, 5])
        wanted[list(one.presentation.omitted)], cut[list(one.presentation.omitted)] = np.nan, 0
        np.testing.assert_array_equal(found.scores, wanted)
        np.testing.assert_array_equal(found.truncated, cut)
        assert (found.prompts, found.tokens, found.label_mass, found.failure) == (0, 0, None, None)
    again = reused(shown[-1], asked)
    np.testing.assert_array_equal(again.scores, first.scores)


def test_a_failure_goes_with_the_rows_made_from_it():
    shown = rows("membership")
    asked = [(shown[0], Scored.failed(5, "lost")), (shown[1], Scored(np.arange(5.0)))]
    assert reused(shown[2], asked).failure == "lost"


def test_an_order_free_scorer_under_membership(tmp_path):
    toy = Toy(relevance="hash")
    assert toy.order_free
    folder = run_study(toy, [SLATE], design("membership", rows=4), tmp_path / "run")
    record = folder.find("s")
    alone = toy.score(rows("reorder")[:1])[0].scores
    expected = np.where(record.matrix.plan.included(), alone, np.nan)
    np.testing.assert_array_equal(record.matrix.scores, expected)
    assert not record.missing.any()
    # Asked: canonical, one exchange for the reserve, the probe (dropped, since it agrees), repeat.
    assert record.prompts.tolist() == [1, 1, 0, 0, 0, 1]


def test_an_order_free_scorer_is_asked_under_every_surface():
    class ByRubric(Toy):
        """Order-free, and it reads the rubric."""

        def score(self, shown):
            return [
                Scored(np.full(len(one.slate), float(len(one.presentation.surface.rubric))))
                for one in shown
            ]

    plan = design("rubric").draw(SLATE)
    ((_, _, found),) = score_part(ByRubric(relevance="hash"), [SLATE], [plan], verify=True)
    assert [scored.scores[0] for scored in found] == [9, 11, 11, 11, 9]
