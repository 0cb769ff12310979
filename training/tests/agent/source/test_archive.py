"""The packed source of a run is unpacked whole, or refused with nothing written."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from pathlib import Path

import pytest

from sagemaker_host import make_host
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.settings import ConfigurationError, Settings
from tidewheel_agent.source.place import place_source, unpack_source

REGULAR = stat.S_IFREG | 0o644


def pack(path: Path, members: dict[str, tuple[int, bytes]]) -> str:
    """Packs members with their modes; returns the archive's hash."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, (mode, data) in members.items():
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.external_attr = mode << 16
            packed.writestr(info, data)
    path.write_bytes(content.getvalue())
    return hashlib.sha256(content.getvalue()).hexdigest()


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_every_file_keeps_its_name_and_bytes(tmp_path: Path) -> None:
    files = {"train.py": b"print()", "a/b/ü 🌊.txt": b"", "a/data.bin": bytes(range(256))}
    archive = tmp_path / "source.zip"
    digest = pack(archive, {name: (REGULAR, data) for name, data in files.items()})
    unpack_source(archive, digest, tmp_path / "code")
    assert everything_in(tmp_path / "code") == sorted(files)
    assert all((tmp_path / "code" / name).read_bytes() == data for name, data in files.items())


HOSTILE = [
    pytest.param("../outside", REGULAR, id="above its folder"),
    pytest.param("a/../../outside", REGULAR, id="above, through a folder"),
    pytest.param("/tmp/tidewheel-outside", REGULAR, id="absolute"),
    pytest.param("a//b", REGULAR, id="an empty part"),
    pytest.param("./a", REGULAR, id="a dot"),
    pytest.param("a/", REGULAR, id="a folder"),
    pytest.param("a\0b", REGULAR, id="a NUL"),
    pytest.param("link", stat.S_IFLNK | 0o777, id="a link"),
    pytest.param("device", stat.S_IFBLK | 0o600, id="a block device"),
    pytest.param("tty", stat.S_IFCHR | 0o600, id="a character device"),
    pytest.param("pipe", stat.S_IFIFO | 0o600, id="a pipe"),
    pytest.param("x" * 1024, REGULAR, id="a name of 1,024 bytes"),
]


@pytest.mark.parametrize(("name", "mode"), HOSTILE)
def test_anything_but_a_regular_file_inside_is_refused(
    name: str, mode: int, tmp_path: Path
) -> None:
    archive = tmp_path / "in" / "source.zip"
    archive.parent.mkdir()
    digest = pack(archive, {name: (mode, b"/etc/passwd")})
    with pytest.raises(ConfigurationError):
        unpack_source(archive, digest, tmp_path / "code")
    assert everything_in(tmp_path) == ["in/source.zip"]
    assert not Path("/tmp/tidewheel-outside").exists()


def test_one_bad_member_stops_all_others(tmp_path: Path) -> None:
    archive = tmp_path / "source.zip"
    digest = pack(archive, {"train.py": (REGULAR, b""), "../x": (REGULAR, b"")})
    with pytest.raises(ConfigurationError, match="leads out"):
        unpack_source(archive, digest, tmp_path / "code")
    assert not (tmp_path / "code").exists()


def test_an_archive_with_another_hash_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "source.zip"
    pack(archive, {"train.py": (REGULAR, b"")})
    with pytest.raises(ConfigurationError, match="start a new run"):
        unpack_source(archive, "0" * 64, tmp_path / "code")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"no zip at all"])
def test_a_broken_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "source.zip"
    archive.write_bytes(content)
    with pytest.raises(ConfigurationError, match="cannot be unpacked"):
        unpack_source(archive, hashlib.sha256(content).hexdigest(), tmp_path / "code")


def placed(tmp_path: Path, source: Path, **parameters: str) -> list[str]:
    base = tmp_path / "host"
    make_host(base, source=source, hyperparameters={"sagemaker_program": "train.py", **parameters})
    job = read_job(Settings(base=base))
    place_source(job)
    return everything_in(job.code_dir)


def test_a_job_gets_its_packed_source(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    digest = pack(source / "source.zip", {"train.py": (REGULAR, b""), "a/b": (REGULAR, b"")})
    assert placed(tmp_path, source, tidewheel_source=digest) == ["a/b", "train.py"]


def test_without_packed_source_the_channels_files_count(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").touch()
    (source / "source.zip").touch()
    assert placed(tmp_path, source) == ["source.zip", "train.py"]


def test_an_error_for_a_missing_program_lists_the_source(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    digest = pack(source / "source.zip", {"other.py": (REGULAR, b"")})
    with pytest.raises(ConfigurationError, match=r"found: other\.py"):
        placed(tmp_path, source, tidewheel_source=digest)
