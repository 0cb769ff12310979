#!/usr/bin/env python3
"""Stands in for the AWS CLI on a local host, against the emulator that AWS_ENDPOINT_URL names.

Only what the host program calls: s3 cp (also - and --recursive) and s3 sync, --exclude and
--include, s3api list-objects-v2, logs create-log-stream and put-log-events. The standard library
alone, because a host calls it every second or two and boto3 takes half a second to start.
"""

import contextlib
import hashlib
import hmac
import http.client
import itertools
import json
import os
import shutil
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

# Run without site-packages (-I -S): the region's clock lies beside.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clock" / "python"))
import tidewheel_clock as clock

XML = "{http://s3.amazonaws.com/doc/2006-03-01/}"
MARKER = "COMPLETE.json"
"""Written last, so sent last: a reader that sees it in the bucket finds the rest there."""

UNSIGNED = "UNSIGNED-PAYLOAD"
_CHUNK_BYTES = 1 << 16
_STEP_SECONDS = 1.0
"""A fast download does not sleep after every chunk: each sleep takes some milliseconds."""
FILTERS = ("--exclude", "--include")


class AwsError(Exception):
    """The service refused, or cannot be reached."""


class Found(NamedTuple):
    size: int
    changed: float
    """Seconds since the epoch."""


def signed(method: str, path: str, service: str, host: str, body_hash: str) -> dict[str, str]:
    """The headers of Signature Version 4; `path` is as it is sent, with its query in order.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    moment = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{moment[:8]}/{os.environ['AWS_DEFAULT_REGION']}/{service}/aws4_request"
    headers = {"host": host, "x-amz-content-sha256": body_hash, "x-amz-date": moment}
    names = ";".join(headers)
    place, _, query = path.partition("?")
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = f"{method}\n{place}\n{query}\n{lines}\n{names}\n{body_hash}"
    digest = hashlib.sha256(request.encode()).hexdigest()
    key = f"AWS4{os.environ['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return {
        **headers,
        "authorization": f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}",
    }


def in_order(query: dict[str, str]) -> str:
    return urlencode(sorted(query.items()), quote_via=quote)


class Connection:
    """One for all requests of a command."""

    def __init__(self) -> None:
        address = urlsplit(os.environ["AWS_ENDPOINT_URL"])
        self._host = address.netloc
        self._http = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)

    def ask(
        self,
        method: str,
        path: str,
        service: str,
        body: bytes | BinaryIO | None = None,
        more: dict[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        # S3 alone takes a body whose hash is not signed: a file is sent while it is read.
        is_hashed = service != "s3"
        body_hash = (
            hashlib.sha256(body).hexdigest() if is_hashed and isinstance(body, bytes) else UNSIGNED
        )
        headers = signed(method, path, service, self._host, body_hash)
        self._http.request(method, path, body, {**headers, **(more or {})})
        answer = self._http.getresponse()
        if answer.status >= 300:
            raise AwsError(f"{answer.status} {answer.read().decode(errors='replace')[:500]}")
        return answer

    def get(self, bucket: str, key: str) -> http.client.HTTPResponse:
        return self.ask("GET", f"/{bucket}/{quote(key)}", "s3")

    def put(self, bucket: str, key: str, body: bytes | BinaryIO, size: int) -> None:
        length = {"content-length": str(size)}
        self.ask("PUT", f"/{bucket}/{quote(key)}", "s3", body, length).read()

    def below(self, bucket: str, prefix: str) -> dict[str, Found]:
        """What lies there, by key."""
        found: dict[str, Found] = {}
        query = {"list-type": "2", "prefix": prefix}
        while True:
            page = ElementTree.fromstring(
                self.ask("GET", f"/{bucket}?{in_order(query)}", "s3").read()
            )
            for item in page.iter(f"{XML}Contents"):
                changed = item.findtext(f"{XML}LastModified", "").replace("Z", "+00:00")
                found[item.findtext(f"{XML}Key", "")] = Found(
                    int(item.findtext(f"{XML}Size", "0")),
                    datetime.fromisoformat(changed).timestamp(),
                )
            token = page.findtext(f"{XML}NextContinuationToken")
            if not token:
                return found
            query["continuation-token"] = token

    def logs(self, action: str, body: dict[str, object]) -> None:
        kind = {
            "content-type": "application/x-amz-json-1.1",
            "x-amz-target": f"Logs_20140328.{action}",
        }
        self.ask("POST", "/", "logs", json.dumps(body).encode(), kind).read()


def split(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def download(aws: Connection, bucket: str, key: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    answer = aws.get(bucket, key)
    with part.open("wb") as file:
        if rate := float(os.environ.get("LOCAL_S3_BYTES_PER_SECOND") or 0):
            copy_at(rate, answer, file)
        else:
            shutil.copyfileobj(answer, file)
    changed = parsedate_to_datetime(answer.headers["last-modified"]).timestamp() - ahead_seconds()
    os.utime(part, (changed, changed))
    part.replace(target)


def copy_at(bytes_per_second: float, source: http.client.HTTPResponse, target: BinaryIO) -> None:
    """As an instance's network would bring it, by the region's clock: the host's reports see it."""
    began, done = clock.now(), 0
    while chunk := source.read(_CHUNK_BYTES):
        target.write(chunk)
        target.flush()
        done += len(chunk)
        due = began + done / bytes_per_second
        if due - clock.now() >= _STEP_SECONDS:
            clock.sleep_until(due)
    clock.sleep_until(began + done / bytes_per_second)


def ahead_seconds() -> float:
    """Of a virtual clock: it dates S3's objects, and the machine's clock dates files."""
    return clock.now() - time.time() if os.environ.get("TIDEWHEEL_CLOCK_FILE") else 0.0


def upload(aws: Connection, path: Path, bucket: str, key: str) -> None:
    with path.open("rb") as file:
        aws.put(bucket, key, file, os.fstat(file.fileno()).st_size)


def sync(aws: Connection, folder: Path, uri: str, filters: list[tuple[str, str]]) -> None:
    """As the CLI does: what has another size there, or was changed since."""
    bucket, prefix = split(uri.rstrip("/") + "/")
    there = aws.below(bucket, prefix)
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: (path.name == MARKER, path)):
        key = f"{prefix}{path.relative_to(folder)}"
        if not is_wanted(key.removeprefix(prefix), filters):
            continue
        # What the script has removed meanwhile is left out.
        with contextlib.suppress(FileNotFoundError):
            state = path.stat()
            same = there.get(key)
            changed = state.st_mtime + ahead_seconds()
            if same is None or same.size != state.st_size or same.changed < changed:
                upload(aws, path, bucket, key)


def is_wanted(name: str, filters: Iterable[tuple[str, str]]) -> bool:
    """The last filter that fits decides."""
    wanted = True
    for kind, pattern in filters:
        if fnmatchcase(name, pattern):
            wanted = kind == "--include"
    return wanted


def fetch(aws: Connection, uri: str, folder: Path, filters: list[tuple[str, str]]) -> None:
    bucket, prefix = split(uri)
    for key in aws.below(bucket, prefix):
        name = key.removeprefix(prefix).lstrip("/")
        if name == "" or name.endswith("/") or ".." in name.split("/"):
            continue  # As the CLI does: nothing is written outside the folder.
        if is_wanted(name, filters):
            download(aws, bucket, key, folder / name)


def read_copy(options: list[str]) -> tuple[tuple[str, str], list[tuple[str, str]]]:
    """Source and target, which the host program names before any filter, and the filters."""
    filters = [pair for pair in itertools.pairwise(options) if pair[0] in FILTERS]
    source, target = [o for o in options if o == "-" or not o.startswith("-")][:2]
    return (source, target), filters


def copy(aws: Connection, options: list[str]) -> None:
    (source, target), filters = read_copy(options)
    if target == "-":
        sys.stdout.buffer.write(aws.get(*split(source)).read())
    elif "--recursive" in options:
        fetch(aws, source, Path(target), filters)
    elif source.startswith("s3://"):
        download(aws, *split(source), Path(target))
    elif source == "-":
        body = sys.stdin.buffer.read()
        aws.put(*split(target), body, len(body))
    else:
        upload(aws, Path(source), *split(target))


def write_log(aws: Connection, command: str, options: list[str]) -> None:
    values = dict(itertools.pairwise(options))
    place: dict[str, object] = {
        "logGroupName": values["--log-group-name"],
        "logStreamName": values["--log-stream-name"],
    }
    if command == "create-log-stream":
        aws.logs("CreateLogStream", place)
    else:
        events = Path(values["--log-events"].removeprefix("file://")).read_text()
        aws.logs("PutLogEvents", {**place, "logEvents": json.loads(events)})


def run(service: str, command: str, options: list[str]) -> None:
    aws = Connection()
    if service == "logs":
        write_log(aws, command, options)
    elif service == "s3api":
        values = dict(itertools.pairwise(options))
        found = aws.below(values["--bucket"], values["--prefix"])
        contents = [{"Key": key, "Size": item.size} for key, item in found.items()]
        print(json.dumps({"Contents": contents}) if contents else "")
    elif command == "sync":
        (source, target), filters = read_copy(options)
        sync(aws, Path(source), target, filters)
    else:
        copy(aws, options)


def main() -> int:
    service, command, *options = sys.argv[1:]
    try:
        run(service, command, options)
    except (AwsError, OSError, http.client.HTTPException) as error:
        print(f"fatal error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
