"""After https://huggingface.co/docs/datasets/stream: JSON lines that are streamed and tokenized by
`map`, one example at a time."""

from __future__ import annotations

import argparse
import itertools
import json
import random
from pathlib import Path

import torch
from datasets import load_dataset
from device import OnDevice
from torch.utils.data import DataLoader

FILES = 4
folder = Path("lines")
if not folder.exists():
    folder.mkdir()
    draw = random.Random(2)
    words = ["".join(draw.choices("abcdefgh", k=5)) for _ in range(2_000)]
    for number in range(FILES):
        with (folder / f"{number}.jsonl").open("w") as file:
            for _ in range(2_000):
                file.write(json.dumps({"text": " ".join(draw.choices(words, k=300))}) + "\n")


def tokenize(example: dict[str, str]) -> dict[str, list[int]]:
    """Byte pairs, merged one after the other as the reference implementation of BPE does."""
    ids = list(example["text"].encode()[:600])
    for merged in range(4):
        pairs = list(itertools.pairwise(ids))
        best = max(set(pairs), key=pairs.count) if pairs else None
        out, at = [], 0
        while at < len(ids):
            if at + 1 < len(ids) and (ids[at], ids[at + 1]) == best:
                out.append(256 + merged)
                at += 2
            else:
                out.append(ids[at])
                at += 1
        ids = out
    return {"input_ids": (ids + [0] * 600)[:600]}


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
files = [str(path) for path in sorted(folder.glob("*.jsonl"))]
stream = load_dataset("json", data_files=files, split="train", streaming=True)
stream = stream.map(tokenize, remove_columns=["text"]).with_format("torch")
model = OnDevice(600, 10, 0.06)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for batch in DataLoader(stream, batch_size=8, num_workers=arguments.workers):
        ids = batch["input_ids"]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(ids), ids[:, -1] % 10).backward()
        optimizer.step()
