"""No loader; a state carried from step to step; AdamW, warm-up, accumulation, weights replaced."""

import torch
from end import print_digest
from torch import nn

torch.manual_seed(3)
data = torch.randint(0, 20, (500,))
embed, cell, head = nn.Embedding(20, 8), nn.LSTM(8, 12), nn.Linear(12, 20)
model = nn.ModuleList([embed, cell, head])
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
hidden = None
average = nn.Linear(12, 20)
step = 0
while step < 24:
    for part in range(2):
        start = torch.randint(0, 480, (1,)).item()
        x, y = data[start : start + 8], data[start + 1 : start + 9]
        out, hidden = cell(embed(x).unsqueeze(1), hidden)
        hidden = tuple(state.detach() for state in hidden)
        loss = nn.functional.cross_entropy(head(out.squeeze(1)), y)
        (loss / 2).backward()
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for mean, current in zip(average.parameters(), head.parameters()):
            mean.mul_(0.9).add_(current, alpha=0.1)
    embed.weight.data = nn.functional.normalize(embed.weight.data)
    if loss.item() < 1.0:
        break
    step += 1
    print(f"step {step} loss {loss.item():.6f}")
print_digest(nn.ModuleList([model, average]))
