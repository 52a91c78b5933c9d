"""Exit codes, streams and start of the command line as a whole."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest

from evenhand import errors
from evenhand.cli import main
from evenhand.decide.reading import TOP

VERBS = (
    "demo", "audit", "report", "advise", "compare", "gate", "decompose", "worst", "label", "train",
    "select", "merge", "pairs", "serve", "doctor", "data",
)  # fmt: skip


def test_importing_the_command_line_is_light_and_quick():
    code = (
        "import time; start = time.perf_counter(); import evenhand.cli, sys;"
        "heavy = {'torch', 'transformers', 'plotly', 'datasets', 'bm25s', 'scipy', 'pyarrow'};"
        "print(sorted(heavy & set(sys.modules)), time.perf_counter() - start)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded, seconds = out.rsplit(" ", 1)
    assert loaded == "[]"
    assert float(seconds) < 1


def test_the_version_and_the_verbs_are_told(run):
    assert run("--version").out.startswith("evenhand ")
    told = run("--help")
    assert told.code == 0
    for verb in ("demo", "audit", "report", "data", "doctor"):
        assert verb in told.out


@pytest.mark.parametrize(
    "words",
    [
        ("audit",),  # no slates
        ("audit", "demo", "--scorer", "toy", "--colour", "red"),
        ("audit", "demo", "--scorer", "toy", "--rows", "many"),
        ("audit", "demo", "--scorer", "parrot"),
        ("audit", "demo", "--scorer", "toy:loudness=3"),
        ("audit", "demo", "--scorer", "toy", "--design", "sideways"),
        ("audit", "demo", "--scorer", "toy", "--visibility", "parallel"),  # no setting of a toy
        ("audit", "demo", "--scorer", "toy", "--limit", "0"),
        ("audit", "demo", "--scorer", "toy", "--run", "BM25"),
        ("audit", "demo", "--scorer", "toy", "--measure", "Vibes"),
        ("conjure",),
    ],
)
def test_wrong_use_is_2_and_prints_no_result(run, words):
    ended = run(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("a"), 2),
        (errors.MissingExtraError("plotly", "report"), 3),
        (errors.InputError("a", path="f", line=3), 4),
        (errors.ResumeError("a"), 4),
        (errors.NothingMeasuredError("a"), 5),
        (errors.ScorerError("a"), 6),
        (RuntimeError("a"), 70),
    ],
)
def test_each_error_has_its_code_and_goes_to_standard_error(run, monkeypatch, error, code):
    def fail():
        raise error

    monkeypatch.setattr("evenhand.cli.doctor.examine", fail)
    ended = run("doctor")
    assert (ended.code, ended.out) == (code, "")
    assert str(error) in ended.err
    assert ("Traceback" in ended.err) == (code == 70)


def test_as_a_process_only_the_result_is_on_standard_output(process, slates_file, tmp_path):
    ended = process("audit", slates_file(), "--scorer", "toy:slot_bias=.5", "--rows", 4, "--json")
    assert ended.code == 0
    (result,) = json.loads(ended.out)["results"]
    assert result["scorer"]["name"] == "toy:slot_bias=0.5"
    assert "toy:slot_bias=0.5: scored" in ended.err


def test_as_a_process_bad_input_is_4_with_file_and_line(process, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "q1", "query": "x", "candidates": []}\n{"id": ', encoding="utf-8")
    ended = process("audit", bad, "--scorer", "toy")
    assert (ended.code, ended.out) == (4, "")
    assert f"{bad}:2" in ended.err
    assert "Traceback" not in ended.err


def test_a_stream_that_cannot_show_a_letter_does_not_stop_a_verb(process, slates_file):
    import os

    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = process("audit", slates_file(), "--scorer", "toy", "--rows", 3, env=environment)
    assert ended.code == 0
    assert "tauPSI" in ended.out


def test_an_interrupted_audit_is_130_and_goes_on(tmp_path, slates_file):
    folder, source = tmp_path / "run", slates_file(40, 12)
    slow = (
        # A parent may have the signal ignored, and a child inherits that.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys, time; import evenhand.score as s; opened = s.open_scorer;\n"
        "class Slow:\n"
        "    def __init__(self, inner): self.inner = inner\n"
        "    def __getattr__(self, name): return getattr(self.inner, name)\n"
        "    def score(self, shown): time.sleep(.3); return self.inner.score(shown)\n"
        "s.open_scorer = lambda spec, **o: Slow(opened(spec, **o))\n"
        "from evenhand.cli import main; main()"
    )
    words = ["audit", str(source), "--scorer", "toy:slot_bias=.5", "--rows", "2", "--out", str(folder)]
    begun = subprocess.Popen(
        [sys.executable, "-c", slow, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    # Not sooner: numpy.random swallows an interrupt that meets its import.
    while not (folder / "parts" / "0000.sha256").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    begun.send_signal(signal.SIGINT)
    out, err = begun.communicate(timeout=60)
    assert begun.returncode == 130, err
    assert out == ""
    assert "run the same command again to go on" in err
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code


@pytest.mark.parametrize(
    "words",
    [
        ("data", "demo", "--out", "/"),
        ("audit", "demo", "--scorer", "toy", "--html", "."),
        ("audit", "demo", "--scorer", "toy", "--markdown", __file__ + "/x"),
        ("audit", "demo", "--scorer", "toy", "--set", "noise={[]: 1}"),
    ],
)
def test_what_cannot_be_written_or_read_is_2_before_anything_is_scored(run, words):
    ended = run(*words)
    assert (ended.code, ended.out) == (2, "")
    assert "scoring" not in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "x" * 300, "--scorer", "toy"),
        ("audit", "demo", "--scorer", "toy", "--out", __file__ + "/run"),
        ("audit", "demo", "--scorer", "toy", "--out", "x" * 300),
        ("report", "x" * 300),
        ("data", "check", "x" * 300),
    ],
)
def test_places_that_cannot_exist_are_4(run, words):
    ended = run(*words)
    assert (ended.code, ended.out) == (4, "")
    assert "Traceback" not in ended.err


def test_a_limit_beyond_all_is_all(run):
    ended = run("audit", "demo", "--scorer", "toy", "--rows", 2, "--limit", 10**30, "--json")
    assert json.loads(ended.out)["results"][0]["counts"]["slates"] == 30


def test_a_reader_that_leaves_early_stops_no_report(slates_file, tmp_path):
    pytest.importorskip("plotly")
    command = [sys.executable, "-m", "evenhand.cli", "audit", str(slates_file()), "--scorer", "toy"]
    page = tmp_path / "r.html"
    begun = subprocess.Popen(
        [*command, "--rows", "3", "--html", str(page)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    begun.stdout.close()
    err = begun.stderr.read().decode()
    begun.stderr.close()
    assert begun.wait(timeout=120) == 0, err
    assert page.exists()
    assert "Traceback" not in err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_standard_output_that_is_full_is_told(slates_file):
    command = [sys.executable, "-m", "evenhand.cli", "data", "check", str(slates_file())]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert "standard output cannot be written (No space left on device)" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_closed_streams_stop_no_verb(slates_file, closed):
    words = f'-m evenhand.cli audit "{slates_file()}" --scorer toy --rows 2 {closed}'
    ended = subprocess.run(
        f'"{sys.executable}" {words}', shell=True, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_reports_of_one_run_at_the_same_time_do_not_disturb_each_other(slates_file, tmp_path, process):
    source, out = slates_file(60, 8), tmp_path / "run"
    words = ["audit", str(source), "--scorer", "toy:slot_bias=.3", "--rows", "6", "--out", str(out)]
    assert process(*words).code == 0
    every = [["report", str(out)]] * 2 + [words]
    begun = [
        subprocess.Popen(
            [sys.executable, "-m", "evenhand.cli", *one],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for one in every
    ]
    ended = [(one.communicate(timeout=120)[1], one.returncode) for one in begun]
    assert [code for _, code in ended] == [0, 0, 0], ended
    assert not list(out.glob("*.tmp"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_a_disk_that_refuses_is_4_and_the_run_goes_on(slates_file, tmp_path, process):
    source, out = slates_file(60, 8), tmp_path / "run"
    words = ["audit", str(source), "--scorer", "toy:slot_bias=.3", "--rows", "6", "--out", str(out)]
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000));"
        "from evenhand.cli import main; main(sys.argv[1:])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 4, ended.stderr
    assert "cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(out.rglob("*.tmp"))
    assert process(*words).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "demo", "--scorer", "smollm2-135m"),
        ("audit", "demo", "--scorer", "hf:x/y"),
        ("audit", "demo", "--scorer", "ql:smollm2-135m"),
        ("audit", "demo", "--scorer", "gguf:f.gguf"),
        ("demo",),
    ],
)
def test_a_model_without_torch_is_3_and_says_what_to_install(words, tmp_path):
    pytest.importorskip("plotly")
    code = (
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch':\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "from evenhand.cli import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "pip install 'evenhand[hf]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_list_of_verbs_says_of_each_what_it_does_in_full(run):
    told = run("--help").out.partition("Commands:")[2]
    assert len(told.strip().splitlines()) == len(VERBS)
    assert "..." not in told


@pytest.mark.parametrize("verb", VERBS)
def test_help_calls_values_by_words_and_not_by_python_types(run, verb):
    told = run(verb, "--help")
    assert told.code == 0
    # What stands after an option's name is its value: <class ...>, {a|b}; prose may have both signs.
    assert not re.search(r"--[a-z-]+ +[<{]", told.out)


def test_help_names_arguments_numbers_files_and_defaults(run):
    told = " ".join(run("audit", "--help").out.split())
    assert "Usage: evenhand audit [OPTIONS] SLATES" in told
    for words in ("--rows N", "--threshold NUMBER", "--out PATH", "--rubric NAME", "--scorer SPEC"):
        assert words in told
    for kind in ("cross:", "rerank:", "openai:", "listwise:", "gguf:"):
        assert kind in told
    assert "answer or verdict. [default: answer]" in told
    assert f"best first. [default: {TOP}]" in told
    assert "Usage: evenhand report [OPTIONS] RUN..." in run("report", "--help").out
