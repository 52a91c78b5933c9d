import json


def audited(run, slates_file, folder, spec):
    assert run("audit", slates_file(), "--scorer", spec, "--rows", 3, "--out", folder).code == 0
    return folder


def test_runs_stand_side_by_side(run, slates_file, tmp_path):
    one = audited(run, slates_file, tmp_path / "one", "toy")
    two = audited(run, slates_file, tmp_path / "two", "toy:slot_bias=.5")
    ended = run("report", one, two, "--json")
    assert ended.code == 0
    results = json.loads(ended.out)["results"]
    assert [result["path"] for result in results] == [str(one), str(two)]
    assert results[0]["stability"]["tauPSI"]["mean"] == 0.0
    assert results[1]["stability"]["tauPSI"]["mean"] > 0.0
    head = next(line for line in run("report", one, two).out.splitlines() if "toy:slot_bias" in line)
    assert head.index(" toy ") < head.index("toy:slot_bias")


def test_a_folder_without_a_run_is_4(run, tmp_path):
    ended = run("report", tmp_path)
    assert (ended.code, ended.out) == (4, "")


def test_another_threshold_can_be_tried_without_scoring(run, slates_file, tmp_path):
    folder = audited(run, slates_file, tmp_path / "one", "toy:slot_bias=.5")
    ended = run("report", folder, "--threshold", 0.2, "--json")
    assert json.loads(ended.out)["results"][0]["threshold"]["rule"] == "fixed"
    assert run("report", folder, "--threshold", 50).code == 2


def test_runs_of_one_scorer_are_named_by_their_folders(run, slates_file, tmp_path):
    one = audited(run, slates_file, tmp_path / "first", "toy")
    two = audited(run, slates_file, tmp_path / "second", "toy")
    markdown = tmp_path / "r.md"
    ended = run("report", one, two, "--markdown", markdown)
    assert ended.code == 0
    for page in (ended.out, markdown.read_text("utf-8")):
        assert "toy, first" in page
        assert "toy, second" in page
