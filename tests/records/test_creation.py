import pytest

from evenhand.errors import InputError, ResumeError
from evenhand.records import RunFolder


@pytest.fixture
def begin(kit):
    def call(path, slates=kit.slates, settings=kit.settings, part_size=2):
        with RunFolder.begin(path, settings, iter(slates), part_size) as run:
            return run

    return call


def test_a_file_or_a_folder_with_other_files_is_refused(tmp_path, begin):
    (tmp_path / "file").touch()
    with pytest.raises(ResumeError, match="is a file"):
        begin(tmp_path / "file")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "slates.jsonl").write_text("mine")
    with pytest.raises(ResumeError, match=r"holds files but no run \(slates.jsonl\)"):
        begin(tmp_path / "data")
    assert (tmp_path / "data" / "slates.jsonl").read_text() == "mine"


def test_bad_slates_leave_nothing_behind(tmp_path, kit, begin):
    with pytest.raises(InputError, match="comes twice"):
        begin(tmp_path / "new" / "run", [kit.slate(0), kit.slate(0)])
    assert not (tmp_path / "new" / "run").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError):
        begin(tmp_path / "mine", [kit.slate(0), kit.slate(0)])
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_folder_killed_while_slates_were_written_is_begun_anew(tmp_path, begin):
    (tmp_path / "slates.jsonl.tmp").write_bytes(b'{"id": "s')
    assert begin(tmp_path).n_slates == 5


def test_a_folder_killed_before_the_slates_got_their_name_goes_on(tmp_path, kit, begin):
    begin(tmp_path)
    written = (tmp_path / "slates.jsonl").read_bytes()
    (tmp_path / "slates.jsonl").rename(tmp_path / "slates.jsonl.tmp")
    begin(tmp_path)
    assert (tmp_path / "slates.jsonl").read_bytes() == written
    (tmp_path / "slates.jsonl").unlink()
    with pytest.raises(ResumeError, match="slates: other texts"):
        begin(tmp_path, [kit.slate(9)])


def test_every_difference_is_named_at_once(tmp_path, kit, begin):
    begin(tmp_path)
    other = {"scorer": {"name": "toy", "revision": "r2"}, "rows": 3, "width": 2}
    with pytest.raises(ResumeError) as caught:
        begin(tmp_path, kit.slates[:4], other, 3)
    message = str(caught.value)
    assert "rows: 2 in the folder, 3 now" in message
    assert "scorer.revision: 'r1' in the folder, 'r2' now" in message
    assert "part_size: 2 in the folder, 3 now" in message
    assert "slate 4 (from 0): the input ends here" in message
    assert "width" not in message


def test_the_input_is_read_once_as_a_stream(tmp_path, kit):
    read = []

    def stream():
        for i in range(5):
            read.append(i)
            yield kit.slate(i)

    with RunFolder.begin(tmp_path, kit.settings, stream(), 2) as run:
        assert [slate.id for slate in run.slates()] == ["s0", "s1", "s2", "s3", "s4"]
    assert read == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("inside", ["file/run", "x" * 300])
def test_a_folder_that_cannot_be_made_is_an_error_with_its_reason(tmp_path, begin, inside):
    (tmp_path / "file").touch()
    with pytest.raises(ResumeError, match="cannot be written"):
        begin(tmp_path / inside)


def test_a_disk_that_is_full_while_slates_are_written_leaves_nothing(tmp_path, kit, begin):
    def stream():
        yield kit.slate(0)
        raise OSError(28, "No space left on device")

    with pytest.raises(ResumeError, match=r"slates.jsonl: cannot be written \(No space left"):
        begin(tmp_path / "run", stream())
    assert not (tmp_path / "run").exists()


def test_an_input_that_cannot_be_read_is_not_taken_for_a_full_disk(tmp_path, begin):
    def stream():
        yield from (tmp_path / "none.jsonl").open()

    with pytest.raises(FileNotFoundError):
        begin(tmp_path / "run", stream())


def test_a_file_where_the_parts_belong_is_told(tmp_path, begin):
    begin(tmp_path)
    (tmp_path / "parts").rmdir()
    (tmp_path / "parts").write_text("mine")
    with pytest.raises(ResumeError, match="parts: cannot be written"):
        begin(tmp_path)
