/** Which model a run begins from, and which of its models becomes the one in use. */
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { isTable } from '@tidewheel/kit/tables.ts';
import { besideOthers } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { MODEL_CHANNEL, shardsChannel } from '../script/placeholders.ts';
import { isUnpacked } from './shard-formats.ts';
import { channelsNamed, type NamingChannels, SPLITS, type SplitName } from './splits.ts';

export const startFromSchema = z
  .string()
  .max(1_024)
  .regex(
    /^(none|last|current|[a-z0-9][a-z0-9-]*-\d{6,}|s3:\/\/[^/\s]+\/\S+\.tar\.gz)$/,
    'write none, last, current, a run such as digits-000007, or s3://bucket/…/model.tar.gz',
  )
  .optional()
  .describe(
    'The model that a run begins from: none, that of the last run, the current one, that of a run, or an archive in S3.',
  )
  .meta({ default: 'none' });

const MARGIN =
  'write a number in the units of the metric, or a share of what the current model reaches, such as 0.5 %';
const margin = z.union(
  [z.number().min(0).max(1e9), z.string().regex(/^\d{1,3}(\.\d{1,6})? ?%$/, MARGIN)],
  MARGIN,
);
/** As a number, or a share. */
export const declaredMargin = (given: z.infer<typeof margin>) =>
  typeof given === 'number' ? { points: given } : { share: Number.parseFloat(given) / 100 };

const byScores = z
  .strictObject({
    whenBetterBy: margin
      .optional()
      .describe('The new model has to be better by more than this; 0 where neither is declared.'),
    notWorseBy: margin.optional().describe('The new model may be worse by less than this.'),
    confidence: z
      .number()
      .min(0.5)
      .max(0.9999)
      .default(0.95)
      .describe('How sure that of all comparisons with one current model none promotes a wrong one.'),
    atLeast: z.number().optional().describe('What the metric has to reach, in its own units.'),
  })
  .refine(({ whenBetterBy, notWorseBy }) => whenBetterBy === undefined || notWorseBy === undefined, {
    ...besideOthers,
    path: ['notWorseBy'],
    message: 'and whenBetterBy exclude each other: leave one out',
  });

export const promoteSchema = z
  .union([z.enum(['always', 'byHand', 'never']), byScores], {
    error: ({ input }) =>
      isTable(input) ? undefined : 'write always, byHand, never, or a rule such as { whenBetterBy: 0 }',
  })
  .optional()
  .describe(
    'Which model of a run becomes the current one: every one, the first one and then those that people promote, only those, or one whose scores are shown to be better on the same samples.',
  );

export const whenSchema = z
  .strictObject({
    worseBy: margin.describe(
      'Train where the model in use is worse on what arrived than on the samples by which it was judged, by more than this.',
    ),
    orSamples: z
      .number()
      .int()
      .min(1)
      .max(1e12)
      .optional()
      .describe('Train where so many samples came since the last training, too.'),
  })
  .optional()
  .describe(
    'Which arrivals start a training: first the evaluation scores the model in use on them, alone; default: all.',
  );

export type Promote = NonNullable<z.infer<typeof promoteSchema>>;
/** By scores. */
export type PromotionRule = Readonly<z.infer<typeof byScores>>;

interface Declared {
  readonly training?:
    | (NamingChannels & {
        readonly startFrom?: unknown;
        readonly model?: unknown;
        readonly objective?: unknown;
        readonly when?: unknown;
      })
    | undefined;
  readonly name?: unknown;
  readonly packing?: { readonly format?: unknown; readonly balance?: unknown } | undefined;
  readonly dataset?: { readonly read?: unknown } | undefined;
  readonly promote?: unknown;
  readonly evaluation?: unknown;
  readonly compute?: { readonly regions?: unknown } | undefined;
}

interface ModelProblem {
  readonly path: string[];
  readonly message: string;
}

/** Reads what other rules have refused too, so a field may be of any type. */
export const modelProblems = (declared: Declared): readonly ModelProblem[] => [
  ...promoteProblems(declared),
  ...channelProblems(declared),
  ...startProblems(declared),
  ...readProblems(declared),
  ...whenProblems(declared),
];

/** The split in whose channel an evaluation finds the samples of a drop. @returns undefined unless it is one */
export function scoredSplit({
  evaluation,
  training,
}: {
  readonly evaluation?: { readonly on?: unknown } | undefined;
  readonly training?: { readonly channels?: unknown } | undefined;
}): SplitName | undefined {
  const [on, channels] = [evaluation?.on, training?.channels];
  const declared = isTable(channels) ? Object.keys(channels) : [];
  const scored = SPLITS.filter((name) => Array.isArray(on) && on.includes(shardsChannel(name, declared)));
  return scored.length === 1 ? scored[0] : undefined;
}

function whenProblems({ training, packing, evaluation }: Declared): readonly ModelProblem[] {
  if (training?.when === undefined) return [];
  const path = ['training', 'when'];
  if (!isTable(evaluation))
    return [
      { path, message: 'has arrivals scored by evaluation, which is not declared: declare its script' },
    ];
  return [
    ...problemIf(
      isUnpacked(packing),
      path,
      'has the shards of a drop scored, and with packing: none there are none: declare a format, or leave it out',
    ),
    ...problemIf(
      packing?.balance !== undefined,
      path,
      'compares the mean of a whole drop with that of a split that is not balanced: leave packing.balance out, or training.when',
    ),
    ...problemIf(
      !isUnpacked(packing) && scoredSplit({ evaluation, training }) === undefined,
      ['evaluation', 'on'],
      'gives a drop to the script in the place of one split, because of training.when: name one of validation and test',
    ),
  ];
}

const problemIf = (isWrong: boolean, path: string[], message: string): readonly ModelProblem[] =>
  isWrong ? [{ path, message }] : [];

const promoteProblems = ({ training, promote }: Declared): readonly ModelProblem[] => [
  ...problemIf(
    promote !== undefined && training?.model === 'none',
    ['promote'],
    'has no model to promote, because of training.model: none: leave one of them out',
  ),
  ...problemIf(
    isTable(promote) && training?.objective === undefined,
    ['training', 'objective'],
    'says by which metric promote compares models: declare it, such as { metric: accuracy, mode: max }',
  ),
];

function channelProblems({ training = {} }: Declared): readonly ModelProblem[] {
  const { startFrom, channels } = training;
  if (startFrom === undefined) return [];
  const hasOwn = isTable(channels) && Object.hasOwn(channels, MODEL_CHANNEL);
  return [
    ...problemIf(
      !hasOwn && channelsNamed(training).includes(MODEL_CHANNEL),
      ['training'],
      `\${channel:${MODEL_CHANNEL}} is named, and it is missing while there is no model, and once the run has a checkpoint: end the argument with ?, or read SM_CHANNEL_MODEL in the script`,
    ),
    ...problemIf(
      hasOwn && startFrom !== 'none',
      ['training', 'channels', MODEL_CHANNEL],
      'has the name of the channel that training.startFrom gives: choose another name, or leave startFrom out',
    ),
  ];
}

function startProblems({ training, promote, compute }: Declared): readonly ModelProblem[] {
  const { startFrom, model } = training ?? {};
  if (startFrom === undefined || startFrom === 'none') return [];
  const findsNone = model === 'none' && (startFrom === 'last' || startFrom === 'current');
  return [
    ...problemIf(
      findsNone,
      ['training', 'startFrom'],
      `${startFrom === 'last' ? 'last' : 'current'} never finds a model, because of training.model: none: leave one of them out`,
    ),
    ...problemIf(
      !findsNone && startFrom === 'current' && promote === undefined,
      ['training', 'startFrom'],
      'current needs promote, which says what becomes the current model: declare promote: always, byHand or never',
    ),
    ...problemIf(
      compute?.regions !== undefined,
      ['compute', 'regions'],
      'leave models in the region of the data bucket: leave it out, or training.startFrom',
    ),
  ];
}

/** What is new follows from the run of the model that the run begins from. */
function readProblems({ name, dataset, packing, training = {} }: Declared): readonly ModelProblem[] {
  const { read = 'all' } = dataset ?? {};
  const { startFrom = 'none' } = training;
  if (read === 'all' || typeof startFrom !== 'string') return [];
  const run = parseRunId(startFrom);
  const isOther = startFrom.startsWith('s3://') || (run !== undefined && run.pipeline !== name);
  const path = ['dataset', 'read'];
  return [
    ...problemIf(
      startFrom === 'none',
      path,
      'is for runs that begin from a model, and reads what its run has not: declare training.startFrom: current or last, or write all (dataset.read: all beside startFrom: none for one run from nothing)',
    ),
    ...problemIf(
      isOther,
      path,
      `knows what a model has seen of this pipeline's runs alone, and training.startFrom is ${startFrom}: name a run of this pipeline, or write all`,
    ),
    ...problemIf(
      isUnpacked(packing),
      path,
      'chooses samples in shards, and with packing: none there are none: declare a format, or write all',
    ),
  ];
}
