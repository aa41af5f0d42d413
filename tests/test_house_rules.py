"""Rules of the house that no linter knows: direction of imports, size, light import, clean notebooks, equal pins."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from robustlib.report.notebooks import read_parameters

ROOT = Path(__file__).parents[1]
ROOMS = ["data", "perturbations", "corruptions", "models", "scoring", "sweep", "metrics", "report"]
MODULES = sorted((ROOT / "robustlib").rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def imported_rooms(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {parts[1] for name in names if (parts := name.split("."))[0] == "robustlib" and len(parts) > 1} & set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_to_its_left(room: str) -> None:
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    if room in ("metrics", "report"):
        allowed -= {"models"}
    for module in (ROOT / "robustlib" / room).rglob("*.py"):
        assert imported_rooms(module) <= allowed, f"{module} imports to its right"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_can_be_read_in_one_sitting(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= 300


@pytest.mark.parametrize("name", ["robustlib", "robustlib.metrics"])
def test_import_needs_no_heavy_library(name: str) -> None:
    code = f"import sys, {name}; print(*sorted({{'torch', 'transformers', 'numba', 'ray'}} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_every_public_name_can_be_had() -> None:
    import robustlib

    for name in robustlib.__all__:
        assert getattr(robustlib, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = robustlib.no_such_name


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_clean(notebook: Path) -> None:
    cells = nbformat.read(notebook, as_version=4).cells
    assert cells[0].cell_type == "markdown", "a notebook begins with an introduction"
    assert read_parameters(notebook)
    for cell in cells:
        if cell.cell_type != "code":
            continue
        assert not cell.outputs
        assert cell.execution_count is None
        forbidden = (ast.FunctionDef, ast.ClassDef, ast.While, ast.Try, ast.If)
        assert not any(isinstance(node, forbidden) for node in ast.walk(ast.parse(cell.source))), "logic in a notebook"


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return {canonical(name): version for name, version in (line.split("==") for line in lines)}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_conda_pins_equal_the_lock() -> None:
    text = (ROOT / "environment.yml").read_text()
    pins = {canonical(name): version for name, version in re.findall(r"^ +- ([\w.-]+)==([\w.]+)$", text, re.MULTILINE)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert set(pins) == {canonical(re.split(r"[>=\[]", requirement)[0]) for requirement in wanted}
    assert pins == {name: locked()[name] for name in pins}
