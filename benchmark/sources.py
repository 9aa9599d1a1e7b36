"""The fingerprint of code: what a Python file does, with the files of its project that it imports, however they look.

Comments, formatting, docstrings, the order of imports and the names of files change nothing; a changed constant, sign or
condition does. Files are parsed, never run. A run carries the fingerprint of its method (`baselines.fingerprint`).
"""

import ast
import hashlib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

PASSED_OVER = ("ctx", "kind", "type_comment", "type_params")  # of syntax trees: nothing that changes a number


def fingerprint(path: Path, root: Path, without: Collection[str] = (), aside: Collection[str] = ()) -> str:
    """Of the file and of every file below `root` that it imports, directly or not, but for packages `without`.

    `aside` names assignments that count for nothing, as titles do. SyntaxError if a file is no Python.
    """
    todo, seen, found = [path.resolve()], set(), []
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        code, imported = _read(file, file.stat().st_mtime_ns, root.resolve(), tuple(without), tuple(aside))
        found.append(code)
        todo += imported
    return hashlib.sha256("".join(sorted(found)).encode()).hexdigest()[:16]


@cache
def _read(
    file: Path, modified: int, root: Path, without: tuple[str, ...], aside: tuple[str, ...]
) -> tuple[str, tuple[Path, ...]]:
    """The hash of one file without its imports from the project, and the files that these lead to."""
    del modified  # renews the cache
    tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    imports: list[str] = []
    body: list[ast.stmt] = []
    files: set[Path] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(_shown(node, root, without))
        elif not (isinstance(node, ast.Assign | ast.AnnAssign) and set(_targets(node)) & set(aside)):
            body.append(node)
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            files |= set(_files(inner, root, without))
    text = "\n".join([*sorted(imports), _canonical(_undocumented(body))])
    return hashlib.sha256(text.encode()).hexdigest(), tuple(sorted(files - {file}))


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]


def _files(node: ast.Import | ast.ImportFrom, root: Path, without: Collection[str]) -> Iterator[Path]:
    for module in _modules(node):
        if module.partition(".")[0] in without:
            continue
        place = root / module.replace(".", "/")
        if place.with_suffix(".py").is_file():
            yield place.with_suffix(".py")


def _shown(node: ast.Import | ast.ImportFrom, root: Path, without: Collection[str]) -> str:
    """An import; of one from the project only what is imported, since its file may be renamed."""
    names = sorted(f"{alias.name} as {alias.asname}" for alias in node.names)
    own = isinstance(node, ast.ImportFrom) and any(_files(node, root, without))
    module = node.module if isinstance(node, ast.ImportFrom) and not own else ""
    return f"{module}: {', '.join(names)}"


def _undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return body[1:] if text else body


def _canonical(node: object) -> str:
    """A syntax tree as text: the same under every version of Python that can read it."""
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for name, value in ast.iter_fields(node):
        if name in PASSED_OVER or value is None or value == []:
            continue
        documented = name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        parts.append(f"{name}={_canonical(_undocumented(value) if documented else value)}")
    return f"{type(node).__name__}({','.join(parts)})"
