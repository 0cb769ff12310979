"""S3 and the log through the AWS CLI, which every Deep Learning AMI brings.

Arguments are lists: no shell sees a name.
"""

from __future__ import annotations

import glob
import json
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path


class CloudError(Exception):
    """The AWS CLI failed, also after its own retries and ours."""


_ATTEMPTS = 4
_KEYS_A_COMMAND = 200
"""A command line holds about 2 MB; names of shards are short."""


def split_uri(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


class Cloud:
    """Small files as text, folders by copy and sync."""

    def __init__(self, program: str = "aws", pause_seconds: float = 3.0) -> None:
        self._program = program
        self._pause_seconds = pause_seconds

    def _run(self, *arguments: str, text: str | None = None, tries: int = _ATTEMPTS) -> str:
        problem = ""
        for attempt in range(tries):
            done = subprocess.run(
                [self._program, *arguments], input=text, capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                return done.stdout
            problem = done.stderr.strip()[-500:]
            if attempt + 1 < tries:
                time.sleep(self._pause_seconds * (attempt + 1))
        raise CloudError(f"aws {' '.join(arguments[:2])} failed: {problem}")

    def read(self, uri: str) -> str:
        return self._run("s3", "cp", uri, "-")

    def read_if_there(self, uri: str) -> str | None:
        """None when it is not there, and when it cannot be asked now: the caller asks again."""
        try:
            return self._run("s3", "cp", uri, "-", tries=1)
        except CloudError:
            return None

    def write(self, uri: str, text: str) -> None:
        self._run("s3", "cp", "-", uri, text=text)

    def put(self, path: Path, uri: str) -> None:
        self._run("s3", "cp", "--only-show-errors", str(path), uri)

    def keys(self, uri: str, tries: int = _ATTEMPTS) -> list[str]:
        """Keys below a prefix, relative to it, in order."""
        return sorted(self.sizes(uri, tries))

    def sizes(self, uri: str, tries: int = _ATTEMPTS) -> dict[str, int]:
        """Bytes of each object below a prefix, by its key relative to that."""
        bucket, prefix = split_uri(uri)
        place = ("--bucket", bucket, "--prefix", prefix)
        said = self._run("s3api", "list-objects-v2", *place, "--output", "json", tries=tries)
        found = json.loads(said.strip() or "{}").get("Contents") or []
        return {str(item["Key"])[len(prefix) :]: int(item["Size"]) for item in found}

    def copy_down(self, uri: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._run("s3", "cp", "--recursive", "--only-show-errors", uri, str(folder))

    def copy_keys_down(self, uri: str, keys: list[str], folder: Path) -> None:
        """Only these keys below the prefix."""
        folder.mkdir(parents=True, exist_ok=True)
        for start in range(0, len(keys), _KEYS_A_COMMAND):
            wanted = keys[start : start + _KEYS_A_COMMAND]
            include = [part for key in wanted for part in ("--include", key)]
            self._run(
                "s3",
                "cp",
                "--recursive",
                "--only-show-errors",
                uri,
                str(folder),
                "--exclude",
                "*",
                *include,
            )

    def sync_up(self, folder: Path, uri: str, but: Iterable[str] = ()) -> None:
        """Without --delete: the prefix is shared by all hosts of the run.

        `but`: names of files that stay here.
        """
        if folder.is_dir():
            left = [part for name in sorted(but) for part in ("--exclude", glob.escape(name))]
            self._run("s3", "sync", "--only-show-errors", str(folder), uri, *left)

    def create_log_stream(self, group: str, stream: str) -> None:
        """A stream that is there already is as it should be."""
        try:
            self._run("logs", "create-log-stream", *_stream(group, stream), tries=2)
        except CloudError as error:
            if "ResourceAlreadyExistsException" not in str(error):
                raise

    def put_log_events(self, group: str, stream: str, events: Path) -> None:
        """`events`: a file with a JSON list of {timestamp in milliseconds, message}."""
        told = ("--log-events", f"file://{events}", "--output", "json")
        self._run("logs", "put-log-events", *_stream(group, stream), *told, tries=2)

    def missing(self, folder: Path, uri: str) -> list[str]:
        """Files of a folder that are not below the prefix with all their bytes, whatever a sync
        said. What is being written (.tmp, or hidden) is not counted."""
        there = self.sizes(uri.rstrip("/") + "/")
        files = [path for path in folder.rglob("*") if path.is_file()]
        names = {str(path.relative_to(folder)): path.stat().st_size for path in files}
        return sorted(
            name
            for name, size in names.items()
            if there.get(name) != size and not _is_temporary(name)
        )


def _stream(group: str, stream: str) -> tuple[str, ...]:
    return ("--log-group-name", group, "--log-stream-name", stream)


def _is_temporary(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith(".") or last.endswith(".tmp")
