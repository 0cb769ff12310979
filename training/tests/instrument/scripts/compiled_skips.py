"""A compiled model in a loop that skips batches; prints its graphs, and where Dynamo broke them."""

import os
import sys
from pathlib import Path

import torch
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, TensorDataset


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, inputs):
        return self.layer(inputs).relu()


Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"], "state").read_text()
model = Model()
graphs = []


def backend(graph, _inputs):
    graphs.append(graph)
    return graph.forward


if sys.argv[1] == "module":
    called = torch.compile(model, backend=backend)
elif sys.argv[1] == "function":
    called = torch.compile(lambda inputs: model(inputs) * 2, backend=backend)
else:
    model.compile(backend=backend)
    called = model
inputs = torch.arange(96.0).reshape(24, 4)
# Batch by batch: a product of another shape may differ in its last bit, by the processor's kernels.
expected = [
    model.layer(batch).relu() * (2 if sys.argv[1] == "function" else 1) for batch in inputs.split(4)
]
for step, (batch,) in enumerate(DataLoader(TensorDataset(inputs), 4)):
    batch = batch.to("cpu")
    if step < 3:
        continue
    assert torch.equal(called(batch), expected[step])
print(len(graphs), *counters["graph_break"])
