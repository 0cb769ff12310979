import { time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { readEnded, runResultOf } from '../../records/ended.ts';
import {
  FINISHED,
  type ListedRun,
  listedRunOf,
  type RunRecord,
  runStatusSchema,
} from '../../records/run-records.ts';
import { type BegunQuery, begunAtOf, type Stores } from '../../records/stores.ts';
import { ok } from '../shared/answers.ts';
import { type ApiDeps, defineOperation, READS } from '../shared/operation.ts';
import { leftOut, pageQuery, readPage } from '../shared/paging.ts';
import { LONGEST_NAME, moment } from '../shared/query-text.ts';
import { runList, summaryOf } from '../shared/shown.ts';
import { whereOf } from '../shared/where.ts';

/** Statuses with commas between them. */
const statuses = z.string().transform((text, context) => {
  const wanted = [...new Set(text.split(','))];
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
      pipeline: z.string().max(LONGEST_NAME).optional().describe('Only runs of this pipeline.'),
      status: statuses.optional().describe('Only runs of these statuses, with commas between them.'),
      since: moment.optional().describe('Only runs that began at this time or later.'),
      where: z
        .string()
        .max(500)
        .transform(whereOf)
        .optional()
        .describe(
          'Terms with "and" between them: val_accuracy > 0.9, lr = 1e-4, cost < 2, tag:NAME, or words of the id, failure, note, owner or tags.',
        ),
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
        const { pipeline, where, since, status } = query;
        const wanted = { limit, before, since, statuses: status, tell, where };
        if (pipeline !== undefined) return newestOf(deps, pipeline, wanted);
        const found = await searched(deps, wanted);
        ({ searchedTo } = found);
        return found.runs;
      },
      searchedTo: () => searchedTo,
      nameOf: begunAtOf,
      show: async (run, tell) =>
        summaryOf((await withResult(deps, run).catch(leftOut(run.runId, tell))) ?? run),
    });
    if ('status' in page) return page;
    const { items, ...rest } = page;
    return ok({ runs: items, ...rest, searchedTo: searchedTo?.split(' ')[0] });
  },
);

/** Records of earlier releases lack what only their report says. */
async function withResult({ store }: ApiDeps, run: ListedRun): Promise<ListedRun> {
  if (run.result !== undefined || !FINISHED.includes(run.status)) return run;
  const report = await readEnded(store, run);
  return report === undefined ? run : { ...run, result: runResultOf(report) };
}

interface Wanted extends BegunQuery {
  readonly where: ((run: ListedRun) => boolean) | undefined;
}

/** Pages of the index that a search looks through in one call. */
const MOST_PAGES = 5;
const SEARCHED_PAGE = 500;

/** A search may find few: it ends after some pages, and says how far it looked. */
async function searched(
  { runs }: Pick<Stores, 'runs'>,
  { where, ...wanted }: Wanted,
): Promise<{ readonly runs: ListedRun[]; readonly searchedTo?: string | undefined }> {
  if (where === undefined) return runs.listBegun(wanted);
  const found: ListedRun[] = [];
  let { before } = wanted;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const next = await runs.listBegun({ ...wanted, before, limit: SEARCHED_PAGE });
    found.push(...next.runs.filter(where));
    const last = next.runs.at(-1);
    const isFull = next.runs.length >= SEARCHED_PAGE && last !== undefined;
    before = isFull ? begunAtOf(last) : next.searchedTo;
    if (before === undefined || found.length >= wanted.limit) break;
  }
  const isFull = found.length >= wanted.limit;
  return { runs: found.slice(0, wanted.limit), searchedTo: isFull ? undefined : before };
}

const READ_AT_ONCE = 100;

/** The batches of a pipeline are closed one after the other, so its runs by number are in order of time. */
async function newestOf(
  { runs }: Pick<Stores, 'runs'>,
  pipeline: string,
  { limit, before, statuses, since, tell, where }: Wanted,
): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  const begin = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const isWanted = (run: RunRecord): boolean =>
    (statuses === undefined || statuses.includes(run.status)) &&
    (before === undefined || begunAtOf(run) < before) &&
    (where === undefined || where(listedRunOf(run)));
  // Without a filter every run counts, so no more than asked for are read.
  const atOnce =
    statuses === undefined && before === undefined && where === undefined
      ? Math.min(limit, READ_AT_ONCE)
      : READ_AT_ONCE;
  let after: string | undefined;
  do {
    const next = await runs.list(pipeline, atOnce, after, tell);
    const young = next.filter(({ createdAt }) => Date.parse(createdAt) >= begin);
    found.push(...young.filter(isWanted).map(listedRunOf));
    after = young.length === atOnce ? next.at(-1)?.runId : undefined;
  } while (after !== undefined && found.length < limit);
  return found.slice(0, limit);
}
