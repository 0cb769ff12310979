/** Projects of people who train with the SageMaker SDK, one a framework: each reads rows of CSV, and saves each round. */
import type { Brought } from './brought-project.ts';
import { rows } from './sagemaker-data.ts';

const DATA = { 'data/train/train.csv': rows(400, 1), 'data/validation/validation.csv': rows(100, 2) };

const ROUNDS = 40;

interface Estimator {
  readonly module: string;
  readonly name: string;
  /** More arguments, each on a line of its own. */
  readonly versions: string;
  readonly instances?: number;
  readonly type?: string;
}

const launch = ({ module, name, versions, instances = 1, type = 'ml.m5.xlarge' }: Estimator): string => `
from sagemaker.${module} import ${name}
import sagemaker

session = sagemaker.Session()
estimator = ${name}(
    entry_point="train.py",
    source_dir="src",
    role="arn:aws:iam::123456789012:role/Training",
    ${versions}
    instance_type="${type}",
    instance_count=${instances},
    hyperparameters={"rounds": ${ROUNDS}},
    use_spot_instances=True,
    max_run=3600,
    max_wait=7200,
    checkpoint_s3_uri="s3://acme/checkpoints",
)
estimator.fit({
    "train": session.upload_data("data/train", key_prefix="train"),
    "validation": session.upload_data("data/validation", key_prefix="validation"),
})
`;

const HEAD = `
import argparse, glob, os, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=10)
parser.add_argument("--train", default=os.environ["SM_CHANNEL_TRAIN"])
parser.add_argument("--validation", default=os.environ["SM_CHANNEL_VALIDATION"])
parser.add_argument("--model-dir", default=os.environ["SM_MODEL_DIR"])
args = parser.parse_args()
checkpoints = "/opt/ml/checkpoints"
os.makedirs(checkpoints, exist_ok=True)
pause = 1
`;

const FILES = {
  sklearn: {
    ...DATA,
    'launch.py': launch({
      module: 'sklearn.estimator',
      name: 'SKLearn',
      versions: 'framework_version="1.2-1", py_version="py3",',
    }),
    'src/train.py': `${HEAD}
import joblib, numpy as np
from sklearn.linear_model import SGDClassifier
train = np.loadtxt(os.path.join(args.train, "train.csv"), delimiter=",")
held = np.loadtxt(os.path.join(args.validation, "validation.csv"), delimiter=",")
state = os.path.join(checkpoints, "state.joblib")
if os.path.exists(state):
    model, done = joblib.load(state)
else:
    model, done = SGDClassifier(loss="log_loss", random_state=0), 0
for step in range(done + 1, args.rounds + 1):
    model.partial_fit(train[:, 1:], train[:, 0], classes=[0, 1])
    joblib.dump((model, step), state + ".new")
    os.replace(state + ".new", state)
    print(f"round {step}: validation_accuracy={model.score(held[:, 1:], held[:, 0]):.4f}", flush=True)
    time.sleep(pause)
joblib.dump(model, os.path.join(args.model_dir, "model.joblib"))
# A pickle also tells which of its texts are the same object, which a model that was loaded forgets.
np.savetxt(os.path.join(args.model_dir, "weights.txt"), np.append(model.coef_, model.intercept_), fmt="%.17g")
`,
  },
  xgboost: {
    ...DATA,
    'launch.py': launch({
      module: 'xgboost.estimator',
      name: 'XGBoost',
      versions: 'framework_version="3.0-5", py_version="py3",',
    }),
    'src/train.py': `${HEAD}
import xgboost as xgb
train = xgb.DMatrix(os.path.join(args.train, "train.csv") + "?format=csv&label_column=0")
held = xgb.DMatrix(os.path.join(args.validation, "validation.csv") + "?format=csv&label_column=0")
saved = sorted(glob.glob(checkpoints + "/round-*.json"))
booster, done = None, 0
if saved:
    booster, done = xgb.Booster(model_file=saved[-1]), int(saved[-1][-9:-5])
for step in range(done + 1, args.rounds + 1):
    scores = {}
    booster = xgb.train({"eta": 0.2, "nthread": 1, "objective": "binary:logistic"}, train, 1,
                        xgb_model=booster, evals=[(held, "validation")], evals_result=scores, verbose_eval=False)
    booster.save_model(checkpoints + "/new.json")
    os.replace(checkpoints + "/new.json", checkpoints + f"/round-{step:04d}.json")
    print(f"round {step}: validation_logloss={scores['validation']['logloss'][-1]:.6f}", flush=True)
    time.sleep(pause)
booster.save_model(os.path.join(args.model_dir, "model.json"))
`,
  },
  trainer: {
    ...DATA,
    'launch.py': launch({
      module: 'huggingface',
      name: 'HuggingFace',
      versions: 'transformers_version="4.56.2", pytorch_version="2.8.0", py_version="py312",',
      type: 'ml.g5.xlarge',
    }),
    'src/train.py': `${HEAD}
import numpy as np, torch
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

class Small(PreTrainedModel):
    config_class = PretrainedConfig
    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(3, 1)
        self.post_init()
    def forward(self, x=None, labels=None):
        logits = self.layer(x)[:, 0]
        return {"loss": torch.nn.functional.binary_cross_entropy_with_logits(logits, labels), "logits": logits}

def rows(folder, name):
    table = np.loadtxt(os.path.join(folder, name), delimiter=",", dtype=np.float32)
    return [{"x": row[1:], "labels": row[0]} for row in table]

class Slow(TrainerCallback):
    def on_log(self, arguments, state, control, logs=None, **more):
        if "loss" in (logs or {}):
            print(f"round {state.global_step}: loss={logs['loss']}", flush=True)
    def on_step_end(self, arguments, state, control, **more):
        time.sleep(pause)

torch.manual_seed(0)
arguments = TrainingArguments(output_dir=checkpoints, max_steps=args.rounds, per_device_train_batch_size=40,
    save_steps=2, logging_steps=1, save_total_limit=2, report_to=[], use_cpu=True, seed=0, eval_strategy="no")
trainer = Trainer(Small(PretrainedConfig()), arguments, train_dataset=rows(args.train, "train.csv"), callbacks=[Slow()])
trainer.train(resume_from_checkpoint=get_last_checkpoint(checkpoints))
trainer.save_model(args.model_dir)
`,
  },
  tensorflow: {
    ...DATA,
    'launch.py': launch({
      module: 'tensorflow',
      name: 'TensorFlow',
      versions: 'framework_version="2.21", py_version="py312",',
    }),
    'src/train.py': `${HEAD.replace('"--model-dir"', '"--model_dir"')}
import numpy as np, tensorflow as tf
tf.keras.utils.set_random_seed(0)
tf.config.experimental.enable_op_determinism()

def batches(folder):
    (name,) = glob.glob(folder + "/*.csv")
    table = np.loadtxt(name, delimiter=",", dtype="float32")
    return tf.data.Dataset.from_tensor_slices((table[:, 1:], table[:, 0])).batch(40)

class Slow(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        time.sleep(pause)

saved = sorted(glob.glob(checkpoints + "/epoch-*.keras"))
if saved:
    model, done = tf.keras.models.load_model(saved[-1]), int(saved[-1][-9:-6])
else:
    model, done = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1, "sigmoid")]), 0
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
keep = tf.keras.callbacks.ModelCheckpoint(checkpoints + "/epoch-{epoch:03d}.keras")
model.fit(batches(args.train), validation_data=batches(args.validation), verbose=2,
          epochs=args.rounds, initial_epoch=done, callbacks=[keep, Slow()])
model.export(os.path.join(args.model_dir, "1"))
# A SavedModel also describes the objects that made it, which differ in a model that was loaded.
np.savetxt(os.path.join(args.model_dir, "weights.txt"), np.concatenate([w.ravel() for w in model.get_weights()]))
`,
  },
  lightning: {
    ...DATA,
    'launch.py': launch({
      module: 'pytorch',
      name: 'PyTorch',
      versions:
        'framework_version="2.8", py_version="py312", distribution={"torch_distributed": {"enabled": True}},',
      instances: 2,
    }),
    'src/requirements.txt': 'lightning\n',
    'src/train.py': `${HEAD}
import json
import lightning, numpy as np, torch

class Linear(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def training_step(self, batch, _):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.layer(batch[0])[:, 0], batch[1])
        self.log("train_loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)
    def on_train_epoch_end(self):
        time.sleep(pause)
        if self.global_rank == 0:
            print(f"epoch {self.current_epoch}: train_loss={self.trainer.callback_metrics['train_loss']:.6f}", flush=True)

lightning.seed_everything(0)
torch.set_num_threads(1)
table = torch.tensor(np.loadtxt(os.path.join(args.train, "train.csv"), delimiter=",", dtype="float32"))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(table[:, 1:], table[:, 0]), 50, shuffle=True)
keep = lightning.pytorch.callbacks.ModelCheckpoint(checkpoints, save_last=True)
trainer = lightning.Trainer(max_epochs=args.rounds, num_nodes=len(json.loads(os.environ["SM_HOSTS"])),
    accelerator="auto", strategy="ddp", callbacks=[keep], enable_progress_bar=False, logger=False, log_every_n_steps=1)
last = checkpoints + "/last.ckpt"
model = Linear()
trainer.fit(model, loader, ckpt_path=last if os.path.exists(last) else None)
if trainer.is_global_zero:
    torch.save(model.state_dict(), os.path.join(args.model_dir, "model.pt"))
`,
  },
} as const;

/** A bar may stand before it. */
const ROUND = /(?:round|epoch) (\d+): /;
const EACH = { round: ROUND, rounds: ROUNDS };

export const TABLE_PROJECTS: readonly Brought[] = [
  { name: 'sklearn', files: FILES.sklearn, ...EACH, model: 'weights.txt' },
  { name: 'xgboost', files: FILES.xgboost, ...EACH, model: 'model.json' },
];
export const NETWORK_PROJECTS: readonly Brought[] = [
  { name: 'trainer', files: FILES.trainer, ...EACH, model: 'model.safetensors' },
  {
    name: 'tensorflow',
    files: FILES.tensorflow,
    round: /^Epoch (\d+)\//,
    rounds: ROUNDS,
    model: 'weights.txt',
  },
  { name: 'lightning', files: FILES.lightning, ...EACH, model: 'model.pt' },
];
