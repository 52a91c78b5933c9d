import math

import pytest

from evenhand.errors import UsageError
from evenhand.train.pseudo import pseudo_query, rarity

SENTENCE = "An egg boils in seven minutes."  # 6 words
TEXT = f"Short one. {SENTENCE} It sinks."
COLLECTION = {
    "egg": TEXT,
    "pan": "A hot pan fries an egg in butter. Salt it.",
    "sea": "The grey whale crosses an ocean in spring.",
    "sun": "Light of our star needs eight minutes to reach earth.",
}
KEYS = [f"k{i}" for i in range(400)]


def test_rarity_by_hand():
    # Four texts. "egg" stands in two, "an" in three, "whale" in one, "minutes" in two.
    found = rarity(COLLECTION)
    assert found["egg"] == math.log(4 / 2)
    assert found["an"] == math.log(4 / 3)
    assert found["whale"] == math.log(4)
    assert found["minutes"] == math.log(2)


def test_rarity_counts_texts_not_words_and_no_case():
    assert rarity({"a": "Cat cat CAT dog", "b": "dog"}) == {"cat": math.log(2), "dog": 0}


def test_words_have_two_signs_or_more_and_keep_their_hyphens():
    assert set(rarity({"a": "X-ray isn't a 3D b toy!"})) == {"x-ray", "isn't", "3d", "toy"}


def test_no_texts_are_refused():
    with pytest.raises(UsageError, match="needs at least one text"):
        rarity({})


def test_a_draw_is_a_sentence_or_words_half_of_the_time():
    rare = rarity(COLLECTION)
    drawn = [pseudo_query(key, TEXT, rare) for key in KEYS]
    sentences = [one == SENTENCE for one in drawn]
    # 400 draws of one half: sd 10.
    assert 160 < sum(sentences) < 240


def test_words_are_those_of_the_text_in_its_order_each_once():
    rare = rarity(COLLECTION)
    places = {
        word: place
        for place, word in enumerate("short one an egg boils in seven minutes it sinks".split())
    }
    counts = set()
    for key in KEYS:
        found = pseudo_query(key, TEXT, rare)
        if found == SENTENCE:
            continue
        at = [places[word] for word in found.split()]
        assert at == sorted(set(at))
        counts.add(len(at))
    assert counts == {2, 3, 4, 5, 6}


def test_rarer_words_are_drawn_more_often():
    # Of "dull" (log 1.25) and "odd" (log 5), "odd" is in nearly every pair of three.
    rare = {"dull": math.log(1.25), "odd": math.log(5), "rare": math.log(5)}
    drawn = [pseudo_query(key, "dull odd rare", rare).split() for key in KEYS]
    pairs = [one for one in drawn if len(one) == 2]
    assert len(pairs) > 50
    # Weights .0498, 2.59, 2.59: "dull" is in a pair with about .019 + .019 = .037.
    assert sum("dull" in one for one in pairs) / len(pairs) < 0.15


def test_words_that_all_texts_have_or_that_are_unknown_are_left_out():
    for key in KEYS[:50]:
        assert (
            pseudo_query(key, "the grey whale", {"the": 0.0, "whale": 1.0, "grey": 1.0}) == "grey whale"
        )
        assert pseudo_query(key, "new grey whale", {"whale": 1.0, "grey": 1.0}) == "grey whale"


@pytest.mark.parametrize("text", ["", "whale", "whale whale", "a b c", "of the"])
def test_a_text_too_short_for_a_question_has_none(text):
    rare = {"whale": 1.0, "of": 0.0, "the": 0.0}
    assert {pseudo_query(key, text, rare) for key in KEYS[:50]} == {None}


@pytest.mark.parametrize(("count", "usable"), [(4, False), (5, True), (24, True), (25, False)])
def test_sentences_have_5_to_24_words(count, usable):
    sentence = "Egg " + " ".join(["pan"] * (count - 1)) + "."
    found = {pseudo_query(key, sentence, {"egg": 1.0, "pan": 1.0}) for key in KEYS[:50]}
    assert found == ({sentence, "egg pan"} if usable else {"egg pan"})


def test_a_sentence_begins_after_a_full_stop_and_a_capital():
    text = 'It weighs 3.5 kg of fish. how odd it is. Who knows why it is so? "Nobody at all does know."'
    found = {pseudo_query(key, text, {}) for key in KEYS}
    assert found == {
        None,
        "It weighs 3.5 kg of fish. how odd it is.",
        "Who knows why it is so?",
        '"Nobody at all does know."',
    }


def test_a_draw_depends_on_seed_and_key_alone():
    rare = rarity(COLLECTION)
    first = [pseudo_query(key, TEXT, rare) for key in KEYS]
    assert [pseudo_query(key, TEXT, rare) for key in reversed(KEYS)] == first[::-1]
    assert [pseudo_query(key, TEXT, rare, seed=0) for key in KEYS] == first
    other = [pseudo_query(key, TEXT, rare, seed=1) for key in KEYS]
    assert other != first
    assert len(set(first)) > 50


def test_texts_that_are_dropped_change_rarity_alone():
    everything, fewer = rarity(COLLECTION), rarity({key: COLLECTION[key] for key in ("egg", "sea")})
    assert everything["egg"] == math.log(2)
    assert fewer["egg"] == math.log(2)
    assert (everything["boils"], fewer["boils"]) == (math.log(4), math.log(2))
    for key in KEYS[:100]:
        before, after = (pseudo_query(key, TEXT, rare) for rare in (everything, fewer))
        # Whether it is a sentence, and which, is drawn before any rarity is looked at.
        assert (before == SENTENCE) == (after == SENTENCE)
        # The same weights give the same words, whatever texts they come from.
        assert pseudo_query(key, TEXT, dict(everything)) == before
        shared = {word: value for word, value in everything.items() if word in TEXT.lower()}
        assert pseudo_query(key, TEXT, shared) == before
