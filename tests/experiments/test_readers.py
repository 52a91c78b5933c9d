"""The frozen readers of experiments/readers: what they are taught, how they learn and are opened."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from evenhand.cli import app
from evenhand.data import write_slates
from evenhand.decide import open_reader
from evenhand.decide.reader import LocalReader
from evenhand.decide.reading import Evidence, Reading, evidence_of
from evenhand.decide.verdicts import LABELS
from evenhand.models.load import load
from evenhand.types import Candidate, Slate

SCRIPTS = Path(__file__).parents[2] / "experiments/readers"
NAMES = ("teaching", "kept", "train", "evaluate", "flips", "prepare")


@pytest.fixture(scope="module")
def scripts():
    """The scripts, imported as they import each other; their names are given back."""
    held = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    sys.path.insert(0, str(SCRIPTS))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = {name: __import__(name) for name in NAMES}
    yield type("Scripts", (), found)
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(threads)
    sys.path.remove(str(SCRIPTS))
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(held)


def question(number, answer="seven", words="It takes {} minutes."):
    texts = [words.format(answer), "An egg is background.", "A slate holds a query."]
    candidates = tuple(Candidate(f"{number}{k}", text) for k, text in zip("abc", texts, strict=True))
    return Slate(
        f"q{number}", f"how long {number}?", candidates, {f"{number}a": 1}, answers=(answer, "x y")
    )


def claim(number, verdict, deciding=True):
    candidates = tuple(Candidate(f"{number}{k}", f"sentence {k}") for k in "abcdefg")
    grades = {f"{number}{k}": int(deciding and k == "b") for k in "abcde"}
    return Slate(f"c{number}", f"claim {number}", candidates, grades, verdict=verdict)


@pytest.fixture(scope="module")
def base(tmp_path_factory, tiny_model, tiny_tokenizer):
    folder = tmp_path_factory.mktemp("base") / "tiny"
    tiny_model("llama").save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


# Teaching


def test_examples_hold_gold_in_every_place_and_are_a_function_of_seed_slate_and_epoch(scripts):
    teaching = scripts.teaching
    recipe = teaching.RECIPES["answers"]
    made = [teaching.example(question(1), recipe, epoch) for epoch in range(60)]
    assert made == [teaching.example(question(1), recipe, epoch) for epoch in range(60)]
    assert {one.wanted for one in made} == {"seven"}
    assert {len(one.evidence.texts) for one in made} == {1, 2, 3}
    gold = "It takes seven minutes."
    assert {one.evidence.texts.index(gold) for one in made} == {0, 1, 2}
    moved = [teaching.example(question(2), recipe, epoch).evidence.texts for epoch in range(60)]
    assert moved != [one.evidence.texts for one in made]


def test_without_gold_the_answer_is_unknown_and_no_passage_holds_it(scripts):
    teaching = scripts.teaching
    recipe = teaching.Recipe("answer", (), seed=0, absent=1.0)
    slate = question(1)
    leaky = Slate(
        slate.id,
        slate.query,
        (*slate.candidates, Candidate("1d", "SEVEN, they say.")),
        slate.grades,
        answers=slate.answers,
    )
    made = [teaching.example(leaky, recipe, epoch) for epoch in range(40)]
    assert {one.wanted for one in made} == {"unknown"}
    assert not any("seven" in text.lower() for one in made for text in one.evidence.texts)
    # a fifth of them: 200 draws of .2 have a standard deviation of .028
    recipe = teaching.RECIPES["abstains"]
    some = [teaching.example(slate, recipe, epoch).wanted for epoch in range(200)]
    assert some.count("unknown") / 200 == pytest.approx(0.2, abs=0.09)


def test_the_wanted_answer_is_the_shortest_that_gold_holds(scripts):
    def best(answers, text):
        return scripts.teaching.best_alias(
            Slate("s", "q", (Candidate("a", text),), {"a": 1}, answers=answers)
        )

    assert best(("Super Bowl LII,", "LII"), "It was Super Bowl LII, they say.") == "LII"
    assert best(("May 18, 2018", "May 2018"), "released on May 18, 2018") == "May 18, 2018"
    assert best(("seven.",), "none of it") == "seven"


def test_a_claim_without_a_deciding_sentence_has_too_little(scripts):
    teaching = scripts.teaching
    recipe = teaching.RECIPES["verdict"]
    made = [teaching.example(claim(1, "REFUTES"), recipe, epoch) for epoch in range(200)]
    for one in made:
        decided = "sentence b" in one.evidence.texts
        assert one.wanted == ("REFUTES" if decided else "NOT ENOUGH INFO")
    assert {one.wanted for one in made} == {"REFUTES", "NOT ENOUGH INFO"}
    whole = [one for one in made if sorted(one.evidence.texts) == [f"sentence {k}" for k in "abcde"]]
    # half of them, and a few of the others
    assert 0.4 < len(whole) / 200 < 0.7
    assert len({one.evidence.texts for one in whole}) > 30


@pytest.mark.parametrize(("balance", "share"), [(0.0, 0.2), (0.5, 1 / 3), (1.0, 0.5)])
def test_rare_verdicts_are_drawn_more_often(scripts, balance, share):
    # 8 and 2 claims: weights 8 * 8^-b and 2 * 2^-b: 8:2, 2.83:1.41 = 2:1, 1:1
    slates = [claim(i, "REFUTES" if i < 2 else "SUPPORTS") for i in range(10)]
    recipe = scripts.teaching.Recipe("verdict", (), seed=0, balance=balance)
    drawn = [one for e in range(200) for one in scripts.teaching.order_of(slates, recipe, e)]
    assert len(drawn) == 2000
    found = sum(one.verdict == "REFUTES" for one in drawn) / 2000
    assert found == pytest.approx(share, abs=0.04)


def test_an_epoch_of_questions_shows_each_once(scripts):
    slates = [question(i) for i in range(9)]
    recipe = scripts.teaching.RECIPES["answers"]
    epochs = [[one.id for one in scripts.teaching.order_of(slates, recipe, e)] for e in range(3)]
    assert all(sorted(one) == [f"q{i}" for i in range(9)] for one in epochs)
    assert epochs[0] != epochs[1]


# Training


def test_training_ids_are_the_readers_own_prompt_and_what_follows(scripts, base):
    loaded = load(f"hf:{base}", device="cpu")
    reader = LocalReader(loaded, "answer")
    one = scripts.teaching.Example(Evidence("how long?", ("seven minutes", "no")), "seven <|im_end|>")
    ids, count = scripts.teaching.Coder(reader, loaded.tokenizer)(one)
    prompt = reader.prompt_ids(one.evidence)
    assert ids[: len(prompt)] == prompt
    assert len(ids) == len(prompt) + count
    end = loaded.tokenizer.eos_token_id
    # what an answer spells of the template stays text; the turn's end comes once
    assert ids[len(prompt) :].count(end) == 1
    assert ids[-1] == end
    assert loaded.tokenizer.decode(ids[len(prompt) : -1]) == " seven <|im_end|>"


def test_the_loss_is_the_readers_own_likelihood_of_a_label(scripts, base):
    loaded = load(f"hf:{base}", device="cpu")
    reader = LocalReader(loaded, "verdict")
    coder = scripts.teaching.Coder(reader, loaded.tokenizer)
    shown = Evidence("claim", ("sentence a", "b"))
    expected = reader.label_scores(shown)
    for label, words in LABELS.items():
        ids, count = coder(scripts.teaching.Example(shown, words))
        # without the end of turn, which the reader does not ask about
        with torch.inference_mode():
            found = float(scripts.train.loss_sum(loaded.model, [(ids[:-1], count - 1)]))
        assert -found == pytest.approx(expected[label], abs=1e-3)


def test_padding_changes_no_loss(scripts, base):
    model = load(f"hf:{base}", device="cpu").model
    rows = [(tuple(range(5, 15)), 3), (tuple(range(40, 65)), 5), ((7, 8), 1)]
    with torch.inference_mode():
        together = float(scripts.train.loss_sum(model, rows))
        alone = 0.0
        for ids, count in rows:
            labels = [-100] * (len(ids) - count) + list(ids[-count:])
            out = model(input_ids=torch.tensor([ids]), labels=torch.tensor([labels]))
            alone += float(out.loss) * count
    assert together == pytest.approx(alone, abs=1e-3)


def trained(scripts, monkeypatch, base, folder, out, *more):
    words = ["train.py", "answers", folder, out, "--base", f"hf:{base}", "--plain", "--device", "cpu"]
    words += ["--steps", "40", "--examples", "6", "--every", "20", "--rate", "0.02", *more]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    scripts.train.main()
    return json.loads((out / "reader.json").read_text())


@pytest.fixture
def slates_folder(tmp_path):
    pairs = [("seven", 1), ("boil", 2), ("score", 3)] * 7
    slates = [question(f"{i}-{n}", answer) for i, (answer, n) in enumerate(pairs)]
    write_slates(tmp_path / "slates/nq_train.jsonl.gz", slates)
    write_slates(tmp_path / "slates/xquad_train.jsonl.gz", [question("x", "seven")])
    return tmp_path / "slates"


def test_a_reader_learns_is_the_same_each_time_and_opens_in_an_audit(
    scripts, monkeypatch, tmp_path, base, slates_folder
):
    records = [
        trained(scripts, monkeypatch, base, slates_folder, tmp_path / name) for name in ("one", "two")
    ]
    log = records[0]["log"]
    assert log[-1]["loss"] < log[0]["loss"] / 2
    assert records[0]["files"] == records[1]["files"]
    # 22 slates, one in ten is not trained on: 3
    assert records[0]["slates"] == 19
    config = json.loads((tmp_path / "one/adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "tiny"
    assert sorted(config["target_modules"]) == config["target_modules"]

    spec = f"hf:{base}+{tmp_path / 'one'}"
    reader, untaught = (open_reader(one, device="cpu") for one in (spec, f"hf:{base}"))
    shown = [evidence_of(question(n, "seven"), (0, 1, 2)) for n in range(4)]
    answers = [one.output for one in reader.read(shown)]
    assert answers != [one.output for one in untaught.read(shown)]
    assert max(len(str(answer).split()) for answer in answers) <= 2

    path = tmp_path / "audited.jsonl"
    write_slates(path, [question(n, "seven") for n in range(3)])
    words = ["audit", path, "--scorer", "toy", "--rows", 2, "--json", "--out", tmp_path / "run"]
    words += ["--reader", spec, "--reader-top", 2, "--reader-set", "device=cpu"]
    found = audited(words)["results"][0]["reader"]
    assert found["reader"]["revision"] == reader.revision
    assert found["counts"]["missing"] == 0


def audited(words):
    from typer.testing import CliRunner

    ended = CliRunner().invoke(app, [str(word) for word in words])
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def test_a_reader_of_all_weights_opens_as_a_folder(scripts, monkeypatch, tmp_path, base, slates_folder):
    out = tmp_path / "full"
    more = ("--method", "full", "--rate", "0.01", "--recompute")
    record = trained(scripts, monkeypatch, base, slates_folder, out, *more)
    assert record["log"][-1]["loss"] < record["log"][0]["loss"] / 2
    reader = open_reader(f"hf:{out}", device="cpu")
    [reading] = reader.read([evidence_of(question(1, "seven"), (0, 1))])
    assert len(str(reading.output).split()) <= 2


# Reading


class Stub:
    """Answers the first word of the first text, or what is set."""

    name, revision, task = "stub", "r1", "answer"

    def __init__(self, fail=()):
        self.asked, self.fail = [], set(fail)

    def read(self, evidence):
        self.asked += evidence
        return [
            Reading(None, 0, "busy")
            if one.query in self.fail
            else Reading(one.texts[0].split()[0] if one.texts else "none")
            for one in evidence
        ]


def letters(key="s", gold="a"):
    candidates = tuple(Candidate(k, f"{k.upper()} text") for k in "abc")
    return Slate(key, f"query {key}", candidates, {gold: 1}, answers=(gold.upper(),))


def test_readings_are_kept_in_a_file_and_a_torn_line_is_read_again(scripts, tmp_path):
    stub = Stub(fail={"bad"})
    shown = [Evidence(f"q{i}", (f"w{i} x",)) for i in range(5)] + [Evidence("bad", ("y",))]
    kept = scripts.kept.Kept(stub, tmp_path, chunk=2)
    first = kept.read(shown)
    assert [one.output for one in first] == ["w0", "w1", "w2", "w3", "w4", None]
    assert len(stub.asked) == 6
    text = kept.path.read_text()
    kept.path.write_text(text[:-9])  # the last line is torn
    again = Stub()
    resumed = scripts.kept.Kept(again, tmp_path)
    assert [one.output for one in resumed.read(shown)] == ["w0", "w1", "w2", "w3", "w4", "y"]
    assert [one.query for one in again.asked] == ["q4", "bad"]
    assert resumed.read([shown[4], shown[4]]) == [Reading("w4"), Reading("w4")]


def test_flips_of_scores_by_hand(scripts):
    slate, other = letters("s"), letters("t", gold="b")
    scores = {
        # canonical: a, b. Random rows: {a, b} as a, b; {b, c} as c, b.
        "s": np.array([[3, 2, 1], [3, 2, 1], [1, 2, 3.0]]),
        # Both random rows: {a, b} as b, a.
        "t": np.array([[3, 2, 1], [2, 3, 1], [2, 3, 1.0]]),
    }
    found = scripts.flips.analyse(Stub(), [slate, other], scores, top=2)
    values = found.per_slate
    # The stub says the first it is shown: in score order a and c, then b and b.
    assert values["flip, score"].tolist() == [1.0, 0.0]
    # In canonical order a and b, then a and a.
    assert values["flip, canonical"].tolist() == [1.0, 0.0]
    # s: a = a, c != b; t: b != a twice.
    assert values["own_order"].tolist() == [0.5, 1.0]
    assert values["served, score"].tolist() == [1.0, 0.0]
    # s: a is right, c wrong; t: b is right twice.
    assert values["shuffled, score"].tolist() == [0.5, 1.0]
    assert values["f1_shuffled, score"].tolist() == [0.5, 1.0]
    assert found.slate_ids == ("s", "t")
    # 2 slates x 3 rows x 2 orders, and gold and no evidence for each; shown again 7 inputs:
    # ab, bc, cb of s, ab, ba of t, and both gold ones.
    assert found.counts["readings"] == 16
    assert (found.counts["reread"], found.counts["reread_changed"]) == (7, 0)


def test_rows_without_scores_are_blank_and_other_widths_are_refused(scripts):
    slate = letters()
    found = scripts.flips.analyse(Stub(), [slate], {"s": np.full((2, 3), np.nan)}, canonical=False)
    assert found.counts["blank"] == 4
    with pytest.raises(SystemExit, match="'s': scores \\(1, 2\\) for 3 candidates"):
        scripts.flips.asks([slate], {"s": np.zeros(2)}, "answer")


def test_flips_from_files(scripts, monkeypatch, tmp_path, capsys):
    write_slates(tmp_path / "slates.jsonl", [letters("s"), letters("t")])
    np.savez(tmp_path / "one.npz", s=np.array([[3, 2, 1], [3, 2, 1], [1, 2, 3]]))
    stub = Stub()
    monkeypatch.setattr(scripts.kept, "open_reader", lambda *_, **__: stub)
    words = ["flips.py", "stub", "answer", tmp_path / "slates.jsonl", tmp_path / "out/found.json"]
    words += ["--scores", f"one={tmp_path / 'one.npz'}", "--top", "1"]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    scripts.flips.main()
    found = json.loads((tmp_path / "out/found.json").read_text())["one"]
    assert found["left_out"] == 1
    assert found["per_slate"]["flip, score"] == [1.0]
    assert "flip 1.000" in capsys.readouterr().out


def test_score_files_of_the_tasks_know_their_rows(scripts, tmp_path, monkeypatch):
    from evenhand.present.design import design
    from evenhand.types import Surface

    monkeypatch.syspath_prepend(str(SCRIPTS.parent / "tasks"))
    matrices = __import__("matrices")
    shown = {"surface": {}, "rows": 4, "width": 3, "seed": 0}
    plan = matrices.plan_of(letters(), shown)
    assert plan == design("reorder", rows=4, width=3, seed=0, surface=Surface(), repeat=False).draw(
        letters()
    )
    rows = np.full((len(plan.kinds), 3), [0.9, 0.5, 0.1])
    kept = matrices.flat("hotpot", [letters()], [rows], shown)
    np.savez(tmp_path / "arm.npz", **kept)
    found = scripts.flips.load_scores(tmp_path / "arm.npz", [letters(), letters("t")], "hotpot")
    assert list(found) == ["s"]
    assert found["s"].plan.kinds == plan.kinds
    analysis = scripts.flips.analyse(Stub(), [letters()], found, top=1)
    assert analysis.per_slate["flip, score"].tolist() == [0.0]
    with pytest.raises(SystemExit, match=r"no collection 'other'; it holds \['hotpot'\]"):
        scripts.flips.load_scores(tmp_path / "arm.npz", [letters()], "other")
    sys.modules.pop("matrices")


def test_a_set_is_shown_in_other_orders(scripts):
    evaluate = scripts.evaluate
    slate = letters(gold="c")
    assert evaluate.columns_of(slate, "gold") == [2]
    assert evaluate.columns_of(slate, "top") == [0, 1, 2]
    assert evaluate.orders_of(slate, [2], 4) == [[2]]
    assert evaluate.orders_of(slate, [0, 2], 4) == [[0, 2], [2, 0]]
    orders = evaluate.orders_of(slate, [0, 1, 2], 6)
    assert orders[0] == [0, 1, 2]
    assert all(sorted(one) == [0, 1, 2] for one in orders)
    assert len(orders) == 6
    firsts = ["ABC"[one[0]] for one in orders]
    found = evaluate.look(Stub(), [slate], "all", 6)
    assert found["outputs"] == [firsts]
    assert found["per_slate"]["right"] == [firsts.count("C") / 6]
    # pairs of orders with other first texts, of 15
    apart = sum(a != b for i, a in enumerate(firsts) for b in firsts[i + 1 :])
    assert found["per_slate"]["own_order"] == [pytest.approx(apart / 15)]


def test_verdicts_are_set_against_the_majority(scripts):
    slates = [claim(0, "SUPPORTS"), claim(1, "SUPPORTS"), claim(2, "REFUTES")]
    found = scripts.evaluate.verdicts(slates, [["SUPPORTS"] * 2, ["REFUTES", "SUPPORTS"], ["SUPPORTS"]])
    assert found["majority"] == {"label": "SUPPORTS", "share": pytest.approx(2 / 3)}
    # SUPPORTS 3 of 4, REFUTES 0 of 1
    assert found["recall"] == {"SUPPORTS": 0.75, "REFUTES": 0.0}
    assert found["balanced_accuracy"] == 0.375


# Preparing


def test_halves_keep_equal_claims_together_and_halve_each_verdict(scripts):
    slates = [claim(i, "REFUTES" if i % 2 else "SUPPORTS") for i in range(40)]
    twin = Slate("twin", "Claim 7!", slates[0].candidates, verdict="REFUTES")
    train, test = scripts.prepare.halves([*slates, twin])
    sides = [{slate.id for slate in side} for side in (train, test)]
    assert not sides[0] & sides[1]
    assert len(sides[0] | sides[1]) == 41
    assert ("twin" in sides[0]) == ("c7" in sides[0])
    for verdict in ("SUPPORTS", "REFUTES"):
        texts = {scripts.prepare.question(s.query) for s in train if s.verdict == verdict}
        assert len(texts) == 10


def test_no_text_of_a_test_and_no_held_out_gold_is_trained_on(scripts, tmp_path, monkeypatch):
    long = " ".join(f"word{i}" for i in range(20))
    slates = [
        Slate(
            f"q{i}",
            f"question {i}",
            (
                Candidate(f"g{i}", f"text {i}", "T"),
                Candidate(f"w{i}", f"other {i}"),
                # the gold passage of another question, as a wrong one
                Candidate(f"g{(i + 1) % 40}", f"text {(i + 1) % 40}", "T"),
                Candidate("leak", f"before {long} after"),
            ),
            {f"g{i}": 1},
            answers=("a",),
        )
        for i in range(40)
    ]
    (tmp_path / "nq_oracle").mkdir()
    write_slates(tmp_path / "nq_oracle/slates.jsonl", slates)
    monkeypatch.setitem(scripts.prepare.HELD, "nq_oracle", 0.4)
    passage = Candidate("x", f"{long} elsewhere")
    some = Slate("t", "something else", (passage,), {"x": 1})
    train, held, left = scripts.prepare.answers(tmp_path, "nq_oracle", [some])
    assert len(train) > 10
    assert len(held) > 5
    assert len(train) + len(held) == 40
    assert left["passages of a test"] == len(train)
    shown = {key for slate in train for key in slate.ids}
    assert "leak" not in shown
    assert not shown & {f"g{slate.id[1:]}" for slate in held}
    # A question of a test, in other writing, is not trained on.
    asked = Slate("u", f"{train[0].query.upper()}?", (passage,), {"x": 1})
    fewer, same, left = scripts.prepare.answers(tmp_path, "nq_oracle", [asked])
    assert [slate.id for slate in fewer] == [slate.id for slate in train[1:]]
    assert same == held
    assert left["questions or gold passages of a test"] == 1


def test_thirteen_words_in_a_row_are_one_text(scripts):
    words = [f"w{i}" for i in range(14)]
    runs = scripts.prepare.runs_of("W0, " + " ".join(words[1:]))
    # 14 words hold 2 runs of 13
    assert runs == {" ".join(words[:13]), " ".join(words[1:])}
    assert scripts.prepare.runs_of(" ".join(words[:12])) == set()
