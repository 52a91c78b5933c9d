"""Channel studies: refused before scoring, one run a channel, all measured alike."""

import math
from types import SimpleNamespace

import pytest
import typer

from evenhand.cli.channels import _leave
from evenhand.errors import NothingMeasuredError, ResumeError, ScorerError, UsageError
from evenhand.records import RunFolder, read_asked
from evenhand.report.channels import ChannelResult, to_dict, to_text
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.causes.channels import CHANNELS, parse_channels, require_honoured, study_channels
from evenhand.types import Candidate, Slate


def slates(count=4, n=6):
    return [
        Slate(f"s{q}", f"query {q}", tuple(Candidate(f"c{i}", f"t{i}") for i in range(n)), {"c1": 3})
        for q in range(count)
    ]


def test_channels_are_read_from_a_list():
    assert parse_channels("order, window,") == ("order", "window")
    assert parse_channels(",".join(CHANNELS)) == CHANNELS
    with pytest.raises(UsageError, match="unknown channels: 'rubrics'; known are order, companions"):
        parse_channels("order,rubrics")
    with pytest.raises(UsageError, match="nothing; known are"):
        parse_channels(" ,")
    with pytest.raises(UsageError, match="named twice: order"):
        parse_channels("order,window,order")


def test_what_the_scorer_cannot_honour_is_refused_before_scoring(tmp_path):
    calls = []

    def f(query, texts):
        calls.append(texts)
        return [0.0] * len(texts)

    with pytest.raises(
        UsageError, match="does not honour the channels rubric, marker; it honours order"
    ):
        study_channels(scorer(f), slates(), ("order", "rubric", "marker"), tmp_path)
    assert calls == []
    assert list(tmp_path.iterdir()) == []
    require_honoured(Toy(), ("order", "membership"))


def test_an_order_free_scorer_honours_every_placement_and_no_surface():
    class Bare(Toy):
        """Declares nothing."""

        def __getattribute__(self, name):
            return frozenset() if name == "channels" else super().__getattribute__(name)

    require_honoured(Bare(), ("order", "companions", "window", "membership"))
    with pytest.raises(UsageError, match="the channel marker; it honours order, companions, window"):
        require_honoured(Bare(), ("order", "marker"))
    with pytest.raises(UsageError, match="order; it honours none"):
        require_honoured(Bare(slot_bias=0.1), ("order",))


def test_one_run_a_channel_on_the_same_slates(tmp_path):
    seen = []
    study = study_channels(
        Toy(slot_bias=0.5),
        iter(slates()),
        ("order", "membership"),
        tmp_path,
        rows=3,
        width=3,
        progress=lambda *a: seen.append(a),
    )
    assert [row.channel for row in study.rows] == ["order", "membership"]
    for row in study.rows:
        folder = RunFolder.open(row.path)
        assert row.path == tmp_path / row.channel
        assert (folder.finished, folder.n_slates) == (True, 4)
        assert folder.settings["design"] == row.channel
    assert (seen[0], seen[-1]) == ((0, 8), (8, 8))
    order, membership = study.rows
    assert (order.variants, membership.variants) == (3, 3)
    assert order.value("tauPSI").mean > 0
    assert order.floor("tauPSI").mean == order.floor("ScoreChange").mean == 0
    assert math.isnan(order.value("PoolPSI").mean)
    assert membership.value("PoolPSI").n == 4
    assert membership.analysis.counts["missing_scores"] == 0
    assert (study.settings["n_slates"], study.settings["width"]) == (4, 3)
    assert [finding.code for finding in study.findings][:1] == ["slot_bias"]


def test_a_study_is_resumed_and_other_settings_are_refused(tmp_path):
    calls = []

    def f(query, texts):
        calls.append(texts)
        return list(map(len, texts))

    counted = scorer(f, revision="1")
    study_channels(counted, slates(), ("order", "window"), tmp_path, rows=2)
    asked = len(calls)
    study_channels(counted, slates(), ("order", "window"), tmp_path, rows=2)
    assert len(calls) == asked
    with pytest.raises(ResumeError, match="rows"):
        study_channels(counted, slates(), ("order", "window"), tmp_path, rows=3)


def test_a_channel_of_which_nothing_is_defined_has_an_empty_row(tmp_path):
    # One window: companions cannot vary.
    study = study_channels(Toy(), slates(), ("order", "companions"), tmp_path / "a", rows=2)
    order, companions = study.rows
    assert order.analysis is not None
    assert (companions.analysis, companions.variants) == (None, 0)
    assert companions.value("tauPSI") is companions.floor("tauPSI") is None
    with pytest.raises(NothingMeasuredError, match="in any of the channels companions"):
        study_channels(Toy(), slates(), ("companions",), tmp_path / "b", rows=2)


def test_windows_keep_to_the_scorers_limit(tmp_path):
    widest = []

    def f(query, texts):
        widest.append(len(texts))
        return list(map(len, texts))

    study_channels(scorer(f, max_window=3), slates(), ("window",), tmp_path, rows=9)
    assert max(widest) == 3
    assert min(widest) == 1


def test_a_local_model_honours_all_of_them(tmp_path, tiny_model, tiny_tokenizer):
    pytest.importorskip("torch")
    local = pytest.importorskip("evenhand.score.local")
    loaded = SimpleNamespace(
        model=tiny_model("llama"), tokenizer=tiny_tokenizer, name="tiny", revision="r"
    )
    made = local.LocalScorer(loaded, local.LocalOptions(width=3))
    study = study_channels(made, slates(1, 5), CHANNELS, tmp_path, rows=2)
    assert [row.channel for row in study.rows] == list(CHANNELS)
    for row in study.rows:
        assert row.value("ScoreChange").mean > 0
        assert row.analysis.counts["missing_scores"] == 0
    assert not {"constant", "order_free"} & {finding.code for finding in study.findings}


def test_a_scorer_that_always_fails_is_told_with_its_first_failure(tmp_path):
    def f(query, texts):
        raise RuntimeError("the model is gone")

    with pytest.raises(ScorerError, match="none of .* scores, the first failure: .*model is gone"):
        study_channels(scorer(f), slates(2, 3), ("order", "membership"), tmp_path, rows=2)


@pytest.mark.parametrize(
    ("channels", "said"),
    [
        ("order", "channels must be a list of names, got the text 'order'"),
        (None, "channels must be a list of some of order, companions"),
        (3, "channels must be a list"),
        ([3], "channels must hold str, got 3"),
        ([None], "channels must hold str, got None"),
        (["odr"], "unknown channels: 'odr'"),
    ],
)
def test_channels_of_the_wrong_kind_are_refused_by_name(tmp_path, channels, said):
    with pytest.raises(UsageError, match=said):
        study_channels(Toy(), slates(1), channels, tmp_path)
    with pytest.raises(UsageError, match="named in a text"):
        parse_channels(None)
    with pytest.raises(UsageError, match="a scorer is needed"):
        study_channels(None, slates(1), ["order"], tmp_path)


def test_a_threshold_outside_the_scores_is_not_kept(tmp_path):
    study_channels(Toy(), slates(), ["order"], tmp_path, rows=2, threshold=0.5)
    with pytest.raises(UsageError, match="outside the observed scores"):
        study_channels(Toy(), slates(), ["order"], tmp_path, rows=2, threshold=99.0)
    assert read_asked(tmp_path / "order").threshold == 0.5


def test_a_channel_that_failed_throughout_is_told_beside_the_others(tmp_path):
    done = 0

    def f(query, texts):
        if done >= 4:
            raise TimeoutError("no answer")
        return list(map(len, texts))

    def progress(slates_done, _):
        nonlocal done
        done = slates_done

    study = study_channels(
        scorer(f, revision="1"), slates(), ("order", "window"), tmp_path, rows=2, progress=progress
    )
    order, window = study.rows
    assert (order.analysis is None, order.failure) == (False, "")
    assert window.analysis is None
    assert "the first failure: " in window.failure
    assert "no answer" in window.failure
    assert (study.findings[0].code, study.findings[0].severity) == ("channel_failed", "error")
    assert "Nothing is known of window" in to_text(study)
    assert to_dict(study)["channels"]["window"]["failure"] == window.failure
    with pytest.raises(typer.Exit) as ended:
        _leave(ChannelResult(study))
    assert ended.value.exit_code == 7
