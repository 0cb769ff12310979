"""Keeps the wheels of an installation below the pipeline's prefix, for all later attempts.

They install the same packages, build nothing again, and need no index. A tar by the hash of what
decides over the packages: S3 has all of it or nothing, and the first one stays.
"""

import hashlib
import http.client
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import sys
import tarfile
import time
import urllib.error
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from ..checkpoints.kept.generation import sha256_of
from ..files import UNREADABLE
from ..log import log
from .aws_request import Request, RequestError, endpoint, send
from .packages import Installation, requirement_lines

VARIABLE = "TIDEWHEEL_WHEELS"
"""The bucket's region, and where the pipeline's wheels lie: `us-east-1 s3://bucket/digits/wheels/`."""
MOST_BYTES = 1024**3
"""Bounds one installation. Beyond it, only the versions are kept."""
_MANIFEST = "manifest.json"
_REPORT = "installed.json"
_MANIFEST_BYTES = 1024**2
_TRIES = 3
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9._+!-]+")
_WHEEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*\.whl")
_INDEX = re.compile(r"\s*(-i|-f|--(extra-)?index-url|--find-links|--trusted-host|--\w+-binary)\b")
_LOCAL = re.compile(
    r"(-e\b|--editable|(--find-links|-f)[ =]+(?!https?:)|[./~]|file:)|.*@\s*file:"
    r"|(?!-|\S*://)\S*(/|\.(whl|zip|tgz|tar\.\w+)(\s|\[|;|$))",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
_REPORTS_SINCE = 23
"""pip's first version whose `--report` is as documented."""
_DIGEST_HEADER = "x-amz-content-sha256"
_NO_BODY = {_DIGEST_HEADER: hashlib.sha256().hexdigest()}
_TAGGING = {"x-amz-tagging": "tidewheel=wheels"}
"""By which the bucket's lifecycle finds them."""
_NO_ANSWER = (RequestError, OSError, http.client.HTTPException)
_BROKEN = (*UNREADABLE, *_NO_ANSWER, tarfile.TarError)


@dataclass
class _Kept:
    """What an earlier attempt has left."""

    versions: list[str] = field(default_factory=list)
    wheels: list[Path] = field(default_factory=list)
    """Empty where one is missing or damaged."""
    is_damaged: bool = False


@dataclass(frozen=True)
class _Place:
    """Names the object of one installation."""

    region: str
    path: str
    lines: Sequence[str]
    environment: Mapping[str, str]

    def ask(
        self, method: str, headers: Mapping[str, str], file: IO[bytes] | None = None
    ) -> http.client.HTTPResponse:
        address = endpoint("s3", "S3", self.region, self.environment)
        asked = Request("s3", self.region, address, self.path, headers=headers, method=method)
        return send(asked, self.environment, file)


def install_with_wheels(
    wanted: Installation,
    environment: Mapping[str, str],
    work: Path,
    install: Callable[[Installation], bool],
    *,
    keeps: bool,
) -> None:
    """Installs from the wheels of an earlier attempt, or else by `install` alone, and then `keeps`
    its wheels.

    `install` returns whether all went well at once. What goes wrong with wheels is logged.
    """
    wanted = replace(wanted, key=_key(wanted, environment))
    place = _place(wanted, environment)
    if place is None:
        install(wanted)
        return
    folder = work / "wheels"
    (folder / "whole").mkdir(parents=True)
    kept = _fetch(place, folder)
    if kept.wheels and install(_of_wheels(wanted, kept, folder)):
        shutil.rmtree(folder, ignore_errors=True)
        return
    kept.is_damaged |= bool(kept.wheels)
    recorded = ("--report", str(folder / _REPORT), "--cache-dir", str(folder / "cache"))
    is_whole = _install_from_index(
        replace(wanted, arguments=(*wanted.arguments, *recorded)), kept, folder, install
    )
    try:
        if keeps and is_whole and (kept.is_damaged or not kept.versions):
            _keep(place, folder, install, again=kept.is_damaged)
    except _BROKEN as error:
        log(f"the wheels of {wanted.name} cannot be kept: {error}")
    shutil.rmtree(folder, ignore_errors=True)


def _of_wheels(wanted: Installation, kept: _Kept, folder: Path) -> Installation:
    """By names and versions: of a path, `pip freeze` would say no version."""
    name = f"{len(kept.wheels)} wheels that an earlier attempt kept of {wanted.name}"
    arguments = ("--no-index", "--no-deps", "--find-links", str(folder), *kept.versions)
    return replace(wanted, name=name, arguments=arguments, may_fail=True)


def _install_from_index(
    wanted: Installation, kept: _Kept, folder: Path, install: Callable[[Installation], bool]
) -> bool:
    """The same versions, if an earlier attempt has noted them and the index still has them."""
    if kept.versions:
        file = folder / "versions.txt"
        file.write_text("".join(f"{line}\n" for line in kept.versions))
        arguments = (*wanted.arguments, "--constraint", str(file))
        if install(replace(wanted, arguments=arguments, may_fail=True)):
            return True
        log(f"the versions that an earlier attempt had of {wanted.name} are not installed")
    return install(wanted)


def _place(wanted: Installation, environment: Mapping[str, str]) -> _Place | None:
    """None where nothing is kept: here, or of such requirements."""
    region, _, uri = environment.get(VARIABLE, "").partition(" ")
    if not uri or not wanted.key or not _pip_reports():
        return None
    lines = requirement_lines(Path(wanted.arguments[1]))
    if any("--hash" in line for line in lines):
        return None  # Constraints would need hashes too, and these are the same packages anyway.
    return _Place(region, f"/{uri.removeprefix('s3://')}{wanted.key}.tar", lines, environment)


def _pip_reports() -> bool:
    """False for uv, and on one machine, where whole environments are kept by a pip of its own."""
    found = importlib.util.find_spec("pip")
    if found is None or not Path(found.origin or "pip").with_name("_internal").is_dir():
        return False
    return int(importlib.metadata.version("pip").partition(".")[0]) >= _REPORTS_SINCE


def _key(wanted: Installation, environment: Mapping[str, str]) -> str:
    """Hash the requirements, pip's settings, and the image: its Python, system and packages."""
    lines = requirement_lines(Path(wanted.arguments[1])) if wanted.arguments[0] == "-r" else []
    if not lines or any(_LOCAL.match(line) for line in lines):
        return ""
    variables = set(_VARIABLE.findall("\n".join(lines)))
    settings = sorted(
        (name, value)
        for name, value in environment.items()
        if name.startswith(("PIP_", "UV_")) or name in {*variables, "TIDEWHEEL_INDEX_URL"}
    )
    packages = sorted(
        name
        for place in map(Path, sys.path)
        if place.is_dir()
        for name in os.listdir(place)
        if name.endswith((".dist-info", ".egg-info"))
    )
    system = Path("/etc/os-release")
    image = [
        sys.version,
        platform.machine(),
        system.read_text(encoding="utf-8", errors="replace") if system.is_file() else "",
        packages,
    ]
    return hashlib.sha256(json.dumps([lines, settings, image]).encode()).hexdigest()[:32]


def _fetch(place: _Place, folder: Path) -> _Kept:
    """A connection that was cut looks like a damaged archive, so that is tried again, too."""
    kept, problem = _Kept(), ""
    for attempt in range(_TRIES):
        time.sleep(0 if kept.is_damaged else attempt)
        kept = _Kept()
        try:
            with (
                place.ask("GET", _NO_BODY) as answer,
                tarfile.open(fileobj=answer, mode="r|") as archive,
            ):
                _unpack(archive, folder, kept)
            return kept
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.NOT_FOUND:
                return kept
            problem = f"HTTP {error.code}"
        except _BROKEN as error:
            problem = str(error) or repr(error)
            kept.is_damaged = not isinstance(error, _NO_ANSWER)
    kept.wheels.clear()
    same = " for the same versions" if kept.versions else ""
    log(f"the wheels of an earlier attempt cannot be used: {problem}. pip asks the index{same}")
    return kept


def _unpack(archive: tarfile.TarFile, folder: Path, kept: _Kept) -> None:
    """A script of the pipeline may have written anything there. Raises ValueError."""
    first = archive.next()
    content = archive.extractfile(first) if first is not None else None
    if first is None or content is None or first.name != _MANIFEST:
        raise ValueError(f"no {_MANIFEST}")
    manifest: Any = json.loads(content.read(_MANIFEST_BYTES))
    versions, digests = list(manifest["versions"]), dict(manifest["wheels"])
    if not all(_VERSION.fullmatch(line) for line in versions):
        raise ValueError(f"{_MANIFEST} holds no versions")
    kept.versions = versions
    total = 0
    while (member := archive.next()) is not None:
        total += member.size
        content = archive.extractfile(member) if _WHEEL.fullmatch(member.name) else None
        if content is None or total > MOST_BYTES:
            raise ValueError(f"{member.name} does not belong there")
        target = folder / member.name
        with target.open("wb") as file:
            while block := content.read(1024**2):
                file.write(block)
        if sha256_of(target) != digests.pop(member.name, None):
            raise ValueError(f"{member.name} is damaged")
        kept.wheels.append(target)
    if digests:
        raise ValueError(f"{min(digests)} is missing")


def _keep(
    place: _Place, folder: Path, install: Callable[[Installation], bool], *, again: bool
) -> None:
    """Raises what requests and files do."""
    installed = json.loads((folder / _REPORT).read_text(encoding="utf-8"))["install"]
    sources = [_source(each) for each in installed]
    if not sources:
        return
    listed = folder / "listed.txt"
    indexes = [line for line in place.lines if _INDEX.match(line)]
    listed.write_text("".join(f"{line}\n" for line in [*indexes, *sources]))
    wheels = folder / "whole"
    cache = ("--cache-dir", str(folder / "cache"), "--wheel-dir", str(wheels))
    arguments = ("--no-deps", "-r", str(listed), *cache)
    wheel = Installation("wheels for later attempts", arguments, may_fail=True, verb="wheel")
    found = sorted(wheels.iterdir()) if install(wheel) else []
    if sum(file.stat().st_size for file in found) > MOST_BYTES or len(found) != len(sources):
        found = []
    manifest = {
        "versions": list(map(_version, installed)),
        "wheels": {file.name: sha256_of(file) for file in found},
    }
    (wheels / _MANIFEST).write_text(json.dumps(manifest))
    packed = folder / "packed.tar"
    with tarfile.open(packed, "w") as archive:
        for file in (wheels / _MANIFEST, *found):
            archive.add(file, arcname=file.name)
    _put(place, packed, again=again)
    size = f"{packed.stat().st_size / 1e6:.1f} MB"
    log(f"kept {len(installed)} versions and {len(found)} wheels for later attempts ({size})")


def _source(installed: Mapping[str, Any]) -> str:
    """A requirement of exactly that.

    By the version, not by the address: pip finds in its cache what it has built for it.
    """
    name, came = installed["metadata"]["name"], installed["download_info"]
    if (repository := came.get("vcs_info")) is not None:
        return f"{name} @ {repository['vcs']}+{came['url']}@{repository['commit_id']}"
    return f"{name} @ {came['url']}" if installed["is_direct"] else _version(installed)


def _version(installed: Mapping[str, Any]) -> str:
    return f"{installed['metadata']['name']}=={installed['metadata']['version']}"


def _put(place: _Place, packed: Path, *, again: bool) -> None:
    headers = {
        _DIGEST_HEADER: sha256_of(packed),
        "content-length": str(packed.stat().st_size),
        **_TAGGING,
        **({} if again else {"if-none-match": "*"}),
    }
    try:
        with packed.open("rb") as file:
            place.ask("PUT", headers, file).close()
    except urllib.error.HTTPError as error:
        if error.code not in (http.HTTPStatus.CONFLICT, http.HTTPStatus.PRECONDITION_FAILED):
            raise  # Else another host was first.
