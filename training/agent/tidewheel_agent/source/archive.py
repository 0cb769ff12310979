"""Unpacks the source that the run is pinned to: one archive, known by the hash of its bytes.

The service packs regular files only (functions/launch/source/pin-source.ts). An archive
from elsewhere may hold links, or names that lead out of the folder: it is refused before any file
is written.
"""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from pathlib import Path

from ..configuration.settings import ConfigurationError

ARCHIVE = "source.zip"


def unpack_source(archive: Path, digest: str, target: Path) -> None:
    """Raises ConfigurationError if the hash differs or a member is no regular file."""
    try:
        content = archive.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            [f"the packed source {archive} cannot be read ({error}): start a new run"]
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ConfigurationError(
            [f"{archive} has the hash {found}, this run's source {digest}: start a new run"]
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = packed.infolist()
            _require_regular_files(archive, members)
            for member in members:
                path = target.joinpath(*member.filename.split("/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed.read(member))
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise ConfigurationError([f"{archive} cannot be unpacked: {error}"]) from error


def _require_regular_files(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    problems = [
        f"{archive} holds {member.orig_filename!r}, which {why}: pack the source again"
        for member in members
        if (why := _problem_of(member))
    ]
    if problems:
        raise ConfigurationError(problems)


def _problem_of(member: zipfile.ZipInfo) -> str:
    # The name as the archive has it: zipfile cuts `filename` at a NUL.
    name = member.orig_filename
    if any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
        return "leads out of its folder"
    kind = stat.S_IFMT(member.external_attr >> 16)
    return "" if kind in (0, stat.S_IFREG) else "is no regular file"
