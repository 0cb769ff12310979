import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from watched import FOLDER, LAST, resumed, saved


class Reports(ModelCheckpoint):
    def on_train_start(self, trainer, module):
        super().on_train_start(trainer, module)
        resumed(trainer.global_step)

    def on_train_batch_end(self, trainer, *more, **named):
        super().on_train_batch_end(trainer, *more, **named)
        if trainer.global_step % 5 == 0:
            saved(trainer.global_step)


class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(40, 20)

    def training_step(self, batch, _):
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


newest = {"monitor": "step", "mode": "max", "save_top_k": 2, "save_last": "link"}
reports = Reports(FOLDER, every_n_train_steps=5, **newest)
trainer = Trainer(max_steps=5 * LAST, accelerator="cpu", callbacks=[reports], logger=False)
trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(64, 40), 8), ckpt_path="last")
