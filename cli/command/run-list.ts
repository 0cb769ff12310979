/** Runs as the command line sees them: the parts of the API's answers that it reads, and which run a person means. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { nearest } from '@tidewheel/kit/nearest.mjs';
import { parse } from 'yaml';
import * as z from 'zod';
import type { AnswerOf } from '../../client/operations.ts';
import { type Api, ApiError } from './api-calls.ts';
import type { Context } from './context.ts';

export type RunRow = AnswerOf<'listPipelineRuns'>['runs'][number];

const LARGEST_PAGE = 200;

/** There will be a run once data arrives or a person starts one. */
export class NoRunYetError extends UsageError {
  /** Undefined: there is none of any pipeline. */
  readonly pipeline: string | undefined;

  constructor(pipeline: string | undefined) {
    const whose = pipeline === undefined ? '' : ` of ${pipeline}`;
    super([`there is no run${whose} yet: drop data (tidewheel drop DIR), or start one (tidewheel run)`]);
    this.pipeline = pipeline;
  }
}

/** Names of the declared pipelines. */
export async function pipelineNames(api: Api): Promise<string[]> {
  const names: string[] = [];
  let nextToken: string | undefined;
  do {
    const page = await api.call('listPipelines', { limit: LARGEST_PAGE, nextToken });
    names.push(...page.pipelines.map(({ name }) => name));
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
  return names;
}

interface RunFilter {
  readonly pipeline?: string | undefined;
  readonly status?: string | undefined;
  readonly since?: string | undefined;
  readonly where?: string | undefined;
}

/** Runs of all pipelines or of one, newest first. */
export async function runRows(api: Api, filter: RunFilter, most: number): Promise<RunRow[]> {
  const runs: RunRow[] = [];
  let nextToken: string | undefined;
  do {
    const limit = Math.min(LARGEST_PAGE, most - runs.length);
    const page = await api.call('listRuns', { ...filter, limit, nextToken });
    runs.push(...page.runs);
    nextToken = page.nextToken;
  } while (nextToken !== undefined && runs.length < most);
  return runs;
}

/** @throws UsageError with the nearest name where there is no such pipeline */
export async function runsOf(api: Api, pipeline: string, most: number): Promise<RunRow[]> {
  try {
    return [
      ...(await api.call('listPipelineRuns', { name: pipeline, limit: Math.min(LARGEST_PAGE, most) })).runs,
    ];
  } catch (error: unknown) {
    // 400: what no pipeline can be called, such as Digits.
    throw error instanceof ApiError && [400, 404].includes(error.status)
      ? await noSuchPipeline(api, pipeline)
      : error;
  }
}

export async function noSuchPipeline(api: Api, name: string): Promise<UsageError> {
  const names = await pipelineNames(api);
  const near = nearest(name.toLowerCase(), names);
  const hint =
    near !== undefined
      ? `did you mean ${near}?`
      : names.length === 0
        ? 'none is declared yet: tidewheel apply declares one'
        : `there are ${names.join(', ')}`;
  return new UsageError([`there is no pipeline "${name}": ${hint}`]);
}

/** The declaration's file in a folder of a person's own. */
export const DECLARATION_FILE = 'tidewheel.yaml';

const named = z.looseObject({ name: z.string() });

/** The pipeline that the folder declares; undefined where it declares none. */
export async function pipelineHere(folder: string, file = DECLARATION_FILE): Promise<string | undefined> {
  try {
    const read = named.safeParse(parse(await readFile(path.join(folder, file), 'utf8')));
    return read.success ? read.data.name : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The pipeline that a person names, or that their folder declares, or the only one.
 * @throws UsageError where none of this tells one
 */
export async function pipelineMeant(context: Context, given: string | undefined): Promise<string> {
  const here = given ?? (await pipelineHere(context.folder));
  if (here !== undefined) return here;
  const names = await pipelineNames(await context.api());
  const [only, other] = names;
  if (only !== undefined && other === undefined) return only;
  throw new UsageError([
    only === undefined
      ? 'no pipeline is declared yet: write a declaration with tidewheel init, and declare it in its folder with tidewheel apply (tidewheel drop FOLDER does it too)'
      : `PIPELINE is missing: name one of ${names.join(', ')}, or stand in a folder with a ${DECLARATION_FILE}`,
  ]);
}

/**
 * The run that a person names, or the newest: of the pipeline that their folder declares, or of all.
 * @throws UsageError with the nearest name where there is no such run @throws NoRunYetError
 */
export async function runMeant(context: Context, given: string | undefined): Promise<string> {
  const api = await context.api();
  if (given !== undefined) return exactRun(api, given);
  const here = await pipelineHere(context.folder);
  const [run] = await runRows(api, { pipeline: here }, 1);
  if (run !== undefined) return run.runId;
  throw new NoRunYetError(here);
}

/** @throws ApiError where it is, and cannot be read: lists leave such a run out */
const isOnRecord = (api: Api, runId: string): Promise<boolean> =>
  api.call('getRun', { runId }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && [400, 404].includes(error.status)) return false;
      throw error;
    },
  );

async function exactRun(api: Api, given: string): Promise<string> {
  // A list of runs holds no probes.
  if (parseRunId(given)?.isProbe === true) return given;
  // The name of a pipeline stands for its newest run.
  const [, pipeline = given] = /^(.+)-\d+$/.exec(given) ?? [];
  const runs = await runsOf(api, pipeline, LARGEST_PAGE);
  if (pipeline === given) {
    const [newest] = runs;
    if (newest !== undefined) return newest.runId;
    throw new NoRunYetError(given);
  }
  const ids = runs.map(({ runId }) => runId);
  // An older one than the page holds is for the API to know.
  if (ids.includes(given) || runs.length === LARGEST_PAGE || (await isOnRecord(api, given))) return given;
  const near = nearest(given, ids) ?? ids[0];
  throw new UsageError([
    `there is no run "${given}": ${near === undefined ? `${pipeline} has none yet` : `did you mean ${near}?`}`,
  ]);
}
