"""Brings the user's source into place and installs what it requires."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..configuration.job import Job
from ..configuration.settings import ConfigurationError
from ..log import redact, say
from ..supervision.script import Script
from .archive import ARCHIVE, unpack_source
from .package_index import index_variables
from .secrets_manager import read_secret

_INSTALL_ATTEMPTS = 3


def place_source(job: Job) -> None:
    """From the channel `code` to SM_MODULE_DIR; raises ConfigurationError without the script.

    The channel holds the archive that the run is pinned to, or the files themselves.
    """
    digest = job.control.get("tidewheel_source")
    if isinstance(digest, str):
        unpack_source(job.code_channel / ARCHIVE, digest, job.code_dir)
    elif job.code_channel.is_dir():
        caches = shutil.ignore_patterns("__pycache__", ".git", ".*_cache")
        shutil.copytree(job.code_channel, job.code_dir, dirs_exist_ok=True, ignore=caches)
    program = job.code_dir / job.program
    if not program.is_file():
        there = sorted(p.name for p in job.code_dir.glob("*"))[:20] if job.code_dir.is_dir() else []
        raise ConfigurationError(
            [
                f"{job.program} is not in the source (found: {', '.join(there) or 'nothing'}): "
                "put it under the source prefix or correct entryPoint"
            ]
        )


def install_requirements(
    job: Job,
    environment: Mapping[str, str],
    *,
    limit_seconds: float,
    stopped: Callable[[], bool],
    on_line: Callable[[str], None],
) -> None:
    """pip install -r requirements.txt, a few times within the limit; ConfigurationError if not.

    A private index is named by the job (package_index.py), or by pip's own variables
    (PIP_INDEX_URL and the like): no credential passes through an argument or the log.
    """
    requirements = job.code_dir / "requirements.txt"
    if not _asks_for_anything(requirements):
        return
    own, hidden = index_variables(environment, read_secret)
    argv = [*_installer(environment), "-r", str(requirements)]
    deadline = time.monotonic() + limit_seconds
    code: int | None = None
    for attempt in range(1, _INSTALL_ATTEMPTS + 1):
        say(f"installing requirements.txt (attempt {attempt} of {_INSTALL_ATTEMPTS})")
        pip = Script(
            argv,
            environment={**environment, **_uv_indexes(environment), **own},
            directory=job.code_dir,
            on_line=lambda line: on_line(_without(hidden, line)),
            show=lambda line: _without_index(line, hidden),
        )
        while code is None and not stopped() and time.monotonic() < deadline:
            code = pip.wait(0.2)
        pip.kill()
        pip.drain()
        if code == 0 or stopped():
            return
        if code is None:
            raise ConfigurationError(
                [
                    f"requirements.txt was not installed within {limit_seconds:g} s: "
                    "list fewer packages, use a nearer index, or bring an image of your own"
                ]
            )
        code, waited = None, time.monotonic() + min(5.0 * attempt, 15.0)
        while attempt < _INSTALL_ATTEMPTS and time.monotonic() < waited and not stopped():
            time.sleep(0.2)
    raise ConfigurationError(
        [
            f"requirements.txt cannot be installed ({_INSTALL_ATTEMPTS} attempts): see pip's lines "
            "above; pip takes a private index from the variable PIP_INDEX_URL"
        ]
    )


def _installer(environment: Mapping[str, str]) -> list[str]:
    """pip of this interpreter; uv where an environment was made without pip."""
    uv = shutil.which(
        "uv", path=f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    )
    if importlib.util.find_spec("pip") is None and uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, "--no-progress"]
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    return [*pip, "--progress-bar", "off", "--retries", "5"]


def _uv_indexes(environment: Mapping[str, str]) -> dict[str, str]:
    """uv has names of its own for what pip's variables say."""
    pairs = (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_INDEX"))
    return {
        uv: environment[pip] for pip, uv in pairs if pip in environment and uv not in environment
    }


def _asks_for_anything(requirements: Path) -> bool:
    try:
        lines = requirements.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)


def _without_index(line: bytes, hidden: Sequence[str]) -> bytes | None:
    """pip names its indexes, with user names in them: not in our log."""
    text = os.fsdecode(line)
    if text.startswith("Looking in indexes"):
        return None
    return os.fsencode(_without(hidden, redact(text)))


def _without(hidden: Sequence[str], line: str) -> str:
    for text in hidden:
        line = line.replace(text, "***")
    return line
