import torch
from composer import Callback, Trainer
from composer.models import ComposerModel
from watched import FOLDER, LAST, resumed, saved


class Reports(Callback):
    last = 0

    def fit_start(self, state, logger):
        self.last = state.timestamp.batch.value
        resumed(self.last)

    def batch_start(self, state, logger):
        batch = state.timestamp.batch.value
        if batch % 5 == 0 and batch > self.last:
            self.last = batch
            saved(batch)

    fit_end = batch_start


class Model(ComposerModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(40, 20)

    def forward(self, batch):
        return self.layer(batch)

    def loss(self, outputs, batch):
        return outputs.square().mean()


loader = torch.utils.data.DataLoader(torch.randn(64, 40), 8)
saves = {"save_folder": str(FOLDER), "save_interval": "5ba", "save_num_checkpoints_to_keep": 2}
settings = {"max_duration": f"{5 * LAST}ba", "device": "cpu", "autoresume": True, "run_name": "r"}
trainer = Trainer(
    model=Model(), train_dataloader=loader, callbacks=[Reports()], **settings, **saves
)
trainer.fit()
