from __future__ import annotations

import dataclasses

import pytest

from evenhand.errors import ResumeError, UsageError
from evenhand.present.design import design
from evenhand.records import RunFolder
from evenhand.score.toy import Toy
from evenhand.study.against.contenders import contenders, differing, open_run, slate_differences
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Slate, Surface


def slates(prefix="q", count=3, text="text"):
    return [
        Slate(
            f"{prefix}{q}",
            f"query {q}",
            tuple(Candidate(f"c{i}", f"{text} {i}") for i in range(4)),
            {"c0": 2, "c1": 1},
        )
        for q in range(count)
    ]


@pytest.fixture
def make(tmp_path):
    """A function that writes a run under a name, toy on the slates given, settings as wanted."""

    def write(name, found=None, dial=0.3, kind="reorder", **settings):
        drawn = design(kind, **{"rows": 3, "width": 2, **settings})
        folder = tmp_path / name
        run_study(Toy(slot_bias=dial), slates() if found is None else found, drawn, folder)
        return folder

    return write


def refused(groups, *words, **options):
    with pytest.raises(UsageError) as caught:
        contenders(groups, **options)
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


def test_one_collection(make):
    found = contenders({"a": [make("a")], "b": [make("b", dial=0.1)]})
    assert [one.name for one in found] == ["a", "b"]
    assert [len(one.runs) for one in found] == [1, 1]
    assert found[1].runs[0][0].scorer == "toy:slot_bias=0.1"
    assert differing(found) == ()


def test_an_open_folder_will_do(make):
    found = contenders({"a": [RunFolder.open(make("a"))], "b": [make("b")]})
    assert found[0].runs[0][0].path.endswith("a")


def test_seeds_and_collections_are_told_by_their_slates(make):
    other = slates("p", 2)
    a = [make("a1"), make("a2", other), make("a3", dial=0.4), make("a4", other, dial=0.4)]
    # The other system names its collections the other way round.
    found = contenders({"a": a, "b": [make("b2", other), make("b1")]})
    assert [[run.path[-2:] for run in runs] for runs in found[0].runs] == [["a1", "a3"], ["a2", "a4"]]
    assert [[run.path[-2:] for run in runs] for runs in found[1].runs] == [["b1"], ["b2"]]


def test_the_order_of_slates_does_not_matter(make):
    run = make("b", slates()[::-1])
    assert slate_differences(open_run(make("a")), open_run(run)) == []


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (slates(count=2), "1 slate only in"),
        (slates("p"), "3 slates only in"),
        (slates(text="changed"), "'q0' differs in candidates"),
        ([dataclasses.replace(one, query="else") for one in slates()], "differs in query"),
        ([dataclasses.replace(one, grades={"c0": 3}) for one in slates()], "differs in grades"),
        (
            [dataclasses.replace(one, candidates=one.candidates[::-1]) for one in slates()],
            "differs in candidates",
        ),
    ],
)
def test_other_slates_are_refused(make, found, word):
    refused({"a": [make("a")], "b": [make("b", found)]}, "cannot be compared", word)


def test_another_number_of_collections_is_refused(make):
    refused(
        {"a": [make("a")], "b": [make("b"), make("c", slates("p"))]},
        "'a' has runs over 1 collections of slates, 'b' over 2",
    )


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"rows": 4}, "rows: 3 in "),
        ({"width": 4}, "width: 2 in "),
        ({"rule": "interleaved"}, "rule: 'contiguous' in "),
        ({"kind": "order"}, "design: 'reorder' in "),
        ({"seed": 1}, "seed: 0 in "),
    ],
)
def test_other_settings_are_refused_by_name(make, settings, word):
    refused({"a": [make("a")], "b": [make("b", **settings)]}, word)


def test_every_difference_is_named(make):
    said = refused({"a": [make("a")], "b": [make("b", rows=4, width=4)]}, "rows: 3", "width: 2")
    assert "(vary width, if that is what is compared)" in said
    assert "vary rows" not in said


@pytest.mark.parametrize(
    ("name", "settings"),
    [("width", {"width": 4}), ("rule", {"rule": "interleaved"}), ("design", {"kind": "order"})],
)
def test_what_is_compared_may_vary(make, name, settings):
    found = contenders({"a": [make("a")], "b": [make("b", **settings)]}, [name])
    assert any(line.startswith(f"{name}: ") for line in differing(found))


def test_varying_one_setting_allows_no_other(make):
    groups = {"a": [make("a")], "b": [make("b", width=4, seed=1)]}
    assert "width" not in refused(groups, "seed: 0", vary=["width"])


@pytest.mark.parametrize("name", ["rows", "colour", "scorer"])
def test_what_cannot_vary_is_refused_with_what_can(make, name):
    refused({"a": [make("a")], "b": [make("b")]}, f"cannot vary {name}", "'width'", vary=[name])


def test_a_string_is_no_list_of_settings(make):
    refused({"a": [make("a")], "b": [make("b")]}, "got 'width'", vary="width")


def test_seeds_of_a_system_must_share_settings_too(make):
    refused({"a": [make("a1"), make("a2", rows=4)], "b": [make("b")]}, "rows: 3 in ", "a2")


def test_uneven_seeds_are_refused(make):
    other = slates("p")
    a = [make("a1"), make("a2"), make("a3", other)]
    refused({"a": a, "b": [make("b1"), make("b3", other)]}, "'a' has 2, 1 runs (training seeds)")


def test_a_run_counts_once(make, tmp_path):
    a = make("a")
    (tmp_path / "link").symlink_to(a)
    refused({"a": [a, tmp_path / "link"], "b": [make("b")]}, "is given twice for 'a'")


def test_two_systems_are_needed(make):
    refused({"a": [make("a")]}, "needs at least two systems, got 1")
    refused({"a": [make("b")], "b": []}, "'b' has no runs")


def test_a_folder_without_a_run(make, tmp_path):
    with pytest.raises(ResumeError):
        contenders({"a": [make("a")], "b": [tmp_path / "none"]})


def test_the_surface_may_differ_and_is_said(make):
    found = contenders({"a": [make("a")], "b": [make("b", surface=Surface(markers="letters"))]})
    assert differing(found) == ("surface.markers: numeric, letters",)
