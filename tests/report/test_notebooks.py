"""Notebooks run whole or not at all, and only with parameters that they have."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from robustlib.errors import InvalidTypeError, InvalidValueError, RobustlibError, UnknownNameError
from robustlib.report.notebooks import NotebookError, check_parameters, parse_parameter, read_parameters, run_notebook

PARAMETERS = "models = ['vilt']\nfraction = 0.2\nseed = 42\nout = 'build'"


def write_notebook(path: Path, *cells: str, parameters: str | None = PARAMETERS) -> Path:
    notebook = new_notebook(cells=[new_markdown_cell("A notebook of the tests.")])
    if parameters is not None:
        notebook.cells.append(new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    notebook.cells.extend(new_code_cell(cell) for cell in cells)
    nbformat.write(notebook, path)
    return path


def test_a_whole_run_leaves_the_executed_copy(tmp_path: Path) -> None:
    notebook = write_notebook(
        tmp_path / "n.ipynb", "from pathlib import Path\nPath('made').write_text(str(seed + fraction))"
    )
    output = run_notebook(notebook, tmp_path / "out" / "n.ipynb", {"seed": 1, "fraction": 1})
    assert output.exists()
    assert (tmp_path / "made").read_text() == "2", "a notebook runs in its own folder, with the parameters given"
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1 / 0", "print('never')"], "ZeroDivisionError"),
        (["import sys; sys.exit(0)", "print('never')"], "SystemExit"),
        (["import sys; sys.exit(0)"], "SystemExit"),
        (["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], "died"),
    ],
    ids=["failing cell", "exit in the middle", "exit at the end", "killed kernel"],
)
def test_anything_less_leaves_no_target(tmp_path: Path, cells: list[str], message: str) -> None:
    notebook = write_notebook(tmp_path / "n.ipynb", *cells)
    output = tmp_path / "out.ipynb"
    output.write_text("of an earlier run")
    for _ in range(2):
        with pytest.raises(NotebookError, match=message):
            run_notebook(notebook, output, {})
        assert not output.exists()


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("sead", 1, UnknownNameError),
        ("seed", "1", InvalidTypeError),
        ("seed", 1.0, InvalidTypeError),
        ("seed", True, InvalidTypeError),
        ("fraction", "0.2", InvalidTypeError),
        ("models", "vilt", InvalidTypeError),
        ("models", ["vilt", 1], InvalidTypeError),
    ],
)
def test_a_wrong_parameter_is_refused_before_a_kernel_starts(
    tmp_path: Path, name: str, value: object, error: type[RobustlibError]
) -> None:
    notebook = write_notebook(tmp_path / "n.ipynb", "print('never')")
    with pytest.raises(error, match=name):
        run_notebook(notebook, tmp_path / "out.ipynb", {name: value})
    assert list(tmp_path.iterdir()) == [notebook]


@pytest.mark.parametrize("parameters", [{"fraction": 1}, {"models": []}, {"models": ["blip", "vilt"]}, {"out": ""}])
def test_values_of_the_right_type_pass(tmp_path: Path, parameters: dict[str, object]) -> None:
    check_parameters(write_notebook(tmp_path / "n.ipynb"), parameters)


@pytest.mark.parametrize("source", [None, "seed = compute()", "for seed in range(3): pass", "a = b = 1"])
def test_a_parameters_cell_holds_literals_only(tmp_path: Path, source: str | None) -> None:
    notebook = write_notebook(tmp_path / "n.ipynb", parameters=source)
    with pytest.raises(InvalidValueError, match=r"n\.ipynb"):
        read_parameters(notebook)


def test_a_second_parameters_cell_or_no_notebook_at_all_is_refused(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "n.ipynb")
    content = nbformat.read(notebook, as_version=4)
    content.cells.append(new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}))
    nbformat.write(content, notebook)
    with pytest.raises(InvalidValueError, match="it has 2"):
        read_parameters(notebook)
    (tmp_path / "text.ipynb").write_text("not JSON")
    with pytest.raises(InvalidValueError, match="cannot be read"):
        read_parameters(tmp_path / "text.ipynb")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("seed=3", ("seed", 3)),
        ("models=['a', 'b']", ("models", ["a", "b"])),
        ("source=published", ("source", "published")),
        ("out=../build/x=y", ("out", "../build/x=y")),
        ("out=", ("out", "")),
    ],
)
def test_parameters_of_the_command_line(text: str, parsed: tuple[str, object]) -> None:
    assert parse_parameter(text) == parsed


@pytest.mark.parametrize("text", ["seed", "=3", "my seed=3"])
def test_a_parameter_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="name=value"):
        parse_parameter(text)
