import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from evenhand import audit
from evenhand.errors import ScorerError, UsageError
from evenhand.present.design import design
from evenhand.score import open_scorer
from evenhand.score.services.http import BudgetError
from evenhand.study.rows.run import ResumeWarning, run_study
from evenhand.types import Candidate, Presentation, Scorer, Shown, Slate
from servers import SHAPES, Reply, by_words_and_place, rerank

DIALECTS = sorted(SHAPES)


def opened(service, dialect="jina", **options):
    return open_scorer(f"rerank:{service.url}", **{"dialect": dialect, "pause": 0.01, **options})


def slate(texts, slate_id="s", query="red apples"):
    candidates = tuple(Candidate(f"{slate_id}{i}", text) for i, text in enumerate(texts))
    return Slate(slate_id, query, candidates, {candidates[0].id: 2} if candidates else None)


def shown(one, width=None, order=None, row=0):
    order = tuple(range(len(one))) if order is None else tuple(order)
    width = width or max(1, len(order))
    windows = tuple(order[i : i + width] for i in range(0, len(order), width))
    return Shown(one, Presentation(order, windows), row)


SEVEN = slate(["apples", "red apples grow", "the moon", "red", "blue apples now", "tree", "a"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_maps_shuffled_results_to_their_candidates(serve, dialect):
    service = serve(rerank(dialect))
    made = opened(service, dialect, model="m")
    order = (6, 0, 5, 1, 4, 2, 3)
    [found] = made.score([shown(SEVEN, 3, order)])
    expected = np.empty(7)
    for window in (order[:3], order[3:6], order[6:]):
        expected[list(window)] = by_words_and_place(
            SEVEN.query, [SEVEN.candidates[i].text for i in window]
        )
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-12)
    assert (found.failure, found.prompts) == (None, 3)
    assert isinstance(made, Scorer)
    path, candidates, limit, *_ = SHAPES[dialect]
    assert {asked.path for asked in service.asked} == {path}
    # Every request asks for all of its candidates.
    sizes = sorted(len(asked.body[candidates]) for asked in service.asked)
    assert sizes == [1, 3, 3]
    if limit is not None:
        assert sorted(asked.body[limit] for asked in service.asked) == [1, 3, 3]


@pytest.mark.parametrize(
    ("top", "status", "count"), [(0, 422, 0), (1, 200, 1), (2, 200, 2), (99, 200, 3)]
)
def test_the_limit_is_what_the_service_keeps_to(serve, top, status, count):
    """The service of these tests cuts as real ones do, so asking for less would lose candidates."""
    body = {"query": "q", "documents": ["a", "b", "c"], "top_n": top}
    reply = rerank("cohere")(type("Asked", (), {"body": body}))
    if status == 422:
        assert reply.status == 422
    else:
        assert len(reply["results"]) == count


def test_tokens_are_those_the_service_tells(serve):
    one = slate(["one two", "three"], query="q r")
    # 2 words of the query and 3 of the texts.
    told = dict.fromkeys(DIALECTS, 5) | {"pinecone": 0, "tei": 0, "sglang": 2 * (5 // 2)}
    for dialect in DIALECTS:
        [found] = opened(serve(rerank(dialect)), dialect).score([shown(one)])
        assert (found.prompts, found.tokens) == (1, told[dialect]), dialect


def test_a_title_stands_before_its_text_and_empty_texts_go_as_they_are(serve):
    service = serve(rerank("jina"))
    candidates = (Candidate("a", "text", "Title"), Candidate("b", ""), Candidate("c", "   "))
    [found] = opened(service).score([shown(Slate("s", "text", candidates))])
    assert service.asked[0].body["documents"] == ["Title: text", "", "   "]
    # One shared word (text), 11 signs long: (1 + .011 + 1)/12. Then (0 + 0 + 1)/12 - .02/3 and
    # (0 + .003 + 1)/12 - .04/3.
    np.testing.assert_allclose(
        found.scores, [2.011 / 12, 1 / 12 - 0.02 / 3, 1.003 / 12 - 0.04 / 3], rtol=1e-12
    )


def test_a_service_that_refuses_empty_texts_fails_that_slate_alone(serve):
    inner = rerank("sglang")

    def strict(asked):
        if not all(text.strip() for text in asked.body["documents"]):
            return Reply({"message": "Each document must be a non-empty string"}, status=400)
        return inner(asked)

    made = opened(serve(strict), "sglang")
    found = made.score([shown(slate(["root A", "", "   ", "root D"])), shown(SEVEN)])
    assert np.isnan(found[0].scores).all()
    assert found[0].failure.startswith("the service answered 400: ")
    assert "non-empty string" in found[0].failure
    assert found[1].failure is None


def test_an_empty_slate_is_no_request(serve):
    service = serve(rerank("jina"))
    made = opened(service)
    [found] = made.score([shown(slate([]))])
    assert (len(found.scores), found.prompts, found.failure, service.asked) == (0, 0, None, [])
    assert made.score([]) == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda results: results[1:], "is missing"),
        (lambda results: [*results, results[0]], "comes twice"),
        (lambda results: [*results[1:], {**results[0], "index": 3}], "out of range"),
        (lambda results: [*results[1:], {**results[0], "index": 0.0}], "no integer"),
        (lambda results: [{**one, SHAPES_SCORE: float("nan")} for one in results], "no finite number"),
    ],
)
def test_wrong_results_leave_the_window_without_scores(serve, dialect, change, said):
    key = SHAPES[dialect][4]

    def spoil(results):
        spoilt = change(results)
        return [{key if k == SHAPES_SCORE else k: v for k, v in one.items()} for one in spoilt]

    good, bad = slate(["x y", "red"], "good"), slate(["red", "apples", "z"], "bad")

    def some(results):
        return spoil(results) if len(results) == 3 else results

    found = opened(serve(rerank(dialect, change=some)), dialect).score([shown(good), shown(bad)])
    assert found[0].failure is None
    assert np.isfinite(found[0].scores).all()
    assert np.isnan(found[1].scores).all()
    assert said in found[1].failure
    assert found[1].prompts == 1


SHAPES_SCORE = "the score"


def test_other_windows_of_the_slate_keep_their_scores(serve):
    def drop(results):
        return results[1:] if len(results) == 3 else results

    [found] = opened(serve(rerank("jina", change=drop))).score([shown(SEVEN, 3)])
    assert np.isnan(found.scores).tolist() == [True] * 6 + [False]
    assert found.failure.endswith("is missing (and 1 more windows)")
    assert found.prompts == 3


def test_another_dialect_stops_and_names_the_one_that_fits(serve):
    service = serve(lambda asked: {"data": [{"index": 0, "relevance_score": 1.0}]})
    with pytest.raises(ScorerError, match=r"rerank:http://.* which is how voyage answer; name that"):
        opened(service).score([shown(slate(["a"]))])


@pytest.mark.parametrize("fault", ["html", "null", "hang", "cut off", "always 500"])
def test_faults_are_missing_scores(serve, fault):
    reply = {
        "html": Reply(raw=b"<html>", headers={"Content-Type": "text/html"}),
        "null": Reply(None),
        "hang": Reply({}, hang=0.3),
        "cut off": Reply(cut_off=True),
        "always 500": Reply("down", status=500),
    }[fault]
    [found] = opened(serve(lambda asked: reply), timeout=0.05, retries=1).score([shown(SEVEN)])
    assert np.isnan(found.scores).all()
    said = {
        "html": "the answer is no JSON but text/html",
        "null": "the answer is null",
        "hang": "no answer: ReadTimeout, 2 tries",
        "cut off": "no answer: RemoteProtocolError, 2 tries",
        "always 500": 'the service answered 500: "down", 2 tries',
    }
    assert found.failure == said[fault]


def test_too_many_requests_are_waited_out(serve):
    inner = rerank("cohere")

    def busy(asked):
        return inner(asked) if asked.tries > 1 else Reply("", status=429, headers={"Retry-After": "0"})

    service = serve(busy)
    found = opened(service, "cohere").score([shown(SEVEN, row=row) for row in range(1)])
    assert found[0].failure is None
    # Retries are no further prompts.
    assert (len(service.asked), found[0].prompts) == (2, 1)


def test_the_key_goes_where_the_dialect_wants_it_and_nowhere_else(serve, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    for dialect in DIALECTS:
        service = serve(rerank(dialect))
        made = opened(service, dialect, key_variable="MY_KEY")
        made.score([shown(SEVEN)])
        headers = service.asked[0].headers
        if dialect == "pinecone":
            assert headers["api-key"] == "s3cret"
            assert "authorization" not in headers
            assert headers["x-pinecone-api-version"]
        else:
            assert headers["authorization"] == "Bearer s3cret"
        assert "s3cret" not in json.dumps(service.asked[0].body)
        assert "s3cret" not in f"{made!r} {made.name} {made.revision} {made.options} {made.http}"
        assert made.revision == opened(service, dialect).revision
    # Without a named variable no key of the environment goes to whatever address.
    monkeypatch.setenv("JINA_API_KEY", "other")
    service = serve(rerank("jina"))
    opened(service).score([shown(SEVEN)])
    assert "authorization" not in service.asked[0].headers
    with pytest.raises(UsageError, match="NO_SUCH_KEY"):
        opened(service, key_variable="NO_SUCH_KEY")


def test_identity_holds_what_may_move_scores_and_nothing_else(serve):
    service = serve(rerank("jina"))
    base = opened(service, model="m")
    assert base.name == f"rerank:{service.url}/v1/rerank m"
    same = opened(service, model="m", concurrency=1, retries=0, timeout=1, budget_prompts=5, width=3)
    assert same.revision == base.revision
    others = [
        opened(service, model="n"),
        opened(service),
        opened(service, "vllm", model="m"),
        opened(service, model="m", extra={"max_tokens": 5}),
        open_scorer(f"rerank:{service.url}/rerank", model="m"),
        open_scorer("rerank:http://127.0.0.1:9/v1/rerank", model="m"),
    ]
    assert len({one.revision for one in [base, *others]}) == 7
    assert base.unseen == ("the weights behind the service",)
    given = opened(service, model="m", revision="v3", name="ours")
    assert (given.name, given.unseen) == ("ours", ())
    assert given.revision.startswith("v3 ")
    # A revision stands for the weights, wherever they are served; settings still count.
    elsewhere = open_scorer("rerank:http://127.0.0.1:9/v1/rerank", model="m", revision="v3")
    assert elsewhere.revision == given.revision
    assert opened(service, model="n", revision="v3").revision != given.revision


def test_declarations_follow_the_options(serve):
    service = serve(rerank("jina"))
    plain = opened(service)
    assert (plain.order_free, plain.scale, plain.max_window, plain.default_window) == (
        False, "raw", None, None,
    )  # fmt: skip
    made = opened(service, order_free=True, width=5, max_documents=9, scale="unit")
    assert (made.order_free, made.scale, made.max_window, made.default_window) == (True, "unit", 9, 5)
    assert opened(service, max_documents=9).default_window == 9
    scales = {name: opened(service, name).scale for name in DIALECTS}
    unit = {name for name, scale in scales.items() if scale == "unit"}
    assert unit == {"tei", "infinity", "pinecone"}
    assert opened(service, "tei", extra={"raw_scores": True}).scale == "raw"


def test_scores_outside_the_declared_scale_stop_the_run(serve):
    service = serve(rerank("tei", lambda query, texts: [2.5] * len(texts)))
    with pytest.raises(ScorerError, match='from 2.5 to 2.5 are outside .* scale="raw"'):
        opened(service, "tei").score([shown(SEVEN)])
    [found] = opened(service, "tei", scale="raw").score([shown(SEVEN)])
    assert found.scores.tolist() == [2.5] * 7


@pytest.mark.parametrize(
    ("dialect", "field"),
    [
        ("tei", {"truncate": True}),
        ("voyage", {"truncation": True}),
        ("pinecone", {"parameters": {"truncate": "END"}}),
    ],
)
def test_the_truncation_switch(serve, dialect, field):
    service = serve(rerank(dialect))
    opened(service, dialect, truncate=True).score([shown(SEVEN)])
    opened(service, dialect).score([shown(SEVEN)])
    assert field.items() <= service.asked[0].body.items()
    assert not field.keys() & service.asked[1].body.keys()
    with pytest.raises(UsageError, match=rf"extra names \['{next(iter(field))}'\]"):
        opened(service, dialect, truncate=True, extra=field)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"depth": 3}, r"unknown options \['depth'\]; known are \['budget_prompts'"),
        ({"dialect": "openai"}, "'openai' is unknown; known are cohere"),
        ({"model": ""}, "model must be a non-empty string"),
        ({"model": 3}, "model must be a non-empty string"),
        ({"width": 0}, "width"),
        ({"max_documents": True}, "max_documents"),
        ({"width": 9, "max_documents": 5}, "width 9 is over max_documents, 5"),
        ({"truncate": "yes"}, "truncate"),
        ({"dialect": "tei", "truncate": 1}, "truncate"),
        ({"truncate": True}, "no truncate switch; tei, voyage, pinecone have one"),
        ({"order_free": "yes"}, "order_free"),
        ({"scale": "percent"}, "scale 'percent' is unknown"),
        ({"extra": {"top_n": 3}}, r"extra names \['top_n'\]"),
        ({"extra": {"documents": []}}, "evenhand sets itself"),
        ({"extra": "a=3"}, "extra must be a dict"),
        ({"extra": {"a": {1}}}, "extra must be a dict of plain values"),
        ({"extra": {3: 1}}, "extra must be a dict of plain values"),
        ({"concurrency": 0}, "concurrency"),
        ({"budget_prompts": 0}, "budget_prompts"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_sent(options, said):
    with pytest.raises(UsageError, match=said):
        open_scorer("rerank:http://127.0.0.1:9/v1/rerank", **options)


def test_addresses():
    for wrong in ("rerank:host/rerank", "rerank:ftp://host/rerank", "rerank:http://me:pw@host/rerank"):
        with pytest.raises(UsageError, match="address"):
            open_scorer(wrong)
    with pytest.raises(UsageError, match="tells no dialect"):
        open_scorer("rerank:http://host/v1")
    assert open_scorer("rerank:http://host:8080/").url == "http://host:8080/v1/rerank"
    assert open_scorer("rerank:http://[::1]:80/x/rerank/").url == "http://[::1]/x/rerank"
    assert open_scorer("rerank:https://host/a b/rerank").url == "https://host/a%20b/rerank"


def test_a_window_over_max_documents_is_refused(serve):
    service = serve(rerank("jina"))
    with pytest.raises(ScorerError, match="a window of 7 candidates, but max_documents is 5"):
        opened(service, max_documents=5).score([shown(SEVEN)])
    assert service.asked == []


def many_slates(count, seed=0):
    words = "red apples grow on old trees near the far blue moon".split()
    draw = np.random.default_rng(seed)
    return [
        slate([" ".join(draw.choice(words, draw.integers(1, 6))) for _ in range(5)], f"q{i}")
        for i in range(count)
    ]


def test_a_service_is_audited_like_any_scorer(serve, tmp_path):
    service = serve(rerank("cohere"))
    result = audit(opened(service, "cohere"), many_slates(4), rows=4, width=3, out=tmp_path / "run")
    frame = result.frame().to_pydict()
    # 4 slates, canonical + 4 random + repeat rows, 5 candidates.
    assert len(frame["score"]) == 4 * 6 * 5
    assert not any(np.isnan(frame["score"]))
    # Two windows (3 and 2) for each of 4 * 6 rows.
    assert len(service.asked) == 48


def test_a_failed_slate_is_counted_and_the_others_are_measured(serve):
    def lose(results):
        return results[1:]

    good, bad = rerank("jina"), rerank("jina", change=lose)

    def some(asked):
        return bad(asked) if "lost" in asked.body["query"] else good(asked)

    texts = ["red", "apples grow", "moon"]
    slates = [slate(texts, f"q{i}", "lost" if i == 1 else "red apples") for i in range(4)]
    analysis = audit(opened(serve(some)), slates, rows=3).analysis
    # Of 4 slates one has no score in any of its rows: canonical, 3 random, repeat.
    assert analysis.counts["failed_rows"] == 5
    assert analysis.counts["missing_scores"] == 15


def scores_of(result):
    frame = result.frame().to_pydict()
    return np.array(frame["score"])


def test_a_budget_stops_a_run_that_goes_on_with_a_higher_one(serve, tmp_path):
    service = serve(rerank("jina"))
    slates, plan = many_slates(6), design("reorder", rows=2)
    # A slate takes canonical + 2 random + repeat = 4 prompts, a part of 2 slates 8: two parts are 16.
    with pytest.raises(BudgetError, match="20 prompts does not reach"):
        run_study(opened(service, budget_prompts=20), slates, plan, tmp_path / "run", part_size=2)
    # What the last part could pay (its first call of 6 would reach 22) was not sent.
    assert len(service.asked) == 16
    assert len(list((tmp_path / "run" / "parts").glob("*.parquet"))) == 2
    with pytest.warns(ResumeWarning, match="the weights behind the service"):
        done = run_study(opened(service), slates, plan, tmp_path / "run", part_size=2)
    assert len(service.asked) == 24
    whole = run_study(opened(service), slates, plan, tmp_path / "whole", part_size=2)
    assert len(service.asked) == 48
    for one, other in zip(done.recorded(), whole.recorded(), strict=True):
        np.testing.assert_array_equal(one.matrix.scores, other.matrix.scores)


@pytest.mark.parametrize("audits", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_concurrent_audits_give_the_scores_of_serial_ones(serve, audits):
    service = serve(rerank("cohere", pause=0.001))
    slates = many_slates(1)

    def run(seed, made):
        return scores_of(audit(made, slates, rows=2, width=3, seed=seed))

    one_by_one = opened(service, "cohere", concurrency=1)
    serial = [run(seed, one_by_one) for seed in range(audits)]
    service.most = 0
    with ThreadPoolExecutor(audits) as pool:
        own = [opened(service, "cohere", concurrency=2) for _ in range(audits)]
        found = list(pool.map(run, range(audits), own))
    assert service.most > 1
    for together, alone in zip(found, serial, strict=True):
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    # Other seeds show other orders, so that a mix-up would be seen.
    assert len({tuple(scores) for scores in serial}) > audits / 5


def test_fifty_threads_may_share_one_scorer(serve):
    service = serve(rerank("cohere", pause=0.001))
    draw = np.random.default_rng(1)
    asked = [
        [shown(SEVEN, 3, draw.permutation(7)), shown(SEVEN, 7, draw.permutation(7))] for _ in range(50)
    ]
    shared = opened(service, "cohere", concurrency=4)
    serial = [shared.score(one) for one in asked]
    service.most = 0
    with ThreadPoolExecutor(50) as pool:
        together = list(pool.map(shared.score, asked))
    assert 1 < service.most <= 4
    for pair, alone in zip(together, serial, strict=True):
        for one, other in zip(pair, alone, strict=True):
            np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-5)
