from pathlib import Path

import pytest

from robustlib.__main__ import main
from tests.sweep.children import Study, known
from tests.sweep.toys import contents


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study on disk that `main` can run."""
    known(monkeypatch)
    (tmp_path / "study").mkdir()
    return Study(tmp_path / "study")


@pytest.fixture
def undisturbed(study: Study, tmp_path: Path) -> dict[str, bytes]:
    """What the study's sweep leaves where nothing befalls it."""
    assert main(study.sweep(tmp_path / "whole")) == 0
    return contents(tmp_path / "whole")
