import numpy as np
import pytest

from evenhand.decide.stored import read_threshold
from evenhand.errors import UsageError
from evenhand.study.found.advise import advise_run, match_run, store_advice
from evenhand.study.found.analyse import threshold_revision

ROWS = np.array(
    [[0.9, 0.6, 0.3, 0.1], [0.9, 0.6, 0.3, 0.1], [0.9, 0.3, 0.6, 0.1], [0.9, 0.6, 0.3, 0.1]]
)


@pytest.fixture
def folder(kit, tmp_path):
    slate, plan = kit.slate(grades={"a": 1, "b": 1}), kit.plan([(1, 0, 2, 3), (3, 2, 1, 0)])
    return kit.run(tmp_path / "run", [(slate, plan, ROWS)])


def test_advice_of_a_run_is_stored_with_its_revision(folder, tmp_path):
    found = advise_run(folder, floor=0.5, most=0.99)
    # at .45 the two sets {a b} and {a c} overlap by 1/3; at .2 they agree, F1 4/5
    assert found.threshold == pytest.approx(0.2)
    revision = threshold_revision(folder.settings)
    path = store_advice(tmp_path, found)
    stored = read_threshold(path, revision)
    assert (stored.threshold, stored.rule) == (found.threshold, "advisor")
    assert stored.note == "floor 0.500, overlap without empty pairs 1.000"
    with pytest.raises(UsageError, match="belongs to"):
        read_threshold(path, revision + "x")


def test_no_advice_is_not_stored(folder, tmp_path):
    found = advise_run(folder, most=0.1)
    with pytest.raises(UsageError, match="no threshold is advised: every cut"):
        store_advice(tmp_path, found)


def test_matching_runs_on_other_scales(kit, folder, tmp_path):
    slate, plan = kit.slate(), kit.plan([(1, 0, 2, 3), (3, 2, 1, 0)])
    other = kit.run(tmp_path / "other", [(slate, plan, np.tile([4.0, 3.0, 2.0, 1.0], (4, 1)))])
    found = match_run(other, folder, 0.5)
    # two of four are kept there: between 3 and 2 here
    assert (found.wanted, found.threshold, found.exact) == (0.5, 2.5, True)


def test_a_grade_that_no_candidate_has_is_refused(folder):
    with pytest.raises(UsageError, match="no candidate has a grade of 99 or more, the highest is 1"):
        advise_run(folder, min_grade=99)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"min_grade": 1.5}, "min_grade must be at least 1, a whole number, got 1.5"),
        ({"min_grade": None}, "min_grade must be at least 1"),
        ({"flor": 0.5}, r"unknown options \['flor'\]; known are \['floor', 'most'"),
        ({"floor": None}, "floor must be a finite number"),
    ],
)
def test_wrong_options_are_refused_by_name(folder, given, said):
    with pytest.raises(UsageError, match=said):
        advise_run(folder, **given)


def test_what_is_no_run_or_no_advice_is_refused(folder, tmp_path):
    with pytest.raises(UsageError, match="a run folder is needed, got 'run'"):
        advise_run("run")
    with pytest.raises(UsageError, match="a run folder is needed, got None"):
        match_run(folder, None, 0.5)
    with pytest.raises(UsageError, match="an Advice is needed, got 0.5"):
        store_advice(tmp_path, 0.5)
