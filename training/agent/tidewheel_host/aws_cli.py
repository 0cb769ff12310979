"""S3 and CloudWatch Logs through the AWS CLI, which every Deep Learning AMI has.

Arguments are lists, so no shell reads a name.
"""

from __future__ import annotations

import glob
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path


class AwsCliError(Exception):
    """The AWS CLI failed after its own retries and ours."""


class DiskFullError(AwsCliError):
    """This host has no room for what it downloads or writes."""


class DownloadStoppedError(Exception):
    """The host has to leave, so the rest of its download is of no use."""


_ATTEMPTS = 12
"""The pauses between them add up to 198 s, for a slow NAT gateway or S3's 503 to a whole gang."""
_LONGEST_PAUSE_SECONDS = 45.0
_ATTEMPTS_IF_REFUSED = 4
"""The credentials of a role can be some seconds late."""
_REFUSED = re.compile(r"\((AccessDenied|403|NoSuchBucket|NoSuchKey|404)\)")
_DISK_FULL = ("No space left on device", "[Errno 28]")
_FEW_KEYS = 200
"""So many names cost no time beside the objects that a command compares with them."""
_MOST_ARGUMENT_BYTES = 1_000_000
"""Linux takes 2 MB, the environment included."""
_POINTER_BYTES = 9
"""Each argument costs a pointer, and the zero behind it."""


def split_uri(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


class AwsCli:
    """Small objects as text, folders by copy and sync. Every method raises AwsCliError."""

    def __init__(
        self,
        program: str = "aws",
        pause_seconds: float = 3.0,
        must_stop: Callable[[], bool] = lambda: False,
        look_seconds: float = 5.0,
    ) -> None:
        """`must_stop` ends a download. Downloads call it every `look_seconds`."""
        self._program = program
        self._pause_seconds = pause_seconds
        self._must_stop = must_stop
        self._look_seconds = look_seconds

    def stopping(self, must_stop: Callable[[], bool], look_seconds: float) -> AwsCli:
        """The same, whose downloads raise DownloadStoppedError once `must_stop` holds."""
        return AwsCli(self._program, self._pause_seconds, must_stop, look_seconds)

    def _run(
        self,
        *arguments: str,
        text: str | None = None,
        tries: int = _ATTEMPTS,
        may_stop: bool = False,
    ) -> str:
        problem = ""
        for attempt in range(1, tries + 1):
            try:
                ended = self._watched(arguments) if may_stop else self._whole(arguments, text)
            except OSError as error:
                # Memory, or processes, may be there at the next attempt.
                ended = subprocess.CompletedProcess(arguments, 1, "", str(error))
            if ended.returncode == 0:
                return ended.stdout
            problem = ended.stderr.strip()[-500:]
            if any(words in problem for words in _DISK_FULL):
                raise DiskFullError(f"aws {' '.join(arguments[:2])} failed: {problem}")
            if attempt >= (_ATTEMPTS_IF_REFUSED if _REFUSED.search(problem) else tries):
                break
            if may_stop and self._must_stop():
                raise DownloadStoppedError
            time.sleep(min(self._pause_seconds * attempt, _LONGEST_PAUSE_SECONDS))
        raise AwsCliError(f"aws {' '.join(arguments[:2])} failed: {problem}")

    def _whole(
        self, arguments: tuple[str, ...], text: str | None
    ) -> subprocess.CompletedProcess[str]:
        command = [self._program, *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    def _watched(self, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        command = [self._program, *arguments]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            while True:
                try:
                    out, problem = process.communicate(timeout=self._look_seconds)
                except subprocess.TimeoutExpired:
                    if self._must_stop():
                        process.kill()
                        raise DownloadStoppedError from None
                else:
                    return subprocess.CompletedProcess(command, process.returncode, out, problem)

    def read(self, uri: str) -> str:
        return self._run("s3", "cp", uri, "-")

    def read_if_there(self, uri: str) -> str | None:
        """The object, or None when it is missing or S3 does not answer: the caller tries again."""
        try:
            return self._run("s3", "cp", uri, "-", tries=1)
        except AwsCliError:
            return None

    def write(self, uri: str, text: str, tries: int | None = None) -> None:
        self._run("s3", "cp", "-", uri, text=text, tries=tries or _ATTEMPTS)

    def put(self, path: Path, uri: str) -> None:
        self._run("s3", "cp", "--only-show-errors", str(path), uri)

    def keys(self, uri: str, tries: int = _ATTEMPTS) -> list[str]:
        """Sorted keys below a prefix, relative to it."""
        return sorted(self.sizes(uri, tries))

    def sizes(self, uri: str, tries: int = _ATTEMPTS) -> dict[str, int]:
        """Bytes of each object below a prefix, by its key relative to the prefix."""
        bucket, prefix = split_uri(uri)
        arguments = ("--bucket", bucket, "--prefix", prefix, "--output", "json")
        reply = self._run("s3api", "list-objects-v2", *arguments, tries=tries)
        objects = json.loads(reply.strip() or "{}").get("Contents") or []
        return {str(item["Key"])[len(prefix) :]: int(item["Size"]) for item in objects}

    def copy_down(self, uri: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._copy_some(uri, folder, [])

    def copy_keys_down(self, uri: str, keys: list[str], folder: Path) -> None:
        """Copies only these keys below the prefix."""
        folder.mkdir(parents=True, exist_ok=True)
        wanted = {folder / key for key in keys}
        # Each command lists the whole prefix, and compares each object with each name.
        others = self.keys(uri) if len(keys) > _FEW_KEYS else []
        others = [key for key in others if folder / key not in wanted]
        if len(keys) > max(_FEW_KEYS, len(others)):
            self._copy_some(uri, folder, _filters("--exclude", others[:_FEW_KEYS]))
            for path in folder.rglob("*"):
                if path.is_file() and path not in wanted:
                    path.unlink()
            return
        for some in _by_bytes(_filters("--include", keys)):
            self._copy_some(uri, folder, ["--exclude", "*", *some])

    def _copy_some(self, uri: str, folder: Path, filters: list[str]) -> None:
        arguments = ("--recursive", "--only-show-errors", uri, str(folder))
        self._run("s3", "cp", *arguments, *filters, may_stop=True)

    def sync_up(
        self, folder: Path, uri: str, exclude: Iterable[str] = (), links: Iterable[str] = ()
    ) -> None:
        """Uploads the folder except the files in `exclude`, and `links`, which it would follow.

        It deletes nothing, because all hosts of the run share the prefix.
        """
        if not folder.is_dir():
            return
        skipped, folders = {*exclude, *links}, tuple(f"{link}/" for link in links)
        skip = _filters("--exclude", sorted(skipped))
        skip += [part for each in folders for part in ("--exclude", f"{glob.escape(each)}*")]
        filters = [skip]
        if _bytes_of(skip) > _MOST_ARGUMENT_BYTES:
            files = (path for path in folder.rglob("*") if path.is_file())
            names = sorted({path.relative_to(folder).as_posix() for path in files} - skipped)
            wanted = _filters("--include", [n for n in names if not n.startswith(folders)])
            filters = [["--exclude", "*", *some] for some in _by_bytes(wanted)]
        for some in filters:
            self._run("s3", "sync", "--only-show-errors", str(folder), uri, *some)

    def create_log_stream(self, group: str, stream: str) -> None:
        """Does nothing if the stream exists."""
        try:
            self._run("logs", "create-log-stream", *_stream(group, stream), tries=2)
        except AwsCliError as error:
            if "ResourceAlreadyExistsException" not in str(error):
                raise

    def put_log_events(self, group: str, stream: str, events: Path) -> None:
        """`events`: a file with a JSON list of {timestamp in milliseconds, message}."""
        arguments = ("--log-events", f"file://{events}", "--output", "json")
        self._run("logs", "put-log-events", *_stream(group, stream), *arguments, tries=2)

    def missing(self, folder: Path, uri: str) -> list[str]:
        """Files of a folder that S3 does not hold with all their bytes, whatever a sync reported.

        Hidden files and those that end in .tmp are still being written and do not count.
        """
        uploaded = self.sizes(uri.rstrip("/") + "/")
        files = [path for path in folder.rglob("*") if path.is_file()]
        names = {str(path.relative_to(folder)): path.stat().st_size for path in files}
        return sorted(
            name
            for name, size in names.items()
            if uploaded.get(name) != size and not _is_temporary(name)
        )


def _bytes_of(arguments: Iterable[str]) -> int:
    return sum(len(each.encode()) + _POINTER_BYTES for each in arguments)


def _by_bytes(filters: list[str]) -> Iterable[list[str]]:
    """Parts of options with their values, each within what one command holds."""
    some: list[str] = []
    size = 0
    for at in range(0, len(filters), 2):
        pair = filters[at : at + 2]
        size += _bytes_of(pair)
        if some and size > _MOST_ARGUMENT_BYTES:
            yield some
            some, size = [], _bytes_of(pair)
        some += pair
    if some:
        yield some


def _filters(option: str, names: Iterable[str]) -> list[str]:
    return [part for name in names for part in (option, glob.escape(name))]


def _stream(group: str, stream: str) -> tuple[str, ...]:
    return ("--log-group-name", group, "--log-stream-name", stream)


def _is_temporary(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith(".") or last.endswith(".tmp")
