"""Lightning as its guide shows it; the script does not know Tidewheel."""

from __future__ import annotations

import os
import time

import lightning
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        time.sleep(0.1)
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        print(f"step {self.global_step} of 80", flush=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


folder = os.environ["SAVE_TO"]
data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
callbacks: list[Callback] = [
    ModelCheckpoint(dirpath=folder, every_n_train_steps=20, save_last=True)
]
trainer = lightning.Trainer(
    max_steps=80,
    callbacks=callbacks,
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    accelerator="cpu",
)
last = os.path.join(folder, "last.ckpt")
trainer.fit(Model(), DataLoader(data, 4), ckpt_path=last if os.path.exists(last) else None)
torch.save(trainer.model.state_dict(), os.path.join(os.environ["SM_MODEL_DIR"], "model.pt"))
