"""Uploads: checkpoints while the host trains and at its end, then the model."""

from __future__ import annotations

import stat
import tarfile
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidewheel_agent.checkpoints.links import find_links

from .aws_cli import AwsCli, AwsCliError
from .container import HostJob, model_uri

_UPLOAD_ATTEMPTS = 3


@dataclass(frozen=True)
class CheckpointSync:
    """This host's checkpoint folder and the prefix in the bucket, which all hosts share.

    A file that came from the bucket goes back only if this host has changed it: another host may
    have written a newer one meanwhile, such as the progress note.
    """

    aws: AwsCli
    folder: Path
    uri: str
    fetched: dict[str, tuple[int, int]]
    """Size and modification time of each fetched file, by name."""

    @classmethod
    def fetch(cls, aws: AwsCli, folder: Path, uri: str) -> CheckpointSync:
        aws.copy_down(uri, folder)
        return cls(aws, folder, uri, _states(folder))

    def upload(self) -> None:
        self.aws.sync_up(self.folder, self.uri, self._unchanged(), find_links(self.folder))

    def missing(self) -> list[str]:
        """This host's files that are not in the bucket with all their bytes."""
        unchanged = self._unchanged() | find_links(self.folder).keys()
        return [n for n in self.aws.missing(self.folder, self.uri) if n not in unchanged]

    def _unchanged(self) -> set[str]:
        return {name for name, now in _states(self.folder).items() if self.fetched.get(name) == now}


def _states(folder: Path) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for path in folder.rglob("*"):
        with suppress(OSError):  # The file was removed meanwhile.
            state = path.stat()
            if stat.S_ISREG(state.st_mode):
                found[path.relative_to(folder).as_posix()] = (state.st_size, state.st_mtime_ns)
    return found


def upload_all(checkpoints: CheckpointSync, log: Callable[[str], None]) -> list[str]:
    """Makes the last upload and checks the bucket; returns the files that are still missing."""
    missing: list[str] = []
    for _ in range(_UPLOAD_ATTEMPTS):
        try:
            checkpoints.upload()
            missing = checkpoints.missing()
        except AwsCliError as error:
            log(f"[tidewheel] the upload of checkpoints failed: {error}")
            missing = [str(path) for path in checkpoints.folder.rglob("*") if path.is_file()]
            continue
        if not missing:
            log("[tidewheel] all checkpoints are in the bucket")
            return []
    log(
        f"[tidewheel] {len(missing)} files of checkpoints are NOT in the bucket, "
        f"{missing[0] if missing else ''} among them"
    )
    return missing


def upload_periodically(
    checkpoints: CheckpointSync, interval_seconds: float, done: threading.Event
) -> None:
    while not done.wait(interval_seconds):
        # The next upload tries again. A checkpoint counts only once all of it has arrived.
        with suppress(AwsCliError):
            checkpoints.upload()


def upload_model(aws: AwsCli, base: Path, job: HostJob) -> str:
    uri = model_uri(job)
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "model.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for entry in sorted((base / "model").iterdir()):
                archive.add(entry, arcname=entry.name)
        aws.put(packed, uri)
    return uri
