/** `tidewheel model`: the models of a pipeline's runs: list them, fetch one. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { bytesText, usdText } from '../../client/amounts.ts';
import { joinChunks } from '../../functions/core/packing/model/blob-store.ts';
import type { Context } from '../command/context.ts';
import { momentText, tableText } from '../command/format.ts';
import { pipelineMeant, runMeant, runsOf } from '../command/runs.ts';
import { defineVerb } from '../command/verb.ts';
import { withBucket } from '../dataset/open.ts';

const COMMANDS = ['ls', 'get'];
/** Runs that are looked through for models. */
const MOST_RUNS = 200;

export const verb = defineVerb({
  name: 'model',
  summary: 'list the models of a pipeline, or fetch one',
  about: `
  ls [PIPELINE]   its runs with a model, newest first
  get [RUN]       fetch the model.tar.gz of RUN, or of the newest run that has one`,
  positionals: ['COMMAND', 'PIPELINE or RUN?'],
  options: {
    output: { type: 'string', short: 'o', value: 'FILE', about: 'get: where to (default RUN.tar.gz)' },
  },
  schema: z.object({ output: z.string().min(1, 'name a file').optional() }),
  check: ([command]) =>
    command === undefined || COMMANDS.includes(command)
      ? []
      : [`there is no command "${command}"; the commands are ${COMMANDS.join(', ')}`],
  examples: [
    ['ls digits', 'which runs have a model'],
    ['get', "the newest of this folder's pipeline"],
  ],
  run: async ({ values, positionals: [command, given] }, context) =>
    command === 'ls' ? list(context, given) : fetchModel(context, given, values.output),
});

const modelsOf = async (context: Context, pipeline: string) =>
  (await runsOf(await context.api(), pipeline, MOST_RUNS)).filter(({ modelUri }) => modelUri !== undefined);

async function list(context: Context, given: string | undefined): Promise<number> {
  const pipeline = await pipelineMeant(context, given);
  const runs = await modelsOf(context, pipeline);
  const models = runs.map(({ runId, modelUri, result }) => ({ runId, modelUri, ...result }));
  const { terminal, json } = context;
  if (json) terminal.print(JSON.stringify({ pipeline, models }, null, 2));
  else if (models.length === 0) terminal.note(`no run of ${pipeline} has a model yet`);
  else
    terminal.print(
      tableText([
        ['RUN', 'FINISHED', 'USD', 'MODEL'],
        ...models.map(({ runId, finishedAt, costUsd, modelUri = '' }) => [
          runId,
          finishedAt === undefined ? '-' : momentText(new Date(finishedAt), new Date()),
          costUsd === undefined ? '-' : usdText(costUsd),
          modelUri,
        ]),
      ]),
    );
  return 0;
}

async function fetchModel(
  context: Context,
  given: string | undefined,
  output: string | undefined,
): Promise<number> {
  const { runId, modelUri } = await modelMeant(context, given);
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(modelUri) ?? [];
  const file = path.resolve(context.folder, output ?? `${runId}.tar.gz`);
  const found = await withBucket(bucket, (store) => store.get(key));
  if (found.kind !== 'found') throw new Error(`the model of ${runId} is no longer at ${modelUri}`);
  await writeFile(file, joinChunks(found.chunks));
  const { terminal, json } = context;
  if (json) terminal.print(JSON.stringify({ runId, modelUri, file, bytes: found.size }, null, 2));
  else
    terminal.print(`${path.relative(context.folder, file)}: the model of ${runId}, ${bytesText(found.size)}`);
  return 0;
}

/** @throws UsageError where no run, or not the named one, has a model */
async function modelMeant(context: Context, given: string | undefined) {
  if (given === undefined) {
    const pipeline = await pipelineMeant(context, undefined);
    const [newest] = await modelsOf(context, pipeline);
    if (newest?.modelUri !== undefined) return { runId: newest.runId, modelUri: newest.modelUri };
    throw new UsageError([`no run of ${pipeline} has a model yet`]);
  }
  const runId = await runMeant(context, given);
  const { report, run } = await (await context.api()).call('getRun', { runId });
  const modelUri = report?.modelUri ?? run.modelUri;
  if (modelUri !== undefined) return { runId, modelUri };
  throw new UsageError([
    `${runId} is ${run.status} and has no model: tidewheel model ls shows the runs that have one`,
  ]);
}
