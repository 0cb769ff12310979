/** The service's memory without a database: the same conditions, and values that no caller shares. */

import { RunNotFoundError, TransientError } from '@tidewheel/kit/errors.ts';
import type { StoredDecision } from '@tidewheel/placement/records.ts';
import {
  notifiedSinceOf,
  type PipelineRecord,
  pipelineRecordSchema,
} from '../../../functions/records/batches.ts';
import { type PipelineModels, pipelineModelsSchema } from '../../../functions/records/models.ts';
import { reopened, requestToRecord, stopToRecord } from '../../../functions/records/requests.ts';
import {
  attemptRecordSchema,
  FINISHED,
  listedRunOf,
  type RunRecord,
  runRecordSchema,
  type TimelineEntry,
} from '../../../functions/records/run-records.ts';
import type { Item } from '../../../functions/records/stored-records.ts';
import {
  type AttemptStore,
  begunAtOf,
  type ModelStore,
  type PipelineStore,
  type PlacementStore,
  type RunStore,
  type Stores,
  type TestObjectStore,
  type TimelineStore,
} from '../../../functions/records/stores.ts';
import {
  hardwareStore,
  listPriceStore,
  marketSampleStore,
  poolOutcomeStore,
  scoreQuestionStore,
} from './market-history.ts';
import { answer, nothing, put, Records, stored } from './records.ts';

export interface MemoryStores extends Stores {
  /** Everything is lost, as when the table is deleted. */
  lose(): void;
  /** Changes a record that is there as another release would have written it, or as damage leaves it. */
  readonly rewrite: (
    kind: 'pipelines' | 'runs' | 'attempts',
    id: string,
    change: (item: Item) => Item,
  ) => void;
}

export function memoryStores(): MemoryStores {
  const tables: { clear(): void }[] = [];
  const table = <K, V>(): Map<K, V> => {
    const fresh = new Map<K, V>();
    tables.push(fresh);
    return fresh;
  };
  const records = {
    pipelines: new Records(pipelineRecordSchema, 'PIPELINE'),
    runs: new Records(runRecordSchema, 'RUN'),
    attempts: new Records(attemptRecordSchema, 'RUN'),
    models: new Records(pipelineModelsSchema, 'MODELS'),
  };
  const { pipelines, runs, attempts, models } = records;
  tables.push(pipelines, runs, attempts, models);
  return {
    pipelines: pipelineStore(pipelines),
    runs: runStore({ runs, open: table(), kept: table(), pipelines }),
    attempts: attemptStore({ attempts, open: table() }),
    placements: placementStore(table()),
    timeline: timelineStore(table()),
    marketSamples: marketSampleStore(table()),
    poolOutcomes: poolOutcomeStore(table()),
    scoreQuestions: scoreQuestionStore(table()),
    listPrices: listPriceStore(table()),
    hardware: hardwareStore(table()),
    testObjects: testObjectStore(table()),
    models: modelStore(models),
    lose: () => {
      for (const each of tables) each.clear();
    },
    rewrite: (kind, id, change) => records[kind].rewrite(id, change),
  };
}

/** The sparse index: a record leaves it at its end. */
type OpenIndex = Map<string, true>;

/** Sets what is given and removes what is given as undefined. */
const changed = <T extends object>(record: T, change: Partial<NoInfer<T>>): T =>
  stored({ ...record, ...change });

type Pipelines = Records<typeof pipelineRecordSchema>;

function pipelineStore(pipelines: Pipelines): PipelineStore {
  return {
    get: (name) => answer(() => pipelines.get(name)),
    list: ({ limit, after, tell } = {}) =>
      answer(() =>
        pipelines
          .list(tell)
          .filter(({ removedAt, name }) => removedAt === undefined && (after === undefined || name > after))
          .sort((a, b) => (a.name < b.name ? -1 : 1))
          .slice(0, limit),
      ),
    ensure: (name, { firstBatch, at, ...close }) =>
      answer(() => {
        const known = pipelines.get(name);
        if (known !== undefined) return known;
        const fresh: PipelineRecord = {
          name,
          openBatch: firstBatch,
          valid: false,
          updatedAt: at,
          ...close,
        };
        pipelines.set(name, fresh);
        return fresh;
      }),
    setValidity: async (name, { problems, ...validity }) => {
      const known = pipelines.get(name);
      const change = {
        removedAt: undefined,
        declarationEtag: undefined,
        ...validity,
        problems: problems?.length ? problems : undefined,
      };
      if (known !== undefined) pipelines.set(name, changed(known, change));
      await Promise.resolve();
    },
    remove: async (name, at) => {
      const known = pipelines.get(name);
      const removed = { valid: false, declarationEtag: undefined, problems: undefined };
      const change = { ...removed, removedAt: at, updatedAt: at };
      if (known !== undefined) pipelines.set(name, changed(known, change));
      await Promise.resolve();
    },
    setSwept: async (name, swept) => {
      const known = pipelines.get(name);
      if (known !== undefined) pipelines.set(name, changed(known, swept));
      await Promise.resolve();
    },
  };
}

interface RunTables {
  readonly runs: Records<typeof runRecordSchema>;
  readonly open: OpenIndex;
  readonly kept: OpenIndex;
  /** The close of a batch changes both. */
  readonly pipelines: Pipelines;
}

function runStore({ runs, open, kept, pipelines }: RunTables): RunStore {
  const known = (runId: string): RunRecord => {
    const run = runs.get(runId);
    if (run === undefined) throw new RunNotFoundError(runId);
    return run;
  };
  return {
    create: (run) =>
      answer(() => {
        if (runs.has(run.runId)) return 'exists';
        runs.set(run.runId, stored(run));
        (FINISHED.includes(run.status) ? kept : open).set(run.runId, true);
        return 'created';
      }),
    get: (runId) => answer(() => runs.get(runId)),
    update: (runId, change) =>
      answer(() => {
        const run = changed(known(runId), change);
        runs.set(runId, run);
        if (change.status !== undefined && FINISHED.includes(change.status)) {
          open.delete(runId);
          kept.set(runId, true);
        }
        return run;
      }),
    annotate: ({ runId }, said) =>
      answer(() => {
        const run = changed(known(runId), said);
        runs.set(runId, run);
        return run;
      }),
    finish: ({ runId, retry }, end) =>
      answer(() => {
        const before = known(runId);
        if (before.retry?.number !== retry?.number) return before;
        const run = changed(before, end);
        runs.set(runId, run);
        open.delete(runId);
        kept.set(runId, true);
        return run;
      }),
    reopen: ({ runId, status, execution }, change) => {
      const before = known(runId);
      if (before.status !== status || before.execution !== execution) return nothing<RunRecord>(undefined);
      const run = changed(before, reopened(execution, change));
      runs.set(runId, run);
      kept.delete(runId);
      open.set(runId, true);
      return nothing(run);
    },
    requestStop: (runId, request) =>
      answer(() => {
        const run = known(runId);
        const stop = stopToRecord(run, request);
        if (stop === undefined) return run;
        const asked = changed(run, { stop, updatedAt: request.at });
        runs.set(runId, asked);
        return asked;
      }),
    requestRun: (runId, request) =>
      answer(() => {
        const run = known(runId);
        const asked = requestToRecord(run, request);
        if (asked.kind !== 'write') return { kind: asked.kind, run };
        const after = changed(run, { request: asked.request, trigger: 'api', updatedAt: request.at });
        runs.set(runId, after);
        return { kind: 'write' as const, run: after };
      }),
    list: (pipeline, limit, before, tell) =>
      answer(() =>
        runs
          .list(tell)
          .filter((run) => run.probe === undefined && run.pipeline === pipeline)
          .filter(({ runId }) => before === undefined || runId < before)
          .sort((a, b) => b.batch - a.batch)
          .slice(0, limit),
      ),
    listProbes: (pipeline, limit, before, tell) =>
      answer(() =>
        runs
          .list(tell)
          .filter((run) => run.probe !== undefined && run.pipeline === pipeline)
          .filter(({ runId }) => before === undefined || runId < before)
          .sort((a, b) => (b.probe?.number ?? 0) - (a.probe?.number ?? 0))
          .slice(0, limit),
      ),
    listBegun: ({ limit, before, since, statuses, probes, tell }) =>
      answer(() => ({
        runs: runs
          .list(tell)
          .filter((run) => probes || run.probe === undefined)
          .filter((run) => before === undefined || begunAtOf(run) < before)
          .filter(({ createdAt }) => since === undefined || Date.parse(createdAt) >= Date.parse(since))
          .filter(({ status }) => statuses?.includes(status) ?? true)
          .sort((a, b) => (begunAtOf(a) < begunAtOf(b) ? 1 : -1))
          .slice(0, limit)
          .map((run) => stored(listedRunOf(run))),
      })),
    indexBegun: () => Promise.resolve(true),
    listOpen: (tell) => answer(() => runs.list(tell, open.keys())),
    listKept: (tell) => answer(() => runs.list(tell, kept.keys())),
    setExpired: async (runId, { expired, isComplete }) => {
      const run = known(runId);
      if (kept.has(runId)) runs.set(runId, changed(run, { expired }));
      if (isComplete) kept.delete(runId);
      await Promise.resolve();
    },
    closeBatch: (
      { runId, pipeline: name, batch, request: before },
      { at, declaration, seen, notified, request, source, startedFrom },
    ) =>
      answer(() => {
        const run = known(runId);
        const pipeline = pipelines.get(name);
        if (pipeline?.openBatch !== batch) return run;
        if (before === undefined && run.request !== undefined)
          throw new TransientError(`another writer was faster at the close of ${runId}`);
        const next = {
          openBatch: batch + 1,
          closedAt: at,
          updatedAt: at,
          seen,
          ...(declaration && { notified }),
        };
        pipelines.set(name, changed(pipeline, next));
        const notifiedSince = notifiedSinceOf({ closedAt: at, notified });
        const pinned = declaration && {
          declaration,
          status: 'packing' as const,
          ...(notifiedSince !== undefined && { notifiedSince }),
        };
        const closed = changed(run, {
          closedAt: at,
          updatedAt: at,
          ...pinned,
          ...(request && { request }),
          ...(source !== undefined && { source }),
          ...(startedFrom !== undefined && { startedFrom }),
        });
        runs.set(runId, closed);
        return closed;
      }),
  };
}

const keyOf = (runId: string, attempt: number) => `${runId} ${attempt}`;

interface AttemptTables {
  readonly attempts: Records<typeof attemptRecordSchema>;
  readonly open: OpenIndex;
}

function attemptStore({ attempts, open }: AttemptTables): AttemptStore {
  return {
    create: (attempt) =>
      answer(() => {
        const key = keyOf(attempt.runId, attempt.attempt);
        if (attempts.has(key)) return 'exists';
        attempts.set(key, stored(attempt));
        open.set(key, true);
        return 'created';
      }),
    get: (runId, attempt) => answer(() => attempts.get(keyOf(runId, attempt))),
    update: (runId, attempt, change) =>
      answer(() => {
        const key = keyOf(runId, attempt);
        const known = attempts.get(key);
        if (known === undefined) throw new RunNotFoundError(`${runId}, attempt ${attempt}`);
        attempts.set(key, changed(known, change));
        if (change.outcome !== undefined) open.delete(key);
        return attempts.get(key) ?? known;
      }),
    list: (runId) =>
      answer(() =>
        [...attempts.ids()]
          .filter((key) => key.startsWith(`${runId} `))
          .flatMap((key) => attempts.get(key) ?? [])
          .sort((a, b) => a.attempt - b.attempt),
      ),
    findByJob: (jobName) => answer(() => attempts.find('jobName', jobName)),
    listOpen: (tell) => answer(() => attempts.list(tell, open.keys())),
  };
}

function under<K, V>(map: Map<string, Map<K, V>>, runId: string): Map<K, V> {
  const known = map.get(runId) ?? new Map<K, V>();
  map.set(runId, known);
  return known;
}

function placementStore(placements: Map<string, Map<number, StoredDecision>>): PlacementStore {
  return {
    put: async (runId, attempt, decision) => {
      under(placements, runId).set(attempt, stored(decision));
      await Promise.resolve();
    },
    get: (runId, attempt) => {
      const decision = under(placements, runId).get(attempt);
      return nothing(decision && { attempt, decision });
    },
    list: (runId) =>
      answer(() =>
        [...under(placements, runId)]
          .map(([attempt, decision]) => ({ attempt, decision }))
          .sort((a, b) => a.attempt - b.attempt),
      ),
  };
}

function timelineStore(timeline: Map<string, Map<string, TimelineEntry>>): TimelineStore {
  return {
    add: async (runId, entry) => {
      const entries = under(timeline, runId);
      if (!entries.has(entry.id)) entries.set(entry.id, stored(entry));
      await Promise.resolve();
    },
    list: (runId) =>
      answer(() =>
        [...under(timeline, runId).values()].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
      ),
  };
}

const testObjectStore = (taken: Map<string, string>): TestObjectStore => ({
  setTaken: (id, at) => put(taken, id, at),
  takenAt: (id) => nothing(taken.get(id)),
});

const modelStore = (items: Records<typeof pipelineModelsSchema>): ModelStore => ({
  get: (pipeline) => answer(() => items.get(pipeline)),
  put: (models, before) =>
    answer(() => {
      if (items.get(models.pipeline)?.number !== before) return false;
      items.set(models.pipeline, stored(models));
      return true;
    }),
  setPublished: (pipeline, number) =>
    answer(() => {
      const known: PipelineModels | undefined = items.get(pipeline);
      if (known?.number !== number) return false;
      items.set(pipeline, { ...known, news: [] });
      return true;
    }),
  listUnpublished: (tell) => answer(() => items.list(tell).filter(({ news }) => news.length > 0)),
});
