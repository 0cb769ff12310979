"""Environments by what was required: each set of requirements is installed once on this machine.

Two hosts that require the same wait for each other. An environment counts once its last file is
written, so one that was cut short is made again. The least recently used go first.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from layer import Below, add_programs, make_layer, put_below, read_below, site_packages

MOST_BYTES = 10 * 1024**3
COMPLETE = "complete.json"
_USERS = "users"
_CACHE = ".fetched"
_CACHE_SECONDS = 86_400
_FLAGS = ("--no-input", "--disable-pip-version-check")


def install_kept(
    host: Path, requirements: str, arguments: Sequence[str], environment: Mapping[str, str]
) -> int:
    """Puts the environment of the requirements below the host's. pip's exit code."""
    folder, code = _kept(host, read_below(host), requirements.encode(), arguments, environment)
    if code != 0:
        return code
    put_below(host, "tidewheel-a-requirements.pth", [str(site_packages(folder))])
    add_programs(host, folder / "bin")
    _remove_least_recent(folder.parent)
    return 0


def keep_packages(host: Path, below: Below, packages: Sequence[str]) -> Path:
    """An environment that has them, for a new host. Exits with pip's code."""
    index = sorted((k, v) for k, v in os.environ.items() if k.startswith(("PIP_", "UV_")))
    wanted = json.dumps(["packages", packages, index]).encode()
    arguments = ["install", *_FLAGS, "--quiet", "--progress-bar", "off", *packages]
    folder, code = _kept(host, below, wanted, arguments, os.environ)
    if code != 0:
        raise SystemExit(code)
    return folder


def _kept(
    host: Path,
    below: Below,
    requirements: bytes,
    arguments: Sequence[str],
    environment: Mapping[str, str],
) -> tuple[Path, int]:
    home = Path(below.environments)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = home / _key(below, requirements)
    with _locked(folder.with_suffix(".lock")) as lock:
        if (folder / COMPLETE).exists():
            os.utime(folder / COMPLETE)
            print(f"requirements.txt: using the environment of an earlier attempt, {folder}")
        else:
            code = _fill(folder, below, arguments, environment, lock)
            if code != 0:
                return folder, code
        users = folder / _USERS
        users.mkdir(exist_ok=True)
        (users / hashlib.sha256(os.fsencode(host)).hexdigest()[:16]).write_bytes(os.fsencode(host))
    return folder, 0


def _key(below: Below, requirements: bytes) -> str:
    """Of the requirements, the Python, and the packages that lie below."""
    distributions = sorted(
        name
        for place in below.sites
        for name in os.listdir(place)
        if name.endswith((".dist-info", ".egg-info"))
    )
    below_text = json.dumps([below.interpreter, sys.version, below.sites, distributions])
    return hashlib.sha256(below_text.encode() + b"\n" + requirements).hexdigest()[:16]


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[int]:
    """Ends with the process, even by kill -9."""
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("requirements.txt: waiting for another host that installs the same", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _fill(
    folder: Path,
    below: Below,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    lock: int,
) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    make_layer(folder, below)
    # The installer holds the lock too: a new environment is not begun while it still writes.
    installer = [str(folder / "bin" / "python"), "-m", "pip", *arguments]
    variables = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    # An attempt that is cut short leaves what it has fetched to the next one.
    cache = folder.with_suffix(_CACHE)
    variables.setdefault("PIP_CACHE_DIR", str(cache))
    code = subprocess.run(installer, env=variables, pass_fds=[lock], check=False).returncode
    if code != 0:
        shutil.rmtree(folder, ignore_errors=True)
        return code
    temporary = folder / f"{COMPLETE}.new"
    temporary.write_text(json.dumps({"bytes": _bytes_below(folder)}))
    temporary.rename(folder / COMPLETE)
    shutil.rmtree(cache, ignore_errors=True)
    return 0


def _bytes_below(folder: Path) -> int:
    files = (file for file in folder.rglob("*") if not file.is_symlink() and file.is_file())
    return sum(file.stat().st_blocks * 512 for file in files)


def _remove_least_recent(home: Path, most_bytes: int = MOST_BYTES) -> None:
    """Until the rest is small enough. One that a host uses stays."""
    complete = sorted(home.glob(f"*/{COMPLETE}"), key=lambda file: file.stat().st_mtime)
    sizes = {file.parent: int(json.loads(file.read_text())["bytes"]) for file in complete}
    total = sum(sizes.values())
    _remove_unfinished(home)
    for folder, size in sizes.items():
        if total <= most_bytes:
            return
        with _locked(folder.with_suffix(".lock")):
            if not _is_used(folder):
                # First what makes it count: a removal that is cut short leaves no damaged one.
                (folder / COMPLETE).unlink(missing_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
                total -= size


def _remove_unfinished(home: Path) -> None:
    """Those that no process works on any more."""
    for cache in home.glob(f"*{_CACHE}"):
        if time.time() - cache.stat().st_mtime > _CACHE_SECONDS:
            shutil.rmtree(cache, ignore_errors=True)
    for lock in home.glob("*.lock"):
        folder = lock.with_suffix("")
        if not folder.is_dir() or (folder / COMPLETE).exists():
            continue
        with lock.open("w") as file, contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not (folder / COMPLETE).exists():
                shutil.rmtree(folder, ignore_errors=True)


def _is_used(folder: Path) -> bool:
    """By a host that is still there; the notes of others are removed."""
    used = False
    for note in folder.glob(f"{_USERS}/*"):
        if os.path.isdir(os.fsdecode(note.read_bytes())):
            used = True
        else:
            note.unlink(missing_ok=True)
    return used
