"""One pass over many small samples: from files of the channel `files`, or from packed shards.

Trains a linear model on the bytes of each sample, so reading is nearly all of the work.
"""

import json
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

import tidewheel

_BATCH = 64
_CLASSES = 10
Sample = tuple[int, bytes]


def from_files(folder: Path) -> Iterator[Sample]:
    """`<class>/<name>.bin`, one file after the other in the order of their paths."""
    for path in sorted(folder.rglob("*.bin")):
        yield int(path.parent.name), path.read_bytes()


def from_shards(folder: Path) -> Iterator[Sample]:
    """The packer has shuffled the samples, so shards are read from begin to end."""
    for shard in sorted(folder.rglob("*.tar")):
        with tarfile.open(shard, "r:") as tar:
            content: bytes | None = None
            label: int | None = None
            for member in tar:
                file = tar.extractfile(member)
                data = file.read() if file else b""
                if member.name.endswith(".cls"):
                    label = int(data)
                else:
                    content = data
                if content is not None and label is not None:
                    yield label, content
                    content = label = None


def batches(samples: Iterator[Sample]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    rows: list[Sample] = []
    for sample in samples:
        rows.append(sample)
        if len(rows) == _BATCH:
            inputs = [torch.frombuffer(bytearray(row), dtype=torch.uint8) for _, row in rows]
            yield torch.stack(inputs).float() / 255, torch.tensor([label for label, _ in rows])
            rows = []


def write(folder: Path, state: dict[str, torch.Tensor]) -> None:
    torch.save(state, folder / "model.pt")


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(7)
    files = os.environ.get("SM_CHANNEL_FILES")
    shards = Path(os.environ["SM_CHANNEL_TRAIN"])
    samples = from_files(Path(files)) if files else from_shards(shards)
    model: torch.nn.Linear | None = None
    optimizer: torch.optim.Optimizer | None = None
    steps, began = 0, time.monotonic()
    for inputs, labels in batches(samples):
        if model is None or optimizer is None:
            model = torch.nn.Linear(inputs.shape[1], _CLASSES)
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
        optimizer.zero_grad()
        torch.autograd.backward(torch.nn.functional.cross_entropy(model(inputs), labels))
        optimizer.step()
        steps += 1
        if steps == 1:
            # PyTorch imports seconds of modules for the first optimizer.
            began = time.monotonic()
    seconds = time.monotonic() - began
    if model is None or steps < 2:
        raise ValueError(f"less than {2 * _BATCH} samples below {files or shards}: drop more data")
    metrics = {"stepSeconds": round(seconds / (steps - 1), 6), "samples": float(steps * _BATCH)}
    tidewheel.save(steps, write, model.state_dict(), total=steps, metrics=metrics)
    tidewheel.flush()
    folder = Path(os.environ["SM_MODEL_DIR"])
    write(folder, model.state_dict())
    (folder / "metrics.json").write_text(json.dumps(metrics) + "\n")


if __name__ == "__main__":
    main()
