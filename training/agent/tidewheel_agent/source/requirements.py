"""Installs the requirements of the user's source."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from ..configuration.job import Job
from ..configuration.settings import ConfigurationError
from ..log import log, redact
from ..platform_failure import PlatformFailureError
from ..supervision.script import Script
from .secrets_manager import SecretError, read_secret

_ATTEMPTS = 3
_NO_INDEX = re.compile(
    r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProtocolError|ProxyError|"
    r"Max retries exceeded|name resolution|Name or service not known|"
    r"Connection (refused|reset|timed out|aborted)|Network is unreachable|\b50[0234] Server Error|"
    r"\(50[0234] |error sending request|dns error|operation timed out|tcp connect error",
    re.IGNORECASE,
)
"""pip and uv write these when the index does not answer."""
_ERROR = re.compile(
    r"(?:ERROR|error)\b|\S*Error: |\u00d7|\u2570\u2500|.*No solution found", re.IGNORECASE
)
_NOISE = re.compile(
    r"Looking in indexes|Requirement already satisfied|\[notice\]|WARNING: Running pip as|"
    r"Collecting |Downloading |Using cached "
)
_DISK_FULL = "No space left on device"
_SHOWN_LINES = 4
_SHOWN_CHARACTERS = 120
URL_VARIABLE = "TIDEWHEEL_INDEX_URL"
SECRET_VARIABLE = "TIDEWHEEL_INDEX_SECRET"
"""An ARN. The secret is `{"username": …, "password": …}` or a token."""
_TOKEN_USER = "__token__"


def install_requirements(
    job: Job,
    environment: Mapping[str, str],
    *,
    limit_seconds: float,
    stopped: Callable[[], bool],
    on_line: Callable[[str], None],
) -> None:
    """Runs `pip install -r requirements.txt`, up to three times within the limit.

    The job or pip's own variables (PIP_INDEX_URL ...) name a private index. No
    credential passes through an argument or the log. Raises PlatformFailureError when the index
    does not answer or the disk is full, and ConfigurationError on any other failure.
    """
    requirements = job.code_dir / "requirements.txt"
    if not _has_requirements(requirements):
        return
    index, hidden = installer_variables(environment, read_secret)
    argv = [*_installer(environment), "-r", str(requirements)]
    deadline = time.monotonic() + limit_seconds
    code: int | None = None
    lines: list[str] = []

    def read(line: str) -> None:
        shown = _without(hidden, redact(line))
        lines.append(shown)
        on_line(shown)

    for attempt in range(1, _ATTEMPTS + 1):
        log(f"installing requirements.txt (attempt {attempt} of {_ATTEMPTS})")
        lines.clear()
        pip = Script(
            argv,
            environment={**environment, **_uv_indexes(environment), **index},
            directory=job.code_dir,
            on_line=read,
            show=lambda line: _without_index_urls(line, hidden),
        )
        while code is None and not stopped() and time.monotonic() < deadline:
            code = pip.wait(0.2)
        pip.kill()
        pip.drain()
        if code == 0:
            log("installed requirements.txt")
        if code == 0 or stopped():
            return
        if code is None:
            _raise_if_platform(lines)
            raise ConfigurationError(
                f"requirements.txt was not installed within {limit_seconds:g} s: "
                "list fewer packages, use a nearer index, or bring an image of your own. "
                f"{_last_of(lines)}"
            )
        code, next_attempt = None, time.monotonic() + min(5.0 * attempt, 15.0)
        while attempt < _ATTEMPTS and time.monotonic() < next_attempt and not stopped():
            time.sleep(0.2)
    _raise_if_platform(lines)
    raise ConfigurationError(
        f"requirements.txt cannot be installed ({_ATTEMPTS} attempts; pip takes a private "
        f"index from the variable PIP_INDEX_URL). {_last_of(lines)}"
    )


def _raise_if_platform(lines: Sequence[str]) -> None:
    full = next((line for line in lines if _DISK_FULL in line), None)
    if full is not None:
        text = f"requirements.txt cannot be installed: {full[:300]}. {_last_of(lines)}"
        raise PlatformFailureError("disk", text)
    unreachable = next((line for line in lines if _NO_INDEX.search(line)), None)
    if unreachable is not None:
        text = f"requirements.txt cannot be installed: {unreachable[:300]}. {_last_of(lines)}"
        raise PlatformFailureError("packages", text)


def _last_of(lines: Sequence[str]) -> str:
    """What pip says of the failure, or the end of its output; it must fit into 1,024 characters."""
    said = [line.strip() for line in lines if _may_be_shown(line)]
    errors = [line for line in said if _ERROR.match(line)]
    shown = [line[:_SHOWN_CHARACTERS] for line in (errors or said)[-_SHOWN_LINES:]]
    if not shown:
        return "pip said nothing."
    return f"pip's {'errors' if errors else 'last lines'}:\n" + "\n".join(shown)


def _may_be_shown(line: str) -> bool:
    """The line about pip's indexes holds user names. What was there already explains nothing."""
    return bool(line.strip()) and not _NOISE.match(line.strip())


def _installer(environment: Mapping[str, str]) -> list[str]:
    """This interpreter's pip, or uv where the environment was made without pip."""
    uv = shutil.which(
        "uv", path=f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    )
    if importlib.util.find_spec("pip") is None and uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, "--no-progress"]
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    return [*pip, "--progress-bar", "off", "--retries", "5"]


def _uv_indexes(environment: Mapping[str, str]) -> dict[str, str]:
    """uv has other names for pip's variables."""
    pairs = (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_INDEX"))
    return {
        uv: environment[pip] for pip, uv in pairs if pip in environment and uv not in environment
    }


def _has_requirements(requirements: Path) -> bool:
    try:
        lines = requirements.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)


def _without_index_urls(line: bytes, hidden: Sequence[str]) -> bytes | None:
    """Keeps pip's line about its indexes out of the log: it holds user names."""
    text = os.fsdecode(line)
    if text.startswith("Looking in indexes"):
        return None
    return os.fsencode(_without(hidden, redact(text)))


def _without(hidden: Sequence[str], line: str) -> str:
    for text in hidden:
        line = line.replace(text, "***")
    return line


def installer_variables(
    environment: Mapping[str, str], read: Callable[[str, Mapping[str, str]], str]
) -> tuple[dict[str, str], list[str]]:
    """Variables for the installer, and the texts that its output must not show.

    Of a private package index the job holds the URL, Secrets Manager the credentials. They reach
    the installer through its environment. No argument, hyperparameter or log holds them, and the
    script does not get them.
    """
    url, arn = environment.get(URL_VARIABLE, ""), environment.get(SECRET_VARIABLE, "")
    if not url:
        return {}, []
    try:
        user, password = _user_and_password(read(arn, environment)) if arn else ("", "")
    except SecretError as error:
        raise ConfigurationError(
            f"the credentials of the package index cannot be read: {error}. The stack's role "
            'reads the one secret that it was deployed with: --param="packageIndexSecret=ARN"'
        ) from error
    at = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    parts = urlsplit(url)
    whole = parts._replace(netloc=at + parts.netloc).geturl()
    hidden = [text for text in (password, quote(password, safe="")) if text]
    return {"PIP_INDEX_URL": whole, "UV_DEFAULT_INDEX": whole}, hidden


def _user_and_password(text: str) -> tuple[str, str]:
    try:
        secret = json.loads(text)
    except ValueError:
        secret = None
    if isinstance(secret, dict):
        user, password = secret.get("username"), secret.get("password")
        if isinstance(user, str) and isinstance(password, str) and user:
            return user, password
        raise ConfigurationError(
            "the secret of the package index is JSON without `username` and `password`: add both"
        )
    return _TOKEN_USER, text.strip()
