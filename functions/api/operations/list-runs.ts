import { time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { type ListedRun, listedRunOf, type RunRecord, runStatusSchema } from '../../records/run-records.ts';
import { type BegunQuery, begunAtOf, type Stores } from '../../records/stores.ts';
import { ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { pageQuery, readPage } from '../shared/paging.ts';
import { moment } from '../shared/query-text.ts';
import { runList, summaryOf } from '../shared/shown.ts';

/** Statuses with commas between them. */
const statuses = z.string().transform((text, context) => {
  const wanted = text.split(',');
  const unknown = wanted.filter((each) => !runStatusSchema.safeParse(each).success);
  if (unknown.length === 0) return wanted.flatMap((each) => runStatusSchema.safeParse(each).data ?? []);
  const message = `no status is called ${unknown.join(', ')}: give some of ${runStatusSchema.options.join(', ')}, with commas`;
  context.addIssue({ code: 'custom', message, input: text });
  return z.NEVER;
});

/** Runs of one pipeline, or of all, also of those that were removed. */
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
    answer: runList.extend({
      searchedTo: time
        .optional()
        .describe('All runs since then were looked at, and older ones were not: ask for the next page.'),
    }),
  },
  async (deps, { query }) => {
    let searchedTo: string | undefined;
    const page = await readPage('runs', query, {
      read: async ({ limit, after: before, tell }) => {
        const wanted = { limit, before, since: query.since, statuses: query.status, tell };
        if (query.pipeline !== undefined) return newestOf(deps, query.pipeline, wanted);
        const found = await deps.runs.listBegun(wanted);
        searchedTo = found.searchedTo;
        return found.runs;
      },
      searchedTo: () => searchedTo,
      nameOf: begunAtOf,
      show: summaryOf,
    });
    if ('status' in page) return page;
    const { items, ...rest } = page;
    return ok({ runs: items, ...rest, searchedTo: searchedTo?.split(' ')[0] });
  },
);

const READ_AT_ONCE = 100;

/** The batches of a pipeline are closed one after the other, so its runs by number are in order of time. */
async function newestOf(
  { runs }: Pick<Stores, 'runs'>,
  pipeline: string,
  { limit, before, statuses, since, tell }: BegunQuery,
): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  const begin = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const isWanted = (run: RunRecord): boolean =>
    (statuses === undefined || statuses.includes(run.status)) &&
    (before === undefined || begunAtOf(run) < before);
  // Without a filter every run counts, so no more than asked for are read.
  const atOnce =
    statuses === undefined && before === undefined ? Math.min(limit, READ_AT_ONCE) : READ_AT_ONCE;
  let after: string | undefined;
  do {
    const next = await runs.list(pipeline, atOnce, after, tell);
    const young = next.filter(({ createdAt }) => Date.parse(createdAt) >= begin);
    found.push(...young.filter(isWanted).map(listedRunOf));
    after = young.length === atOnce ? next.at(-1)?.runId : undefined;
  } while (after !== undefined && found.length < limit);
  return found.slice(0, limit);
}
