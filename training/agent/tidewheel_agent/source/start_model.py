"""Unpacks the model that a run begins from: the channel `model`, as the service adds it."""

import posixpath
import shutil
import tarfile
from pathlib import Path

from ..checkpoints.checkpoint import find_last_checkpoint
from ..checkpoints.frameworks import look_before_start
from ..checkpoints.kept.generation import sha256_of
from ..configuration.job import MODEL_CHANNEL, Job
from ..configuration.settings import ConfigurationError
from ..log import log
from .place import leads_out

_MOST_MEMBERS = 100_000
_SPARE_BYTES = 1 << 30
"""What the script and the system need of the disk beside the model."""
_BLOCK = 1 << 20
REMEDY = "name another model in training.startFrom, or none"


def place_start_model(job: Job) -> None:
    """Fills the folder of the channel, unless the run has a checkpoint to go on from.

    Raises ConfigurationError for another archive than the one on record, or one that is no model.
    """
    digest, target = job.model_digest, job.start_model_dir
    shutil.rmtree(target, ignore_errors=True)
    if digest is None:
        return
    if _has_checkpoint(job):
        log("the run has a checkpoint, so the model that it began from is left out")
        return
    place_model(archive_in(job, MODEL_CHANNEL), digest, target)
    log(f"begins from the model in {target}")


def archive_in(job: Job, channel: str) -> Path:
    folder = job.base / "input" / "data" / channel
    return next(iter(sorted(folder.glob("*.tar.gz"))), folder / "model.tar.gz")


def place_model(archive: Path, digest: str, target: Path) -> None:
    """Raises ConfigurationError for an archive of another digest, or one that is no model."""
    try:
        if digest != "unknown" and (found := sha256_of(archive)) != digest:
            raise ConfigurationError(
                f"{archive} has the SHA-256 {found}, and the model on record {digest}: "
                f"restore that version of the object, or {REMEDY}"
            )
        unpack_model(archive, target)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ConfigurationError(f"{archive} cannot be unpacked ({error}): {REMEDY}") from error


def _has_checkpoint(job: Job) -> bool:
    folder = job.checkpoint_dir
    if folder is None:
        return False
    if find_last_checkpoint(folder) is not None:
        return True
    try:
        checkpoints, given = look_before_start(folder, job.checkpoint_rules)
    except Exception as error:  # Whatever lies there must not keep a training from starting.
        log(f"cannot look for checkpoints: {error!r}")
        return False
    return any(not found.files.items() <= given.items() for found in checkpoints.whole)


def unpack_model(archive: Path, target: Path) -> None:
    """Into a new folder. Raises ConfigurationError where a member would leave it.

    A link becomes a copy of its file, so nothing is ever written through one.
    """
    target.mkdir(parents=True)
    left = shutil.disk_usage(target).free - _SPARE_BYTES
    links: list[tarfile.TarInfo] = []
    count = 0
    with tarfile.open(archive, mode="r|gz") as packed:
        for member in packed:
            count += 1
            left -= member.size
            _require(archive, member, count=count, left=left)
            path = target / member.name
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif member.isreg():
                path.parent.mkdir(parents=True, exist_ok=True)
                content = packed.extractfile(member)
                assert content is not None
                with path.open("wb") as file:
                    shutil.copyfileobj(content, file, _BLOCK)
            else:
                links.append(member)
    for member in links:
        path = target / member.name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target / _aim(member), path)


def _aim(link: tarfile.TarInfo) -> str:
    """Relative to the archive, as hard links name it and symbolic ones do not."""
    folder = posixpath.dirname(link.name) if link.issym() else ""
    return posixpath.normpath(posixpath.join(folder, link.linkname))


def _require(archive: Path, member: tarfile.TarInfo, *, count: int, left: int) -> None:
    name = member.name.removeprefix("./").rstrip("/")
    is_link = member.issym() or member.islnk()
    problem = ""
    if count > _MOST_MEMBERS:
        problem = f"has more than {_MOST_MEMBERS} members"
    elif left < 0:
        problem = "is larger than what is free of the disk: raise compute.volumeGigabytes"
    elif name not in ("", ".") and leads_out(name):
        problem = f"holds {member.name!r}, which leads out of its folder"
    elif is_link and leads_out(_aim(member)):
        problem = f"holds the link {member.name!r}, which leads out of its folder"
    elif not (member.isdir() or member.isreg() or is_link):
        problem = f"holds {member.name!r}, which is no regular file"
    if problem:
        raise ConfigurationError(f"{archive} {problem}: {REMEDY}")
