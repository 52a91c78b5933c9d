"""Remedies by name: `evenhand.remedy.parse` and `apply`."""

import pytest

import evenhand
from evenhand.errors import UsageError
from evenhand.remedy import REMEDIES, apply, parse
from evenhand.remedy.average import average
from evenhand.score.toy import Toy

BIASED = Toy(slot_bias=0.3)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("average:4", "average:4"),
        (" average:k=4 ", "average:4"),
        ("average:4,latin=true", "average:4,latin=true"),
        ("average:4, fuse=borda, seed=3", "average:4,fuse=borda"),
        ("interleave", "interleave"),
        ("sorted:seed=2", "sorted"),
        ("isolated", "isolated"),
        ("calibrate", "calibrate"),
        ("calibrate:text=nothing", "calibrate:text=nothing"),
    ],
)
def test_names_are_read(text, name):
    assert parse(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        "average:4,latin=true,fuse=rrf",
        "calibrate:text=none",
        "sorted",
        "adaptive:threshold=0.1234567891",
        "adaptive:threshold=-1e-09,alpha=0.012345678",
    ],
)
def test_a_name_is_read_back_as_the_same_remedy(text):
    assert parse(parse(text).name) == parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("averag:4", r"unknown remedy 'averag'; known are \['adaptive', 'average'"),
        ("", "unknown remedy ''"),
        (
            "average:4,lattin=true",
            r"unknown option 'lattin'; known are \['k', 'latin', 'fuse', 'seed'\]",
        ),
        ("average:4,k=5", "option 'k' is given twice"),
        ("average:4,5", "'5' is not option=value"),
        ("average:k=", "'k=' is not option=value"),
        ("average:", "'' is not option=value"),
        ("interleave:3", r"'3' is not option=value; options are none"),
        ("average:0", "average: k must be at least 1"),
        ("average:1001", "k must be at most 1000, got 1001"),
        ("average:2.5", "average: k must be at least 1, a whole number, got 2.5"),
        ("average:4,fuse=mode", r"unknown fuse 'mode'; known are \['borda', 'mean', 'rrf'\]"),
        ("average:4,latin=maybe", "latin must be true or false, got 'maybe'"),
        ("average:4,seed=x", "seed must be a whole number"),
        ("sorted:seed=true", "seed must be a whole number"),
        ("calibrate:text=7", "text must be a text"),
    ],
)
def test_what_is_wrong_is_named(text, said):
    with pytest.raises(UsageError, match=said):
        parse(text)


def test_options_left_out_are_named():
    with pytest.raises(UsageError, match="remedy 'average' needs k: write average:K"):
        parse("average")


def test_only_texts_are_parsed():
    with pytest.raises(UsageError, match="named by a text"):
        parse(4)


def test_a_seed_fills_in_where_none_is_named():
    assert parse("average:4", seed=7).seed == 7
    assert parse("average:4,seed=1", seed=7).seed == 1
    assert parse("interleave", seed=7).name == "interleave"


def test_the_first_remedy_is_innermost():
    made = apply(BIASED, ["interleave", average(4)])
    assert made.name == "toy:slot_bias=0.3 + interleave + average:4"
    assert made.remedies == ("interleave", "average:4")
    assert made.inner.name == "toy:slot_bias=0.3 + interleave"


def test_no_remedy_gives_the_scorer_itself():
    assert apply(BIASED, []) is BIASED


@pytest.mark.parametrize("wrong", ["average:4", 4, {"average:4"}])
def test_remedies_come_as_a_list(wrong):
    with pytest.raises(UsageError, match="must be a list"):
        apply(BIASED, wrong)


def test_what_is_no_remedy_is_refused():
    with pytest.raises(UsageError, match="a remedy is a name such as"):
        apply(BIASED, [average])


def test_all_names_are_read_before_any_is_applied():
    seen = []

    class Watching:
        name = "watching"

        def __call__(self, scorer):
            seen.append(scorer)
            return scorer

    with pytest.raises(UsageError, match="unknown remedy"):
        apply(BIASED, [Watching(), "nothing"])
    assert seen == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["sorted", "average:4"], "shows the same order whatever it is handed"),
        (["average:4", "sorted"], "draws orders of its own, which sorted cannot undo"),
        (["interleave", "calibrate"], "Name calibrate first"),
        (["interleave", "interleave"], "'interleave' is named 2 times; name it once"),
        (["average:2", "interleave", "average:3"], "'average' is named 2 times; name it once"),
    ],
)
def test_what_does_not_compose_is_refused(names, said, grader):
    with pytest.raises(UsageError, match=said):
        apply(grader(), names)


def test_blind_candidates_are_not_averaged_under(grader):
    with pytest.raises(UsageError, match="Name isolated alone"):
        apply(grader(), ["average:4", "isolated"])
    assert apply(grader(), ["isolated", "average:4"]).order_free


def test_an_audit_takes_them_by_name(make_slate):
    slates = [make_slate(name=f"s{i}") for i in range(3)]
    plain = evenhand.audit(BIASED, slates, rows=4)
    done = evenhand.audit(BIASED, slates, rows=4, remedies=["average:3"], seed=5)
    assert done.analysis.scorer["remedies"] == ["average:3"]
    assert done.analysis.cost.prompts_per_slate == 3 * plain.analysis.cost.prompts_per_slate
    same = evenhand.audit(average(3, seed=5)(BIASED), slates, rows=4, seed=5)
    assert same.frame().equals(done.frame())


@pytest.mark.parametrize("name", sorted(REMEDIES))
def test_every_remedy_opens_and_refuses_what_it_does_not_know(name):
    with pytest.raises(UsageError, match="unknown option 'nothing'"):
        parse(f"{name}:nothing=1")
