/** The lists of runs, newest first. */
import { deadlineAt } from '../attempts/report.ts';
import { shownRun } from '../runs/requests.ts';
import type { RunRecord, RunStatus } from '../runs/run-records.ts';
import type { Stores, Tell } from '../runs/stores.ts';
import { bucketKeys } from '../shared/keys.ts';
import { type AnswerOf, noPipeline, ok, problem, type RequestOf } from './answers.ts';
import { pageOf, requestedPage, steppedOver } from './paging.ts';
import type { RunDeps } from './runs.ts';

export async function listPipelineRuns(
  deps: RunDeps,
  { parameters, query }: RequestOf<'GET /pipelines/{name}/runs'>,
): AnswerOf<'GET /pipelines/{name}/runs'> {
  const name = parameters['name'] ?? '';
  const list = `runs of ${name}`;
  const page = requestedPage(list, query);
  if ('problem' in page) return problem(400, page.problem);
  const { tell, said } = steppedOver();
  const found = await deps.runs.list(name, page.limit + 1, page.after, tell);
  // Runs outlive their pipeline's declaration.
  if (
    found.length === 0 &&
    said().unreadable === undefined &&
    (await deps.store.readText(bucketKeys.pipeline(name))) === undefined
  )
    return noPipeline(name);
  const { items, ...next } = pageOf(list, { found, limit: page.limit }, ({ runId }) => runId);
  return ok({ runs: items.map(summaryOf), ...said(), ...next });
}

/** Over all pipelines that are declared, or of one. */
export async function listRuns(deps: RunDeps, { query }: RequestOf<'GET /runs'>): AnswerOf<'GET /runs'> {
  const page = requestedPage(ALL_RUNS, query);
  if ('problem' in page) return problem(400, page.problem);
  const { tell, said } = steppedOver();
  const names =
    query.pipeline === undefined
      ? (await deps.pipelines.list({ tell })).map(({ name }) => name)
      : [query.pipeline];
  const wanted = { ...query, limit: page.limit + 1, before: page.after, tell };
  const each = await Promise.all(names.map((name) => newestOf(deps, name, wanted)));
  const found = each.flat().toSorted((one, other) => (placeOf(one) < placeOf(other) ? 1 : -1));
  const { items, ...next } = pageOf(ALL_RUNS, { found, limit: page.limit }, placeOf);
  return ok({ runs: items.map(summaryOf), ...said(), ...next });
}

const ALL_RUNS = 'runs';

/** The name of a run in the order of all runs. */
const placeOf = ({ createdAt, runId }: RunRecord): string => `${createdAt} ${runId}`;

interface Wanted {
  readonly limit: number;
  /** Place of the last run of the page before. */
  readonly before: string | undefined;
  readonly status?: readonly RunStatus[] | undefined;
  readonly since?: string | undefined;
  readonly tell: Tell;
}

const READ_AT_ONCE = 100;

/** The batches of a pipeline are closed one after the other, so its runs by number are in order of time. */
async function newestOf(
  { runs }: Pick<Stores, 'runs'>,
  pipeline: string,
  { limit, before, status, since, tell }: Wanted,
): Promise<RunRecord[]> {
  const found: RunRecord[] = [];
  const begin = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const isWanted = (run: RunRecord): boolean =>
    (status === undefined || status.includes(run.status)) && (before === undefined || placeOf(run) < before);
  // Without a filter every run counts, so no more than asked for are read.
  const atOnce = status === undefined && before === undefined ? Math.min(limit, READ_AT_ONCE) : READ_AT_ONCE;
  let after: string | undefined;
  do {
    const next = await runs.list(pipeline, atOnce, after, tell);
    const young = next.filter(({ createdAt }) => Date.parse(createdAt) >= begin);
    found.push(...young.filter(isWanted));
    after = young.length === atOnce ? next.at(-1)?.runId : undefined;
  } while (after !== undefined && found.length < limit);
  return found.slice(0, limit);
}

function summaryOf(run: RunRecord) {
  const {
    declaration: _declaration,
    generations: _generations,
    rejected: _rejected,
    notifiedSince: _notifiedSince,
    ...summary
  } = shownRun(run);
  return { ...summary, deadlineAt: deadlineAt(run)?.toISOString() };
}
