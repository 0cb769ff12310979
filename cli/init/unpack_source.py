"""Unpacks a sourcedir.tar.gz into a new folder: `python3 unpack_source.py ARCHIVE FOLDER`.

The archive is foreign: no file lands outside of the folder, no link or device is made, and its
size is bounded.
"""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

_MOST_BYTES = 64 * 2**20
_MOST_MEMBERS = 5_000


class Refused(Exception):
    """The message says what the archive holds."""


def unpack(archive: Path, folder: Path) -> dict[str, int]:
    """Nothing is written before all of it is known to be whole and allowed.

    Raises Refused, OSError, tarfile.TarError.
    """
    root = folder.resolve()
    files = size = 0
    with tarfile.open(archive, "r|gz") as tar:
        for member in tar:
            _check(member, root)
            files, size = files + 1, size + member.size
            if files > _MOST_MEMBERS or size > _MOST_BYTES:
                raise Refused(f"it holds more than {_MOST_MEMBERS} members or {_MOST_BYTES} bytes")
    root.mkdir(parents=True)
    with tarfile.open(archive, "r|gz") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                place = root / member.name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content.read())
    return {"members": files, "bytes": size}


def _check(member: tarfile.TarInfo, root: Path) -> None:
    place = (root / member.name).resolve()
    if place != root and root not in place.parents:
        raise Refused(f"it holds a file outside its folder: {member.name!r}")
    if not member.isreg() and not member.isdir():
        raise Refused(f"it holds a link or device: {member.name!r}")


if __name__ == "__main__":
    try:
        print(json.dumps(unpack(Path(sys.argv[1]), Path(sys.argv[2]))))
    except (Refused, OSError, ValueError, EOFError, tarfile.TarError) as error:
        print(json.dumps({"problem": str(error)[:300]}))
