import gc
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.score.services.address import key_headers
from evenhand.score.services.http import BudgetError, Caller, HttpOptions
from servers import Reply

BODIES = [{"n": n} for n in range(12)]


def quick(service, **options):
    headers = options.pop("headers", None)
    return Caller(service.url, HttpOptions(**{"pause": 0.01, "timeout": 5.0, **options}), headers)


def test_answers_come_in_the_order_of_the_bodies(serve):
    service = serve(lambda asked: Reply({"n": asked.body["n"]}, hang=0.005 * (12 - asked.body["n"])))
    answers = quick(service, concurrency=4).post("/v1/x", BODIES)
    assert [answer.body["n"] for answer in answers] == list(range(12))
    assert {(answer.failure, answer.tries) for answer in answers} == {(None, 1)}
    assert 1 < service.most <= 4
    assert {asked.path for asked in service.asked} == {"/v1/x"}
    assert quick(service).post("/v1/x", []) == []


def test_the_bound_holds_for_all_threads_of_one_caller(serve):
    service = serve(lambda asked: Reply({"n": asked.body["n"]}, hang=0.01))
    caller, found = quick(service, concurrency=3), {}

    def ask(thread):
        found[thread] = [
            answer.body["n"] for answer in caller.post("", [{"n": 100 * thread + i} for i in range(5)])
        ]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {t: [100 * t + i for i in range(5)] for t in range(6)}
    assert service.most <= 3


def test_connections_are_kept_open(serve):
    service = serve(lambda asked: {})
    caller = quick(service, concurrency=1)
    caller.post("", BODIES[:4])
    caller.post("", BODIES[4:])
    assert len(service.asked) == 12
    assert len({asked.port for asked in service.asked}) == 1


@pytest.mark.parametrize("fault", [429, 500, 503, 408, "cut off"])
def test_faults_are_tried_again(serve, fault):
    def answer(asked):
        if asked.tries <= 2:
            return Reply(cut_off=True) if fault == "cut off" else Reply("busy", status=fault)
        return {"ok": True}

    [found] = quick(serve(answer), retries=2).post("", [{}])
    assert (found.body, found.failure, found.tries) == ({"ok": True}, None, 3)


def test_what_stays_away_is_missing_with_its_reason(serve):
    def answer(asked):
        if asked.body["n"] == 1:
            return Reply({"error": "out of memory"}, status=500)
        if asked.body["n"] == 2:
            return Reply(status=422, raw=b"<p>  too\n long </p>")
        if asked.body["n"] == 3:
            return Reply(cut_off=True)
        return {"n": asked.body["n"]}

    service = serve(answer)
    found = quick(service, retries=1).post("", BODIES[:5])
    assert [one.failure for one in found] == [
        None,
        'the service answered 500: {"error": "out of memory"}, 2 tries',
        "the service answered 422: <p> too long </p>",
        "no answer: RemoteProtocolError, 2 tries",
        None,
    ]
    assert [one.tries for one in found] == [1, 2, 1, 2, 1]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"<html>", "no JSON but text/html"),
        (b"", "no JSON"),
        (b'{"a": ', "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"null", "null"),
    ],
)
def test_what_is_no_json_is_missing_and_not_asked_again(serve, raw, said):
    service = serve(lambda asked: Reply(raw=raw, headers={"Content-Type": "text/html; charset=utf-8"}))
    [found] = quick(service).post("", [{}])
    assert found.body is None
    assert said in found.failure
    assert len(service.asked) == 1


def test_a_service_that_hangs_or_drips_times_out(serve):
    service = serve(lambda asked: Reply({}, hang=0.3))
    [found] = quick(service, timeout=0.05, retries=1).post("", [{}])
    assert found.failure == "no answer: ReadTimeout, 2 tries"
    # A byte each .02 seconds: no single wait is long, all 20 of them are.
    service.answer = lambda asked: Reply("x" * 18, drip=0.02)
    [found] = quick(service, timeout=0.1, retries=0).post("", [{}])
    assert found.failure == "no answer: ReadTimeout, 1 tries"


@pytest.mark.parametrize("dated", [False, True])
def test_a_named_pause_is_kept(serve, dated):
    moments = []

    def answer(asked):
        moments.append(time.monotonic())
        if asked.tries > 1:
            return {}
        # A date has whole seconds: 2 seconds on is between 1 and 2 from now.
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        return Reply("later", status=429, headers={"Retry-After": date if dated else "0.3"})

    [found] = quick(serve(answer), pause=0.0).post("", [{}])
    waited = moments[1] - moments[0]
    assert found.tries == 2
    assert (0.9 if dated else 0.29) < waited < 2.5


@pytest.mark.parametrize(
    ("status", "said"), [(401, "key"), (403, "key"), (404, "address"), (307, "moved")]
)
def test_a_refusal_stops_the_rest(serve, status, said):
    service = serve(lambda asked: Reply("no", status=status, headers={"Location": "/elsewhere"}))
    with pytest.raises(ScorerError, match=f"answered {status}.*{said}"):
        quick(service, concurrency=1).post("", BODIES)
    assert len(service.asked) == 1


def test_a_refusal_ends_the_waiting_of_others(serve):
    def answer(asked):
        refused = asked.body["n"] == 1
        return (
            Reply("", status=401) if refused else Reply("", status=429, headers={"Retry-After": "50"})
        )

    started = time.monotonic()
    with pytest.raises(ScorerError, match="401"):
        quick(serve(answer)).post("", BODIES[:2])
    assert time.monotonic() - started < 5


def test_nothing_listening_is_an_error_and_not_a_missing_score():
    with pytest.raises(ScorerError, match=r"nothing answers at http://127\.0\.0\.1:9 .* 2 tries"):
        Caller("http://127.0.0.1:9", HttpOptions(retries=1, pause=0.0)).post("", [{}, {}])


def test_text_that_is_no_valid_unicode_is_sent(serve):
    service = serve(lambda asked: {})
    quick(service).post("", [{"text": "a\ud800b \u00e9 \U0001f600"}])
    assert service.asked[0].body == {"text": "a\ud800b \u00e9 \U0001f600"}


def test_the_key_is_sent_and_stands_nowhere(serve, monkeypatch, caplog):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("MY_KEY", " s3cret \n")
    service = serve(lambda asked: Reply(f"key {asked.headers['authorization']} is bad", status=400))
    caller = quick(service, headers=key_headers("MY_KEY"))
    [found] = caller.post("", [{}])
    assert service.asked[0].headers["authorization"] == "Bearer s3cret"
    assert found.failure == 'the service answered 400: "key *** is bad"'
    assert "s3cret" not in repr(caller) + repr(found) + repr(caller.options)
    service.answer = lambda asked: Reply("s3cret", status=403)
    with pytest.raises(ScorerError, match=r"403: \"\*\*\*\"") as caught:
        caller.post("", [{}])
    assert "s3cret" not in str(caught.value)
    service.answer = lambda asked: Reply("", status=302, headers={"Location": "/login?key=s3cret"})
    with pytest.raises(ScorerError, match=r"moved to /login\?key=\*\*\*;"):
        caller.post("", [{}])
    # httpx and what it stands on tell a lot at this level, but no header of a request.
    assert "POST" in caplog.text
    assert "Bearer" not in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"concurrency": True},
        {"retries": -1},
        {"retries": 1.5},
        {"pause": -1},
        {"pause": "1"},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"timeout": 10**400},
        {"pause": float("nan")},
        {"budget_prompts": 0},
        {"budget_tokens": "many"},
    ],
)
def test_options_out_of_range_are_refused_by_name(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        HttpOptions(**wrong)


def test_a_prompt_budget_is_never_passed_and_sends_nothing_it_cannot_pay(serve):
    service = serve(lambda asked: {})
    caller = quick(service, budget_prompts=10)
    caller.post("", BODIES[:6])
    with pytest.raises(BudgetError, match="10 prompts does not reach: 6 are spent.*needs 5"):
        caller.post("", BODIES[:5])
    assert len(service.asked) == 6
    caller.post("", BODIES[:4])  # 6 + 4 = 10, the whole budget
    assert (caller.budget.prompts, len(service.asked)) == (10, 10)
    assert issubclass(BudgetError, ScorerError)
    # What one budget can never pay is told apart from what another one would.
    with pytest.raises(BudgetError, match="repeat the command to go on"):
        caller.post("", BODIES[:1])
    with pytest.raises(BudgetError, match="raise budget_prompts to 11 at least"):
        caller.post("", BODIES[:11])


def test_a_prompt_budget_holds_for_all_threads_together(serve):
    service = serve(lambda asked: {})
    caller, ends = quick(service, budget_prompts=20), []

    def ask():
        try:
            caller.post("", BODIES[:3])
            ends.append("done")
        except BudgetError:
            ends.append("stopped")

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 6 threads of 3 are 18 of 20; a seventh would make 21.
    assert (ends.count("done"), ends.count("stopped"), len(service.asked)) == (6, 4, 18)


def test_a_token_budget_stops_the_next_request(serve):
    service = serve(lambda asked: {"usage": {"total_tokens": 30}})
    caller = quick(service, budget_tokens=100, concurrency=1)
    with pytest.raises(BudgetError, match=r"100 tokens is spent \(120 counted\)"):
        caller.post("", BODIES)
    # 30, 60, 90, 120: the fourth passes the limit and is the last.
    assert len(service.asked) == 4
    with pytest.raises(BudgetError):
        caller.post("", BODIES[:1])


def test_a_token_budget_needs_a_count(serve):
    with pytest.raises(ScorerError, match="does not report the tokens"):
        quick(serve(lambda asked: {}), budget_tokens=100).post("", BODIES)


def test_a_forgotten_caller_leaves_no_thread_and_no_connection(serve):
    service = serve(lambda asked: {})
    before = threading.active_count()
    caller = quick(service)
    caller.post("", BODIES)
    caller.close()
    with pytest.raises(RuntimeError):
        caller.post("", BODIES)
    other = quick(service)
    other.post("", BODIES)
    del other, caller
    gc.collect()
    deadline = time.monotonic() + 5
    while any(t.name.startswith("evenhand-http") for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert threading.active_count() <= before + 12  # the service's own


def test_any_success_is_an_answer(serve):
    service = serve(lambda asked: Reply({"n": 1}, status=201))
    assert quick(service).post("", [{}])[0].body == {"n": 1}


def test_foreign_texts_are_short_and_print_well(serve):
    service = serve(lambda asked: Reply(status=400, raw=("\x1b[31m\u202e" + "x" * 999).encode()))
    [found] = quick(service).post("", [{}])
    assert found.failure == "the service answered 400: [31m " + "x" * 195


# A program started in the background of a shell ignores interrupts until it says otherwise.
INTERRUPTED = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from evenhand.score.services.http import Caller
caller = Caller(sys.argv[1])
print("asking", flush=True)
caller.post("", [{}, {}])
"""


def test_an_interrupted_program_ends_at_once(serve):
    service = serve(lambda asked: Reply({}, hang=8))
    command = [sys.executable, "-c", INTERRUPTED, service.url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        while len(service.asked) < 2:
            time.sleep(0.01)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    # The requests under way would take 8 seconds.
    assert time.monotonic() - started < 5
    assert b"KeyboardInterrupt" in said
