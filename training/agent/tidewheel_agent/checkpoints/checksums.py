"""What S3's ETag of a checkpoint file will be, for the service that compares it with the bucket's.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html, field ETag: the MD5 of an object
that came in one part; else the MD5 of its parts' MD5s and their number. A file that a script
overwrites with as many bytes looks the same by its size, before and after its upload.
"""

import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_LARGEST_BYTES = 512 << 20
"""A second of reading, in which the agent looks at nothing else."""
_PART_BYTES = 8 << 20
"""Of the AWS CLI and boto3 (`multipart_chunksize`), which send smaller files in one part."""
_MOST_SECONDS = 1.0
"""After which a call begins no other file."""
_SHARE_OF_TIME = 0.05


class Checksums:
    """Reads each version of a file once, and takes at most 5 % of the time."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._known: dict[str, tuple[tuple[int, int], str]] = {}
        self._next = clock()

    def of(self, names: Iterable[str]) -> dict[str, str]:
        """By name. A file that is large, busy or gone has none, and neither has any while the last
        reading was too short a time ago."""
        now = self._clock()
        known = {name: self._known[name] for name in names if name in self._known}
        reads, last = now >= self._next, now
        found: dict[str, tuple[tuple[int, int], str]] = {}
        for name in names:
            try:
                version = self._version(name)
                if name in known and known[name][0] == version:
                    found[name] = known[name]
                elif reads and version[0] <= _LARGEST_BYTES and last < now + _MOST_SECONDS:
                    etag, last = self._read(name), self._clock()
                    if self._version(name) == version:
                        found[name] = (version, etag)
            except OSError:
                continue
        self._known = found
        if reads:
            self._next = last + (last - now) * (1 / _SHARE_OF_TIME - 1)
        return {name: etag for name, (_, etag) in found.items()}

    def _version(self, name: str) -> tuple[int, int]:
        state = (self._folder / name).stat()
        return state.st_size, state.st_mtime_ns

    def _read(self, name: str) -> str:
        parts = []
        with (self._folder / name).open("rb") as file:
            while part := file.read(_PART_BYTES):
                parts.append(hashlib.md5(part, usedforsecurity=False))
        if len(parts) < 2:
            return (parts or [hashlib.md5(usedforsecurity=False)])[0].hexdigest()
        whole = hashlib.md5(b"".join(part.digest() for part in parts), usedforsecurity=False)
        return f"{whole.hexdigest()}-{len(parts)}"
