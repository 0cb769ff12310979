"""What attempts keep of an installation, where a script may have written anything in its place."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tidewheel_agent.source import wheels
from tidewheel_agent.source.packages import Installation

WHEEL = b"a wheel"
DIGEST = hashlib.sha256(WHEEL).hexdigest()
NAME = "a-1.0-py3-none-any.whl"
MANIFEST: dict[str, Any] = {"versions": ["a==1.0"], "wheels": {NAME: DIGEST}}


def packed(manifest: object, files: dict[str, bytes], first: str = "manifest.json") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, data in {first: json.dumps(manifest).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()


def unpack(content: bytes, folder: Path) -> wheels._Kept:
    kept = wheels._Kept()
    with tarfile.open(fileobj=io.BytesIO(content), mode="r|") as archive:
        wheels._unpack(archive, folder, kept)
    return kept


def test_a_whole_archive_gives_its_wheels(tmp_path: Path) -> None:
    kept = unpack(packed(MANIFEST, {NAME: WHEEL}), tmp_path)
    assert [path.read_bytes() for path in kept.wheels] == [WHEEL]
    assert kept.versions == ["a==1.0"]
    assert unpack(packed({**MANIFEST, "wheels": {}}, {}), tmp_path).wheels == []


WHOLE = packed(MANIFEST, {NAME: WHEEL})
OPTION = {**MANIFEST, "versions": ["--index-url=http://elsewhere"]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        WHOLE[:600],
        WHOLE[:1_540],
        packed(MANIFEST, {}),
        packed(MANIFEST, {NAME: b"another"}),
        packed(MANIFEST, {NAME: WHEEL, "b-1.0-py3-none-any.whl": WHEEL}),
        packed({**MANIFEST, "wheels": {"../a.whl": DIGEST}}, {"../a.whl": WHEEL}),
        packed(MANIFEST, {NAME: WHEEL}, first="another"),
        packed(OPTION, {NAME: WHEEL}),
        packed({**MANIFEST, "versions": [3]}, {NAME: WHEEL}),
        packed([], {}),
        packed({**MANIFEST, "wheels": 3}, {}),
    ],
)
def test_anything_else_is_no_archive(content: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(wheels._BROKEN):
        unpack(content, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_wheels_beyond_the_bound_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "MOST_BYTES", len(WHEEL) - 1)
    with pytest.raises(ValueError, match="does not belong there"):
        unpack(WHOLE, tmp_path)


def key_of(file: Path, **environment: str) -> str:
    return wheels._key(Installation("requirements.txt", ("-r", str(file))), environment)


def test_the_key_names_all_that_decides(tmp_path: Path) -> None:
    file, included = tmp_path / "requirements.txt", tmp_path / "base.txt"
    file.write_text("-r base.txt\n")
    included.write_text("a\n")
    before = key_of(file)
    assert key_of(file, LR="3") == before != ""
    assert key_of(file, PIP_EXTRA_INDEX_URL="https://other") != before
    included.write_text("a==2  # the second\n")
    second = key_of(file)
    assert second != before
    included.write_text("a==2\n-r requirements.txt\n")
    assert key_of(file) not in (before, second)
    included.write_text("a @ https://host/${NAME}.whl\n")
    assert key_of(file, NAME="a") != key_of(file, NAME="b")


@pytest.mark.parametrize(
    "line",
    [
        *("./a", "-e .", "a @ file:///a", "--find-links wheels", "-f=wheels", "/a/b.whl"),
        *("a.whl", "wheels/a-1.0-py3-none-any.whl", "libs/mylib", "a-1.0.tar.gz"),
    ],
)
def test_files_of_the_source_have_no_key(tmp_path: Path, line: str) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"b\n{line}\n")
    assert key_of(file) == ""
    file.write_text("b\n--find-links https://host/wheels\n")
    assert key_of(file) != ""
    assert wheels._key(Installation("the source", (".",)), {}) == ""


def test_where_hashes_are_required_nothing_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    given = {wheels.VARIABLE: "us-east-1 s3://bucket/digits/wheels/"}
    wanted = Installation("requirements.txt", ("-r", str(file)), key="0a1b")
    file.write_text("a==1\n")
    found = wheels._place(wanted, given)
    assert found is not None
    assert found.path == "/bucket/digits/wheels/0a1b.tar"
    file.write_text(f"a==1 --hash=sha256:{DIGEST}\n")
    assert wheels._place(wanted, given) is None


@pytest.mark.parametrize(
    ("came", "is_direct", "source"),
    [
        ({"url": "https://index/a-1.0.tar.gz", "archive_info": {}}, False, "a==1.0"),
        ({"url": "https://host/a.whl", "archive_info": {}}, True, "a @ https://host/a.whl"),
        (
            {"url": "https://host/a", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            True,
            "a @ git+https://host/a@0a1b",
        ),
        ({"url": "file:///image/a-1.0.whl", "archive_info": {}}, False, "a==1.0"),
    ],
)
def test_what_was_installed_has_its_source(
    came: dict[str, Any], is_direct: bool, source: str
) -> None:
    metadata = {"name": "a", "version": "1.0"}
    each = {"metadata": metadata, "download_info": came, "is_direct": is_direct}
    assert wheels._source(each) == source


def test_without_wheels_the_versions_stay_if_the_index_has_them(tmp_path: Path) -> None:
    asked: list[Installation] = []

    def install(each: Installation) -> bool:
        asked.append(each)
        return not each.may_fail

    wanted = Installation("requirements.txt", ("-r", "requirements.txt"))
    kept = wheels._Kept(versions=["a==1.0"])
    assert wheels._install_from_index(wanted, kept, tmp_path, install)
    assert asked[0].arguments[2] == "--constraint"
    assert Path(asked[0].arguments[3]).read_text() == "a==1.0\n"
    assert asked[1] == wanted
