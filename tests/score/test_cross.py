import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from evenhand.errors import InputError, MissingExtraError, ScorerError, UsageError
from evenhand.models.load import Loaded
from evenhand.score import open_scorer
from evenhand.score.cross import CrossOptions, CrossScorer, open_cross
from evenhand.types import Candidate, Presentation, Scorer, Shown, Slate

WORDS = "where do red apples grow on trees in the garden moon is far away have leaves a day".split()
SLATE = Slate(
    "s",
    "where do red apples grow",
    (
        Candidate("a", "apples grow on trees in the garden"),
        Candidate("b", "the moon is far away"),
        Candidate("c", ""),
        Candidate("d", "trees", title="leaves"),
        Candidate("e", "a day [SEP] the moon [CLS] is far"),
    ),
)


def bert_tokenizer(folder):
    names = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *dict.fromkeys(WORDS),
        ":",
        "[",
        "]",
        "sep",
        "cls",
    ]
    return transformers.BertTokenizer(vocab={name: place for place, name in enumerate(names)})


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """A function labels -> folder of a tiny random cross-encoder."""
    torch.set_num_threads(1)

    def build(labels=1):
        folder = tmp_path_factory.mktemp(f"bert{labels}")
        tokenizer = bert_tokenizer(folder)
        config = transformers.BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=40,
            initializer_range=0.5,
            num_labels=labels,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = transformers.BertForSequenceClassification(config)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return build


@pytest.fixture(scope="session")
def folder(bert):
    return bert()


@pytest.fixture
def reward(tiny_tokenizer):
    """A tiny random reward model on a decoder."""
    config = transformers.LlamaConfig(
        vocab_size=len(tiny_tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.5,
        num_labels=1,
        pad_token_id=tiny_tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.LlamaForSequenceClassification(config).eval()
    return Loaded(model, tiny_tokenizer, "tiny", "1", model.device, "float32")


def show(slate=SLATE, order=None):
    order = tuple(order or range(len(slate)))
    return Shown(slate, Presentation(order, (order[:2], order[2:]) if len(order) > 2 else (order,)))


def as_transformers(folder, query, text):
    """The logits of one pair, by the tokenizer's own encoding of pairs."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.inference_mode():
        return model(**tokenizer([query], [text], return_tensors="pt")).logits[0].tolist()


def test_logits_are_those_of_transformers(folder):
    scorer = open_scorer(f"cross:{folder}")
    (scored,) = scorer.score([show()])
    for place in range(4):
        expected = as_transformers(folder, SLATE.query, SLATE.candidates[place].full_text)
        assert scored.scores[place] == pytest.approx(expected[0], abs=1e-5)
    assert np.ptp(scored.scores) > 0.01
    assert isinstance(scorer, Scorer)
    assert (scorer.scale, scorer.order_free, scorer.dtype) == ("raw", True, "float32")
    assert (scored.prompts, scored.failure) == (5, None)


def test_ids_and_token_types_are_those_of_the_tokenizer(folder):
    scorer = open_cross(str(folder))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pairs = scorer._build(show())
    for pair, candidate in list(zip(pairs, SLATE.candidates, strict=True))[:4]:
        # As batches are coded: given alone, an empty second text is taken for none.
        coded = tokenizer([SLATE.query], [candidate.full_text])
        assert list(pair.ids) == coded["input_ids"][0]
        assert list(pair.types) == coded["token_type_ids"][0]
    # [CLS] q(5) [SEP] text [SEP], with 7, 5, 0 and 3 words.
    assert [len(pair.ids) for pair in pairs[:4]] == [15, 13, 8, 11]


def test_special_tokens_that_a_text_spells_are_text(folder):
    scorer = open_cross(str(folder))
    (scored,) = scorer.score([show()])
    assert scored.escaped.tolist() == [0, 0, 0, 0, 2]
    pair = scorer._build(show())[4]
    # One [CLS] and two [SEP], the model's own.
    assert (pair.ids.count(2), pair.ids.count(3)) == (1, 2)


def test_a_score_knows_neither_order_nor_batch(folder):
    scores = [
        open_cross(str(folder), token_budget=budget).score([show(order=order)])[0].scores
        for budget in (1, 10_000)
        for order in ((0, 1, 2, 3, 4), (4, 2, 3, 1, 0))
    ]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], rtol=0, atol=1e-5)


def test_sigmoid_is_declared(folder):
    raw = open_cross(str(folder)).score([show()])[0].scores
    unit = open_cross(str(folder), sigmoid=True)
    assert unit.scale == "unit"
    np.testing.assert_allclose(unit.score([show()])[0].scores, 1 / (1 + np.exp(-raw)), atol=1e-6)


def test_one_of_several_labels(bert):
    many = bert(3)
    with pytest.raises(ScorerError, match=r"3 labels \['LABEL_0'.*label=0"):
        open_cross(str(many))
    scorer = open_cross(str(many), label=2)
    logits = np.array(as_transformers(many, SLATE.query, SLATE.candidates[0].full_text))
    expected = np.exp(logits[2]) / np.exp(logits).sum()
    assert scorer.score([show()])[0].scores[0] == pytest.approx(expected, abs=1e-5)
    assert scorer.scale == "unit"
    with pytest.raises(UsageError, match="label 3 is not one .* 0 to 2"):
        open_cross(str(many), label=3)


def test_a_model_with_one_logit_has_no_labels_to_choose(folder):
    with pytest.raises(UsageError, match="a single logit is the score"):
        open_cross(str(folder), label=0)


def test_long_texts_are_cut_and_counted_and_the_query_is_not(folder):
    # 40 tokens hold [CLS] q(5) [SEP] ... [SEP] and 32 more; "a day " * 20 is 40.
    long = Slate("s", SLATE.query, (Candidate("a", "a day " * 20), Candidate("b", "moon")))
    scorer = open_cross(str(folder))
    (scored,) = scorer.score([show(long)])
    assert scored.truncated.tolist() == [8, 0]
    # 40 tokens and [CLS] q(5) [SEP] moon [SEP].
    assert scored.tokens == 40 + 9
    (scored,) = open_cross(str(folder), max_candidate_tokens=3).score([show(long)])
    assert scored.truncated.tolist() == [37, 0]


def test_a_query_that_leaves_no_room_fails_alone(folder):
    over = Slate("over", "a day " * 20, (Candidate("a", "moon"),))
    failed, fine = open_cross(str(folder)).score([show(over), show()])
    assert np.isnan(failed.scores).all()
    assert "slate 'over'" in failed.failure
    assert "43 tokens of a context of 40" in failed.failure
    assert np.isfinite(fine.scores).all()


def test_a_candidate_that_is_not_shown_has_no_score(folder):
    shown = Shown(SLATE, Presentation((3, 0), ((3, 0),), omitted=(1, 2, 4)))
    (scored,) = open_cross(str(folder)).score([shown])
    whole = open_cross(str(folder)).score([show()])[0].scores
    np.testing.assert_allclose(scored.scores[[0, 3]], whole[[0, 3]], atol=1e-5)
    assert np.isnan(scored.scores[[1, 2, 4]]).all()
    assert scored.prompts == 2


def test_a_reward_model_reads_request_and_response_in_its_template(reward, tiny_tokenizer):
    scorer = CrossScorer(reward, CrossOptions(kind="reward"))
    (scored,) = scorer.score([show()])
    for place in range(4):
        turns = [
            {"role": "user", "content": SLATE.query},
            {"role": "assistant", "content": SLATE.candidates[place].full_text},
        ]
        text = tiny_tokenizer.apply_chat_template(turns, tokenize=False)
        ids = tiny_tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        assert list(scorer._build(show())[place].ids) == ids[0].tolist()
        with torch.inference_mode():
            expected = float(reward.model(ids).logits[0, 0])
        assert scored.scores[place] == pytest.approx(expected, abs=1e-5)
    assert (scorer.scale, scorer.order_free) == ("raw", True)


def test_without_a_padding_token_pairs_are_read_one_by_one(reward, tiny_tokenizer):
    with_padding = CrossScorer(reward, CrossOptions(kind="reward")).score([show()])[0].scores
    reward.model.config.pad_token_id = None
    pad = tiny_tokenizer.pad_token
    try:
        tiny_tokenizer.pad_token = None
        alone = CrossScorer(reward, CrossOptions(kind="reward")).score([show()])[0].scores
    finally:
        tiny_tokenizer.pad_token = pad
    np.testing.assert_allclose(alone, with_padding, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (None, "no chat template"),
        ("{{ messages[0]['content'] }}", "does not keep request and response"),
    ],
)
def test_templates_that_do_not_carry_both(reward, tiny_tokenizer, template, said):
    before = tiny_tokenizer.chat_template
    try:
        tiny_tokenizer.chat_template = template
        with pytest.raises(ScorerError, match=said):
            CrossScorer(reward, CrossOptions(kind="reward"))
    finally:
        tiny_tokenizer.chat_template = before


def test_a_number_that_is_none_is_an_error(folder):
    scorer = open_cross(str(folder))
    with torch.no_grad():
        scorer._model.classifier.weight.fill_(float("nan"))
    with pytest.raises(ScorerError, match=r"slate 's': cross:.* gave nan"):
        scorer.score([show()])


def test_what_moves_scores_moves_the_revision(folder, bert):
    options = [
        {},
        {"max_candidate_tokens": 3},
        {"context": 30},
        {"sigmoid": True},
        {"dtype": "bfloat16"},
    ]
    assert len({open_cross(str(folder), **one).revision for one in options}) == len(options)
    # Equal weights elsewhere are the same model.
    assert open_cross(str(bert())).revision == open_cross(str(folder)).revision
    assert open_cross(str(folder), token_budget=5).revision == open_cross(str(folder)).revision


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": 2}, r"unknown options \['labels'\]; known are"),
        ({"kind": "triple"}, "unknown kind"),
        ({"sigmoid": 1}, "sigmoid must be"),
        ({"label": True}, "label is the number"),
        ({"label": 0, "sigmoid": True}, "sigmoid is for"),
        ({"context": 0}, "context must be"),
        ({"token_budget": 0}, "token_budget must be"),
        ({"dtype": "int8"}, "unknown dtype"),
    ],
)
def test_options_refused(folder, options, said):
    with pytest.raises(UsageError, match=said):
        open_cross(str(folder), **options)


def test_roberta_numbers_positions_from_its_padding_id_on():
    from evenhand.score.cross import context_of

    config = transformers.RobertaConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        max_position_embeddings=34, pad_token_id=1, num_labels=1,
    )  # fmt: skip
    model = transformers.RobertaForSequenceClassification(config)

    class Limitless:
        model_max_length = 10**30

    # Positions 2 to 33.
    assert context_of(model, Limitless()) == 32
    model(torch.ones(1, 32, dtype=torch.int64) * 5)


def test_the_extra_is_named(monkeypatch, folder):
    from evenhand.models import classifier

    def absent(name):
        raise MissingExtraError(name, "hf")

    monkeypatch.setattr(classifier, "require", absent)
    with pytest.raises(MissingExtraError, match="evenhand"):
        open_cross(str(folder))


def test_no_such_folder(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        open_cross(str(tmp_path / "none"))
