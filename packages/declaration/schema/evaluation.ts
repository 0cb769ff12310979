/** `evaluation`: a script that scores the model of a run, and the model in use, when training has ended. */
import { isTable } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import {
  argumentsSchema,
  commandLineProblems,
  neededChannels,
  scriptFile,
  sentLength,
} from '../script/arguments.ts';
import { MODEL_CHANNEL, shardsChannel } from '../script/placeholders.ts';
import { instanceType, typeProblems } from './compute-parts.ts';
import { typeProblem } from './launcher-names.ts';
import { SPLITS } from './splits.ts';

export const evaluationSchema = z
  .strictObject({
    entryPoint: scriptFile,
    arguments: argumentsSchema.optional(),
    on: z
      .array(z.string().min(1).max(1_024))
      .min(1)
      .max(10)
      .default(['validation'])
      .describe(
        'The samples that it scores: splits, and names of training.channels. Both models are scored on them.',
      ),
    instanceTypes: z
      .array(instanceType)
      .min(1)
      .max(30)
      .optional()
      .describe('Where an evaluation runs alone; default: where the training does, on one node.'),
    maximumSeconds: z
      .number()
      .int()
      .min(10)
      .max(86_400)
      .default(900)
      .describe('For both models together, after the training; what is not scored then is missing.'),
  })
  .describe('A script that scores the new model and the one in use, when training has ended.');

/** What the service adds to the hyperparameters of a job has to fit there. */
const LONGEST_ARGUMENTS = 800;

interface Declared {
  readonly evaluation?: unknown;
  readonly promote?: unknown;
  readonly packing?: { readonly split?: unknown } | undefined;
  readonly training?:
    | {
        readonly channels?: unknown;
        readonly objective?: unknown;
        readonly model?: unknown;
        readonly inputMode?: unknown;
      }
    | undefined;
  readonly compute?: (Parameters<typeof typeProblem>[0] & { readonly regions?: unknown }) | undefined;
}

interface EvaluationProblem {
  readonly path: (string | number)[];
  readonly message: string;
}

/** Reads what other rules have refused too, so a field may be of any type. */
export function evaluationProblems(declared: Declared): readonly EvaluationProblem[] {
  const { evaluation } = declared;
  if (!isTable(evaluation)) return [];
  const known = channelsToScore(declared);
  return [
    ...contextProblems(declared),
    ...onProblems(evaluation['on'], known),
    ...argumentProblems(evaluation['arguments'], known),
    ...instanceTypeProblems(evaluation['instanceTypes'], declared.compute),
  ];
}

const instanceTypeProblems = (types: unknown, compute: Declared['compute'] = {}) =>
  typeProblems(Array.isArray(types) ? types : [], (type) => typeProblem(compute, type)).map(
    ({ index, message }): EvaluationProblem => ({ path: ['evaluation', 'instanceTypes', index], message }),
  );

/** Splits by the names of their channels, and declared channels. */
function channelsToScore({ packing, training }: Declared): readonly string[] {
  const split = isTable(packing?.split) ? packing.split : {};
  const declared = isTable(training?.channels) ? Object.keys(training.channels) : [];
  // What a model has seen tells nothing of it.
  const parts = SPLITS.filter((name) => name !== 'train' && split[name] !== undefined);
  return [...parts.map((name) => shardsChannel(name, declared)), ...declared];
}

function contextProblems({ promote, training, compute }: Declared): readonly EvaluationProblem[] {
  const channels = training?.channels;
  const rules: readonly (readonly [boolean, string[], string])[] = [
    [
      promote === undefined,
      ['promote'],
      'says what becomes of a model that was evaluated: declare a rule such as { whenBetterBy: 0 }, always, byHand or never',
    ],
    [
      training?.objective === undefined,
      ['training', 'objective'],
      'says which of its scores counts: declare it, such as { metric: accuracy, mode: max }',
    ],
    [
      training?.model === 'none',
      ['evaluation'],
      'has no model to score, because of training.model: none: leave one of them out',
    ],
    [
      training?.inputMode === 'Pipe',
      ['training', 'inputMode'],
      'gives each sample once, and evaluation reads them again: write File or FastFile',
    ],
    [
      compute?.regions !== undefined,
      ['compute', 'regions'],
      'leave models in the region of the data bucket: leave it out, or evaluation',
    ],
    [
      isTable(channels) && Object.hasOwn(channels, MODEL_CHANNEL),
      ['training', 'channels', MODEL_CHANNEL],
      'has the name of the channel by which evaluation gets a model: choose another name',
    ],
  ];
  return rules.flatMap(([isWrong, path, message]) => (isWrong ? [{ path, message }] : []));
}

function onProblems(on: unknown, known: readonly string[]): readonly EvaluationProblem[] {
  const choose =
    known.length === 0
      ? 'declare packing.split.validation, or training.channels'
      : `choose of ${known.join(', ')}, or declare packing.split.validation`;
  if (!Array.isArray(on)) return [];
  // As where nothing is declared.
  if (on.length === 1 && on[0] === 'validation' && !known.includes('validation'))
    return [{ path: ['evaluation', 'on'], message: `is validation, which nothing gives: ${choose}` }];
  return on.flatMap((name: unknown, index) => {
    if (typeof name !== 'string' || known.includes(name)) return [];
    const message = name.startsWith('s3://')
      ? `${name} needs a name: declare it in training.channels, and write that name here`
      : `${name} is no channel of this pipeline: ${choose}`;
    return [{ path: ['evaluation', 'on', index], message }];
  });
}

function argumentProblems(given: unknown, known: readonly string[]): readonly EvaluationProblem[] {
  if (!Array.isArray(given)) return [];
  const line = { arguments: given };
  const lacking = neededChannels(line).filter(
    (name) => name !== MODEL_CHANNEL && name !== 'train' && !known.includes(name),
  );
  const length = sentLength(given);
  const path = ['evaluation', 'arguments'];
  return [
    ...commandLineProblems(line, [...known, MODEL_CHANNEL]).map((problem) => ({
      ...problem,
      path: ['evaluation', ...problem.path],
    })),
    ...lacking.map((name) => ({
      path,
      message: `name \${channel:${name}}, which nothing gives: declare packing.split or training.channels`,
    })),
    ...(length > LONGEST_ARGUMENTS
      ? [
          {
            path,
            message: `have ${length} characters as JSON in ASCII, and the limit is ${LONGEST_ARGUMENTS}: put long values into a file of the source`,
          },
        ]
      : []),
  ];
}
