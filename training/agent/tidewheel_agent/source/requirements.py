"""Installs the requirements of the user's source."""

import importlib.util
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from ..configuration.job import Job
from ..configuration.settings import ConfigurationError
from ..log import log, redact
from ..platform_failure import PlatformFailureError
from ..supervision.script import Script
from .aws_request import RequestError
from .packages import Installation
from .secrets_manager import read_secret, read_token
from .wheels import install_with_wheels

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
_ON_ITS_WAY = re.compile(
    r"(Preparing metadata|Getting requirements|Installing build dependencies|Created wheel|"
    r"Stored in directory|Building wheels for|Installing collected packages)\b"
)
_SATISFIED = "Requirement already satisfied"
_DISK_FULL = "No space left on device"
_SHOWN_LINES = 4
_SHOWN_CHARACTERS = 120
URL_VARIABLE = "TIDEWHEEL_INDEX_URL"
SECRET_VARIABLE = "TIDEWHEEL_INDEX_SECRET"
"""An ARN: of a secret, which is `{"username": …, "password": …}` or a token, or of a repository of
CodeArtifact, whose domain gives a token."""
_TOKEN_USER = "__token__"
_CODE_ARTIFACT_USER = "aws"


def install_requirements(
    job: Job,
    wanted: Sequence[Installation],
    environment: Mapping[str, str],
    work: Path,
    *,
    limit_seconds: float,
    stopped: Callable[[], bool],
    on_line: Callable[[str], None],
    on_begin: Callable[[Installation], None],
) -> None:
    """Runs `pip install` for what the source brings, up to three times each within the limit.

    The job or pip's own variables (PIP_INDEX_URL ...) name a private index. No
    credential passes through an argument or the log. Raises PlatformFailureError when the index
    does not answer or the disk is full, and ConfigurationError on any other failure.
    """
    index, hidden = installer_variables(environment, read_credentials)
    variables = {**environment, **_uv_indexes(environment), **index}
    pip = _Pip(*_installer(environment), variables, job.code_dir, hidden, on_line)
    deadline = time.monotonic() + limit_seconds

    def install(each: Installation) -> bool:
        if stopped():
            return False
        try:
            return _install(each, pip, limit_seconds, deadline, stopped)
        except (ConfigurationError, PlatformFailureError) as error:
            if each.is_needed and not each.may_fail:
                raise
            log(str(error) if each.may_fail else f"{error} The script starts all the same.")
            return False

    for each in wanted:
        on_begin(each)
        install_with_wheels(each, environment, work, install, keeps=job.is_leader)


@dataclass(frozen=True)
class _Pip:
    program: Sequence[str]
    flags: Sequence[str]
    variables: Mapping[str, str]
    directory: Path
    hidden: Sequence[str]
    on_line: Callable[[str], None]

    def start(self, wanted: Installation, lines: list[str]) -> Script:
        def read(line: str) -> None:
            shown = _without(self.hidden, redact(line))
            lines.append(shown)
            self.on_line(shown)

        return Script(
            [*self.program, wanted.verb, *self.flags, *wanted.arguments],
            # By this name one machine keeps whole environments (emulators/environments).
            environment={**self.variables, "TIDEWHEEL_REQUIREMENTS": wanted.key},
            directory=self.directory,
            on_line=read,
            show=lambda line: _without_noise(line, self.hidden),
        )


def _install(
    wanted: Installation,
    installer: _Pip,
    limit_seconds: float,
    deadline: float,
    stopped: Callable[[], bool],
) -> bool:
    """Returns whether the first attempt has done it all. After a stop it has not."""
    code: int | None = None
    lines: list[str] = []
    attempts = _ATTEMPTS if wanted.is_needed and not wanted.may_fail else 1
    doing = wanted.verb if wanted.verb == "install" else "collect"
    for attempt in range(1, attempts + 1):
        log(f"{doing}ing {wanted.name} (attempt {attempt} of {attempts})")
        lines.clear()
        pip = installer.start(wanted, lines)
        while code is None and not stopped() and time.monotonic() < deadline:
            code = pip.wait(0.2)
        pip.kill()
        pip.drain()
        if code == 0:
            log(f"{doing}ed {wanted.name}{_already(lines)}")
        if code == 0 or stopped():
            return code == 0 and attempt == 1
        if code is None:
            _raise_if_platform(wanted.name, lines)
            raise ConfigurationError(
                f"{wanted.name} was not installed within {limit_seconds:g} s: "
                "list fewer packages, use a nearer index, or bring an image of your own. "
                f"{_last_of(lines)}"
            )
        code, next_attempt = None, time.monotonic() + min(5.0 * attempt, 15.0)
        while attempt < attempts and time.monotonic() < next_attempt and not stopped():
            time.sleep(0.2)
    _raise_if_platform(wanted.name, lines)
    raise ConfigurationError(
        f"{wanted.name} cannot be installed ({attempts} attempts; pip takes a private "
        f"index from the variable PIP_INDEX_URL). {_last_of(lines)}"
    )


def _raise_if_platform(name: str, lines: Sequence[str]) -> None:
    full = next((line for line in lines if _DISK_FULL in line), None)
    if full is not None:
        text = f"{name} cannot be installed: {full[:300]}. {_last_of(lines)}"
        raise PlatformFailureError("disk", text)
    unreachable = next((line for line in lines if _NO_INDEX.search(line)), None)
    if unreachable is not None:
        text = f"{name} cannot be installed: {unreachable[:300]}. {_last_of(lines)}"
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


def _installer(environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """This interpreter's pip, or uv where the environment was made without pip."""
    uv = shutil.which(
        "uv", path=f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    )
    if importlib.util.find_spec("pip") is None and uv is not None:
        return [uv, "pip"], ["--python", sys.executable, "--no-progress"]
    flags = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "5"]
    return [sys.executable, "-m", "pip"], flags


def _uv_indexes(environment: Mapping[str, str]) -> dict[str, str]:
    """uv has other names for pip's variables."""
    pairs = (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_INDEX"))
    return {
        uv: environment[pip] for pip, uv in pairs if pip in environment and uv not in environment
    }


def _already(lines: Sequence[str]) -> str:
    there = sum(line.strip().startswith(_SATISFIED) for line in lines)
    return f" ({there} packages were there already)" if there > 0 else ""


def _without_noise(line: bytes, hidden: Sequence[str]) -> bytes | None:
    """Keeps pip's line about its indexes out of the log, for it holds user names, and the lines
    that tell nothing of a package but that it is on its way."""
    text = os.fsdecode(line)
    if _NOISE.match(text.strip()) or _ON_ITS_WAY.match(text.strip()):
        return None
    return os.fsencode(_without(hidden, redact(text)))


def _without(hidden: Sequence[str], line: str) -> str:
    for text in hidden:
        line = line.replace(text, "***")
    return line


def installer_variables(
    environment: Mapping[str, str],
    read: Callable[[str, Mapping[str, str]], tuple[str, str]],
) -> tuple[dict[str, str], list[str]]:
    """Variables for the installer, and the texts that its output must not show.

    Of a private package index the job holds the URL, and what gives its credentials. They reach
    the installer through its environment. No argument, hyperparameter or log holds them, and the
    script does not get them.
    """
    url, arn = environment.get(URL_VARIABLE, ""), environment.get(SECRET_VARIABLE, "")
    if not url:
        return {}, []
    try:
        user, password = read(arn, environment) if arn else ("", "")
    except RequestError as error:
        parameter = "Repository" if _is_repository(arn) else "Secret"
        raise ConfigurationError(
            f"the credentials of the package index cannot be read: {error}. The stack's role "
            f'reads those that it was deployed with: --param="packageIndex{parameter}={arn}"'
        ) from error
    at = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    parts = urlsplit(url)
    whole = parts._replace(netloc=at + parts.netloc).geturl()
    hidden = [text for text in (password, quote(password, safe="")) if text]
    return {"PIP_INDEX_URL": whole, "UV_DEFAULT_INDEX": whole}, hidden


def _is_repository(arn: str) -> bool:
    return arn.split(":")[2:3] == ["codeartifact"]


def read_credentials(arn: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """User and password; raises RequestError, and ConfigurationError for another form of secret."""
    if _is_repository(arn):
        return _CODE_ARTIFACT_USER, read_token(arn, environment)
    return _user_and_password(read_secret(arn, environment))


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
