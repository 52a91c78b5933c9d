from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from evenhand.decide.prompts import PROMPTS, render
from evenhand.decide.reader import LocalReader, ReaderOptions
from evenhand.decide.reading import Evidence, Reader
from evenhand.decide.verdicts import LABELS
from evenhand.errors import UsageError

pytestmark = pytest.mark.usefixtures("one_thread")
EVIDENCE = [
    Evidence("how long does an egg boil?", ("An egg boils in seven minutes.", "It takes water.")),
    Evidence("who?", ()),
    Evidence(
        "a longer question about a slate and its candidates", ("The passage gives background.",) * 4
    ),
    Evidence("who?", ("", "one two three four five six seven eight nine ten")),
]
# Full attention, and sliding windows.
FAMILIES = ("llama", "gemma3")


@pytest.fixture(scope="module")
def loaded(tiny_model, tiny_tokenizer):
    def build(family="llama"):
        return SimpleNamespace(
            model=tiny_model(family), tokenizer=tiny_tokenizer, name=f"tiny {family}", revision="w1"
        )

    return build


def a_reader(loaded, task="answer", family="llama", **options):
    return LocalReader(loaded(family), task, ReaderOptions(**options))


def greedy(model, tokenizer, ids, most):
    """The slow way: the whole prompt again for every token."""
    said = []
    ends = {tokenizer.eos_token_id, model.config.get_text_config().eos_token_id}
    for _ in range(most):
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([[*ids, *said]])).logits[0, -1]
        token = int(logits.argmax())
        if token in ends:
            break
        said.append(token)
        if "\n" in tokenizer.decode(said).lstrip():
            break
    text = tokenizer.decode(said, skip_special_tokens=True).strip()
    return text.splitlines()[0].strip() if text else ""


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_equal_a_plain_loop_of_argmax(loaded, family):
    reader = a_reader(loaded, family=family, max_tokens=5)
    model, tokenizer = loaded(family).model, loaded(family).tokenizer
    expected = [greedy(model, tokenizer, reader.prompt_ids(one), 5) for one in EVIDENCE]
    assert [one.output for one in reader.read(EVIDENCE)] == expected
    assert all(expected)
    assert family != "llama" or len(set(expected)) == len(EVIDENCE)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_verdicts_equal_a_plain_computation(loaded, family, kind):
    reader = a_reader(loaded, "verdict", family, verdict=kind)
    model, tokenizer = loaded(family).model, loaded(family).tokenizer
    for evidence in EVIDENCE:
        prompt = list(reader.prompt_ids(evidence))
        expected = {}
        for label, words in LABELS.items():
            ids = tokenizer.encode(f" {words}", add_special_tokens=False)
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([prompt + ids])).logits[0]
            log = logits[len(prompt) - 1 : -1].log_softmax(-1)
            each = [float(log[place, token]) for place, token in enumerate(ids)]
            expected[label] = sum(each) / (len(each) if kind == "mean" else 1)
        found = reader.label_scores(evidence)
        assert found == pytest.approx(expected, abs=1e-4)
        [reading] = reader.read([evidence])
        assert reading.output == max(expected, key=expected.get)


def test_batches_do_not_matter(loaded):
    for task in ("answer", "verdict"):
        wide = a_reader(loaded, task, token_budget=100_000, max_tokens=4)
        narrow = a_reader(loaded, task, token_budget=1, max_tokens=4)
        assert wide.read(EVIDENCE) == narrow.read(EVIDENCE)
        assert wide.read(EVIDENCE[::-1]) == narrow.read(EVIDENCE)[::-1]
    rows = [wide.prompt_ids(one) for one in EVIDENCE]
    together = wide._likelihoods(rows)
    alone = torch.cat([wide._likelihoods([row]) for row in rows])
    # sums of some 20 log-probabilities near -100, where float32 is spaced 8e-6 apart
    torch.testing.assert_close(together, alone, rtol=1e-6, atol=1e-5)


def test_the_prompt_is_what_the_template_says(loaded):
    reader = a_reader(loaded)
    text = loaded().tokenizer.decode(list(reader.prompt_ids(EVIDENCE[0])))
    assert text.startswith("<|im_start|>system\n" + PROMPTS["answer"].system)
    assert "[1] An egg boils in seven minutes.\n[2] It takes water." in text
    assert text.endswith("<|im_start|>assistant\nAnswer:")


def test_foreign_control_tokens_stay_text(loaded):
    reader = a_reader(loaded)
    end = loaded().tokenizer.eos_token_id
    plain = reader.prompt_ids(Evidence("q", ("x",))).count(end)
    assert reader.prompt_ids(Evidence("q", ("x <|im_end|>",))).count(end) == plain


def test_candidates_are_cut_by_tokens_and_counted(loaded):
    tokenizer = loaded().tokenizer
    text = "one two three four five six seven"
    length = len(tokenizer.encode(f" {text}", add_special_tokens=False))
    evidence = [Evidence("q", (text, "a"))]
    [reading] = a_reader(loaded, max_tokens=2, max_candidate_tokens=4).read(evidence)
    assert reading.cut == length - 4
    [whole] = a_reader(loaded, max_tokens=2).read(evidence)
    assert whole.cut == 0


def test_the_context_cuts_candidates_and_nothing_else(loaded):
    wide = a_reader(loaded, max_tokens=2)
    evidence = Evidence("q", ("one two three four five six seven eight",) * 3)
    need = len(wide.prompt_ids(evidence)) + 2
    tight = a_reader(loaded, max_tokens=2, context=need - 6)
    assert len(tight.prompt_ids(evidence)) <= need - 8
    [reading] = tight.read([evidence])
    # six tokens too many, over three equal candidates: two of each
    assert (reading.cut, reading.failure) == (6, None)
    bare = len(wide.prompt_ids(Evidence("q", ("",) * 3)))
    [lost] = a_reader(loaded, max_tokens=2, context=bare).read([evidence])
    assert lost.output is None
    assert "context" in lost.failure
    with pytest.raises(UsageError, match="context"):
        a_reader(loaded, max_tokens=2, context=bare).prompt_ids(evidence)


def test_identity(loaded):
    reader = a_reader(loaded)
    assert isinstance(reader, Reader)
    assert reader.name == "tiny llama"
    same = a_reader(loaded, token_budget=7)
    others = [
        a_reader(loaded, "verdict"),
        a_reader(loaded, max_candidate_tokens=9),
        a_reader(loaded, chat_template="plain"),
        LocalReader(SimpleNamespace(**{**vars(loaded()), "revision": "w2"}), "answer"),
    ]
    assert same.revision == reader.revision
    assert len({reader.revision, *(one.revision for one in others)}) == 5


def test_a_models_own_sampling_settings_do_not_apply(loaded):
    held = loaded()
    held.model.generation_config.update(do_sample=True, temperature=5.0, repetition_penalty=9.0)
    assert LocalReader(held, "answer", ReaderOptions(max_tokens=8)).read(EVIDENCE) == a_reader(
        loaded, max_tokens=8
    ).read(EVIDENCE)


def test_nothing_to_read(loaded):
    assert a_reader(loaded).read([]) == []


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": 0}, {"token_budget": 0}, {"context": 0}, {"verdict": "max"}]
)
def test_wrong_options(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        ReaderOptions(**wrong)


def test_wrong_task(loaded):
    with pytest.raises(UsageError, match="verdict"):
        a_reader(loaded, "summary")


def test_rendering_is_checked_once_for_all(loaded):
    # the identity already renders an empty prompt, so a broken template fails at once
    assert render("answer", "", (), lambda messages: "\n".join(m["content"] for m in messages))
