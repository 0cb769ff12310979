import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from watched import FOLDER, LAST, resumed, saved

model = torch.nn.Linear(40, 20)
optimizer = torch.optim.Adam(model.parameters())
folders = sorted(FOLDER.glob("step-*"), key=lambda path: int(path.name.removeprefix("step-")))
step = 0
if folders:
    weights, state = get_state_dict(model, optimizer)
    loaded = {"model": weights, "optimizer": state, "step": 0}
    dcp.load(loaded, checkpoint_id=folders[-1], no_dist=True)
    named = {"model_state_dict": loaded["model"], "optim_state_dict": loaded["optimizer"]}
    set_state_dict(model, optimizer, **named)
    step = loaded["step"]
resumed(step)
while step < LAST:
    model(torch.randn(8, 40)).square().mean().backward()
    optimizer.step()
    step += 1
    weights, state = get_state_dict(model, optimizer)
    whole = {"model": weights, "optimizer": state, "step": step}
    dcp.save(whole, checkpoint_id=FOLDER / f"step-{step}", no_dist=True)
    saved(step)
