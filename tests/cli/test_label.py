import json

import numpy as np
import pytest

from evenhand.study.labels import label_quality
from evenhand.train.silver import read_labelled

TOY = "toy:slot_bias=0.5"


def test_the_table_says_quality_steadiness_and_cost(run, slates_file, tmp_path):
    out = tmp_path / "out"
    words = ("label", slates_file(6, 8), "--scorer", TOY, "--width", 4, "--orders", 3, "--out", out)
    ended = run(*words)
    assert ended.code == 0
    first, one, mean, beta, cost = ended.out.splitlines()
    assert first == (
        f"{TOY}: 6 slates, 48 candidates, T 3, B 4, contiguous, seed 0, scores on the scale raw"
    )
    assert one.startswith("nDCG@10 of one order   0.")
    assert one.endswith("; 6 slates with grades")
    assert mean.startswith("nDCG@10 of their mean  0.")
    found = label_quality(out / "labels.parquet")
    assert beta.split(maxsplit=1)[1] == (
        f"{found.pooled:.3f}, corrected for T and n {found.corrected:.3f}"
    )
    # 3 orders x 2 windows; 6 slates. Words: 2 of the query and 4 x 2 of the texts a prompt.
    assert cost.split(maxsplit=1)[1] == "6 prompts, 60 tokens a slate; 36 prompts, 360 tokens in all"
    assert f"labels: {out}" in ended.err


def test_json_holds_the_same_and_a_finished_run_is_not_asked_again(run, slates_file, tmp_path):
    words = ("label", slates_file(3), "--scorer", TOY, "--out", tmp_path / "out", "--orders", 2)
    first = run(*words, "--json")
    again = run(*words, "--json")
    assert first.out == again.out
    assert "3 of 3 slates scored by an earlier call; nothing was left to score" in again.err
    found = json.loads(first.out)["labels"]
    assert found["teacher"]["name"] == TOY
    assert found["settings"] == {"orders": 2, "width": None, "rule": "contiguous", "seed": 0}
    assert len(found["per_order"]) == 2
    assert found["single"]["mean"] == pytest.approx(np.mean(found["per_order"]))
    assert (found["slates"], found["candidates"], found["prompts"], found["missing"]) == (3, 12, 6, 0)


def test_one_order_has_no_silver_beta(run, slates_file, tmp_path):
    ended = run("label", slates_file(), "--scorer", TOY, "--out", tmp_path / "out")
    assert "silver-beta" not in ended.out
    assert "of their mean" not in ended.out
    found = json.loads(
        run("label", slates_file(), "--scorer", TOY, "--out", tmp_path / "out", "--json").out
    )
    assert found["labels"]["silver_beta"] is None


def test_human_grades_are_a_teacher(run, slates_file, tmp_path):
    words = ("label", slates_file(2), "--scorer", "grades", "--out", tmp_path / "out")
    ended = run(*words, "--set", "highest=2")
    assert ended.code == 0
    assert "0 prompts, 0 tokens a slate" in ended.out
    # Grades 0, 1, 2, 3 over 2.
    assert read_labelled(tmp_path / "out")[0].labels.tolist() == [0, 0.5, 1, 1]
    assert "unknown options ['low']" in run(*words, "--set", "low=2").err
    refused = run(*words, "--remedy", "average:4")
    assert refused.code == 2
    assert "a remedy changes nothing; leave it out" in refused.err


def test_slates_without_grades_are_told(run, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"id": "q", "query": "x", "candidates": [{"id": "a", "text": "b"}]}))
    ended = run("label", path, "--scorer", "toy", "--out", tmp_path / "out")
    assert "no slate has grades" in ended.out


def test_a_remedied_teacher_and_an_order_free_one(run, slates_file, tmp_path):
    words = ("label", slates_file(2, 6), "--orders", 2, "--width", 3)
    steady = run(*words, "--scorer", TOY, "--remedy", "average:4", "--out", tmp_path / "a")
    assert steady.out.startswith(f"{TOY} + average:4: 2 slates")
    assert "16 prompts" in steady.out  # 2 orders x 4 x 2 windows
    free = run(*words, "--scorer", "grades", "--out", tmp_path / "b")
    assert free.out.rstrip().endswith("it was asked once a slate, and all orders agree")


def test_missing_labels_end_with_7_and_say_what_to_do(run, tmp_path):
    path = tmp_path / "s.jsonl"
    lines = [
        {"id": f"q{i}", "query": "x", "candidates": [{"id": "a", "text": "b"}]} | graded
        for i, graded in enumerate([{"grades": {"a": 1}}, {}])
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    ended = run("label", path, "--scorer", "grades", "--out", tmp_path / "out")
    assert ended.code == 7
    assert "1 label missing in 1 slate (q1), which training refuses" in ended.err
    assert "delete 0000.parquet in" in ended.err
    assert "1 complete slate with grades" in ended.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--orders", 0), 2, "orders must be at least 1"),
        (("--scorer", "odd:x"), 2, "unknown scorer 'odd:x'"),
        (("--set", "dial=3"), 2, "dial"),
        (("--width", 0), 2, "width of at least 1"),
        (("--limit", 0), 2, "--limit must be at least 1"),
        (("--remedy", "magic"), 2, "magic"),
    ],
)
def test_wrong_use_is_refused(run, slates_file, tmp_path, words, code, message):
    ended = run("label", slates_file(), "--scorer", "toy", "--out", tmp_path / "out", *words)
    assert ended.code == code
    assert message in ended.err
    assert not (tmp_path / "out").exists()


def test_other_settings_in_the_folder_are_refused(run, slates_file, tmp_path):
    words = ("label", slates_file(), "--scorer", TOY, "--out", tmp_path / "out")
    run(*words)
    ended = run(*words, "--orders", 2)
    assert ended.code == 4
    assert "orders: 1 in the folder, 2 now" in ended.err


def test_a_missing_file_of_slates_is_named(run, tmp_path):
    ended = run("label", tmp_path / "none.jsonl", "--scorer", "toy", "--out", tmp_path / "out")
    assert ended.code == 4


def test_labelling_loads_no_torch(process, slates_file, tmp_path):
    code = (
        "import sys; from evenhand.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: assert 'torch' not in sys.modules, 'torch was loaded'\n"
    )
    import subprocess
    import sys

    words = ["label", str(slates_file()), "--scorer", "toy", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_two_workers_on_ray_label_as_one_process_does(process, slates_file, tmp_path):
    pytest.importorskip("ray.data")
    words = ("label", slates_file(5), "--scorer", "toy:slot_bias=0.3", "--orders", 2, "--json")
    one = process(*words, "--out", tmp_path / "one")
    two = process(*words, "--out", tmp_path / "two", "--ray", "--ray-workers", 2)
    assert two.code == one.code == 0, two.err
    for name in ("labels.parquet", "manifest.json"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
    human = process(
        *words[:2], "--scorer", "grades", "--out", tmp_path / "human", "--ray", "--ray-workers", 1
    )
    assert human.code == 0, human.err
