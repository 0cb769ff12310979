"""Saves by itself, too, in every way that a callback may take, below the checkpoint folder."""

import csv
import json
import logging
import os
import shutil
import subprocess
import zipfile
from os import replace
from pathlib import Path

import numpy as np
import torch
from end import print_digest
from torch import nn

folder = Path(os.environ["TIDEWHEEL_AUTOMATIC_DIR"])
folder.mkdir(exist_ok=True)
other = Path("model")
other.mkdir(exist_ok=True)
logging.basicConfig(filename=folder / "training.log", level=logging.INFO, format="%(message)s")
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
kept, late = [], None


def save_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("data"), "{}")
        with archive.open(zipfile.ZipInfo("policy.pth"), "w") as member:
            torch.save(model.state_dict(), member)


def save_folder(path):
    shutil.rmtree(path, ignore_errors=True)
    new = path.with_name("new")
    new.mkdir()
    with open(new / "weights.pt", "wb") as file:
        torch.save(model.state_dict(), file)
    os.rename(new, path)


for step in range(1, 25):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    logging.info("step %d", step)
    late = late or (folder / "late.txt").open("a")
    late.write(f"{step} {loss.item()}\n")
    with open(folder / "losses.csv", "a", newline="") as file:
        csv.writer(file).writerow([step, loss.item()])
    if step % 4 == 0:
        save_zip(folder / f"model_{step}.zip")
        save_zip(other / f"model_{step}.zip")
        save_folder(folder / "best")
        json.dump({"step": step}, (folder / "state.json").open("w"))
        np.save(folder / "weights.npy", model.weight.detach().numpy())
        torch.save(model.state_dict(), folder / "new.pt")
        replace(folder / "new.pt", folder / "last.pt")
        torch.save(model.state_dict(), "new.pt")
        replace("new.pt", other / "last.pt")
        kept.append(folder / f"kept_{step % 12}.pt")
        if len(kept) > 2:
            os.remove(kept.pop(0))
        torch.save(model.state_dict(), kept[-1])
        for old in [*folder.glob("best_*.pt"), *folder.glob("run_*")]:
            (shutil.rmtree if old.is_dir() else os.remove)(old)
        torch.save(model.state_dict(), folder / f"best_{step}.pt")
        for name, link in (("newest", os.symlink), ("same", os.link)):
            if os.path.lexists(folder / name):
                os.unlink(folder / name)
            link(folder / f"best_{step}.pt", folder / name)
        (folder / f"run_{step}").mkdir()
        (folder / f"run_{step}" / "note.txt").write_text(str(step))
        assert json.loads((folder / "state.json").read_text()) == {"step": step}
    # As an upload finds it.
    subprocess.run(["cp", "-r", folder, f"seen-{step}"], check=True)
assert torch.load(other / "last.pt")["weight"].equal(torch.load(folder / "last.pt")["weight"])
print_digest(model)
