"""`--remedy` of the verbs that open a scorer."""

import json

import pytest

from evenhand.errors import UsageError


def test_remedies_stand_in_the_records_and_cost_what_they_say(run, slates_file):
    ended = run(
        "audit", slates_file(), "--scorer", "toy:slot_bias=.5", "--rows", 4, "--width", 2,
        "--remedy", "interleave", "--remedy", "average:3", "--seed", 5, "--json",
    )  # fmt: skip
    (result,) = json.loads(ended.out)["results"]
    assert result["scorer"]["name"] == "toy:slot_bias=0.5 + interleave + average:3"
    assert result["scorer"]["remedies"] == ["interleave", "average:3"]
    # 4 candidates at B = 2 are 2 windows, in 3 orders.
    assert result["cost"]["prompts_per_slate"] == 6


def test_a_collection_is_audited_by_channels_behind_a_remedy(run, slates_file):
    ended = run(
        "audit", slates_file(), "--scorer", "toy:slot_bias=.5", "--rows", 3, "--width", 2,
        "--channels", "order,window", "--remedy", "interleave",
    )  # fmt: skip
    assert ended.code == 0
    assert "toy:slot_bias=0.5 + interleave" in ended.out


def test_sorted_is_printed_as_what_it_is(run, slates_file):
    ended = run("audit", slates_file(), "--scorer", "toy:slot_bias=.5", "--remedy", "sorted")
    assert ended.code == 0
    assert "Stable by construction" in " ".join(ended.out.split())


@pytest.mark.parametrize("verb", ["audit", "decompose", "worst"])
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["averge:4"], "unknown remedy 'averge'; known are"),
        (["interleave", "interleave"], "remedy 'interleave' is named 2 times"),
    ],
)
def test_wrong_remedies_are_told_before_the_scorer_is_opened(
    run, slates_file, monkeypatch, verb, names, said
):
    def never(spec, **options):
        raise AssertionError("opened")

    monkeypatch.setattr("evenhand.score.open_scorer", never)
    words = [word for name in names for word in ("--remedy", name)]
    ended = run(verb, slates_file(), "--scorer", "toy", *words)
    assert ended.code == 2
    assert said in ended.err


def test_decompose_takes_remedies(run, slates_file):
    ended = run(
        "decompose",
        slates_file(),
        "--scorer",
        "toy:coupling=.5",
        "--width",
        2,
        "--remedy",
        "interleave",
    )
    assert ended.code == 0
    assert "toy:coupling=0.5 + interleave" in ended.out


def test_a_worst_order_is_not_searched_where_orders_are_drawn(run, slates_file):
    words = ("worst", slates_file(), "--scorer", "toy:slot_bias=.5", "--remedy")
    ended = run(*words, "average:4")
    assert ended.code == 2
    assert "a search would find chance" in ended.err
    assert run(*words, "interleave").code == 0


def test_an_option_given_in_two_ways_is_refused(run, slates_file):
    ended = run(
        "audit", slates_file(), "--scorer", "toy", "--markers", "letters", "--set", "markers=numeric"
    )
    assert ended.code == UsageError.exit_code
    assert "given twice, as an option and by --set: markers" in ended.err


def test_a_seed_of_the_scorer_is_not_that_of_the_run(run, slates_file):
    ended = run(
        "audit", slates_file(), "--scorer", "toy:noise=.1", "--set", "seed=3", "--seed", 1,
        "--remedy", "average:2", "--json",
    )  # fmt: skip
    (result,) = json.loads(ended.out)["results"]
    assert result["scorer"]["name"] == "toy:noise=0.1,seed=3 + average:2"


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        ((), "adaptive settles candidates at 0.4 and the audit fits a threshold of its own"),
        (("--threshold", 0.5), "settles candidates at 0.4 and the audit cuts at 0.5; --threshold 0.4"),
        (("--threshold", 0.4), None),
    ],
)
def test_another_cut_than_adaptive_settles_at_is_told_before_scoring(run, slates_file, threshold, said):
    words = ("audit", slates_file(), "--scorer", "toy:noise=.1", "--rows", 3)
    ended = run(*words, "--remedy", "adaptive:threshold=0.4", *threshold)
    assert ended.code == 0
    told = ended.err.partition(": scoring")[0]
    assert (said in told) if said else ("settles" not in told)
