/** Whether automatic checkpoints, which hook PyTorch, may be advised to a script. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const WITHOUT =
  /^\s*(?:import|from)\s+(?:jax|flax|tensorflow|keras|sklearn|xgboost|lightgbm|catboost|paddle)\b/m;
const OF_TORCH =
  /torch|lightning|transformers|accelerate|diffusers|ultralytics|fastai|stable.baselines|spacy|mmengine|timm/;
const MOST_FILES = 1_000;

/** As the agent decides it (supervision/script_source.py). */
export async function speaksOfNoTorch(folder: string): Promise<boolean> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(py|txt|toml)$/.test(name));
  const texts = await Promise.all(
    names.slice(0, MOST_FILES).map((name) => readFile(join(folder, name), 'utf8').catch(() => '')),
  );
  return texts.some((text) => WITHOUT.test(text)) && !texts.some((text) => OF_TORCH.test(text));
}
