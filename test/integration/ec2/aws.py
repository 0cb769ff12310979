#!/usr/bin/env python3
"""Stands in for the AWS CLI on a host, against the S3 that AWS_ENDPOINT_URL names.

Only what the host program calls: s3 cp (also - and --recursive), s3 sync, s3api list-objects-v2,
logs create-log-stream and put-log-events.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

s3: Any = boto3.client("s3")


def split(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def objects_below(bucket: str, prefix: str) -> dict[str, int]:
    """Bytes by key."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return {str(i["Key"]): int(i["Size"]) for page in pages for i in page.get("Contents", [])}


def download(bucket: str, key: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(s3.get_object(Bucket=bucket, Key=key)["Body"].read())


def upload(folder: Path, uri: str) -> None:
    bucket, prefix = split(uri)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            key = f"{prefix.rstrip('/')}/{path.relative_to(folder)}"
            s3.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())


def copy(options: list[str]) -> None:
    source, target = [o for o in options if o == "-" or not o.startswith("-")][:2]
    if target == "-":
        bucket, key = split(source)
        sys.stdout.write(s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode())
    elif "--recursive" in options:
        bucket, prefix = split(source)
        for key in objects_below(bucket, prefix):
            download(bucket, key, Path(target) / key.removeprefix(prefix))
    elif source.startswith("s3://"):
        download(*split(source), Path(target))
    else:
        bucket, key = split(target)
        body = sys.stdin.read().encode() if source == "-" else Path(source).read_bytes()
        s3.put_object(Bucket=bucket, Key=key, Body=body)


def write_log(command: str, options: list[str]) -> None:
    told = dict(itertools.pairwise(options))
    place = {
        "logGroupName": told["--log-group-name"],
        "logStreamName": told["--log-stream-name"],
    }
    logs: Any = boto3.client("logs")
    if command == "create-log-stream":
        logs.create_log_stream(**place)
    else:
        events = Path(told["--log-events"].removeprefix("file://")).read_text()
        logs.put_log_events(**place, logEvents=json.loads(events))


def main() -> int:
    service, command, *options = sys.argv[1:]
    try:
        if service == "logs":
            write_log(command, options)
        elif service == "s3api":
            bucket = options[options.index("--bucket") + 1]
            prefix = options[options.index("--prefix") + 1]
            found = objects_below(bucket, prefix)
            contents = [{"Key": key, "Size": size} for key, size in found.items()]
            print(json.dumps({"Contents": contents}) if contents else "")
        elif command == "sync":
            source, target = [o for o in options if not o.startswith("--")]
            upload(Path(source), target)
        else:
            copy(options)
    except (ClientError, OSError) as error:
        print(f"fatal error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
