/** A script beside the training script that scores a model: what `init` writes for it. */
import path from 'node:path';
import { MODEL_CHANNEL } from '@tidewheel/declaration/script.ts';
import { readScript, type ScriptFacts } from './script.ts';
import { word } from './yaml-text.ts';

export interface EvaluationFacts {
  /** Relative to the source. */
  readonly script: string;
  /** By which it gets the folder of the model; undefined where it reads SM_CHANNEL_MODEL. */
  readonly argument: string | undefined;
  /** By which it gets its data. */
  readonly dataArgument: string | undefined;
  readonly channels: ScriptFacts['channels'];
  readonly metric: string;
}

const USUAL = ['evaluate.py', 'eval.py'];
/** Beside the training script, or else at the top. */
export const evaluationIn = (names: readonly string[], script = ''): string | undefined =>
  [path.posix.dirname(script), '']
    .flatMap((folder) => USUAL.map((name) => path.posix.join(folder, name)))
    .find((name) => names.includes(name));

const MODEL_ARGUMENT = /add_argument\(\s*["'](--(?:model|weights)(?:[-_](?:dir|path|folder))?)["']/;
const SCORED = /\bscore\([^)]*?,\s*([a-z]\w*)\s*=/;
const NAMED = /\b((?:\w+_)?(?:accuracy|auc|f1|loss|rmse|mae|perplexity))\b/;

/** @returns undefined for a script that gets no model: then it is none of ours */
export function readEvaluation(script: string, text: string): EvaluationFacts | undefined {
  const { channels, fills } = readScript(text);
  const argument = MODEL_ARGUMENT.exec(text)?.[1];
  if (argument === undefined && !channels.includes(MODEL_CHANNEL)) return undefined;
  return {
    script,
    argument: channels.includes(MODEL_CHANNEL) ? undefined : argument,
    dataArgument: fills.find(({ what, argument: name }) => what === 'data' && name.startsWith('-'))?.argument,
    channels: channels.filter((name) => name !== MODEL_CHANNEL),
    metric: (SCORED.exec(text) ?? NAMED.exec(text))?.[1] ?? 'accuracy',
  };
}

/** @param known channels that the pipeline has, beside that of training */
export function scoredOn({ channels }: EvaluationFacts, known: readonly string[]): readonly string[] {
  const named = known.filter((name) => channels.includes(name));
  if (named.length > 0) return named;
  return known.includes('validation') ? ['validation'] : known.slice(0, 1);
}

export function evaluationLines(found: EvaluationFacts, known: readonly string[]): string[] {
  const { script, argument, dataArgument } = found;
  const on = scoredOn(found, known);
  const words = [
    ...(argument === undefined ? [] : [`'${argument}=\${channel:${MODEL_CHANNEL}}'`]),
    ...(argument === undefined || dataArgument === undefined
      ? []
      : [`'${dataArgument}=\${channel:${on[0]}}'`]),
  ];
  return [
    `# ${script} scores each new model and the one in use: only a better one replaces it (docs/models.md).`,
    'evaluation:',
    `  entryPoint: ${word(script)}`,
    ...(words.length === 0 ? [] : [`  arguments: [${words.join(', ')}]`]),
    `  on: [${on.map(word).join(', ')}]`,
    'promote: { whenBetterBy: 0 }',
  ];
}

export const objectiveLine = ({ script, metric }: EvaluationFacts): string =>
  `  objective: { metric: ${word(metric)}, mode: ${/loss|rmse|mae|perplexity|error/.test(metric) ? 'min' : 'max'} }   # as ${script} scores it`;
