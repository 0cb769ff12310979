/** `tidewheel model`: the models of a pipeline's runs: list them, fetch one, decide which one is in use. */
import path from 'node:path';
import { bucketKeys, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { bytesText, judgedText, usdText } from '../../client/amounts.ts';
import type { Context } from '../command/context.ts';
import { momentText, tableText } from '../command/format.ts';
import { pipelineMeant, runMeant, runsOf } from '../command/run-list.ts';
import { defineVerb, option } from '../command/verb.ts';
import { withBucket } from '../dataset/open.ts';
import { fetchSavedFiles, saveObject } from '../dataset/save-object.ts';
import { currentRun, decide, showModel } from '../model/states.ts';

const DECISIONS = ['promote', 'rollback', 'reject'] as const;

/** Runs that are looked through for models. */
const MOST_RUNS = 200;

export const verb = defineVerb({
  name: 'model',
  summary: 'list the models of a pipeline, fetch one, or decide which one is in use',
  about: `
  ls [PIPELINE]   its runs with a model, newest first
  show [RUN]      its state, who decided it and why, and the model that it began from
  get [RUN]       fetch the model.tar.gz of RUN, or the one in use, or that of the newest run that has one;
                  with "training.model: none" the files that the script saved, into a folder
  promote RUN     its model is in use from now on
  rollback [PIPELINE]  the former model is in use again, and the current one is rejected
  reject RUN      its model is not to be used`,
  positionals: ['COMMAND', 'PIPELINE or RUN?'],
  commands: ['ls', 'show', 'get', 'promote', 'rollback', 'reject'],
  options: {
    output: option(
      'FILE',
      'get: where to (default RUN.tar.gz, or the folder RUN)',
      z.string().min(1, 'name a file').optional(),
      'o',
    ),
    reason: option('TEXT', 'promote, rollback, reject: why', z.string().min(1, 'say why').optional()),
  },
  check: ([command], values) =>
    DECISIONS.some((each) => each === command) && values?.reason === undefined
      ? ['--reason is missing: say why, for those who ask later']
      : [],
  examples: [
    ['ls digits', 'which runs have a model'],
    ['get', "the one in use of this folder's pipeline"],
    ['rollback digits --reason "labels of May are wrong"', 'back to the model before'],
  ],
  run: async ({ values: { output, reason = '' }, positionals: [command, given] }, context) => {
    const decision = DECISIONS.find((each) => each === command);
    if (decision !== undefined) return decide(context, decision, { given, reason });
    if (command === 'show') return showModel(context, given);
    return command === 'ls' ? list(context, given) : fetchModel(context, given, output);
  },
});

const modelsOf = async (context: Context, pipeline: string) =>
  (await runsOf(await context.api(), pipeline, MOST_RUNS)).filter(({ modelUri }) => modelUri !== undefined);

async function list(context: Context, given: string | undefined): Promise<number> {
  const pipeline = await pipelineMeant(context, given);
  const runs = await modelsOf(context, pipeline);
  const known = (await (await context.api()).call('getModels', { name: pipeline })).models;
  const models = runs.map(({ runId, modelUri, startedFrom, result }) => ({
    runId,
    modelUri,
    state: known.find((model) => model.runId === runId)?.state,
    judged: known.find((model) => model.runId === runId)?.judged,
    startedFrom,
    ...result,
  }));
  const { terminal, json } = context;
  if (json) terminal.print(JSON.stringify({ pipeline, models }, null, 2));
  else if (models.length === 0) terminal.note(`no run of ${pipeline} has a model yet`);
  else
    terminal.print(
      tableText([
        ['RUN', 'STATE', 'SCORES', 'FINISHED', 'USD', 'MODEL'],
        ...models.map(({ runId, state = '-', judged, finishedAt, costUsd, modelUri = '' }) => [
          runId,
          state,
          judged === undefined ? '-' : judgedText(judged),
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
  const { runId, pipeline, modelUri, etag, isSaved } = await modelMeant(context, given);
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(modelUri) ?? [];
  if (isSaved) return fetchSaved(context, { runId, pipeline, bucket }, output);
  const file = path.resolve(context.folder, output ?? `${runId}.tar.gz`);
  const bytes = await withBucket(bucket, (store) => saveObject(store, key, file, { etag }));
  if (bytes === undefined) throw new Error(`the model of ${runId} is no longer at ${modelUri}`);
  return context.answer(
    { runId, modelUri, file, bytes },
    () => `${path.relative(context.folder, file)}: the model of ${runId}, ${bytesText(bytes)}`,
  );
}

interface Saved {
  readonly runId: string;
  readonly pipeline: string;
  readonly bucket: string;
}

/** The archive of such a run is empty. */
async function fetchSaved(
  { folder: here, answer }: Context,
  { runId, pipeline, bucket }: Saved,
  output: string | undefined,
): Promise<number> {
  const folder = path.resolve(here, output ?? runId);
  const prefix = bucketKeys.checkpoints(pipeline, runId);
  const { files, bytes } = await withBucket(bucket, (store) => fetchSavedFiles(store, prefix, folder));
  if (files.length === 0)
    throw new Error(
      `${runId} has left no model: its script saved nothing where it runs (s3://${bucket}/${prefix} is empty). Have it save one, then: tidewheel apply, tidewheel run ${pipeline}`,
    );
  return answer(
    { runId, folder, files, bytes },
    () =>
      `${path.relative(here, folder)}/: what ${runId} has saved, ${files.length} files, ${bytesText(bytes)}`,
  );
}

/** @throws UsageError where no run, or not the named one, has a model */
async function modelMeant(context: Context, given: string | undefined) {
  const isRun = given !== undefined && parseRunId(given) !== undefined;
  const runId = isRun ? await runMeant(context, given) : await currentOrNewest(context, given);
  const { report, run } = await (await context.api()).call('getRun', { runId });
  const modelUri = report?.modelUri ?? run.modelUri;
  const { pipeline, declaration } = run;
  if (modelUri !== undefined)
    return {
      runId,
      pipeline,
      modelUri,
      etag: report?.modelEtag,
      isSaved: declaration?.training.model === 'none',
    };
  throw new UsageError([
    `${runId} is ${run.status} and has no model: tidewheel model ls shows the runs that have one`,
  ]);
}

async function currentOrNewest(context: Context, given: string | undefined): Promise<string> {
  const pipeline = await pipelineMeant(context, given);
  const current = await currentRun(context, pipeline);
  if (current !== undefined) return current;
  const [newest] = await modelsOf(context, pipeline);
  if (newest !== undefined) return newest.runId;
  throw new UsageError([`no run of ${pipeline} has a model yet`]);
}
