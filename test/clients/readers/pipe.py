"""The FIFOs by which SageMaker feeds a channel in Pipe mode.

One for each epoch: `<channel>_0`, `<channel>_1` and so on. Each carries all objects of the channel
in the order of their keys, without a border between them, and the next one is there before one
ends. https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-running-container.html
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EPOCHS = 2


@contextmanager
def piped(objects: list[str]) -> Iterator[list[str]]:
    """Feeds the objects. Gives the paths of the FIFOs of the epochs."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        paths = [str(data / f"training_{epoch}") for epoch in range(EPOCHS)]
        os.mkfifo(paths[0])
        threading.Thread(target=feed, args=(objects, paths), daemon=True).start()
        yield paths


def feed(objects: list[str], paths: list[str]) -> None:
    for epoch, path in enumerate(paths):
        with open(path, "wb") as fifo:
            if epoch + 1 < len(paths):
                os.mkfifo(paths[epoch + 1])
            try:
                for name in objects:
                    with Path(name).open("rb") as body:
                        shutil.copyfileobj(body, fifo)
            except BrokenPipeError:
                # The reader has closed it early.
                continue
