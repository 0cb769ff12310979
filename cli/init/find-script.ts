/** Finds what starts the training: a script, or the command of a notebook, a shell script, a package or a configuration. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { launchersIn } from './find-launch.ts';
import { type Start, startOfModule, startsIn } from './start-lines.ts';

const USUAL = ['train.py', 'main.py', 'finetune.py', 'run.py'];
const TRAINS =
  /\b(optimizer|epochs?|SM_CHANNEL_\w+|SM_MODEL_DIR)\b|\boptim\.\w+\(|\.backward\(|\.fit\(|\b(xgb|lgb|lightgbm|xgboost)\.train\(|Trainer\(/;
const NO_SCRIPT = /(^|\/)(tests?|docs?)\/|(^|\/)(test_[^/]*|[^/]*_test|conftest|setup)\.py$/;
const IS_STARTED = /^if\s+__name__\s*==/m;
const MOST_SCRIPTS = 200;

/**
 * @param names of the project's files
 * @param wanted one of them, as typed
 * @throws UsageError where a person has to say which is meant
 */
export async function startOf(
  folder: string,
  names: readonly string[],
  wanted: string | undefined,
): Promise<Start> {
  if (wanted !== undefined) return startNamed(folder, names, wanted);
  const scripts = names.filter((name) => name.endsWith('.py') && !NO_SCRIPT.test(name));
  const usual = USUAL.find((name) => scripts.includes(name));
  if (usual !== undefined) return { from: usual, script: usual };
  const launchers = await launchersIn({ folder, names });
  const others = scripts.filter((name) => !launchers.includes(name)).slice(0, MOST_SCRIPTS);
  const training = await trainingOf(folder, names, others);
  const usuals = training.filter((name) => USUAL.includes(path.posix.basename(name)));
  const [only, second] = usuals.length === 1 ? usuals : training;
  if (only !== undefined && second === undefined) return startOfScript(folder, only);
  const found = (await startsIn(folder, names)).filter(
    ({ from, script }) =>
      !launchers.includes(from) &&
      (only === undefined || (script !== undefined && training.includes(script))),
  );
  const [start, other] = found;
  if (start !== undefined && other === undefined) return start;
  throw new UsageError([
    start === undefined && only === undefined
      ? `no training script was found in ${folder}: name it with --script. ${lookedAt(others, launchers)}`
      : `several files start a training (${[...found.map(({ from }) => from), ...training].slice(0, 5).join(', ')}): name one with --script`,
  ]);
}

/** The start of a package, where the project is started as one. */
async function trainingOf(
  folder: string,
  names: readonly string[],
  scripts: readonly string[],
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const name of scripts) {
    const text = await readFile(path.join(folder, name), 'utf8');
    if (!TRAINS.test(text)) continue;
    const main = path.posix.join(path.posix.dirname(name), '__main__.py');
    found.add(IS_STARTED.test(text) || !names.includes(main) ? name : main);
  }
  return [...found];
}

/** One that imports its neighbours by dots is a module of a package. */
async function startOfScript(folder: string, name: string): Promise<Start> {
  const module = name
    .replace(/^src\//, '')
    .replace(/(\/__main__)?\.py$/, '')
    .replaceAll('/', '.');
  const isModule =
    name.endsWith('/__main__.py') ||
    (module.includes('.') && /^\s*from\s+\./m.test(await readFile(path.join(folder, name), 'utf8')));
  return isModule ? startOfModule(name, module) : { from: name, script: name };
}

async function startNamed(folder: string, names: readonly string[], wanted: string): Promise<Start> {
  const name = path.posix.normalize(wanted);
  if (names.includes(name)) {
    const [start] = name.endsWith('.py') ? [] : await startsIn(folder, names, name);
    if (start !== undefined) return start;
    if (name.endsWith('.py')) return startOfScript(folder, name);
  }
  const scripts = names.filter((each) => /\.(py|ipynb|sh)$/.test(each)).slice(0, 5);
  throw new UsageError([
    `--script is "${wanted}", which is no script, notebook or known configuration in ${folder}: name ${scripts.length === 0 ? 'one that is there' : `one of ${scripts.join(', ')}`}, or write what starts the training as training.command (docs/pipeline.md)`,
  ]);
}

/** Why none of them was taken. */
function lookedAt(others: readonly string[], launchers: readonly string[]): string {
  const some = (names: readonly string[]) =>
    `${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`;
  return [
    others.length === 0
      ? 'There is no .py file'
      : `Looked at ${some(others)}: none has an optimizer, epochs, .fit(, .backward(, Trainer(, SM_CHANNEL_… or SM_MODEL_DIR`,
    'No notebook, shell script, Makefile, package or configuration of a known framework starts one: write its command as training.command (docs/pipeline.md)',
    ...(launchers.length === 0
      ? []
      : [`${some(launchers)} starts a SageMaker job, and trains nothing itself`]),
  ].join('; ');
}
