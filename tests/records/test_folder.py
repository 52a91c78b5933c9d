import numpy as np
import pytest

from evenhand.errors import InputError, ResumeError, UsageError
from evenhand.records import RunFolder


@pytest.fixture
def resume(kit):
    return lambda folder: RunFolder.begin(folder.path, kit.settings, iter(kit.slates), 2)


def state(folder):
    files = (path for path in folder.path.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_finished_run_reads_back(finished, kit):
    folder = RunFolder.open(finished.path)
    assert folder.finished
    assert folder.settings == kit.settings
    assert (folder.n_slates, folder.n_parts, folder.pending()) == (5, 3, [])
    back = list(folder.recorded())
    assert [one.slate for one in back] == kit.slates
    np.testing.assert_array_equal(back[3].matrix.scores, np.arange(3) / 8 + np.arange(3)[:, None])
    assert back[3].matrix.plan == kit.plan(3)
    assert back[3].prompts.tolist() == [0, 1, 2]
    assert back[1].matrix.scores.shape == (3, 0)


def test_one_slate_is_found_by_id(finished, kit):
    found = RunFolder.open(finished.path).find("s2")
    assert found.slate == kit.slates[2]
    np.testing.assert_array_equal(found.matrix.scores, [[0], [1], [2]])
    assert RunFolder.open(finished.path).find("s1").matrix.scores.shape == (3, 0)
    with pytest.raises(InputError, match=r"no slate 'x'; the first are \['s0', 's1'"):
        RunFolder.open(finished.path).find("x")


def test_a_finished_run_resumed_changes_nothing(finished, resume):
    before = state(finished)
    with resume(finished) as folder:
        assert folder.pending() == []
        folder.merge()
    assert state(finished) == before


def test_a_torn_part_is_done_again(finished, kit, resume):
    scores = (finished.path / "scores.parquet").read_bytes()
    # Killed between the part and its hash, with the temporary file of another part left over.
    finished.part_path(1).with_suffix(".sha256").unlink()
    (finished.path / "parts" / "0002.parquet.tmp").write_bytes(b"PAR1 half")
    with resume(finished) as folder:
        assert folder.pending() == [1]
        assert not list(folder.path.rglob("*.tmp"))
        kit.write_all(folder)
    assert (finished.path / "scores.parquet").read_bytes() == scores


@pytest.mark.parametrize("damage", [b"", b"PAR1 half"])
def test_damaged_parts_are_named(finished, damage, resume):
    finished.part_path(0).write_bytes(damage)
    finished.part_path(2).write_bytes(damage)
    with pytest.raises(ResumeError, match=r"parts: damaged: 0000.parquet, 0002.parquet; delete"):
        resume(finished)
    for index in (0, 2):
        finished.part_path(index).unlink()
    with resume(finished) as folder:
        assert folder.pending() == [0, 2]


def test_a_part_of_another_place_is_named_when_merging(finished, resume):
    for suffix in (".parquet", ".sha256"):
        source = finished.part_path(0).with_suffix(suffix).read_bytes()
        finished.part_path(1).with_suffix(suffix).write_bytes(source.replace(b"0000", b"0001"))
    (finished.path / "scores.parquet").unlink()
    with (
        resume(finished) as folder,
        pytest.raises(ResumeError, match=r"0001.parquet: holds other slates"),
    ):
        folder.merge()


def test_lost_or_damaged_merged_tables_are_built_again(finished, resume):
    path = finished.path / "scores.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(ResumeError, match=r"scores.parquet: cannot be read"):
        list(RunFolder.open(finished.path).recorded())
    with resume(finished) as folder:
        folder.merge()
    assert path.read_bytes() == whole


def test_an_unfinished_run_says_so(tmp_path, kit):
    with RunFolder.begin(tmp_path, kit.settings, kit.slates, 2) as folder:
        folder.write_part(0, [kit.entry(slate) for slate in kit.slates[:2]])
        with pytest.raises(ResumeError, match="2 of 3 parts are not scored"):
            folder.merge()
    with pytest.raises(ResumeError, match=r"not finished \(1 of 3 parts"):
        list(RunFolder.open(tmp_path).recorded())


def test_two_writers_are_kept_apart(finished, resume):
    with resume(finished), pytest.raises(ResumeError, match="another run is writing"):
        resume(finished)
    resume(finished).close()


def test_wrong_use_is_refused(tmp_path, kit):
    with pytest.raises(UsageError, match="part_size"):
        RunFolder.begin(tmp_path / "a", kit.settings, kit.slates, 0)
    with RunFolder.begin(tmp_path / "a", kit.settings, kit.slates, 2) as folder:
        with pytest.raises(UsageError, match=r"part 0 holds slates \['s0', 's1'\]"):
            folder.write_part(0, [kit.entry(kit.slates[0])])
        slate, plan, results = kit.entry(kit.slates[0])
        with pytest.raises(UsageError, match="one Scored per row"):
            folder.write_part(0, [(slate, plan, results[:2]), kit.entry(kit.slates[1])])
        with pytest.raises(UsageError, match="no part 3"):
            folder.part_slates(3)
    for call in (folder.merge, lambda: folder.write_part(0, [])):
        with pytest.raises(UsageError, match="open for reading"):
            call()
    for path, says in ((tmp_path / "none", "does not exist"), (tmp_path, "no run here")):
        with pytest.raises(ResumeError, match=says):
            RunFolder.open(path)


def test_a_run_of_no_slates(tmp_path, kit):
    with RunFolder.begin(tmp_path, kit.settings, [], 2) as folder:
        folder.merge()
    assert list(RunFolder.open(tmp_path).recorded()) == []


@pytest.mark.parametrize("name", ["model:v1", "a%20b", "s3:bucket"])
def test_a_folder_name_that_looks_like_an_address_is_a_folder(tmp_path, kit, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with RunFolder.begin(name, kit.settings, [], 2) as folder:
        folder.merge()
    assert list(RunFolder.open(name).recorded()) == []
    assert (tmp_path / name / "scores.parquet").exists()


def test_lost_or_cut_slates_are_told(finished, kit, resume):
    path = finished.path / "slates.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ResumeError, match="changed or damaged"), resume(finished):
        pass
    path.unlink()
    with pytest.raises(ResumeError, match="repeat the run with the same slates"):
        list(RunFolder.open(finished.path).recorded())
    with resume(finished):
        assert path.read_bytes() == whole


def test_a_table_of_another_kind_is_damage(finished):
    rows, scores = finished.path / "rows.parquet", finished.path / "scores.parquet"
    rows.write_bytes(scores.read_bytes())
    with pytest.raises(ResumeError, match="other columns"):
        list(RunFolder.open(finished.path).recorded())


def test_a_manifest_that_counts_other_slates_is_told(finished, resume):
    import json

    path = finished.path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "n_slates": 99}))
    with pytest.raises(ResumeError, match="other slates than the 99"), resume(finished) as folder:
        folder.part_slates(0)


@pytest.mark.parametrize("size", [0, "3", 1.5])
def test_a_part_size_that_is_no_whole_number_is_refused(tmp_path, kit, size):
    with pytest.raises(UsageError, match="part_size must be a whole number"):
        RunFolder.begin(tmp_path / "run", kit.settings, [], size)
    assert not (tmp_path / "run").exists()
