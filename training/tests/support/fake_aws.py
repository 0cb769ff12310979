"""A stand-in for the AWS CLI: `s3://bucket/key` is the file FAKE_S3/bucket/key.

It has only the calls of the host program: s3 cp (also - and --recursive), s3 sync, s3api
list-objects-v2, logs create-log-stream and put-log-events.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import os
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(os.environ["FAKE_S3"])


def local(name: str) -> Path:
    return ROOT / name.removeprefix("s3://") if name.startswith("s3://") else Path(name)


def place(source: Path, target: Path) -> None:
    """Copies whole or not at all, as S3 writes an object."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(source, temporary)
    temporary.replace(target)


def is_included(name: str, options: list[str]) -> bool:
    included = True
    for option, pattern in itertools.pairwise(options):
        if option in ("--include", "--exclude") and fnmatch.fnmatch(name, pattern):
            included = option == "--include"
    return included


def files_below(prefix: str) -> dict[str, Path]:
    """Files by relative name: in S3 those whose key has the prefix, else those in the folder."""
    path = local(prefix)
    base = path if path.is_dir() else path.parent
    # It follows links, as the AWS CLI does.
    walked = os.walk(base, followlinks=True)
    found = {os.path.relpath(f, base): f for w, _, n in walked for f in map(Path(w).joinpath, n)}
    return {name: file for name, file in found.items() if not file.name.startswith(".")}


def copy(options: list[str]) -> None:
    names = [o for o in options if o == "-" or o.startswith("s3://") or o.startswith("/")]
    source, target = names[0], names[1]
    if source == "-":
        path = local(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(sys.stdin.read(), encoding="utf-8")
        temporary.replace(path)
    elif target == "-":
        sys.stdout.write(local(source).read_text(encoding="utf-8"))
    elif "--recursive" in options:
        for name, file in files_below(source).items():
            if is_included(name, options):
                place(file, local(target) / name)
    else:
        place(local(source), local(target))


def write_log(command: str, options: list[str]) -> None:
    """Writes to FAKE_S3/logs/group/stream, which must exist for events, as in CloudWatch."""
    arguments = dict(itertools.pairwise(options))
    path = ROOT / "logs" / arguments["--log-group-name"].strip("/") / arguments["--log-stream-name"]
    if command == "create-log-stream":
        if path.exists():
            raise OSError("ResourceAlreadyExistsException")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return
    if os.environ.get("FAKE_LOGS_FAIL"):
        raise OSError("the log fails")
    events = json.loads(Path(arguments["--log-events"].removeprefix("file://")).read_text())
    with path.open("r+", encoding="utf-8") as file:
        file.seek(0, os.SEEK_END)
        file.writelines(f"{event['message']}\n" for event in events)


def wait(arguments: list[str]) -> None:
    """A download of FAKE_S3_HOLDS is at work until the file FAKE_S3_HOLDS_UNTIL exists."""
    words = os.environ.get("FAKE_S3_HOLDS", "")
    while words and words in " ".join(arguments):
        if Path(os.environ["FAKE_S3_HOLDS_UNTIL"]).exists():
            return
        time.sleep(0.05)


def failure(arguments: list[str]) -> str:
    """Of a call whose words contain FAKE_S3_FAILS, until the file FAKE_S3_FAILS_UNTIL exists."""
    words, _, problem = os.environ.get("FAKE_S3_FAILS", "").partition("=")
    until = os.environ.get("FAKE_S3_FAILS_UNTIL", "")
    is_hit = words and words in " ".join(arguments) and not (until and Path(until).exists())
    return problem if is_hit else ""


def main() -> int:
    service, command, *options = sys.argv[1:]
    wait(sys.argv[1:])
    try:
        problem = failure(sys.argv[1:])
        if problem:
            raise OSError(problem)
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
                if not is_included(name, options):
                    continue
                # The sync reports success, but files named in FAKE_S3_LOSES never arrive.
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
