"""S3 as a folder, and the metadata service of a host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ec2_host import metadata_service


@pytest.fixture
def imds() -> Iterator[tuple[str, dict[str, str]]]:
    with metadata_service("i-0a", "127.0.0.1") as served:
        yield served


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAKE_S3", str(tmp_path / "s3"))
    return tmp_path / "s3" / "b"
