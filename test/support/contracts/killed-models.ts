/**
 * Processes die at writes of evaluation and promotion, and each step is repeated as the state machine, `reconcile` or the
 * person does: what is left is what undisturbed processes leave.
 */

import { bucketKeys, keyOfUri, probeIdOf, runIdOf, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { expect } from 'vitest';
import { type CurrentFile, currentFileSchema, currentOf } from '../../../functions/records/models.ts';
import { reportRun } from '../../../functions/run/attempts/report-run.ts';
import { decideAsAsked } from '../../../functions/run/models/choose-model.ts';
import { modelsOf, publishModels } from '../../../functions/run/models/decide-models.ts';
import { evaluationOf } from '../../../functions/run/models/evaluation.ts';
import { AT, attemptOf, declarationOf, outcomeOf, runOf } from '../builders/records.ts';
import { type Ground, ground } from '../world/ground.ts';

const NAME = 'digits';
const DONE = { kind: 'done', reason: 'training completed' } as const;

const declaration = declarationOf(NAME, {
  evaluation: { entryPoint: 'evaluate.py' },
  packing: { split: { train: 0.5, validation: 0.5 } },
  training: { strategy: 'ddp', objective: { metric: 'accuracy', mode: 'max' } },
  promote: { whenBetterBy: 0 },
});
const shardsOf = (generation: number) => [
  {
    split: 'validation' as const,
    shardsPrefix: `digits/dataset/${generation}/shards/validation/`,
    shards: ['0.tar'],
    totals: { shards: 1, bytes: 1 },
  },
];

/** So many of a hundred samples are right. */
const hundred = (right: number) =>
  Array.from({ length: 100 }, (_, k) => `{"key": "a/${k}", "accuracy": ${Number(k < right)}}`).join('\n');

interface Left {
  readonly candidate?: number;
  readonly current?: number;
  readonly generation?: number;
}

/** The last attempt has ended, and its host has left these scores. */
async function ended(at: Ground, runId: string, left: Left): Promise<void> {
  const open = (await at.runs.get(runId)) ?? runOf(NAME, Number(runId.slice(-6)), { declaration });
  const evaluation = await evaluationOf(at, open, shardsOf(left.generation ?? 1));
  await at.runs.create(open);
  await at.runs.update(runId, { evaluation, closedAt: AT, source: 'one', updatedAt: AT });
  const model = `${bucketKeys.models(NAME, runId)}job/output/model.tar.gz`;
  if (open.probe === undefined) at.store.put(model, `the model of ${runId}`);
  const modelUri = s3Uri(at.store.bucket, model);
  await at.attempts.create(attemptOf(runId, 1, { outcome: outcomeOf('completed', { modelUri }) }));
  const evaluations = (['candidate', 'current'] as const).flatMap((of) => {
    const right = left[of];
    if (right === undefined) return [];
    const file = of === 'candidate' ? 'scores' : 'currentScores';
    at.store.put(bucketKeys.attemptScores(NAME, runId, 1, file), hundred(right));
    return [{ of, result: 'ended', seconds: 1, samples: 100 }];
  });
  const note = { version: 1, bytes: 7, digest: 'a'.repeat(64), evaluations };
  at.store.put(bucketKeys.finished(NAME, runId, 1), JSON.stringify(note));
}

interface Step {
  readonly prepare?: (at: Ground) => Promise<void>;
  readonly act: (deps: Ground) => Promise<unknown>;
}

const reported = (runId: string, left: Left): Step => ({
  prepare: (at) => ended(at, runId, left),
  act: (deps) => reportRun(deps, runId, DONE),
});

/** A first model, a lost evaluation that runs alone and wins, a roll-back, and a model for which time was short. */
const STEPS: readonly Step[] = [
  reported(runIdOf(NAME, 1), { candidate: 60 }),
  reported(runIdOf(NAME, 2), {}),
  reported(probeIdOf(NAME, 1), { candidate: 90 }),
  {
    act: (deps) =>
      decideAsAsked(deps, {
        pipeline: NAME,
        decision: 'rollback',
        runId: runIdOf(NAME, 2),
        by: 'ada',
        reason: 'broken labels',
      }),
  },
  reported(runIdOf(NAME, 3), { candidate: 95, generation: 2 }),
  reported(probeIdOf(NAME, 2), { current: 60, generation: 2 }),
];

interface Death {
  /** The how manieth write of the process is its last. */
  readonly write: number;
  readonly after: boolean;
}

const WRITES = /^(write|create|replace|delete|put|update|finish|add|setPublished|notify|start|closeBatch)/;

function dyingIn(at: Ground, death: Death | undefined, count: () => void): Ground {
  let [writes, isDead] = [0, false];
  const die = () => {
    isDead = true;
    throw new Error('the process ended');
  };
  const dying = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name): unknown => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function' || !WRITES.test(String(name))) return member;
        return async (...given: unknown[]) => {
          if (isDead) die();
          count();
          writes += 1;
          const isLast = writes === death?.write;
          if (isLast && !death?.after) die();
          const result: unknown = await Reflect.apply(member, target, given);
          if (isLast) die();
          return result;
        };
      },
    });
  const { store, runs, attempts, timeline, models, notifier, executions } = at;
  return {
    ...at,
    store: dying(store),
    runs: dying(runs),
    attempts: dying(attempts),
    timeline: dying(timeline),
    models: dying(models),
    notifier: dying(notifier),
    executions: dying(executions),
  };
}

/** @param deaths of the processes of a step, by the step's place: each process but the last one dies */
async function live(deaths: ReadonlyMap<number, readonly Death[]>) {
  const at = ground();
  const files: CurrentFile[] = [];
  const writes = STEPS.map(() => 0);
  const inner = { ...at.store };
  const seen = (key: string, text: string, written: string): void => {
    if (key === bucketKeys.currentModel(NAME) && written === 'written')
      files.push(currentFileSchema.parse(JSON.parse(text)));
  };
  at.store.createText = async (key, text) => {
    const written = await inner.createText(key, text);
    seen(key, text, written);
    return written;
  };
  at.store.replaceText = async (key, text, etag) => {
    const written = await inner.replaceText(key, text, etag);
    seen(key, text, written);
    return written;
  };
  await at.pipelines.ensure(NAME, { firstBatch: 1, at: AT });
  for (const [place, { prepare, act }] of STEPS.entries()) {
    await prepare?.(at);
    for (const death of deaths.get(place) ?? []) {
      const act1 = act(dyingIn(at, death, () => undefined)).catch(() => undefined);
      // Another process may do the same at once.
      await Promise.all([act1, death.write % 3 === 0 ? act(at) : undefined]);
    }
    await act(
      dyingIn(at, undefined, () => {
        writes[place] = (writes[place] ?? 0) + 1;
      }),
    );
  }
  await publishModels(at, NAME);
  return { at, files, writes };
}

/** All that counts when everything has been repeated. */
async function outcome({ at, files }: Awaited<ReturnType<typeof live>>) {
  const { known } = await modelsOf(at, NAME);
  const numbers = files.map(({ number }) => number);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
  for (const { current } of files) {
    const key = keyOfUri(at.store.bucket, current.uri) ?? '';
    expect(await at.store.digestOf(key)).toBe(current.digest);
  }
  expect(files.at(-1)).toMatchObject({ number: known.number, current: { runId: currentOf(known)?.runId } });
  const runs = [...(await at.runs.list(NAME, 100)), ...(await at.runs.listProbes(NAME, 100))];
  return {
    known,
    keys: at.store.keys(),
    events: [...new Set(at.notifier.notices.map((each) => JSON.stringify(each)))].toSorted(),
    runs: runs.map(({ runId, status, judged, modelUri }) => ({ runId, status, judged, modelUri })),
    executions: [...at.executions.started.keys()],
  };
}

/** @returns how many kills there were, and at how many of the writes, before and after each of them */
export async function surviveKills({
  kills: wanted,
  seed,
}: {
  readonly kills: number;
  readonly seed: string;
}) {
  const calm = await live(new Map());
  const expected = await outcome(calm);
  expect(expected.known.models.map(({ runId, state }) => `${runId} ${state}`)).toEqual([
    'digits-000003 current',
    'digits-000002 rejected',
    'digits-000001 former',
  ]);
  // Each write of each step, before it and after it, in a drawn order.
  const uniform = seededUniform(`kills ${seed}`);
  const places = calm.writes
    .flatMap((writes, place) => Array.from({ length: 2 * writes }, (_, k) => ({ place, k })))
    .map((each) => ({ ...each, order: uniform() }))
    .toSorted((one, other) => one.order - other.order);
  let [kills, turn] = [0, 0];
  for (; kills < wanted; turn += 1) {
    const { place, k } = places[turn % places.length] ?? { place: 0, k: 0 };
    const first = { write: 1 + (k >> 1), after: k % 2 === 1 };
    const again = uniform() < 0.5 ? [] : [{ write: 1 + Math.floor(uniform() * 20), after: uniform() < 0.5 }];
    kills += 1 + again.length;
    const lived = await live(new Map([[place, [first, ...again]]]));
    const kill = { place, first, again };
    expect({ kill, ...(await outcome(lived)) }).toEqual({ kill, ...expected });
  }
  return { kills, places: Math.min(turn, places.length), of: places.length };
}
