import torch
from fastai.basics import DataLoaders, Learner
from fastai.callback.core import Callback
from fastai.callback.tracker import SaveModelCallback
from watched import FOLDER, LAST, resumed, saved


class Reports(Callback):
    order = SaveModelCallback.order + 1

    def after_epoch(self):  # Of skipped epochs, too.
        if self.epoch > max(epochs, default=-1):
            saved(self.epoch)


pairs = [(torch.randn(40), torch.zeros(20)) for _ in range(64)]
data = DataLoaders.from_dsets(pairs, pairs[:8], bs=8, num_workers=0, device="cpu")
callbacks = [SaveModelCallback(every_epoch=True, with_opt=True), Reports()]
model = torch.nn.Linear(40, 20)
learner = Learner(data, model, torch.nn.MSELoss(), path=FOLDER, cbs=callbacks)
epochs = [int(path.stem.removeprefix("model_")) for path in FOLDER.glob("models/model_*.pth")]
if epochs:
    learner.load(f"model_{max(epochs)}")
resumed(max(epochs, default=0))
with learner.no_bar(), learner.no_logging():
    learner.fit(LAST, start_epoch=max(epochs, default=-1) + 1)
