import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def endpoint():
    """The address of an endpoint that always answers with the first passage's last word."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            user = body["messages"][1]["content"]
            said = user.split("[1]")[1].split("\n")[0].split()[-1] if "[1]" in user else "nothing"
            data = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def words(endpoint):
    return ("--reader", "openai:m", "--reader-set", f"base_url={endpoint}")


def test_audit_with_a_reader(run, slates_file, tmp_path, endpoint):
    folder = tmp_path / "run"
    asked = ("audit", slates_file(), "--scorer", "toy:slot_bias=2", "--rows", 3, "--out", folder)
    ended = run(*asked, *words(endpoint), "--reader-top", 2, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)["results"][0]["reader"]
    assert found["reader"]["name"] == "openai:m"
    assert found["reader"]["top"] == 2
    # the best candidate stands first and is what the reader says, so it flips with it
    assert found["estimates"]["flip"]["score"]["mean"] > 0
    assert (folder / "reader.parquet").exists()


def test_report_reads_a_finished_run(run, slates_file, tmp_path, endpoint):
    folder = tmp_path / "run"
    assert run("audit", slates_file(), "--scorer", "toy", "--rows", 3, "--out", folder).code == 0
    ended = run("report", folder, *words(endpoint), "--reader-task", "answer", "--reader-retained")
    assert ended.code == 0, ended.err
    assert "answer, reads what is retained" in ended.out
    # without a reader the readings that stand there are shown
    assert "answer, reads what is retained" in run("report", folder).out


ADDRESS = ("--reader-set", "base_url=http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--reader-top", 3), "name one with --reader"),
        (("--reader", "openai:m", "--reader-top", 0), "--reader-top must be at least 1"),
        (("--reader", "openai:m", "--reader-top", 3, "--reader-retained"), "exclude each other"),
        (("--reader", "openai:m", "--reader-task", "summary"), "unknown reader task"),
        (("--reader", "nonsense"), "unknown model 'nonsense'"),
        (("--reader", "openai:m", "--channels", "order"), "--reader and --channels"),
        (("--reader", "openai:", *ADDRESS), "an endpoint reader needs a model"),
        (("--reader", "openai:m", *ADDRESS, "--reader-set", "foo"), "--reader-set takes NAME=VALUE"),
        (
            ("--reader", "openai:m", *ADDRESS, "--reader-set", "base_url=x"),
            "--reader-set names 'base_url' twice",
        ),
        (("--reader", "openai:m", *ADDRESS, "--reader-set", "foo=1"), "unknown options ['foo']"),
        (("--reader", "openai:m", "--reader-set", "base_url=nowhere"), "needs an address"),
        (("--reader", "openai:m", "--reader-set", "base_url=3"), "needs an address"),
        (
            ("--reader", "openai:m", *ADDRESS, "--reader-set", "concurrency=many"),
            "concurrency",
        ),
        (("--reader", "smollm2-135m", "--reader-set", "foo=1"), "unknown options ['foo']"),
        (("--reader", "smollm2-135m", "--reader-set", "max_tokens=2.5"), "max_tokens must be at least"),
        (("--reader", "smollm2-135m", "--reader-set", "verdict=most"), "unknown verdict 'most'"),
        (("--reader", "smollm2-135m", "--reader-set", "device=3"), "device must be a text, got 3"),
        (("--reader", "smollm2-135m", "--reader-set", "revision=main"), "only a hub id has revisions"),
    ],
)
def test_wrong_options_are_told_before_anything_is_scored(run, slates_file, tmp_path, given, said):
    folder = tmp_path / "run"
    ended = run("audit", slates_file(), "--scorer", "toy", "--out", folder, *given)
    assert (ended.code, ended.out) == (2, "")
    assert said in " ".join(ended.err.split())
    assert not folder.exists()


def test_a_reader_that_is_not_there_is_told_before_anything_is_scored(run, slates_file, tmp_path):
    words = ("audit", slates_file(), "--scorer", "toy", "--out", tmp_path / "run", "--reader")
    ended = run(*words, "hf:/nowhere")
    assert (ended.code, ended.out) == (4, "")
    assert "/nowhere: no such folder" in ended.err
    ended = run(*words, f"gguf:{tmp_path / 'none.gguf'}")
    assert (ended.code, ended.out) == (4, "")
    # A folder that holds no model is known only when it is loaded; that comes before scoring too.
    (tmp_path / "empty").mkdir()
    ended = run(*words, f"hf:{tmp_path / 'empty'}")
    assert (ended.code, ended.out) == (4, "")
    assert "scoring" not in ended.err
    assert not (tmp_path / "run").exists()


def test_a_stopped_reading_goes_on_where_it_was(run, slates_file, tmp_path, endpoint, monkeypatch):
    from evenhand.decide.endpoint import EndpointReader

    folder, asked, stop = tmp_path / "run", [], []
    read = EndpointReader.read

    def stopping(self, evidence):
        if stop and len(asked) >= stop[0]:
            raise KeyboardInterrupt
        asked.append({one.query for one in evidence})
        return read(self, evidence)

    monkeypatch.setattr(EndpointReader, "read", stopping)
    words = ("audit", slates_file(10), "--scorer", "toy", "--rows", 2, "--out", folder)
    # Parts are of 4 slates; the first is read with a second look at some, so in two calls.
    stop.append(2)
    ended = run(*words, "--reader", "openai:m", "--reader-set", f"base_url={endpoint}")
    assert ended.code == 130
    assert "run the same command again to go on" in ended.err
    stop.clear()
    asked.clear()
    ended = run(*words, "--reader", "openai:m", "--reader-set", f"base_url={endpoint}")
    assert ended.code == 0, ended.err
    assert sorted(set().union(*asked)) == [f"query {i}" for i in range(4, 10)]
    assert "reader openai:m: 4 of 10 slates" in ended.err


def test_a_stopped_reading_of_a_run_that_is_not_kept_says_so(run, slates_file, endpoint, monkeypatch):
    from evenhand.decide.endpoint import EndpointReader

    def stopping(self, evidence):
        raise KeyboardInterrupt

    monkeypatch.setattr(EndpointReader, "read", stopping)
    ended = run("audit", slates_file(), "--scorer", "toy", "--rows", 2, *words(endpoint))
    assert ended.code == 130
    assert "nothing was kept" in ended.err
