"""Loops that skip batches after a checkpoint is read, as scripts write them.

Prints for each: whether it got the batches of a loop that read none, and how many it loaded.
"""

import ctypes
import itertools
import json
import multiprocessing
import os
import sys
from collections import UserDict, namedtuple
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset, default_collate

COUNT, BATCH, START = 60, 4, 11
Pair = namedtuple("Pair", "image label")


class Images(Dataset):
    def __init__(self, kind="plain"):
        self.kind, self.loaded = kind, multiprocessing.Value(ctypes.c_int)

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        with self.loaded.get_lock():
            self.loaded.value += 1
        image = torch.full((2,), float(index))
        if self.kind == "draws" or (self.kind == "late" and index == 44):
            image = image + torch.rand(2)
        return Pair(image, str(index) if self.kind == "text" else index)


def as_dict(samples):
    return {"image": default_collate([each.image for each in samples])}


def as_user_dict(samples):
    return UserDict(as_dict(samples))


def continued(loader):
    for step, (image, *label) in enumerate(loader):
        image = image.to("cpu", non_blocking=True)
        if step < START:
            continue
        yield image, *label


def named(loader):
    for step, batch in enumerate(loader):
        if step >= START:
            yield batch["image"]


def sliced(loader):
    return itertools.islice(loader, START, None)


def drawn(loader):
    batches = iter(loader)
    for _ in range(START):
        next(batches)
    return batches


def looked_at(loader):
    for step, (image, label) in enumerate(loader):
        if len(image) == BATCH and step >= START:
            yield image, label


def collected(loader):
    return list(loader)[START:]


LOOPS = {
    "continue": (continued, {}),
    "continue in workers": (continued, {"num_workers": 2}),
    "islice": (sliced, {}),
    "islice in three workers": (sliced, {"num_workers": 3, "prefetch_factor": 3}),
    "next": (drawn, {}),
    "next in workers that stay": (drawn, {"num_workers": 2, "persistent_workers": True}),
    "dictionary": (named, {"collate_fn": as_dict}),
    "dictionary of a class": (named, {"collate_fn": as_user_dict}),
    "a look at each": (looked_at, {}),
    "list": (collected, {}),
    "list in workers": (collected, {"num_workers": 2}),
    "draws": (continued, {"kind": "draws"}),
    "draws in workers": (continued, {"kind": "draws", "num_workers": 2}),
    "text": (continued, {"kind": "text"}),
}


def shown(batch):
    if isinstance(batch, str):
        return batch
    if not isinstance(batch, torch.Tensor):
        return [shown(each) for each in batch]
    text = repr(batch)
    assert type(batch) is torch.Tensor
    return text


def run(loop, kind="plain", **options):
    data = Images(kind)
    torch.manual_seed(5)
    loader = DataLoader(data, BATCH, shuffle=kind != "late", **options)
    batches = [shown(batch) for batch in loop(loader)]
    return [batches, torch.rand(1).item()], data.loaded.value // BATCH


def resume():
    Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"], "state").read_text()


if sys.argv[1] == "late":
    resume()
    run(continued, "late")
own = {name: run(loop, **options)[0] for name, (loop, options) in LOOPS.items()}
resume()
for name, (loop, options) in LOOPS.items():
    found, loaded = run(loop, **options)
    # Nothing holds on to the loader.
    assert not multiprocessing.active_children(), name
    print(json.dumps([name, found == own[name], loaded]), flush=True)

weight = torch.ones(1, requires_grad=True)
weight.sum().backward()
torch.optim.SGD([weight], lr=1.0).step()
found, loaded = run(sliced)
print(json.dumps(["after a step", found == own["islice"], loaded]), flush=True)
