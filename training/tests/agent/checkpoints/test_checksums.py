"""S3's ETags of the files in the note: each version once, and at most 5 % of the time."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tidewheel_agent.checkpoints.checksums import Checksums


class Clock:
    """A reading takes a second."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


def test_a_file_that_changed_is_read_again_when_time_allows(tmp_path: Path) -> None:
    clock = Clock()
    checksums = Checksums(tmp_path, clock)
    file = tmp_path / "ckpt.pt"
    file.write_bytes(b"first")
    assert checksums.of(["ckpt.pt", "gone.pt"]) == {"ckpt.pt": md5(b"first")}
    os.utime(file, ns=(1, 1))
    file.write_bytes(b"other")
    # An old checksum must never stand for new bytes.
    assert checksums.of(["ckpt.pt"]) == {}
    clock.now += 60
    assert checksums.of(["ckpt.pt"]) == {"ckpt.pt": md5(b"other")}
    # What is known costs nothing.
    assert checksums.of(["ckpt.pt"]) == {"ckpt.pt": md5(b"other")}


def test_a_file_that_s3_gets_in_parts_has_the_etag_of_its_parts(tmp_path: Path) -> None:
    part = bytes(8 << 20)
    (tmp_path / "large.pt").write_bytes(part + b"more")
    of_parts = hashlib.md5(part).digest() + hashlib.md5(b"more").digest()
    (tmp_path / "whole.pt").write_bytes(part)
    assert Checksums(tmp_path).of(["large.pt", "whole.pt"]) == {
        "large.pt": f"{md5(of_parts)}-2",
        "whole.pt": md5(part),
    }


def test_a_file_that_takes_long_to_read_has_none(tmp_path: Path) -> None:
    with (tmp_path / "huge.pt").open("wb") as file:
        file.truncate((512 << 20) + 1)
    assert Checksums(tmp_path).of(["huge.pt"]) == {}


def test_many_files_are_read_in_several_calls(tmp_path: Path) -> None:
    clock = Clock()
    checksums = Checksums(tmp_path, clock)
    names = [f"{index}.pt" for index in range(5)]
    for name in names:
        (tmp_path / name).write_bytes(b"state")
    assert len(checksums.of(names)) == 2
    assert len(checksums.of(names)) == 2
    clock.now += 60
    assert len(checksums.of(names)) == 4
