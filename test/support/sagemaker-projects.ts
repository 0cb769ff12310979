/** Three projects as people who train with the SageMaker SDK have them, in a few lines: text, churn, segmentation. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

type Files = Readonly<Record<string, string>>;

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
import argparse, os
from transformers import Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--learning-rate", type=float, default=1e-4)
parser.add_argument("--model-name", default="distilbert-base-uncased")
parser.add_argument("--train-dir", default=os.environ["SM_CHANNEL_TRAIN"])
parser.add_argument("--test-dir", default=os.environ.get("SM_CHANNEL_TEST"))
parser.add_argument("--model-dir", default=os.environ["SM_MODEL_DIR"])
args, _ = parser.parse_known_args()
trainer = Trainer(args=TrainingArguments(output_dir="/opt/ml/checkpoints"))
trainer.train()
trainer.save_model(args.model_dir)
`,
  'scripts/requirements.txt': 'evaluate\nscikit-learn\n',
  'data/train/reviews.jsonl': '{"text": "good", "label": 1}\n',
  'data/test/reviews.jsonl': '{"text": "bad", "label": 0}\n',
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
import argparse, os, xgboost as xgb
parser = argparse.ArgumentParser()
parser.add_argument("--max_depth", type=int, default=5)
parser.add_argument("--eta", type=float, default=0.2)
parser.add_argument("--num_round", type=int, default=100)
parser.add_argument("--objective", default="reg:squarederror")
parser.add_argument("--train", default=os.environ.get("SM_CHANNEL_TRAIN"))
parser.add_argument("--validation", default=os.environ.get("SM_CHANNEL_VALIDATION"))
args = parser.parse_args()
booster = xgb.train({"eta": args.eta}, xgb.DMatrix(args.train + "/train.csv?format=csv"))
booster.save_model(os.path.join(os.environ["SM_MODEL_DIR"], "model.json"))
`,
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
import os, torch
import torch.distributed as dist
dist.init_process_group("nccl")
data = os.environ["SM_CHANNEL_TRAINING"]
torch.save({}, "/opt/ml/checkpoints/last.pt")
torch.save({}, os.path.join(os.environ["SM_MODEL_DIR"], "model.pt"))
`,
  'data/images/1.png': 'image',
  'data/images/2.png': 'image',
  'data/masks/1.png': 'mask',
  'data/masks/2.png': 'mask',
};

export const SAGEMAKER_PROJECTS = { text: TEXT, churn: CHURN, segmentation: SEGMENTATION } as const;

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}
