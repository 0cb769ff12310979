/** The service's memory without a database: the same conditions, and values that no caller shares. */

import type { Hardware } from '../../../functions/core/catalog/hardware.ts';
import type { ListPrices } from '../../../functions/core/catalog/price-list.ts';
import type { PipelineRecord } from '../../../functions/core/runs/batches.ts';
import type {
  AskedQuestion,
  MarketHistory,
  MarketSample,
  PoolOutcome,
} from '../../../functions/core/runs/market-history.ts';
import {
  type AttemptRecord,
  FINISHED,
  type PlacementDecision,
  type RunRecord,
} from '../../../functions/core/runs/run-records.ts';
import type { RunStore, TimelineEntry } from '../../../functions/core/runs/run-store.ts';
import { RunNotFoundError } from '../../../functions/core/shared/errors.ts';

/** What a database does to a record: it is copied, and what is undefined is not there. */
function stored<T>(value: T): T {
  const copy: T = JSON.parse(JSON.stringify(value));
  return copy;
}

interface Tables {
  readonly pipelines: Map<string, PipelineRecord>;
  readonly runs: Map<string, RunRecord>;
  readonly attempts: Map<string, AttemptRecord>;
  readonly placements: Map<string, Map<number, PlacementDecision>>;
  readonly timeline: Map<string, Map<string, TimelineEntry>>;
  readonly samples: Map<string, MarketSample>;
  readonly encounters: Map<string, PoolOutcome>;
  readonly questions: Map<string, AskedQuestion>;
  readonly listPrices: Map<string, ListPrices>;
  readonly hardware: Map<'ec2', Hardware>;
  /** Keys of the sparse index: left at the end, never entered again. */
  readonly openRuns: Set<string>;
  readonly openAttempts: Set<string>;
}

export interface MemoryRunStore extends RunStore {
  /** Everything is lost, as when the table is deleted. */
  lose(): void;
}

export function memoryRunStore(): MemoryRunStore {
  const tables: Tables = {
    pipelines: new Map(),
    runs: new Map(),
    attempts: new Map(),
    placements: new Map(),
    timeline: new Map(),
    samples: new Map(),
    encounters: new Map(),
    questions: new Map(),
    listPrices: new Map(),
    hardware: new Map(),
    openRuns: new Set(),
    openAttempts: new Set(),
  };
  return {
    ...pipelineMethods(tables),
    ...runMethods(tables),
    ...attemptMethods(tables),
    ...timelineMethods(tables),
    ...marketMethods(tables),
    lose: () => {
      for (const table of Object.values(tables)) table.clear();
    },
  } satisfies MemoryRunStore;
}

/** Whole at once: nothing else runs between the read and the write. */
const answer = <T>(act: () => T): Promise<T> => new Promise((resolve) => resolve(stored(act())));
const nothing = <T>(value: T | undefined): Promise<T | undefined> =>
  Promise.resolve(value === undefined ? undefined : stored(value));

/** Sets what is given and removes what is given as undefined. */
const changed = <T extends object>(record: T, change: Partial<T>): T => stored({ ...record, ...change });

type PipelineMethods = Pick<
  RunStore,
  'getPipeline' | 'listPipelines' | 'ensurePipeline' | 'setPipelineValidity'
>;

function pipelineMethods({ pipelines }: Tables): PipelineMethods {
  return {
    getPipeline: (name) => nothing(pipelines.get(name)),
    listPipelines: () => answer(() => [...pipelines.values()].sort((a, b) => (a.name < b.name ? -1 : 1))),
    ensurePipeline: (name, { firstBatch, at }) =>
      answer(() => {
        const known = pipelines.get(name);
        if (known !== undefined) return known;
        const fresh: PipelineRecord = { name, openBatch: firstBatch, valid: true, updatedAt: at };
        pipelines.set(name, fresh);
        return fresh;
      }),
    setPipelineValidity: async (name, { valid, problems, updatedAt }) => {
      const known = pipelines.get(name);
      const change = { valid, problems: problems?.length ? problems : undefined, updatedAt };
      if (known !== undefined) pipelines.set(name, changed(known, change));
      await Promise.resolve();
    },
  };
}

type RunMethods = Pick<
  RunStore,
  'createRun' | 'getRun' | 'updateRun' | 'listRuns' | 'listOpenRuns' | 'closeBatch'
>;

function runMethods({ runs, openRuns, pipelines }: Tables): RunMethods {
  const known = (runId: string): RunRecord => {
    const run = runs.get(runId);
    if (run === undefined) throw new RunNotFoundError(runId);
    return run;
  };
  return {
    createRun: (run) =>
      answer(() => {
        if (runs.has(run.runId)) return 'exists';
        runs.set(run.runId, stored(run));
        openRuns.add(run.runId);
        return 'created';
      }),
    getRun: (runId) => nothing(runs.get(runId)),
    updateRun: (runId, change) =>
      answer(() => {
        const run = changed(known(runId), change);
        runs.set(runId, run);
        if (change.status !== undefined && FINISHED.includes(change.status)) openRuns.delete(runId);
        return run;
      }),
    listRuns: (pipeline, limit) =>
      answer(() =>
        [...runs.values()]
          .filter((run) => run.pipeline === pipeline)
          .sort((a, b) => b.batch - a.batch)
          .slice(0, limit),
      ),
    listOpenRuns: () => answer(() => [...openRuns].map(known)),
    closeBatch: ({ runId, pipeline: name, batch }, { at, declaration, seen }) =>
      answer(() => {
        const run = known(runId);
        const pipeline = pipelines.get(name);
        if (pipeline?.openBatch !== batch) return run;
        pipelines.set(name, changed(pipeline, { openBatch: batch + 1, closedAt: at, updatedAt: at, seen }));
        const pinned = declaration && { declaration, status: 'packing' as const };
        const closed = changed(run, { closedAt: at, updatedAt: at, ...pinned });
        runs.set(runId, closed);
        return closed;
      }),
  };
}

const keyOf = (runId: string, attempt: number) => `${runId} ${attempt}`;

type AttemptMethods = Pick<
  RunStore,
  'createAttempt' | 'getAttempt' | 'updateAttempt' | 'listAttempts' | 'findAttemptByJob' | 'listOpenAttempts'
>;

function attemptMethods({ attempts, openAttempts }: Tables): AttemptMethods {
  return {
    createAttempt: (attempt) =>
      answer(() => {
        const key = keyOf(attempt.runId, attempt.attempt);
        if (attempts.has(key)) return 'exists';
        attempts.set(key, stored(attempt));
        openAttempts.add(key);
        return 'created';
      }),
    getAttempt: (runId, attempt) => nothing(attempts.get(keyOf(runId, attempt))),
    updateAttempt: (runId, attempt, change) =>
      answer(() => {
        const key = keyOf(runId, attempt);
        const known = attempts.get(key);
        if (known === undefined) throw new RunNotFoundError(`${runId}, attempt ${attempt}`);
        attempts.set(key, changed(known, change));
        if (change.outcome !== undefined) openAttempts.delete(key);
        return attempts.get(key) ?? known;
      }),
    listAttempts: (runId) =>
      answer(() =>
        [...attempts.values()].filter((each) => each.runId === runId).sort((a, b) => a.attempt - b.attempt),
      ),
    findAttemptByJob: (jobName) => nothing([...attempts.values()].find((each) => each.jobName === jobName)),
    listOpenAttempts: () => answer(() => [...openAttempts].flatMap((key) => attempts.get(key) ?? [])),
  };
}

function under<K, V>(map: Map<string, Map<K, V>>, runId: string): Map<K, V> {
  const known = map.get(runId) ?? new Map<K, V>();
  map.set(runId, known);
  return known;
}

type TimelineMethods = Pick<RunStore, 'putPlacement' | 'listPlacements' | 'addTimeline' | 'listTimeline'>;

function timelineMethods({ placements, timeline }: Tables): TimelineMethods {
  return {
    putPlacement: async (runId, attempt, decision) => {
      under(placements, runId).set(attempt, stored(decision));
      await Promise.resolve();
    },
    listPlacements: (runId) =>
      answer(() =>
        [...under(placements, runId)]
          .map(([attempt, decision]) => ({ attempt, decision }))
          .sort((a, b) => a.attempt - b.attempt),
      ),
    addTimeline: async (runId, entry) => {
      const entries = under(timeline, runId);
      if (!entries.has(entry.id)) entries.set(entry.id, stored(entry));
      await Promise.resolve();
    },
    listTimeline: (runId) =>
      answer(() =>
        [...under(timeline, runId).values()].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
      ),
  };
}

function marketMethods({ samples, encounters, questions, listPrices, hardware }: Tables): MarketHistory {
  const put = async <T>(map: Map<string, T>, key: string, value: T): Promise<void> => {
    map.set(key, stored(value));
    await Promise.resolve();
  };
  return {
    putSample: (sample) => put(samples, `${sample.family} ${sample.zoneId} ${sample.at}`, sample),
    listSamples: (family, zoneId, since) =>
      answer(() =>
        [...samples.values()]
          .filter((each) => each.family === family && each.zoneId === zoneId && each.at >= since)
          .sort((a, b) => (a.at < b.at ? -1 : 1)),
      ),
    putEncounter: (met) => put(encounters, `${met.endedAt} ${met.runId} ${met.attempt}`, met),
    listEncounters: (family, since) =>
      answer(() =>
        [...encounters.values()]
          .filter((each) => each.instanceType.startsWith(`${family}.`) && each.endedAt >= since)
          .sort((a, b) => (a.endedAt < b.endedAt ? -1 : 1)),
      ),
    putListPrices: (prices) => put(listPrices, prices.region, prices),
    getListPrices: (region) => nothing(listPrices.get(region)),
    putHardware: (each) => put(hardware, 'ec2', each),
    getHardware: () => nothing(hardware.get('ec2')),
    putQuestion: (question) => put(questions, question.key, question),
    listQuestions: (since) => answer(() => [...questions.values()].filter(({ at }) => at >= since)),
  };
}
