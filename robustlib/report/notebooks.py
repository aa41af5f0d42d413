"""Run a notebook strictly: its parameters are checked before a kernel starts, and only a whole run leaves a file.

papermill alone only warns on an unknown parameter or a missing ``parameters`` tag, writes its output even when a cell
fails, and takes ``sys.exit(0)`` in a cell for success.
"""

import ast
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from robustlib.errors import InvalidTypeError, InvalidValueError, RobustlibError, UnknownNameError


class NotebookError(RobustlibError):
    """A notebook that did not run from its first cell to its last."""


def run_notebook(notebook: str | Path, output: str | Path, parameters: Mapping[str, object]) -> Path:
    """Execute a notebook in its own folder and store the executed copy, all or nothing.

    Args:
        notebook: the notebook to run; relative paths inside it start at its own folder, as in JupyterLab.
        output: where the executed copy goes once the last cell has run.
        parameters: values that replace those of the cell tagged ``parameters``; same names, same types.

    Returns:
        The path of the executed copy.

    Raises:
        InvalidValueError: the notebook has no readable parameters cell.
        UnknownNameError, InvalidTypeError: a parameter that the notebook does not have, or of another type.
        NotebookError: a cell failed, left with ``sys.exit``, or its kernel died. The partial notebook is kept
            beside ``output`` with the ending ``.failed.ipynb``; ``output`` itself does not exist afterwards.
    """
    import papermill

    notebook, output = Path(notebook), Path(output)
    check_parameters(notebook, parameters)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    failed = output.with_suffix(".failed.ipynb")
    try:
        papermill.execute_notebook(
            notebook,
            failed,
            dict(parameters),
            cwd=notebook.parent,
            kernel_name="python3",
            language="python",
            request_save_on_cell_execute=False,
            stdout_file=sys.stdout,
            stderr_file=sys.stderr,
        )
    except papermill.PapermillExecutionError as error:
        raise _stopped(notebook, error.cell_index, f"{error.ename}: {error.evalue}", failed) from error
    except Exception as error:
        raise NotebookError(f"{notebook} failed: {error}\nThe partial run is in {failed}.") from error
    _require_whole_run(notebook, failed)
    os.replace(failed, output)
    return output


def check_parameters(notebook: Path, parameters: Mapping[str, object]) -> None:
    """Raise unless every parameter is one of the notebook's own and has the type of its default."""
    defaults = read_parameters(notebook)
    for name, value in parameters.items():
        if name not in defaults:
            raise UnknownNameError(f"parameter of {notebook}", name, defaults)
        if not _same_type(value, defaults[name]):
            raise InvalidTypeError(
                f"Parameter {name} of {notebook} must be {_type_name(defaults[name])} like its default "
                f"{defaults[name]!r}, got {_type_name(value)} {value!r}."
            )


def read_parameters(notebook: Path) -> dict[str, object]:
    """Return the names and default values in the notebook's cell tagged ``parameters``.

    Raises:
        InvalidValueError: the file is no notebook, has no such cell or several, or the cell holds
            something other than ``name = literal`` lines.
    """
    try:
        cells = nbformat.read(notebook, as_version=4).cells
    except Exception as error:
        raise InvalidValueError(f"{notebook} cannot be read as a notebook: {error}") from error
    tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise InvalidValueError(f"{notebook} must have exactly one cell tagged 'parameters', it has {len(tagged)}.")
    return dict(_literal_assignment(notebook, statement) for statement in ast.parse(tagged[0].source).body)


def parse_parameter(text: str) -> tuple[str, object]:
    """Split ``name=value`` as typed on a command line; a value that is no Python literal is text."""
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise InvalidValueError(f"A parameter is written name=value, got {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def _literal_assignment(notebook: Path, statement: ast.stmt) -> tuple[str, object]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            try:
                return name, ast.literal_eval(value)
            except ValueError:
                pass
    raise InvalidValueError(
        f"The parameters cell of {notebook} may hold only 'name = literal' lines, got {ast.unparse(statement)!r}."
    )


def _same_type(value: object, default: object) -> bool:
    if isinstance(default, float):
        return type(value) in (int, float)
    if isinstance(default, list) and isinstance(value, list):
        return not default or all(any(_same_type(item, known) for known in default) for item in value)
    return type(value) is type(default)


def _type_name(value: object) -> str:
    return type(value).__name__


def _require_whole_run(notebook: Path, executed: Path) -> None:
    for number, cell in enumerate(nbformat.read(executed, as_version=4).cells):
        if cell.cell_type != "code":
            continue
        reason = _failure(cell)
        if reason:
            raise _stopped(notebook, number, reason, executed)


def _stopped(notebook: Path, cell: int, reason: str, executed: Path) -> NotebookError:
    return NotebookError(f"{notebook} stopped at cell {cell}:\n{reason}\nThe partial run is in {executed}.")


def _failure(cell: Any) -> str:
    for output in cell.outputs:
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}"
    if cell.source.strip() and cell.execution_count is None:
        return "it was never run"
    return ""
