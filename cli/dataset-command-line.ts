/** The command line of `npm run dataset`: its usage, and the errors in what was typed. */

import { readCommandLine, UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { COMMANDS, type DatasetRequest, isCommand } from './dataset-commands.ts';
import { withBucket } from './open-dataset.ts';

export const USAGE = `npm run dataset -- COMMAND s3://bucket/pipeline [GENERATION] [options]

  list      all generations and their states
  versions  all versions of the dataset and the change that made each
  pin       check GENERATION, and print the declaration that makes runs train on its version
  verify    read and check every byte of GENERATION, or of all
  compact   join small generations now; runs do so by themselves (dataset.compactAfter)
  prune     remove all generations before GENERATION and delete their shards; with --replaced, delete only the
            shards of generations that compacted ones replaced

  --dry-run         compact, prune: print what would be done, and do nothing
  --replaced        prune: see above
  --over RUN[,RUN]  prune: runs that have ended without a report

Prune never deletes what a run reads or a declaration pins. AWS credentials and region come from the environment.
AWS_ENDPOINT_URL selects another S3 server.`;

const commandLine = {
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
  const { values, positionals } = readCommandLine(args, commandLine);
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
    [
      !isCommand(command),
      `there is no command "${command}"; the commands are ${Object.keys(COMMANDS).join(', ')}`,
    ],
    [
      bucket === undefined,
      `"${address}" names no dataset: write s3://bucket/pipeline, and the generation as a separate argument`,
    ],
    [command === 'pin' && !isNamed, 'GENERATION is missing: name the one to pin'],
    [isPrune && isNamed === replaced, 'write either GENERATION, to remove all before it, or --replaced'],
    [takesNone && isNamed, `${command} takes no generation: remove "${generation}"`],
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
