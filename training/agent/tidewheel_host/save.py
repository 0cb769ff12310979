"""What leaves the host: checkpoints while it trains and at its end, the model."""

from __future__ import annotations

import tarfile
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .cloud import Cloud, CloudError
from .container import HostJob, model_uri

_UPLOAD_ATTEMPTS = 3


def save_all(cloud: Cloud, folder: Path, uri: str, say: Callable[[str], None]) -> list[str]:
    """The last upload, looked at in the bucket: SageMaker's own uploader gives no such word.
    Returns what is still missing."""
    missing: list[str] = []
    for _ in range(_UPLOAD_ATTEMPTS):
        try:
            cloud.sync_up(folder, uri)
            missing = cloud.missing(folder, uri)
        except CloudError as error:
            say(f"[tidewheel] the upload of checkpoints failed: {error}")
            missing = [str(path) for path in folder.rglob("*") if path.is_file()]
            continue
        if not missing:
            say("[tidewheel] all checkpoints are in the bucket")
            return []
    say(
        f"[tidewheel] {len(missing)} files of checkpoints are NOT in the bucket, "
        f"{missing[0] if missing else ''} among them"
    )
    return missing


def keep_saved(
    cloud: Cloud, folder: Path, uri: str, every_seconds: float, done: threading.Event
) -> None:
    while not done.wait(every_seconds):
        # The next time tries again; a checkpoint counts only when all of it has arrived.
        with suppress(CloudError):
            cloud.sync_up(folder, uri)


def upload_model(cloud: Cloud, base: Path, job: HostJob) -> str:
    uri = model_uri(job)
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "model.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for entry in sorted((base / "model").iterdir()):
                archive.add(entry, arcname=entry.name)
        cloud.put(packed, uri)
    return uri
