/** What the steps of the first day are played with: a deployment in which nothing fails, a bucket in memory, and a clock that sleeping moves on. */
import type { Ground } from '../../cli/first-day/play-run.ts';
import type { StepDeps } from '../../cli/first-day/play-step.ts';
import type { RunFacts } from '../../cli/first-day/run-facts.ts';
import type { AccountView } from '../../functions/check/account-view.ts';
import { account, stack } from './builders/account.ts';
import { ANY_NETWORK } from './builders/allowed.ts';
import { MemoryBlobStore } from './fakes/memory-blob-store.ts';

export const RUN_FACTS: RunFacts = {
  status: 'succeeded',
  hasModel: true,
  samples: 0,
  attempts: [],
  interruptions: 0,
  lostSeconds: 0,
  costUsd: 0.01,
  generations: [],
  startedAt: '2026-11-22T22:00:00Z',
  finishedAt: '2026-11-22T22:05:00Z',
};

/** The report of a run that sealed nothing. */
export function reportBytes(over: Partial<RunFacts> = {}): Uint8Array {
  const { samples: _, hasModel, ...facts } = { ...RUN_FACTS, ...over };
  return new TextEncoder().encode(JSON.stringify({ ...facts, ...(hasModel && { modelUri: 's3://b/m' }) }));
}

interface Options {
  readonly view?: Partial<AccountView>;
  /** Called at each sleep, with the number of sleeps. */
  readonly onSleep?: (store: MemoryBlobStore, sleeps: number) => unknown;
  readonly signal?: AbortSignal;
}

interface FirstDay {
  readonly store: MemoryBlobStore;
  /** What was said. */
  readonly lines: string[];
  readonly ground: Ground;
  readonly deps: StepDeps;
  readonly seconds: () => number;
}

export function firstDay(
  { view = {}, onSleep = () => undefined, signal = new AbortController().signal }: Options = {},
  store = new MemoryBlobStore(),
): FirstDay {
  const lines: string[] = [];
  let milliseconds = 0;
  let sleeps = 0;
  const ground: Ground = {
    store,
    script: new Uint8Array(1),
    signal,
    now: () => new Date(milliseconds),
    sleep: async (length) => {
      milliseconds += length;
      sleeps += 1;
      await onSleep(store, sleeps);
      signal.throwIfAborted();
    },
    say: (line) => lines.push(line),
  };
  const deps: StepDeps = {
    deployment: deploymentOf(view),
    ground,
    hosts: undefined,
    isLocal: false,
    testObjectId: () => 'x',
    explain: (error) => `explained: ${String(error)}`,
  };
  return { store, lines, ground, deps, seconds: () => milliseconds / 1_000 };
}

const deploymentOf = (view: Partial<AccountView>): StepDeps['deployment'] => ({
  stack: stack(),
  stage: 'first',
  bucket: 'tw-data',
  region: 'us-east-1',
  stateMachineArn: 'arn:aws:states:us-east-1:123456789012:stateMachine:tidewheel-first-run',
  allowed: ANY_NETWORK,
  viewIn: () => account(view),
  pipelines: [],
  invalid: [],
  testObject: {
    testObjects: { takenAt: async () => '2026-11-23T12:00:00Z' },
    put: async () => undefined,
    remove: async () => undefined,
    now: () => new Date(0),
    sleep: async () => undefined,
  },
});
