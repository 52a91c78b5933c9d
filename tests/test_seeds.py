"""Randomness is a function of its arguments alone."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from evenhand.seeds import content_hash, file_hash, generator, tie_ranks


def test_generator_is_the_stated_function():
    digest = hashlib.sha256(json.dumps(["3", "q", "order", "1"]).encode()).digest()
    wanted = np.random.default_rng(int.from_bytes(digest, "big")).random(3)
    assert (generator(3, "q", "order", 1).random(3) == wanted).all()


def test_every_argument_counts():
    arguments = [
        (0, "q", "a", 0),
        (1, "q", "a", 0),
        (0, "r", "a", 0),
        (0, "q", "b", 0),
        (0, "q", "a", 1),
    ]
    streams = [generator(*each).random() for each in arguments]
    assert len(set(streams)) == 5


def test_parts_do_not_run_together():
    assert generator(0, "q1", "a").random() != generator(0, "q", "1a").random()


def test_tie_ranks_belong_to_the_candidate():
    ids = ["a", "b", "c", "d"]
    ranks = dict(zip(ids, tie_ranks("q", ids), strict=True))
    moved = dict(zip(ids[::-1], tie_ranks("q", ids[::-1]), strict=True))
    assert ranks == moved
    assert sorted(ranks.values()) == [0, 1, 2, 3]
    orders = {tuple(tie_ranks(f"q{i}", ids)) for i in range(40)}
    assert len(orders) > 10
    assert any(tuple(tie_ranks("q", ids, salt=str(i))) != tuple(tie_ranks("q", ids)) for i in range(5))
    assert tie_ranks("q", []).shape == (0,)


def test_content_hash_ignores_the_order_of_keys_alone():
    assert content_hash({"a": 1, "b": [1, 2]}) == content_hash({"b": [1, 2], "a": 1})
    assert content_hash([1, 2]) != content_hash([2, 1])
    assert len(content_hash("\ud800")) == 64


def test_file_hash_is_that_of_the_content(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_hash(tmp_path / "f") == known
    (tmp_path / "f").write_bytes(b"abc" * 100_000)
    assert file_hash(tmp_path / "f") == hashlib.sha256(b"abc" * 100_000).hexdigest()
