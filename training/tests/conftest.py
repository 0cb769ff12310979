"""What all rooms of the tests share as fixtures; functions are in support/."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from digits import write_digits

# Tests do not time: on a busy machine one example takes as long as it takes.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")
_TEMPORARY = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Agents and scripts that a test kills leave their temporary folders behind. They lie in one,
    which goes with the session. Its path is short, because Ray's sockets lie below it."""
    outside = tempfile.gettempdir()
    # pytest keeps the folders of its last sessions, for a person who looks at a failure.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", outside)
    config.stash[_TEMPORARY] = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="tw-")
    tempfile.tempdir = None


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[_TEMPORARY], ignore_errors=True)


@pytest.fixture(scope="session")
def digit_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped digits in four shards, in a folder as a dataset's generation."""
    dataset = tmp_path_factory.mktemp("dataset")
    write_digits(dataset / "digits-000001" / "shards", shards=4)
    return dataset


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what several heavy tests compare with."""
    return tmp_path_factory.mktemp("work")
