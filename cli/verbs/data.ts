/** `tidewheel data`: the generations of a dataset. */

import { pipelineNameProblem } from '@tidewheel/declaration/pipeline.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { noSuchPipeline, pipelineNames } from '../command/run-list.ts';
import { defineVerb, flag, option, type ValuesOf } from '../command/verb.ts';
import { COMMANDS, isCommand } from '../dataset/commands.ts';
import { withBucket } from '../dataset/open.ts';

const MOST_SAMPLES = 10_000;
const DEFAULT_SAMPLES = 48;

const options = {
  'dry-run': flag('compact, prune: print what would be done, and do nothing'),
  replaced: flag('prune: see above'),
  'give-up': flag('repair: see above'),
  out: option(
    'PATH',
    'show: the file to write; sample: the folder',
    z.string().min(1, 'name a file or folder').optional(),
  ),
  samples: option('N', `show, find: how many (${DEFAULT_SAMPLES})`, wholeNumber(1, MOST_SAMPLES).optional()),
  over: option(
    'RUN[,RUN]',
    'prune, repair --give-up: runs that have ended without a report',
    z
      .string()
      .default('')
      .transform((text) => text.split(',').filter((run) => run !== '')),
  ),
};

type Values = ValuesOf<typeof options>;

export const verb = defineVerb({
  name: 'data',
  summary: 'list, verify, compare, pin, compact and prune the generations of a dataset',
  about: `
  list      all generations and their states
  versions  all versions of the dataset and the change that made each
  contents  the packed objects of the newest version, or of GENERATION's, with their SHA-256
  compare   what was added, replaced and retracted from GENERATION's version to the newest, or to a second one's
  pin       check GENERATION, and print the declaration that makes runs train on its version
  verify    read and check every byte of GENERATION, or of all
  compact   join small generations now; runs do so by themselves (tuning.dataset.compactAfter)
  repair    make GENERATION right after a shard or manifest was deleted or restored: accept right bytes under
            another ETag, or write the manifest again; with --give-up, remove it for the next run to pack again
  retract   leave the samples of these KEYs (below incoming/) out of the next version, for good
  show      write a page with samples of the newest version, or of GENERATION's
  sample    print the sample that holds KEY, with its members; --out FOLDER writes them
  find      list samples by a part of their key, the beginning of a SHA-256, or label:NAME
  report    make the quality report of GENERATION, or of each generation of the newest version
  release   train on GENERATION although packing.hold holds it back
  prune     remove all generations before GENERATION and delete their shards; with --replaced, delete only the
            shards of generations that compacted ones replaced

PIPELINE is its name, or s3://bucket/pipeline, for which credentials for the bucket are enough. Prune never deletes
what a run reads or a declaration pins.`,
  positionals: ['COMMAND', 'PIPELINE', 'GENERATION or KEY...'],
  commands: Object.keys(COMMANDS),
  options,
  check: problemsOf,
  examples: [
    ['list digits', 'generations and their states'],
    ['verify digits', 'every byte of every shard'],
    ['pin digits digits-000003', 'train on that version from now on'],
  ],
  web: async ({ positionals: [command = '', given = ''] }, context) => {
    if (!ON_THE_PAGE.includes(command))
      throw new UsageError([`--web shows a dataset: write it with ${ON_THE_PAGE.join(' or ')}`]);
    const { pipeline } = await datasetMeant(context, given);
    return `/pipelines/${pipeline}/data`;
  },
  run: async ({ values, positionals }, context) => {
    const [command = '', given = '', ...words] = positionals;
    const [generation] = words;
    if (!isCommand(command)) return EXIT.inputNeeded;
    const {
      over,
      replaced,
      'give-up': giveUp,
      'dry-run': dryRun,
      out,
      samples: most = DEFAULT_SAMPLES,
    } = values;
    const missing = generation === undefined ? MISSING[command] : undefined;
    if (missing !== undefined) throw new UsageError([missing]);
    if (command === 'prune' && (generation !== undefined) === replaced)
      throw new UsageError(['write either GENERATION, to remove all before it, or --replaced']);
    const { bucket, pipeline } = await datasetMeant(context, given);
    const { terminal, json } = context;
    const tell = json ? () => undefined : (line: string) => terminal.print(line);
    const request = { pipeline, generation, words, over, replaced, giveUp, dryRun, out, most, tell };
    const outcome = await withBucket(bucket, (store) => COMMANDS[command]({ ...request, store }));
    if (typeof outcome === 'number') return outcome;
    if (json) terminal.print(JSON.stringify(outcome.document, null, 2));
    return outcome.code;
  },
});

/** Commands that read what the screen Data shows. */
const ON_THE_PAGE: readonly string[] = ['list', 'versions'];

async function datasetMeant(context: Context, given: string) {
  const [, bucket, pipeline] = ADDRESS.exec(given) ?? [];
  if (bucket !== undefined && pipeline !== undefined) {
    // Its region and credentials: printed commands name the bucket. Any S3 server will do without a deployment.
    if (!process.env['AWS_REGION']) await context.deployment().catch(() => undefined);
    return { bucket, pipeline };
  }
  const [deployment, names] = [await context.deployment(), await pipelineNames(await context.api())];
  if (!names.includes(given)) throw await noSuchPipeline(await context.api(), given);
  return { bucket: deployment.bucket, pipeline: given };
}

const ADDRESS = /^s3:\/\/([^/]+)\/([^/]+)\/?$/;

function problemsOf([command, address, ...words]: readonly string[], values: Values | undefined): string[] {
  const [generation] = words;
  const beyond = words.slice(MOST_WORDS[command ?? ''] ?? 1).map((word) => `"${word}" is one word too many`);
  const checks: readonly (readonly [isWrong: boolean, problem: string])[] = [
    [
      address !== undefined && !ADDRESS.test(address) && pipelineNameProblem(address) !== undefined,
      `"${address}" names no dataset: write the pipeline's name or s3://bucket/pipeline, and the generation as a separate argument`,
    ],
    [
      generation !== undefined && ['list', 'versions', 'compact'].includes(command ?? ''),
      `${command} takes no generation: remove "${generation}"`,
    ],
  ];
  const wrong = [...checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : [])), ...beyond];
  return command === undefined || values === undefined
    ? wrong
    : [...wrong, ...misplacedOptions(command, values)];
}

interface OwnOption {
  readonly name: string;
  /** The commands that take it. */
  readonly commands: readonly string[];
  readonly isGiven: (values: Values) => boolean;
}

const OWN_OPTIONS: readonly OwnOption[] = [
  { name: '--dry-run', commands: ['compact', 'prune'], isGiven: (values) => values['dry-run'] },
  { name: '--replaced', commands: ['prune'], isGiven: ({ replaced }) => replaced },
  { name: '--give-up', commands: ['repair'], isGiven: (values) => values['give-up'] },
  { name: '--out', commands: ['show', 'sample'], isGiven: ({ out }) => out !== undefined },
  { name: '--samples', commands: ['show', 'find'], isGiven: ({ samples }) => samples !== undefined },
  { name: '--over', commands: ['prune', 'repair'], isGiven: ({ over }) => over.length > 0 },
];

function misplacedOptions(command: string, values: Values): string[] {
  const misplaced = OWN_OPTIONS.flatMap(({ name, commands, isGiven }) =>
    isGiven(values) && !commands.includes(command) ? [`${name} belongs to ${commands.join(' and ')}`] : [],
  );
  const isAlone = command === 'repair' && values.over.length > 0 && !values['give-up'];
  return isAlone ? [...misplaced, '--over goes with repair --give-up'] : misplaced;
}

/** What is said where a command lacks its word. */
const MISSING: Readonly<Record<string, string>> = {
  pin: 'GENERATION is missing: name the one to pin',
  compare: 'GENERATION is missing: name the one whose version to compare',
  retract: 'KEY is missing: name the objects to retract',
  release: 'GENERATION is missing: name the one to release',
  repair: 'GENERATION is missing: name the one to repair',
  sample: 'KEY is missing: name an object of the sample',
  find: 'TEXT is missing: a part of a key, the beginning of a SHA-256, or label:NAME',
};

/** Words behind the address, where they are not one. */
const MOST_WORDS: Readonly<Record<string, number>> = { compare: 2, retract: Number.POSITIVE_INFINITY };
