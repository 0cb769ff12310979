"""The model that a run has made."""

import tarfile
from pathlib import Path
from urllib.parse import urlsplit

from .deployment import Deployment
from .http import TidewheelError


class Model:
    """One archive in the data bucket."""

    def __init__(self, deployment: Deployment, uri: str) -> None:
        self._deployment = deployment
        self.uri = uri
        """s3://bucket/key of a model.tar.gz."""

    def __repr__(self) -> str:
        return f"Model({self.uri!r})"

    def download(self, folder: str | Path = ".", *, extract: bool = True) -> Path:
        """Downloads the archive into the folder, which is made if it is not there.

        Returns the folder of the extracted files, or with `extract=False` the archive's path.
        A file is complete or not there: what an interrupted download leaves ends in `.part`.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        parts = urlsplit(self.uri)
        archive = target / Path(parts.path).name
        part = archive.with_name(f"{archive.name}.part")
        key = parts.path.lstrip("/")
        self._deployment.client("s3").download_file(parts.netloc, key, str(part))
        part.replace(archive)
        if not extract:
            return archive
        _extract(archive, target)
        archive.unlink()
        return target


def _extract(archive: Path, target: Path) -> None:
    """Scripts write the archive: no member may land outside the folder, and no link or device."""
    root = target.resolve()
    with tarfile.open(archive) as tar:
        for member in tar:
            place = (root / member.name).resolve()
            if not (place == root or root in place.parents):
                raise TidewheelError(f"{archive} holds a file outside its folder: {member.name!r}")
            if member.isdir():
                place.mkdir(parents=True, exist_ok=True)
            elif member.isreg():
                content = tar.extractfile(member)
                if content is None:
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                with content, place.open("wb") as file:
                    while block := content.read(1 << 20):
                        file.write(block)
            else:
                raise TidewheelError(f"{archive} holds a link or device: {member.name!r}")
