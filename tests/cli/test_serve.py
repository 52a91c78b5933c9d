"""`evenhand serve`: what is refused before a model is opened; a run that goes with the scorer."""

import socket
import subprocess
import sys

import pytest

pytest.importorskip("fastapi", reason="fastapi comes with the serve extra")

# Opening it would fail with another message and exit code: it is not there.
MODEL = ("--scorer", "hf:./no/such/folder")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--queue", "0"), "queue must be at least 1"),
        (("--timeout", "0"), "timeout must be above 0"),
        (("--remedy", "averige"), "unknown remedy"),
        (("--threshold", "nan"), "threshold must be a finite number"),
        (("--threshold", "0.5", "--remedy", "adaptive:best"), "not the decision"),
        (("--width", "0"), "width must be at least 1"),
        (("--api-key-env", "NO_SUCH_VARIABLE"), "holds no key"),
        (("--port", "70000"), "port must lie between"),
        (("--host", "no such host"), "cannot listen"),
        (("--adapter", "a", "--set", "adapter=b"), "given twice"),
        (("--uncertain-at", "2"), "uncertain_at"),
        (("--rule", "sideways"), "unknown window rule"),
    ],
)
def test_settings_are_checked_before_the_model_is_opened(run, words, said):
    ended = run("serve", *MODEL, *words)
    assert (ended.code, said in ended.err) == (2, True), ended.err


def test_a_port_in_use_is_told_before_the_model_is_opened(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("serve", *MODEL, "--port", str(taken.getsockname()[1]))
    assert (ended.code, "cannot listen" in ended.err) == (2, True)


def test_a_run_that_is_none_is_told_before_the_model_is_opened(run, tmp_path):
    ended = run("serve", *MODEL, "--port", "0", "--run", tmp_path)
    assert (ended.code, "no run here" in ended.err, "opening" in ended.err) == (4, True, False)


def test_a_run_that_was_changed_is_told_before_the_model_is_opened(run, slates_file, tmp_path):
    folder = tmp_path / "run"
    assert run("audit", slates_file(), "--scorer", "toy", "--rows", 3, "--out", folder).code == 0
    (folder / "scores.parquet").write_bytes(b"")
    ended = run("serve", *MODEL, "--port", "0", "--run", folder)
    assert (ended.code, "cannot be read" in ended.err, "opening" in ended.err) == (4, True, False)
    (folder / "scores.parquet").unlink()
    ended = run("serve", *MODEL, "--port", "0", "--run", folder)
    assert (ended.code, "not finished" in ended.err, "opening" in ended.err) == (4, True, False)


def test_a_run_of_another_scorer_is_refused(run, slates_file, tmp_path):
    assert (
        run("audit", slates_file(), "--scorer", "toy", "--rows", 3, "--out", tmp_path / "run").code == 0
    )
    words = ("--port", "0", "--run", tmp_path / "run")
    ended = run("serve", "--scorer", "toy:slot_bias=0.3", *words)
    assert (ended.code, "the run is of toy" in ended.err) == (2, True)
    ended = run("serve", "--scorer", "toy", "--remedy", "average:2", *words)
    assert ended.code == 2


def test_a_run_brings_its_figures_and_its_stored_threshold(run, slates_file, tmp_path):
    from evenhand.cli.serve import _measured
    from evenhand.report.result import Result
    from evenhand.score import open_scorer
    from evenhand.serve.settings import Serving

    folder = tmp_path / "run"
    spec = "toy:slot_bias=0.4"
    assert run("audit", slates_file(6, 8), "--scorer", spec, "--rows", 4, "--out", folder).code == 0
    stored = run("advise", folder, "--floor", "0.01", "--most", "0.99", "--store", "--json")
    assert stored.code == 0, stored.err
    result = Result(folder)
    measured, serving = _measured(result, open_scorer(spec), Serving())
    assert serving.threshold is not None
    assert 0 < measured["stability"]["tauPSI"]["mean"] < 0.5
    assert _measured(result, open_scorer(spec), Serving(threshold=0.9))[1].threshold == 0.9


class Opened:
    """What stands in for opening, for the server and for its run; it keeps what they were given."""

    def __init__(self, monkeypatch, unfinished=0):
        from evenhand import score
        from evenhand.score.toy import Toy
        from evenhand.serve import run as running

        self.specs, self.options, self.infos, self.closed = [], [], [], 0
        outer = self

        class Closing(Toy):
            def close(self):
                outer.closed += 1

        def opened(spec, **options):
            self.specs.append(spec)
            self.options.append(options)
            return Closing(slot_bias=0.4)

        def served(service, sock, on_ready):
            self.infos.append(service.info)
            return unfinished

        monkeypatch.setattr(score, "open_scorer", opened)
        monkeypatch.setattr(running, "run", served)


def test_without_a_scorer_it_is_the_shipped_one_which_is_told(run, monkeypatch):
    opened = Opened(monkeypatch)
    ended = run("serve", "--port", "0")
    assert ended.code == 0, ended.err
    assert opened.specs == ["evenhand-smol"]
    assert "note: no --scorer is given; it is evenhand-smol" in ended.err


@pytest.mark.parametrize(("unfinished", "code"), [(0, 0), (2, 7)])
def test_the_scorer_is_closed_at_the_end(run, monkeypatch, unfinished, code):
    opened = Opened(monkeypatch, unfinished)
    ended = run("serve", "--scorer", "toy", "--port", "0")
    assert (ended.code, opened.closed) == (code, 1), ended.err


@pytest.mark.parametrize("words", [("--adapter",), ("--set",)])
def test_an_adapter_is_told_however_it_was_given(run, monkeypatch, tmp_path, words):
    opened = Opened(monkeypatch)
    (tmp_path / "adapter_model.safetensors").write_bytes(b"w")
    laid = str(tmp_path) if words == ("--adapter",) else f"adapter={tmp_path}"
    ended = run("serve", "--scorer", "smollm2-135m", "--port", "0", *words, laid)
    assert ended.code == 0, ended.err
    assert opened.options == [{"adapter": str(tmp_path)}]
    assert opened.infos[0]["adapter"]["name"] == tmp_path.name


def test_a_run_without_a_stored_threshold_is_told(run, slates_file, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    audit = ("audit", slates_file(), "--scorer", "toy:slot_bias=0.4", "--rows", 3, "--out", folder)
    assert run(*audit).code == 0
    Opened(monkeypatch)
    words = ("serve", "--scorer", "toy:slot_bias=0.4", "--port", "0", "--run", folder)
    said = "stores no threshold, and none is given"
    assert said in run(*words).err
    assert said not in run(*words, "--threshold", "0.5").err


def test_without_the_extra_the_exit_code_is_3():
    hide = "import sys; sys.modules['fastapi'] = None; import importlib.util as u; find = u.find_spec; "
    hide += "u.find_spec = lambda name, *a: None if name == 'fastapi' else find(name, *a); "
    code = hide + "from evenhand.cli import main; main(['serve', '--scorer', 'toy'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3
    assert "evenhand[serve]" in done.stderr
