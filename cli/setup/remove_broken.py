"""Removes the records of packages whose files are not all there: the installer brings them again.

Runs in the environment it repairs, after an installation that was cut short.
"""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path


def is_whole(distribution: metadata.Distribution) -> bool:
    """Whether each recorded file exists with its recorded size. Compiled files come and go."""
    files = distribution.files
    if not files or not distribution.read_text("METADATA"):
        return False
    for file in files:
        if file.suffix == ".pyc":
            continue
        path = Path(str(file.locate()))
        if not path.is_file() or (file.size is not None and path.stat().st_size != file.size):
            return False
    return True


def main() -> None:
    for distribution in list(metadata.distributions()):
        record = getattr(distribution, "_path", None)
        if (
            isinstance(record, Path)
            and record.suffix == ".dist-info"
            and not is_whole(distribution)
        ):
            print(f"incomplete: {record.name}")
            shutil.rmtree(record, ignore_errors=True)


if __name__ == "__main__":
    main()
