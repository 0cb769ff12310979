"""A decoder-only transformer (https://arxiv.org/abs/1706.03762) in plain PyTorch, of any size.

It normalises before each sublayer, learns its position embeddings, and shares one matrix between
input and output.
"""

import math

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = nn.Linear(width, 3 * width)
        self.gather = nn.Linear(width, width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        tokens = tokens + self.drop(self._attention(self.norm1(tokens)))
        hidden = self.contract(functional.gelu(self.expand(self.norm2(tokens))))
        stream: torch.Tensor = tokens + self.drop(hidden)
        return stream

    def _attention(self, tokens: torch.Tensor) -> torch.Tensor:
        samples, length, width = tokens.shape
        parts = self.attend(tokens).view(samples, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, dropout_p=self.dropout if self.training else 0.0
        )
        gathered: torch.Tensor = self.gather(mixed.transpose(1, 2).reshape(samples, length, width))
        return gathered


class LanguageModel(nn.Module):
    def __init__(
        self, vocabulary: int, context: int, *, width: int, depth: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.empty(context, width))
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self._initialize(depth)

    def _initialize(self, depth: int) -> None:
        nn.init.normal_(self.positions, std=0.02)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2 and name != "positions":
                # The deeper the model, the smaller what each layer adds to the residual stream.
                added = name.endswith(("gather.weight", "contract.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * depth) if added else 0.02)
            elif name.endswith(".bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of each next token, of shape samples x length x vocabulary."""
        stream = self.drop(self.tokens(tokens) + self.positions[: tokens.shape[1]])
        for block in self.blocks:
            stream = block(stream)
        scores: torch.Tensor = functional.linear(self.norm(stream), self.tokens.weight)
        return scores

    @torch.no_grad()
    def continue_text(self, tokens: list[int], length: int) -> list[int]:
        """Appends the likeliest next token, `length` times."""
        device = self.tokens.weight.device
        for _ in range(length):
            scores = self(torch.tensor([tokens[-self.context :]], device=device))
            tokens = [*tokens, int(scores[0, -1].argmax())]
        return tokens


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Matrices decay; biases, norms and position embeddings do not."""
    decayed = [p for name, p in model.named_parameters() if p.dim() > 1 and name != "positions"]
    others = [p for name, p in model.named_parameters() if p.dim() <= 1 or name == "positions"]
    return [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
