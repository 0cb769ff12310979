/** The list of all runs: an index of them by the month in which they began, and the months that have any. */
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { type ListedRun, listedOf, listedRunSchema, runRecordSchema } from '../../records/run-records.ts';
import { type Item, readable } from '../../records/stored-records.ts';
import { type BegunPage, type BegunQuery, begunAtOf, type RunStore } from '../../records/stores.ts';
import type { Key, QueryInput, StoredTable } from './table.ts';

const BEGUN_INDEX = 'begun';

const MONTHS = 'MONTHS';
const monthKey = (month: string): Key => ({ pk: MONTHS, sk: month });
const monthSchema = z.object({ month: z.string() });

const STATE: Key = { pk: 'BEGUN', sk: 'BEGUN' };
/** `after` is the key of the last item that was read; absent at the end. */
const stateSchema = z.object({ after: z.object({ pk: z.string(), sk: z.string() }).optional() });

const monthOf = (time: string): string => time.slice(0, 7);
const partition = (month: string): string => `BEGUN#${month}`;

type Begun = Parameters<typeof begunAtOf>[0];
const indexKeys = (run: Begun): Item => ({
  begunIn: partition(monthOf(run.createdAt)),
  begunAt: begunAtOf(run),
});

export interface BegunIndex extends Pick<RunStore, 'listBegun' | 'indexBegun'> {
  /** The attributes of a run that is about to be created. Its month is on record once they are there. */
  readonly keysOf: (run: Begun) => Promise<Item>;
}

export function begunIndex(table: StoredTable): BegunIndex {
  // A month is written once by each process, and not for each run.
  const noted = new Set<string>();
  const keysOf = async (run: Begun): Promise<Item> => {
    const month = monthOf(run.createdAt);
    if (!noted.has(month)) await table.put({ ...monthKey(month), month });
    noted.add(month);
    return indexKeys(run);
  };
  return {
    keysOf,
    listBegun: async (wanted) => {
      const months = await monthsOf(table);
      if ((await table.get(STATE))?.['after'] !== undefined) wanted.tell?.(UNDER_WAY);
      try {
        return await listBegun(table, months, wanted);
      } catch (error: unknown) {
        if (!isNotThere(error)) throw error;
        wanted.tell?.(NOT_THERE);
        return { runs: [] };
      }
    },
    indexBegun: async (reads) => indexBegun(table, keysOf, reads),
  };
}

const UNDER_WAY = {
  id: BEGUN_INDEX,
  why: 'runs of an earlier release are still being brought into this list: make the same call again in five minutes',
};

/** While DynamoDB builds the index, minutes after an upgrade. */
const NOT_THERE = {
  id: BEGUN_INDEX,
  why: 'the index of all runs is being built: make the same call again in five minutes, or name a pipeline',
};

const isNotThere = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === 'ValidationException' &&
  error.message.includes(`index: ${BEGUN_INDEX}`);

async function monthsOf(table: StoredTable): Promise<string[]> {
  const input = {
    KeyConditionExpression: 'pk = :months',
    ExpressionAttributeValues: { ':months': MONTHS },
    ScanIndexForward: false,
  };
  return (await table.query(monthSchema, input)).map(({ month }) => month);
}

/** Each reads up to 1 MB. */
const MOST_READS = 5;

async function listBegun(
  table: StoredTable,
  months: readonly string[],
  wanted: BegunQuery,
): Promise<BegunPage> {
  const since = wanted.since === undefined ? '' : new Date(wanted.since).toISOString();
  const runs: ListedRun[] = [];
  let { before } = wanted;
  let reads = 0;
  const due = months.filter((month) => month <= monthOf(before ?? month) && month >= monthOf(since));
  for (let month = due.shift(); month !== undefined; reads += 1) {
    if (reads === MOST_READS) return { runs, searchedTo: before };
    const page = await table.readPage(
      queryOf(month, { ...wanted, limit: wanted.limit - runs.length, before }),
    );
    const young = page.items.filter((item) => String(item['begunAt']) >= since);
    runs.push(...young.flatMap((item) => listedRun(item, wanted)));
    if (runs.length >= wanted.limit || young.length < page.items.length) break;
    before = page.last === undefined ? startOf(month) : String(page.last['begunAt']);
    if (page.last === undefined) month = due.shift();
  }
  return { runs: runs.slice(0, wanted.limit) };
}

/** Every run of the month has a later place, and every run of the months before an earlier one. */
const startOf = (month: string): string => `${month}-01T00:00:00.000Z`;

function queryOf(month: string, { limit, before, statuses, probes }: BegunQuery): QueryInput {
  const filters = [
    ...(probes ? [] : ['attribute_not_exists(probe)']),
    ...(statuses ? [`#status IN (${statuses.map((_, index) => `:s${index}`).join(', ')})`] : []),
  ];
  const named = Object.fromEntries(statuses?.map((status, index) => [`:s${index}`, status]) ?? []);
  return {
    IndexName: BEGUN_INDEX,
    KeyConditionExpression: `begunIn = :month${before === undefined ? '' : ' AND begunAt < :before'}`,
    ...(filters.length > 0 && { FilterExpression: filters.join(' AND ') }),
    ExpressionAttributeValues: { ':month': partition(month), ':before': before, ...named },
    ...(statuses && { ExpressionAttributeNames: { '#status': 'status' } }),
    ScanIndexForward: false,
    // What a filter leaves out counts.
    ...(statuses === undefined && Number.isFinite(limit) && { Limit: limit }),
  };
}

/** What the item of the index says twice is not kept there. */
function listedRun(item: Item, { tell }: BegunQuery): ListedRun[] {
  const [createdAt, runId = ''] = String(item['begunAt']).split(' ');
  return readable(
    listedRunSchema,
    { ...item, createdAt, runId, pipeline: parseRunId(runId)?.pipeline },
    tell,
  );
}

/** It may end at any line: the state names the last item whose page was done, and a run is changed to the same twice. */
async function indexBegun(table: StoredTable, keysOf: BegunIndex['keysOf'], reads: number): Promise<boolean> {
  const state = await table.get(STATE);
  if (state !== undefined && state['after'] === undefined) return true;
  let after = stateSchema.parse(state ?? {}).after;
  for (let read = 0; read < reads; read += 1) {
    const page = await table.scanPage({
      FilterExpression: 'sk = :run AND attribute_not_exists(begunIn)',
      ExpressionAttributeValues: { ':run': 'RUN' },
      ...(after && { ExclusiveStartKey: after }),
    });
    for (const item of page.items) await bringIn(table, keysOf, item);
    after = page.last && stateSchema.shape.after.parse(page.last);
    await table.put({ ...STATE, ...(after && { after }) });
    if (after === undefined) return true;
  }
  return false;
}

async function bringIn(table: StoredTable, keysOf: BegunIndex['keysOf'], item: Item): Promise<void> {
  const { pk, sk, runId, createdAt } = item;
  const begun = z.object({ runId: z.string(), createdAt: z.iso.datetime() }).safeParse({ runId, createdAt });
  // A list by pipeline names what this release cannot read.
  const [run] = readable(runRecordSchema, item);
  if (!begun.success) return;
  const keys = await keysOf(begun.data);
  await table
    .update({ pk: String(pk), sk: String(sk) }, { ...keys, ...(run && { listed: listedOf(run) }) })
    .catch(noneIfUnreadable);
}
