import sys

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint
from watched import FOLDER, LAST, resumed, saved


class Reports(TrainerCallback):
    def on_train_begin(self, args, state, control, **_):
        resumed(state.global_step)

    def on_save(self, args, state, control, **_):
        saved(state.global_step)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, labels):
        out = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


kind, arguments, more = Trainer, TrainingArguments, {}
model, data = Model(), [{"x": torch.ones(4) * n, "labels": torch.ones(1)} for n in range(16)]
if "sentences" in sys.argv:
    import datasets
    import sentence_transformers as st
    import tokenizers
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from sentence_transformers.models import StaticEmbedding

    words = tokenizers.models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, "[UNK]")
    part = StaticEmbedding(tokenizers.Tokenizer(words), embedding_dim=8)
    model = st.SentenceTransformer(modules=[part], device="cpu")
    data = datasets.Dataset.from_dict({"anchor": ["a", "b"] * 8, "positive": ["b", "a"] * 8})
    kind, arguments = st.SentenceTransformerTrainer, st.SentenceTransformerTrainingArguments
    more = {"loss": MultipleNegativesRankingLoss(model)}
only = "weights" in sys.argv
settings = {"max_steps": LAST, "save_steps": 1, "save_total_limit": 2, "save_only_model": only}
settings |= {"report_to": [], "use_cpu": True, "disable_tqdm": True}
trainer = kind(
    model, arguments(str(FOLDER), **settings), train_dataset=data, callbacks=[Reports()], **more
)
trainer.train(resume_from_checkpoint=get_last_checkpoint(FOLDER))
