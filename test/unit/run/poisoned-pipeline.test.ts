/** One pipeline of fifty that hangs or fails wherever it is looked at: the others behave as if it were not there. */
import { collectScores } from '@tidewheel/placement/market.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Launchers } from '../../../functions/launch/launcher.ts';
import { runsChangedIn } from '../../../functions/records/recent-runs.ts';
import { diagnoseAttempts } from '../../../functions/run/attempts/doctor/diagnose-attempts.ts';
import { expireRuns } from '../../../functions/run/attempts/expire-runs.ts';
import { reconcile } from '../../../functions/run/attempts/reconcile.ts';
import { declaredCompute } from '../../../functions/run/ingest/register-pipeline.ts';
import { attemptOf, declarationOf, runOf } from '../../support/builders/records.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import { DECLARATION, ground } from '../../support/world/ground.ts';

const PIPELINES = Array.from({ length: 50 }, (_, at) => `tide-${String(at + 10)}`);

type Poison = 'hangs' | 'fails';

/** Everything of the poisoned pipeline that a call names hangs or fails. */
function poisoned<Port extends object>(port: Port, name: string | undefined, poison: Poison): Port {
  return new Proxy(port, {
    get: (target, property) => {
      const own: unknown = Reflect.get(target, property);
      if (typeof own !== 'function' || name === undefined) return own;
      return (...given: unknown[]) => {
        if (!JSON.stringify(given.slice(0, 2)).includes(name))
          return Reflect.apply(own, target, given) as unknown;
        const never = new Promise(() => undefined);
        const end = () => (poison === 'hangs' ? never : Promise.reject(new Error('poison')));
        return property === 'list' && 'readText' in target
          ? { [Symbol.asyncIterator]: () => ({ next: end }) }
          : end();
      };
    },
  });
}

/** As a limit of time is: what is not done when nothing else is left to do. */
const withinLimit = (work: Promise<unknown>) =>
  Promise.race([
    work,
    new Promise((_, reject) => {
      setTimeout(() => reject(new Error('too long')), 500);
    }),
  ]);

/** What becomes of each pipeline but the poisoned one. */
async function played(name: string | undefined, poison: Poison) {
  const made = ground();
  for (const pipeline of PIPELINES) {
    made.store.put(`pipelines/${pipeline}.yaml`, DECLARATION.replace('digits', pipeline));
    made.store.put(`${pipeline}/incoming/a`, 'a');
    await made.pipelines.ensure(pipeline, { firstBatch: 3, at: made.clock.now().toISOString() });
    const declaration = declarationOf(pipeline);
    await made.runs.create(runOf(pipeline, 1, { status: 'succeeded', declaration }));
    await made.runs.update(`${pipeline}-000001`, { status: 'succeeded', updatedAt: '2020-01-01T00:00:00Z' });
    await made.runs.create(runOf(pipeline, 2, { status: 'training', declaration }));
    await made.attempts.create(attemptOf(`${pipeline}-000002`, 1, { status: 'running' }));
  }
  made.clock.advance(86_400);
  const completed = (jobName: string) => ({
    TrainingJobName: jobName,
    TrainingJobStatus: 'Completed' as const,
    SecondaryStatus: 'Completed' as const,
    CreationTime: made.clock.now(),
    SecondaryStatusTransitions: [],
  });
  const released = new Set<string>();
  const leftovers = {
    list: () => Promise.resolve(PIPELINES.map((each) => attemptOf(`${each}-000002`, 1).jobName)),
    release: (jobName: string) => Promise.resolve(void released.add(jobName)),
  };
  const described = { describe: ({ jobName }: { jobName: string }) => Promise.resolve(completed(jobName)) };
  const launchers: Launchers = {
    ...made.launchers,
    sagemaker: {
      ...made.launchers.sagemaker,
      ...poisoned(described, name, poison),
      leftovers: poisoned(leftovers, name, poison),
    },
  };
  const through = <Port extends object>(port: Port): Port => poisoned(port, name, poison);
  const at = {
    ...made,
    launchers,
    withinLimit,
    runs: through(made.runs),
    attempts: through(made.attempts),
    pipelines: through(made.pipelines),
    executions: through(made.executions),
    schedules: through(made.schedules),
    store: through(made.store),
  };
  const { failures } = await reconcile(at, { sweep: true });
  const diagnosed = await diagnoseAttempts(at);
  const expired = await expireRuns({ ...at, store: new MemoryBlobStore(), isTimeUp: () => false });
  const collected = await collectScores({
    ...at,
    computeOf: (pipeline) => declaredCompute(at.store, pipeline),
    recentRuns: (from) => runsChangedIn(at, { from }),
    region: 'us-east-1',
    market: () => ({ ...made.market, spotPrices: none, onDemandPrices: none, zones: none }) as never,
    catalog: { trainingPrices: none, ec2Prices: none, transferPrices: none, instanceTypes: none } as never,
  });
  const others = PIPELINES.filter((pipeline) => pipeline !== name);
  const of = (texts: readonly string[]) =>
    texts.filter((text) => PIPELINES.every((each) => each === name || !text.includes(each)));
  const states = await Promise.all(
    others.map(async (pipeline) => [
      await made.runs.list(pipeline, 9),
      await made.attempts.list(`${pipeline}-000002`),
      await made.pipelines.get(pipeline),
    ]),
  );
  return {
    states,
    released: [...released].toSorted(),
    failed: {
      failures,
      diagnosed: diagnosed.failures,
      expired: expired.failures,
      notes: of(collected.notes),
    },
  };
}

const none = () => Promise.resolve({ kind: 'unknown', failure: 'unavailable', message: 'none' });

let clean: Awaited<ReturnType<typeof played>>;

beforeAll(async () => {
  clean = await played(undefined, 'fails');
}, 60_000);

describe.each(['hangs', 'fails'] as const)('a pipeline of fifty that %s', (poison) => {
  it('changes nothing for the other forty-nine', async () => {
    const name = PIPELINES[0];
    const met = await played(name, poison);
    expect(met.states).toEqual(clean.states.slice(1));
    expect([clean.released.length, met.released]).toEqual([50, clean.released.slice(1)]);
    for (const [what, failures] of Object.entries(met.failed))
      expect(`${what} ${failures.join()}`.replaceAll(name ?? '', '')).not.toMatch(/tide-/);
    expect(met.failed.failures).not.toEqual([]);
  }, 60_000);
});
