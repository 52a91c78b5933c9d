"""Reaching sources: forms of files, a hub that is not there, downloads that go on."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import time

import pytest

from evenhand.data.collections import Hub, Irds, Lists
from evenhand.data.collections.upstream import HubFile, list_hub, lists_file, open_irds, rows
from evenhand.errors import InputError, MissingExtraError

HUB = Hub("owner/name", {"qa": "data/*.jsonl"}, "musique", 1.0, unpinned="a test")


def file_of(path):
    return HubFile(path.name, str(path))


def test_lines_of_json_may_differ_in_their_columns(tmp_path):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    path = tmp_path / "a.jsonl"
    # A separator of lines inside a text, and a field that is a number or a word.
    records = [{"a": 1, "b": "x\u2028y"}, {"a": "N/A"}, {"c": {"d": [1, "two"]}}]
    path.write_text(
        "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8"
    )
    assert list(rows(file_of(path))) == records


def test_a_cut_line_names_file_and_row(tmp_path):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": ')
    with pytest.raises(InputError, match=r"a.jsonl: cannot be read after row 2 \(JSONDecodeError"):
        list(rows(file_of(path)))


def test_a_mirror_without_the_repository_or_the_file(tmp_path):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    with pytest.raises(InputError, match="no folder owner/name in the mirror"):
        list_hub("x", HUB, tmp_path)
    (tmp_path / "owner/name").mkdir(parents=True)
    (tmp_path / "owner/name/README.md").write_text("x")
    with pytest.raises(
        InputError, match=r"owner/name has no file data/\*.jsonl; it has \['README.md'\]"
    ):
        list_hub("x", HUB, tmp_path)


def test_files_of_a_mirror_are_in_order(tmp_path):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    folder = tmp_path / "owner/name/data"
    folder.mkdir(parents=True)
    for name in ("b.jsonl", "a.jsonl"):
        (folder / name).write_text("{}\n")
    listed = list_hub("x", HUB, tmp_path)
    assert [one.path for one in listed.files["qa"]] == ["data/a.jsonl", "data/b.jsonl"]
    assert listed.commit is None


def test_without_a_connection_it_is_told_at_once(monkeypatch):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    hub = pytest.importorskip("huggingface_hub")
    # A port that nothing listens on.
    monkeypatch.setattr(hub, "HfApi", lambda: _Api("http://127.0.0.1:9"))
    began = time.monotonic()
    with pytest.raises(InputError, match=r"owner/name on the hub cannot be read .*data fetch x --from"):
        list_hub("x", HUB, None)
    assert time.monotonic() - began < 5


def _Api(endpoint):  # noqa: N802
    from huggingface_hub.hf_api import HfApi

    return HfApi(endpoint=endpoint)


def test_the_hub_is_asked_for_the_revision_and_answers_with_a_commit(monkeypatch):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    hub = pytest.importorskip("huggingface_hub")
    asked = []

    class Sibling:
        rfilename, size = "data/a.jsonl", 12

    class Info:
        sha, siblings = "c" * 40, [Sibling]

    class Api:
        def dataset_info(self, repo, **options):
            asked.append((repo, options["revision"], options["files_metadata"]))
            return Info

    monkeypatch.setattr(hub, "HfApi", Api)
    pinned = Hub("owner/name", {"qa": "data/*.jsonl"}, "musique", 1.0, revision="a" * 40)
    listed = list_hub("x", pinned, None)
    assert asked == [("owner/name", "a" * 40, True)]
    (file,) = listed.files["qa"]
    assert file.url == f"hf://datasets/owner/name@{'c' * 40}/data/a.jsonl"
    assert (file.bytes, listed.commit) == (12, "c" * 40)


def test_missing_modules_name_their_extras(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"evenhand\[data\]"):
        list_hub("x", HUB, None)
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"evenhand\[data-ir\]"):
        open_irds("x", Irds("beir/x", 1.0))


def test_a_dataset_that_the_library_lacks():
    pytest.importorskip("ir_datasets", reason="the extra data-ir is not installed")
    with pytest.raises(InputError, match="has no beir/none, which x needs; update it"):
        open_irds("x", Irds("beir/none", 1.0))


DATA = b"0123456789" * 100


class Server(http.server.BaseHTTPRequestHandler):
    """Serves DATA, from an asked byte on."""

    def do_GET(self):
        self.server.asked.append(self.headers.get("Range"))
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(DATA) - start))
        self.end_headers()
        self.wfile.write(DATA[start:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    served.asked = []
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()


def lists_at(server, digest=None):
    digest = digest or hashlib.md5(DATA).hexdigest()
    return Lists(f"http://127.0.0.1:{server.server_port}/top.jsonl", digest, len(DATA))


def test_a_download_that_was_cut_goes_on(tmp_path, server):
    (tmp_path / "top.jsonl.part").write_bytes(DATA[:300])
    path = lists_file("x", lists_at(server), tmp_path, None)
    assert path.read_bytes() == DATA
    assert server.asked == ["bytes=300-"]
    assert lists_file("x", lists_at(server), tmp_path, None) == path
    assert len(server.asked) == 1  # it is there


def test_a_download_that_is_not_the_declared_file_is_removed(tmp_path, server):
    with pytest.raises(InputError, match="it was cut or has changed"):
        lists_file("x", lists_at(server, "0" * 32), tmp_path, None)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_told_with_what_to_do(tmp_path):
    lists = Lists("http://127.0.0.1:9/top.jsonl", "0" * 32, 1)
    with pytest.raises(InputError, match=r"top.jsonl cannot be read \(ConnectError.*--from FOLDER"):
        lists_file("x", lists, tmp_path, None)
    with pytest.raises(InputError, match="the mirror has no top.jsonl"):
        lists_file("x", lists, tmp_path, tmp_path)
