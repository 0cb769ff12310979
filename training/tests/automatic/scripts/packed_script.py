"""Texts of many lengths in packed sequences: packed by a loader, by the model, in inference."""

import torch
from end import print_digest
from torch import nn
from torch.nn.utils import rnn
from torch.utils.data import DataLoader

torch.manual_seed(2)
texts = [(torch.randint(0, 20, (1 + index % 9,)), index % 2) for index in range(40)]


def together(batch):
    words, labels = zip(*batch)
    lengths = torch.tensor([len(text) for text in words])
    packed = rnn.pack_sequence(list(words), enforce_sorted=False)
    return rnn.pad_sequence(list(words), batch_first=True), lengths, packed, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.first, self.second = nn.LSTM(6, 5, bidirectional=True, batch_first=True), nn.GRU(6, 4)
        self.head = nn.Linear(14, 2)

    def forward(self, words, lengths, packed):
        texts = rnn.pack_padded_sequence(
            self.embed(words), lengths, batch_first=True, enforce_sorted=False
        )
        out, found = rnn.pad_packed_sequence(self.first(texts)[0], batch_first=True)
        mean = out.sum(dim=1) / found.unsqueeze(1)
        again = packed._replace(data=self.embed(packed.data))
        return self.head(torch.cat([mean, self.second(again)[1][0]], dim=1))


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    for *inputs, labels in DataLoader(texts, batch_size=8, shuffle=True, collate_fn=together):
        loss = nn.functional.cross_entropy(model(*inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.inference_mode():
        batches = list(DataLoader(texts, batch_size=16, collate_fn=together))
        right = sum((model(*rest).argmax(1) == y).sum().item() for *rest, y in batches)
    print(f"epoch {epoch}: {loss.item():.6f}, {right} right")
print_digest(model)
