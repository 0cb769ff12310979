import os

import torch

os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # Without it MMEngine 0.10 cannot resume.
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from watched import FOLDER, LAST, resumed, saved


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(40, 20)

    def forward(self, *batch, mode):
        return {"loss": self.layer(torch.stack(batch)).square().mean()}


class Reports(Hook):
    priority = "LOWEST"

    def before_train(self, runner):
        resumed(runner.iter)

    def after_train_epoch(self, runner):
        saved(runner.iter)


loader = {"dataset": list(torch.randn(64, 40)), "batch_size": 8, "num_workers": 0}
settings = {
    "train_dataloader": {**loader, "sampler": {"type": "DefaultSampler"}},
    "optim_wrapper": {"optimizer": {"type": "Adam"}},
    "train_cfg": {"by_epoch": True, "max_epochs": LAST},
    "default_hooks": {"checkpoint": {"type": "CheckpointHook", "interval": 1}},
}
Runner(Model(), FOLDER, resume=True, custom_hooks=[Reports()], **settings).train()
