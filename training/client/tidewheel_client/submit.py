"""Sends a folder of code and its data, as `tidewheel drop` does."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .deployment import Deployment
from .http import Api, TidewheelError

_FILE = "tidewheel.yaml"
_NEVER = {"venv", "__pycache__", "node_modules"}
_MOST_SOURCE_BYTES = 64 * 2**20
_MOST_SOURCE_FILES = 5_000
_MOST_WHOLE_BYTES = 8 * 2**20
"""boto3 sends larger files in parts, whose ETag says nothing of their bytes."""
_MOST_KEYS = 1_000


def declare(
    api: Api, folder: Path, pipeline: str | None, declaration: dict[str, Any] | None
) -> str:
    """Declares the pipeline as given, or as the folder says. Returns its name."""
    if declaration is None:
        text = _declared_in(folder, pipeline)
        if text is None:
            return str(pipeline)
        found = re.search(r"^name:\s*[\"']?([a-z0-9-]+)", text, re.MULTILINE)
        name = pipeline or (found[1] if found else None)
    else:
        name = pipeline or declaration.get("name")
        text = json.dumps({"name": name, **declaration})
    if name is None:
        raise TidewheelError('the declaration has no name: give pipeline="…"')
    api.call("putPipeline", {"name": name}, text)
    return str(name)


def _declared_in(folder: Path, pipeline: str | None) -> str | None:
    for each in (folder, folder.parent):
        if (each / _FILE).is_file():
            return (each / _FILE).read_text(encoding="utf-8")
    if pipeline is not None:
        return None
    raise TidewheelError(
        f"there is no {_FILE} in {folder}: write one with `npx --no-install tidewheel init`, "
        "or give declaration={…}, or the name of a declared pipeline"
    )


def send_source(deployment: Deployment, name: str, folder: Path, data: Path | None) -> None:
    """Makes the pipeline's source equal to the folder."""
    files = dict(_files(folder, data))
    size = sum(file.stat().st_size for file in files.values())
    if size > _MOST_SOURCE_BYTES or len(files) > _MOST_SOURCE_FILES:
        raise TidewheelError(
            f"{folder} has {len(files)} files of {size} bytes, and may have {_MOST_SOURCE_FILES} "
            f"of {_MOST_SOURCE_BYTES}: give the folder of the code alone, and data=…"
        )
    prefix = f"{name}/source/"
    there = _send(deployment, prefix, files)
    gone = [{"Key": prefix + each} for each in there if each not in files]
    for at in range(0, len(gone), _MOST_KEYS):
        deployment.client("s3").delete_objects(
            Bucket=deployment.bucket, Delete={"Objects": gone[at : at + _MOST_KEYS], "Quiet": True}
        )


def send_data(deployment: Deployment, name: str, folder: Path) -> None:
    """Sends what is new or has changed to the pipeline's arrivals."""
    _send(deployment, f"{name}/incoming/", dict(_files(folder, None)))


def _send(deployment: Deployment, prefix: str, files: dict[str, Path]) -> dict[str, str]:
    """Returns names and ETags of what was there before."""
    s3 = deployment.client("s3")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=deployment.bucket, Prefix=prefix)
    there = {
        each["Key"].removeprefix(prefix): each["ETag"].strip('"')
        for page in pages
        for each in page.get("Contents", [])
    }
    for name, file in files.items():
        if file.stat().st_size <= _MOST_WHOLE_BYTES:
            body = file.read_bytes()
            if there.get(name) != hashlib.md5(body, usedforsecurity=False).hexdigest():
                s3.put_object(Bucket=deployment.bucket, Key=prefix + name, Body=body)
        else:
            s3.upload_file(str(file), deployment.bucket, prefix + name)
    return there


def _files(folder: Path, omit: Path | None) -> Iterator[tuple[str, Path]]:
    """By name, without what is hidden or belongs to tools."""
    for at, folders, names in os.walk(folder):
        here = Path(at)
        folders[:] = [each for each in folders if _is_sent(here / each, omit)]
        for each in names:
            file = here / each
            if each != _FILE and _is_sent(file, omit) and file.is_file():
                yield file.relative_to(folder).as_posix(), file


def _is_sent(path: Path, omit: Path | None) -> bool:
    is_data = omit is not None and path.resolve() == omit.resolve()
    return not is_data and not path.name.startswith(".") and path.name not in _NEVER
