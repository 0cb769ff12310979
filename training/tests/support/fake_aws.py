#!/usr/bin/env python3
"""Stands in for the AWS CLI in tests: `s3://bucket/key` is the file FAKE_S3/bucket/key.

Only what the host program calls: s3 cp (also - and --recursive), s3 sync, s3api
list-objects-v2, logs create-log-stream and put-log-events.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(os.environ["FAKE_S3"])


def local(name: str) -> Path:
    return ROOT / name.removeprefix("s3://") if name.startswith("s3://") else Path(name)


def place(source: Path, target: Path) -> None:
    """Whole or not at all, as an object is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(source, half)
    half.replace(target)


def wanted(name: str, options: list[str]) -> bool:
    verdict = True
    for option, pattern in itertools.pairwise(options):
        if option in ("--include", "--exclude") and fnmatch.fnmatch(name, pattern):
            verdict = option == "--include"
    return verdict


def files_below(prefix: str) -> dict[str, Path]:
    """Relative names: for S3 everything whose key begins so, for a folder everything in it."""
    path = local(prefix)
    base = path if path.is_dir() else path.parent
    found = {str(f.relative_to(base)): f for f in base.rglob("*") if f.is_file()}
    return {name: file for name, file in found.items() if not file.name.startswith(".")}


def copy(options: list[str]) -> None:
    names = [o for o in options if o == "-" or o.startswith("s3://") or o.startswith("/")]
    source, target = names[0], names[1]
    if source == "-":
        path = local(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f".{path.name}.{os.getpid()}")
        half.write_text(sys.stdin.read(), encoding="utf-8")
        half.replace(path)
    elif target == "-":
        sys.stdout.write(local(source).read_text(encoding="utf-8"))
    elif "--recursive" in options:
        for name, file in files_below(source).items():
            if wanted(name, options):
                place(file, local(target) / name)
    else:
        place(local(source), local(target))


def write_log(command: str, options: list[str]) -> None:
    """FAKE_S3/logs/group/stream; as CloudWatch, events only into a stream that was made."""
    told = dict(itertools.pairwise(options))
    path = ROOT / "logs" / told["--log-group-name"].strip("/") / told["--log-stream-name"]
    if command == "create-log-stream":
        if path.exists():
            raise OSError("ResourceAlreadyExistsException")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return
    if os.environ.get("FAKE_LOGS_ARE_AWAY"):
        raise OSError("the log is away")
    events = json.loads(Path(told["--log-events"].removeprefix("file://")).read_text())
    with path.open("r+", encoding="utf-8") as file:
        file.seek(0, os.SEEK_END)
        file.writelines(f"{event['message']}\n" for event in events)


def main() -> int:
    service, command, *options = sys.argv[1:]
    try:
        if (service, command) == ("s3api", "list-objects-v2"):
            bucket = options[options.index("--bucket") + 1]
            prefix = options[options.index("--prefix") + 1]
            found = files_below(f"s3://{bucket}/{prefix}")
            objects = [
                {"Key": prefix + name, "Size": file.stat().st_size} for name, file in found.items()
            ]
            print(json.dumps({"Contents": objects}) if objects else "")
        elif service == "logs":
            write_log(command, options)
        elif command == "sync":
            source, target = [o for o in options if not o.startswith("--")][:2]
            for name, file in files_below(source).items():
                if not wanted(name, options):
                    continue
                # Says that it has done all, and has not: FAKE_S3_LOSES names what never arrives.
                if not fnmatch.fnmatch(name, os.environ.get("FAKE_S3_LOSES", "")):
                    place(file, local(target) / name)
        else:
            copy(options)
    except OSError as error:
        print(f"fatal error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
