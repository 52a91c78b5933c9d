"""`evenhand doctor`: what is installed here, and what each missing part would add."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Annotated, Any

from evenhand.cli.common import JSON, put, put_json

CORE = ("numpy", "scipy", "ir-measures", "pyarrow", "typer", "rich", "httpx")
# Those of which something can be used; an extra that only brings packages is not listed.
EXTRAS: dict[str, tuple[str, ...]] = {
    "hf": ("torch", "transformers", "accelerate", "peft", "gguf", "safetensors"),
    "report": ("plotly", "jinja2"),
    "data": ("bm25s", "datasets"),
    "train": ("torch", "transformers", "accelerate", "peft"),
    "serve": ("fastapi", "uvicorn", "prometheus_client"),
    "ray": ("ray",),
}


def doctor(as_json: Annotated[bool, JSON] = False) -> None:
    """Show versions, extras, device and whether the default model is cached."""
    found = examine()
    if as_json:
        put_json(found)
        return
    put("\n".join(_lines(found)))


def examine() -> dict[str, Any]:
    """Return versions, extras, device and state of the default model; asks no network."""
    from evenhand import __version__

    extras = {
        name: {module: _version(module) for module in modules} for name, modules in EXTRAS.items()
    }
    return {
        "evenhand": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "core": {module: _version(module) for module in CORE},
        "extras": extras,
        "missing_extras": sorted(name for name, modules in extras.items() if None in modules.values()),
        "machine": _machine(),
    }


def _version(module: str) -> str | None:
    try:
        return importlib.metadata.version(module)
    except importlib.metadata.PackageNotFoundError:
        return None


def _machine() -> dict[str, dict[str, str]]:
    """Return state and detail of device, default model and disk, by name."""
    from evenhand.models import doctor_lines

    packages = {module for modules in EXTRAS.values() for module in modules}
    return {
        name: {"status": status, "detail": detail}
        for name, status, detail in doctor_lines()
        if name not in packages
    }


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"evenhand  {found['evenhand']}",
        f"python    {found['python']} on {found['platform']}",
        "",
        "core      "
        + ", ".join(f"{name} {version or 'MISSING'}" for name, version in found["core"].items()),
    ]
    for extra, modules in found["extras"].items():
        parts = ", ".join(f"{name} {version or 'missing'}" for name, version in modules.items())
        lines.append(f"[{extra}]".ljust(10) + parts)
    lines.append("")
    if missing := found["missing_extras"]:
        lines.append(f"to add what is missing, in a checkout: pip install '.[{','.join(missing)}]'")
    for name, state in found["machine"].items():
        lines.append(f"{name:<13} {state['status']}: {state['detail']}")
    return lines
