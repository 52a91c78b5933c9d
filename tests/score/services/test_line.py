import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.score.services import line as module
from evenhand.score.services.http import Caller, HttpOptions
from evenhand.score.services.line import Line, Lines, UnreadableError, named_pause, untrusted
from servers import Reply, Service

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def listening(handle, host="127.0.0.1"):
    """A server of raw bytes: `handle(connection)` after each request; yields its address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family)
    server.bind((host, 0))
    server.listen(20)

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection):
        try:
            handle(connection)
        except OSError:
            pass
        finally:
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    shown = f"[{host}]" if ":" in host else host
    try:
        yield f"//{shown}:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


@contextmanager
def opened():
    made = Line({})
    try:
        yield made
    finally:
        made.close()


def answered(reply):
    with Service(lambda asked: reply) as service, opened() as made:
        return made.post(service.url, b"{}", 5.0)


def test_an_answer_as_it_came():
    got = answered(Reply({"a": 1}, status=503, headers={"X-Y": "z"}))
    assert (got.status, got.headers["x-y"], got.data) == (503, "z", b'{"a": 1}')


def test_headers_that_drip_are_not_waited_for():
    def handle(connection):
        connection.recv(9999)
        for byte in OK:
            connection.send(bytes([byte]))
            time.sleep(0.05)

    started = time.monotonic()
    with listening(handle) as address, opened() as made, pytest.raises(httpx.ReadTimeout):
        # 40 bytes of .05 seconds: every one comes in time, the answer would take 2 seconds.
        made.post(f"http:{address}", b"{}", 0.2)
    assert time.monotonic() - started < 1.5


def test_an_answer_without_length_that_is_cut_is_not_taken_for_a_whole_one():
    def handle(connection):
        connection.recv(9999)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n[1]")
        time.sleep(1.0)

    with listening(handle) as address, opened() as made, pytest.raises(httpx.ReadTimeout):
        made.post(f"http:{address}", b"{}", 0.2)


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_is_bounded_also_unpacked(monkeypatch, packed):
    monkeypatch.setattr(module, "LONGEST_ANSWER", 2 * 2**20)
    data = b" " * (3 * 2**20)
    reply = Reply(raw=gzip.compress(data), headers={"Content-Encoding": "gzip"}) if packed else None
    with pytest.raises(UnreadableError, match="longer than 2 MiB"):
        answered(reply or Reply(raw=data))


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd", "nonsense"])
def test_packings_that_were_not_asked_for_are_refused(coding):
    # Each layer multiplies what comes out of it by up to a thousand.
    with pytest.raises(UnreadableError, match="not asked for"):
        answered(Reply(raw=b"{}", headers={"Content-Encoding": coding}))


def test_gzip_is_unpacked():
    reply = Reply(raw=gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"})
    assert answered(reply).data == b'{"a": 1}'


def test_an_unreadable_answer_is_missing_and_not_asked_for_again():
    with Service(lambda asked: Reply(raw=b"{}", headers={"Content-Encoding": "br"})) as service:
        [found] = Caller(service.url, HttpOptions(pause=0.0)).post("", [{}])
        assert (found.body, found.tries, len(service.asked)) == (None, 1, 1)
    assert found.failure == "the answer is packed as 'br', which was not asked for"


def test_ipv6():
    def handle(connection):
        connection.recv(9999)
        connection.sendall(OK)

    try:
        with listening(handle, "::1") as address:
            [found] = Caller(f"http:{address}").post("/x", [{}])
    except OSError:
        pytest.skip("no IPv6 here")
    assert found.body == {}


def test_a_certificate_that_nobody_vouches_for_is_named(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate")
    key, own = tmp_path / "key.pem", tmp_path / "own.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    where = ["-keyout", str(key), "-out", str(own), "-subj", "/CN=localhost"]
    subprocess.run(["openssl", "req", "-x509", *curve, *where], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, key)

    def handle(connection):
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(9999)
            secure.sendall(OK)

    with (
        listening(handle) as address,
        pytest.raises(ScorerError, match=r"certificate of https://.* not trusted .*SSL_CERT_FILE"),
    ):
        Caller(f"https:{address}", HttpOptions(pause=0.0)).post("", [{}])


def test_which_faults_are_of_the_certificate():
    fault = ssl.SSLCertVerificationError()
    fault.verify_message = "expired"
    outer = httpx.ConnectError("x")
    outer.__cause__ = fault
    assert untrusted(outer) == "expired"
    assert untrusted(httpx.ConnectError("refused")) is None


def test_plain_text_where_tls_was_expected_says_so():
    def handle(connection):
        connection.recv(9999)
        connection.sendall(OK)

    with listening(handle) as address, pytest.raises(ScorerError, match="nothing answers.*SSL"):
        Caller(f"https:{address}", HttpOptions(retries=0)).post("", [{}])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PROXY", "foo://me:s3cret@host"),
        ("HTTP_PROXY", "http://me:s3cret@host:port"),
        ("NO_PROXY", "::bad["),
        ("SSL_CERT_FILE", "/no/such/file"),
    ],
)
def test_an_environment_that_cannot_be_used_is_told_before_anything_is_asked(monkeypatch, name, value):
    module._certificates.cache_clear()
    for other in (*module._PROXIES, *module._CERTIFICATES):
        monkeypatch.delenv(other, raising=False)
        monkeypatch.delenv(other.lower(), raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=f"cannot be used .*look at {name}$") as caught:
        Caller("http://127.0.0.1:9")
    assert "s3cret" not in str(caught.value)
    module._certificates.cache_clear()


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    with Service(lambda asked: {"by": asked.path}) as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        [found] = Caller("http://service.invalid").post("/x", [{}])
    assert found.body == {"by": "http://service.invalid/x"}


@pytest.mark.parametrize(
    ("named", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("86400", 60.0),
        ("inf", 60.0),
        ("1e400", 60.0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 60.0),
        # None of these lies ahead, or says when: the caller's own pause, which doubles, stands.
        ("0", 1.5),
        ("-5", 1.5),
        ("nan", 1.5),
        ("", 1.5),
        ("soon", 1.5),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 1.5),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 1.5),
        ("Mon, 01 Jan 1000000000000000000000 00:00:00", 1.5),
    ],
)
def test_the_pause_that_is_named(named, seconds):
    assert named_pause({"Retry-After": named}, 1.5) == seconds


def test_lines_are_lent_again_and_closed_when_they_come_back():
    lines = Lines({})
    with lines.one() as first:
        with lines.one() as second:
            assert second is not first
        lines.close()
        with Service(lambda asked: {}) as service:
            assert first.post(service.url, b"{}", 5.0).status == 200
    with pytest.raises(RuntimeError, match="closed"):
        first.post("http://127.0.0.1:9", b"{}", 1.0)
    with pytest.raises(RuntimeError, match="closed"):
        second.post("http://127.0.0.1:9", b"{}", 1.0)
