"""Trains on drop after drop: `python drops.py digits|language|table --drops 20`.

Three ways, each really trained: from the model before with the new drop alone, or with a replayed
share of the earlier samples too; and at the end from nothing on all. Each day has favourites among
the classes, so that a model which sees one day alone forgets the others. The
recipes train in this process, by their own programs; scikit-learn trains the table.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

TRAINING = Path(__file__).resolve().parents[2] / "training"
sys.path += [str(TRAINING / "agent" / "for_scripts"), str(TRAINING / "measure")]

FAVOURED = 8
"""How many times as often a day has its favourites."""


@dataclass(frozen=True)
class Sample:
    key: str
    label: str
    content: Any


@dataclass(frozen=True)
class Trained:
    model: Any
    passes: int
    """Samples that it computed, each as often as there are epochs."""
    seconds: float
    score: float


Fit = Callable[[Sequence[Sample], Any, int], Any]
"""Trains on samples, from nothing or from a model, for so many epochs."""


@dataclass(frozen=True)
class Task:
    samples: Sequence[Sample]
    fit: Fit
    score: Callable[[Any], float]
    """The share of held-out samples that a model gets right."""
    epochs: tuple[int, int]
    """From nothing, and from a model."""
    replay: float


def place_of(text: str) -> float:
    """As the service draws: docs/models.md."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def in_drops(samples: Sequence[Sample], drops: int, seed: int) -> list[list[Sample]]:
    """Each day has two favourites among the classes."""
    random_ = random.Random(seed)
    classes = sorted({sample.label for sample in samples})
    likes = [random_.sample(classes, min(2, len(classes) - 1)) for _ in range(drops)]
    days: list[list[Sample]] = [[] for _ in range(drops)]
    for sample in samples:
        weights = [FAVOURED if sample.label in favoured else 1 for favoured in likes]
        days[random_.choices(range(drops), weights)[0]].append(sample)
    return days


def trained(task: Task, samples: Sequence[Sample], model: Any = None) -> Trained:
    epochs = task.epochs[model is not None]
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        fitted = task.fit(samples, model, epochs)
    seconds = time.process_time() - began
    return Trained(fitted, epochs * len(samples), seconds, task.score(fitted))


def play(task: Task, days: Sequence[Sequence[Sample]]) -> dict[str, Any]:
    first = trained(task, days[0])
    ways: dict[str, list[Trained]] = {way: [first] for way in ("new", "replay")}
    for number in range(1, len(days)):
        earlier = [sample for day in days[:number] for sample in day]
        drawn = [one for one in earlier if place_of(f"run-{number:06d} {one.key}") < task.replay]
        for way, samples in (("new", days[number]), ("replay", [*days[number], *drawn])):
            ways[way].append(trained(task, samples, ways[way][-1].model))
    ways["nothing"] = [trained(task, [sample for day in days for sample in day])]
    return {
        way: {
            "scores": [round(one.score, 5) for one in all_],
            "seconds": [round(one.seconds, 3) for one in all_],
            "passes": [one.passes for one in all_],
        }
        for way, all_ in ways.items()
    }


def recipe(name: str) -> None:
    """Puts the recipe's modules on the path."""
    sys.path.insert(0, str(TRAINING / "recipes" / name))


def run_recipe(
    kind: Any, make: Any, channel: Path, arguments: Sequence[str], first: Path | None
) -> Path:
    from common.program import run

    model = Path(tempfile.mkdtemp(dir=os.environ["TMPDIR"]))
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "RENDEZVOUS_FILE"):
        os.environ.pop(name, None)
    os.environ |= {"SM_CHANNEL_TRAIN": str(channel), "SM_MODEL_DIR": str(model)}
    sys.argv = ["train.py", *arguments, *([f"--init={first}"] if first else [])]
    run(kind, make)
    return model


def folder() -> Path:
    return Path(tempfile.mkdtemp(dir=os.environ["TMPDIR"]))


def digits(seed: int) -> Task:
    recipe("ddp")
    import numpy as np
    import torch
    import train
    from digits import digit_images
    from model import build_model

    samples = [Sample(*digit) for digit in digit_images()]
    random.Random(seed).shuffle(samples)
    held_out, rest = samples[:450], samples[450:]

    def fit(some: Sequence[Sample], first: Path | None, epochs: int) -> Path:
        channel = folder()
        with tarfile.open(channel / "0.tar", "w") as tar:
            for sample in some:
                for suffix, content in (("cls", sample.label.encode()), ("png", sample.content)):
                    member = tarfile.TarInfo(f"{sample.key}.{suffix}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
        small = ["--batch_size=16", "--holdout_percent=20", "--loader_workers=0", "--width=16"]
        rate = "--learning_rate=3e-3" if first is None else "--learning_rate=2e-3"
        arguments = [*small, rate, f"--epochs={epochs}", f"--seed={seed}"]
        return run_recipe(train.Config, train.make_task, channel, arguments, first)

    def score(model: Path) -> float:
        from PIL import Image

        labels = json.loads((model / "model.json").read_text())["labels"]
        network = build_model(1, len(labels), 16, 0.0).eval()
        network.load_state_dict(torch.load(model / "model.pt", weights_only=True))
        rows = np.stack([np.asarray(Image.open(io.BytesIO(one.content))) for one in held_out])
        images = torch.tensor(rows, dtype=torch.float32).unsqueeze(1) / 255
        guesses = network(images).argmax(1).tolist()
        hits: list[bool] = [labels[g] == s.label for g, s in zip(guesses, held_out, strict=True)]
        return sum(hits) / len(hits)

    return Task(rest, fit, score, (12, 5), 0.5)


def language(seed: int) -> Task:
    recipe("lm")
    import numpy as np
    import torch
    from config import Config
    from language import LanguageTask
    from make_text import WHO, story
    from model import LanguageModel

    random_ = random.Random(seed)
    stories = [story(random_) for _ in range(800)]

    def label(text: str) -> str:
        return str(next(who for who in WHO if who in text.lower()))

    samples = [Sample(str(n), label(text), text.encode()) for n, text in enumerate(stories)]
    held_out, rest = b"\n".join(s.content for s in samples[:100]), samples[100:]
    size = ["--width=32", "--depth=1", "--context=64", "--vocabulary=256"]

    def fit(some: Sequence[Sample], first: Path | None, epochs: int) -> Path:
        channel = folder()
        (channel / "0.txt").write_bytes(b"\n".join(sample.content for sample in some))
        rate = "--learning_rate=1e-2" if first is None else "--learning_rate=3e-3"
        rates = ["--batch_size=16", rate, "--evaluate_steps=100000"]
        arguments = [*size, *rates, "--holdout_percent=30", f"--epochs={epochs}", f"--seed={seed}"]
        return run_recipe(Config, LanguageTask, channel, arguments, first)

    def score(model: Path) -> float:
        network = LanguageModel(256, 64, width=32, depth=1, heads=4, dropout=0.0).eval()
        network.load_state_dict(torch.load(model / "model.pt", weights_only=True))
        text = np.frombuffer(held_out, np.uint8).astype(np.int64)
        rows = torch.from_numpy(text[: (len(text) - 1) // 64 * 64].reshape(-1, 64))
        targets = torch.from_numpy(text[1 : rows.numel() + 1].reshape(-1, 64))
        with torch.no_grad():
            return float((network(rows).argmax(-1) == targets).float().mean())

    return Task(rest, fit, score, (6, 4), 0.3)


def table(seed: int) -> Task:
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    values, targets = load_breast_cancer(return_X_y=True)
    # Four kinds of patients, so that a day may have favourites among them.
    quarter = np.searchsorted(np.quantile(values[:, 0], [0.25, 0.5, 0.75]), values[:, 0])
    rows = [
        Sample(str(n), f"{quarter[n]}-{targets[n]}", (values[n], targets[n]))
        for n in range(len(values))
    ]
    random.Random(seed).shuffle(rows)
    held_out, rest = rows[:170], rows[170:]

    def fit(some: Sequence[Sample], first: Any, epochs: int) -> Any:
        inputs = np.array([sample.content[0] for sample in some])
        outputs = np.array([sample.content[1] for sample in some])
        scaler, before = first or (StandardScaler().fit(inputs), None)
        rate = {"learning_rate": "constant", "eta0": 0.003 if first is None else 0.006}
        classifier = SGDClassifier(loss="log_loss", alpha=1e-3, random_state=seed, **rate)
        if before is not None:
            classifier.coef_, classifier.intercept_ = before
        order = np.random.default_rng(seed)
        for _ in range(epochs):
            mixed = order.permutation(len(inputs))
            classifier.partial_fit(scaler.transform(inputs[mixed]), outputs[mixed], classes=[0, 1])
        return scaler, (classifier.coef_.copy(), classifier.intercept_.copy())

    def score(model: Any) -> float:
        scaler, (weights, bias) = model
        inputs = scaler.transform(np.array([sample.content[0] for sample in held_out]))
        outputs = np.array([sample.content[1] for sample in held_out])
        return float(np.mean((inputs @ weights[0] + bias[0] > 0) == outputs))

    return Task(rest, fit, score, (60, 15), 0.5)


TASKS = {"digits": digits, "language": language, "table": table}


def summary(played: Sequence[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """Means over the seeds, of each training in a row."""
    return {
        way: {
            what: [round(mean(each[way][what][n] for each in played), 5) for n in range(len(first))]
            for what, first in played[0][way].items()
        }
        for way in played[0]
    }


def print_summary(task: str, ways: dict[str, dict[str, list[float]]]) -> None:
    whole = ways["nothing"]
    print(f"{task}\tpoints\tCPU seconds\tsamples computed, of the last training", file=sys.stderr)
    for way, of in ways.items():
        shares = [f"{of[what][-1]:.2f} ({of[what][-1] / whole[what][-1]:.0%})" for what in COSTS]
        print(way, f"{100 * of['scores'][-1]:.2f}", *shares, sep="\t", file=sys.stderr)
    for way in ("new", "replay"):
        curve = " ".join(f"{100 * score:.0f}" for score in ways[way]["scores"])
        print(f"after each drop, {way}: {curve}", file=sys.stderr)


COSTS = ("seconds", "passes")

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--drops", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        os.environ["TMPDIR"] = work
        played = []
        for seed in range(options.seed, options.seed + options.seeds):
            task = TASKS[options.task](seed)
            days = in_drops(task.samples, options.drops, seed)
            played.append(play(task, days))
        print_summary(options.task, summary(played))
        print(json.dumps(summary(played)))
