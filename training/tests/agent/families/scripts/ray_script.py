import tempfile
from pathlib import Path

import ray
import torch
from ray.train import Checkpoint, CheckpointConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from watched import FOLDER, LAST, resumed, saved


def train():
    checkpoint, step = ray.train.get_checkpoint(), 0
    if checkpoint:
        with checkpoint.as_directory() as folder:
            step = torch.load(Path(folder, "state.pt"))["step"]
    resumed(step)
    for step in range(step + 1, LAST + 1):
        with tempfile.TemporaryDirectory() as folder:
            torch.save({"step": step, "w": torch.ones(500)}, Path(folder, "state.pt"))
            ray.train.report({"step": step}, checkpoint=Checkpoint.from_directory(folder))
        ray.train.get_all_reported_checkpoints()
        saved(step)


ray.init(num_cpus=2, include_dashboard=False)
keeps = CheckpointConfig(num_to_keep=2)
run = RunConfig(name="run", storage_path=str(FOLDER), checkpoint_config=keeps)
TorchTrainer(train, scaling_config=ScalingConfig(num_workers=1), run_config=run).fit()
