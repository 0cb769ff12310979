/** The command line of `npm run dataset`: its usage, and the errors in what was typed. */

import { readCommandLine, UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { COMMANDS, isCommand } from './dataset-commands.ts';
import { withBucket } from './open-dataset.ts';

export const USAGE = `npm run dataset -- COMMAND s3://bucket/pipeline [GENERATION or KEY...] [options]

  list      all generations and their states
  versions  all versions of the dataset and the change that made each
  contents  the packed objects of the newest version, or of GENERATION's, with their SHA-256
  compare   what was added, replaced and retracted from GENERATION's version to the newest, or to a second one's
  pin       check GENERATION, and print the declaration that makes runs train on its version
  verify    read and check every byte of GENERATION, or of all
  compact   join small generations now; runs do so by themselves (dataset.compactAfter)
  retract   leave the samples of these KEYs (below incoming/) out of the next version, for good
  prune     remove all generations before GENERATION and delete their shards; with --replaced, delete only the
            shards of generations that compacted ones replaced

  --dry-run         compact, prune: print what would be done, and do nothing
  --replaced        prune: see above
  --over RUN[,RUN]  prune: runs that have ended without a report

Prune never deletes what a run reads or a declaration pins. AWS credentials and region come from the environment.
AWS_ENDPOINT_URL selects another S3 server.`;

const schema = z.object({
  'dry-run': z.boolean().default(false),
  replaced: z.boolean().default(false),
  over: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((run) => run !== '')),
});

const commandLine = {
  options: {
    'dry-run': { type: 'boolean' },
    replaced: { type: 'boolean' },
    over: { type: 'string' },
  },
  schema,
  positionals: ['COMMAND', 's3://bucket/pipeline', 'GENERATION or KEY...'],
  check: problemsOf,
} as const;

const ADDRESS = /^s3:\/\/([^/]+)\/([^/]+)\/?$/;

function problemsOf(
  [command, address, ...words]: readonly string[],
  values: z.output<typeof schema> | undefined,
): string[] {
  const [generation] = words;
  const beyond = words.slice(MOST_WORDS[command ?? ''] ?? 1).map((word) => `"${word}" is one word too many`);
  const checks: readonly (readonly [isWrong: boolean, problem: string])[] = [
    [
      command !== undefined && !isCommand(command),
      `there is no command "${command}"; the commands are ${Object.keys(COMMANDS).join(', ')}`,
    ],
    [
      address !== undefined && !ADDRESS.test(address),
      `"${address}" names no dataset: write s3://bucket/pipeline, and the generation as a separate argument`,
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

function misplacedOptions(
  command: string,
  { replaced, over, 'dry-run': dryRun }: z.output<typeof schema>,
): string[] {
  if (command === 'prune') return [];
  return [
    ...(replaced || over.length > 0 ? ['--replaced and --over belong to prune'] : []),
    ...(dryRun && command !== 'compact' ? ['--dry-run belongs to compact and prune'] : []),
  ];
}

/** What is said where a command lacks its word. */
const MISSING: Readonly<Record<string, string>> = {
  pin: 'GENERATION is missing: name the one to pin',
  compare: 'GENERATION is missing: name the one whose version to compare',
  retract: 'KEY is missing: name the objects to retract',
};

/** Words behind the address, where they are not one. */
const MOST_WORDS: Readonly<Record<string, number>> = { compare: 2, retract: Number.POSITIVE_INFINITY };

/** @returns the exit code */
export async function datasetCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = readCommandLine(args, commandLine);
  const [command = '', address = '', ...words] = positionals;
  const [generation] = words;
  const [, bucket = '', pipeline = ''] = ADDRESS.exec(address) ?? [];
  if (!isCommand(command)) return 2;
  const { over, replaced, 'dry-run': dryRun } = values;
  const missing = generation === undefined ? MISSING[command] : undefined;
  if (missing !== undefined) throw new UsageError([missing]);
  if (command === 'prune' && (generation !== undefined) === replaced)
    throw new UsageError(['write either GENERATION, to remove all before it, or --replaced']);
  const request = { pipeline, generation, words, over, replaced, dryRun };
  return withBucket(bucket, (store) => COMMANDS[command]({ ...request, store }));
}
