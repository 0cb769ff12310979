/** Everything around the rules: bucket, memory, state machine, queues, a training service, a user, and the weather. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { executionName } from '../../../functions/records/batches.ts';
import type { Executions } from '../../../functions/records/ports.ts';
import { FINISHED } from '../../../functions/records/run-records.ts';
import type { RunStore, Stores } from '../../../functions/records/stores.ts';
import { ANY_NETWORK } from '../builders/allowed.ts';
import { asOldAttempt, asOldReport, asOldRun } from '../builders/last-release.ts';
import { type FakeClock, fakeClock } from '../fakes/clock.ts';
import { type ScriptedFleets, scriptedFleets } from '../fakes/fleets.ts';
import { memoryNotifier } from '../fakes/notifier.ts';
import { memoryObjectStore } from '../fakes/object-store.ts';
import { memorySchedules } from '../fakes/schedules.ts';
import { type MemoryStores, memoryStores } from '../fakes/stores.ts';
import { scriptedTraining } from '../fakes/training.ts';
import { marketSource, viewOf } from '../market/source.ts';
import { drawTraces, nextSpell, type Spell } from '../market/traces.ts';
import { type Account, accountOf, type Conditions } from './account.ts';
import { asData, type Data, type Machine, runMachine } from './asl.ts';
import { type Chaos, exposed, exposedStore, type Invocation, type Weather } from './chaos.ts';
import { type Answer, type Execution, execute, type Machinery } from './execution.ts';
import { fleetScriptOf } from './fleet-scripts.ts';
import { refusalOf, scriptOf } from './job-scripts.ts';
import { lambdas, type Ports } from './lambdas.ts';
import { simulatedLoop } from './loop.ts';
import { queues } from './queues.ts';
import { type Random, seededChoices } from './random.ts';

const STOP_SECONDS = 30;
const HISTORY_LIMIT = 3_000;
/** A week: longer than any history. */
const MARKET_TICKS = 1_008;
const HOST_POOLS = 3;
/** Placement scores with capacity and without. */
const [HIGH, LOW] = [8, 3];

export type World = ReturnType<typeof createWorld>;

/** What EC2 asks for an hour on demand, SageMaker asking 1.40. */
const EC2_USD = 1.1;

export interface WorldOptions extends Conditions {
  /** Of the executions, as an earlier release had it. */
  readonly definition?: Machine | undefined;
  /** Price of an hour on EC2. */
  readonly ec2Usd?: number | undefined;
}

export function createWorld(seed: number, rate: number, options: WorldOptions = {}) {
  const random = seededChoices(seed);
  const clock = fakeClock();
  const loop = simulatedLoop(clock, random, options.callSeconds && (() => 0));
  const chaos: Chaos = { rate };
  const broken: string[] = [];
  const store = memoryObjectStore(clock);
  store.put(`${bucketKeys.source(PIPELINE)}train.py`, 'print()');
  const notifier = memoryNotifier();
  const spell = spellsOf(seed, clock);
  const trainee = { store, clock, random, spell };
  const account = accountOf({ loop, clock, random }, options);
  const training = scriptedTraining(
    clock,
    (request) => {
      const runId = String(request.HyperParameters['tidewheel_run_id']).replaceAll('"', '');
      const others = training.running().filter((name) => name.startsWith(runId));
      if (others.length > 0) broken.push(`${request.TrainingJobName} runs beside ${others.join()}`);
      const script = options.jobScript?.(request) ?? scriptOf(trainee, request);
      for (const { at } of script) loop.after(at, () => {});
      return script;
    },
    (request) => options.refusal?.(request) ?? (chaos.rate > 0 ? refusalOf(trainee) : undefined),
  );
  const fleets: ScriptedFleets = scriptedFleets(
    clock,
    (document) => {
      const run = document.TrainingJobName.replace(/-a\d+-[0-9a-f]+$/, '');
      const others = fleets.running().filter((name) => name.startsWith(run));
      if (others.length > 0) broken.push(`${document.TrainingJobName} runs beside ${others.join()}`);
      const script =
        options.fleetScript?.(document, () => clock.now().toISOString()) ?? fleetScriptOf(trainee, document);
      for (const { at } of script) loop.after(at, () => {});
      return script;
    },
    (plan) => (plan && options.fleetRefusal?.(plan)) ?? (chaos.rate > 0 ? refusalOf(trainee) : undefined),
  );
  const executions = new Map<string, Execution>();
  const tokens = new Map<
    string,
    { readonly execution: Execution; readonly answer: (value: unknown) => void }
  >();
  const table = memoryStores();
  const ports: Ports = {
    clock,
    store,
    notifier,
    ...watched(table, { broken, random, chaos }),
    schedules: memorySchedules(),
    allowed: ANY_NETWORK,
    market: marketSource(() => {
      const score = spell()?.startsIn === 0 ? HIGH : LOW;
      return viewOf('g5.xlarge', [{ zoneId: 'use1-az1', spotUsd: 0.4, score }], {
        onDemandUsd: 1.4,
        ec2Usd: options.ec2Usd ?? EC2_USD,
      });
    }),
    training: {
      ...training,
      stop: (name) => {
        loop.after(STOP_SECONDS, () => {});
        return training.stop(name);
      },
    },
    fleets: {
      ...fleets,
      stop: (name, mode) => {
        loop.after(STOP_SECONDS, () => {});
        return fleets.stop(name, mode);
      },
    },
    executions: executionsPort(executions, tokens, (name, input) => begin(name, input)),
    packers: options.packers ?? 2,
  };
  const perform = (name: string, event: Data): Promise<Answer> => {
    const run = lambdas[name];
    if (run === undefined) throw new Error(`no function ${name}`);
    return new Promise((resolve) => {
      const cause = random.pick(['Runtime.ExitError', 'Sandbox.Timedout', 'Lambda.Unknown']);
      const die = () => resolve({ kind: 'error', name: cause, cause: 'the process ended' });
      const own = exposePorts(
        ports,
        { random, chaos, wait: (call) => account.call(name, call) },
        { dead: false, die },
      );
      const input = asData(JSON.parse(JSON.stringify(event)));
      account
        .work(name, input)
        .then(() => run(own, input))
        .then(
          (value) => resolve({ kind: 'ok', value: JSON.parse(JSON.stringify(value ?? null)) as unknown }),
          (error: unknown) => resolve(errorAnswer(error)),
        );
    });
  };
  const invoke = (name: string, event: Data): Promise<Answer> =>
    account.invoke(name, () => perform(name, event));
  const machinery: Machinery = {
    loop,
    random,
    invoke,
    machine: options.definition ?? runMachine,
    awaitToken: (execution, token) =>
      new Promise((answer) => {
        tokens.set(token, { execution, answer });
      }),
    readItems: (key) => {
      const items = store.json(key);
      return Array.isArray(items) ? (items as unknown[]) : [];
    },
    entered: historyLimit(account),
    retried: account.retried,
  };
  const begin = (name: string, input: unknown) => {
    const execution: Execution = { name, status: 'running' };
    executions.set(name, execution);
    void execute(machinery, execution, asData(JSON.parse(JSON.stringify(input))));
  };
  return {
    random,
    clock,
    loop,
    chaos,
    account,
    broken,
    store,
    /** What lies in it, without weather. */
    table,
    notifier,
    training,
    fleets,
    executions,
    pipelines: ports.pipelines,
    runs: ports.runs,
    attempts: ports.attempts,
    timeline: ports.timeline,
    loseTable: () => table.lose(),
    /** Everything on record becomes what the last release would have written of it. */
    asLastRelease: async () => {
      for (const { runId } of await table.runs.list(PIPELINE, 1_000)) {
        for (const { attempt } of await table.attempts.list(runId))
          table.rewrite('attempts', `${runId} ${attempt}`, asOldAttempt);
        table.rewrite('runs', runId, asOldRun);
        const report = store.json(bucketKeys.report(PIPELINE, runId));
        if (report !== undefined)
          store.put(bucketKeys.report(PIPELINE, runId), JSON.stringify(asOldReport(report)));
      }
    },
    invoke,
    ...queues({ loop, random, chaos, invoke }),
  };
}

/** Spot capacity of the one zone. It has several pools of hosts, so that most requests find some. */
function spellsOf(seed: number, clock: FakeClock): () => Spell | undefined {
  const began = clock.now().getTime();
  const traces = drawTraces(seed, HOST_POOLS, MARKET_TICKS);
  return () => {
    const seconds = (clock.now().getTime() - began) / 1_000;
    const spells = traces.flatMap((trace) => nextSpell(trace, seconds) ?? []);
    return spells.toSorted((one, other) => one.startsIn - other.startsIn)[0];
  };
}

function exposePorts(ports: Ports, weather: Weather, invocation: Invocation): Ports {
  const expose = <T extends object>(name: string, port: T): T => exposed({ name, port }, weather, invocation);
  return {
    clock: ports.clock,
    market: ports.market,
    allowed: ports.allowed,
    packers: ports.packers,
    store: exposedStore(ports.store, weather, invocation),
    notifier: expose('notifier', ports.notifier),
    pipelines: expose('pipelines', ports.pipelines),
    runs: expose('runs', ports.runs),
    attempts: expose('attempts', ports.attempts),
    placements: expose('placements', ports.placements),
    timeline: expose('timeline', ports.timeline),
    marketSamples: expose('marketSamples', ports.marketSamples),
    poolOutcomes: expose('poolOutcomes', ports.poolOutcomes),
    scoreQuestions: expose('scoreQuestions', ports.scoreQuestions),
    listPrices: expose('listPrices', ports.listPrices),
    hardware: expose('hardware', ports.hardware),
    testObjects: expose('testObjects', ports.testObjects),
    models: expose('models', ports.models),
    schedules: expose('schedules', ports.schedules),
    training: expose('training', ports.training),
    fleets: expose('fleets', ports.fleets),
    executions: expose('executions', ports.executions),
  };
}

function errorAnswer(error: unknown): Answer {
  if (!(error instanceof Error)) throw error;
  return { kind: 'error', name: error.name, cause: JSON.stringify({ errorMessage: error.message }) };
}

function historyLimit(account: Account): Machinery['entered'] {
  const counts = new Map<Execution, number>();
  return (execution, state) => {
    account.entered();
    const count = (counts.get(execution) ?? 0) + 1;
    counts.set(execution, count);
    if (count > HISTORY_LIMIT) throw new Error(`${execution.name} goes round for ever at ${state}`);
  };
}

function executionsPort(
  executions: Map<string, Execution>,
  tokens: Map<string, { readonly execution: Execution; readonly answer: (value: unknown) => void }>,
  begin: (name: string, input: unknown) => void,
): Executions {
  return {
    start: ({ runId, pipeline, execution }) => {
      const name = executionName(runId, execution);
      const known = executions.get(name);
      if (known !== undefined) return Promise.resolve(known.status === 'running' ? 'running' : 'closed');
      begin(name, { runId, pipeline });
      return Promise.resolve('started');
    },
    status: (name) => {
      const execution = executions.get(name);
      const isExhausted = execution?.status === 'ended' && execution.end === 'RetriesExhausted';
      return Promise.resolve(isExhausted ? 'retriesExhausted' : execution?.status);
    },
    stop: (name) => {
      const execution = executions.get(name);
      if (execution !== undefined) execution.status = 'ended';
      return Promise.resolve();
    },
    succeed: (token, output) => {
      const waiting = tokens.get(token);
      tokens.delete(token);
      if (waiting === undefined || waiting.execution.status === 'ended') return Promise.resolve('stale');
      waiting.answer(output);
      return Promise.resolve('delivered');
    },
  };
}

/** An outcome is final, and the lists of what is open may lag. */
function watched(
  stores: MemoryStores,
  { broken, random, chaos }: { readonly broken: string[]; readonly random: Random; readonly chaos: Chaos },
): Stores {
  const lagging = <T>(read: () => Promise<T[]>): (() => Promise<T[]>) => {
    let before: T[] = [];
    return async () => {
      const stale = before;
      before = await read();
      return chaos.rate > 0 && random.chance(0.3) ? stale : before;
    };
  };
  const { runs, attempts } = stores;
  const watchedRuns: RunStore = {
    ...runs,
    listOpen: lagging(() => runs.listOpen()),
    update: async (runId, change) => {
      const before = await runs.get(runId);
      const after = await runs.update(runId, change);
      if (before && FINISHED.includes(before.status) && before.status !== after.status) {
        broken.push(`${runId} was ${before.status} and became ${after.status}`);
      }
      return after;
    },
  };
  return {
    ...stores,
    runs: watchedRuns,
    attempts: { ...attempts, listOpen: lagging(() => attempts.listOpen()) },
  };
}

export const PIPELINE = 'tide';

export const declarationKey = bucketKeys.pipeline(PIPELINE);
