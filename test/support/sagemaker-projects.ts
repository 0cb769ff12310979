/** Three projects as people who train with the SageMaker SDK have them, in a few lines: text, churn, segmentation. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cells, churned, reviews } from './sagemaker-data.ts';

export type Files = Readonly<Record<string, string | Uint8Array>>;

/** transformers' Trainer with its own source folder, channels train and test, on Spot. */
const TEXT: Files = {
  'launch.py': `
import sagemaker
from sagemaker.huggingface import HuggingFace

session = sagemaker.Session()
role = sagemaker.get_execution_role()
epochs = 3
hyperparameters = {"epochs": epochs, "learning-rate": 5e-5, "model-name": "distilbert-base-uncased"}
hyperparameters["fp16"] = True

estimator = HuggingFace(
    entry_point="train.py",
    source_dir="scripts",
    role=role,
    sagemaker_session=session,
    transformers_version="4.56.2",
    pytorch_version="2.8.0",
    py_version="py312",
    instance_type="ml.g5.xlarge",
    instance_count=1,
    volume_size=100,
    hyperparameters=hyperparameters,
    use_spot_instances=True,
    max_run=4 * 60 * 60,
    max_wait=8 * 60 * 60,
    checkpoint_s3_uri=f"s3://{session.default_bucket()}/text/checkpoints",
    checkpoint_local_path="/opt/ml/checkpoints",
    metric_definitions=[{"Name": "eval_accuracy", "Regex": "'eval_accuracy': ([0-9.]+)"}],
    environment={"TOKENIZERS_PARALLELISM": "false"},
    tags=[{"Key": "team", "Value": "nlp"}],
    base_job_name="text",
)
estimator.fit({
    "train": session.upload_data("data/train", key_prefix="text/train"),
    "test": session.upload_data("data/test", key_prefix="text/test"),
})
`,
  'scripts/train.py': `
import argparse, glob, json, os, time, zlib
from sklearn.metrics import accuracy_score
import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--learning-rate", type=float, default=1e-4)
parser.add_argument("--model-name", default="distilbert-base-uncased")
parser.add_argument("--fp16", type=bool, default=False)
parser.add_argument("--train-dir", default=os.environ["SM_CHANNEL_TRAIN"])
parser.add_argument("--test-dir", default=os.environ.get("SM_CHANNEL_TEST"))
parser.add_argument("--model-dir", default=os.environ["SM_MODEL_DIR"])
args, _ = parser.parse_known_args()

def reviews(folder):
    found = []
    for name in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        for line in open(name):
            review = json.loads(line)
            ids = [1 + zlib.crc32(word.encode()) % 499 for word in review["text"].split()]
            found.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": review["label"]})
    return found

class Slow(TrainerCallback):
    def on_step_end(self, arguments, state, control, **more):
        time.sleep(0.7)

torch.manual_seed(0)
small = DistilBertConfig(vocab_size=500, dim=16, hidden_dim=32, n_layers=1, n_heads=2, max_position_embeddings=8)
trainer = Trainer(
    model=DistilBertForSequenceClassification(small),
    args=TrainingArguments(output_dir="/opt/ml/checkpoints", num_train_epochs=args.epochs,
        learning_rate=args.learning_rate, fp16=args.fp16 and torch.cuda.is_available(),
        per_device_train_batch_size=16, logging_steps=2, save_steps=2, save_total_limit=2,
        eval_strategy="epoch", report_to=[]),
    train_dataset=reviews(args.train_dir),
    eval_dataset=reviews(args.test_dir),
    compute_metrics=lambda p: {"accuracy": accuracy_score(p.label_ids, p.predictions.argmax(-1))},
    callbacks=[Slow()],
)
trainer.train(resume_from_checkpoint=get_last_checkpoint("/opt/ml/checkpoints"))
trainer.save_model(args.model_dir)
`,
  'scripts/requirements.txt': 'evaluate\nscikit-learn\n',
  'data/train/reviews.jsonl': reviews(240),
  'data/test/reviews.jsonl': reviews(40),
};

/** xgboost in script mode on CSV files in S3, started from a function. */
const CHURN: Files = {
  'launch.py': `
from sagemaker.inputs import TrainingInput
from sagemaker.xgboost import XGBoost

BUCKET = "acme-churn"

def main():
    estimator = XGBoost(
        entry_point="src/train_xgb.py",
        framework_version="1.7-1",
        role="arn:aws:iam::123456789012:role/Training",
        instance_type="ml.m5.2xlarge",
        instance_count=1,
        hyperparameters={"max_depth": 6, "eta": 0.3, "num_round": 200, "objective": "binary:logistic"},
        output_path=f"s3://{BUCKET}/models",
    )
    estimator.fit({
        "train": TrainingInput(f"s3://{BUCKET}/data/train/", content_type="text/csv"),
        "validation": TrainingInput(f"s3://{BUCKET}/data/validation/", content_type="text/csv"),
    }, wait=False)

if __name__ == "__main__":
    main()
`,
  'src/train_xgb.py': `
import argparse, glob, os, time
import pandas as pd, xgboost as xgb
parser = argparse.ArgumentParser()
parser.add_argument("--max_depth", type=int, default=5)
parser.add_argument("--eta", type=float, default=0.2)
parser.add_argument("--num_round", type=int, default=100)
parser.add_argument("--objective", default="reg:squarederror")
parser.add_argument("--train", default=os.environ.get("SM_CHANNEL_TRAIN"))
parser.add_argument("--validation", default=os.environ.get("SM_CHANNEL_VALIDATION"))
args = parser.parse_args()

def table(folder):
    rows = pd.concat(pd.read_csv(name) for name in sorted(glob.glob(folder + "/*.csv")))
    return xgb.DMatrix(rows.drop(columns="churned"), rows["churned"])

class Slow(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.15)

saved = glob.glob("/opt/ml/checkpoints/churn_*")
last = max(saved, key=lambda name: int(name.rsplit("_")[1].split(".")[0]), default=None)
booster = xgb.Booster(model_file=last) if last else None
done = booster.num_boosted_rounds() if booster else 0
train, validation = table(args.train), table(args.validation)
booster = xgb.train(
    {"max_depth": args.max_depth, "eta": args.eta, "objective": args.objective, "nthread": 1},
    train, args.num_round - done, xgb_model=booster,
    evals=[(train, "train"), (validation, "validation")],
    callbacks=[xgb.callback.TrainingCheckPoint("/opt/ml/checkpoints", name="churn", interval=5), Slow()],
)
booster.save_model(os.path.join(os.environ["SM_MODEL_DIR"], "model.json"))
`,
};

/** What its prefixes in S3 have, where a person has it at hand too. */
export const CHURN_TABLES: Files = {
  'data/train/2025.csv': churned(200, 1),
  'data/train/2026.csv': churned(200, 2),
  'data/validation/2026.csv': churned(100, 3),
};

/** Images and masks on two nodes by torchrun. */
const SEGMENTATION: Files = {
  'launch.py': `
from sagemaker.pytorch import PyTorch
estimator = PyTorch(
    entry_point="train.py",
    source_dir="code",
    framework_version="2.8",
    py_version="py312",
    role="SageMakerRole",
    instance_type="ml.g5.12xlarge",
    instance_count=2,
    distribution={"torch_distributed": {"enabled": True}},
    hyperparameters={"batch-size": 16, "lr": 1e-3},
    use_spot_instances=True,
    max_run=86400,
    max_wait=172800,
    checkpoint_s3_uri="s3://acme-cells/checkpoints/",
    keep_alive_period_in_seconds=600,
    enable_sagemaker_metrics=True,
)
estimator.fit({"training": "file://data"})
`,
  'code/train.py': `
import argparse, glob, os, time
import numpy as np, torch
import torch.distributed as dist
from PIL import Image
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--lr", type=float, default=1e-4)
args = parser.parse_args()
dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, device = dist.get_rank(), "cuda" if torch.cuda.is_available() else "cpu"
data = os.environ["SM_CHANNEL_TRAINING"]

class Cells(torch.utils.data.Dataset):
    images = sorted(glob.glob(os.path.join(data, "images", "*.png")))
    def __len__(self):
        return len(self.images)
    def __getitem__(self, index):
        names = self.images[index], self.images[index].replace("images", "masks")
        return [torch.tensor(np.array(Image.open(name)), dtype=torch.float32)[None] / 255 for name in names]

torch.manual_seed(0)
torch.set_num_threads(1)
network = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(4, 1, 1))
model = torch.nn.parallel.DistributedDataParallel(network.to(device))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
sampler = torch.utils.data.distributed.DistributedSampler(Cells())
loader = torch.utils.data.DataLoader(Cells(), args.batch_size, sampler=sampler)
last, begin = "/opt/ml/checkpoints/last.pt", 0
if os.path.exists(last):
    saved = torch.load(last, map_location=device)
    network.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    begin = saved["epoch"]
for epoch in range(begin + 1, args.epochs + 1):
    sampler.set_epoch(epoch)
    for images, masks in loader:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(images.to(device)), masks.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    time.sleep(1)
    if rank == 0:
        torch.save({"model": network.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, last + ".new")
        os.replace(last + ".new", last)
        print(f"epoch {epoch}: loss={loss.item():.6f}", flush=True)
if rank == 0:
    torch.save(network.state_dict(), os.path.join(os.environ["SM_MODEL_DIR"], "model.pt"))
dist.destroy_process_group()
`,
  ...Object.fromEntries(cells(32)),
};

export const SAGEMAKER_PROJECTS = { text: TEXT, churn: CHURN, segmentation: SEGMENTATION } as const;

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}
