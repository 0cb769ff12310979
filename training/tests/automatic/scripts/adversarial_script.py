"""Two optimizers in turn, then one with a closure; a hook that reads in the backward pass."""

import torch
from end import print_digest
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=16, shuffle=True)
maker, judge = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
judging = torch.optim.RMSprop(judge.parameters(), lr=0.01)
making = torch.optim.SGD(maker.parameters(), lr=0.05, momentum=0.9, nesterov=True)
criterion = nn.BCEWithLogitsLoss()
norms = []


def note(_module, _inputs, outputs):
    if outputs[0].isfinite().all():
        norms.append(outputs[0].norm())


judge[2].register_full_backward_hook(note)
for epoch in range(3):
    for (real,) in loader:
        fake = maker(torch.randn(len(real), 2))
        judging.zero_grad()
        criterion(judge(real), torch.ones(len(real), 1)).backward()
        criterion(judge(fake.detach()), torch.zeros(len(real), 1)).backward()
        judging.step()
        making.zero_grad()
        loss = criterion(judge(fake), torch.ones(len(real), 1))
        loss.backward()
        making.step()
    print(f"epoch {epoch} loss {loss.item():.6f} norm {len(norms)} {norms[-1].item():.6f}")
finishing = torch.optim.LBFGS(maker.parameters(), lr=0.1, max_iter=4)
calls = 0
noise = torch.randn(16, 2)


def closure():
    global calls
    calls += 1
    finishing.zero_grad()
    loss = criterion(judge(maker(noise)), torch.ones(16, 1))
    loss.backward()
    return loss


for _ in range(4):
    finishing.step(closure)
print(f"calls {calls}")
print_digest(nn.ModuleList([maker, judge]))
