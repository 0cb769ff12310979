"""Brings the user's source to the folder that the script runs in."""

import hashlib
import io
import json
import re
import shutil
import stat
import zipfile
from contextlib import suppress
from pathlib import Path

from ..configuration.job import Job
from ..configuration.settings import ConfigurationError
from ..supervision.script_source import texts_of

_PROGRAMS = {".py", ".sh", ".ipynb", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini"}
_FIXED = re.compile(rb"(?:(?<=:-)|(?<![\w.-]))/opt/ml(?![\w.-])[\w./-]*")
_ALWAYS_SET = (
    rb"(?<!\w)(?:SM_CHANNEL_\w+|SM_(?:MODEL|MODULE|(?:IN|OUT)PUT|INPUT_CONFIG|OUTPUT_DATA"
    rb"|OUTPUT_INTERMEDIATE)_DIR|SAGEMAKER_BASE_DIR|TIDEWHEEL_CHECKPOINT_DIR)"
)
_HARMLESS = re.compile(
    rb"(?:^|[ \t])#.*|" + _ALWAYS_SET + rb"(?:['\"]\s*,\s*['\"]|:?-)/opt/ml", re.MULTILINE
)
"""Comments, and what a script takes where a variable of the job is missing, which here is set.
SageMaker sets no SM_CHECKPOINT_DIR, though scripts ask for it."""


def place_source(job: Job) -> None:
    """Fills SM_MODULE_DIR from the channel `code`; raises ConfigurationError without the script.

    The channel holds the archive that the run is pinned to, or the files themselves.
    """
    _remove_checkpoint_link(job)
    digest = job.agent_parameters.get("tidewheel_source")
    if isinstance(digest, str):
        unpack_source(job.code_channel / ARCHIVE, digest, job.code_dir)
    elif job.code_channel.is_dir():
        caches = shutil.ignore_patterns("__pycache__", ".git", ".*_cache")
        shutil.copytree(job.code_channel, job.code_dir, dirs_exist_ok=True, ignore=caches)
    if not job.script.command and not (job.code_dir / job.program).is_file():
        found = sorted(p.name for p in job.code_dir.glob("*"))[:20] if job.code_dir.is_dir() else []
        raise ConfigurationError(
            f"{job.program} is not in the source (found: {', '.join(found) or 'nothing'}): "
            "put it under the source prefix or correct entryPoint"
        )
    if not job.working_dir.is_dir():
        raise ConfigurationError(
            f"{job.script.working_directory} is no folder of the source: "
            "put it under the source prefix or correct workingDirectory"
        )
    _refuse_fixed_paths(job)
    _link_checkpoint_folder(job)


def _refuse_fixed_paths(job: Job) -> None:
    """All runs of a machine whose hosts have no /opt/ml of their own would share the real one."""
    if job.base == Path("/opt/ml"):
        return
    script = job.script
    declared = [script.command, script.arguments, dict(script.environment), job.hyperparameters]
    texts = [("the declaration", json.dumps(declared).encode())]
    with suppress(OSError):  # Of a source with more files than are looked through.
        texts.extend((p.name, t) for p, t in texts_of(job.code_dir) if p.suffix in _PROGRAMS)
    named = [(name, _FIXED.search(_HARMLESS.sub(b"", text))) for name, text in texts]
    found = ", ".join([f"{name} ({path[0].decode()})" for name, path in named if path][:5])
    if found:
        remedy = (
            "write ${checkpoints}, ${model} or ${channel:NAME} in the declaration, read "
            "TIDEWHEEL_CHECKPOINT_DIR, SM_MODEL_DIR or SM_CHANNEL_NAME in the script, or give "
            "hosts an /opt/ml of their own, as npm start and tidewheel try say when they start"
        )
        raise ConfigurationError(f"{found}: all runs here would share /opt/ml; {remedy}")


def _remove_checkpoint_link(job: Job) -> None:
    """A source that is unpacked again must not be written through it."""
    link = job.checkpoint_link
    if link is not None and link.is_symlink():
        link.unlink()


def _link_checkpoint_folder(job: Job) -> None:
    """Links the declared folder of the source to the one of the same name below the checkpoints.

    Files that the source has in this folder move there, but replace none of an earlier attempt.
    Raises ConfigurationError where a file has the folder's name.
    """
    rules, link = job.checkpoint_rules, job.checkpoint_link
    if rules is None:
        return
    rules.folder.mkdir(parents=True, exist_ok=True)
    if link is None or link.is_symlink():
        return
    if link.exists() and not link.is_dir():
        raise ConfigurationError(
            f"{link.name} is a file of the source: "
            "name the folder that the script writes to in training.checkpoint.folder"
        )
    for path in sorted(link.rglob("*")):
        target = rules.folder / path.relative_to(link)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        elif not target.exists():
            shutil.copy2(path, target)
    shutil.rmtree(link, ignore_errors=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(rules.folder, target_is_directory=True)


ARCHIVE = "source.zip"


def unpack_source(archive: Path, digest: str, target: Path) -> None:
    """Raises ConfigurationError if the hash differs or a member is no regular file."""
    try:
        content = archive.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"the packed source {archive} cannot be read ({error}): start a new run"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ConfigurationError(
            f"{archive} has the hash {found}, this run's source {digest}: start a new run"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = packed.infolist()
            _require_regular_files(archive, members)
            for member in members:
                path = target.joinpath(*member.filename.split("/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed.read(member))
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise ConfigurationError(f"{archive} cannot be unpacked: {error}") from error


def _require_regular_files(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    problems = [
        f"{archive} holds {member.orig_filename!r}, which {why}: pack the source again"
        for member in members
        if (why := _problem_of(member))
    ]
    if problems:
        raise ConfigurationError(*problems)


def leads_out(name: str) -> bool:
    """Of a member of an archive, whether it may be written elsewhere than its name says."""
    return any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name


def _problem_of(member: zipfile.ZipInfo) -> str:
    # The name as the archive has it: zipfile cuts `filename` at a NUL.
    if leads_out(member.orig_filename):
        return "leads out of its folder"
    kind = stat.S_IFMT(member.external_attr >> 16)
    return "" if kind in (0, stat.S_IFREG) else "is no regular file"
