/**
 * Projects of people who train with the SageMaker SDK, brought as they are: `init` reads their launch script, the run is
 * interrupted twice, and its model is that of an undisturbed run.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { finishedRun, startTestRegion, type TestRegion, tidewheelIn } from '../support/region.ts';
import { writeFiles } from '../support/sagemaker-projects.ts';

const run = promisify(execFile);

/** Rows of two classes, the same at each call. */
function rows(count: number, seed: number): string {
  const lines: string[] = [];
  let state = seed;
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  for (let row = 0; row < count; row += 1) {
    const [a, b, c] = [next(), next(), next()];
    lines.push([a + b > 1 ? 1 : 0, a, b, c].map((value) => value.toFixed(4)).join(','));
  }
  return `${lines.join('\n')}\n`;
}

const DATA = { 'data/train/train.csv': rows(400, 1), 'data/validation/validation.csv': rows(100, 2) };

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
    hyperparameters={"rounds": 40},
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
pause = float(os.environ.get("PAUSE", "1"))
`;

const PROJECTS = {
  sklearn: {
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
    print(f"resumed after round {done}", flush=True)
else:
    model, done = SGDClassifier(loss="log_loss", random_state=0), 0
for step in range(done + 1, args.rounds + 1):
    model.partial_fit(train[:, 1:], train[:, 0], classes=[0, 1])
    joblib.dump((model, step), state + ".new")
    os.replace(state + ".new", state)
    print(f"round {step}: validation_accuracy={model.score(held[:, 1:], held[:, 0]):.4f}", flush=True)
    time.sleep(pause)
np.savetxt(os.path.join(args.model_dir, "model.txt"), np.append(model.coef_, model.intercept_), fmt="%.17g")
`,
  },
  xgboost: {
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
    print(f"resumed after round {done}", flush=True)
for step in range(done + 1, args.rounds + 1):
    scores = {}
    booster = xgb.train({"eta": 0.2, "nthread": 1, "objective": "binary:logistic"}, train, 1,
                        xgb_model=booster, evals=[(held, "validation")], evals_result=scores, verbose_eval=False)
    booster.save_model(checkpoints + "/new.json")
    os.replace(checkpoints + "/new.json", checkpoints + f"/round-{step:04d}.json")
    print(f"round {step}: validation_logloss={scores['validation']['logloss'][-1]:.6f}", flush=True)
    time.sleep(pause)
booster.dump_model(os.path.join(args.model_dir, "model.txt"))
`,
  },
  torchrun: {
    'launch.py': launch({
      module: 'pytorch',
      name: 'PyTorch',
      versions:
        'framework_version="2.8", py_version="py312", distribution={"torch_distributed": {"enabled": True}},',
      instances: 2,
    }),
    'src/train.py': `${HEAD}
import numpy as np, torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
torch.set_num_threads(1)
train = torch.tensor(np.loadtxt(os.path.join(args.train, "train.csv"), delimiter=","), dtype=torch.float32)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
state, done = os.path.join(checkpoints, "last.pt"), 0
if os.path.exists(state):
    saved = torch.load(state)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    done = saved["round"]
    if rank == 0:
        print(f"resumed after round {done}", flush=True)
for step in range(done + 1, args.rounds + 1):
    batch = train[rank::ranks]
    loss = torch.nn.functional.binary_cross_entropy_with_logits(model(batch[:, 1:])[:, 0], batch[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "round": step}, state + ".new")
        os.replace(state + ".new", state)
        print(f"round {step}: loss={loss.item():.6f}", flush=True)
    time.sleep(pause)
    dist.barrier()
if rank == 0:
    np.savetxt(os.path.join(args.model_dir, "model.txt"), model.module.weight.detach().numpy(), fmt="%.17g")
dist.barrier()
dist.destroy_process_group()
`,
  },
  trainer: {
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
last = get_last_checkpoint(checkpoints)
if last is not None:
    print(f"resumed after round {last.rsplit('-', 1)[1]}", flush=True)
trainer.train(resume_from_checkpoint=last)
np.savetxt(os.path.join(args.model_dir, "model.txt"), trainer.model.layer.weight.detach().numpy(), fmt="%.17g")
`,
  },
} as const;

let test: TestRegion;
let api: ApiClient;
let folder = '';

beforeAll(async () => {
  test = await startTestRegion('calm');
  api = apiClient(test.region);
  folder = await mkdtemp(path.join(tmpdir(), 'brought-'));
}, 240_000);

afterAll(async () => {
  await test.stop();
  await rm(folder, { recursive: true, force: true });
});

const tidewheel = (...words: readonly string[]): Promise<string> => tidewheelIn(test, folder, words);

/** Once `count` attempts have begun and the newest has saved since. */
async function strikeAttempt(runId: string, count: number): Promise<void> {
  const trains = { attempts: expect.objectContaining({ length: count }) as unknown };
  await expect
    .poll(async () => (await api.call('GET', `/runs/${runId}`)).body, { timeout: 240_000, interval: 500 })
    .toMatchObject(trains);
  await expect
    .poll(async () => (await tidewheel('logs', runId)).split(/^── attempt /m).at(-1) ?? '', {
      timeout: 240_000,
      interval: 1_000,
    })
    .toMatch(/round \d+: /);
  await tidewheel('interrupt', runId, '--state', test.stateDirectory);
}

async function modelOf(runId: string): Promise<string> {
  const archive = path.join(folder, `${runId}.tar.gz`);
  await tidewheel('model', 'get', runId, '--output', archive);
  const { stdout } = await run('tar', ['-xOzf', archive, 'model.txt']);
  return stdout;
}

it.each(Object.entries(PROJECTS))(
  '%s ends as it does undisturbed',
  async (name, files) => {
    const project = path.join(folder, name);
    await mkdir(project, { recursive: true });
    await writeFiles(project, { ...files, ...DATA });
    await tidewheel('init', project, '--name', name);
    const declaration = path.join(project, 'tidewheel.yaml');
    const text = await readFile(declaration, 'utf8');
    await writeFile(declaration, text.replace('quietSeconds: 60', 'quietSeconds: 1'));
    await tidewheel('drop', project);
    const runId = `${name}-000001`;
    await strikeAttempt(runId, 1);
    await strikeAttempt(runId, 2);
    const report = await finishedRun(api, runId);
    expect(report).toMatchObject({ status: 'succeeded' });
    expect(report.attempts.map(({ outcome }) => outcome)).toEqual([
      'interrupted',
      'interrupted',
      'completed',
    ]);
    const logs = await tidewheel('logs', runId);
    expect(logs.match(/resumed after round/g)).toHaveLength(2);
    await tidewheel('run', name);
    expect(await finishedRun(api, `${name}-000002`)).toMatchObject({ status: 'succeeded', interruptions: 0 });
    expect(await modelOf(runId)).toBe(await modelOf(`${name}-000002`));
  },
  900_000,
);
