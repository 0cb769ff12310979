"""Lightning's Trainer with checkpoints, resumed by ckpt_path="last" as its manual has it."""

from __future__ import annotations

import argparse

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.environments import LightningEnvironment
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--dir", required=True)
parser.add_argument("--epochs", type=int, default=12)
args = parser.parse_args()


class Classifier(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 4))

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> torch.Tensor:
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.layers(inputs), labels)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3)


L.seed_everything(0)
inputs = torch.randn(3200, 32)
labels = (inputs @ torch.randn(32, 4)).argmax(dim=1)
loader = DataLoader(TensorDataset(inputs, labels), batch_size=32)
saver = ModelCheckpoint(args.dir, save_last=True, every_n_epochs=1)
trainer = L.Trainer(
    default_root_dir=args.dir,
    max_epochs=args.epochs,
    accelerator="cpu",
    plugins=[LightningEnvironment()],
    callbacks=[saver],
    enable_progress_bar=False,
    logger=False,
)
trainer.fit(Classifier(), loader, ckpt_path="last")
