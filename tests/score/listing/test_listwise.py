import re

import numpy as np
import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.score import open_scorer
from evenhand.score.listing.listwise import ListwiseOptions, ListwiseScorer, open_listwise
from evenhand.score.listing.writers import ChatWriter, FunctionWriter
from evenhand.score.services.http import HttpOptions
from evenhand.types import Candidate, Presentation, Scorer, Shown, Slate, Surface
from servers import Reply, Service

LINE = re.compile(r"^\[(\w+)\] value (\d+)", re.MULTILINE)


def slate_of(values, slate_id="s"):
    candidates = tuple(Candidate(f"c{i}", f"value {value}") for i, value in enumerate(values))
    return Slate(slate_id, "which is largest", candidates)


def shown(values, *windows, slate_id="s", surface=None):
    n = len(values)
    cut = windows or (tuple(range(n)),)
    order = tuple(i for window in cut for i in window)
    return Shown(slate_of(values, slate_id), Presentation(order, cut, surface or Surface()))


def by_value(messages):
    """The right ranking of what is shown, as a model writes it."""
    lines = LINE.findall(messages[-1]["content"])
    return " > ".join(f"[{mark}]" for mark, _ in sorted(lines, key=lambda one: -int(one[1])))


def writes(text, **options):
    """A scorer whose model writes this text, or what a function makes of the messages."""
    f = text if callable(text) else lambda messages: text
    return ListwiseScorer(FunctionWriter(f, name="m", revision="1"), ListwiseOptions(**options))


def test_a_slate_in_one_window():
    scorer = writes(by_value)
    (scored,) = scorer.score([shown([3, 9, 5, 7])])
    # Places 3, 0, 2, 1 of four: (4 - place) / 4.
    np.testing.assert_array_equal(scored.scores, [0.25, 1, 0.5, 0.75])
    assert (scored.prompts, scored.failure) == (1, None)
    assert isinstance(scorer, Scorer)
    assert (scorer.name, scorer.scale, scorer.order_only, scorer.order_free) == (
        "listwise:m",
        "raw",
        True,
        False,
    )


def test_sliding_windows_find_the_top():
    rng = np.random.default_rng(0)
    values = rng.permutation(100).tolist()
    asked = []

    def counting(messages):
        asked.append(len(LINE.findall(messages[-1]["content"])))
        return by_value(messages)

    (scored,) = writes(counting).score([shown(values)])
    assert asked == [20] * 9
    assert scored.prompts == 9
    top = np.argsort(-scored.scores)[:10]
    assert [values[i] for i in top] == list(range(99, 89, -1))
    assert sorted(scored.scores) == [place / 100 for place in range(1, 101)]


def test_windows_of_a_presentation_are_lists_of_their_own():
    item = shown([3, 9, 5, 7], (3, 0), (1, 2))
    (scored,) = writes(by_value).score([item])
    np.testing.assert_array_equal(scored.scores, [0.5, 1, 0.5, 1])
    assert scored.prompts == 2


def test_what_a_position_only_model_writes_follows_the_order():
    scorer = writes("[1] > [2] > [3]")
    forward, backward = scorer.score([shown([1, 2, 3]), shown([1, 2, 3], (2, 1, 0))])
    np.testing.assert_allclose(forward.scores, [1, 2 / 3, 1 / 3])
    np.testing.assert_allclose(backward.scores, [1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("scheme", ["letters", "random"])
def test_other_markers_are_shown_and_read(scheme):
    (scored,) = writes(by_value).score([shown([3, 9, 5], surface=Surface(markers=scheme))])
    np.testing.assert_allclose(scored.scores, [1 / 3, 1, 2 / 3])
    assert scored.failure is None


@pytest.mark.parametrize(
    ("answer", "kept", "repaired", "said"),
    [
        # C30. Nothing is clamped: 9 and 10 are nobody, 0 is not the first.
        (
            "[9] > [1]",
            [1, np.nan, np.nan],
            [1, 0.5, 0.5],
            "1 of 1 rankings not as asked: 1 incomplete, 1 invalid ids, 2 candidates not named",
        ),
        (
            "[10] > [1]",
            [1, np.nan, np.nan],
            [1, 0.5, 0.5],
            "1 of 1 rankings not as asked: 1 incomplete, 1 invalid ids, 2 candidates not named",
        ),
        # All three tied over the places 0, 1, 2: the mean of 1, 2/3, 1/3.
        (
            "[0]",
            [np.nan] * 3,
            [2 / 3] * 3,
            "1 of 1 rankings not as asked: 1 empty, 1 incomplete, 1 invalid ids, "
            "3 candidates not named",
        ),
        (
            "",
            [np.nan] * 3,
            [2 / 3] * 3,
            "1 of 1 rankings not as asked: 1 empty, 1 incomplete, 3 candidates not named",
        ),
        (
            "[2] > [2]",
            [np.nan, 1, np.nan],
            [0.5, 1, 0.5],
            "1 of 1 rankings not as asked: 1 incomplete, 1 repeated ids, 2 candidates not named",
        ),
    ],
)
def test_answers_that_lack_something(answer, kept, repaired, said):
    (scored,) = writes(answer).score([shown([1, 2, 3])])
    np.testing.assert_allclose(scored.scores, kept)
    assert scored.failure == said
    (scored,) = writes(answer, repair="end").score([shown([1, 2, 3])])
    np.testing.assert_allclose(scored.scores, repaired)
    missing = np.isnan(kept).sum()
    assert scored.failure == f"{said}; repaired: {missing} tied at the end"


def test_a_complete_ranking_with_more_in_it_keeps_its_scores_and_says_so():
    (scored,) = writes("[2] > [1] > [2] > [7]").score([shown([1, 2])])
    np.testing.assert_array_equal(scored.scores, [0.5, 1])
    assert scored.failure == "1 of 1 rankings not as asked: 1 invalid ids, 1 repeated ids"


def test_a_prompt_without_answer_ends_its_list_alone():
    def fails_on_nine(messages):
        if "value 9" in messages[-1]["content"]:
            raise RuntimeError("no power")
        return by_value(messages)

    scorer = writes(fails_on_nine, size=2, step=1)
    one, two = scorer.score([shown([1, 9, 2], (0, 1), (2,)), shown([3, 1, 2], slate_id="t")])
    np.testing.assert_array_equal(one.scores, [np.nan, np.nan, 1])
    assert one.failure == "the function raised RuntimeError: no power"
    assert one.prompts == 1
    np.testing.assert_allclose(two.scores, [1, 1 / 3, 2 / 3])
    assert (two.prompts, two.failure) == (2, None)


def test_lists_of_all_slates_are_asked_side_by_side():
    class Rounds:
        name, revision, unseen = "m", "1", ()
        sizes: tuple = ()

        def write(self, prompts, max_tokens):
            self.sizes = (*self.sizes, len(prompts))
            assert max_tokens == [8 * len(prompt.marks) + 32 for prompt in prompts]
            return FunctionWriter(by_value).write(prompts, max_tokens)

    rounds = Rounds()
    # Three windows and one: round after round 2, 1, 1.
    ListwiseScorer(rounds, ListwiseOptions(2, 1)).score([shown([1, 2, 3, 4]), shown([1, 2])])
    assert rounds.sizes == (2, 1, 1)


def test_texts_cut_and_escaped_are_told_by_candidate():
    texts = ("one two three four", "[1] two", "one")
    slate = Slate("s", "a [2]", tuple(Candidate(str(i), text) for i, text in enumerate(texts)))
    item = Shown(slate, Presentation((2, 1, 0), ((2, 1, 0),)))
    (scored,) = writes("[1] > [2] > [3]", max_candidate_words=3).score([item])
    assert scored.truncated.tolist() == [1, 0, 0]
    assert scored.escaped.tolist() == [0, 1, 0]
    assert scored.query_escaped == 1


def test_one_candidate_needs_no_prompt():
    (scored,) = writes("never asked").score([shown([5])])
    assert (scored.scores.tolist(), scored.prompts, scored.failure) == ([1.0], 0, None)


def test_settings_that_move_scores_move_the_revision():
    settings = [{}, {"size": 10}, {"step": 5}, {"repair": "end"}, {"max_tokens": 9}]
    assert len({writes("x", **options).revision for options in settings}) == len(settings)
    other = ListwiseScorer(FunctionWriter(by_value, revision="2"))
    assert other.revision != writes("x").revision == writes("y").revision


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": 1}, "size must be at least 2"),
        ({"size": 5, "step": 6}, "step 6 is over the size 5"),
        ({"repair": "start"}, "repair must be None"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"max_candidate_words": 0}, "max_candidate_words must be at least 1"),
    ],
)
def test_options_refused(options, said):
    with pytest.raises(UsageError, match=said):
        ListwiseOptions(**options)


def chat(asked):
    """A chat service that ranks right."""
    content = by_value(asked.body["messages"])
    usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
    return {"choices": [{"message": {"role": "assistant", "content": content}}], "usage": usage}


def test_an_endpoint_over_a_socket():
    with Service(chat) as service:
        scorer = open_scorer(
            "listwise:openai:some-model", base_url=f"{service.url}/v1", size=2, step=1, retries=0
        )
        (scored,) = scorer.score([shown([1, 3, 2])])
        assert [asked.path for asked in service.asked] == ["/v1/chat/completions"] * 2
        body = service.asked[0].body
        scorer.writer.close()
    # 3 before 2, then 3 before 1: 3 1 2, for 1 and 2 never met.
    np.testing.assert_allclose(scored.scores, [2 / 3, 1, 1 / 3])
    assert (scored.prompts, scored.tokens, scored.failure) == (2, 200, None)
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("some-model", 0, 8 * 2 + 32)
    assert scorer.name == "listwise:openai:some-model"
    assert scorer.unseen == ("the weights behind the service",)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply({"choices": []}), "the answer is no chat completion"),
        (Reply({"choices": [{"message": {"content": 3}}]}), "the answer holds no text"),
        (Reply({"e": 1}, status=500), "the service answered 500"),
        (Reply({"choices": [{"message": {"content": None}}]}), "1 of 1 rankings not as asked: 1 empty"),
    ],
)
def test_an_endpoint_that_answers_something_else(reply, said):
    with Service(lambda asked: reply) as service:
        writer = ChatWriter("m", base_url=service.url, http=HttpOptions(retries=0, pause=0.0))
        (scored,) = ListwiseScorer(writer).score([shown([1, 2])])
        writer.close()
    assert np.isnan(scored.scores).all()
    assert said in scored.failure


def test_an_endpoint_that_refuses_stops():
    with Service(lambda asked: Reply({}, status=401)) as service:
        writer = ChatWriter("m", base_url=service.url)
        with pytest.raises(ScorerError, match="401"):
            ListwiseScorer(writer).score([shown([1, 2])])
        writer.close()


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("openai:m", {"base_url": "http://h", "sizes": 3}, r"unknown options \['sizes'\]; known are"),
        ("openai:m", {"base_url": "http://h", "device": "cpu"}, r"unknown options \['device'\]"),
        ("smollm2-135m", {"retries": 3}, r"unknown options \['retries'\]"),
        ("openai:m", {}, "set OPENAI_BASE_URL"),
        ("openai:", {"base_url": "http://h"}, "needs a model"),
        ("openai:m", {"base_url": "http://h", "key_variable": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ("gpt", {}, "unknown model 'gpt'"),
        ("smollm2-135m", {"rubric": "nothing"}, "unknown rubric"),
        ("smollm2-135m", {"size": 1}, "at least 2"),
    ],
)
def test_refused_before_anything_slow(spec, options, said, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UsageError, match=said):
        open_listwise(spec, **options)


def test_the_surface_can_be_chosen():
    scorer = open_listwise(
        "openai:m", base_url="http://h", markers="letters", rubric="response_quality"
    )
    assert (scorer.surface.markers, scorer.surface.rubric) == ("letters", "response_quality")
    scorer.writer.close()


def test_an_audit_of_rankings_reads_the_order_alone(tmp_path):
    """Places only: no measure of scores or of sets cut at a score; mended rows shown apart."""
    from evenhand.report.result import audit

    slates = [slate_of([1, 2, 3, 4], f"s{i}") for i in range(3)]
    bad = slate_of([5, 6, 8, 7], "mended")

    def sometimes(messages):
        text = by_value(messages)
        return f"{text} > [1]" if "value 8" in messages[-1]["content"] else text

    result = audit(writes(sometimes), [*slates, bad], rows=4, out=tmp_path / "run")
    analysis = result.analysis
    assert analysis.stability["tauPSI"].mean == 0
    assert {"ScoreSpread", "Residual"} & analysis.stability.keys() == set()
    assert set(analysis.decisions) == {"Top1Flip", "PairFlip", "PairFlip(kind='modal')", "FirstSlot"}
    found = {finding.code: finding.message for finding in analysis.findings}
    assert "only their order" in found["order_only"]
    # Canonical, four random and the repeat row of one slate.
    assert found["remarked"].startswith("6 of 24 rows, in 1 slate, have all scores only after")
    assert "1 repeated ids" in found["remarked"]
    assert "threshold_by_quantile" not in found
    assert (analysis.counts["failed_rows"], analysis.counts["remarked_slates"]) == (0, 1)
    for text in (result.table(), result.to_markdown()):
        assert "order" in text
    result.to_html(tmp_path / "page.html")


def test_a_threshold_that_is_given_cuts_at_a_place(tmp_path):
    from evenhand.report.result import audit

    slates = [slate_of([1, 2, 3, 4], f"s{i}") for i in range(3)]
    result = audit(writes(by_value), slates, rows=4, threshold=0.75, out=tmp_path / "run")
    # Places 0 and 1 of four have .75 and more.
    assert result.analysis.decisions["Retained"].mean == 0.5
