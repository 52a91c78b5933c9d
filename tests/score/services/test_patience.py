"""Retries are told now and then, and a service that answers nothing ends the run early."""

import logging

import pytest

from evenhand.errors import ScorerError
from evenhand.score.services import patience
from evenhand.score.services.http import Caller, HttpOptions
from evenhand.score.services.patience import Patience
from servers import Reply, Service


def caller(service, **options):
    return Caller(service.url, HttpOptions(**{"pause": 0.001, "retries": 1, "timeout": 5.0, **options}))


def test_further_tries_are_told_once_in_a_while(monkeypatch, caplog):
    now = [100.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    caplog.set_level(logging.INFO, logger="evenhand")
    held = Patience()
    for at, status in ((100, 429), (101, 429), (109.9, 503), (110, 429), (115, 429), (121, None)):
        now[0] = at
        held.again(status)
    # At 100, ten seconds on at 110 (the fourth), and eleven on at 121 (the sixth).
    assert [record.getMessage() for record in caplog.records] == [
        "retrying: 429 (1 request)",
        "retrying: 429 (4 requests)",
        "retrying: no answer (6 requests)",
    ]


def test_a_service_that_always_refuses_ends_the_run_early():
    with Service(lambda asked: Reply({}, status=429)) as service:
        with pytest.raises(ScorerError, match=r"the first 5 requests .*429.*none was answered"):
            caller(service, concurrency=1).post("/x", [{"n": n} for n in range(40)])
        # Five requests of two tries each, and none of the other 35.
        assert len(service.asked) == 10


def test_one_answer_among_the_first_lets_the_others_be_missing():
    def answer(asked):
        return Reply({"n": 3}) if asked.body["n"] == 3 else Reply({}, status=429)

    with Service(answer) as service:
        found = caller(service, concurrency=1).post("/x", [{"n": n} for n in range(12)])
    assert [one.body is not None for one in found] == [n == 3 for n in range(12)]
    assert found[11].tries == 2


def test_a_refusal_for_good_is_an_answer():
    with Service(lambda asked: Reply({}, status=400 if asked.body["n"] == 0 else 500)) as service:
        found = caller(service, concurrency=1).post("/x", [{"n": n} for n in range(8)])
    assert [one.status for one in found] == [400] + [500] * 7
