/** The words of `npm run dataset`, and what is wrong with them. */

import { readCommandLine, UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { COMMANDS, type DatasetRequest, isCommand } from './dataset-commands.ts';
import { withBucket } from './open-dataset.ts';

export const USAGE = `npm run dataset -- COMMAND s3://bucket/pipeline [GENERATION] [options]

  list      generations: what the newest version holds, what was replaced, given up or only rejected
  versions  every version of the dataset and what made it
  pin       checks GENERATION and says what to declare so that runs train on the version that ends with it
  verify    reads every byte, of GENERATION or of all
  compact   joins small generations into large ones, as runs do by themselves (dataset.compactAfter)
  prune     gives up all before GENERATION and deletes their shards; with --replaced, only the shards of
            generations that compacted ones stand for

  --dry-run         compact, prune: only say what would be done
  --replaced        prune: see above
  --over RUN[,RUN]  prune: runs without a report that are known to be over

What a run reads or a declaration pins is never deleted. AWS credentials and region come from the environment;
AWS_ENDPOINT_URL names another server that speaks S3.`;

const words = {
  options: {
    'dry-run': { type: 'boolean' },
    replaced: { type: 'boolean' },
    over: { type: 'string' },
  },
  schema: z.object({
    'dry-run': z.boolean().default(false),
    replaced: z.boolean().default(false),
    over: z.string().optional(),
  }),
  positionals: ['COMMAND', 's3://bucket/pipeline', 'GENERATION?'],
} as const;

interface Typed {
  readonly command: string;
  readonly bucket: string | undefined;
  readonly pipeline: string | undefined;
  readonly request: Omit<DatasetRequest, 'store' | 'pipeline'>;
}

function read(args: readonly string[]): Typed {
  const { values, positionals } = readCommandLine(args, words);
  const [command = '', address = '', generation] = positionals;
  const [, bucket, pipeline] = /^s3:\/\/([^/]+)\/([^/]+)\/?$/.exec(address) ?? [];
  const over = values.over?.split(',').filter((run) => run !== '') ?? [];
  const { replaced, 'dry-run': dryRun } = values;
  const typed = { command, bucket, pipeline, request: { generation, over, replaced, dryRun } };
  const problems = problemsOf(typed, address);
  if (problems.length > 0) throw new UsageError(problems);
  return typed;
}

function problemsOf({ command, bucket, request }: Typed, address: string): string[] {
  const { generation, replaced, over, dryRun } = request;
  const isNamed = generation !== undefined;
  const takesNone = ['list', 'versions', 'compact'].includes(command);
  const isPrune = command === 'prune';
  const checks: readonly (readonly [isWrong: boolean, problem: string])[] = [
    [!isCommand(command), `there is no command "${command}": ${Object.keys(COMMANDS).join(', ')}`],
    [
      bucket === undefined,
      `"${address}" names no dataset: write s3://bucket/pipeline, and a generation as a word of its own`,
    ],
    [command === 'pin' && !isNamed, 'GENERATION is missing: which one to pin'],
    [isPrune && isNamed === replaced, 'write either GENERATION, to give up all before it, or --replaced'],
    [takesNone && isNamed, `${command} takes no generation, but "${generation}" was given`],
    [!isPrune && (replaced || over.length > 0), '--replaced and --over belong to prune'],
    [dryRun && !isPrune && command !== 'compact', '--dry-run belongs to compact and prune'],
  ];
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

/** @returns the exit code */
export async function datasetCommand(args: readonly string[]): Promise<number> {
  const { command, bucket, pipeline, request } = read(args);
  if (!isCommand(command) || bucket === undefined || pipeline === undefined) return 2;
  return withBucket(bucket, (store) => COMMANDS[command]({ ...request, store, pipeline }));
}
