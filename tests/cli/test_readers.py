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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--reader-top", 3), "name one with --reader"),
        (("--reader", "openai:m", "--reader-top", 0), "--reader-top must be at least 1"),
        (("--reader", "openai:m", "--reader-top", 3, "--reader-retained"), "exclude each other"),
        (("--reader", "openai:m", "--reader-task", "summary"), "unknown reader task"),
        (("--reader", "nonsense"), "unknown model 'nonsense'"),
        (("--reader", "openai:m", "--channels", "order"), "--reader and --channels"),
    ],
)
def test_wrong_options_are_told_before_anything_is_scored(run, slates_file, tmp_path, given, said):
    folder = tmp_path / "run"
    ended = run("audit", slates_file(), "--scorer", "toy", "--out", folder, *given)
    assert (ended.code, ended.out) == (2, "")
    assert said in " ".join(ended.err.split())
    assert not folder.exists()
