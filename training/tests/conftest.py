"""What all rooms of the tests share as fixtures; functions are in support/."""

from __future__ import annotations

from pathlib import Path

import pytest

from digits import write_digits


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
