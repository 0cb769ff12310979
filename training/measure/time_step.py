"""`time_step.py MODEL SIDE PRECISION`: a training step of one sample and of four on one thread.

Prints both in seconds of CPU, as JSON."""

import json
import sys
import time

import timm
import torch

name, side, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
model = timm.create_model(name, img_size=(side, side), num_classes=2)
optimizer = torch.optim.AdamW(model.parameters())
seconds = []
# The first step makes the optimizer's averages.
for samples in (1, 1, 4):
    began = time.process_time()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        guessed = model(torch.zeros(samples, 3, side, side))
        loss = guessed.logsumexp(1).sum()
    torch.autograd.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    seconds.append(time.process_time() - began)
print(json.dumps(seconds[1:]))
