"""What CONTRIBUTING.md says about new corruptions is true: its example is carried out on a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"<!-- (?P<path>[\w/.]+) -->\n```\w+\n(?P<content>.*?)```", re.DOTALL)


@pytest.fixture
def changed_package(tmp_path: Path) -> Path:
    """A copy of the package with the example's function and row added."""
    ignored = shutil.ignore_patterns("__pycache__", "*.safetensors")
    shutil.copytree(ROOT / "robustlib", tmp_path / "package" / "robustlib", ignore=ignored)
    examples = EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert [Path(path).suffix for path, _ in examples] == [".py", ".csv"], "one function and one row"
    for path, content in examples:
        with (tmp_path / "package" / path).open("a", encoding="utf-8") as stream:
            stream.write(content)
    return tmp_path / "package"


def test_a_new_corruption_is_one_function_and_one_row(changed_package: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        environment = os.environ | {"PYTHONPATH": str(changed_package)}
        command = [sys.executable, "-m", "robustlib", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert run("list", "corruptions", "mine").split() == ["mine/vignette", "color", "1,", "2,", "3,", "4,", "5"]
    (tmp_path / "photographs").mkdir()
    Image.new("RGB", (31, 21), "white").save(tmp_path / "photographs" / "white.png")
    run("corrupt", "photographs", "copies", "--suite", "mine")
    for severity, strength in enumerate([0.2, 0.35, 0.5, 0.65, 0.8], start=1):
        copy = np.asarray(Image.open(tmp_path / "copies" / "vignette" / str(severity) / "white.png"))
        assert copy.shape == (21, 31, 3)
        assert (copy[10, 15] == 255).all()
        assert (copy[0, 0] == round(255 * (1 - strength))).all()
