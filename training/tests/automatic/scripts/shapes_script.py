"""Shapes that depend on data: masks, `nonzero`, `unique` and their like, as a detector has them.

Numbers that PyTorch reads out of tensors by itself decide some, as in `torch.arange(count)`.
"""

import torch
from end import print_digest
from torch import nn
from torch.nn import functional

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
known, seen = torch.arange(16) % 3 == 0, 0


@torch.jit.script  # type: ignore[untyped-decorator]
def positive(values: torch.Tensor) -> torch.Tensor:
    return values[values > 0]


@torch.jit.script  # type: ignore[untyped-decorator]
def first(values: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    return values[torch.arange(int(count))]


for step in range(30):
    x, y = torch.randn(16, 4, requires_grad=True), torch.randint(0, 3, (16,))
    out = model(x)
    is_large = out.max(dim=1).values > out.mean()
    (rows,) = is_large.nonzero(as_tuple=True)
    hard = functional.cross_entropy(out, y, reduction="none")[~is_large]
    loss = functional.cross_entropy(out[rows], y[rows]) + out[is_large, 1:].mean() + hard.sum()
    (slopes,) = torch.autograd.grad(out.masked_select(out > 0).sum(), x, create_graph=True)
    loss = loss + slopes.square().mean() + out[known].std() + positive(out).sum()
    values, counts = torch.unique(y, return_counts=True)
    loss = loss + out.repeat_interleave(y, dim=0).mean() + torch.bincount(y).float().var()
    for part in out.split(counts.tolist()):
        loss = loss + part.max()
    weights = torch.zeros(16)
    weights[is_large] = torch.rand(len(rows))  # It calls `nonzero` within PyTorch.
    with torch.inference_mode():
        right = out[out.argmax(dim=1) == y]
        seen += len(right) + len(values) + len(torch.where(y == 1)[0])
    loss = loss + out[torch.isin(y, torch.arange(1, 20))].var()  # It sorts, and calls `unique`.
    lengths = torch.tensor([16]), torch.tensor([1 + step % 3])
    signs = out.log_softmax(dim=1).unsqueeze(1)
    loss = loss + functional.ctc_loss(signs, y[None, :3].clamp(min=1), *lengths)
    loss = loss + (weights * out.logsumexp(dim=1)).mean()
    count = is_large.sum().clamp(min=2)
    loss = (
        loss + out[torch.arange(count)].var() + first(out, count).sum() + out[count // 2, :].sum()
    )
    kinds = functional.one_hot(y).float()
    loss = loss + (out[:, : kinds.shape[1]] * kinds).mean() + out.new_full((2,), count).mean()
    for part in out.tensor_split(torch.tensor([3, 9]) + step % 3) + out.tensor_split(count):
        loss = loss + part.sum().tanh()
    for row in range(count):
        loss = loss + out[row, 0] / torch.ones(2).repeat(count).sum()
    loss = loss + torch.linalg.inv(out.T @ out + torch.eye(3)).mean()  # It checks a number.
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.6f}, {seen} so far, {right.shape}")
print_digest(model)
