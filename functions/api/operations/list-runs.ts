import * as z from 'zod';
import { type RunRecord, type RunStatus, runStatusSchema } from '../../records/run-records.ts';
import type { Stores, Tell } from '../../records/stores.ts';
import { ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { pageQuery, readPage } from '../shared/paging.ts';
import { moment } from '../shared/query-text.ts';
import { runList, summaryOfRun } from '../shared/shown.ts';

/** Statuses with commas between them. */
const statuses = z.string().transform((text, context) => {
  const wanted = text.split(',');
  const unknown = wanted.filter((each) => !runStatusSchema.safeParse(each).success);
  if (unknown.length === 0) return wanted.flatMap((each) => runStatusSchema.safeParse(each).data ?? []);
  const message = `no status is called ${unknown.join(', ')}: give some of ${runStatusSchema.options.join(', ')}, with commas`;
  context.addIssue({ code: 'custom', message, input: text });
  return z.NEVER;
});

/** Over all pipelines that are declared, or of one. */
export const listRuns = defineOperation(
  {
    ...READS,
    route: 'GET /runs',
    id: 'listRuns',
    summary: 'Lists the runs of all pipelines, newest first.',
    query: pageQuery(50).extend({
      pipeline: z.string().optional().describe('Only runs of this pipeline.'),
      status: statuses.optional().describe('Only runs of these statuses, with commas between them.'),
      since: moment.optional().describe('Only runs that began at this time or later.'),
    }),
    answer: runList,
  },
  async (deps, { query }) => {
    const page = await readPage('runs', query, {
      read: async ({ limit, after: before, tell }) => {
        const names =
          query.pipeline === undefined
            ? (await deps.pipelines.list({ tell })).map(({ name }) => name)
            : [query.pipeline];
        const wanted = { ...query, limit, before, tell };
        const each = await Promise.all(names.map((name) => newestOf(deps, name, wanted)));
        return each.flat().toSorted((one, other) => (placeOf(one) < placeOf(other) ? 1 : -1));
      },
      nameOf: placeOf,
      show: summaryOfRun,
    });
    if ('status' in page) return page;
    const { items, ...rest } = page;
    return ok({ runs: items, ...rest });
  },
);

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
