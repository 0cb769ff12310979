"""What leaves the host: checkpoints while it trains and at its end, the model."""

from __future__ import annotations

import stat
import tarfile
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .aws_cli import Cloud, CloudError
from .container import HostJob, model_uri

_UPLOAD_ATTEMPTS = 3


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoint folder of this host and its prefix in the bucket, which all hosts share.

    What came from there and was not touched since is never sent back: another host may have
    written it anew meanwhile, such as the note of the progress.
    """

    cloud: Cloud
    folder: Path
    uri: str
    fetched: dict[str, tuple[int, int]]
    """Bytes and time of change of what came, by name."""

    @classmethod
    def fetch(cls, cloud: Cloud, folder: Path, uri: str) -> Checkpoints:
        cloud.copy_down(uri, folder)
        return cls(cloud, folder, uri, _states(folder))

    def upload(self) -> None:
        self.cloud.sync_up(self.folder, self.uri, self._untouched())

    def missing(self) -> list[str]:
        """Names that are not in the bucket with all their bytes, of what is this host's to save."""
        untouched = self._untouched()
        return [n for n in self.cloud.missing(self.folder, self.uri) if n not in untouched]

    def _untouched(self) -> set[str]:
        return {name for name, now in _states(self.folder).items() if self.fetched.get(name) == now}


def _states(folder: Path) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for path in folder.rglob("*"):
        with suppress(OSError):  # removed meanwhile
            state = path.stat()
            if stat.S_ISREG(state.st_mode):
                found[path.relative_to(folder).as_posix()] = (state.st_size, state.st_mtime_ns)
    return found


def save_all(checkpoints: Checkpoints, say: Callable[[str], None]) -> list[str]:
    """The last upload, looked at in the bucket: SageMaker's own uploader gives no such word.
    Returns what is still missing."""
    missing: list[str] = []
    for _ in range(_UPLOAD_ATTEMPTS):
        try:
            checkpoints.upload()
            missing = checkpoints.missing()
        except CloudError as error:
            say(f"[tidewheel] the upload of checkpoints failed: {error}")
            missing = [str(path) for path in checkpoints.folder.rglob("*") if path.is_file()]
            continue
        if not missing:
            say("[tidewheel] all checkpoints are in the bucket")
            return []
    say(
        f"[tidewheel] {len(missing)} files of checkpoints are NOT in the bucket, "
        f"{missing[0] if missing else ''} among them"
    )
    return missing


def keep_saved(checkpoints: Checkpoints, every_seconds: float, done: threading.Event) -> None:
    while not done.wait(every_seconds):
        # The next time tries again; a checkpoint counts only when all of it has arrived.
        with suppress(CloudError):
            checkpoints.upload()


def upload_model(cloud: Cloud, base: Path, job: HostJob) -> str:
    uri = model_uri(job)
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "model.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for entry in sorted((base / "model").iterdir()):
                archive.add(entry, arcname=entry.name)
        cloud.put(packed, uri)
    return uri
