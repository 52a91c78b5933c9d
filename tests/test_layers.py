"""The architecture, read from the source: layers, cycles, torch, sizes, docstrings."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"

LAYERS = (
    ("types", "errors", "seeds"),
    ("present", "measure", "data", "models", "records"),
    ("score",),
    ("decide", "remedy"),
    ("train", "study"),
    ("report", "serve", "gate"),
    ("cli", "recipes", "pytest_plugin"),
)
# The one import across folders of a layer: types are validated, so they raise.
WITHIN_LAYER = {("types", "errors")}
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}

MODEL_LIBRARIES = {"torch", "transformers", "peft", "accelerate", "tokenizers", "safetensors", "gguf"}
MODEL_FOLDERS = {"models", "train"}
MODEL_FILES = {
    "evenhand.score.local",
    "evenhand.score.readout",
    "evenhand.score.likelihood",
    "evenhand.score.cross",
    "evenhand.decide.reader",
}

# Modules that open others by name, when asked: their function-local imports are their purpose.
LAZY_DOORS = {"evenhand.score", "evenhand.decide", "evenhand.cli", "evenhand.pytest_plugin"}
# What extras bring along without naming it.
BROUGHT_ALONG = {"huggingface_hub", "tokenizers", "markupsafe"}

MOST_LINES = 300
MOST_FUNCTION_LINES = 40

# Paths of a machine and hosts of a registry; a relative path or a URL of a page is fine.
PRIVATE = re.compile(
    r"(?:^|[^\w.])/(?:work|tmp|root|home|opt|farm)/|(?:index|registry)-url|find-links|pypi\.org|pythonhosted"
)
TEXT_SUFFIXES = {
    "",
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".cff",
    ".json",
    ".jsonl",
    ".yml",
    ".yaml",
    ".html",
    ".j2",
    ".css",
    ".js",
    ".sh",
}
TRACKED_FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", "experiments", ".ci")


@dataclass(frozen=True)
class Import:
    """One import of a source file."""

    module: str
    target: str
    line: int
    local: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    """Return the dotted name of a file under src."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted((SRC / "evenhand").rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def folder_of(module: str) -> str:
    """Return the top-level folder (or file) of an evenhand module; "" for the public face."""
    return module.split(".")[1] if "." in module else ""


def resolve(module: str, node: ast.ImportFrom) -> list[str]:
    """Return what a from-import names: a module where it is one, else the module it is in."""
    base = node.module or ""
    if node.level:
        is_package = FILES[module].name == "__init__.py"
        parts = module.split(".")
        parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
        base = ".".join([*parts, *([node.module] if node.module else [])])
    names = [f"{base}.{alias.name}" for alias in node.names]
    return [name if name in FILES or base == "evenhand" else base for name in names]


def named_import(node: ast.Call) -> str | None:
    """Return the module of import_module("...") or __import__("..."), if it is a literal."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in ("import_module", "__import__") or not node.args:
        return None
    name = node.args[0]
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def imports_of(module: str, tree: ast.Module) -> Iterator[Import]:
    """Yield every import of a file, those inside functions and TYPE_CHECKING included."""
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, local = stack.pop()
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            targets = resolve(module, node)
        elif isinstance(node, ast.Call) and (name := named_import(node)):
            targets = [name]
        yield from (Import(module, target, node.lineno, local) for target in dict.fromkeys(targets))
        inside = local or isinstance(node, FUNCTION)
        stack.extend((child, inside) for child in ast.iter_child_nodes(node))


IMPORTS = [
    each for name, tree in TREES.items() if name != "evenhand" for each in imports_of(name, tree)
]


def is_ours(target: str) -> bool:
    """Return whether an import target is evenhand or lies in it."""
    return target.partition(".")[0] == "evenhand"


def layer_fault(each: Import) -> str | None:
    """Return what is wrong with an import of ours, or None."""
    here, there = folder_of(each.module), folder_of(each.target)
    if each.target == "evenhand.__version__" or here == there or (here, there) in WITHIN_LAYER:
        return None
    if there not in LEVEL:
        return f"{each}: import from the folder that defines it, not from the public face"
    if LEVEL[there] >= LEVEL[here]:
        return f"{each}: layer {LEVEL[here]} may not import layer {LEVEL[there]}"
    return None


def optional_modules() -> set[str]:
    """Return the importable names of every optional dependency."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [item for items in project["optional-dependencies"].values() for item in items]
    names = {re.match(r"[A-Za-z0-9_-]+", item)[0].replace("-", "_") for item in extras}
    return (names | BROUGHT_ALONG) - {"evenhand"}


def local_fault(each: Import, optional: set[str]) -> str | None:
    """Return what is wrong with a function-local import, or None."""
    if not each.local or each.target.partition(".")[0] in optional:
        return None
    if each.module in LAZY_DOORS or folder_of(each.module) == "cli":
        return None
    return f"{each} inside a function; only optional dependencies and the lazy doors may"


def say(faults: list[str]) -> str:
    """Return faults one a line, so that a failing test shows all of them."""
    return "\n".join(["", *faults])


def test_every_folder_has_a_layer():
    assert {folder_of(name) for name in FILES} - {""} <= set(LEVEL)


def test_folders_import_only_lower_layers_and_themselves():
    faults = [fault for each in IMPORTS if is_ours(each.target) and (fault := layer_fault(each))]
    assert not faults, say(faults)


def test_model_libraries_stay_where_models_are_run():
    strays = [
        str(each)
        for each in IMPORTS
        if each.target.partition(".")[0] in MODEL_LIBRARIES
        and folder_of(each.module) not in MODEL_FOLDERS
        and each.module not in MODEL_FILES
    ]
    assert not strays, say(strays)


def test_function_local_imports_are_optional_or_lazy():
    optional = optional_modules()
    faults = [fault for each in IMPORTS if (fault := local_fault(each, optional))]
    assert not faults, say(faults)


def find_cycle(edges: dict[str, set[str]]) -> list[str]:
    """Return one cycle of the graph as a path that ends where it began, or []."""
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for after in sorted(edges.get(node, ())):
            if cycle := visit(after, [*path, node]):
                return cycle
        done.add(node)
        return []

    return next((cycle for node in sorted(edges) if (cycle := visit(node, []))), [])


def test_no_cycles_between_modules():
    edges: dict[str, set[str]] = {}
    for each in IMPORTS:
        if each.target in FILES and each.target != each.module:
            edges.setdefault(each.module, set()).add(each.target)
    assert find_cycle(edges) == []


def test_find_cycle_finds_one():
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}}) == []


@pytest.mark.parametrize(
    ("module", "source", "faulty"),
    [
        ("evenhand.measure.order", "from evenhand.types import FloatArray", False),
        ("evenhand.measure.order", "from evenhand.present import orders", True),
        ("evenhand.score.local", "from evenhand import Slate", True),
        ("evenhand.score.local", "from evenhand import __version__", False),
        ("evenhand.types.slate", "def f():\n    from evenhand.score import toy", True),
        ("evenhand.types.slate", "import evenhand.cli", True),
        ("evenhand.cli.demo", "from evenhand.report.result import audit", False),
    ],
)
def test_layer_rule_on_small_sources(module, source, faulty):
    (only,) = imports_of(module, ast.parse(source))
    assert (layer_fault(only) is not None) is faulty


def test_local_rule_on_small_sources():
    source = "def f():\n    import torch\n    import json\n    importlib.import_module('plotly')"
    faults = [
        local_fault(each, {"torch", "plotly"})
        for each in imports_of("evenhand.data.io", ast.parse(source))
    ]
    (fault,) = [fault for fault in faults if fault]
    assert fault.startswith("evenhand.data.io:3 imports json inside a function")


def test_files_are_short():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    long = [f"{name} {length}" for name, length in lengths.items() if length > MOST_LINES]
    assert not long, say(long)


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines a function takes below its signature and docstring.

    Both are its interface, and long where there is much to say; what must be short
    is what has to be understood at once.
    """
    statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return node.end_lineno - statements[0].lineno + 1 if statements else 0


def test_functions_are_short():
    long = [
        f"{name}:{node.lineno} {node.name} {body_lines(node)}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and body_lines(node) > MOST_FUNCTION_LINES
    ]
    assert not long, say(long)


def test_body_lines():
    source = 'def f(\n    x,\n):\n    """Say\n\n    more."""\n    y = x\n\n    return y\n'
    assert body_lines(ast.parse(source).body[0]) == 3
    assert body_lines(ast.parse('def f():\n    """Nothing else."""').body[0]) == 0


def public_things(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield public functions and classes, and the public methods of the latter."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            methods = (
                item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
            )
            yield from (
                item for item in methods if not item.name.startswith("_") and not is_overload(item)
            )


def is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a method only declares a type or sets a property."""
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    return any(mark.endswith(("overload", ".setter")) for mark in marks)


def test_everything_public_has_a_docstring():
    bare = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in TREES.items()
        for node in public_things(tree)
        if ast.get_docstring(node) is None
    ]
    assert not bare, say(bare)
    assert [name for name, tree in TREES.items() if ast.get_docstring(tree) is None] == []


def text_files() -> Iterator[Path]:
    """Yield the project's text files: the top level and the folders that are kept."""
    tops = [path for path in ROOT.iterdir() if path.is_file()]
    deep = [path for folder in TRACKED_FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted([*tops, *deep]):
        if (
            path.suffix in TEXT_SUFFIXES
            and "__pycache__" not in path.parts
            and path.name != ".coverage"
        ):
            yield path


def test_no_file_names_a_machine_or_a_registry():
    named = []
    for path in text_files():
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
        ):
            # This file spells the patterns out.
            if path != Path(__file__).resolve() and PRIVATE.search(line):
                named.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert not named, say(named)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"open('/{'work'}/x.json')", True),
        (f"pip install --{'index'}-url x", True),
        ("see docs/work/x", False),
        ("https://arxiv.org/abs/2608.26762", False),
    ],
)
def test_private_pattern(line, found):
    assert (PRIVATE.search(line) is not None) is found
